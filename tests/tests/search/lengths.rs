//! Campaigns find which numbers count other bytes, and keep them true: quality goals, each a guest, an input that it takes,
//! and a number of executions. `tests/guests/lengths` has the guests' sources.

use crate::goals::{Goal, assert_reached, assert_same_by_jobs};

const GOALS: [Goal<'_>; 4] = [
    ("tags", b"\x30\0\x0f\xa1\0\x0c\x0c\0\x03key\x0c\0\x03red", 500_000, 3),
    ("boxes", b"\0\0\0\x0chead\0\0\0\0\0\0\0\x18list\0\0\0\x02\0\0\0\x01ab\0\0\0\x02cd", 1_000_000, 3),
    ("directory", b"\x23\0\0\0\x02\0\0\0\x18\0\0\0\x05\0\0\0\x1d\0\0\0\x06\0\0\0firstsecond", 100_000, 3),
    ("words", b"\x80\xca\0\x02\x04text\0\0\0\x80\xcb\0\0", 1_000_000, 3),
];

#[test]
fn what_lengths_are_around_is_reached() {
    assert_reached("lengths", &GOALS);
}

#[test]
fn lengths_are_the_same_ones_with_any_number_of_workers() {
    for (name, input, ..) in [GOALS[0], GOALS[2]] {
        assert_same_by_jobs(&format!("lengths/{name}"), input, 100_000);
    }
}
