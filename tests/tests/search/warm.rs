//! Guests that keep what they once grew: executions begin warm, and what they find is decided cold.

use fuzzbox::engine::{Campaign, Dictionary, Mutator, Workers};
use fuzzbox::id::InputId;
use fuzzbox::outcome::Outcome;
use fuzzbox::sandbox::{Candidate, Code, CodeCache, Executor, Target};
use fuzzbox::settings::Settings;
use fuzzbox_tests::found::{Found, if_begins_with};
use std::collections::BTreeSet;
use std::sync::Arc;

const EXECS: u64 = 200_000;

/// Takes pages by the first byte, and keeps them. `cold` fails in the first call, `warm` in others, `both` always.
fn module() -> Vec<u8> {
    let fails = |word: &str, when: &str| {
        let inner = if_begins_with(word, &format!("(if {when} (then unreachable))"));
        format!("(if (i32.ge_u (local.get $size) (i32.const {})) (then {inner}))", word.len())
    };
    let words = [
        fails("cold", "(i32.eq (global.get $calls) (i32.const 1))"),
        fails("warm", "(i32.ne (global.get $calls) (i32.const 1))"),
        fails("both", "(i32.const 1)"),
    ]
    .concat();
    wat::parse_str(format!(
        r#"(module
            (memory (export "memory") 2)
            (global $calls (mut i32) (i32.const 0))
            (global $pages (mut i32) (i32.const 0))
            (func (export "LLVMFuzzerTestOneInput") (param $data i32) (param $size i32) (result i32) (local $wanted i32)
                (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
                (local.set $wanted (i32.const 1))
                (if (local.get $size) (then
                    (local.set $wanted (i32.and (i32.load8_u (local.get $data)) (i32.const 7)))))
                (if (i32.gt_u (local.get $wanted) (global.get $pages)) (then
                    (drop (memory.grow (i32.sub (local.get $wanted) (global.get $pages))))
                    (global.set $pages (local.get $wanted))
                    (i32.store (i32.sub (i32.shl (memory.size) (i32.const 16)) (i32.const 4)) (i32.const 1))))
                {words}
                (i32.const 0)))"#
    ))
    .unwrap()
}

struct Searched {
    found: Found,
    first: usize,
    /// The inputs of failures.
    failing: Vec<Vec<u8>>,
}

fn search(target: &Arc<Target>, jobs: usize, warms: bool) -> Searched {
    let workers = Workers::new(jobs, Arc::default()).unwrap();
    let campaign = Campaign::new(target.clone(), 3, Mutator::new(Dictionary::default()));
    let mut campaign = if warms { campaign } else { campaign.without_warming() };
    let signature = |outcome: &Outcome| format!("{outcome:?}");
    campaign.start(&workers, &[b"b".to_vec(), b"g".to_vec()], EXECS, &signature).unwrap();
    let mut told = 0;
    while campaign.totals().execs < EXECS {
        let left = EXECS - campaign.totals().execs;
        let round = campaign.step(&workers, left, &signature).unwrap().expect("nobody aborts");
        told += usize::from(round.is_warmer);
    }
    let first = campaign.warm_up_inputs().len();
    assert_eq!(told > 0, first > 0, "it is told");
    assert_eq!(campaign.totals().execs, EXECS);
    let failing = campaign.failures().map(|failure| failure.input.to_vec()).collect();
    Searched { found: Found::of(&campaign), first, failing }
}

#[test]
fn what_only_a_warm_guest_does_is_no_finding_and_what_only_a_cold_one_does_is() {
    let target = Arc::new(Target::load(&module(), Settings::default()).unwrap());
    let Searched { found, first, failing } = search(&target, 1, true);
    assert!(first > 0, "it is warm");
    for word in [b"cold", b"both"] {
        assert!(failing.iter().any(|input| input.starts_with(word)), "{failing:?}");
    }
    let mut cold = Executor::new(&target).unwrap();
    for input in &failing {
        assert!(cold.run(input).unwrap().failure().is_some(), "{input:?} does not fail from the beginning");
    }
    assert!(found.corpus.iter().any(|input| input.starts_with(b"cold")), "warm it passes, and is kept");
    assert_eq!(found, search(&target, 2, true).found, "two workers");
    let quick = Candidate::new(&module(), Settings::default()).unwrap();
    let quick = Arc::new(Target::compiled(quick, &CodeCache::default(), Code::Quick).unwrap());
    assert_eq!(found, search(&quick, 2, true).found, "beginning in quick code");
}

