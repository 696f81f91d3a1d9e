//! Operands that are sums of bytes, each multiplied by something: hashes of words, digits, check sums.
//!
//! Each byte that the operand depends on is made one more, which shows what it is multiplied by. Then, from the byte that counts most to the one that
//! counts least, each is moved as far as it gets towards the other operand, as the digits of a number.

use super::dependence::Dependence;
use super::observed::{Observed, Operands};
use super::probe::{Probe, Solution, Step};

/// Places that are looked at.
const PLACES_MAX: usize = 16;

pub(super) fn solve(
    probe: &mut Probe<'_, '_>,
    input: &[u8],
    goal: &Observed,
    dependence: &Dependence,
) -> Step<Option<Solution>> {
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
            let up = candidate[place] < u8::MAX;
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
        // Sums wrap.
        let by = i128::from(ty.signed(sides[1 - side].wrapping_sub(sides[side])));
        let candidates =
            [0, 1, -1, 2, -2].into_iter().filter_map(|wraps| add(input, &weights, by + (wraps << ty.bits())));
        if let Some(solution) = probe.first(candidates, goal)? {
            return Ok(Some(solution));
        }
    }
    Ok(None)
}

/// The input with a sum that is so much larger, where each place has a weight; `None` if that is not found.
fn add(input: &[u8], weights: &[(usize, i128)], mut by: i128) -> Option<Vec<u8>> {
    let mut candidate = input.to_vec();
    let mut weights: Vec<_> = weights.iter().copied().filter(|&(_, weight)| weight != 0).collect();
    weights.sort_by_key(|&(_, weight)| std::cmp::Reverse(weight.abs()));
    for (place, weight) in weights {
        let old = i128::from(candidate[place]);
        // What is left is for those behind it, so it goes as far as it can without going past.
        let step = by.div_euclid(weight).clamp(-old, i128::from(u8::MAX) - old);
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
        let found = add(b"AAAA", &weights, by).unwrap();
        assert_eq!(sum(&found), sum(b"wipe"));
        assert_eq!(add(b"AAAA", &weights, 1 << 40), None);
        assert_eq!(add(b"\x05\x05", &[(0, -1), (1, 2)], 3), Some(b"\x04\x06".to_vec()));
    }
}
