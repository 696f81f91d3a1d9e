//! What can be refused is refused before anything is compiled, and nothing needs to be compiled to be looked at.

use fuzzbox::outcome::Outcome;
use fuzzbox::sandbox::{Candidate, Code, CodeCache, Executor, Target};
use fuzzbox::settings::Settings;
use fuzzbox_tests::command::{Fuzzbox, Ran};
use std::sync::Arc;

fn wat(body: &str) -> Vec<u8> {
    wat::parse_str(format!("(module {body})")).unwrap()
}

#[track_caller]
fn refused(ran: &Ran, words: &[&str], not: &str) {
    assert_eq!(ran.code, 2, "{ran:?}");
    for word in words {
        assert!(ran.stderr.contains(word), "`{word}` is not in: {ran:?}");
    }
    assert!(!ran.stderr.contains(not), "{ran:?}");
}

#[test]
fn what_a_module_says_is_refused_before_its_code_is_read() {
    let fuzzbox = Fuzzbox::new();
    // Its function leaves a value too many on the stack, which whoever reads the code finds out.
    let invalid = r#"(import "env" "f" (func)) (memory (export "memory") 17)
        (func (export "f") (param i32) (i32.const 1)) (func (export "LLVMFuzzerTestOneInput") (param i32 i32))"#;
    std::fs::write(fuzzbox.dir().join("invalid.wasm"), wat(invalid)).unwrap();
    let run = |verb: &str, flags: &[&str]| fuzzbox.run(verb, &["invalid.wasm"], flags);
    let invalid = "is not valid wasm";
    refused(&run("run", &["--stub-imports", "zero"]), &[invalid], "--entry");
    refused(&run("run", &["--stub-imports", "zero", "--entry", "absent"]), &["exports no function `absent`"], invalid);
    refused(&run("run", &["--entry", "f", "--entry-args", "bytes"]), &["--entry-args"], invalid);
    refused(&run("run", &["--memory-max", "1MiB"]), &["--memory-max"], invalid);
    refused(&run("run", &["--memory-max", "10"]), &["1,088 KiB", "10 bytes"], invalid);
    refused(&run("run", &[]), &["env.f (func ())", "--stub-imports"], invalid);
    for verb in ["replay", "shrink"] {
        refused(&fuzzbox.run(verb, &["invalid.wasm", "x"], &["--entry", "absent"]), &["`absent`"], invalid);
    }
    assert!(!fuzzbox.store().exists());
}

#[test]
fn flags_and_files_are_refused_before_a_module_is_executed() {
    let fuzzbox = Fuzzbox::new();
    let failing = r#"(func $start unreachable) (start $start) (func (export "_start"))"#;
    std::fs::write(fuzzbox.dir().join("failing.wasm"), wat(failing)).unwrap();
    std::fs::create_dir(fuzzbox.dir().join("inputs")).unwrap();
    std::fs::write(fuzzbox.dir().join("inputs/long"), "long").unwrap();
    let failing = "instantiated";
    refused(&fuzzbox.run("run", &["failing.wasm"], &[]), &[failing], "--");
    for flags in [
        &["--corpus", "absent"][..],
        &["--dict", "absent"],
        &["--debug-info", "absent"],
        &["--report", "absent/report"],
        &["--entry", "absent"],
        &["--warm-up"],
    ] {
        refused(&fuzzbox.run("run", &["failing.wasm"], flags), &[*flags.last().unwrap()], failing);
    }
    refused(&fuzzbox.run("run", &["failing.wasm", "failing.wasm"], &[]), &["both called"], failing);
    refused(&fuzzbox.run("replay", &["failing.wasm", "absent"], &[]), &["`absent`"], failing);
    let limit = ["--input-bytes-max", "3"];
    refused(&fuzzbox.run("replay", &["failing.wasm", "inputs/long"], &limit), &["`inputs/long`", "3 bytes"], failing);
    refused(&fuzzbox.run("shrink", &["failing.wasm", "inputs/long"], &limit), &["`inputs/long`", "3 bytes"], failing);
    refused(&fuzzbox.run("bench", &["exec", "failing.wasm", "absent"], &[]), &["absent"], failing);
    refused(&fuzzbox.run("import", &["absent", "--for", "failing.wasm"], &[]), &["`absent`"], failing);
    assert!(!fuzzbox.store().exists());
}

