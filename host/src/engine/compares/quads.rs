//! Floats of 128 bits, which are compared by functions: `long double` in C for WebAssembly. One of them is less than the other, or equal, or greater.

use super::dependence::Dependence;
use super::encodings::near;
use super::numbers;
use super::observed::{Number, Observed, Operands};
use super::probe::{Probe, Solution, Step};
use std::cmp::Ordering;
use std::ops::Range;

/// Bytes that one takes.
const BYTES: usize = 16;
const SIGN: u128 = 1 << 127;
/// All bits of the exponent: infinity.
const INFINITY: u128 = 0x7fff << FRACTION_BITS;
const FRACTION_BITS: u32 = 112;
/// How much more the exponent's bits are than those of a double with the same value.
const BIAS_MORE: u64 = 16_383 - 1_023;
/// How many bits more the fraction has than a double's.
const FRACTION_MORE: u32 = FRACTION_BITS - 52;
/// So many runs of places are tried.
const RUNS_MAX: usize = 4;

/// Which of two is less; `None` if one is no number.
pub(super) fn order(left: u128, right: u128) -> Option<Ordering> {
    if left & !SIGN > INFINITY || right & !SIGN > INFINITY {
        return None;
    }
    Some(key(left).cmp(&key(right)))
}

/// A number that is ordered as a float is that is a number. Both zeros are 0.
fn key(bits: u128) -> i128 {
    let size = (bits & !SIGN).cast_signed();
    if bits & SIGN == 0 { size } else { -size }
}

/// The double that is nearest in the direction of zero.
pub(super) fn double(bits: u128) -> f64 {
    let sign = if bits & SIGN == 0 { 1.0 } else { -1.0 };
    let size = bits & !SIGN;
    let exponent = (size >> FRACTION_BITS) as u64;
    let fraction = (size >> FRACTION_MORE) as u64 & ((1 << 52) - 1);
    let exponent = match exponent {
        0x7fff if size > INFINITY => return f64::NAN,
        0x7fff => return sign * f64::INFINITY,
        // What is too small for a double, or almost, is 0.
        exponent if exponent <= BIAS_MORE => return sign * 0.0,
        exponent => exponent - BIAS_MORE,
    };
    sign * if exponent >= 0x7ff { f64::MAX } else { f64::from_bits(exponent << 52 | fraction) }
}

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

/// Tries what is likely: the other one, or one next to it, in the places that one depends on; else the same as a double in all encodings.
pub(super) fn solve(
    probe: &mut Probe<'_, '_>,
    input: &[u8],
    goal: &Observed,
    dependence: &Dependence,
) -> Step<Option<Solution>> {
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
                if !candidates.contains(&candidate) {
                    candidates.push(candidate);
                }
            }
        }
    }
    candidates
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Rng;

    /// The same value.
    fn quad(value: f64) -> u128 {
        let bits = value.to_bits();
        let (exponent, fraction) = (bits >> 52 & 0x7ff, bits & ((1 << 52) - 1));
        let size = if exponent == 0 {
            0
        } else {
            u128::from(exponent + BIAS_MORE) << FRACTION_BITS | u128::from(fraction) << FRACTION_MORE
        };
        size | u128::from(bits >> 63) << 127
    }

    #[test]
    fn they_are_ordered_as_the_doubles_with_the_same_values() {
        let pi = 0x4000_921f_b544_42d1_8000_0000_0000_0000_u128;
        assert_eq!(pi, quad(std::f64::consts::PI));
        let mut rng = Rng::of_task(1, 0, 0);
        let mut values = vec![0.0, -0.0, 1.0, -1.0, 1e300, -1e300];
        values.extend((0..200).map(|_| f64::from_bits(rng.word())).filter(|value| value.is_normal()));
        for &left in &values {
            assert_eq!(double(quad(left)), left);
            for &right in &values {
                assert_eq!(order(quad(left), quad(right)), left.partial_cmp(&right), "{left} {right}");
            }
            assert_eq!(order(quad(left), INFINITY), Some(Ordering::Less));
            assert_eq!(order(quad(left), INFINITY | 1), None);
        }
    }

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
