//! A guest can't make the host work without end: every limit ends an execution as an outcome.

use fuzzbox::outcome::{FailureKind, Outcome, TrapKind};
use fuzzbox::sandbox::{Executor, Target, Unsuited, Variant};
use fuzzbox::settings::Settings;
use fuzzbox_tests::command::Fuzzbox;
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
    assert!(outcome.is_hang(), "{outcome:?}");
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
    assert!(
        matches!(outcome.failure(), Some((FailureKind::OutOfMemory, trap)) if trap.kind == TrapKind::Unreachable),
        "{outcome:?}"
    );
    assert_eq!(
        run("(loop (br_if 0 (i32.ne (table.grow $table (ref.null func) (i32.const 100000)) (i32.const -1))))"),
        Outcome::Ok
    );
}

#[test]
fn recursion_is_bounded() {
    let outcome = run("(call $recurse)");
    assert!(
        matches!(outcome.failure(), Some((FailureKind::Crash, trap)) if trap.kind == TrapKind::StackOverflow),
        "{outcome:?}"
    );
}

#[test]
fn what_comes_before_the_first_input_is_bounded() {
    for (items, place, most) in [
        ("(func $s (loop (br 0))) (start $s)", "while it is instantiated", 4_000_000_000_u64),
        (r#"(func (export "_initialize") (loop (br 0)))"#, "in `_initialize`", 2 * 4_294_967_295),
    ] {
        let fuzzbox = Fuzzbox::new();
        let harness = r#"(func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32) (i32.const 0))"#;
        let text = format!("(module (memory (export \"memory\") 1) {items} {harness})");
        std::fs::write(fuzzbox.dir().join("guest.wat"), text).unwrap();
        std::fs::write(fuzzbox.dir().join("input"), "").unwrap();
        // However little an execution may take. Initialisers may take twice as much as an execution that takes much.
        let run = ("run", ["-n", "1"].as_slice(), "1000", 4_000_000_000);
        for (verb, operands, fuel, fuel_max) in [run, ("replay", &["input"], "4294967295", most)] {
            let ran = fuzzbox.run(verb, &["guest.wat"], &[operands, &["--fuel-max", fuel]].concat());
            assert_eq!(ran.code, 2, "{ran:?}");
            let errors = ran.stderr.lines().filter(|line| line.starts_with("error:")).count();
            assert!(errors == 1 && ran.stderr.contains(place), "{ran:?}");
            assert!(ran.stderr.contains(&format!("takes more than {fuel_max} units of fuel")), "{ran:?}");
        }
    }
}

/// A harness of these items and this code, executed in each variant, twice.
fn in_every_variant(items: &str, code: &str) -> Vec<Outcome> {
    let text = format!(
        r#"(module (memory (export "memory") 1) {items}
            (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32) {code} (i32.const 0)))"#
    );
    let settings = Settings { memory_bytes_max: 8 << 20, input_bytes_max: 4096, ..Settings::default() };
    let metered = Arc::new(Target::load(text.as_bytes(), settings).unwrap());
    let edges = metered.edges.edges.len() as u32;
    let others = [Variant::Full, Variant::Fast((0..edges).collect())];
    let others = others.map(|variant| Arc::new(metered.in_variant(variant).unwrap()));
    let mut outcomes = Vec::new();
    for target in [metered].into_iter().chain(others) {
        let mut executor = Executor::new(&target).unwrap();
        let first = executor.run(b"a").unwrap();
        assert_eq!(executor.run(b"b").unwrap(), first, "the second time is as the first");
        outcomes.push(first);
    }
    outcomes
}

