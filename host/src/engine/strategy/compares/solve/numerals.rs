//! Operands that are put together from several numbers in text: addresses, versions, dates and times, amounts with a
//! fraction.
//!
//! Each run of digits is a number that is made larger, which shows what it is multiplied by. Then, from the number that
//! counts most to the one that counts least, each is moved as far as it gets towards the other operand without going
//! past it, as the digits of a number are; so it may get other digits, more of them, or fewer.

use super::super::input::digits;
use super::super::input::encodings::near;
use super::super::input::once;
use super::super::probing::probe::{Probe, Problem, Solution, Step};
use super::super::seen::observed::{Observed, Operands};
use std::cmp::Reverse;
use std::ops::Range;

/// Numbers that are looked at.
const NUMERALS_MAX: usize = 8;
/// Digits of each at most.
const DIGITS_MAX: usize = 15;
/// What numbers are made larger by: what is masked shows no small steps.
const STEPS: [i128; 3] = [1, 16, 100];

/// A number in text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Numeral {
    span: Range<usize>,
    value: i128,
}

/// A numeral's index, and how much the operand changes when it is so much larger.
type Slope = (usize, i128, i128);

/// Moves all numbers together.
pub(super) fn solve(probe: &mut Probe<'_, '_>, problem: Problem<'_>) -> Step<Option<Solution>> {
    let Problem { input, goal, dependence } = problem;
    let Operands::Numbers { ty, sides, .. } = goal.operands else { return Ok(None) };
    if ty.is_float() || !probe.form.is_plain() {
        return Ok(None);
    }
    for side in 0..2 {
        let numerals = numerals(input, &dependence.sides[side]);
        let mut slopes = Vec::new();
        for index in 0..numerals.len() {
            match slope(probe, problem, (&numerals, index, side))? {
                Ok(solution) => return Ok(Some(solution)),
                Err(slope) => slopes.extend(slope.map(|(by, step)| (index, by, step))),
            }
        }
        // One that is not multiplied was moved before.
        if slopes.len() < 2 && slopes.iter().all(|&(_, by, step)| by.abs() == step) {
            continue;
        }
        slopes.sort_by_key(|&(index, by, step)| (Reverse((by / step).abs()), index));
        let mut candidates = Vec::new();
        for wanted in near(ty, sides[1 - side]) {
            let by = i128::from(ty.change(sides[side], wanted));
            for wraps in [0, 1, -1] {
                for padded in [false, true] {
                    if let Some(values) = moved(&numerals, &slopes, by + (wraps << ty.bits())) {
                        once::add(&mut candidates, written(input, &numerals, &values, padded));
                    }
                }
            }
        }
        if let Some(solution) = probe.first(candidates, goal)? {
            return Ok(Some(solution));
        }
    }
    Ok(None)
}

/// The runs of digits that some places are in.
fn numerals(input: &[u8], places: &[usize]) -> Vec<Numeral> {
    let mut numerals: Vec<Numeral> = Vec::new();
    for &place in places {
        if numerals.last().is_some_and(|last| last.span.contains(&place)) {
            continue;
        }
        if let Some(span) = digits::around(input, place, 10).filter(|span| span.len() <= DIGITS_MAX) {
            numerals.push(Numeral { value: digits::value(&input[span.clone()], 10), span });
        }
    }
    numerals.truncate(NUMERALS_MAX);
    numerals
}

/// How much the operand changes when one of the numbers is larger, and by how much that was; `None` if it does not.
fn slope(
    probe: &mut Probe<'_, '_>,
    Problem { input, goal, .. }: Problem<'_>,
    (numerals, index, side): (&[Numeral], usize, usize),
) -> Step<Result<Solution, Option<(i128, i128)>>> {
    let Operands::Numbers { ty, sides, .. } = goal.operands else { return Ok(Err(None)) };
    for step in STEPS {
        let mut values: Vec<_> = numerals.iter().map(|numeral| numeral.value).collect();
        values[index] += step;
        match probe.attempt(&written(input, numerals, &values, false), goal)? {
            Ok(solution) => return Ok(Ok(solution)),
            Err(Some(Observed { operands: Operands::Numbers { sides: others, .. }, .. })) => {
                let by = i128::from(ty.change(sides[side], others[side]));
                if by != 0 {
                    return Ok(Err(Some((by, step))));
                }
            }
            Err(_) => {}
        }
    }
    Ok(Err(None))
}

/// The numbers with which the operand is so much larger; `None` if they are not found.
fn moved(numerals: &[Numeral], slopes: &[Slope], mut by: i128) -> Option<Vec<i128>> {
    let mut values: Vec<_> = numerals.iter().map(|numeral| numeral.value).collect();
    for &(index, slope, step) in slopes {
        // What is left is for those that count less, which can add but not take away below 0.
        let least = -values[index];
        let steps = (by * step).div_euclid(slope).max(least);
        values[index] += steps;
        by -= (steps * slope).div_euclid(step);
    }
    (by == 0).then_some(values)
}

/// The input with these numbers, with zeros in front as far as they were as long before, or without.
fn written(input: &[u8], numerals: &[Numeral], values: &[i128], padded: bool) -> Vec<u8> {
    let (mut written, mut from) = (Vec::with_capacity(input.len()), 0);
    for (numeral, value) in numerals.iter().zip(values) {
        written.extend(&input[from..numeral.span.start]);
        let width = if padded { numeral.span.len() } else { 0 };
        let is_moved = *value != numeral.value;
        let text =
            if is_moved { format!("{value:0width$}").into_bytes() } else { input[numeral.span.clone()].to_vec() };
        written.extend(text);
        from = numeral.span.end;
    }
    written.extend(&input[from..]);
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_where_places_are() {
        let found = numerals(b"v1.20-x7 300", &[1, 4, 9, 11]);
        let found: Vec<_> = found.iter().map(|numeral| (numeral.span.clone(), numeral.value)).collect();
        assert_eq!(found, [(1..2, 1), (3..5, 20), (9..12, 300)]);
        assert!(numerals(b"1234567890123456", &[3]).is_empty(), "too long");
    }

    #[test]
    fn the_one_that_counts_most_is_moved_first() {
        let numerals = numerals(b"8.0.0.3", &[0, 2, 4, 6]);
        let slopes = [(0, 1 << 24, 1), (1, 1 << 16, 1), (2, 1 << 8, 1), (3, 16, 16)];
        let values = moved(&numerals, &slopes, 0x0a01_c8d0 - 0x0800_0000).unwrap();
        assert_eq!(written(b"8.0.0.3", &numerals, &values, false), b"10.1.200.211");
        assert_eq!(moved(&numerals, &slopes[..1], 5), None);
    }

    #[test]
    fn numbers_keep_their_width_or_not() {
        let numerals = numerals(b"2020-01-09", &[0, 5, 8]);
        assert_eq!(written(b"2020-01-09", &numerals, &[2020, 2, 9], true), b"2020-02-09");
        assert_eq!(written(b"2020-01-09", &numerals, &[2020, 2, 9], false), b"2020-2-09");
    }
}
