//! Campaigns come nearer to what no place of an input leads to: how deep and how often something is in it. Quality
//! goals, each a guest and a number of executions from a newline. `tests/guests/nearness` has the guests' sources.

use crate::goals::{Goal, assert_reached, assert_same_by_jobs};

/// Of twelve seeds eight or nine find the first in this.
const GOALS: [Goal<'_>; 2] = [("nested", b"\n", 2_500_000, 2), ("tally", b"\n", 2_000_000, 3)];

#[test]
fn what_no_place_leads_to_is_reached() {
    assert_reached("nearness", &GOALS);
}

#[test]
fn what_comes_near_is_the_same_with_any_number_of_workers() {
    assert_same_by_jobs("nearness/machine", b"\n", 300_000);
}
