//! What `Metered` finds by checks of the rewriter: calls that go too deep, and writes through null pointers.

use fuzzbox::outcome::{FailureKind, Frame, Outcome, TrapKind, Verdict};
use fuzzbox::sandbox::{Executor, Target, Variant};
use fuzzbox::settings::Settings;
use fuzzbox_tests::show;
use std::sync::Arc;

/// How many calls may be live that can be part of a recursion.
const CALLS_MAX: u32 = 65_536;

/// Has so many of them as its input says, a number of 32 bits.
const RECURSION: &str = r#"(module
    (memory 1)
    (global $deepest (mut i32) (i32.const 0))
    (func $down (param $calls i32)
        (global.set $deepest (local.get $calls))
        (if (local.get $calls)
            (then (call $down (i32.sub (local.get $calls) (i32.const 1))))))
    (func (export "LLVMFuzzerTestOneInput") (param $data i32) (param $size i32) (result i32)
        (if (i32.ge_u (local.get $size) (i32.const 4))
            (then (call $down (i32.load (local.get $data)))))
        (i32.const 0)))"#;

fn executor(wat: &str, variant: Variant) -> Executor {
    let settings = Settings { input_bytes_max: 64, ..Settings::default() };
    Executor::new(&Arc::new(Target::load_variant(wat.as_bytes(), settings, variant).unwrap())).unwrap()
}

fn kind(outcome: &Outcome) -> Option<TrapKind> {
    assert!(matches!(outcome.verdict(), Verdict::Passed | Verdict::Failed(FailureKind::Crash, _)), "{outcome:?}");
    outcome.trap().map(|trap| trap.kind)
}

#[test]
fn exactly_so_many_calls_may_be_live() {
    let mut metered = executor(RECURSION, Variant::Metered);
    for calls in [3, CALLS_MAX, CALLS_MAX + 1, u32::MAX, CALLS_MAX, 3] {
        let shown = show(&mut metered, &calls.to_le_bytes());
        let expected = (calls > CALLS_MAX).then_some(TrapKind::StackOverflow);
        assert_eq!(kind(&shown.outcome), expected, "{calls}");
        let fresh = show(&mut executor(RECURSION, Variant::Metered), &calls.to_le_bytes());
        assert_eq!(shown, fresh, "{calls}");
        if let Some(trap) = shown.outcome.trap() {
            assert_eq!(trap.frames.len(), fuzzbox::outcome::Trap::FRAMES_MAX);
            assert!(trap.frames.iter().all(|frame| frame.function == 0));
        }
    }
}

#[test]
fn what_has_more_calls_overflows_the_stack_of_every_variant() {
    for variant in [Variant::Full, Variant::Fast(fuzzbox_instrument::EdgeSet::default())] {
        let mut executor = executor(RECURSION, variant);
        assert_eq!(kind(&executor.run(&3_u32.to_le_bytes()).unwrap()), None);
        for calls in [CALLS_MAX + 1, u32::MAX] {
            let outcome = executor.run(&calls.to_le_bytes()).unwrap();
            assert_eq!(kind(&outcome), Some(TrapKind::StackOverflow));
        }
    }
}

#[test]
fn a_thread_with_a_small_stack_executes_the_same() {
    let small = std::thread::Builder::new().stack_size(256 << 10).spawn(|| {
        let mut metered = executor(RECURSION, Variant::Metered);
        [CALLS_MAX, CALLS_MAX + 1].map(|calls| kind(&metered.run(&calls.to_le_bytes()).unwrap()))
    });
    assert_eq!(small.unwrap().join().unwrap(), [None, Some(TrapKind::StackOverflow)]);
}

#[test]
fn frames_that_are_too_large_for_the_larger_stack_overflow_it() {
    // Each keeps 400 numbers over the call.
    let locals: String = (0..400).map(|_| "(local i64) ").collect();
    let set: String =
        (1..=400).map(|local| format!("(local.set {local} (i64.load offset={} (local.get 0)))", 8 * local)).collect();
    let sum: String = (1..=400).map(|local| format!("(local.get {local}) (i64.xor) ")).collect();
    let text = format!(
        r#"(module
            (memory 2)
            (func $down (param $frames i32) (result i64) {locals}
                {set}
                (if (result i64) (local.get $frames)
                    (then (call $down (i32.sub (local.get $frames) (i32.const 1))))
                    (else (i64.const 0)))
                {sum})
            (func (export "LLVMFuzzerTestOneInput") (param $data i32) (param $size i32) (result i32)
                (drop (call $down (i32.load (local.get $data))))
                (i32.const 0)))"#
    );
    let mut metered = executor(&text, Variant::Metered);
    assert_eq!(kind(&metered.run(&1_000_u32.to_le_bytes()).unwrap()), None);
    let outcome = metered.run(&(CALLS_MAX - 100).to_le_bytes()).unwrap();
    assert_eq!(kind(&outcome), Some(TrapKind::StackOverflow));
    assert_eq!(kind(&metered.run(&1_000_u32.to_le_bytes()).unwrap()), None);
}

