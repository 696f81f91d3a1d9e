//! What is executed first, and what is never executed.

use super::figures::{Section, figure, promised};
use super::{guest, searched};
use fuzzbox::sandbox::Target;
use fuzzbox::settings::Settings;
use std::sync::Arc;

#[test]
fn what_is_rejected_at_its_first_choice_is_executed_once() {
    // One alternative of ten may go on, with a million ways.
    let target = guest(
        r#"(func (export "fbx_rejects") (local $n i32)
            (call $assume (i32.eq (call $choice (i32.const 10) (i32.const 0)) (i32.const 7)))
            (loop $again
                (drop (call $choice (i32.const 10) (i32.const 0)))
                (local.set $n (i32.add (local.get $n) (i32.const 1)))
                (br_if $again (i32.lt_u (local.get $n) (i32.const 6)))))"#,
    );
    for strategy in ["enumerate", "tree:explore"] {
        let campaign = searched(&target, strategy, 1, 1, 2000, false);
        // One for each that is rejected, and the empty stream that all campaigns begin with.
        let rejected = campaign.totals().rejected;
        figure(
            Section::Random,
            &format!("rejected at the first of ten, `{strategy}`"),
            "at most 11",
            &rejected.to_string(),
        );
        assert_eq!(rejected, 10, "{strategy}");
    }
    let campaign = searched(&target, "quickcheck", 1, 1, 2000, false);
    assert!(campaign.totals().rejected > 1700);
}

#[test]
fn bytes_are_executed_by_length() {
    let module = r#"(module (memory (export "memory") 1)
        (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32)
            (if (i32.lt_u (local.get 1) (i32.const 2)) (then (return (i32.const 0))))
            (if (i32.eq (i32.load16_u (local.get 0)) (i32.const 0x6261)) (then unreachable))
            (i32.const 0)))"#;
    let target = Arc::new(Target::load(module.as_bytes(), Settings::default()).unwrap());
    let campaign = searched(&target, "enumerate", 1, 2, 100_000, true);
    let failure = campaign.failures().next().expect("all inputs of two bytes are executed");
    assert_eq!(&failure.input[..], b"ab");
    // 1 of no byte, 256 of one, and up to 65,536 of two.
    assert!(campaign.totals().execs < 66_000);
}

/// Draws a leaf with a probability of a third, else two trees.
fn trees() -> Arc<Target> {
    guest(
        r#"(func $tree (export "fbx_tree")
            (if (call $choice (i32.const 3) (i32.const 0)) (then (call $tree) (call $tree))))"#,
    )
}

#[test]
fn generators_end_that_would_not_end_by_themselves() {
    // Half of all runs go on for ever (extinction 1/3 by 2/3; 0.5095 of 2,000 modelled ones ended).
    let campaign = searched(&trees(), "quickcheck", 1, 1, 10_000, false);
    let totals = campaign.totals();
    let ours = format!("{} of {}", totals.execs - totals.overruns - totals.rejected, totals.execs);
    figure(Section::Random, "trees that end, of which half would not", "all of 10,000", &ours);
    assert_eq!((totals.overruns, totals.rejected), (0, 0), "{totals:?}");
}

#[test]
fn small_inputs_stay_as_likely_as_they_were() {
    // Trees with fewer than four leaves have at most five draws.
    let small = |execs| {
        let campaign = searched(&trees(), "quickcheck", 1, 1, execs, false);
        campaign.tally().filter(|(input, _)| input.len() <= 5).map(|(_, count)| count).sum::<u64>()
    };
    let counts = [1_000, 10_000, 20_000].map(small);
    let (early, late) = (counts[0] as f64 / 1e3, (counts[2] - counts[1]) as f64 / 1e4);
    println!("{early:.3}, then {late:.3}");
    // Three standard deviations of the first thousand.
    assert!((early - late).abs() < 0.05, "{early} {late}");
}

#[test]
#[ignore = "takes minutes"]
fn walks_leave_small_inputs_behind() {
    let execs = promised(20_000, 100_000);
    let share = |strategy, first: u64, last: u64| {
        let small = |execs| {
            let campaign = searched(&trees(), strategy, 1, 1, execs, false);
            campaign.tally().filter(|(input, _)| input.len() <= 5).map(|(_, count)| count).sum::<u64>()
        };
        (small(last) - if first == 0 { 0 } else { small(first) }) as f64 / (last - first) as f64
    };
    let part = execs / 10;
    let (early, late) = (share("walkers", 0, part), share("walkers", execs - part, execs));
    println!("{early:.4}, then {late:.4}");
    let told = |early: f64, late: f64| format!("{:.2}, then {:.2}", 100.0 * early, 100.0 * late);
    let what = "percent with fewer than four leaves, first and last tenth of 100,000";
    figure(Section::Random, &format!("{what}, `walkers`"), "a tenth or less", &told(early, late));
    assert!(early >= 10.0 * late, "{early} {late}");
    let (early, late) = (share("quickcheck", 0, part), share("quickcheck", execs - part, execs));
    println!("{early:.4}, then {late:.4}");
    figure(Section::Random, &format!("{what}, `quickcheck`"), "within 2", &told(early, late));
    // Two points, or three standard deviations of fewer executions.
    assert!((early - late).abs() < 0.02_f64.max(3.0 * (0.5 / part as f64).sqrt()), "{early} {late}");
}
