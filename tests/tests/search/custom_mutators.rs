//! Harnesses that make their mutants themselves, as libFuzzer lets them.

use fuzzbox::engine::{Campaign, Dictionary, Mutator, Workers};
use fuzzbox::outcome::Outcome;
use fuzzbox::sandbox::{Candidate, Target};
use fuzzbox::settings::Settings;
use fuzzbox_tests::found::Found;
use std::sync::Arc;

/// Searches until something fails, or for so many executions. `custom` says whether the guest's mutators are used.
fn search(target: &Arc<Target>, seed: u64, jobs: usize, (execs, custom): (u64, bool)) -> Campaign {
    let mutator = Mutator::new(Dictionary::default().with_constants_of(target.candidate.bytes()));
    let campaign = Campaign::new(target.clone(), seed, mutator);
    let campaign = if custom { campaign.with_custom_mutators(None).unwrap() } else { campaign };
    until_failure(campaign, jobs, execs)
}

fn until_failure(mut campaign: Campaign, jobs: usize, execs: u64) -> Campaign {
    let workers = Workers::new(jobs, Arc::default()).unwrap();
    let signature = |outcome: &Outcome| format!("{outcome:?}");
    campaign.start(&workers, &[], execs, &signature).unwrap();
    while campaign.failures().len() == 0 && campaign.totals().execs < execs {
        campaign.step(&workers, execs - campaign.totals().execs, &signature).unwrap();
    }
    campaign
}

fn load(wasm: &[u8]) -> Arc<Target> {
    Arc::new(Target::load(wasm, Settings { input_bytes_max: 4096, ..Settings::default() }).unwrap())
}

fn guest(name: &str) -> Arc<Target> {
    load(&std::fs::read(fuzzbox_tests::guest(name).unwrap()).unwrap())
}

/// Inputs are words after a byte that has to be their sum: the mutator changes the words, and crossing over puts the
/// words of one input behind those of another. `broken` is put at the beginning of the mutator.
fn signed(broken: &str, cross_over: &str) -> Vec<u8> {
    wat::parse_str(format!(
        r#"(module
            (import "env" "LLVMFuzzerMutate" (func $mutate (param i32 i32 i32) (result i32)))
            (memory (export "memory") 1)
            (func $sum (param $at i32) (param $len i32) (result i32) (local $sum i32)
                (loop $next
                    (if (local.get $len) (then
                        (local.set $sum (i32.add (i32.rotl (local.get $sum) (i32.const 5))
                            (i32.load8_u (local.get $at))))
                        (local.set $at (i32.add (local.get $at) (i32.const 1)))
                        (local.set $len (i32.sub (local.get $len) (i32.const 1)))
                        (br $next))))
                (local.get $sum))
            (func (export "LLVMFuzzerTestOneInput") (param $data i32) (param $size i32) (result i32)
                (if (i32.lt_u (local.get $size) (i32.const 8)) (then (return (i32.const 0))))
                (if (i32.ne (i32.load (local.get $data))
                        (call $sum (i32.add (local.get $data) (i32.const 4))
                            (i32.sub (local.get $size) (i32.const 4))))
                    (then (return (i32.const 0))))
                (if (i32.ne (i32.load8_u offset=4 (local.get $data)) (i32.const 70)) (then (return (i32.const 0))))
                (if (i32.ne (i32.load8_u offset=5 (local.get $data)) (i32.const 85)) (then (return (i32.const 0))))
                (if (i32.ne (i32.load8_u offset=6 (local.get $data)) (i32.const 90)) (then (return (i32.const 0))))
                (unreachable))
            (func (export "LLVMFuzzerCustomMutator") (param $data i32) (param $size i32) (param $max i32)
                (param $seed i32) (result i32)
                {broken}
                (if (i32.lt_u (local.get $max) (i32.const 8)) (then (return (i32.const 0))))
                (if (i32.lt_u (local.get $size) (i32.const 5)) (then (local.set $size (i32.const 8))))
                (local.set $size (i32.add (i32.const 4) (call $mutate
                    (i32.add (local.get $data) (i32.const 4))
                    (i32.sub (local.get $size) (i32.const 4))
                    (i32.sub (local.get $max) (i32.const 4)))))
                (i32.store (local.get $data)
                    (call $sum (i32.add (local.get $data) (i32.const 4))
                        (i32.sub (local.get $size) (i32.const 4))))
                (local.get $size))
            {cross_over})"#
    ))
    .unwrap()
}

