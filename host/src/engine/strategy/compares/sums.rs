//! Operands that are sums of bytes, each multiplied by something: hashes of words, numbers in digits, check sums, also
//! with a remainder taken.
//!
//! Each byte that the operand depends on is made one more, or one less, which shows what it is multiplied by. Then,
//! from the byte that counts most to the one that counts least, each is moved as far as it gets towards the other
//! operand, as the digits of a number; first so that digits stay digits. Where a remainder is taken any digit may do.

use super::encodings::near;
use super::observed::{Observed, Operands};
use super::probe::{Probe, Problem, Solution, Step};
use std::ops::RangeInclusive;

/// Places that are looked at.
const PLACES_MAX: usize = 16;
/// Digits that are given all values.
const VARIED_MAX: usize = 4;

pub(super) fn solve(probe: &mut Probe<'_, '_>, problem: Problem<'_>) -> Step<Option<Solution>> {
    let Problem { input, goal, dependence } = problem;
    let Operands::Numbers { ty, sides, .. } = goal.operands else { return Ok(None) };
    if ty.is_float() {
        return Ok(None);
    }
    for (side, places) in dependence.sides.iter().enumerate() {
        if !(2..=PLACES_MAX).contains(&places.len()) {
            continue;
        }
        let mut weights = Vec::new();
        for &place in places {
            let mut candidate = input.to_vec();
            let up = !matches!(candidate[place], u8::MAX | b'9');
            candidate[place] = if up { candidate[place] + 1 } else { candidate[place] - 1 };
            match probe.attempt(&candidate, goal)? {
                Ok(solution) => return Ok(Some(solution)),
                Err(Some(Observed { operands: Operands::Numbers { sides: others, .. }, .. })) => {
                    let weight = i128::from(ty.signed(others[side].wrapping_sub(sides[side])));
                    weights.push((place, if up { weight } else { -weight }));
                }
                Err(_) => {}
            }
        }
        let mut candidates = Vec::new();
        for wanted in near(ty, sides[1 - side]) {
            let by = i128::from(ty.signed(wanted.wrapping_sub(sides[side])));
            // Sums wrap.
            for wraps in [0, 1, -1, 2, -2] {
                for allowed in [of_its_class as Allowed, any] {
                    let candidate = add(input, &weights, by + (wraps << ty.bits()), allowed);
                    candidates.extend(candidate.filter(|candidate| !candidates.contains(candidate)));
                }
            }
        }
        if let Some(solution) = probe.first(candidates, goal)? {
            return Ok(Some(solution));
        }
        let digits = places.iter().rev().copied().filter(|&place| input[place].is_ascii_digit()).take(VARIED_MAX);
        let varied = digits.flat_map(|place| {
            let others = (b'0'..=b'9').filter(move |&digit| digit != input[place]);
            others.map(move |digit| {
                let mut candidate = input.to_vec();
                candidate[place] = digit;
                candidate
            })
        });
        if let Some(solution) = probe.first(varied, goal)? {
            return Ok(Some(solution));
        }
    }
    Ok(None)
}

/// What a byte may become.
type Allowed = fn(u8) -> RangeInclusive<i128>;

fn any(_: u8) -> RangeInclusive<i128> {
    0..=255
}

/// Digits become digits, letters become letters.
fn of_its_class(byte: u8) -> RangeInclusive<i128> {
    let class = [b'0'..=b'9', b'a'..=b'z', b'A'..=b'Z'].into_iter().find(|class| class.contains(&byte));
    class.map_or(any(byte), |class| i128::from(*class.start())..=i128::from(*class.end()))
}

/// The input with a sum that is so much larger, where each place has a weight; `None` if that is not found.
fn add(input: &[u8], weights: &[(usize, i128)], mut by: i128, allowed: Allowed) -> Option<Vec<u8>> {
    let mut candidate = input.to_vec();
    let mut weights: Vec<_> = weights.iter().copied().filter(|&(_, weight)| weight != 0).collect();
    weights.sort_by_key(|&(_, weight)| std::cmp::Reverse(weight.abs()));
    for (place, weight) in weights {
        let (old, allowed) = (i128::from(candidate[place]), allowed(candidate[place]));
        // What is left is for those behind it, so it goes as far as it can without going past.
        let step = by.div_euclid(weight).clamp(allowed.start() - old, allowed.end() - old);
        candidate[place] = u8::try_from(old + step).ok()?;
        by -= step * weight;
    }
    (by == 0).then_some(candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_reached_digit_by_digit() {
        let weights = [(0, 33 * 33 * 33), (1, 33 * 33), (2, 33), (3, 1)];
        let sum = |bytes: &[u8]| weights.iter().map(|&(place, weight)| i128::from(bytes[place]) * weight).sum::<i128>();
        let by = sum(b"wipe") - sum(b"AAAA");
        let found = add(b"AAAA", &weights, by, any).unwrap();
        assert_eq!(sum(&found), sum(b"wipe"));
        assert_eq!(add(b"AAAA", &weights, 1 << 40, any), None);
        assert_eq!(add(b"\x05\x05", &[(0, -1), (1, 2)], 3, any), Some(b"\x04\x06".to_vec()));
    }

    #[test]
    fn digits_stay_digits() {
        let weights = [(0, 100), (1, 10), (2, 1)];
        assert_eq!(add(b"111", &weights, 620, of_its_class).as_deref(), Some(&b"731"[..]));
        assert_eq!(add(b"111", &weights, 900, of_its_class), None);
        assert_eq!(add(b"111", &weights, 900, any).as_deref(), Some(&b":11"[..]));
    }
}
