//! What can't be rewritten is refused with one clear error, and what is large is not.

use fuzzbox_instrument::{EdgeKind, Instrumented, Options, instrument, layout, strip_custom_sections};
use wasm_encoder::*;

fn rewritten(wasm: &[u8]) -> Instrumented {
    instrument(wasm, &Options::default()).unwrap()
}

fn refusal(wasm: &[u8]) -> String {
    format!("{:#}", instrument(wasm, &Options::default()).unwrap_err())
}

fn refusal_of_text(text: &str) -> String {
    refusal(&wat::parse_str(text).unwrap())
}

#[test]
fn what_is_no_core_module_is_refused() {
    assert_eq!(refusal(b""), "is empty");
    assert_eq!(refusal(b"\0asm"), "is not a wasm module: it ends within its header");
    assert_eq!(refusal(b"#!/bin/sh"), "is not a wasm module: it doesn't start with `\\0asm`");
    assert_eq!(
        refusal_of_text("(component)"),
        "is a component; only core modules can be rewritten (those inside by `instrument_component`)"
    );
}

#[test]
fn what_is_invalid_is_refused_with_its_offset() {
    let invalid = "(module (func (result i32)))";
    assert_eq!(
        refusal_of_text(invalid),
        "is not valid wasm: type mismatch: expected i32 but nothing on stack (at offset 0x18)"
    );
    assert_eq!(
        refusal_of_text("(module (func) (export \"f\" (func 1)))"),
        "is not valid wasm: unknown function 1: exported function index out of bounds (at offset 0x15)"
    );
    let mut cut = wat::parse_str("(module (func (export \"main\") nop))").unwrap();
    cut.pop();
    assert_eq!(refusal(&cut), "is not valid wasm: unexpected end-of-file (at offset 0x20)");
}

#[test]
fn legacy_exceptions_are_refused_where_they_are_invalid_or_too_many() {
    assert_eq!(
        refusal_of_text("(module (func try rethrow 0 catch_all end))"),
        "is not valid wasm: invalid rethrow label: target was not a `catch` block (at offset 0x19)"
    );
    let nested =
        |count: usize| format!("(module (func {} {}))", "try catch_all rethrow 0 ".repeat(count), "end ".repeat(count));
    assert_eq!(
        refusal_of_text(&nested(50_001)),
        "has function 0, whose legacy exceptions can't be translated: would need 50001 locals, more than the 50000 that \
         engines accept"
    );
    let large = format!("(module (func {}))", "try catch_all end ".repeat(600_000));
    assert_eq!(
        refusal_of_text(&large),
        "has function 0, whose legacy exceptions can't be translated: has 8400002 bytes when it is translated, more than the \
         7654321 that engines accept"
    );
    let counted = format!("(module (func {}))", "try catch_all end ".repeat(300_000));
    assert_eq!(
        refusal_of_text(&counted),
        "has legacy exceptions, which are translated first: has function 0, which can't be rewritten: has 12300058 bytes \
         when it is rewritten, more than the 7654321 that engines accept"
    );
}

#[test]
fn legacy_exceptions_may_be_nested_deeply() {
    let count = 40_000;
    let (starts, ends) = ("try call 0 catch_all ".repeat(count), "rethrow 0 end ".repeat(count));
    let clauses = format!("(module (func {starts} {ends}))");
    let wasm = wat::parse_str(&clauses).unwrap();
    let catches =
        rewritten(&wasm).edges.edges.iter().filter(|edge| matches!(edge.kind, EdgeKind::Catch { .. })).count();
    assert_eq!(catches, count);
    // Each delegates across all the others; in the clause of the outermost, that is to the caller.
    for around in ["try", "try catch_all"] {
        let ends: Vec<_> = (0..count).rev().map(|depth| format!("delegate {depth}")).collect();
        let clause = if around == "try" { "catch_all" } else { "" };
        let text = format!("(module (func {around} {} call 0 {} {clause} end))", "try ".repeat(count), ends.join(" "));
        rewritten(&wat::parse_str(&text).unwrap());
    }
}

