//! Functions of components are called with inputs, and what fails is named.

use super::{BUG, OPTIONS, core, executor, load, named, parser, settings};
use fuzzbox::outcome::{FailureKind, Outcome, TrapKind};
use fuzzbox_tests::command::Fuzzbox;

#[test]
fn a_bug_behind_a_list_of_bytes_is_found_with_its_frames() {
    let fuzzbox = Fuzzbox::new();
    std::fs::write(fuzzbox.dir().join("parser.wat"), parser("(list u8)", BUG)).unwrap();
    let args = ["--execs", "2000000", "--seed", "1", "--stop-on", "first", "--reporter", "json"];
    let run = fuzzbox.run("run", &["parser.wat"], &args);
    assert_eq!(run.code, 1, "{run:?}");
    let lines = run.json_lines();
    let finding = &lines.last().unwrap()["findings"][0];
    let frames: Vec<_> =
        finding["frames"].as_array().unwrap().iter().map(|frame| frame["function"].as_str().unwrap()).collect();
    assert_eq!(frames, ["inner", "parse"]);
    let id = finding["id"].as_str().unwrap();
    let input = fuzzbox.read(&format!("targets/parser/findings/{id}/input"));
    assert!(input.starts_with(b"bug"));

    // The store has the component, and the hash alone is enough to run it again.
    let repro = fuzzbox.run("repro", &[&id[..8]], &["--json"]);
    assert_eq!((repro.code, &repro.json_lines()[0]["same"]), (1, &serde_json::Value::Bool(true)), "{repro:?}");
    let shown = fuzzbox.run("show", &[&id[..8]], &[]);
    assert!(shown.code == 0 && shown.stdout.contains("inner"), "{shown:?}");
    let module = finding["module"].as_str().or(lines.last().unwrap()["module"].as_str()).unwrap();
    let inspect = fuzzbox.run("inspect", &["parser.wat"], &["--json"]);
    let inspected = &inspect.json_lines()[0];
    assert_eq!(inspected["module"], module);
    assert_eq!(inspected["exports"][0], "parse: func(x: list<u8>)");
    assert!(inspected["entry"].as_str().unwrap().starts_with("parse(list<u8>)"), "{inspected}");

    // The same from a replay, and the graph of a function in it.
    std::fs::write(fuzzbox.dir().join("input"), b"bugs").unwrap();
    let replay = fuzzbox.run("replay", &["parser.wat", "input"], &["--json"]);
    assert_eq!((replay.code, &replay.json_lines()[0]["outcome"]), (1, &"crash".into()), "{replay:?}");
    let graph = fuzzbox.run("inspect", &["parser.wat"], &["--cfg", "inner"]);
    assert!(graph.code == 0 && graph.stdout.contains("blocks"), "{graph:?}");
}

#[test]
fn a_component_is_rewritten_as_a_component() {
    let fuzzbox = Fuzzbox::new();
    std::fs::write(fuzzbox.dir().join("parser.wat"), parser("(list u8)", BUG)).unwrap();
    let run = fuzzbox.run("instrument", &["parser.wat"], &["-o", "new.wasm", "--map", "map.json"]);
    assert_eq!(run.code, 0, "{run:?}");
    let new = std::fs::read(fuzzbox.dir().join("new.wasm")).unwrap();
    let features = fuzzbox_instrument::component_features();
    wasmparser::Validator::new_with_features(features).validate_all(&new).unwrap();
    let map: serde_json::Value =
        serde_json::from_slice(&std::fs::read(fuzzbox.dir().join("map.json")).unwrap()).unwrap();
    assert_eq!(map[0]["path"], serde_json::json!([0]));
    assert!(map[0]["map"].is_object() || map[0]["map"].is_array(), "{map}");
}

/// Traps unless each byte of the text is the one of the text "Ä" that is due.
const UMLAUT: &str = r#"
    (func $parse (export "parse") (param i32 i32)
        (if (i32.eq (local.get 1) (i32.const 2)) (then
            (if (i32.eq (i32.load16_u (local.get 0)) (i32.const 0x84c3)) (then unreachable)))))"#;