/// What a linker of C makes, or almost: data from `data` on, the stack's top at `stack`. The input says what is done where:
/// one byte, and an address of 32 bits.
fn like_c(data: u32, stack: u32) -> String {
    format!(
        r#"(module
            (memory (export "memory") 2)
            (global $__stack_pointer (mut i32) (i32.const {stack}))
            (global $__heap_base i32 (i32.const 66600))
            (data (i32.const {data}) "data")
            (data $passive "passive")
            (func $write (param $way i32) (param $to i32)
                (block $store (block $load (block $fill (block $fill_none (block $copy (block $init (block $atomic (block $far
                    (br_table $store $load $fill $fill_none $copy $init $atomic $far (local.get $way)))
                (i64.store offset=1020 (local.get $to) (i64.const -1)) (return))
                (drop (i32.atomic.rmw.add (local.get $to) (i32.const 1))) (return))
                (memory.init $passive (local.get $to) (i32.const 0) (i32.const 7)) (return))
                (memory.copy (local.get $to) (i32.const 2048) (i32.const 7)) (return))
                (memory.fill (local.get $to) (i32.const 1) (i32.const 0)) (return))
                (memory.fill (local.get $to) (i32.const 1) (i32.const 9)) (return))
                (drop (i32.load (local.get $to)))
                (memory.copy (i32.const 2048) (local.get $to) (i32.const 7)) (return))
                (i32.store8 (local.get $to) (i32.const 1)))
            (func (export "LLVMFuzzerTestOneInput") (param $data i32) (param $size i32) (result i32)
                (if (i32.ge_u (local.get $size) (i32.const 5))
                    (then (call $write (i32.load8_u (local.get $data)) (i32.load offset=1 (local.get $data)))))
                (i32.const 0))
            (func $nothing (param i32 i32)))"#
    )
}

const STORE: u8 = 0;
const LOAD: u8 = 1;
const FILL: u8 = 2;
const FILL_NONE: u8 = 3;
const COPY: u8 = 4;
const INIT: u8 = 5;
const ATOMIC: u8 = 6;
const FAR: u8 = 7;

fn input(way: u8, to: u32) -> Vec<u8> {
    [&[way][..], &to.to_le_bytes()].concat()
}

#[test]
fn a_write_below_a_c_programs_data_is_found_and_nothing_else_is() {
    let text = like_c(1024, 66_600);
    let mut metered = executor(&text, Variant::Metered);
    let mut full = executor(&text, Variant::Full);
    let mut harmless = executor(&text.replace("(call $write", "(call $nothing"), Variant::Metered);
    assert!(metered.target().summary().finds_low_stores);
    let wasm = wat::parse_str(&text).unwrap();
    let operators: [(u8, &[u8], u32); 6] = [
        (STORE, &[0x3a], 1024),
        (FILL, &[0xfc, 0x0b], 1024),
        (COPY, &[0xfc, 0x0a], 1024),
        (INIT, &[0xfc, 0x08], 1024),
        (ATOMIC, &[0xfe, 0x1e], 1024),
        (FAR, &[0x37], 4),
    ];
    for (way, operator, limit) in operators {
        for to in [0, limit - 4, limit, limit + 4, 70_000] {
            let shown = show(&mut metered, &input(way, to));
            let fresh = show(&mut executor(&text, Variant::Metered), &input(way, to));
            assert_eq!(shown, fresh);
            if to < limit {
                let trap = shown.outcome.trap().expect("it is found");
                assert_eq!(kind(&shown.outcome), Some(TrapKind::NullWrite));
                let [Frame { function: 0, offset }, Frame { function: 1, .. }] = trap.frames[..] else {
                    panic!("{trap:?}")
                };
                assert!(wasm[offset as usize..].starts_with(operator), "{way} {to}: {offset:#x}");
                // The write didn't happen.
                assert_eq!(shown.state, show(&mut harmless, &input(way, to)).state);
            } else {
                let mut expected = show(&mut full, &input(way, to));
                expected.fuel = shown.fuel;
                assert_eq!(shown, expected, "{way} {to}");
                assert_eq!(shown.outcome, Outcome::Ok);
            }
        }
    }
    for (way, to) in [(LOAD, 0), (LOAD, 1023), (FILL_NONE, 0), (FILL_NONE, 1023)] {
        assert_eq!(metered.run(&input(way, to)).unwrap(), Outcome::Ok);
    }
    // What is out of bounds stays that.
    let outcome = metered.run(&input(FAR, u32::MAX - 1000)).unwrap();
    assert_eq!(kind(&outcome), Some(TrapKind::MemoryOutOfBounds));
}

#[test]
fn nothing_is_looked_for_where_data_or_the_stack_may_lie() {
    // Data elsewhere; the stack first.
    for (data, stack) in [(1000, 66_600), (1040, 66_600), (1024, 1024), (1024, 512), (65_536, 65_536)] {
        let mut metered = executor(&like_c(data, stack), Variant::Metered);
        assert!(!metered.target().summary().finds_low_stores);
        for way in [STORE, FILL, COPY, INIT, ATOMIC] {
            assert_eq!(metered.run(&input(way, 0)).unwrap(), Outcome::Ok, "{data} {stack} {way}");
        }
    }
}
