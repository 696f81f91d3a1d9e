//! Campaigns come nearer to what no place of an input leads to: how deep and how often something is in it. Quality
//! goals, each a guest and a number of executions from a newline. `tests/guests/nearness` has the guests' sources.

use crate::goals::search;

/// Guests, and in how many executions a campaign finds what they hide, for all of the seeds.
const GOALS: [(&str, u64); 2] = [("nested", 2_500_000), ("tally", 2_000_000)];

#[test]
fn what_no_place_leads_to_is_reached() {
    let mut missed = Vec::new();
    for (name, execs) in GOALS {
        for seed in 1..=3 {
            let campaign = search(&format!("nearness/{name}"), b"\n", (seed, 1), execs, true);
            println!("{name}, seed {seed}: {} in {}", campaign.failures().len(), campaign.totals().execs);
            if campaign.failures().len() == 0 {
                missed.push((name, seed));
            }
        }
    }
    assert!(missed.is_empty(), "{missed:?}");
}

#[test]
fn what_comes_near_is_the_same_with_any_number_of_workers() {
    let [one, two, five] = [1, 2, 5].map(|jobs| search("nearness/machine", b"\n", (7, jobs), 300_000, false));
    for other in [two, five] {
        assert_eq!(one.corpus().hash(), other.corpus().hash());
        assert_eq!(one.totals(), other.totals());
    }
}
