//! What holds for every shrink.

use super::challenges::{ALL, Challenge};
use super::protocol::{Drawn, Native, Source};
use crate::engine::Rng;
use crate::engine::shrink::{Certificate, Limits, Order, Shrunk, Tail, Verdict, shrink};
use crate::stream::{Choice, shortlex};
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

fn shrunk(native: &Native, first: &[Choice], limits: Limits) -> Shrunk {
    shrink(native, first, limits).unwrap().expect("it fails")
}

/// Enough for laws; the finish takes most of the time.
fn limits() -> Limits {
    Limits { exhaustive_max: 300, explain_max: 30, ..Limits::default() }
}

fn native(challenge: &Challenge) -> Native {
    Native::new(challenge.property, "fail")
}

#[test]
fn shrinking_never_grows_and_a_second_time_changes_nothing() {
    for challenge in &ALL {
        let native = native(challenge);
        for seed in 200..210 {
            let first = native.find(seed);
            let once = shrunk(&native, &first, limits());
            assert!(once.report.is_fixed_point, "{} {seed}: {:?}", challenge.name, once.report);
            assert!(shortlex(&once.trace.choices, &first).is_le());
            let (attempt, _) = native.run(&Order { choices: once.trace.choices.clone(), tail: Tail::Zero });
            assert_eq!((attempt.verdict, &attempt.trace.choices), (Verdict::Same, &once.trace.choices));
            let twice = shrunk(&native, &once.trace.choices, limits());
            assert_eq!(twice.trace, once.trace, "{} {seed}", challenge.name);
            assert!(twice.report.passes.values().all(|pass| pass.successes == 0));
        }
    }
}

#[test]
fn a_shrink_that_was_cut_short_has_not_grown_either() {
    for challenge in &ALL {
        let native = native(challenge);
        for execs_max in [0, 1, 10, 30] {
            let first = native.find(300 + execs_max);
            let cut = shrunk(&native, &first, Limits { execs_max, ..limits() });
            assert!(cut.report.evaluations <= execs_max);
            assert!(!cut.report.is_fixed_point || execs_max > 4);
            assert!(shortlex(&cut.trace.choices, &first).is_le());
        }
    }
}

#[test]
fn the_number_of_threads_changes_nothing_but_the_time() {
    for challenge in &ALL {
        for seed in 400..403 {
            let first = native(challenge).find(seed);
            let run = |jobs| {
                let mut native = native(challenge);
                native.jobs = jobs;
                let shrunk = shrunk(&native, &first, limits());
                (shrunk.trace, shrunk.report, shrunk.slips, native.executed.load(Ordering::Relaxed))
            };
            let one = run(1);
            for jobs in [2, 8] {
                let many = run(jobs);
                assert_eq!((&many.0, &many.1, &many.2), (&one.0, &one.1, &one.2), "{} {seed}", challenge.name);
                assert!(many.3 >= one.3, "what is asked for is executed");
            }
        }
    }
}

/// Fails in one way with a sum above 1000, in another if there are five elements or more.
fn two_bugs(source: &mut Source) -> Drawn<()> {
    let list = source.list(10, |source| source.int(1, 0, 1000, 0))?;
    source.check(list.len() < 5, "long")?;
    source.check(list.iter().sum::<i64>() <= 1000, "sum")
}

#[test]
fn another_failure_is_a_slip_and_is_kept_with_what_shows_it() {
    let native = Native::new(two_bugs, "sum");
    let mut slips = 0;
    for seed in 0..20 {
        let shrunk = shrunk(&native, &native.find(seed), limits());
        assert_eq!(shrunk.trace.choices, [1, 1, 1, 1000, 0].map(Choice::Index));
        for (signature, choices) in &shrunk.slips {
            slips += 1;
            let (attempt, _) = native.run(&Order { choices: choices.clone(), tail: Tail::Zero });
            assert_eq!(attempt.verdict, Verdict::Slip(signature.clone()));
        }
    }
    // Zeroing a short list can't show the other failure, raising it can't happen: some slips come from the finish.
    let native = Native::new(two_bugs, "long");
    for seed in 0..20 {
        let shrunk = shrunk(&native, &native.find(seed), limits());
        assert_eq!(shrunk.trace.choices.len(), 11);
        slips += shrunk.slips.len();
        assert!(shrunk.slips.keys().all(|signature| signature == "sum"));
    }
    assert!(slips > 0);
}

