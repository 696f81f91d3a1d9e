use super::*;
use crate::sandbox::conventions::kind::Kind;

fn interface(wat: &str) -> (Vec<u8>, Interface) {
    let wasm = wat::parse_str(wat).unwrap();
    let interface = Interface::of(&wasm).unwrap();
    (wasm, interface)
}

/// The lines that are proposed, all of which are right for the module.
#[track_caller]
fn proposed(wat: &str, glue: &str) -> Vec<String> {
    let (wasm, interface) = interface(wat);
    let all = proposals(&interface, glue);
    assert_eq!(checked(&interface, &wasm, glue, usize::MAX, false), all, "some do not fit the module");
    all.into_iter().map(|proposal| format!("{}: {}", proposal.convention, proposal.call)).collect()
}

const MEMORY: &str = r#"(memory (export "memory") 1)"#;

#[test]
fn libraries_in_c_are_given_a_block() {
    let functions = r#"
        (func (export "malloc") (param i32) (result i32) (i32.const 0)) (func (export "free") (param i32))
        (func (export "strlen") (param i32) (result i32) (i32.const 0))
        (func (export "doc_free") (param i32 i32))
        (func (export "checksum") (param i32 i32) (result i32) (i32.const 0))
        (func (export "parse_text") (param i32) (result i32) (i32.const 0))
        (func (export "decode_all") (param i32 i32 i32 f64) (result i32) (i32.const 0))"#;
    assert_eq!(
        proposed(&format!("(module {MEMORY} {functions})"), ""),
        [
            "heap: p = malloc(len); write(p, input); decode_all(p, len, 0, 0); free(p)",
            "heap: p = malloc(len + 1); write(p, input); write8(p + len, 0); parse_text(p); free(p)",
            "heap: p = malloc(len); write(p, input); checksum(p, len); free(p)",
        ]
    );
}

#[test]
fn other_allocators_are_known_by_name_and_type() {
    let mappings = r#"
        (func (export "allocate_mappings") (param i32) (result i32) (i32.const 0))
        (func (export "parse_mappings") (param i32) (result i32) (i32.const 0))
        (func (export "free_mappings") (param i32))
        (func (export "by_location") (param i32 i32) (result i32) (i32.const 0))"#;
    let lines = proposed(&format!("(module {MEMORY} {mappings})"), "");
    assert_eq!(lines[0], "heap: p = allocate_mappings(len); write(p, input); parse_mappings(p)");
    let tinygo = r#"
        (func (export "alloc") (param i32) (result i32) (i32.const 0)) (func (export "format"))
        (func (export "output_ptr") (result i32) (i32.const 0))"#;
    assert_eq!(
        proposed(&format!("(module {MEMORY} {tinygo})"), ""),
        ["heap: p = alloc(len); write(p, input); format()"]
    );
    let cabi = r#"
        (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 0))
        (func (export "a:b/c#parse") (param i32 i32) (result i32) (i32.const 0))"#;
    assert_eq!(
        proposed(&format!("(module {MEMORY} {cabi})"), ""),
        ["heap: p = cabi_realloc(0, 0, 1, len); write(p, string); `a:b/c#parse`(p, len)"]
    );
    assert!(proposed(&format!("(module {MEMORY} (func (export \"f\") (param i32 i32)))"), "").is_empty());
}

#[test]
fn texts_are_given_to_functions_in_c_where_javascript_says_so() {
    let functions = r#"
        (func (export "_malloc") (param i32) (result i32) (i32.const 0)) (func (export "_free") (param i32))
        (func (export "render") (param i32 i32 i32) (result i32) (i32.const 0))
        (func (export "open") (param i32 i32) (result i32) (i32.const 0))
        (func (export "set_size") (param i32 i32) (result i32) (i32.const 0))"#;
    let glue = r#"render=Module.cwrap("render","string",["string","boolean","string"]);cwrap('open','number',["string","number"]);cwrap('set_size','number',['number','number'])"#;
    let module = format!("(module {MEMORY} {functions})");
    let line = "heap: p = _malloc(len + 1); write(p, input); write8(p + len, 0); render(p, 0, p); _free(p)";
    assert_eq!(proposed(&module, glue), [line]);
    // Without it what sounds like it is taken for an address and a length.
    assert_eq!(proposed(&module, ""), ["heap: p = _malloc(len); write(p, input); open(p, len); _free(p)"]);
}

