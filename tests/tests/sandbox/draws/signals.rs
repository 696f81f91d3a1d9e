//! What guests tell steers the search: events are features, scores become larger, features are switched off.

use super::{executors, indices, module, run, settings};
use fuzzbox::engine::{Campaign, Dictionary, Mutator, Workers};
use fuzzbox::outcome::Outcome;
use fuzzbox::sandbox::{Executor, Target};
use fuzzbox::stream::{Rule, Tail};
use std::sync::Arc;

/// A campaign of so many executions.
fn campaign(wat: &str, seed: u64, jobs: usize, execs: u64) -> Campaign {
    let target = Target::load(wat.as_bytes(), settings()).unwrap_or_else(|error| panic!("{error:#}\n{wat}"));
    let workers = Workers::new(jobs, Arc::default()).unwrap();
    let mutator = Mutator::new(Dictionary::default().with_constants_of(target.candidate.bytes()));
    let mut campaign = Campaign::new(Arc::new(target), seed, mutator);
    let signature = |outcome: &Outcome| format!("{outcome:?}");
    campaign.start(&workers, &[], execs, &signature).unwrap();
    while campaign.totals().execs < execs {
        campaign.step(&workers, execs - campaign.totals().execs, &signature).unwrap();
    }
    campaign
}

fn inputs(campaign: &Campaign) -> Vec<Vec<u8>> {
    campaign.corpus().testcases().iter().map(|testcase| testcase.bytes.to_vec()).collect()
}

/// The best score that testcases of a corpus really have.
fn best_score(campaign: &Campaign) -> f64 {
    let mut executor = Executor::new(campaign.target()).unwrap();
    let scores = inputs(campaign).into_iter().map(|input| {
        assert_eq!(executor.run(&input).unwrap(), Outcome::Ok);
        executor.observation().told().targets.iter().map(|(_, score)| *score).fold(f64::NEG_INFINITY, f64::max)
    });
    scores.fold(f64::NEG_INFINITY, f64::max)
}

/// Tells a number as an event, or only computes it.
fn magnitudes(tell: bool) -> String {
    let number = "(call $draw_int (i64.const 0) (i64.const 0x7fffffffffff) (i64.const 0))";
    let what = if tell {
        format!("(call $event (i32.const 0) (i32.const 5) {number})")
    } else {
        format!("(i64.store (i32.const 8) {number})")
    };
    module(&format!("(data (i32.const 0) \"width\") (func (export \"fbx_any\") {what})"))
}

#[test]
fn an_event_of_another_magnitude_is_worth_keeping() {
    let without = campaign(&magnitudes(false), 1, 1, 5_000);
    assert_eq!(without.corpus().testcases().len(), 1, "there is one way through the code");
    let with = campaign(&magnitudes(true), 1, 1, 5_000);
    // 0, and a number of each width.
    assert_eq!(with.corpus().testcases().len(), 48);
    assert_eq!(with.corpus().seen().edges(), without.corpus().seen().edges(), "events are no edges");
}