#[test]
fn whatever_is_valid_can_be_inspected() {
    let fuzzbox = Fuzzbox::new();
    let http = r#"(component (import "wasi:http/types@0.2.0" (instance $http (export "f" (func))))
        (core module $m (import "h" "f" (func $f)) (func (export "run") (call $f)))
        (core func $f (canon lower (func $http "f")))
        (core instance $i (instantiate $m (with "h" (instance (export "f" (func $f))))))
        (func (export "run") (canon lift (core func $i "run"))))"#;
    let cases = [
        (
            "no-entry",
            wat(r#"(memory 1) (func (export "add") (param i64)) (func (export "parse") (param i32 i32))"#),
            "no entry",
            "by --entry: parse, add",
        ),
        (
            "imports",
            wat(r#"(import "env" "f" (func (param i32))) (func (export "_start"))"#),
            "nobody provides the imports env.f",
            "env.f func (i32): nobody provides it",
        ),
        (
            "shared",
            wat(r#"(memory 1 1 shared) (func (export "_start"))"#),
            "shared memory",
            "memory of 64 KiB to 64 KiB, shared",
        ),
        ("huge", wat(r#"(memory 60000) (func (export "_start"))"#), "--memory-max", "memory of 3840000 KiB"),
        ("failing", wat(r#"(func $s unreachable) (start $s) (func (export "_start"))"#), "", "a WASI command"),
        ("endless", wat(r#"(func $s (loop (br 0))) (start $s) (func (export "_start"))"#), "", "a WASI command"),
        ("references", wat(r#"(func (export "run") (param externref))"#), "no entry", "run func (externref)"),
        ("table", wat(r#"(table 2000000 funcref) (func (export "_start"))"#), "2000000 elements", "a WASI command"),
        ("http", wat::parse_str(http).unwrap(), "obstacle", "run: func()"),
        ("empty", wat::parse_str("(component)").unwrap(), "no entry", "exports   none"),
        ("nothing", wat(""), "no entry", "exports   none"),
    ];
    for (name, bytes, obstacle, shown) in cases {
        let file = format!("{name}.wasm");
        std::fs::write(fuzzbox.dir().join(&file), bytes).unwrap();
        let ran = fuzzbox.run("inspect", &[&file], &[]);
        assert_eq!((ran.code, &*ran.stderr), (0, ""), "{name}: {ran:?}");
        assert!(ran.stdout.contains(shown), "{name}: {ran:?}");
        let has_obstacle = ran.stdout.lines().any(|line| line.starts_with("obstacle"));
        assert_eq!(has_obstacle, !obstacle.is_empty(), "{name}: {ran:?}");
        assert!(ran.stdout.contains(obstacle), "{name}: {ran:?}");
        // Whatever `inspect` calls an obstacle is one to `run`; and nothing that it has to execute for.
        let run = fuzzbox.run("run", &[&file], &["--execs", "1"]);
        assert_eq!(run.code == 2, has_obstacle || ["failing", "endless"].contains(&name), "{name}: {run:?}");
        let json = fuzzbox.run("inspect", &[&file], &["--json"]).json_lines().remove(0);
        assert_eq!(json["obstacles"].as_array().unwrap().is_empty(), !has_obstacle, "{json}");
    }
}

#[test]
fn large_frames_of_quick_code_are_no_stack_overflow() {
    // Numbers that live across a call: with each of them the frame grows, and more so where nothing is optimised.
    let load = |n: usize| format!("(local.set {n} (i64.load (i32.const {})))", 2048 + 8 * n);
    let loads: String = (1..=96).map(load).collect();
    let uses: String = (1..=96).map(|n| format!("(i64.store (i32.const {}) (local.get {n}))", 4096 + 8 * n)).collect();
    let module = wat(&format!(
        r#"(memory (export "memory") 2)
        (func $deeper (param i32) (local {})
            (if (i32.eqz (local.get 0)) (then (return)))
            {loads} (call $deeper (i32.sub (local.get 0) (i32.const 1))) {uses})
        (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32)
            (call $deeper (i32.mul (local.get 1) (i32.const 10000))) (i32.const 0))"#,
        "i64 ".repeat(96)
    ));
    let target = |code| {
        let candidate = Candidate::new(&module, Settings::default()).unwrap();
        Arc::new(Target::compiled(candidate, &CodeCache::default(), code).unwrap())
    };
    let mut optimised = Executor::new(&target(Code::Optimised)).unwrap();
    let mut quick = Executor::new(&target(Code::Quick)).unwrap();
    for input in [&[0; 6][..], &[], &[0; 7], &[0; 5], &[0; 6]] {
        let (expected, outcome) = (optimised.run(input).unwrap(), quick.run(input).unwrap());
        assert_eq!(outcome, expected, "{} times 10000 calls", input.len());
        assert_eq!(outcome == Outcome::Ok, input.len() < 7);
    }
}