#[test]
fn programs_are_given_a_name_and_standard_input() {
    let functions = r#"
        (func (export "stackAlloc") (param i32) (result i32) (i32.const 0))
        (func (export "main") (param i32 i32) (result i32) (i32.const 0))"#;
    let lines = proposed(&format!("(module {MEMORY} {functions})"), "");
    assert!(lines[0].starts_with("program: a = stackAlloc(32);") && lines[0].ends_with("main(2, a)"), "{lines:?}");
    assert_eq!(lines.len(), 1);
}

#[test]
fn programs_may_be_given_the_input_as_an_argument() {
    let functions = r#"
        (func (export "stackAlloc") (param i32) (result i32) (i32.const 0))
        (func (export "main") (param i32 i32) (result i32) (i32.const 0))"#;
    let (wasm, interface) = interface(&format!("(module {MEMORY} {functions})"));
    let all = checked(&interface, &wasm, "", usize::MAX, true);
    let call = "p = stackAlloc(len + 1); write(p, input); write8(p + len, 0); a = stackAlloc(32); write(a + 16, \
                \"main\\0-e\\0\"); write32(a, a + 16); write32(a + 4, a + 21); write32(a + 8, p); write32(a + 12, 0); \
                main(3, a)";
    assert!(all.iter().any(|way| way.call == call), "{all:?}");
}

#[test]
fn more_ways_are_tried_than_are_listed() {
    let ways = |functions: &str| {
        let (wasm, interface) = interface(&format!("(module {MEMORY} {functions})"));
        assert!(
            !proposed(&format!("(module {MEMORY} {functions})"), "").iter().any(|line| line.starts_with("objects"))
        );
        let all = checked(&interface, &wasm, "", usize::MAX, true);
        all.into_iter().map(|way| way.call).collect::<Vec<_>>()
    };
    let malloc = r#"(func (export "malloc") (param i32) (result i32) (i32.const 0))"#;
    // What allocates one kind of things makes them.
    let kinds = r#"(func (export "http_alloc") (param i32) (result i32) (i32.const 0))
        (func (export "http_execute") (param i32 i32 i32) (result i32) (i32.const 0))"#;
    let found = ways(&format!("{malloc} {kinds}"));
    assert!(found.iter().any(|call| call.ends_with("h = http_alloc(0); http_execute(h, p, len)")), "{found:?}");
    // Without an allocator the input is given where it is.
    let hash =
        r#"(func (export "xx64") (param i32 i32 i64) (result i64) (i64.const 0)) (func (export "n") (param i32))"#;
    assert_eq!(ways(hash), ["xx64(input, len, 0)"]);
    // Where no name promises anything, those that might are tried.
    let dull = r#"(func (export "getInfo") (param i32 i32 i32) (result i32) (i32.const 0))"#;
    let found = ways(&format!("{malloc} {dull}"));
    assert!(found.iter().any(|call| call.ends_with("getInfo(p, len, o)")), "{found:?}");
    // What makes something of its input is given room for that.
    let codec = r#"(func (export "BZ_decompress") (param i32 i32 i32 i32 i32) (result i32) (i32.const 0))"#;
    let found = ways(&format!("{malloc} {codec}"));
    let ends = "; q = malloc(65536); n = malloc(8); write64(n, 65536); BZ_decompress(q, 65536, p, len, 0)";
    assert!(found.iter().any(|call| call.ends_with(ends)), "{found:?}");
}

