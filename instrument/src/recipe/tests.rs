use super::*;
use crate::link::Addresses;
use wasmparser::{Validator, WasmFeatures};

const LIBRARY: &str = r#"(module
    (memory (export "memory") 1)
    (func (export "malloc") (param i32) (result i32) (i32.const 64))
    (func (export "free") (param i32))
    (func (export "parse") (param i32 i32) (result i32) (i32.const -1))
    (func (export "two") (param i64 f32) (result i32 f64) (i32.const 1) (f64.const 2))
    (func (export "a:b#c") (param i32))
    (func (export "write") (param i32)))"#;

fn linked(wat: &str, text: &str) -> Recipe {
    let wasm = wat::parse_str(wat).unwrap();
    let recipe = link_recipe(&wasm, text, false).unwrap_or_else(|error| panic!("{error}"));
    Validator::new_with_features(WasmFeatures::all()).validate_all(&recipe.wasm).unwrap();
    recipe
}

fn refused(wat: &str, text: &str) -> RecipeError {
    let error = link_recipe(&wat::parse_str(wat).unwrap(), text, false).unwrap_err();
    error.downcast().unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn a_recipe_is_a_function_behind_all_others() {
    let recipe = linked(
        LIBRARY,
        "p = malloc(len + 1); write(p, input); write8(p + len, 0)\nr = parse(p, len); if r < -1 reject; free(p)",
    );
    let text = wasmprinter::print_bytes(&recipe.wasm).unwrap();
    let at = text.find("(func (;6;)").unwrap();
    let expected = r#"(func (;6;) (type 4) (param i32 i32) (result i32)
    (local i32 i32)
    local.get 1
    i32.const 1
    i32.add
    call 0
    local.set 2
    local.get 2
    local.get 0
    local.get 1
    memory.copy
    local.get 2
    local.get 1
    i32.add
    i32.const 0
    i32.store8
    local.get 2
    local.get 1
    call 2
    local.set 3
    local.get 3
    i32.const -1
    i32.lt_s
    if
      i32.const -1
      return
    end
    local.get 2
    call 1
    i32.const 0
  )"#;
    let body: String =
        text[at..].lines().map(|line| line.split(" ;;").next().unwrap().trim_end().to_owned() + "\n").collect();
    assert!(body.starts_with(expected), "{body}");
    assert_eq!(
        (recipe.takes, &recipe.draws[..], recipe.subject.as_deref()),
        (Some(Encoding::Bytes), &[][..], Some("parse"))
    );
    assert!(text.contains(r#"(export "--call" (func 6))"#));
}

#[test]
fn all_that_can_be_said_makes_valid_functions() {
    for text in [
        "parse(input, len)",
        "`a:b#c`(string)",
        "`write`(input)",
        "a, b = two(i64(len), 1.5); if b > 1e3 { fail } else if a == 1 return else reject",
        "a, b = two(-1, 3); b = b * 2 - f64(a); if !(b != b) fail; parse(input, len)",
        "n = draw(i64) + draw(0..10000000000); two(n, draw(f32)); x = draw(f64); k = draw(-5..5); if k >= 0 & x < 1 reject",
        "p = malloc(16); write(p, \"a\\0\\x7f\\n\"); writef64(p + 8, 1); write64(p, 0xffff_ffff_ffff_ffff); n = read64(p) >> 3 | 1; parse(utf16, len)",
        "q = readf32(input) + 0.5; p = i32(q) % 7; p = -p ^ ~p << 2; parse(p, read8(input) - read16(input) / (1 + read32(input)))",
        "// nothing but a call\nparse(\n input,\n len) // of it\n\n;;",
        "p = 5; if p > 3 { p = 1; { q = 2 } }; parse(p, q)",
        "malloc(1)",
        "n = len; while n > 0 { n = n - 1; if n == 7 return; while malloc(n) < 0 n = n - draw(1..3) }; free(n)",
    ] {
        linked(LIBRARY, text);
    }
    linked(r#"(module (memory (export "memory") i64 1) (func (export "f") (param i64 i64)))"#, "f(input, len + 1)");
    linked(r#"(module (func (export "f") (param f64)))"#, "f(draw(f64))");
    // References are what calls give, or nothing.
    linked(
        r#"(module (memory 1) (func (export "f") (param i32) (result externref) (ref.null extern))
        (func (export "g") (param externref funcref)))"#,
        "r = f(len); g(r, 0)",
    );
}

#[test]
fn what_is_wrong_is_shown_where_it_is() {
    for (text, place, message) in [
        ("p = maloc(len)", 5, "exports no function `maloc`"),
        ("", 1, "it says nothing"),
        (" ; // calls nothing", 1, "it says nothing"),
        ("parse(input, len", 17, "expected `,` or `)`"),
        ("parse(input len)", 13, "expected `,` or `)`"),
        ("parse(input)", 1, "takes 2 arguments, and is given 1"),
        ("two(len, 1)", 5, "this is i32, and argument 1 of `two` is i64: `i64(...)` converts"),
        ("parse(q, len)", 7, "no variable `q`"),
        ("p = two(1, 1)", 5, "gives 2 values, for 1 names"),
        ("parse(two(1, 1), len)", 7, "gives 2 values, and one is needed"),
        ("free(len); p = free(1)", 16, "gives 0 values, for 1 names"),
        ("parse(input, string)", 14, "the input is `string` here and `input` before"),
        ("len = 5", 1, "`len` is a word of the language"),
        ("if len reject else", 19, "expected an expression"),
        ("parse(input, len) free(1)", 19, "expected `;`"),
        ("p = \"x\"; parse(p, len)", 5, "a text is copied by"),
        ("write(1, 2); free(len)", 10, "`write` copies"),
        ("p = len; p = i64(len)", 14, "this is i64, and i32 is needed"),
        ("parse(input, 4294967296)", 14, "4294967296 is no i32"),
        ("parse(input, 0.5)", 14, "0.5 is no i32"),
        ("two(1, 1.5 % 2.5); free(len)", 8, "no such operator for f32"),
        ("free(1.5 % 2.5); free(len)", 6, "1.5 is no i32"),
        ("write(1, \"\\x+f\")", 11, "unknown escape"),
        ("parse(input, 12x)", 14, "`12x` is no number"),
        ("free(\"a)", 6, "a text without an end"),
        ("free(`a)", 6, "a name without an end"),
        ("free(draw(i16))", 11, "it is `i32`"),
        ("free(draw(5..5))", 11, "a range is from"),
        ("free(len) }", 11, "a `}` too many"),
        ("größe = len; frei(größe)", 14, "exports no function `frei`"),
        ("free(len) § 1", 11, "`§` means nothing here"),
        ("write(1, \"\\q\")", 11, "unknown escape"),
    ] {
        let error = refused(LIBRARY, text);
        assert!(error.message.contains(message), "{text}: {error}");
        assert_eq!(error.place(), (1, place), "{text}: {error}");
        let marked = error.to_string().lines().last().unwrap().find('^').unwrap();
        assert_eq!(marked, place + 1, "{error}");
    }
    let error = refused(LIBRARY, "p = malloc(len)\n  parse(p, n)");
    assert_eq!(error.to_string(), "line 2, column 12: there is no variable `n` yet\n    parse(p, n)\n             ^");
    assert_eq!(error.unknown.as_deref(), Some("n"));
    let long = format!("{}parse(p)", "free(1); ".repeat(50));
    let shown = refused(LIBRARY, &long).to_string();
    assert!(shown.lines().all(|line| line.chars().count() < 100), "{shown}");
    assert!(refused("(module (func (export \"f\")))", "f(); read8(0)").message.contains("no memory"));
    assert!(refused("(module (func (export \"f\") (param i32)))", "f(len)").message.contains("no memory to put"));
}

#[test]
fn what_is_in_the_place_of_an_import_sees_the_input_and_has_the_imports_type() {
    let asks = r#"(module (import "env" "ask" (func $ask (param i32 i64) (result i32))) (import "env" "told" (func))
        (import "x.y" "z" (func (result i32 f64)))
        (global i32 (i32.const 5)) (memory (export "memory") 1) (func (export "run") (result i32) (i32.const 0)))"#;
    let text =
        "on ask(to, from) { if from > 9 return -1; n = len - i32(from); copy(to, input + i32(from), n); return n }
                on `env.told`() { write8(0, 1); return } on z() { }; n = 1; if run() + n < 0 reject";
    let recipe = linked(asks, text);
    let printed = wasmprinter::print_bytes(&recipe.wasm).unwrap();
    for export in ["--on env.ask", "--on env.told", "--on x.y.z", EXPORT] {
        assert!(printed.contains(&format!("(export \"{export}\" (func ")), "{export}: {printed}");
    }
    // Behind the module's own global are address and length.
    assert!(printed.contains("global.set 1") && printed.contains("global.get 2"), "{printed}");
    assert_eq!(recipe.takes, Some(Encoding::Bytes));
    // Without an input none are needed.
    let none = wasmprinter::print_bytes(&linked(asks, "on ask(a, b) { }; run()").wasm).unwrap();
    assert!(!none.contains("(mut i32)"), "{none}");
    for (text, place, message) in [
        ("on aks(a, b) { }; run()", 4, "imports no function `aks`"),
        ("on ask(a) { }; run()", 4, "takes 1 here"),
        ("on ask(a, a) { }; run()", 11, "has a meaning already"),
        ("on ask(a, len) { }; run()", 11, "has a meaning already"),
        ("on ask(a, b) { return }; on ask(a, b) { }; run()", 29, "is given already"),
        ("on ask(a, b) { reject }; run()", 16, "rejects nothing"),
        ("on ask(a, b) { return draw(i32) }; run()", 31, "draws nothing"),
        ("on ask(a, b) { return b }; run()", 23, "this is i64"),
        ("on told() { return 1 }; run()", 20, "0 values are returned here"),
        ("on z() { return 1 }; run()", 17, "2 values are returned here"),
        ("{ on told() { } }; run()", 3, "outside of all else"),
        ("on told() { on told() { } }; run()", 13, "outside of all else"),
        ("on ask(a, b) { c = n }; n = 1; run()", 20, "no variable `n`"),
        ("on told() { }", 1, "it says nothing"),
        ("run(); return 1.5", 15, "is no i32"),
    ] {
        let error = refused(asks, text);
        assert!(error.message.contains(message), "{text}: {error}");
        assert_eq!(error.place(), (1, place), "{text}: {error}");
    }
    // A variable may have this name.
    linked(LIBRARY, "on = malloc(len); parse(on, len)");
}

#[test]
fn no_text_is_too_much() {
    for (text, message) in [
        ("(".repeat(20_000), "at most 16384"),
        ("(".repeat(10_000), "nested too deep"),
        ("-".repeat(10_000), "nested too deep"),
        ("{".repeat(10_000), "nested too deep"),
        (format!("free(1{})", "+1".repeat(5_000)), "nested too deep"),
        (format!("free({})", "1 | (".repeat(2_000)), "nested too deep"),
        ("if 1 ".repeat(3_000), "nested too deep"),
        ("free(draw(i32));".repeat(300), "more than 200 draws"),
        (format!("write(0, \"{}\")", "a".repeat(5_000)), "4096 bytes of texts"),
    ] {
        assert!(refused(LIBRARY, &text).message.contains(message), "{}", &text[..20]);
    }
    // Pieces of recipes in any order are refused, or make valid functions.
    let pieces = [
        "p", "=", "malloc(", ")", "len", "input", ";", "\n", "write(", ",", "if", "reject", "{", "}", "1", "-", "==",
        "draw(", "i32", "..", "\"", "a\\0", "`", "two", "(", "else", "fail", "0x1", "é", "utf16", "1.5", "on f(",
        "return",
    ];
    let wasm = wat::parse_str(LIBRARY).unwrap();
    let (mut state, mut valid) = (1_u64, 0);
    for _ in 0..20_000 {
        let mut text = String::new();
        for _ in 0..1 + state % 9 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            text.push_str(pieces[(state >> 33) as usize % pieces.len()]);
        }
        match link_recipe(&wasm, &text, true) {
            Ok(recipe) => {
                valid += 1;
                let mut validator = Validator::new_with_features(WasmFeatures::all());
                validator.validate_all(&recipe.wasm).unwrap_or_else(|error| panic!("{text}: {error}"));
            }
            Err(error) => assert!(error.is::<RecipeError>(), "{text}: {error}"),
        }
    }
    assert!(valid > 20, "{valid}");
}

#[test]
fn what_a_recipe_is_for_is_told_by_its_text() {
    let of = |text: &str| subject(text).unwrap_or_default();
    assert_eq!(of("p = malloc(len); write(p, input); r = parse(p, len); free(p)"), "parse");
    assert_eq!(of("p = alloc(len); write(p, input); format()"), "format");
    assert_eq!(of("r = stack(-16); p = m(len, 1); write(p, string); `a.b`(r, p, len); m(1, 1)"), "a.b");
    assert_eq!(of("f(input, len); g(input)"), "f");
    assert_eq!(of("if malloc(1) == 0 reject; g(draw(i32))"), "g");
    assert_eq!(of("o = `wbg.string_new`(string, len); new(o)"), "new");
    assert_eq!(of("p = m(len); write(p, input); a = m(8); write32(a, p); main(1, a)"), "main");
    assert_eq!(of("on read(p) { write(p, input) } h = new(); r = parse(h); if r != 0 { show(r) }"), "parse");
    assert_eq!(of("p = = 1"), "");
}

#[test]
fn sections_that_are_not_there_are_made_and_code_is_found_again() {
    // A module whose only function is imported.
    let recipe = linked(
        r#"(module (import "m" "f" (func (param i32))) (memory 1) (export "f" (func 0)) (data (i32.const 0) "a"))"#,
        "f(len); `m.f`(1)",
    );
    assert_eq!(wasmprinter::print_bytes(&recipe.wasm).unwrap().matches("call 0").count(), 2);
    // One function more, and the number of functions takes a byte more.
    let functions: String = (0..126).map(|_| "(func (drop (i32.const 5)))").collect();
    let wat = format!(r#"(module (memory 1) {functions} (func (export "f") (param i32) (drop (i32.const 99))))"#);
    let wasm = wat::parse_str(&wat).unwrap();
    let linked = linked(&wat, "f(len)").wasm;
    let place = |wasm: &[u8]| {
        let at = wasm.windows(3).position(|bytes| bytes == [0x41, 0xe3, 0]).unwrap();
        let start = wasmparser::Parser::new(0).parse_all(wasm).find_map(|payload| match payload {
            Ok(wasmparser::Payload::CodeSectionStart { unchecked_range, .. }) => Some(unchecked_range.start),
            _ => None,
        });
        (at as u32, at as u32 - start.unwrap() as u32)
    };
    let ((old, old_address), (new, new_address)) = (place(&wasm), place(&linked));
    assert_eq!(new_address, old_address + 1);
    assert_eq!(Addresses::of(&linked).unwrap().original(new_address), Some(old_address));
    assert_eq!(Origin::of(&linked).unwrap().moved_by, new - old);
}

#[test]
fn a_memory_grows_for_its_host() {
    let grown = link_growth(&wat::parse_str(LIBRARY).unwrap()).unwrap();
    Validator::new().validate_all(&grown).unwrap();
    assert!(wasmprinter::print_bytes(&grown).unwrap().contains("memory.grow"));
    let none = wat::parse_str("(module (func))").unwrap();
    assert_eq!(link_growth(&none).unwrap(), none);
}
