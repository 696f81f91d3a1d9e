//! `--with` and `--link`: what is linked to a target is part of it, and what does not fit is named.

use fuzzbox_tests::command::Fuzzbox;
use std::fs;

/// A library that asks for a hook, and fails for a `!` if the hook says so.
const LIBRARY: &str = r#"(module (import "env" "hook" (func $hook (param i32) (result i32)))
    (memory (export "memory") 2)
    (func (export "parse") (param $p i32) (param $n i32)
        (if (i32.eqz (local.get $n)) (then (return)))
        (if (i32.ne (call $hook (i32.load8_u (local.get $p))) (i32.const 33)) (then (return)))
        unreachable))"#;

/// A harness for it.
const SHIM: &str = r#"(module (import "lib" "parse" (func $parse (param i32 i32))) (import "lib" "memory" (memory 1))
    (func (export "hook") (param i32) (result i32) (local.get 0))
    (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32)
        (call $parse (local.get 0) (local.get 1)) (i32.const 0)))"#;

fn fuzzbox(files: &[(&str, &str)]) -> Fuzzbox {
    let fuzzbox = Fuzzbox::new();
    for (name, text) in files {
        fs::write(fuzzbox.dir().join(name), text).unwrap();
    }
    fuzzbox
}

const CAMPAIGN: [&str; 6] = ["--execs", "20000", "--seed", "1", "--jobs", "1"];

#[test]
fn a_finding_of_a_linked_target_needs_nothing_beside_the_store() {
    let fuzzbox = fuzzbox(&[("lib.wat", LIBRARY), ("shim.wat", SHIM)]);
    let ran = fuzzbox.run("run", &["lib.wat", "--with", "shim.wat", "--reporter", "json"], &CAMPAIGN);
    assert_eq!(ran.code, 1, "{ran:?}");
    let done = ran.json_lines().last().unwrap().clone();
    let id = done["findings"][0]["id"].as_str().unwrap().to_owned();
    // On another build it is called by the same harness, which has to be linked again.
    fs::write(fuzzbox.dir().join("new.wat"), LIBRARY.replace("(i32.const 33)", "(i32.const 34)")).unwrap();
    let on = |file: &str| fuzzbox.run("repro", &[&id, "--on", file, "--with", "shim.wat"], &[]);
    let (old, new) = (on("lib.wat"), on("new.wat"));
    assert!(old.code == 1 && old.stdout.contains("reproduced"), "{old:?}");
    assert!(new.code == 0 && new.stdout.contains("not reproduced"), "{new:?}");
    let without = fuzzbox.run("repro", &[&id, "--with", "shim.wat"], &[]);
    assert!(without.code == 2 && without.stderr.contains("--on"), "{without:?}");
    let bisect = fuzzbox.run("bisect", &[&id, "lib.wat", "new.wat", "--with", "shim.wat"], &[]);
    assert!(bisect.code == 0 && bisect.stdout.contains("it was fixed between lib.wat and new.wat"), "{bisect:?}");
    for file in ["lib.wat", "new.wat", "shim.wat"] {
        fs::remove_file(fuzzbox.dir().join(file)).unwrap();
    }
    let repro = fuzzbox.run("repro", &[&id], &[]);
    assert!(repro.code == 1 && repro.stdout.contains("reproduced"), "{repro:?}");
}

#[test]
fn what_can_not_be_linked_is_named() {
    let refused = |files: &[(&str, &str)], arguments: &[&str], words: &[&str]| {
        let fuzzbox = fuzzbox(files);
        let ran = fuzzbox.run("run", arguments, &CAMPAIGN);
        assert_eq!(ran.code, 2, "{ran:?}");
        for word in words {
            assert!(ran.stderr.contains(word), "{word}: {}", ran.stderr);
        }
        assert!(!fuzzbox.store().exists(), "what is refused writes nothing");
    };
    let with = ["lib.wat", "--with", "shim.wat"];
    let shim = |from: &str, to: &str| SHIM.replace(from, to);
    let misspelt = shim("\"parse\"", "\"parze\"");
    refused(&[("lib.wat", LIBRARY), ("shim.wat", &misspelt)], &with, &["`lib.parze`", "did you mean `parse`?"]);
    let other = shim("(param i32 i32))) (import", "(param i64))) (import")
        .replace("(local.get 0) (local.get 1)", "(i64.const 1)");
    refused(&[("lib.wat", LIBRARY), ("shim.wat", &other)], &with, &["shim.wat", "`lib.parse`", "lib.wat"]);
    refused(&[("lib.wat", LIBRARY), ("shim.wat", "(module (func")], &with, &["shim.wat"]);
    refused(&[("lib.wat", LIBRARY)], &with, &["failed to read `shim.wat`"]);
    let first = r#"(module (import "b" "x" (global i32)) (global (export "y") i32 (i32.const 1)) (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32) (i32.const 0)))"#;
    let second = r#"(module (import "a" "y" (global i32)) (global (export "x") i32 (i32.const 1)))"#;
    refused(&[("lib.wat", first), ("shim.wat", second)], &with, &["`b.x`", "in turn"]);
    refused(&[("lib.wat", LIBRARY), ("side.wat", SHIM)], &["lib.wat", "--link", "side.wat"], &["dylink.0", "--link"]);
}

#[test]
fn short_names_without_their_javascript_are_told() {
    let short =
        r#"(module (import "a" "b" (func (param i32))) (memory (export "c") 1) (func (export "d") (param i32)))"#;
    let fuzzbox = fuzzbox(&[]);
    fs::write(fuzzbox.dir().join("lib.wasm"), wat::parse_str(short).unwrap()).unwrap();
    for arguments in [&["lib.wasm"][..], &["lib.wasm", "--call", "d(len)"]] {
        let ran = fuzzbox.run("run", arguments, &CAMPAIGN);
        assert!(ran.code == 2 && ran.stderr.contains("JavaScript that was made with it"), "{ran:?}");
    }
    fs::write(fuzzbox.dir().join("lib.js"), "var imports={b:_abort_it};_parse=x.d;").unwrap();
    let ran = fuzzbox.run("inspect", &["lib.wasm"], &[]);
    assert!(ran.stdout.contains("env.abort_it") && ran.stdout.contains("parse func (i32)"), "{ran:?}");
}