#[test]
fn a_grammar_with_its_runtime_is_asked_for_what_it_reads() {
    let functions = r#"
        (import "env" "tree_sitter_parse_callback" (func (param i32 i32 i32 i32 i32)))
        (import "env" "tree_sitter_progress_callback" (func (param i32 i32) (result i32)))
        (memory (export "memory") 1)
        (func (export "malloc") (param i32) (result i32) (i32.const 0))
        (func (export "ts_init") (result i32) (i32.const 0)) (func (export "ts_parser_new_wasm"))
        (func (export "ts_parser_set_language") (param i32 i32) (result i32) (i32.const 0))
        (func (export "ts_parser_parse_wasm") (param i32 i32 i32 i32 i32) (result i32) (i32.const 0))"#;
    let language = r#"(func (export "tree_sitter_x") (result i32) (i32.const 0))
        (func (export "tree_sitter_x_external_scanner_create") (result i32) (i32.const 0))"#;
    let lines = proposed(&format!("(module {functions} {language})"), "");
    let lines: Vec<_> = lines.iter().filter(|line| line.starts_with("tree-sitter: on ")).collect();
    assert!(lines.len() == 1 && lines[0].contains("ts_parser_set_language(h, tree_sitter_x())"), "{lines:?}");
    assert!(!proposed(&format!("(module {functions})"), "").iter().any(|line| line.starts_with("tree-sitter")));
}

#[test]
fn pipelines_of_itk_wasm_are_told_where_their_input_is() {
    let functions = r#"
        (func (export "stackAlloc") (param i32) (result i32) (i32.const 0))
        (func (export "itk_wasm_input_array_alloc") (param i32 i32 i32 i32) (result i32) (i32.const 0))
        (func (export "itk_wasm_input_json_alloc") (param i32 i32 i32) (result i32) (i32.const 0))
        (func (export "main") (param i32 i32) (result i32) (i32.const 0))"#;
    let lines = proposed(&format!("(module {MEMORY} {functions})"), "");
    let line = &lines[0];
    assert!(line.starts_with("itk-wasm: p = itk_wasm_input_array_alloc(0, 0, 0, len); write(p, input); "), "{line}");
    let described = line.split('"').nth(1).unwrap();
    assert!(line.ends_with("main(4, a)") && described.starts_with("{\\"), "{line}");
    // The digits are written from behind: the address's last is the tenth, the length's stands before the end.
    assert!(line.contains("q = j + 53;") && line.contains("q = j + 72;"), "{line}");
}

#[test]
fn many_functions_and_much_javascript_take_no_time_that_grows_with_both() {
    let functions: String = (0..30_000)
        .map(|n| {
            format!("(export \"c{n}_parse_{}\" (func 1)) (export \"__wbg_c{n}_free\" (func 0))", "_".repeat(n % 50))
        })
        .collect();
    let malloc = r#"(func (param i32)) (func (param i32 i32 i32)) (func (export "__wbindgen_malloc") (param i32 i32) (result i32) (i32.const 0))"#;
    let (wasm, interface) = interface(&format!("(module {MEMORY} {malloc} {functions})"));
    let glue: String = (0..30_000).map(|n| format!("wasm.c{n}_parse_(ptr0, len0, (, wasm.x, wasm.y\n")).collect();
    for glue in ["", &*glue, &*"wasm.f(".repeat(200_000), &*"(\"a\",\"b\",[".repeat(200_000), &*"=a.b".repeat(200_000)]
    {
        assert!(checked(&interface, &wasm, glue, 8, false).len() <= 8);
        assert!(recipe("c5_nothing", &interface, glue).is_err());
        minified::names(&interface, glue);
    }
}

