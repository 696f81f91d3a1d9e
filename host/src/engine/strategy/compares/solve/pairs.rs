//! Moves two bytes together, where a check on the way wants something of both: that their sum is what it was, or what
//! one lacks to the other. Neither can be moved alone then; so the alternating variable method moves pairs (as for
//! scores, see [`climb`](super::super::super::climb)). Where these have no room, because bytes are to be in order, two
//! runs of bytes of the same length are.

use super::super::input::places::Dependence;
use super::super::probing::probe::{Probe, Problem, Solution, Step};
use super::super::seen::observed::Observed;
use std::ops::Range;

/// Bytes that the operand depends on, and bytes of the input, of each of which a pair is made.
const PLACES_MAX: usize = 16;
const INPUT_BYTES_MAX: usize = 48;
/// How often all pairs are moved, if that brings something.
const WALKS: usize = 8;
/// Bytes of runs that are moved.
const RUN_BYTES_MAX: usize = 6;
/// What lacks more is no sum of bytes.
const LACKS_MAX: u64 = 1 << 16;
/// Executions, for one goal.
const EXECS_MAX: u64 = 4096;

/// How many executions [`solve`] is thought to make.
pub(super) fn execs(problem: Problem<'_>) -> u64 {
    let pairs: usize = sides(problem).map(|side| pairs(problem, side, 1).count()).sum();
    (2 * pairs as u64).min(EXECS_MAX)
}

/// Moves pairs as long as the operands come nearer to each other.
pub(super) fn solve(probe: &mut Probe<'_, '_>, problem: Problem<'_>) -> Step<Option<Solution>> {
    let Problem { input, goal, .. } = problem;
    let mut left = EXECS_MAX;
    for side in sides(problem) {
        let (best, nearest) = (input.to_vec(), lacks(goal, side).unwrap_or_default());
        let mut search = Search { probe, problem, side, best, nearest, left: &mut left };
        for _ in 0..WALKS {
            let before = search.nearest;
            // Longer runs only where shorter ones have no room.
            for bytes in 1..=RUN_BYTES_MAX {
                if let Some(solution) = search.walk(bytes)? {
                    return Ok(Some(solution));
                }
                if search.nearest != before {
                    break;
                }
            }
            if search.nearest == before || *search.left == 0 {
                break;
            }
        }
    }
    Ok(None)
}

/// Moves pairs of an input, one after the other.
struct Search<'s, 'r, 'a, 'p> {
    probe: &'s mut Probe<'r, 'a>,
    problem: Problem<'p>,
    /// The one of the goal's that is to come nearer.
    side: usize,
    best: Vec<u8>,
    /// How much the side lacks there.
    nearest: i64,
    /// Executions that are left for the goal.
    left: &'s mut u64,
}

impl Search<'_, '_, '_, '_> {
    /// Moves all pairs of runs of so many bytes.
    fn walk(&mut self, bytes: usize) -> Step<Option<Solution>> {
        let Self { problem, side, .. } = *self;
        let ways = if bytes == 1 { &[true, false][..] } else { &[true] };
        for pair in pairs(problem, side, bytes) {
            for &is_contrary in ways {
                let mut by = first_step(self.nearest);
                // In steps that halve: after the first that brings something no larger one does.
                while by > 0 && *self.left > 0 {
                    let candidate = moved(&self.best, &pair, (by, self.nearest > 0, is_contrary));
                    by /= 2;
                    let Some(candidate) = candidate else { continue };
                    *self.left -= 1;
                    match self.probe.attempt(&candidate, problem.goal)? {
                        Ok(solution) => return Ok(Some(solution)),
                        Err(observed) => {
                            let now = observed.as_ref().and_then(|observed| lacks(observed, side));
                            if let Some(now) = now.filter(|now| now.abs() < self.nearest.abs()) {
                                (self.best, self.nearest) = (candidate, now);
                            }
                        }
                    }
                }
            }
        }
        Ok(None)
    }
}

/// The sides that are moved.
fn sides(problem: Problem<'_>) -> impl Iterator<Item = usize> {
    let fits = move |side: &usize| {
        let places = places(problem, *side).len();
        (1..=PLACES_MAX).contains(&places) && problem.input.len() <= INPUT_BYTES_MAX
    };
    (0..2).filter(move |side| fits(side) && lacks(problem.goal, *side).is_some())
}

