//! A guest can't make the host work without end: every limit ends an execution as an outcome.

use fuzzbox::sandbox::{Executor, Outcome, Settings, Target, TrapKind};
use std::sync::Arc;

fn run(body: &str) -> Outcome {
    let wat = format!(
        r#"(module
            (import "wasi_snapshot_preview1" "random_get" (func $random_get (param i32 i32) (result i32)))
            (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
            (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll_oneoff (param i32 i32 i32 i32) (result i32)))
            (import "wasi_snapshot_preview1" "fd_allocate" (func $fd_allocate (param i32 i64 i64) (result i32)))
            (memory (export "memory") 16)
            (table $table 1 funcref)
            (func $recurse (call $recurse))
            (func (export "_start") {body}))"#
    );
    let settings = Settings { fuel_max: 20_000_000, memory_bytes_max: 64 << 20, ..Settings::default() };
    let target = Arc::new(Target::load(wat.as_bytes(), settings).unwrap());
    let mut executor = Executor::new(&target).unwrap();
    let first = executor.run(b"").unwrap();
    assert_eq!(executor.run(b"").unwrap(), first, "the second time is as the first");
    first
}

#[track_caller]
fn hangs(body: &str) {
    let outcome = run(body);
    assert!(matches!(outcome, Outcome::Hang(_)), "{outcome:?}");
}

#[test]
fn work_that_the_host_does_is_charged() {
    hangs("(loop (drop (call $random_get (i32.const 0) (i32.const 1048576))) (br 0))");
    // One buffer of all memory, over and over.
    hangs(
        "(i32.store (i32.const 4) (i32.const 1048576))
         (loop (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 16))) (br 0))",
    );
    hangs("(loop (drop (call $poll_oneoff (i32.const 0) (i32.const 0) (i32.const 20000) (i32.const 0))) (br 0))");
    hangs("(loop (drop (call $fd_allocate (i32.const 3) (i64.const 0) (i64.const 60000000))) (br 0))");
}

#[test]
fn instructions_that_work_in_bulk_are_charged() {
    hangs("(loop (memory.fill (i32.const 0) (i32.const 1) (i32.const 1048576)) (br 0))");
    hangs(
        "(drop (table.grow $table (ref.null func) (i32.const 1000000))) (loop (table.fill $table (i32.const 0) (ref.null func) (table.size $table)) (br 0))",
    );
}

#[test]
fn growth_is_bounded() {
    // Growth that fails is not a failure of the guest; what the guest then does may be.
    assert_eq!(run("(loop (br_if 0 (i32.ne (memory.grow (i32.const 16)) (i32.const -1))))"), Outcome::Ok);
    let outcome = run("(loop (br_if 0 (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) unreachable");
    assert!(matches!(&outcome, Outcome::OutOfMemory(trap) if trap.kind == TrapKind::Unreachable), "{outcome:?}");
    assert_eq!(
        run("(loop (br_if 0 (i32.ne (table.grow $table (ref.null func) (i32.const 100000)) (i32.const -1))))"),
        Outcome::Ok
    );
}

#[test]
fn recursion_is_bounded() {
    let outcome = run("(call $recurse)");
    assert!(matches!(&outcome, Outcome::Crash(trap) if trap.kind == TrapKind::StackOverflow), "{outcome:?}");
}