#[test]
fn a_string_is_the_input_as_text() {
    let mut executor = executor(parser("string", UMLAUT), settings());
    assert_eq!(
        executor.target().candidate.entry.to_string(),
        "parse(string), a component's function over the input as text"
    );
    let mut crashes = |input: &[u8]| matches!(executor.run(input).unwrap().failure(), Some((FailureKind::Crash, _)));
    assert!(crashes("Ä".as_bytes()));
    assert!(crashes(b"\xc4"), "what is no UTF-8 is Latin-1");
    assert!(!crashes(b"\xc3") && !crashes(b"A") && !crashes(b""));
}

#[test]
fn post_return_gets_the_result_and_its_failures_count() {
    let functions = r#"
        (func (export "parse") (param i32 i32) (result i32)
            (i32.store (i32.const 16) (local.get 0)) (i32.store (i32.const 20) (local.get 1)) (i32.const 16))
        (func $after (export "after") (param i32)
            (if (i32.ne (local.get 0) (i32.const 16)) (then (unreachable)))
            (if (i32.eq (i32.load offset=4 (local.get 0)) (i32.const 3)) (then (drop (i32.div_u (i32.const 1) (i32.const 0))))))"#;
    let core = core(functions);
    let component = format!(
        r#"(component {core} (func (export "echo") (param "x" (list u8)) (result (list u8))
            (canon lift (core func $i "parse") {OPTIONS} (post-return (core func $i "after")))))"#
    );
    let mut executor = executor(component, settings());
    assert_eq!(executor.run(b"12").unwrap(), Outcome::Ok);
    let outcome = executor.run(b"123").unwrap();
    let Some((FailureKind::Crash, trap)) = outcome.failure() else { panic!("it fails") };
    assert_eq!(trap.kind, TrapKind::IntegerDivisionByZero);
    assert_eq!(executor.target().edges.function_name(trap.frames[0].function), Some("after"));
}

#[test]
fn an_allocator_that_lies_is_a_crash() {
    let component = r#"(component
        (core module $m (memory (export "memory") 1)
            (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 65534))
            (func (export "f") (param i32 i32)))
        (core instance $i (instantiate $m))
        (func (export "f") (param "x" (list u8))
            (canon lift (core func $i "f") (memory (core memory $i "memory")) (realloc (core func $i "realloc")))))"#;
    let mut executor = executor(component, settings());
    assert_eq!(executor.run(b"ab").unwrap(), Outcome::Ok);
    let outcome = executor.run(b"abc").unwrap();
    let Some((FailureKind::Crash, trap)) = outcome.failure() else { panic!("it fails") };
    assert_eq!((trap.kind, trap.frames.len()), (TrapKind::MemoryOutOfBounds, 0));
    assert_eq!(executor.run(b"ab").unwrap(), Outcome::Ok);
}

/// Two functions over bytes, one of them in an interface, and others.
fn several() -> String {
    let core = core(
        r#"(func (export "a") (param i32 i32)) (func (export "b") (param i32 i32) unreachable)
           (func (export "n") (param i32)) (func (export "v"))"#,
    );
    format!(
        r#"(component {core}
            (func $a (param "x" (list u8)) (canon lift (core func $i "a") {OPTIONS}))
            (func $b (param "text" string) (canon lift (core func $i "b") {OPTIONS}))
            (func $n (param "n" u32) (canon lift (core func $i "n")))
            (func $v (canon lift (core func $i "v")))
            (export "a" (func $a)) (export "n" (func $n)) (export "v" (func $v))
            (instance $inside (export "b" (func $b)) (export "n" (func $n)))
            (export "test:pkg/iface@1.2.3" (instance $inside)))"#
    )
}