#[test]
fn events_are_features_in_every_variant_and_for_any_number_of_jobs() {
    // Half of the events follow from one another, so that many testcases are kept one after the other.
    let wat = module(
        "(data (i32.const 0) \"abcdefgh\")
        (func (export \"fbx_any\") (local $i i32) (local $sum i64)
            (loop $again
                (local.set $sum
                    (i64.add
                        (i64.mul (local.get $sum) (i64.const 3))
                        (call $draw_int (i64.const -9) (i64.const 99) (i64.const 0))))
                (call $event (local.get $i) (i32.const 1) (local.get $sum))
                (local.set $i (i32.add (local.get $i) (i32.const 1)))
                (br_if $again (i32.lt_u (local.get $i) (i32.const 8)))))",
    );
    let one = campaign(&wat, 5, 1, 60_000);
    assert!(one.corpus().testcases().len() > 60, "{}", one.corpus().testcases().len());
    assert_eq!(inputs(&one), inputs(&campaign(&wat, 5, 2, 60_000)));
}

#[test]
fn scores_become_the_same_for_any_number_of_jobs() {
    // A list whose length is drawn first, and two scores that exclude each other.
    let wat = module(
        "(data (i32.const 0) \"sumlow\")
        (func (export \"fbx_list\") (local $n i64) (local $sum i64)
            (local.set $n (call $draw_int (i64.const 0) (i64.const 12) (i64.const 0)))
            (loop $again
                (if (i64.gt_s (local.get $n) (i64.const 0))
                    (then
                        (local.set $n (i64.sub (local.get $n) (i64.const 1)))
                        (local.set $sum
                            (i64.add (local.get $sum) (call $draw_int (i64.const -500) (i64.const 100000) (i64.const 0))))
                        (br $again))))
            (call $target (i32.const 0) (i32.const 3) (f64.convert_i64_s (local.get $sum)))
            (call $target (i32.const 3) (i32.const 3) (f64.neg (f64.convert_i64_s (local.get $sum)))))",
    );
    let one = campaign(&wat, 9, 1, 30_000);
    assert_eq!(inputs(&one), inputs(&campaign(&wat, 9, 2, 30_000)));
    assert_eq!(best_score(&one), 12.0 * 100_000.0);
}

#[test]
fn a_score_that_is_no_number_is_none() {
    let wat = module(
        "(func (export \"fbx_any\")
            (drop (call $draw_int (i64.const 0) (i64.const 1000) (i64.const 0)))
            (call $target (i32.const 0) (i32.const 1) (f64.const nan)))",
    );
    assert_eq!(campaign(&wat, 1, 1, 2_000).corpus().testcases().len(), 1);
}

/// Asks for three features in turns, for the first again, and for one after the other of many.
const FEATURES: &str = "
    (data (i32.const 0) \"abc fuzzbox:report\")
    (func $ask (param $at i32) (param $len i32)
        (call $keyframe (local.get $at)
            (i64.extend_i32_u (call $feature (local.get $at) (local.get $len)))))
    (func (export \"fbx_any\")
        (call $ask (i32.const 0) (i32.const 1))
        (call $ask (i32.const 1) (i32.const 1))
        (call $ask (i32.const 0) (i32.const 1))
        (call $ask (i32.const 4) (i32.const 14))
        (call $ask (i32.const 0) (i32.const 3)))";

#[test]
fn a_feature_is_drawn_once_and_enabled_where_nothing_says_otherwise() {
    for (variant, executor) in executors(&module(FEATURES)).iter_mut().enumerate() {
        let (outcome, trace, told) = run(executor, &indices(&[1, 0, 1]), Rule::default());
        assert_eq!(outcome, Outcome::Ok);
        assert_eq!(told.keyframes, [(0, 0), (1, 1), (0, 0), (4, 0), (0, 0)]);
        assert!(variant == 1 || trace.choices.len() == 3, "{trace:?}");
        assert!(variant == 1 || told.features[1] == ("b".to_owned(), true));
        let (_, _, told) = run(executor, &[], Rule::default());
        assert_eq!(told.keyframes, [(0, 1), (1, 1), (0, 1), (4, 0), (0, 1)]);
        executor.run_reporting(&indices(&[1])).unwrap();
        assert_eq!(executor.observation().told().keyframes, [(0, 0), (1, 1), (0, 0), (4, 1), (0, 1)]);
    }
}

#[test]
fn half_of_random_executions_have_all_features_and_the_others_half_of_them() {
    let mut executor = executors(&module(FEATURES)).remove(1);
    let mut counts = [0; 4];
    for seed in 0..4000 {
        let rule = Rule { tail: Tail::Random { seed, choices: 99 }, ..Rule::default() };
        let told = run(&mut executor, &[], rule).2;
        let [(0, first), (1, second), ..] = told.keyframes[..] else { panic!("{told:?}") };
        counts[(first + 2 * second) as usize] += 1;
    }
    assert!((2300..2700).contains(&counts[3]), "{counts:?}");
    assert!(counts[..3].iter().all(|count| (400..600).contains(count)), "{counts:?}");
}

#[test]
fn features_beyond_the_limit_are_enabled_and_not_drawn() {
    let wat = module(
        "(func (export \"fbx_any\") (local $i i32)
            (loop $again
                (i32.store (i32.const 0) (local.get $i))
                (call $keyframe (local.get $i)
                    (i64.extend_i32_u (call $feature (i32.const 0) (i32.const 4))))
                (local.set $i (i32.add (local.get $i) (i32.const 1)))
                (br_if $again (i32.lt_u (local.get $i) (i32.const 130)))))",
    );
    for (variant, executor) in executors(&wat).iter_mut().enumerate() {
        let (_, trace, told) = run(executor, &indices(&[1; 200]), Rule::default());
        let on: Vec<u32> = told.keyframes.iter().filter(|(_, enabled)| *enabled == 1).map(|(id, _)| *id).collect();
        assert_eq!(on, [128, 129]);
        assert!(variant == 1 || trace.choices.len() == 128);
    }
}

#[test]
fn a_bug_that_needs_a_feature_to_be_off_is_found() {
    // Fails after 12 pushes without a pop; which of three is done is drawn.
    let wat = module(
        "(data (i32.const 0) \"pushpopx\")
        (func (export \"fbx_stack\") (local $i i32) (local $depth i32) (local $pop i32) (local $x i32)
            (local.set $x (call $feature (i32.const 7) (i32.const 1)))
            (local.set $pop (call $feature (i32.const 4) (i32.const 3)))
            (loop $again
                (if (i32.and (i32.eq (call $draw_choice (i32.const 3) (i32.const 0)) (i32.const 1)) (local.get $pop))
                    (then (local.set $depth (i32.const 0)))
                    (else (local.set $depth (i32.add (local.get $depth) (i32.const 1)))))
                (if (i32.and (i32.gt_u (local.get $depth) (i32.const 40)) (i32.eqz (local.get $pop))) (then unreachable))
                (local.set $i (i32.add (local.get $i) (i32.const 1)))
                (br_if $again (i32.lt_u (local.get $i) (i32.const 64)))))",
    );
    let campaign = campaign(&wat, 1, 1, 2_000);
    assert_eq!(campaign.failures().len(), 1);
}

#[test]
fn a_number_that_the_code_compares_with_is_found() {
    let wat = module(
        "(func (export \"fbx_any\")
            (if (i64.eq
                    (call $draw_int (i64.const 0x8000000000000000) (i64.const 0x7fffffffffffffff) (i64.const 0))
                    (i64.const 0x123456789abcdef))
                (then unreachable)))",
    );
    assert_eq!(campaign(&wat, 1, 1, 10_000).failures().len(), 1);
}
