//! What takes long costs much: no loop takes many times longer than a plain one that burns the same fuel.

mod wasi;

use cpu_time::ThreadTime;
use fuzzbox::sandbox::{Executor, THREAD_STACK_BYTES, Target};
use fuzzbox::settings::Settings;
use std::sync::Arc;
use std::time::Duration;

/// A hundredth of what an execution has by default.
const FUEL: u64 = 20_000_000;
/// A loop may take so many times what a plain one takes. What is aimed at is 10; CPU time on a busy machine, without optimisation of the host's
/// own code, is no more exact than this.
const TIMES: u32 = 60;

/// Loops that the host, or wasmtime's library, does the most for: items, what comes first, what is done again and again.
const LOOPS: [(&str, &str, &str, &str); 40] = [
    ("plain", "", "", "(local.set $x (i32.add (local.get $x) (i32.const 3)))"),
    ("calls", "(func $f)", "", "(call $f)"),
    ("division", "", "", "(local.set $l (i64.div_u (i64.const -1) (i64.or (local.get $l) (i64.const 3))))"),
    ("small fills", "", "", "(memory.fill (i32.const 0) (i32.const 1) (i32.const 1))"),
    ("large fills", "", "", "(memory.fill (i32.const 0) (i32.const 1) (i32.const 1000000))"),
    ("copies", "", "", "(memory.copy (i32.const 0) (i32.const 1) (i32.const 1000000))"),
    ("segments", "(data $d \"0123456789\")", "", "(memory.init $d (i32.const 0) (i32.const 0) (i32.const 10))"),
    ("growth that is refused", "", "", "(drop (memory.grow (i32.const 65535)))"),
    ("growth by nothing", "", "", "(drop (memory.grow (i32.const 0)))"),
    ("tables that don't grow", "(table $t 1 1 funcref)", "", "(drop (table.grow $t (ref.null func) (i32.const 1)))"),
    (
        "tables of functions",
        "(table $t 10000 funcref)",
        "",
        "(table.fill $t (i32.const 0) (ref.null func) (i32.const 10000))",
    ),
    (
        "copied tables of functions",
        "(table $t 10000 funcref)",
        "",
        "(table.copy $t $t (i32.const 0) (i32.const 1) (i32.const 9999))",
    ),
    (
        "segments of functions",
        "(table $t 100 funcref) (func $f) (elem $e func $f $f $f $f $f $f $f $f $f $f)",
        "",
        "(table.init $t $e (i32.const 0) (i32.const 0) (i32.const 10))",
    ),
    (
        "tables of objects",
        "(table $t 10000 anyref) (type $s (struct))",
        "(local.set $any (struct.new $s))",
        "(table.fill $t (i32.const 0) (local.get $any) (i32.const 10000))",
    ),
    (
        "copied tables of objects",
        "(table $t 10000 anyref) (type $s (struct))",
        "(table.fill $t (i32.const 0) (struct.new $s) (i32.const 10000))",
        "(table.copy $t $t (i32.const 0) (i32.const 1) (i32.const 9999))",
    ),
    (
        "an element of a table",
        "(table $t 10 anyref) (type $s (struct))",
        "(local.set $any (struct.new $s))",
        "(table.set $t (i32.const 1) (local.get $any))",
    ),
    (
        "a global",
        "(global $g (mut anyref) (ref.null any)) (type $s (struct))",
        "(local.set $any (struct.new $s))",
        "(global.set $g (local.get $any))",
    ),
    ("structs", "(type $s (struct (field i64)))", "", "(drop (struct.new $s (i64.const 1)))"),
    ("chained structs", "(type $s (struct (field anyref)))", "", "(local.set $any (struct.new $s (ref.null any)))"),
    ("small arrays", "(type $a (array i8))", "", "(drop (array.new_default $a (i32.const 1)))"),
    ("large arrays", "(type $a (array i64))", "", "(drop (array.new_default $a (i32.const 10000)))"),
    (
        "large arrays that are filled",
        "(type $a (array i8))",
        "",
        "(drop (array.new $a (i32.const 1) (i32.const 10000)))",
    ),
    (
        "arrays of data",
        "(type $a (array i8)) (data $d \"0123456789\")",
        "",
        "(drop (array.new_data $a $d (i32.const 0) (i32.const 10)))",
    ),
    (
        "arrays of functions",
        "(type $a (array funcref)) (func $f) (elem $e func $f $f $f $f $f $f $f $f $f $f)",
        "",
        "(drop (array.new_elem $a $e (i32.const 0) (i32.const 10)))",
    ),
    (
        "arrays of objects",
        "(type $a (array (mut anyref))) (type $s (struct))",
        "(local.set $any (array.new $a (struct.new $s) (i32.const 10000)))",
        "(array.fill $a (ref.cast (ref $a) (local.get $any)) (i32.const 0) (local.get $any) (i32.const 10000))",
    ),
    (
        "copied arrays of objects",
        "(type $a (array (mut anyref))) (type $s (struct))",
        "(local.set $any (array.new $a (struct.new $s) (i32.const 10000)))",
        "(array.copy $a $a (ref.cast (ref $a) (local.get $any)) (i32.const 0)
            (ref.cast (ref $a) (local.get $any)) (i32.const 1) (i32.const 9999))",
    ),
    (
        "casts",
        "(type $a (sub (struct))) (type $b (sub $a (struct (field i32)))) (type $c (sub $b (struct (field i32 i32))))",
        "(local.set $any (struct.new $c (i32.const 1) (i32.const 2)))",
        "(drop (ref.cast (ref $a) (local.get $any)))",
    ),
    ("throws", "(tag $e)", "", "(block $caught (try_table (catch $e $caught) (throw $e)))"),
    (
        "throws that nobody but the last catches",
        "(tag $e) (tag $f)",
        "",
        "(block $caught (try_table (catch $e $caught)
            (block $other (try_table (catch $f $other) (try_table (catch $f $other) (throw $e))))))",
    ),
    (
        "rethrows",
        "(tag $e)",
        "",
        "(block $caught (try_table (catch $e $caught)
            (throw_ref (block $ref (result exnref) (try_table (catch_all_ref $ref) (throw $e)) unreachable))))",
    ),
    (
        "frames that an exception leaves",
        "(tag $e) (func $f (param i32)
            (if (local.get 0) (then (call $f (i32.sub (local.get 0) (i32.const 1)))) (else (throw $e))))",
        "",
        "(block $caught (try_table (catch $e $caught) (call $f (i32.const 5000))))",
    ),
    (
        "arrays of many functions",
        concat!(
            "(type $a (array funcref)) (func $f) (table $t 200 funcref) (elem $e func ",
            "$f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f ",
            "$f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f)"
        ),
        "",
        "(drop (array.new_elem $a $e (i32.const 0) (i32.const 80)))",
    ),
    (
        // One object takes nearly all, and next to nothing is left; each of the calls has a reference that a collection looks for.
        "a heap that is nearly full, far down",
        "(type $l (struct (field (ref null $l)) (field i64))) (type $large (array i64))
        (global $keep (mut (ref null $l)) (ref.null $l)) (global $all (mut (ref null $large)) (ref.null $large))
        (func $churn (loop $a (drop (struct.new $l (ref.null $l) (i64.const 1))) (br $a)))
        (func $deep (param $depth i32) (local $kept (ref null $l))
            (local.set $kept (global.get $keep))
            (if (local.get $depth)
                (then (call $deep (i32.sub (local.get $depth) (i32.const 1)))) (else (call $churn)))
            (global.set $keep (local.get $kept)))",
        "(global.set $all (array.new_default $large (i32.const 4300000)))
        (local.set $x (i32.const 21500))
        (loop $a (global.set $keep (struct.new $l (global.get $keep) (i64.const 1)))
            (br_if $a (local.tee $x (i32.sub (local.get $x) (i32.const 1)))))
        (call $deep (i32.const 20000))",
        "",
    ),
    ("an import", "", "", "(drop (call $sched_yield))"),
    (
        "an import by reference",
        "(table $t funcref (elem $sched_yield)) (type $y (func (result i32)))",
        "",
        "(drop (call_indirect $t (type $y) (i32.const 0)))",
    ),
    ("a snapshot", "", "", "(call $snapshot)"),
    ("an abort that is stubbed", "", "", "(call $stub)"),
    ("features with long names", "", "", "(drop (call $feature (i32.const 0) (i32.const 1024)))"),
    ("features with short names", "", "", "(drop (call $feature (i32.const 0) (i32.const 1)))"),
    (
        "events and notes",
        "",
        "",
        "(call $event (i32.const 0) (i32.const 1024) (i64.const 1)) (call $note (i32.const 0) (i32.const 60000))",
    ),
];