#[test]
fn functions_are_chosen_by_name_with_or_without_their_interfaces_version() {
    let error = super::refusal(several(), settings());
    for word in [
        "several functions",
        "a: func(x: list<u8>)",
        "test:pkg/iface@1.2.3#b: func(text: string)",
        "n: func(n: u32)",
        "--entry",
    ] {
        assert!(error.contains(word), "{word}: {error}");
    }
    for name in ["test:pkg/iface@1.2.3#b", "test:pkg/iface#b"] {
        let mut executor = executor(several(), named(name));
        assert!(matches!(executor.run(b"").unwrap().failure(), Some((FailureKind::Crash, _))), "{name}");
    }
    assert_eq!(executor(several(), named("a")).run(b"x").unwrap(), Outcome::Ok);
    assert_eq!(executor(several(), named("v")).run(b"x").unwrap(), Outcome::Ok);
}

#[test]
fn the_entry_changes_neither_the_id_nor_the_edges() {
    let [a, b] = ["a", "test:pkg/iface#b"].map(|entry| load(several(), named(entry)));
    assert_eq!((a.candidate.id, a.edges.edges.len()), (b.candidate.id, b.edges.edges.len()));
}

#[test]
fn names_and_debug_information_inside_are_no_part_of_the_id() {
    let named = wat::parse_str(parser("(list u8)", BUG)).unwrap();
    let anonymous = wat::parse_str(parser("(list u8)", &BUG.replace("$inner", "$other"))).unwrap();
    assert_ne!(named, anonymous);
    assert_eq!(load(named, settings()).candidate.id, load(anonymous, settings()).candidate.id);
}

/// Makes a resource, asks for its representation, and drops it, which calls its destructor with that.
#[test]
fn resources_that_a_component_defines_work() {
    let component = r#"(component
        (core module $drops
            (global $dropped (mut i32) (i32.const 0))
            (func (export "dropped") (result i32) (global.get $dropped))
            (func $destructor (export "destructor") (param i32)
                (if (i32.eq (local.get 0) (i32.const 103)) (then (unreachable)))
                (global.set $dropped (local.get 0))))
        (core instance $drops (instantiate $drops))
        (type $r (resource (rep i32) (dtor (core func $drops "destructor"))))
        (core func $new (canon resource.new $r))
        (core func $rep (canon resource.rep $r))
        (core func $drop (canon resource.drop $r))
        (core module $m
            (import "r" "new" (func $new (param i32) (result i32)))
            (import "r" "rep" (func $rep (param i32) (result i32)))
            (import "r" "drop" (func $drop (param i32)))
            (import "drops" "dropped" (func $dropped (result i32)))
            (memory (export "memory") 1)
            (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
            (func (export "f") (param i32 i32)
                (local $handle i32)
                (local.set $handle (call $new (i32.add (local.get 1) (i32.const 100))))
                (if (i32.ne (local.get $handle) (i32.const 1)) (then (unreachable)))
                (if (i32.ne (call $rep (local.get $handle)) (i32.add (local.get 1) (i32.const 100))) (then (unreachable)))
                (call $drop (local.get $handle))
                (if (i32.ne (call $dropped) (i32.add (local.get 1) (i32.const 100))) (then (unreachable)))
                (if (local.get 1) (then (call $drop (local.get $handle))))))
        (core instance $i (instantiate $m
            (with "r" (instance (export "new" (func $new)) (export "rep" (func $rep)) (export "drop" (func $drop))))
            (with "drops" (instance $drops))))
        (func (export "f") (param "x" (list u8))
            (canon lift (core func $i "f") (memory (core memory $i "memory")) (realloc (core func $i "realloc")))))"#;
    let mut executor = executor(component, settings());
    let kind = |outcome: Outcome| outcome.trap().map(|trap| trap.kind);
    for _ in 0..3 {
        assert_eq!(executor.run(b"").unwrap(), Outcome::Ok);
        // A handle that was dropped is dropped again.
        assert_eq!(kind(executor.run(b"1").unwrap()), Some(TrapKind::UnknownHandle));
        assert_eq!(kind(executor.run(b"123").unwrap()), Some(TrapKind::Unreachable));
    }
}
