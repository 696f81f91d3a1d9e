//! `run --mutator`: inputs that another module makes.

use fuzzbox_tests::command::Fuzzbox;
use std::fs;

/// Fails if its input is twelve bytes long and in pairs each byte is the other's complement, which the mutator below
/// makes of anything.
const PAIRS: &str = r#"(module (memory (export "memory") 1)
    (func (export "parse") (param $data i32) (param $size i32) (local $end i32)
        (if (i32.ne (local.get $size) (i32.const 12)) (then (return)))
        (local.set $end (i32.add (local.get $data) (i32.const 12)))
        (loop $next
            (if (i32.ne (i32.load8_u (local.get $data))
                    (i32.xor (i32.load8_u offset=1 (local.get $data)) (i32.const 255))) (then (return)))
            (local.set $data (i32.add (local.get $data) (i32.const 2)))
            (br_if $next (i32.lt_u (local.get $data) (local.get $end))))
        unreachable))"#;

const MUTATOR: &str = r#"(module
    (import "env" "LLVMFuzzerMutate" (func $mutate (param i32 i32 i32) (result i32)))
    (memory (export "memory") 1)
    (func (export "LLVMFuzzerCustomMutator") (param $data i32) (param $size i32) (param $max i32) (param $seed i32)
        (result i32) (local $at i32)
        (if (i32.lt_u (local.get $max) (i32.const 12)) (then (return (i32.const 0))))
        (drop (call $mutate (local.get $data) (local.get $size) (i32.const 12)))
        (loop $next
            (i32.store8 offset=1 (i32.add (local.get $data) (local.get $at))
                (i32.xor (i32.load8_u (i32.add (local.get $data) (local.get $at))) (i32.const 255)))
            (local.set $at (i32.add (local.get $at) (i32.const 2)))
            (br_if $next (i32.lt_u (local.get $at) (i32.const 12))))
        (i32.const 12)))"#;

const DRAWS: &str = r#"(module (import "fuzzbox_v1" "draw_choice" (func $choice (param i32 i32) (result i32)))
    (memory (export "memory") 1)
    (func (export "fbx_two") (drop (call $choice (i32.const 3) (i32.const 0)))))"#;

fn fuzzbox() -> Fuzzbox {
    let fuzzbox = Fuzzbox::new();
    let broken = MUTATOR.replace("(memory", "(func $broken (loop $for_ever (br $for_ever))) (start $broken) (memory");
    for (name, text) in [("pairs.wat", PAIRS), ("mutator.wat", MUTATOR), ("draws.wat", DRAWS), ("broken.wat", &broken)]
    {
        fs::write(fuzzbox.dir().join(name), text).unwrap();
    }
    fuzzbox
}

#[test]
fn another_module_makes_the_inputs() {
    let fuzzbox = fuzzbox();
    let args = ["--entry", "parse", "--execs", "3000", "--seed", "1", "--no-compares", "--no-shrink", "--stop-on"];
    let run = |more: &[&str]| fuzzbox.run("run", &["pairs.wat"], &[&args[..], &["first"], more].concat());
    let without = run(&[]);
    assert_eq!(without.code, 0, "{without:?}");
    let with = run(&["--mutator", "mutator.wat"]);
    assert_eq!(with.code, 1, "{with:?}");
    let told = "mutants by LLVMFuzzerCustomMutator of another module";
    assert!(with.stdout.contains(told) || with.stderr.contains(told), "{with:?}");
}

#[test]
fn what_is_no_mutator_and_who_needs_none_are_refused() {
    let fuzzbox = fuzzbox();
    for (target, mutator, told) in [
        ("pairs.wat", "pairs.wat", "the module has no mutator"),
        ("pairs.wat", "nowhere.wasm", "`nowhere.wasm`"),
        ("pairs.wat", "broken.wat", "the mutator can't be called"),
        ("draws.wat", "mutator.wat", "`draws.wat` draws what it needs: no mutator can change that"),
    ] {
        let entry: &[&str] = if target == "pairs.wat" { &["--entry", "parse"] } else { &[] };
        let ran = fuzzbox.run("run", &[target], &[entry, &["--execs", "10", "--mutator", mutator]].concat());
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.stderr.contains(told) && ran.stderr.matches("error: ").count() == 1, "{ran:?}");
    }
    assert!(!fuzzbox.store().exists());
}