const BINDGEN: &str = r#"
    (func (export "__wbindgen_malloc") (param i32 i32) (result i32) (i32.const 0))
    (func (export "__wbindgen_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 0))
    (func (export "__wbindgen_add_to_stack_pointer") (param i32) (result i32) (i32.const 0))
    (func (export "__wbg_parser_free") (param i32))
    (func (export "parser_new") (param i32) (result i32) (i32.const 0))
    (func (export "parser_parse") (param i32 i32 i32) (result i32) (i32.const 0))
    (func (export "format") (param i32 i32 i32))
    (func (export "merge") (param i32 i32 i32 i32 i32))
    (func (export "count") (param i32 i32) (result i32) (i32.const 0))"#;

#[test]
fn modules_of_wasm_bindgen_are_called_as_their_javascript_does() {
    let r = "r = __wbindgen_add_to_stack_pointer(-16)";
    let p = "p = __wbindgen_malloc(len, 1); write(p, string)";
    let module = format!("(module {MEMORY} {BINDGEN})");
    let mut lines = proposed(&module, "");
    lines.sort();
    assert_eq!(
        lines,
        [
            format!("wasm-bindgen: {p}; count(p, len)"),
            format!("wasm-bindgen: {r}; {p}; format(r, p, len)"),
            format!(
                "wasm-bindgen: {r}; {p}; q = __wbindgen_malloc(len, 1); write(q, string); merge(r, p, len, q, len)"
            ),
            format!("wasm-bindgen: s = parser_new(0); {p}; parser_parse(s, p, len)"),
        ]
    );
    // What the types don't tell.
    let glue = "function merge(a, b, c) {
        const retptr = wasm.__wbindgen_add_to_stack_pointer(-16);
        const ptr0 = passArray8ToWasm0(a, wasm.__wbindgen_malloc);
        const len0 = WASM_VECTOR_LEN;
        wasm.merge(retptr, ptr0, len0, isLikeNone(b) ? 0 : addHeapObject(b), c);\n}
        export class Parser { constructor(x) { const ret = wasm.parser_new(x); return Parser.__wrap(ret);\n}
        parse(data) { const ptr0 = passArray8ToWasm0(data, wasm.__wbindgen_malloc);
            const ret = wasm.parser_parse(this.__wbg_ptr, ptr0, len0); return ret;\n} }";
    let lines = proposed(&module, glue);
    let block = "p = __wbindgen_malloc(len, 1); write(p, input)";
    assert!(lines.contains(&format!("wasm-bindgen: {r}; {block}; merge(r, p, len, 0, 0)")), "{lines:#?}");
    assert!(lines.contains(&format!("wasm-bindgen: s = parser_new(0); {block}; parser_parse(s, p, len)")));
    // What its JavaScript never calls is not called.
    assert!(!lines.iter().any(|line| line.contains("format(")), "{lines:#?}");
}

#[test]
fn modules_of_assemblyscript_are_given_objects() {
    let functions = r#"
        (import "env" "abort" (func (param i32 i32 i32 i32)))
        (func (export "__new") (param i32 i32) (result i32) (i32.const 0))
        (func (export "__pin") (param i32) (result i32) (i32.const 0))
        (func (export "parse") (param i32) (result i32) (i32.const 0))
        (func (export "decode") (param i32) (result i32) (i32.const 0))
        (func (export "add") (param i32 i32) (result i32) (i32.const 0))"#;
    let module = format!("(module {functions} {MEMORY})");
    let glue = "parse(text) { text = __lowerString(text) || __notnull(); return exports.parse(text) },
        decode(b) { b = __lowerBuffer(b) || __notnull(); return exports.decode(b) },
        add(a, b) { return exports.add(a, b) >>> 0; }";
    assert_eq!(
        proposed(&module, glue),
        [
            "assemblyscript: p = __new(len, 2); p = __pin(p); write(p, utf16); parse(p)",
            "assemblyscript: p = __new(len, 1); p = __pin(p); write(p, input); decode(p)",
        ]
    );
    assert_eq!(proposed(&module, "").len(), 3);
}

#[test]
fn names_stand_for_recipes_and_recipes_for_themselves() {
    let (_, interface) = interface(&format!("(module {MEMORY} {BINDGEN})"));
    let meant = |typed: &str| recipe(typed, &interface, "");
    let format = meant("format").unwrap();
    assert!(format.ends_with("format(r, p, len)"));
    assert_eq!(meant("wasm-bindgen:format").unwrap(), format);
    assert_eq!(meant("f(len)").unwrap(), "f(len)");
    let error = |typed: &str| meant(typed).unwrap_err().to_string();
    assert!(error("fromat").contains("did you mean --call format?"), "{}", error("fromat"));
    assert!(error("heap:format").contains("no convention tells"));
    assert!(error("__wbindgen_malloc").contains("no convention tells"));
}

#[test]
fn kinds_are_told_by_what_is_imported_and_exported() {
    let kind = |wat: &str| Kind::of(&interface(wat).1);
    assert_eq!(kind(r#"(module (import "gojs" "runtime.wasmExit" (func)))"#), Kind::Go);
    assert_eq!(kind(r#"(module (import "gojs" "runtime.ticks" (func)))"#), Kind::Plain);
    assert_eq!(kind(r#"(module (import "env" "napi_get_value" (func)))"#), Kind::Napi);
    assert_eq!(kind(r#"(module (import "wbg" "__wbg_x" (func)))"#), Kind::WasmBindgen);
    assert_eq!(kind(r#"(module (import "a" "b" (func)))"#), Kind::Minified);
    assert_eq!(kind(r#"(module (import "env" "__memory_base" (global i32)))"#), Kind::Side);
    assert_eq!(kind(r#"(module (import "env" "emscripten_resize_heap" (func)))"#), Kind::Emscripten);
    assert_eq!(kind(r#"(module (import "env" "abort" (func (param i32 i32 i32 i32))))"#), Kind::AssemblyScript);
    assert_eq!(kind(r#"(module (import "env" "abort" (func)))"#), Kind::Plain);
    assert_eq!(kind(r#"(module (func (export "cabi_realloc")))"#), Kind::Cabi);
}

#[test]
fn programs_of_go_are_no_libraries() {
    let program = r#"(import "gojs" "runtime.wasmExit" (func (param i32))) (memory (export "mem") 1)
        (func (export "run") (param i32 i32)) (func (export "resume")) (func (export "getsp") (result i32) (i32.const 0))"#;
    let (wasm, interface) = interface(&format!("(module {program})"));
    assert_eq!(checked(&interface, &wasm, "", usize::MAX, true), []);
}

#[test]
fn classes_of_the_webidl_binder_are_made_and_their_methods_given_bytes() {
    let names = [
        ("Decoder_Decoder_0", 0),
        ("Decoder_DecodeBufferToMesh_2", 3),
        ("Decoder_GetMesh_1", 2),
        ("DecoderBuffer_DecoderBuffer_0", 0),
        ("DecoderBuffer_Init_2", 3),
        ("Mesh_Mesh_0", 0),
        ("Mesh___destroy___0", 1),
    ];
    let functions = names.map(|(name, params)| {
        let params = "i32 ".repeat(params);
        format!("(func (export \"emscripten_bind_{name}\") (param {params}) (result i32) (i32.const 0))")
    });
    let malloc = r#"(func (export "malloc") (param i32) (result i32) (i32.const 0))"#;
    let lines = proposed(&format!("(module {MEMORY} {malloc} {})", functions.concat()), "");
    assert_eq!(
        lines[0],
        "webidl: p = malloc(len); write(p, input); o = emscripten_bind_Decoder_Decoder_0(); b = \
         emscripten_bind_DecoderBuffer_DecoderBuffer_0(); emscripten_bind_DecoderBuffer_Init_2(b, p, len); m = \
         emscripten_bind_Mesh_Mesh_0(); emscripten_bind_Decoder_DecodeBufferToMesh_2(o, b, m)"
    );
    assert!(!lines.iter().any(|line| line.contains("destroy")), "{lines:?}");
}
