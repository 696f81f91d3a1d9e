//! The values that parameters get: every byte of the input is where it belongs, whatever the input's length.

use crate::entry::{executor, named};
use fuzzbox::outcome::Outcome;
use fuzzbox::sandbox::Executor;
use fuzzbox::settings::{EntryArgs, Settings};
use fuzzbox_tests::show;

/// Writes bytes 0 to 64 of memory to standard output.
const SHOW: &str = r#"
    (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 1)
    (func $show
        (i32.store (i32.const 100) (i32.const 0))
        (i32.store (i32.const 104) (i32.const 64))
        (drop (call $fd_write (i32.const 1) (i32.const 100) (i32.const 1) (i32.const 108))))"#;

/// What `run`, whose body is given, shows of its parameters for an input.
#[track_caller]
fn shown(run: &str, args: EntryArgs, input: &[u8]) -> Vec<u8> {
    let settings = Settings { entry_args: args, ..named() };
    let mut executor = executor(&format!(r#"{SHOW} (func (export "run") {run} (call $show))"#), settings);
    // Another input before, of which nothing must be left.
    executor.run(&[0xee; 64]).unwrap();
    let shown = show(&mut executor, input);
    assert_eq!(shown.outcome, Outcome::Ok, "{run}");
    assert_eq!(shown.stdout.len(), 64);
    shown.stdout
}

#[test]
fn numbers_take_the_bytes_of_the_input_in_order() {
    let run = "(param $a i32) (param $b i64) (param $c f32) (param $d f64) (param $e v128)
        (i32.store (i32.const 0) (local.get $a)) (i64.store (i32.const 4) (local.get $b))
        (f32.store (i32.const 12) (local.get $c)) (f64.store (i32.const 16) (local.get $d))
        (v128.store (i32.const 24) (local.get $e))";
    let bytes: Vec<u8> = (1..=60).collect();
    for len in 0..=bytes.len() {
        let taken = len.min(40);
        let stdout = shown(run, EntryArgs::Auto, &bytes[..len]);
        assert_eq!(stdout[..taken], bytes[..taken], "{len} bytes");
        assert!(stdout[taken..].iter().all(|&byte| byte == 0), "{len} bytes");
    }
}

#[test]
fn bytes_are_what_numbers_left() {
    let copy = "(i32.store (i32.const 0) (local.get $n)) (i32.store (i32.const 4) (local.get $len))
        (memory.copy (i32.const 8) (local.get $ptr) (local.get $len))";
    for (parameters, args) in [
        ("(param $ptr i32) (param $len i32) (param $n i32)", EntryArgs::Auto),
        ("(param $ptr i32) (param $len i32) (param $n i32)", EntryArgs::Bytes(None)),
        ("(param $x f32) (param $ptr i32) (param $len i32) (param $n i32)", EntryArgs::Bytes(None)),
        ("(param $n i32) (param $ptr i32) (param $len i32)", EntryArgs::Bytes(Some(1))),
    ] {
        let skip = if parameters.contains("$x") { 4 } else { 0 };
        for len in [0, 1, 4, 7, 8, 9, 20] {
            let input: Vec<u8> = (1..=len).collect();
            let stdout = shown(&format!("{parameters} {copy}"), args, &input);
            let number: Vec<u8> = input.iter().copied().skip(skip).take(4).collect();
            let rest: Vec<u8> = input.iter().copied().skip(skip + 4).collect();
            assert_eq!(stdout[..number.len()], number, "{parameters} {len}");
            assert_eq!(stdout[4], rest.len() as u8, "{parameters} {len}");
            assert_eq!(stdout[8..8 + rest.len()], rest, "{parameters} {len}");
        }
    }
}

#[test]
fn two_integers_are_a_pair_only_if_they_can_be_addresses() {
    let sum = |parameters: &str, memory: &str| {
        let body = format!(r#"{memory} (func (export "run") {parameters})"#);
        executor(&body, named()).target().candidate.entry.to_string()
    };
    let (narrow, wide) = ("(memory 1)", "(memory i64 1)");
    assert_eq!(sum("(param i32 i32)", narrow), "run(ptr, len), a function over the input's bytes");
    assert_eq!(sum("(param i32 i32)", ""), "run(i32, i32), a function over numbers from the input");
    assert_eq!(sum("(param i32 i32)", wide), "run(i32, i32), a function over numbers from the input");
    assert_eq!(sum("(param i64 i64)", wide), "run(ptr, len), a function over the input's bytes");
    assert_eq!(sum("(param i64 i64)", narrow), "run(i64, i64), a function over numbers from the input");
    assert_eq!(
        sum("(param i64 i64 i32)", wide),
        "run(ptr, len, i32), a function over numbers from the input and the bytes after them"
    );
}

/// -1 means "do not keep" only where libFuzzer's users wrote it.
#[test]
fn results_of_any_type_are_ignored() {
    let run = |name: &str, results: &str| {
        let body = format!(
            r#"(memory (export "memory") 1) (global $g (mut i32) (i32.const 0))
            (func (export "{name}") (param $ptr i32) (param $len i32) {results})"#
        );
        let settings = Settings { entry: Some(name.to_owned()), ..named() };
        let mut executor = executor(&body, settings);
        for _ in 0..100 {
            executor.run(b"abc").unwrap();
        }
        executor.run(b"abc").unwrap()
    };
    assert_eq!(run("LLVMFuzzerTestOneInput", "(result i32) (i32.const -1)"), Outcome::Rejected);
    assert_eq!(run("run", "(result i32) (i32.const -1)"), Outcome::Ok);
    assert_eq!(run("run", "(result i64) (i64.const -1)"), Outcome::Ok);
    assert_eq!(run("run", "(result externref) (ref.null extern)"), Outcome::Ok);
    assert_eq!(run("run", "(result f64 v128 i32) (f64.const 1) (v128.const i64x2 1 2) (i32.const -1)"), Outcome::Ok);
    let many = format!("(result{}) {}", " v128".repeat(900), "(v128.const i64x2 -1 -1)".repeat(900));
    assert_eq!(run("run", &many), Outcome::Ok);
}

/// As many parameters as are allowed, all different.
#[test]
fn a_list_of_256_parameters_is_decoded() {
    let checks: String =
        (0..256).map(|n| format!("(if (i64.ne (local.get {n}) (i64.const {n})) (then unreachable))")).collect();
    let body = format!(r#"(func (export "run") (param{}) {checks})"#, " i64".repeat(256));
    let mut executor = executor(&body, named());
    let input: Vec<u8> = (0_u64..256).flat_map(u64::to_le_bytes).collect();
    assert_eq!(executor.run(&input).unwrap(), Outcome::Ok);
    assert_eq!(executor.run(&input[..2047]).unwrap(), Outcome::Ok, "the last byte is 0 anyway");
    assert!(executor.run(&input[..2040]).unwrap().trap().is_some());
}

/// The host writes into pages that are read-only, and no function of the guest is active.
#[test]
fn an_exported_import_can_be_the_entry() {
    for args in [EntryArgs::Auto, EntryArgs::Numbers] {
        let settings = Settings { entry_args: args, ..named() };
        let body = r#"(import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
            (memory (export "memory") 4) (export "run" (func $random))"#;
        let mut executor = executor(body, settings);
        let input = [[0; 4], 70_000_u32.to_le_bytes()].concat();
        let first = show(&mut executor, &input);
        assert_eq!(first.outcome, Outcome::Ok);
        for len in 0..8 {
            executor.run(&vec![0xff; len * 100]).unwrap();
        }
        assert_eq!(show(&mut executor, &input), first);
    }
}

/// What the guest did to its input, to the file, or to itself is not there the next time.
#[test]
fn restored_equals_fresh_for_every_kind_of_entry() {
    let spoil = "(global.set $g (i32.add (global.get $g) (i32.const 1))) (call $show)
        (memory.fill (i32.const 0) (i32.const 7) (i32.mul (memory.size) (i32.const 65536)))
        (drop (memory.grow (i32.const 1)))";
    let file = r#"
        (import "wasi_snapshot_preview1" "path_open"
            (func $path_open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "fd_read" (func $fd_read (param i32 i32 i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "path_unlink_file" (func $unlink (param i32 i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "fd_allocate" (func $allocate (param i32 i64 i64) (result i32)))"#;
    let read = r#"(i64.store (i32.const 0) (i64.const 0x7475706e69))
        (drop (call $path_open (i32.const 3) (i32.const 0) (i32.const 0) (i32.const 5) (i32.const 0) (i64.const 0x142)
            (i64.const 0) (i32.const 0) (i32.const 200)))
        (i32.store (i32.const 204) (i32.const 0)) (i32.store (i32.const 208) (i32.const 60))
        (drop (call $fd_read (i32.load (i32.const 200)) (i32.const 204) (i32.const 1) (i32.const 212)))
        (drop (call $allocate (i32.load (i32.const 200)) (i64.const 0) (i64.const 100000)))
        (i64.store (i32.const 300) (i64.const 0x7475706e69))
        (if (i32.and (i32.load8_u (i32.const 0)) (i32.const 1))
            (then (drop (call $unlink (i32.const 3) (i32.const 300) (i32.const 5)))))"#;
    for (imports, parameters, before, argument) in [
        (
            "",
            "(param i32 f64)",
            "(i32.store (i32.const 0) (local.get 0)) (f64.store (i32.const 4) (local.get 1))",
            None,
        ),
        ("", "(param i32 i32 i64)", "(memory.copy (i32.const 0) (local.get 0) (i32.const 9))", None),
        (file, "", read, Some("@@")),
    ] {
        let body = format!(
            r#"{imports} {SHOW} (global $g (mut i32) (i32.const 0)) (func (export "run") {parameters} {before} {spoil})"#
        );
        let settings = Settings { args: argument.map(str::to_owned).into_iter().collect(), ..named() };
        let mut kept = executor(&body, settings);
        let mut different = std::collections::BTreeSet::new();
        for round in 0..200_u32 {
            let input = blake3::hash(&round.to_le_bytes());
            let input = input.as_bytes().repeat(4);
            let input = &input[..(round as usize * 7) % 100];
            let restored = show(&mut kept, input);
            let fresh = show(&mut Executor::new(kept.target()).unwrap(), input);
            assert_eq!(restored, fresh, "{parameters} {input:?}");
            different.insert(restored.stdout);
        }
        assert!(different.len() > 100, "{parameters}: {} outputs", different.len());
    }
}