/// Takes pages by the last byte, without a branch: no testcase shows that.
const BRANCHLESS: &str = r#"(module
    (memory (export "memory") 2)
    (global $pages (mut i32) (i32.const 0))
    (func (export "LLVMFuzzerTestOneInput") (param $data i32) (param $size i32) (result i32) (local $more i32)
        (if (i32.eqz (local.get $size)) (then (return (i32.const 0))))
        (local.set $more (i32.sub
            (i32.and (i32.load8_u (i32.add (local.get $data) (i32.sub (local.get $size) (i32.const 1)))) (i32.const 7))
            (global.get $pages)))
        (local.set $more
            (i32.and (local.get $more) (i32.xor (i32.shr_s (local.get $more) (i32.const 31)) (i32.const -1))))
        (drop (memory.grow (local.get $more)))
        (global.set $pages (i32.add (global.get $pages) (local.get $more)))
        (i32.const 0)))"#;

#[test]
fn mutants_that_grow_the_memory_are_begun_with_even_if_no_testcase_does() {
    let target = Arc::new(Target::load(BRANCHLESS.as_bytes(), Settings::default()).unwrap());
    let workers = Workers::new(1, Arc::default()).unwrap();
    let mut campaign = Campaign::new(target.clone(), 3, Mutator::new(Dictionary::default()));
    let signature = |outcome: &Outcome| format!("{outcome:?}");
    campaign.start(&workers, &[b"a0".to_vec()], EXECS, &signature).unwrap();
    while campaign.totals().execs < 40_000 {
        campaign.step(&workers, 5_000, &signature).unwrap().expect("nobody aborts");
    }
    let corpus = campaign.corpus().testcases();
    assert!(corpus.iter().all(|testcase| testcase.bytes.last().is_none_or(|last| last & 7 == 0)), "{corpus:?}");
    assert!(campaign.warm_up_inputs().len() > 0);
}

/// Draws how many pages it takes, and keeps them, and a number that is to be 77. It fails then in the first call if the
/// pages are odd, in others if they are not.
const DRAWS: &str = r#"(module
    (import "fuzzbox_v1" "draw_int" (func $int (param i64 i64 i64) (result i64)))
    (memory (export "memory") 2)
    (global $calls (mut i32) (i32.const 0))
    (global $pages (mut i32) (i32.const 0))
    (func (export "fbx_grows") (local $wanted i32)
        (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
        (local.set $wanted (i32.wrap_i64 (call $int (i64.const 1) (i64.const 7) (i64.const 1))))
        (if (i32.gt_u (local.get $wanted) (global.get $pages)) (then
            (drop (memory.grow (i32.sub (local.get $wanted) (global.get $pages))))
            (global.set $pages (local.get $wanted))))
        (if (i64.eq (call $int (i64.const 0) (i64.const 255) (i64.const 0)) (i64.const 77)) (then
            (if (i32.eq
                    (i32.and (local.get $wanted) (i32.const 1))
                    (i32.eq (global.get $calls) (i32.const 1)))
                (then unreachable))))))"#;

#[test]
fn what_draws_begins_warm_too_and_is_decided_cold() {
    let target = Arc::new(Target::load(DRAWS.as_bytes(), Settings::default()).unwrap());
    assert!(target.takes_choices());
    let Searched { found, first, failing } = search(&target, 1, true);
    assert!(first > 0, "it is warm");
    assert!(!failing.is_empty());
    let mut cold = Executor::new(&target).unwrap();
    for input in &failing {
        assert!(cold.run(input).unwrap().failure().is_some(), "{input:?} does not fail from the beginning");
    }
    assert_eq!(found, search(&target, 2, true).found, "two workers");
}

/// Draws how many pages it takes, writes on each, and gives nothing back. It reads one byte too far if another number
/// is 77 and it was 3 of them, and traps if that is 78.
const GROWS: &str = r#"(module
    (import "fuzzbox_v1" "draw_int" (func $int (param i64 i64 i64) (result i64)))
    (memory (export "memory") 1)
    (func $writes (param $pages i32) (local $end i32)
        (if (i32.eqz (local.get $pages)) (then (return)))
        (drop (memory.grow (i32.const 1)))
        (local.set $end (i32.mul (memory.size) (i32.const 65536)))
        (if (i32.load8_u (i32.sub (local.get $end) (i32.const 1))) (then unreachable))
        (i32.store8 (i32.sub (local.get $end) (i32.const 1)) (local.get $pages))
        (call $writes (i32.sub (local.get $pages) (i32.const 1))))
    (func (export "fbx_grows") (local $pages i32) (local $number i64)
        (local.set $pages (i32.wrap_i64 (call $int (i64.const 0) (i64.const 9) (i64.const 0))))
        (call $writes (local.get $pages))
        (local.set $number (call $int (i64.const 0) (i64.const 255) (i64.const 0)))
        (if (i64.eq (local.get $number) (i64.const 78)) (then unreachable))
        (if (i32.and (i64.eq (local.get $number) (i64.const 77)) (i32.eq (local.get $pages) (i32.const 3)))
            (then (drop (i32.load8_u (i32.mul (memory.size) (i32.const 65536))))))))"#;

