//! Operands that are sums of bytes, each multiplied by something: hashes of words, numbers in digits, check sums, also
//! with a remainder taken.
//!
//! Each byte that the operand depends on is made one more, or one less, which shows what it is multiplied by. Then,
//! from the byte that counts most to the one that counts least, each is moved as far as it gets towards the other
//! operand, as the digits of a number; first so that digits stay digits. Where a remainder is taken any digit may do.

use super::super::input::encodings::near;
use super::super::input::once;
use super::super::input::places::Dependence;
use super::super::probing::probe::{Probe, Problem, Solution, Step};
use super::super::seen::observed::{Observed, Operands};
use std::ops::RangeInclusive;

/// Places that are looked at.
const PLACES_MAX: usize = 16;
/// Digits that are given all values.
const VARIED_MAX: usize = 4;
/// Places that are moved one by one, how often, and in how many executions each.
const WALKED_MAX: usize = 32;
const WALKS: usize = 4;
const STRIDE_EXECS: usize = 8;

pub(super) fn solve(probe: &mut Probe<'_, '_>, problem: Problem<'_>) -> Step<Option<Solution>> {
    let Problem { input, goal, dependence } = problem;
    let Operands::Numbers { ty, sides, .. } = goal.operands else { return Ok(None) };
    if ty.is_float() {
        return Ok(None);
    }
    for (side, places) in dependence.sides.iter().enumerate() {
        if places.len() < 2 {
            continue;
        }
        // What is there for the sum's sake comes last, most likely.
        let places = &places[places.len().saturating_sub(PLACES_MAX)..];
        let weights = match weights(probe, goal, (input, places), (side, sides[side]))? {
            Weights::Solution(solution) => return Ok(Some(*solution)),
            Weights::Of(weights) => weights,
        };
        let mut candidates = Vec::new();
        for wanted in near(ty, sides[1 - side]) {
            let by = i128::from(ty.change(sides[side], wanted));
            // Sums wrap.
            for wraps in [0, 1, -1, 2, -2] {
                for allowed in [of_its_class as Allowed, any] {
                    if let Some(candidate) = add(input, &weights, by + (wraps << ty.bits()), allowed) {
                        once::add(&mut candidates, candidate);
                    }
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

/// A place, and what the operand changes by when it is one more.
pub(super) type Weight = (usize, i128);

/// What places are multiplied by.
pub(super) enum Weights {
    /// One of them reached the goal.
    Solution(Box<Solution>),
    Of(Vec<Weight>),
}

/// Makes each place one more, or one less, which shows what it is multiplied by; the operand is `own` now.
pub(super) fn weights(
    probe: &mut Probe<'_, '_>,
    goal: &Observed,
    (input, places): (&[u8], &[usize]),
    (side, own): (usize, u64),
) -> Step<Weights> {
    let mut weights = Vec::new();
    for &place in places {
        let mut candidate = input.to_vec();
        let up = !matches!(candidate[place], u8::MAX | b'9' | b'Z' | b'z');
        candidate[place] = if up { candidate[place] + 1 } else { candidate[place] - 1 };
        match probe.attempt(&candidate, goal)? {
            Ok(solution) => return Ok(Weights::Solution(Box::new(solution))),
            Err(Some(Observed { operands: Operands::Numbers { ty, sides, .. }, .. })) => {
                let weight = i128::from(ty.change(own, sides[side]));
                weights.push((place, if up { weight } else { -weight }));
            }
            Err(_) => {}
        }
    }
    Ok(Weights::Of(weights))
}

/// Moves one place after the other towards the other operand, each as far as the goal is still reached: of what has
/// checks of its own, as bytes that must be in order, or below a limit.
pub(super) fn walk(probe: &mut Probe<'_, '_>, problem: Problem<'_>) -> Step<Option<Solution>> {
    let Problem { input, goal, .. } = problem;
    let Operands::Numbers { ty, .. } = goal.operands else { return Ok(None) };
    if ty.is_float() {
        return Ok(None);
    }
    for side in 0..2 {
        let (mut places, mut current) = (walked(problem, side), input.to_vec());
        let mut sides = operands(goal);
        // What stands in a place's way may be behind it or before it.
        for _ in 0..WALKS {
            places.reverse();
            let before = sides;
            for &place in &places {
                if let Some(solution) = stride(probe, (goal, side), place, (&mut current, &mut sides))? {
                    return Ok(Some(solution));
                }
            }
            if sides == before {
                break;
            }
        }
    }
    Ok(None)
}

/// How many executions [`walk`] may make.
pub(super) fn walk_execs(problem: Problem<'_>) -> u64 {
    (0..2).map(|side| (walked(problem, side).len() * WALKS * STRIDE_EXECS) as u64).sum()
}

/// The places of a side; if these alone have no room for what it lacks, also those between them and right beside them
/// that lead elsewhere, as bytes do that are to be in order and have no room between their neighbours. None if they are
/// too many, or if there is one alone.
fn walked(Problem { input, goal, dependence }: Problem<'_>, side: usize) -> Vec<usize> {
    let Dependence { sides, away, .. } = dependence;
    let (Some(&first), Some(&last)) = (sides[side].first(), sides[side].last()) else { return Vec::new() };
    let lacks = goal.operands.lacks(side).unwrap_or_default();
    let room = |&place: &usize| u64::from(if lacks > 0 { u8::MAX - input[place] } else { input[place] });
    let room = sides[side].iter().map(room).sum();
    let leads_away = |place: &usize| lacks.unsigned_abs() > room && away.binary_search(place).is_ok();
    let start = (0..first).rev().take_while(leads_away).last().unwrap_or(first);
    let end = (last + 1..).take_while(leads_away).last().unwrap_or(last);
    let walked: Vec<_> =
        (start..=end).filter(|place| leads_away(place) || sides[side].binary_search(place).is_ok()).collect();
    if (2..=WALKED_MAX).contains(&walked.len()) { walked } else { Vec::new() }
}

/// Moves a byte towards the other operand: as far as that needs, or half of it where that leads elsewhere, and so on.
fn stride(
    probe: &mut Probe<'_, '_>,
    (goal, side): (&Observed, usize),
    place: usize,
    (current, sides): (&mut Vec<u8>, &mut [u64; 2]),
) -> Step<Option<Solution>> {
    let Operands::Numbers { ty, .. } = goal.operands else { return Ok(None) };
    let lacks = |sides: &[u64; 2]| i128::from(ty.change(sides[side], sides[1 - side]));
    let (old, up) = (current[place], lacks(sides) > 0);
    let room = if up { u8::MAX - old } else { old };
    let mut by = u8::try_from(lacks(sides).unsigned_abs()).unwrap_or(u8::MAX).min(room);
    let (mut kept, mut tries) = (0, 0);
    while by > 0 && tries < STRIDE_EXECS {
        tries += 1;
        let moved = kept + by;
        let mut candidate = current.clone();
        candidate[place] = if up { old + moved } else { old - moved };
        match probe.attempt(&candidate, goal)? {
            Ok(solution) => return Ok(Some(solution)),
            Err(Some(observed)) => {
                let (before, now) = (lacks(sides), lacks(&operands(&observed)));
                // What one more counts for: what is moved too far shows that as well.
                let weight = (before.abs() - now.abs() * before.signum() * now.signum()) / i128::from(by);
                let left = if before.signum() == now.signum() && now.abs() < before.abs() {
                    (kept, *sides) = (moved, operands(&observed));
                    now.abs()
                } else {
                    before.abs()
                };
                let wanted = left.checked_div(weight).unwrap_or_default();
                let wanted = u8::try_from(wanted.max(0)).unwrap_or(u8::MAX).min(room - kept);
                by = if kept == moved { wanted } else { wanted.min(by - 1) };
            }
            // Half of what is too far, and of the rest what is not.
            Err(None) => by /= 2,
        }
    }
    current[place] = if up { old + kept } else { old - kept };
    Ok(None)
}

/// The numbers that were compared.
fn operands(observed: &Observed) -> [u64; 2] {
    match observed.operands {
        Operands::Numbers { sides, .. } => sides,
        _ => [0; 2],
    }
}

/// What a byte may become.
type Allowed = fn(u8) -> RangeInclusive<i128>;

fn any(_: u8) -> RangeInclusive<i128> {
    0..=255
}

/// The digits or letters that a byte is one of.
fn class(byte: u8) -> Option<RangeInclusive<u8>> {
    [b'0'..=b'9', b'a'..=b'z', b'A'..=b'Z'].into_iter().find(|class| class.contains(&byte))
}

/// Digits become digits, letters become letters.
fn of_its_class(byte: u8) -> RangeInclusive<i128> {
    class(byte).map_or(any(byte), |class| i128::from(*class.start())..=i128::from(*class.end()))
}

/// What a byte may become: letters and digits such, and what can be printed what can be.
pub(super) fn allowed(byte: u8) -> RangeInclusive<u8> {
    let wide = if matches!(byte, b' '..=b'~') { b' '..=b'~' } else { 0..=u8::MAX };
    class(byte).unwrap_or(wide)
}

/// As [`add`], from what the places make at least: then each goes as far as it can, as the digits of a number do, also
/// where they were larger than they may be.
pub(super) fn add_from_least(input: &[u8], weights: &[Weight], by: i128) -> Option<Vec<u8>> {
    let mut least = input.to_vec();
    let mut by = by;
    for &(place, weight) in weights {
        let allowed = allowed(input[place]);
        least[place] = if weight > 0 { *allowed.start() } else { *allowed.end() };
        by -= weight * (i128::from(least[place]) - i128::from(input[place]));
    }
    add(&least, weights, by, of_its_class)
}

/// The input with a sum that is so much larger, where each place has a weight; `None` if that is not found.
fn add(input: &[u8], weights: &[Weight], mut by: i128, allowed: Allowed) -> Option<Vec<u8>> {
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