/// The places of a side; where each leads away by itself, those that do.
fn places(problem: Problem<'_>, side: usize) -> &[usize] {
    let Dependence { sides, away, .. } = problem.dependence;
    if side == 0 && sides.iter().all(Vec::is_empty) { away } else { &sides[side] }
}

/// Runs of so many bytes: one with a place of the operand's at one of its ends, and another one.
fn pairs<'p>(problem: Problem<'p>, side: usize, bytes: usize) -> impl Iterator<Item = [Range<usize>; 2]> + use<'p> {
    let runs = (problem.input.len() + 1).saturating_sub(bytes);
    let others = move |start: usize| (0..runs).filter(move |&other| other.abs_diff(start) >= bytes);
    let starts = move |place: usize| {
        let ending = (bytes > 1).then(|| (place + 1).checked_sub(bytes)).flatten();
        [Some(place), ending].into_iter().flatten().filter(move |&start| start < runs)
    };
    let pairs = move |start: usize| others(start).map(move |other| [start..start + bytes, other..other + bytes]);
    places(problem, side).iter().flat_map(move |&place| starts(place).flat_map(pairs))
}

/// The largest power of two that is no larger than what is lacked, and that a byte can be moved by.
fn first_step(lacks: i64) -> u8 {
    lacks.unsigned_abs().checked_ilog2().map_or(0, |bits| 1 << bits.min(u8::BITS - 1))
}

/// How much less one side is than the other, if that is not too much.
fn lacks(observed: &Observed, side: usize) -> Option<i64> {
    observed.operands.lacks(side).filter(|lacks| lacks.unsigned_abs() <= LACKS_MAX)
}

/// The input with each byte of a pair's first run made so much larger, or smaller, and those of the other as these or
/// contrary to them; `None` if there is no room for that.
fn moved(input: &[u8], [one, other]: &[Range<usize>; 2], (by, up, is_contrary): (u8, bool, bool)) -> Option<Vec<u8>> {
    let add = |byte: u8, up: bool| if up { byte.checked_add(by) } else { byte.checked_sub(by) };
    let mut moved = input.to_vec();
    for (run, up) in [(one, up), (other, up != is_contrary)] {
        for byte in &mut moved[run.clone()] {
            *byte = add(*byte, up)?;
        }
    }
    Some(moved)
}

#[cfg(test)]
mod tests {
    use super::super::super::seen::observed::tests::compare;
    use super::*;

    #[test]
    fn steps_are_no_larger_than_what_is_lacked() {
        assert_eq!([0, 1, -3, 173, -1 << 40].map(first_step), [0, 1, 2, 128, 128]);
    }

    #[test]
    fn runs_begin_or_end_with_the_place_and_leave_each_other_alone() {
        let goal = compare(1, 2, 3);
        let dependence = Dependence { sides: [vec![2], Vec::new()], ..Dependence::default() };
        let problem = Problem { input: &[0; 5], goal: &goal, dependence: &dependence };
        let starts = |bytes| pairs(problem, 0, bytes).map(|[one, other]| (one.start, other.start)).collect::<Vec<_>>();
        assert_eq!(starts(1), [(2, 0), (2, 1), (2, 3), (2, 4)]);
        assert_eq!(starts(2), [(2, 0), (1, 3)]);
        assert_eq!(starts(3), []);
    }

    #[test]
    fn two_bytes_are_moved_as_far_as_there_is_room() {
        assert_eq!(moved(&[10, 20], &[0..1, 1..2], (4, true, true)), Some(vec![14, 16]));
        assert_eq!(moved(&[10, 20], &[1..2, 0..1], (4, false, false)), Some(vec![6, 16]));
        assert_eq!(moved(&[10, 252], &[0..1, 1..2], (4, true, false)), None);
        assert_eq!(moved(&[10, 3], &[0..1, 1..2], (4, true, true)), None);
        assert_eq!(moved(&[1, 2, 20, 30], &[0..2, 2..4], (4, true, true)), Some(vec![5, 6, 16, 26]));
    }
}
