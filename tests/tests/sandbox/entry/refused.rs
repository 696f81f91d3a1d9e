//! What can't be an entry is said in one error that names it, and nothing panics on the way.

use crate::entry::{load, named, settings};
use fuzzbox::sandbox::{Executor, Target};
use fuzzbox::settings::{EntryArgs, Settings, Stub};
use fuzzbox_tests::command::{Fuzzbox, Ran};

/// The error for `(module ...)` with this body.
#[track_caller]
fn refusal(body: &str, settings: Settings) -> String {
    let error = Target::load(format!("(module {body})").as_bytes(), settings).expect_err("it can't be loaded");
    format!("{error:#}")
}

#[track_caller]
fn refused(body: &str, settings: Settings, words: &[&str]) {
    let error = refusal(body, settings);
    assert!(error.len() < 4000, "{} bytes of error", error.len());
    for word in words {
        assert!(error.contains(word), "`{word}` is not in: {error}");
    }
}

#[test]
fn references_and_long_lists_are_no_parameters() {
    for ty in ["externref", "funcref", "(ref null any)", "i31ref", "(ref null extern)", "exnref"] {
        refused(&format!(r#"(func (export "run") (param i32 {ty}))"#), named(), &["`run(i32, ", "a reference"]);
    }
    for count in [257, 1000] {
        let body = format!(r#"(func (export "run") (param{}))"#, " v128".repeat(count));
        refused(&body, named(), &[&format!("{count} parameters"), "at most 256"]);
    }
}

#[test]
fn names_that_are_no_function_are_refused() {
    let body =
        r#"(memory (export "memory") 1) (global (export "g") i32 (i32.const 0)) (func (export "run") (param i64))"#;
    let long = "x".repeat(100_000);
    for name in ["", "memory", "g", "absent", "run ", "\0", "🦀\u{202e}\n", &long, "fuzzbox_counters"] {
        let settings = Settings { entry: Some(name.to_owned()), ..settings() };
        refused(body, settings, &["exports no function", "--entry", "run(i64)"]);
    }
    // Nor are those that the rewriter adds, whatever they are called.
    let target = load(body, named());
    let wasm = target.summary().exports;
    assert_eq!(wasm.len(), 3, "{wasm:?}");
}

#[test]
fn odd_names_are_shown_in_one_line() {
    let name = "a\\n\\e2\\80\\ae".to_owned() + &"b".repeat(5_000);
    let body = format!(r#"(func (export "{name}") (param externref))"#);
    let entry = "a\n\u{202e}".to_owned() + &"b".repeat(5_000);
    refused(&body, Settings { entry: Some(entry), ..settings() }, &[r"a\n\u{202e}bbb", "...", "a reference"]);
}

#[test]
fn pairs_that_are_none_are_refused() {
    let with = |entry_args| Settings { entry_args, ..named() };
    let body = r#"(memory 1) (func (export "run") (param i32 f32 i32 i64 i32))"#;
    refused(body, with(EntryArgs::Bytes(None)), &["no two parameters in a row"]);
    for index in [0, 2, 4, 5, u16::MAX] {
        refused(body, with(EntryArgs::Bytes(Some(index))), &[&format!("parameters {index} and"), "--entry-args"]);
    }
    refused(r#"(func (export "run") (param i32 i32))"#, with(EntryArgs::Bytes(None)), &["no two parameters"]);
    refused(r#"(memory i64 1) (func (export "run") (param i32 i32))"#, with(EntryArgs::Bytes(Some(0))), &["0 and 1"]);
}

#[test]
fn a_harness_of_another_type_is_refused_unless_it_is_named() {
    let name = "LLVMFuzzerTestOneInput";
    for ty in ["(param i32)", "(param i32 i32) (result i64)", "(param i64 i64)", "(param i32 i32 i32)", ""] {
        let body = format!(r#"(memory 1) (func (export "{name}") {ty} unreachable)"#);
        refused(&body, settings(), &[name, "unusual type"]);
        let settings = Settings { entry: Some(name.to_owned()), ..settings() };
        assert!(Executor::new(&load(&body, settings)).unwrap().run(b"").unwrap().trap().is_some());
    }
    refused(&format!(r#"(func (export "{name}") (param i32 i32))"#), settings(), &["has no memory"]);
}

#[test]
fn settings_that_mean_nothing_are_refused() {
    let command = r#"(func (export "_start"))"#;
    refused(command, Settings { warm_up: true, ..settings() }, &["command", "--warm-up"]);
    let harness = r#"(memory 1) (func (export "LLVMFuzzerTestOneInput") (param i32 i32)
        (if (i32.eqz (local.get 1)) (then unreachable)))"#;
    refused(harness, Settings { warm_up: true, ..settings() }, &["empty input", "leave out --warm-up"]);
    refused(harness, Settings { args: vec!["@@".to_owned()], ..settings() }, &["`@@`", "harness"]);
    let ask = r#"(import "fuzzbox_v1" "snapshot_here" (func (param i32))) (func (export "_start"))"#;
    refused(ask, settings(), &["fuzzbox_v1.snapshot_here (func (i32))"]);
    let sockets = r#"(import "wasi_snapshot_preview1" "sock_accept" (func (param i32 i32)))
        (import "wasi_snapshot_preview1" "sched_yield" (global i32)) (func (export "_start"))"#;
    refused(sockets, settings(), &["preview1.sock_accept (func (i32, i32))", "preview1.sched_yield (global i32)"]);
    load(sockets, Settings { stub_imports: Some(Stub::Trap), ..settings() });
    refused(r#"(import "fuzzbox_v1" "other" (func)) (func (export "_start"))"#, settings(), &["fuzzbox_v1.other"]);
}

#[test]
fn flags_that_mean_nothing_are_refused() {
    let fuzzbox = Fuzzbox::new();
    let dir = fuzzbox.dir();
    std::fs::write(dir.join("f.wat"), r#"(module (func (export "f") (param i32)))"#).unwrap();
    std::fs::write(dir.join("component.wasm"), wat::parse_str("(component)").unwrap()).unwrap();
    let check = |ran: Ran, words: &[&str]| {
        assert_eq!(ran.code, 2, "{ran:?}");
        for word in words {
            assert!(ran.stderr.contains(word), "{ran:?}");
        }
    };
    for how in ["", "byte", "bytes:", "bytes:-1", "bytes:65536", "bytes:1:2", "BYTES"] {
        check(fuzzbox.run("run", &["f.wat"], &["--entry", "f", "--entry-args", how]), &["entry-args"]);
    }
    check(fuzzbox.run("run", &["f.wat"], &["--entry-args", "numbers"]), &["--entry"]);
    check(fuzzbox.run("run", &["f.wat"], &["--entry", "f", "--grow-heap", "2GiB"]), &["--grow-heap"]);
    check(fuzzbox.run("run", &["f.wat"], &["--entry", "f", "--", "@@"]), &["`@@`"]);
    check(fuzzbox.run("run", &["component.wasm"], &[]), &["component", "no entry", "list<u8>"]);
    assert!(!fuzzbox.store().exists());
}

#[test]
fn inspect_shows_how_the_input_comes() {
    let fuzzbox = Fuzzbox::new();
    let body = r#"(module (memory (export "memory") 2 3)
        (func (export "malloc") (param i32) (result i32) (i32.const 1024)) (func (export "free") (param i32))
        (func (export "_initialize"))
        (func (export "f") (param i32 i32 i64)) (func (export "g") (param f32)) (func (export "_start")))"#;
    std::fs::write(fuzzbox.dir().join("f.wat"), body).unwrap();
    let inspect = |flags: &[&str]| {
        let ran = fuzzbox.run("inspect", &["f.wat"], flags);
        assert_eq!(ran.code, 0, "{ran:?}");
        let is_entry =
            |line: &&str| ["entry ", "input ", "over-read ", "before "].iter().any(|key| line.starts_with(key));
        ran.stdout.lines().filter(is_entry).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(
        inspect(&["--entry", "f", "--input-bytes-max", "64KiB"]),
        "entry     f(ptr, len, i64), a function over numbers from the input and the bytes after them\n\
         input     numbers, from its first 8 bytes; the others in memory, before an inaccessible page\n\
         over-read found: the page behind the input is inaccessible\n\
         before    _initialize, growth of the heap by 1024 KiB"
    );
    assert_eq!(
        inspect(&["--entry", "f", "--entry-args", "bytes", "--input-bytes-max", "70KiB", "--grow-heap", "0"]),
        "entry     f(ptr, len, i64), a function over numbers from the input and the bytes after them\n\
         input     numbers, from its first 8 bytes; the others in memory, before an inaccessible page\n\
         over-read found: the page behind the input is inaccessible\n\
         before    _initialize"
    );
    assert_eq!(
        inspect(&["--entry", "g", "--warm-up"]),
        "entry     g(f32), a function over numbers from the input\n\
         input     numbers, from its first 4 bytes\n\
         over-read impossible: numbers have no end\n\
         before    _initialize, growth of the heap by 1024 KiB, a run with the empty input"
    );
    assert_eq!(
        inspect(&["--", "@@.x", "-o", "@@.y"]),
        "entry     _start(), a WASI command that reads the file /input.x and /input.y\n\
         input     the file /input.x and /input.y\n\
         over-read not found: the guest reads its input into memory of its own\n\
         before    nothing"
    );
    let json = fuzzbox.run("inspect", &["f.wat"], &["--json"]).json_lines().remove(0);
    assert_eq!((&json["input"], &json["before"]), (&"standard input".into(), &serde_json::json!([])));
}