#[test]
fn a_heap_that_is_full_of_objects_is_the_guests_failure() {
    let list = "(type $l (struct (field (ref null $l)) (field i64 i64 i64)))";
    let exceptions = "(type $t (func (param exnref))) (tag $e (type $t))
        (func $wrap (param exnref) (result exnref)
            (block $caught (result exnref exnref) (try_table (catch_ref $e $caught) (throw $e (local.get 0))) unreachable)
            return)";
    for (items, code) in [
        (
            list,
            "(local $l (ref null $l))
            (loop $a (local.set $l (struct.new $l (local.get $l) (i64.const 1) (i64.const 1) (i64.const 1))) (br $a))",
        ),
        (
            "(type $a (array (mut anyref)))",
            "(local $any anyref)
            (loop $a (local.set $any (array.new $a (local.get $any) (i32.const 1000))) (br $a))",
        ),
        ("(type $a (array i8))", "(drop (array.new_default $a (i32.const 100000000)))"),
        // What nobody holds, but for itself, is not collected.
        (
            "(type $l (struct (field (mut (ref null $l))) (field i64 i64 i64)))",
            "(local $l (ref null $l))
            (loop $a (local.set $l (struct.new $l (ref.null $l) (i64.const 1) (i64.const 1) (i64.const 1)))
                (struct.set $l 0 (local.get $l) (local.get $l)) (br $a))",
        ),
        (exceptions, "(local $e exnref) (loop $a (local.set $e (call $wrap (local.get $e))) (br $a))"),
    ] {
        for outcome in in_every_variant(items, code) {
            let kind = outcome.trap().map(|trap| trap.kind);
            assert!(matches!(outcome.failure(), Some((FailureKind::OutOfMemory, _))), "{code}: {outcome:?}");
            assert_eq!(kind, Some(TrapKind::GcHeapFull), "{code}");
        }
    }
}

#[test]
fn tables_are_limited_together() {
    let tables = |count: u32, elements: u32| format!("(table {elements} funcref)").repeat(count as usize);
    let load = |tables: String| {
        let text = format!("(module (memory (export \"memory\") 1) {tables} (func (export \"_start\")))");
        Target::load(text.as_bytes(), Settings::default()).map(drop)
    };
    load(tables(8, 1 << 17)).unwrap();
    for (count, elements) in [(9, 1 << 17), (99, 1 << 20), (2, u32::MAX)] {
        let error = format!("{:#}", load(tables(count, elements)).unwrap_err());
        assert!(error.contains("all of them together can have 1048576"), "{error}");
    }
    let grow = "(i32.ne (i32.const -1) (table.grow $a (ref.null func) (i32.const 1)))
        (i32.ne (i32.const -1) (table.grow $b (ref.null func) (i32.const 100))) i32.or (if (then unreachable))";
    let both = format!("{}(table $a 1 funcref) (table $b 1 funcref)", tables(1, (1 << 20) - 2));
    assert!(in_every_variant(&both, grow).iter().all(|outcome| *outcome == Outcome::Ok));
    let room = format!("{}(table $a 1 funcref) (table $b 1 funcref)", tables(1, (1 << 20) - 3));
    assert!(
        in_every_variant(&room, grow).iter().all(|outcome| matches!(outcome.failure(), Some((FailureKind::Crash, _))))
    );
}

#[test]
fn as_many_tables_or_memories_as_engines_accept_are_executed_or_refused() {
    let entries = [
        r#"(func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32) (i32.const 0))"#,
        r#"(func (export "_start"))"#,
    ];
    let mut unsuited = 0;
    for (what, entry) in
        ["(table 1 funcref)", "(memory 1)"].into_iter().flat_map(|what| entries.map(|entry| (what, entry)))
    {
        for count in 96..=101 {
            let memory = if what == "(memory 1)" { "" } else { "(memory 1)" };
            let text = format!("(module {memory} {} {entry})", what.repeat(count));
            let about = format!("{count} {what} {entry}");
            let fuzzbox = Fuzzbox::new();
            std::fs::write(fuzzbox.dir().join("guest.wat"), &text).unwrap();
            let flags = ["--seed", "1", "--execs", "3000", "--jobs", "1"];
            let ran = fuzzbox.run("run", &["guest.wat"], &flags);
            let Ok(target) = Target::load(text.as_bytes(), Settings::default()) else {
                assert_eq!(ran.code, 2, "{about}: {ran:?}");
                continue;
            };
            assert!(matches!(ran.code, 0 | 4), "{about}: {ran:?}");
            if let Err(error) = Arc::new(target).in_variant(Variant::Full) {
                assert!(error.is::<Unsuited>(), "{about}: {error:#}");
                unsuited += 1;
            }
        }
    }
    assert!(unsuited > 0, "there are some that only the deciding variant executes");
}
