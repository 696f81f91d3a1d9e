//! Moves two bytes together, where a check on the way wants something of both: that their sum is what it was, or what
//! one lacks to the other. Neither can be moved alone then; so the alternating variable method moves pairs (as for
//! scores, see [`climb`](super::super::super::climb)).

use super::super::input::places::Dependence;
use super::super::probing::probe::{Probe, Problem, Solution, Step};
use super::super::seen::observed::{Observed, Operands};

/// Bytes that the operand depends on, and bytes of the input, of each of which a pair is made.
const PLACES_MAX: usize = 16;
const INPUT_BYTES_MAX: usize = 48;
/// How often all pairs are moved, if that brings something.
const WALKS: usize = 8;
/// What lacks more is no sum of bytes.
const LACKS_MAX: u64 = 1 << 16;
/// Executions, for one goal.
const EXECS_MAX: u64 = 4096;

/// How many executions [`solve`] is thought to make.
pub(super) fn execs(problem: Problem<'_>) -> u64 {
    let pairs: usize = sides(problem).map(|side| pairs(problem, side).count()).sum();
    (2 * pairs as u64).min(EXECS_MAX)
}

/// Moves pairs as long as the operands come nearer to each other.
pub(super) fn solve(probe: &mut Probe<'_, '_>, problem: Problem<'_>) -> Step<Option<Solution>> {
    let Problem { input, goal, .. } = problem;
    let mut left = EXECS_MAX;
    for side in sides(problem) {
        let (mut best, mut nearest) = (input.to_vec(), lacks(goal, side).unwrap_or_default());
        for _ in 0..WALKS {
            let before = nearest;
            for (pair, is_contrary) in pairs(problem, side).flat_map(|pair| [(pair, true), (pair, false)]) {
                let mut by = first_step(nearest);
                // In steps that halve: after the first that brings something no larger one does.
                while by > 0 && left > 0 {
                    let candidate = moved(&best, pair, (by, nearest > 0, is_contrary));
                    by /= 2;
                    let Some(candidate) = candidate else { continue };
                    left -= 1;
                    match probe.attempt(&candidate, goal)? {
                        Ok(solution) => return Ok(Some(solution)),
                        Err(observed) => {
                            let now = observed.as_ref().and_then(|observed| lacks(observed, side));
                            if let Some(now) = now.filter(|now| now.abs() < nearest.abs()) {
                                (best, nearest) = (candidate, now);
                            }
                        }
                    }
                }
            }
            if nearest == before || left == 0 {
                break;
            }
        }
    }
    Ok(None)
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

/// A place of the operand's, and another one.
fn pairs<'p>(problem: Problem<'p>, side: usize) -> impl Iterator<Item = (usize, usize)> + use<'p> {
    let others = move |place: usize| (0..problem.input.len()).filter(move |&other| other != place);
    places(problem, side).iter().flat_map(move |&place| others(place).map(move |other| (place, other)))
}

/// The largest power of two that is no larger than what is lacked, and that a byte can be moved by.
fn first_step(lacks: i64) -> u8 {
    lacks.unsigned_abs().checked_ilog2().map_or(0, |bits| 1 << bits.min(u8::BITS - 1))
}

/// How much less one side is than the other, if that is not too much.
fn lacks(observed: &Observed, side: usize) -> Option<i64> {
    let Operands::Numbers { ty, sides, .. } = observed.operands else { return None };
    let lacks = ty.change(sides[side], sides[1 - side]);
    (!ty.is_float() && lacks.unsigned_abs() <= LACKS_MAX).then_some(lacks)
}

/// The input with the first byte of a pair made so much larger, or smaller, and the other as the first or contrary to
/// it; `None` if there is no room for that.
fn moved(input: &[u8], (one, other): (usize, usize), (by, up, is_contrary): (u8, bool, bool)) -> Option<Vec<u8>> {
    let add = |byte: u8, up: bool| if up { byte.checked_add(by) } else { byte.checked_sub(by) };
    let mut moved = input.to_vec();
    moved[one] = add(moved[one], up)?;
    moved[other] = add(moved[other], up != is_contrary)?;
    Some(moved)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_no_larger_than_what_is_lacked() {
        assert_eq!([0, 1, -3, 173, -1 << 40].map(first_step), [0, 1, 2, 128, 128]);
    }

    #[test]
    fn two_bytes_are_moved_as_far_as_there_is_room() {
        assert_eq!(moved(&[10, 20], (0, 1), (4, true, true)), Some(vec![14, 16]));
        assert_eq!(moved(&[10, 20], (1, 0), (4, false, false)), Some(vec![6, 16]));
        assert_eq!(moved(&[10, 252], (0, 1), (4, true, false)), None);
        assert_eq!(moved(&[10, 3], (0, 1), (4, true, true)), None);
    }
}