#[test]
fn what_always_grows_is_found_alike_by_any_number_of_workers() {
    let target = Arc::new(Target::load(GROWS.as_bytes(), Settings::default()).unwrap());
    let Searched { found, first, failing } = search(&target, 1, true);
    assert_eq!((first, failing.len()), (0, 2), "{failing:?}");
    let mut fresh = Executor::new(&target).unwrap();
    let failure = |input: &Vec<u8>| format!("{:?}", fresh.run(input).unwrap().failure().expect("it fails").1.kind);
    let kinds: BTreeSet<String> = failing.iter().map(failure).collect();
    assert_eq!(kinds.len(), 2, "{kinds:?}");
    let quick = Candidate::new(GROWS.as_bytes(), Settings::default()).unwrap();
    let quick = Arc::new(Target::compiled(quick, &CodeCache::default(), Code::Quick).unwrap());
    for (target, jobs) in [(&target, 2), (&target, 5), (&quick, 2)] {
        let other = search(target, jobs, true);
        assert_eq!((&other.found, &other.failing), (&found, &failing), "{jobs} workers");
    }
}

#[test]
fn nothing_is_warmed_if_that_is_not_wanted_or_would_not_help() {
    let target = Arc::new(Target::load(&module(), Settings::default()).unwrap());
    assert_eq!(search(&target, 1, false).first, 0);
    // It gives back nothing, so it grows however often it was called.
    let leaks = r#"(module (memory (export "memory") 1)
        (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32)
          (drop (memory.grow (i32.const 1))) (i32.const 0)))"#;
    let leaks = Arc::new(Target::load(leaks.as_bytes(), Settings::default()).unwrap());
    assert_eq!(search(&leaks, 1, true).first, 0);
    // It can be called once.
    let once = r#"(module (memory (export "memory") 1) (global $called (mut i32) (i32.const 0))
        (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32)
          (if (global.get $called) (then unreachable))
          (global.set $called (i32.const 1))
          (drop (memory.grow (i32.const 1))) (i32.const 0)))"#;
    let once = Arc::new(Target::load(once.as_bytes(), Settings::default()).unwrap());
    let Searched { first, failing, .. } = search(&once, 1, true);
    assert_eq!((first, failing), (0, Vec::new()));
}

/// Calls itself as often as the input says, and takes a page in the first call.
const DEEP: &str = r#"(module
    (memory (export "memory") 2)
    (global $pages (mut i32) (i32.const 0))
    (func $down (param $left i32) (param $size i32) (result i32)
        (if (i32.eqz (local.get $left)) (then (return (local.get $size))))
        (i32.xor (local.get $left)
            (call $down (i32.sub (local.get $left) (i32.const 1)) (i32.mul (local.get $size) (local.get $left)))))
    (func (export "LLVMFuzzerTestOneInput") (param $data i32) (param $size i32) (result i32)
        (if (i32.lt_u (local.get $size) (i32.const 4)) (then (return (i32.const 0))))
        (if (i32.eqz (global.get $pages)) (then
            (drop (memory.grow (i32.const 1)))
            (global.set $pages (i32.const 1))))
        (drop (call $down (i32.load (local.get $data)) (local.get $size)))
        (i32.const 0)))"#;

/// The input that goes as deep as there is stack for is one that executions begin with, and in variants that do more
/// there is no stack for it.
#[test]
fn what_needs_all_of_the_stack_ends_no_campaign() {
    const EXECS: u64 = 2_000;
    let target = Arc::new(Target::load(DEEP.as_bytes(), Settings::default()).unwrap());
    let mut executor = Executor::new(&target).unwrap();
    let (mut passes, mut fails) = (1_u32, 1 << 22);
    while fails - passes > 1 {
        let middle = u32::midpoint(passes, fails);
        let is_fine = executor.run(&middle.to_le_bytes()).unwrap() == Outcome::Ok;
        *(if is_fine { &mut passes } else { &mut fails }) = middle;
    }
    let workers = Workers::new(1, Arc::default()).unwrap();
    let mut campaign = Campaign::new(target.clone(), 1, Mutator::new(Dictionary::default()));
    let signature = |outcome: &Outcome| format!("{outcome:?}");
    let deepest = passes.to_le_bytes().to_vec();
    campaign.start(&workers, std::slice::from_ref(&deepest), EXECS, &signature).unwrap();
    while campaign.totals().execs < EXECS {
        let left = EXECS - campaign.totals().execs;
        campaign.step(&workers, left, &signature).unwrap().expect("nobody aborts");
    }
    assert!(campaign.warm_up_inputs().any(|input| input == InputId::of(&deepest)), "it is begun with");
}