/// A list must have an element in each of some intervals: the smallest has the lower ends, ascending.
#[test]
fn random_properties_reach_their_known_minimum() {
    for seed in 0..60 {
        let mut rng = Rng::of_task(seed, 7, 7);
        let mut ends: BTreeSet<i64> = BTreeSet::new();
        while ends.len() < 2 * (1 + seed as usize % 5) {
            ends.insert(1 + rng.below(1000) as i64);
        }
        let ends: Vec<_> = ends.into_iter().collect();
        let expected: Vec<_> =
            ends.chunks(2).flat_map(|pair| [1, pair[0] as u64]).chain([0]).map(Choice::Index).collect();
        let property = move |source: &mut Source| {
            let list = source.list(10, |source| source.int(1, 0, 1000, 0))?;
            let is_hit = |pair: &[i64]| list.iter().any(|value| (pair[0]..pair[1]).contains(value));
            source.check(!ends.chunks(2).all(is_hit), "fail")
        };
        let native = Native::new(property, "fail");
        // Too rare to be found at random: padded with all there is, out of order.
        let mut first: Vec<_> = (0..=1000).flat_map(|value| [1, value * 617 % 1001]).map(Choice::Index).collect();
        first.push(Choice::ZERO);
        let shrunk = shrunk(&native, &first, Limits { exhaustive_max: 0, ..limits() });
        assert_eq!(shrunk.trace.choices, expected, "{seed}");
    }
}

#[test]
fn what_is_thrown_away_is_removed() {
    let native = Native::new(
        |source| {
            let mut kept = Vec::new();
            for _ in 0..3 {
                // Draws until it gets something odd.
                loop {
                    let value = source.flagged_span(50, |source| {
                        let value = source.int(1, 0, 100, 0)?;
                        Ok((value, value % 2 == 0))
                    })?;
                    if value % 2 == 1 {
                        kept.push(value);
                        break;
                    }
                }
            }
            source.check(kept.iter().sum::<i64>() < 9, "fail")
        },
        "fail",
    );
    for seed in 0..30 {
        let shrunk = shrunk(&native, &native.find(seed), limits());
        assert_eq!(shrunk.trace.choices, [1, 1, 7].map(Choice::Index), "{seed}");
    }
}

#[test]
fn parts_that_do_not_matter_are_named() {
    let native = Native::new(
        |source| {
            let _ = source.int(1, 0, 1000, 0)?;
            let limit = source.int(2, 0, 1000, 0)?;
            let _ = source.span(60, |source| Ok((source.int(3, 0, 1000, 0)?, source.bool(4)?)))?;
            let list = source.list(10, |source| source.int(1, 0, 1000, 0))?;
            source.check(limit < 17 || list.is_empty(), "fail")
        },
        "fail",
    );
    let limits = Limits { explain_max: 500, ..limits() };
    let shrunk = shrunk(&native, &native.find(1), limits);
    assert_eq!(shrunk.trace.choices, [0, 17, 0, 0, 1, 0, 0].map(Choice::Index));
    // All but the limit, and that there is an element.
    assert_eq!(shrunk.report.free, [0..1, 2..4, 5..6, 6..7]);
}

#[test]
fn blobs_among_choices_are_shrunk_too() {
    let native = Native::new(
        |source| {
            let a = source.bytes(6, 2, 40)?;
            let number = source.int(1, 0, 1000, 0)?;
            let b = source.bytes(7, 0, 40)?;
            let is_in_both = a.iter().any(|byte| *byte > 9 && b.contains(byte));
            source.check(!is_in_both || number < 5, "fail")
        },
        "fail",
    );
    for seed in 0..20 {
        let shrunk = shrunk(&native, &native.find(seed), limits());
        assert_eq!(
            shrunk.trace.choices,
            [Choice::Blob(vec![0, 10]), Choice::Index(5), Choice::Blob(vec![10])],
            "{seed}"
        );
    }
}

#[test]
fn what_is_certified_is_true() {
    // Positions in a list of at most three: all streams can be tried by other means.
    let native = Native::new(
        |source| {
            let list = source.list(10, |source| source.int(1, 0, 2, 0))?;
            source.assume(list.len() <= 3)?;
            source.check(list.iter().sum::<i64>() != 4, "fail")
        },
        "fail",
    );
    let shrunk = shrunk(&native, &native.find(3), Limits::default());
    assert_eq!(shrunk.report.certificate, Certificate::Minimal);
    assert_eq!(shrunk.trace.choices, [1, 2, 1, 2, 0].map(Choice::Index));
    // After a larger number the guest might draw less, and not all numbers can be tried.
    let wide = Native::new(
        |source| {
            let a = source.int(1, 0, i64::MAX, 0)?;
            let b = source.choice(2, 4)?;
            let _ = if b == 3 { 0 } else { source.int(3, 0, i64::MAX, 0)? };
            source.check(a < 3 || b < 3, "fail")
        },
        "fail",
    );
    let shrunk = self::shrunk(&wide, &wide.find(1), Limits::default());
    assert_eq!(shrunk.trace.choices, [3, 3].map(Choice::Index));
    assert_eq!(shrunk.report.certificate, Certificate::MinimalInShape);
}

#[test]
fn what_does_not_fail_is_not_shrunk() {
    let native = Native::new(two_bugs, "sum");
    assert!(shrink(&native, &[], Limits::default()).unwrap().is_none());
}
