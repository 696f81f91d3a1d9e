//! What guests tell steers the search: events are features, scores become larger, features are switched off.

use super::{module, settings};
use fuzzbox::engine::{Campaign, Dictionary, Mutator, Workers};
use fuzzbox::sandbox::{Executor, Outcome, Target};
use std::sync::Arc;

/// A campaign of so many executions.
fn campaign(wat: &str, seed: u64, jobs: usize, execs: u64) -> Campaign {
    let target = Target::load(wat.as_bytes(), settings()).unwrap_or_else(|error| panic!("{error:#}\n{wat}"));
    let workers = Workers::new(jobs, Arc::default()).unwrap();
    let mut campaign = Campaign::new(Arc::new(target), seed, Mutator::new(Dictionary::default()));
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

/// To make x * y large where x + y is at most 1000.
const PRODUCT: &str = "
    (data (i32.const 0) \"product\")
    (func (export \"fbx_product\") (local $x i64) (local $y i64)
        (local.set $x (call $draw_int (i64.const 0) (i64.const 1000) (i64.const 0)))
        (local.set $y (call $draw_int (i64.const 0) (i64.const 1000) (i64.const 0)))
        (call $assume (i64.le_s (i64.add (local.get $x) (local.get $y)) (i64.const 1000)))
        (call $target (i32.const 0) (i32.const 7)
            (f64.convert_i64_s (i64.mul (local.get $x) (local.get $y)))))";

#[test]
fn a_product_under_a_bound_comes_within_a_hundredth_of_its_maximum() {
    for seed in 0..20 {
        let campaign = campaign(&module(PRODUCT), seed, 1, 2_000);
        let best = best_score(&campaign);
        assert!(best >= 0.99 * 250_000.0, "seed {seed}: {best}");
    }
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