#[test]
fn what_wasmtime_has_not_is_refused_by_name() {
    let missing = [
        ("(module (type $f (func)) (type (cont $f)))", "when stack switching is disabled"),
        ("(module (type (shared (struct))))", "require the shared-everything-threads proposal"),
        (
            "(module (rec (type $a (descriptor $b) (struct)) (type $b (describes $a) (struct))))",
            "custom descriptors proposal must be enabled",
        ),
        ("(module (func pause))", "acquire-release atomics support is not enabled"),
        (
            "(module (memory 1) (func (memory.discard (i32.const 0) (i32.const 0))))",
            "memory control support is not enabled",
        ),
    ];
    for (text, expected) in missing {
        let error = refusal_of_text(text);
        assert!(error.starts_with("is not valid wasm: ") && error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn what_has_no_place_for_more_is_refused_by_name() {
    let beyond = |text: &str| format!("is beyond what engines accept when it is rewritten: {text}");
    let memories = format!("(module {})", "(memory 0)".repeat(100));
    let error = refusal_of_text(&memories);
    assert!(error.starts_with(&beyond("memories count exceeds limit of 100 (at offset")), "{error}");
    // As many segments as there may be are no reason: none is added.
    let segments = format!("(module (memory 1) {})", "(data \"\")".repeat(100_000));
    rewritten(&wat::parse_str(segments).unwrap());
    let locals = format!("(module (func (local {}) (br_table 0 0 (i32.const 0))))", "i32 ".repeat(49_999));
    assert_eq!(
        refusal_of_text(&locals),
        "has function 0, which can't be rewritten: needs more than 50000 locals to be instrumented"
    );
    let size = format!("(module (func {}))", "(br_if 0 (i32.const 0))".repeat(200_000));
    assert_eq!(
        refusal_of_text(&size),
        "has function 0, which can't be rewritten: has 8362569 bytes when it is rewritten, more than the 7654321 that \
         engines accept"
    );
    let crossings = try_tables_of_all_kinds(300, 300);
    assert_eq!(
        refusal(&crossings),
        "has function 0, which can't be rewritten: needs too many types of blocks when it is rewritten"
    );
}

/// A module with `try_table`s of many parameter lists, each of which catches all of many exceptions: it takes as many
/// types of blocks as there are pairs, each of which is long.
fn try_tables_of_all_kinds(parameters: u32, exceptions: u32) -> Vec<u8> {
    let long =
        |number: u32| (0..500).map(move |bit| if number >> (bit % 16) & 1 == 0 { ValType::I32 } else { ValType::I64 });
    let mut types = TypeSection::new();
    types.ty().function([], []);
    let mut tags = TagSection::new();
    let mut body = Function::new([]);
    for number in 0..exceptions {
        types.ty().function(long(number), []);
        types.ty().function([], long(number));
        tags.tag(TagType { kind: TagKind::Exception, func_type_idx: 1 + 2 * number });
    }
    let first = 1 + 2 * exceptions;
    for number in 0..parameters {
        types.ty().function(long(number), []);
        for exception in 0..exceptions {
            body.instructions().block(BlockType::FunctionType(2 + 2 * exception));
        }
        for ty in long(number) {
            body.instruction(&if ty == ValType::I32 { Instruction::I32Const(0) } else { Instruction::I64Const(0) });
        }
        let catches: Vec<_> = (0..exceptions).map(|tag| Catch::One { tag, label: exceptions - 1 - tag }).collect();
        body.instructions().try_table(BlockType::FunctionType(first + number), catches).unreachable().end();
        for _ in 0..exceptions {
            body.instructions().unreachable().end();
        }
    }
    body.instructions().unreachable().end();
    let mut functions = FunctionSection::new();
    functions.function(0);
    let mut code = CodeSection::new();
    code.function(&body);
    let mut module = Module::new();
    module.section(&types).section(&functions).section(&tags).section(&code);
    module.finish()
}

#[test]
fn a_branch_table_may_be_huge() {
    let text = format!("(module (func (param i32) (local.get 0) (br_table {})))", "0 ".repeat(1_000_000));
    let new = rewritten(&wat::parse_str(text).unwrap());
    assert_eq!(new.edges.edges.len(), 1 + 1_000_000);
    assert_eq!(new.edges.edges[1_000_000].kind, EdgeKind::BrTable { arm: 999_999 });
    assert_eq!(new.injected.pages, (u64::from(layout::COUNTERS) + 4 * 1_000_001).div_ceil(65_536));
}

#[test]
fn functions_may_be_many() {
    let text = format!("(module {})", "(func)".repeat(70_000));
    let new = rewritten(&wat::parse_str(text).unwrap());
    assert_eq!(new.edges.edges.len(), 70_000);
    assert_eq!(new.edges.edges[69_999].function, 69_999);
}

#[test]
fn nesting_may_be_deep() {
    const DEPTH: usize = 100_000;
    let mut body = Function::new([]);
    for _ in 0..DEPTH {
        body.instructions().i32_const(1).if_(BlockType::Empty);
    }
    body.instructions().br(DEPTH as u32 - 1);
    for _ in 0..DEPTH {
        body.instructions().end();
    }
    assert_eq!(rewritten(&module_with(body)).edges.edges.len(), 1 + 2 * DEPTH);

    let mut body = Function::new([]);
    for _ in 0..DEPTH {
        body.instructions().try_table(BlockType::Empty, [Catch::All { label: 0 }]);
    }
    body.instructions().br(DEPTH as u32);
    for _ in 0..DEPTH {
        body.instructions().end();
    }
    assert_eq!(rewritten(&module_with(body)).edges.edges.len(), 1 + DEPTH);
}

/// A module with one function without parameters and results.
fn module_with(mut body: Function) -> Vec<u8> {
    body.instructions().end();
    let mut types = TypeSection::new();
    types.ty().function([], []);
    let mut functions = FunctionSection::new();
    functions.function(0);
    let mut code = CodeSection::new();
    code.function(&body);
    let mut module = Module::new();
    module.section(&types).section(&functions).section(&code);
    module.finish()
}

#[test]
fn a_rewritten_module_can_be_rewritten() {
    let text = "(module (memory 1) (global (mut i32) (i32.const 0)) (func (export \"f\") loop br 0 end))";
    let once = rewritten(&wat::parse_str(text).unwrap());
    let twice = rewritten(&once.wasm);
    assert_eq!(once.injected.memory_export, "fuzzbox:injected");
    assert_eq!(twice.injected.memory_export, "fuzzbox1:injected");
    assert_eq!(twice.state.memories, ["fuzzbox1:memory:0", "fuzzbox1:memory:1"]);
    // The second is the first one's saved value.
    assert_eq!(twice.state.globals, ["fuzzbox1:global:0", "fuzzbox1:global:1"]);
}

#[test]
fn names_come_from_the_best_source_and_broken_ones_do_no_harm() {
    let text = "(module (import \"env\" \"log\" (func)) (import \"env\" \"named\" (func $named))
        (func $both (export \"exported\")) (func (export \"only exported\") (export \"again\")) (func))";
    let wasm = wat::parse_str(text).unwrap();
    let names = rewritten(&wasm).edges.functions;
    let names: Vec<_> = names.iter().map(Option::as_deref).collect();
    assert_eq!(names, [Some("env.log"), Some("named"), Some("both"), Some("only exported"), None]);

    let stripped = strip_custom_sections(&wasm).unwrap();
    let names = rewritten(&stripped).edges.functions;
    let names: Vec<_> = names.iter().map(Option::as_deref).collect();
    assert_eq!(names, [Some("env.log"), Some("env.named"), Some("exported"), Some("only exported"), None]);

    let mut broken = stripped.clone();
    RawSection { id: 0, data: b"\x04name\x01\x7f\x02\x00\x01a" }.append_to(&mut broken);
    RawSection { id: 0, data: b"\x04name\x01\x04\x01\x04\x01n\x01\x04\x02\x04\x01m\xff" }.append_to(&mut broken);
    let names = rewritten(&broken).edges.functions;
    assert_eq!(names[4].as_deref(), Some("n"));
    // Custom sections change nothing that executes.
    assert_eq!(rewritten(&broken).wasm, rewritten(&wasm).wasm);
    assert_eq!(rewritten(&stripped).wasm, rewritten(&wasm).wasm);
}