fn guest((_, items, first, again): (&str, &str, &str, &str)) -> String {
    // Items may have types, and uses of them; imports come before all else.
    format!(
        r#"(module
            (import "wasi_snapshot_preview1" "sched_yield" (func $sched_yield (result i32)))
            (import "fuzzbox_v1" "snapshot_here" (func $snapshot))
            (import "fuzzbox_v1" "feature" (func $feature (param i32 i32) (result i32)))
            (import "fuzzbox_v1" "event" (func $event (param i32 i32 i64)))
            (import "fuzzbox_v1" "note" (func $note (param i32 i32)))
            (import "env" "stub" (func $stub))
            (memory (export "memory") 16)
            {items}
            (func (export "_start") (local $x i32) (local $l i64) (local $any anyref)
                {first}
                (loop $again {again} (br $again))))"#
    )
}

/// CPU time of an execution that burns all of its fuel.
fn time(text: &str) -> Duration {
    let stub_imports = Some(fuzzbox::settings::Stub::Zero);
    let settings = Settings { fuel_max: FUEL, memory_bytes_max: 64 << 20, stub_imports, ..Settings::default() };
    let target = Arc::new(Target::load(text.as_bytes(), settings).unwrap_or_else(|error| panic!("{error:#}\n{text}")));
    let mut executor = Executor::new(&target).unwrap();
    let mut run = || {
        let begun = ThreadTime::now();
        let outcome = executor.run(b"").unwrap();
        let took = begun.elapsed();
        assert!(outcome.is_hang(), "{outcome:?}\n{text}");
        took
    };
    run();
    run().min(run())
}

/// Fails if one of these takes too long.
fn compare(guests: impl Iterator<Item = (&'static str, String)>) {
    let plain = time(&guest(LOOPS[0]));
    let mut slow = Vec::new();
    for (name, text) in guests {
        let took = time(&text);
        println!("{:8.2} {took:>10.3?}  {name}", took.as_secs_f64() / plain.as_secs_f64());
        if took > TIMES * plain {
            slow.push((name, took));
        }
    }
    assert!(slow.is_empty(), "a plain loop takes {plain:?}: {slow:?}");
}

/// On a thread that executors need no other for, whose time is measured.
fn in_thread(job: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(THREAD_STACK_BYTES).spawn(job).unwrap();
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}

#[test]
fn no_loop_takes_much_longer_than_its_fuel_says() {
    in_thread(|| compare(LOOPS.into_iter().map(|looped| (looped.0, guest(looped)))));
}

#[test]
fn no_call_of_wasi_takes_much_longer_than_it_is_charged() {
    in_thread(|| compare(wasi::guests()));
}
