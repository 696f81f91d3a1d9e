//! Floats of 128 bits, which are compared by functions: `long double` in C for WebAssembly. One of them is less than
//! the other, or equal, or greater.

use super::super::input::encodings::near;
use super::super::input::once;
use super::super::probing::probe::{Probe, Problem, Solution, Step};
use super::super::seen::float128::{SIGN, double, key};
use super::super::seen::number::Number;
use super::super::seen::observed::Operands;
use super::numbers;
use std::cmp::Ordering;
use std::ops::Range;

/// Bytes that one takes.
const BYTES: usize = 16;
/// So many runs of places are tried.
const RUNS_MAX: usize = 4;

/// Those that are next to one in order, and itself: the one first that is `wanted` of it.
fn neighbours(bits: u128, wanted: Ordering) -> [u128; 3] {
    let next = |by: i128| {
        let key = key(bits).saturating_add(by);
        key.unsigned_abs() | if key < 0 { SIGN } else { 0 }
    };
    match wanted {
        Ordering::Less => [next(-1), bits, next(1)],
        Ordering::Equal => [bits, next(-1), next(1)],
        Ordering::Greater => [next(1), bits, next(-1)],
    }
}

/// Tries what is likely: the other one, or one next to it, in the places that one depends on; else the same as a double
/// in all encodings.
pub(super) fn solve(probe: &mut Probe<'_, '_>, problem: Problem<'_>) -> Step<Option<Solution>> {
    let Problem { input, goal, dependence } = problem;
    let Operands::Quads { wanted, sides } = goal.operands else { return Ok(None) };
    for side in 0..2 {
        let wanted = if side == 0 { wanted } else { wanted.reverse() };
        let other = sides[1 - side];
        for run in dependence.runs(side).into_iter().take(RUNS_MAX) {
            let mut candidates = Vec::new();
            for value in neighbours(other, wanted) {
                candidates.extend(written(input, &run, value));
            }
            if let Some(solution) = probe.first(candidates, goal)? {
                return Ok(Some(solution));
            }
            let mut candidates = Vec::new();
            for value in near(Number::F64, double(other).to_bits()) {
                numbers::replaced(input, run.clone(), (Number::F64, value), &mut candidates);
            }
            if let Some(solution) = probe.first(candidates, goal)? {
                return Ok(Some(solution));
            }
        }
    }
    Ok(None)
}

/// A float written where the places begin, and where they end, in both byte orders.
fn written(input: &[u8], run: &Range<usize>, value: u128) -> Vec<Vec<u8>> {
    let mut candidates = Vec::new();
    for start in [run.start, run.end.saturating_sub(BYTES)] {
        for bytes in [value.to_le_bytes(), value.to_be_bytes()] {
            let mut candidate = input.to_vec();
            if let Some(field) = candidate.get_mut(start..start + BYTES) {
                field.copy_from_slice(&bytes);
                once::add(&mut candidates, candidate);
            }
        }
    }
    candidates
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::strategy::compares::seen::float128::order;
    use crate::engine::strategy::compares::seen::float128::tests::quad;

    #[test]
    fn neighbours_are_next_to_it() {
        for value in [0.0, -0.0, 2.0, -2.0, 1e-300] {
            for wanted in [Ordering::Less, Ordering::Equal, Ordering::Greater] {
                let found = neighbours(quad(value), wanted);
                assert_eq!(order(found[0], quad(value)), Some(wanted), "{value}");
            }
        }
    }
}
