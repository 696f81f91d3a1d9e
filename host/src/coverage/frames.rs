//! How far executions come on the traces that a campaign follows, as features: each frame that matched is worth
//! reaching as an edge is. Their numbers are behind those of events, [`CELLS`] for each trace, a bucket for each frame.

use super::{Profile, Seen, events};
use crate::sandbox::Observation;
use crate::stream::frames::{FRAMES_MAX, TRACES_MAX};

/// Numbers that a trace's features have: eight frames each.
const CELLS: u32 = FRAMES_MAX as u32 / u8::BITS;

/// Numbers that all of them have.
pub(super) const NUMBERS: u32 = TRACES_MAX as u32 * CELLS;

/// The features of the last execution: for each trace those of all frames that matched.
pub(super) fn of(observation: Observation<'_>) -> impl Iterator<Item = (u32, u8)> {
    let edges = observation.edges_total();
    let reached = observation.reached().into_iter().enumerate();
    reached.flat_map(move |(trace, reached)| (0..reached.frames).map(move |frame| feature(edges, trace, frame)))
}

/// The feature of a trace's frame, in a module with so many edges.
fn feature(edges_total: usize, trace: usize, frame: usize) -> (u32, u8) {
    let start = edges_total as u32 + events::LABELS * events::CELLS;
    let (cell, bit) = (frame as u32 / u8::BITS, frame as u32 % u8::BITS);
    (start + trace as u32 * CELLS + cell, 1 << bit)
}

/// How many features in a row `has` of a trace.
fn reached(edges_total: usize, trace: usize, has: impl Fn(u32, u8) -> bool) -> usize {
    let frames = (0..FRAMES_MAX).map(|frame| feature(edges_total, trace, frame));
    frames.take_while(|&(number, bucket)| has(number, bucket)).count()
}

impl Seen {
    /// How many frames of a trace matched in some execution.
    pub fn frames(&self, trace: usize) -> usize {
        reached(self.edges_total, trace, |number, bucket| self.has(number, bucket))
    }
}

impl Profile {
    /// How many frames of a trace matched, in a module with so many edges.
    pub fn frames(&self, edges_total: usize, trace: usize) -> usize {
        reached(edges_total, trace, |number, bucket| self.0.binary_search(&(number, bucket)).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coverage::start_beside;

    #[test]
    fn frames_have_numbers_of_their_own_behind_events() {
        let all: Vec<_> = [0, 1, TRACES_MAX - 1]
            .into_iter()
            .flat_map(|trace| (0..FRAMES_MAX).map(move |frame| feature(9, trace, frame)))
            .collect();
        assert!(all.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(all.iter().all(|&(number, _)| number >= 9 + events::LABELS * events::CELLS));
        assert_eq!(all.last(), Some(&(start_beside(9) - 1, 128)));
    }

    #[test]
    fn what_was_reached_is_told_by_trace() {
        let profile = Profile((0..10).map(|frame| feature(3, 2, frame)).collect());
        assert_eq!([1, 2, 3].map(|trace| profile.frames(3, trace)), [0, 10, 0]);
        let mut seen = Seen::nothing(3);
        assert_eq!((seen.add(&profile), seen.frames(2), seen.frames(0)), (Vec::new(), 10, 0));
    }
}
