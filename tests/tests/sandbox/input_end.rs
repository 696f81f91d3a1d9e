//! Whoever goes past the end of the input is found, by one byte too, whatever the guest does it with.

use fuzzbox::outcome::{FailureKind, TrapKind};
use fuzzbox::sandbox::{Executor, Target, Variant};
use fuzzbox::settings::Settings;
use std::sync::Arc;

/// What a guest that does this with the end of its input, local 2, ends with, in all variants.
#[track_caller]
fn ends_as(body: &str, kind: Option<TrapKind>) {
    let wat = format!(
        r#"(module
            (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
            (memory (export "memory") 2)
            (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32) (local i32)
                (local.set 2 (i32.add (local.get 0) (local.get 1)))
                {body}
                (i32.const 0)))"#
    );
    let metered = Arc::new(Target::load(wat.as_bytes(), Settings::default()).unwrap());
    for variant in [Variant::Metered, Variant::Full, Variant::Fast(Default::default())] {
        let mut executor = Executor::new(&Arc::new(metered.in_variant(variant).unwrap())).unwrap();
        // The second time and after a longer input as well.
        for input in [&b"four"[..], b"four", &[7; 70_000], b"", b"x"] {
            let outcome = executor.run(input).unwrap();
            assert_eq!(outcome.trap().map(|trap| trap.kind), kind, "{outcome:?} {:?}", executor.target().variant);
            assert_eq!(matches!(outcome.failure(), Some((FailureKind::Crash, _))), kind.is_some());
        }
    }
}

#[test]
fn loads_and_stores_trap_at_the_first_byte_behind_the_input() {
    ends_as("(drop (i32.load8_u (local.get 2)))", Some(TrapKind::MemoryOutOfBounds));
    ends_as("(i32.store8 (local.get 2) (i32.const 1))", Some(TrapKind::MemoryOutOfBounds));
    ends_as("(drop (i64.load offset=1 (i32.sub (local.get 2) (i32.const 1))))", Some(TrapKind::MemoryOutOfBounds));
}

#[test]
fn a_guest_that_grew_its_memory_still_traps_there() {
    ends_as("(drop (memory.grow (i32.const 2))) (drop (i32.load8_u (local.get 2)))", Some(TrapKind::MemoryOutOfBounds));
}

#[test]
fn bulk_operators_and_host_functions_are_found_out_when_they_are_done() {
    ends_as("(memory.copy (i32.const 0) (local.get 2) (i32.const 1))", Some(TrapKind::InputOverrun));
    ends_as("(memory.fill (local.get 2) (i32.const 0) (i32.const 1))", Some(TrapKind::InputOverrun));
    // Of a length that is known, and of one that isn't.
    ends_as("(memory.copy (i32.const 0) (local.get 2) (i32.const 9))", Some(TrapKind::InputOverrun));
    ends_as(
        "(memory.copy (i32.const 0) (local.get 2) (i32.add (i32.const 1) (i32.and (local.get 1) (i32.const 7))))",
        Some(TrapKind::InputOverrun),
    );
    ends_as("(memory.copy (local.get 2) (i32.const 0) (i32.const 128))", Some(TrapKind::InputOverrun));
    // A buffer of one byte, which is written to standard output.
    ends_as(
        "(i32.store (i32.const 8) (local.get 2)) (i32.store (i32.const 12) (i32.const 1))
         (drop (call $fd_write (i32.const 1) (i32.const 8) (i32.const 1) (i32.const 16)))",
        Some(TrapKind::InputOverrun),
    );
}

#[test]
fn who_keeps_within_the_input_is_left_alone() {
    ends_as("(memory.copy (i32.const 0) (local.get 0) (local.get 1))", None);
    ends_as("(memory.fill (local.get 0) (i32.const 3) (local.get 1))", None);
    ends_as("(if (local.get 1) (then (drop (i32.load8_u (i32.sub (local.get 2) (i32.const 1))))))", None);
}

#[test]
fn what_is_compared_is_recorded_of_somebodys_memory_alone() {
    const GUEST: &str = r#"(module (memory (export "memory") 1 4000)
        (func $memcmp (export "memcmp") (param $p i32) (param $q i32) (param $n i32) (result i32)
            (i32.sub (i32.load8_u (local.get $p)) (i32.load8_u (local.get $q))))
        (func (export "LLVMFuzzerTestOneInput") (param $p i32) (param $n i32) (result i32)
            (if (i32.lt_u (local.get $n) (i32.const 4)) (then (return (i32.const 0))))
            (drop (call $memcmp (i32.load (local.get $p)) (i32.const 16) (i32.const 32)))
            (i32.const 0)))"#;
    let settings = Settings { memory_bytes_max: 64 << 20, input_bytes_max: 4096, ..Settings::default() };
    let metered = Arc::new(Target::load(GUEST.as_bytes(), settings).unwrap());
    let mut traced = Executor::new(&Arc::new(metered.in_variant(Variant::Traced).unwrap())).unwrap();
    let mut metered = Executor::new(&metered).unwrap();
    let mut ends = [0, 0];
    // In the guest's part, at its end, where nobody is, around the annex, and outside of all.
    for place in [
        0_u32,
        0xfff0,
        0xffff,
        0x1_0000,
        0x20_0000,
        0x3ff_ffff,
        0x400_0000,
        0x40f_ffff,
        0x410_0000,
        0x410_0ff0,
        0x500_0000,
        u32::MAX,
    ] {
        let outcomes = [&mut metered, &mut traced].map(|executor| executor.run(&place.to_le_bytes()).unwrap());
        assert_eq!(outcomes[0].failure().is_some(), outcomes[1].failure().is_some(), "{place:#x}: {outcomes:?}");
        ends[usize::from(outcomes[0].failure().is_some())] += 1;
    }
    assert!(ends[0] >= 3 && ends[1] >= 5, "{ends:?}");
}