/// Makes nothing but empty inputs.
const EMPTY_CROSSES: &str = r#"(func (export "LLVMFuzzerCustomCrossOver")
    (param $a i32) (param $a_len i32) (param $b i32) (param $b_len i32)
    (param $out i32) (param $max i32) (param $seed i32) (result i32)
    (memory.copy (local.get $out) (local.get $a) (local.get $a_len))
    (memory.copy (i32.add (local.get $out) (local.get $a_len)) (local.get $b) (i32.const 0))
    (local.get $a_len))"#;

#[test]
fn compressed_inputs_are_mutated_where_they_are_not_compressed() {
    let target = guest("compressed");
    for seed in 1..=10 {
        let campaign = search(&target, seed, 2, (60_000, true));
        assert_eq!(campaign.failures().len(), 1, "seed {seed}");
    }
    assert_eq!(search(&guest("compressed-unaided"), 1, 2, (50_000, true)).failures().len(), 0);
}

/// Fourteen bytes inside of what is compressed, which nobody guesses: they are written where they are compared.
#[test]
fn what_is_compared_inside_is_written_inside() {
    let target = guest("compressed-magic");
    for seed in 1..=3 {
        let campaign = search(&target, seed, 1, (200_000, true));
        assert_eq!(campaign.failures().len(), 1, "seed {seed}");
    }
}

/// The harness without a mutator has that of the one with.
#[test]
fn another_module_makes_the_mutants() {
    let target = guest("compressed-unaided");
    let mutator = std::fs::read(fuzzbox_tests::guest("compressed").unwrap()).unwrap();
    let mutator = Candidate::mutator(&mutator, &target.candidate.settings).unwrap();
    let campaign = Campaign::new(target.clone(), 1, Mutator::new(Dictionary::default()));
    let campaign = until_failure(campaign.with_custom_mutators(Some(&mutator)).unwrap(), 1, 60_000);
    assert_eq!(campaign.failures().len(), 1);
}

#[test]
fn signed_inputs_are_signed_again_whatever_makes_them() {
    for cross_over in ["", EMPTY_CROSSES] {
        let target = load(&signed("", cross_over));
        for seed in 1..=3 {
            let campaign = search(&target, seed, 1, (100_000, true));
            assert_eq!(campaign.failures().len(), 1, "seed {seed}");
            let failure = campaign.failures().next().unwrap();
            assert_eq!(&failure.input[4..7], b"FUZ");
        }
    }
}

#[test]
fn the_same_is_found_by_one_worker_and_by_two() {
    let target = load(&signed("", EMPTY_CROSSES));
    let found = |jobs| Found::of(&search(&target, 9, jobs, (20_000, true)));
    assert_eq!(found(1), found(2));
}

#[test]
fn a_mutator_that_fails_has_made_nothing_and_ends_nothing() {
    for broken in ["(unreachable)", "(loop (br 0))", "(i32.store offset=0 (i32.const -1) (i32.const 0))"] {
        let settings = Settings { input_bytes_max: 64, fuel_max: 100_000, ..Settings::default() };
        let target = Arc::new(Target::load(&signed(broken, ""), settings).unwrap());
        let campaign = search(&target, 1, 1, (3_000, true));
        let totals = campaign.totals();
        assert!(totals.execs >= 3_000 || campaign.failures().len() > 0, "{broken}");
        assert!(totals.input_bytes > totals.execs, "{broken}: mutants are made by us: {totals:?}");
    }
}

#[test]
fn what_says_that_it_made_more_than_it_may_has_made_what_it_may() {
    let target = load(&signed("(return (i32.const -1))", ""));
    let campaign = search(&target, 1, 1, (2_000, true));
    assert!(campaign.corpus().testcases().iter().all(|testcase| testcase.bytes.len() <= 4096));
}
