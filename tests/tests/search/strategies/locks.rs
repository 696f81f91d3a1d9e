//! A lock with six keys, each of which is a new edge: in how many executions it opens. And what others can better.

use super::{deceptive, lock, median, percentile, searched_by, seeds, word};
use fuzzbox::engine::Workers;
use fuzzbox::sandbox::Target;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Executions of each campaign, at most.
const EXECS: u64 = 100_000;

/// The executions after which a guest fails, by seed.
fn opened(target: &Arc<Target>, workers: &Workers, strategy: &str, seeds: u64, execs: u64) -> Vec<u64> {
    let open = |seed| {
        let campaign = searched_by(workers, target, strategy, seed, execs, true);
        campaign.failures().next().map_or(execs, |failure| failure.execs)
    };
    (1..=seeds).map(open).collect()
}

/// The median of the executions after which a guest fails, by strategy; 30 seeds are what is promised.
fn medians(target: Arc<Target>, strategies: &[&'static str]) -> BTreeMap<&'static str, u64> {
    let workers = Workers::new(1, Arc::default()).unwrap();
    let seeds = seeds("FUZZBOX_LOCK_SEEDS", 7);
    let median = |&strategy: &&'static str| (strategy, median(opened(&target, &workers, strategy, seeds, EXECS)));
    strategies.iter().map(median).collect()
}

#[test]
fn who_looks_for_what_is_rare_opens_the_lock_first() {
    // Modelled, without and with a way back: pqcorpus 3.8k, 3.3k; qcorpus 11.4k, 15.3k; corpus 15.3k, 12.4k; fuzz 28k,
    // 29k; bytes 84k; fuzz to the letter and quickcheck never.
    for reset in [false, true] {
        let execs = medians(lock(reset), &["pqcorpus", "qcorpus", "corpus", "fuzz"]);
        println!("reset {reset}: {execs:?}");
        // By 30 seeds 0.21 and 0.31 times as many.
        assert!(execs["pqcorpus"] * 10 <= execs["qcorpus"] * 6, "{execs:?}");
        assert!(execs["qcorpus"].max(execs["corpus"]) <= execs["fuzz"], "{execs:?}");
    }
}

#[test]
fn who_is_visited_finds_soon_what_a_visitor_does() {
    // Each visitor has a sixth of all executions at first.
    for (visitor, target) in [("pqcorpus", lock(false)), ("quickcheck", word())] {
        let execs = medians(target, &["auto", "fuzz", visitor]);
        println!("{execs:?}");
        assert!(execs["auto"] <= 20_000.max(12 * execs[visitor]) && execs["auto"] * 2 <= execs["fuzz"], "{execs:?}");
    }
}

#[test]
#[ignore = "takes minutes"]
fn who_knows_nothing_of_draws_or_forgets_where_it_was_takes_longer() {
    for reset in [false, true] {
        let execs = medians(lock(reset), &["fuzz", "bytes", "fuzz-literal"]);
        println!("reset {reset}: {execs:?}");
        assert!(execs["fuzz"] * 10 <= execs["bytes"] * 6, "{execs:?}");
        assert_eq!(execs["fuzz-literal"], EXECS, "it forgets where it was");
    }
}

#[test]
fn nobody_opens_the_lock_by_chance() {
    // A million executions by 30 seeds are what is promised.
    let (execs, workers) = (seeds("FUZZBOX_LOCK_CHANCE_EXECS", EXECS), Workers::new(1, Arc::default()).unwrap());
    for reset in [false, true] {
        let opened = opened(&lock(reset), &workers, "quickcheck", seeds("FUZZBOX_LOCK_CHANCE_SEEDS", 1), execs);
        assert!(opened.iter().all(|&after| after == execs), "{opened:?}");
    }
}

#[test]
fn walks_open_it_too_and_so_does_who_begins_again() {
    // Modelled for one walk: 197k. Here eight go on at once.
    let walks = ["mcmc", "mcmc:bayes", "mcmc:decay", "mcmc:hastings", "mcmc:hype"];
    let others = ["pqcorpus", "pqcorpus+restarts", "pqcorpus+anneal"];
    let execs = medians(lock(false), &[&walks[..], &others].concat());
    println!("{execs:?}");
    assert!(walks.iter().all(|walk| execs[walk] <= EXECS / 2), "{execs:?}");
    // What begins again costs 2.2 times as much at most.
    assert!(execs["pqcorpus+restarts"] * 10 <= execs["pqcorpus"] * 22, "{execs:?}");
}

#[test]
#[ignore = "takes minutes"]
fn who_begins_again_is_not_led_away_for_ever() {
    // By 20 seeds: median 55,651 and 24,147, 95th percentile 343,891 and 132,161. Of that three times as fast is what
    // is asked, by 40 seeds; 2.6 times it is, and 1.7 times by 40 seeds where one draw of 1,024 reaches a rung and one
    // pair of draws in 4,096 is the bug.
    const LED_AWAY_EXECS: u64 = 1_000_000;
    let (target, workers) = (deceptive(), Workers::new(1, Arc::default()).unwrap());
    let seeds = seeds("FUZZBOX_DECEPTIVE_SEEDS", 20);
    let [alone, restarted] = ["pqcorpus", "pqcorpus+restarts"].map(|strategy| {
        let execs = opened(&target, &workers, strategy, seeds, LED_AWAY_EXECS);
        let figures = [50, 95].map(|hundredths| percentile(execs.clone(), hundredths));
        println!("{strategy}: median and 95th percentile {figures:?}");
        figures
    });
    assert!(restarted[1] * 2 <= alone[1], "{alone:?} {restarted:?}");
    assert!(restarted[0] * 10 <= alone[0] * 22, "{alone:?} {restarted:?}");
}
