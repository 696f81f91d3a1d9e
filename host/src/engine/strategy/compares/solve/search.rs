//! What enumerates: for operands that come from the input by ways that nobody has to understand.
//!
//! - What is linear over GF(2), as CRC, `xor` and shifts are, is solved: each bit of the input is flipped once, and the
//!   bits to be flipped together follow by elimination.
//! - Sums are walked to ([`sums::walk`]), where checks keep each byte between others.
//! - Sums that wrap, as hashes of words do, are solved ([`meet`]).
//! - Texts, and parts of them, of which each byte becomes something by itself (tables, hexadecimal digits, Caesar's
//!   cipher): all places get each of the 256 values at once.
//! - Where checks keep each number from being moved alone, combinations are that break none ([`eliminate`]).
//! - Else each place gets each value in turn, and keeps the one that brings the operands nearest: first by the lowest
//!   bit that differs, then as bits that differ, then as numbers. So what is put together from several places is solved
//!   place by place (base64, digits, tables). Texts get digits first.
//! - Where what a byte becomes depends on those before it (stream ciphers, differences), one place after the other gets
//!   the value with which most of the operands is right from one of their ends on.
//! - Where a check keeps each byte from being moved alone, two are ([`pairs`]).

use super::super::input::flips;
use super::super::probing::probe::{Probe, Problem, Solution, Solver, Step};
use super::super::seen::effort::Effort;
use super::super::seen::float128;
use super::super::seen::number::significant_bytes;
use super::super::seen::observed::{Observed, Operands};
use super::climb;
use super::{eliminate, meet, pairs, secant, sums};

/// Places that are flipped bit by bit, the last ones.
const LINEAR_PLACES_MAX: usize = 16;
/// Places that get all values in turn.
const DESCENT_PLACES_MAX: usize = 24;
/// Places that do so as digits: those of a text in binary are many.
const DIGITS_MAX: usize = 64;
/// Executions in which all of them do, for one goal.
const DESCENT_EXECS_MAX: u64 = 6000;
/// Executions in which it shows whether places follow from each other, for one goal.
const CHAIN_EXECS: u64 = 1024;
/// Places that get the value with which most of the low bits are right.
const LOW_PLACES_MAX: usize = 4;
/// Executions in which all places of a text get each value at once, and what each brings is put together.
pub(super) const SWEEP_EXECS: u64 = 257;
/// How often each place does, if that brings something.
const DESCENTS: usize = 4;
/// What bytes of texts become first: the digits of base64, which those of other bases are among.
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Tries what needs some effort: the number of executions grows with the places, or not at all.
pub(in crate::engine::strategy::compares) fn solve(
    probe: &mut Probe<'_, '_>,
    problem: Problem<'_>,
    effort: Effort,
) -> Step<Option<Solution>> {
    if effort == Effort::Much {
        return each(probe, problem);
    }
    for side in (0..2).filter(|&side| is_swept(problem, side)) {
        if let Some(solution) = sweep(probe, problem, side)? {
            return Ok(Some(solution));
        }
    }
    if problem.goal.operands.is_text() {
        return Ok(None);
    }
    for solver in [linear as Solver, sums::walk, secant::solve, meet::solve] {
        if let Some(solution) = solver(probe, problem)? {
            return Ok(Some(solution));
        }
    }
    Ok(None)
}

/// Whether a side may become a text byte by byte.
fn is_swept(Problem { goal, dependence, .. }: Problem<'_>, side: usize) -> bool {
    !dependence.sides[side].is_empty() && goal.operands.is_part_of_text(1 - side)
}

/// How many executions [`solve`] may make.
pub(in crate::engine::strategy::compares) fn execs(problem: Problem<'_>, effort: Effort) -> u64 {
    let sides = problem.dependence.sides.each_ref().map(|places| places.len() as u64);
    let places: u64 = sides.iter().sum();
    match effort {
        Effort::Much => {
            let placed = (6 * 256 * places).min(CHAIN_EXECS + DESCENT_EXECS_MAX);
            placed + eliminate::execs(problem) + pairs::execs(problem) + climb::execs(problem)
        }
        _ => {
            let swept = (0..2).filter(|&side| is_swept(problem, side)).count() as u64 * SWEEP_EXECS;
            if problem.goal.operands.is_text() {
                return swept;
            }
            swept
                + (8 * places).min(8 * LINEAR_PLACES_MAX as u64)
                + 1
                + sums::walk_execs(problem)
                + secant::execs(problem)
                + meet::execs(problem)
        }
    }
}

/// Gives each place each value in turn.
fn each(probe: &mut Probe<'_, '_>, problem: Problem<'_>) -> Step<Option<Solution>> {
    if let Some(solution) = eliminate::solve(probe, problem)? {
        return Ok(Some(solution));
    }
    // What is drawn is enciphered by nobody.
    if probe.form.is_plain()
        && let Some(solution) = chains(probe, problem)?
    {
        return Ok(Some(solution));
    }
    let Problem { input, goal, dependence } = problem;
    let mut left = DESCENT_EXECS_MAX;
    for values in [Values::Digits, Values::All] {
        for side in 0..2 {
            let mut places = dependence.sides[side].clone();
            if values == Values::Digits {
                places = around(&places, input);
            }
            let places_max = if values == Values::Digits { DIGITS_MAX } else { DESCENT_PLACES_MAX };
            if places.is_empty() || places.len() > places_max {
                continue;
            }
            for metric in [Metric::Low, Metric::Bits, Metric::Size] {
                if metric != Metric::Bits && (goal.operands.is_text() || values == Values::Digits) {
                    continue;
                }
                // What comes behind has a part.
                let mut part = metric.part(left);
                left -= part;
                // What comes last is what nothing else depends on, most likely.
                let first = if metric == Metric::Low { places.len().saturating_sub(LOW_PLACES_MAX) } else { 0 };
                let solution = descend(probe, problem, (&places[first..], metric, values), &mut part)?;
                left += part;
                if solution.is_some() {
                    return Ok(solution);
                }
            }
        }
    }
    pairs::solve(probe, problem)
}

/// Those of some places, and of those near them, that are digits: a digit that holds bits of two bytes seems to belong
/// to the first alone, where a wrong one leads elsewhere.
fn around(places: &[usize], input: &[u8]) -> Vec<usize> {
    let near = |place: &usize| place.saturating_sub(2)..(place + 3).min(input.len());
    let mut around: Vec<usize> = places.iter().flat_map(near).filter(|&place| DIGITS.contains(&input[place])).collect();
    around.sort_unstable();
    around.dedup();
    around
}

/// What places get in turn.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Values {
    /// Digits, where there is one.
    Digits,
    All,
}

impl Values {
    /// In the place of one byte.
    fn of(self, byte: u8) -> Vec<u8> {
        match self {
            Self::All => (0..=u8::MAX).filter(|&value| value != byte).collect(),
            Self::Digits if DIGITS.contains(&byte) => DIGITS.iter().copied().filter(|&value| value != byte).collect(),
            Self::Digits => Vec::new(),
        }
    }
}

/// How far operands are from each other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Metric {
    /// Bits that differ.
    Bits,
    /// Bits that are right below the first one that differs: what each byte becomes may depend on those before it.
    Low,
    /// By their values.
    Size,
}

impl Metric {
    /// How many of the executions that are left are for it: first, what is at its end soon where it leads nowhere.
    fn part(self, left: u64) -> u64 {
        match self {
            Self::Low => left / 3,
            Self::Bits => left / 2,
            Self::Size => left,
        }
    }
}

fn distance(operands: &Operands, metric: Metric) -> u64 {
    match operands {
        Operands::Numbers { ty, sides: [left, right], .. } => match metric {
            Metric::Bits => ((left ^ right) & ty.mask()).count_ones().into(),
            Metric::Low => u64::from(64 - (left ^ right).trailing_zeros()),
            Metric::Size if ty.is_float() => between(ty.float(*left), ty.float(*right)),
            Metric::Size => ty.signed(*left).abs_diff(ty.signed(*right)),
        },
        Operands::Quads { sides: [left, right], .. } => match metric {
            Metric::Bits => (left ^ right).count_ones().into(),
            Metric::Low => u64::from(128 - (left ^ right).trailing_zeros()),
            Metric::Size => between(float128::double(*left), float128::double(*right)),
        },
        Operands::Bytes { sides: [left, right], .. } => {
            let common: u64 = left.iter().zip(right).map(|(left, right)| u64::from((left ^ right).count_ones())).sum();
            common + 8 * left.len().abs_diff(right.len()) as u64
        }
    }
}

/// How far floats are from each other, as a number that is larger the farther they are: positive floats are ordered as
/// their bits are.
fn between(left: f64, right: f64) -> u64 {
    let distance = (left - right).abs();
    if distance.is_nan() { u64::MAX } else { distance.to_bits() }
}

/// Gives each place the value that brings the operands nearest, in so many executions as are `left`.
fn descend(
    probe: &mut Probe<'_, '_>,
    Problem { input, goal, .. }: Problem<'_>,
    (places, metric, values): (&[usize], Metric, Values),
    left: &mut u64,
) -> Step<Option<Solution>> {
    let mut best = input.to_vec();
    let mut nearest = distance(&goal.operands, metric);
    let mut places = places.to_vec();
    for _ in 0..DESCENTS {
        let before = nearest;
        for &place in &places {
            let values = values.of(best[place]);
            let values = &values[..values.len().min(usize::try_from(*left).unwrap_or(usize::MAX))];
            *left -= values.len() as u64;
            let near = |operands: &Operands| distance(operands, metric);
            if let Some(solution) = settle(probe, goal, (&mut best, place, values), (&mut nearest, &near))? {
                return Ok(Some(solution));
            }
        }
        if nearest == before {
            break;
        }
        // What stands in a place's way may be behind it.
        places.reverse();
    }
    Ok(None)
}

/// Gives a place each of some values, and leaves it the one with which the operands are nearest.
fn settle(
    probe: &mut Probe<'_, '_>,
    goal: &Observed,
    (candidate, place, values): (&mut [u8], usize, &[u8]),
    (nearest, distance): (&mut u64, &dyn Fn(&Operands) -> u64),
) -> Step<Option<Solution>> {
    let mut kept = candidate[place];
    for &value in values {
        candidate[place] = value;
        match probe.attempt(candidate, goal)? {
            Ok(solution) => return Ok(Some(solution)),
            Err(Some(observed)) if distance(&observed.operands) < *nearest => {
                (*nearest, kept) = (distance(&observed.operands), value);
            }
            Err(_) => {}
        }
    }
    candidate[place] = kept;
    Ok(None)
}

/// An end of operands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// The first byte of a text, or the lowest of a number.
    First,
    /// The highest byte of a number.
    Last,
}

/// Bytes that an operand has, as far as one is not 0.
fn width(operands: &Operands) -> usize {
    match operands {
        Operands::Numbers { ty, .. } if ty.is_float() => 0,
        Operands::Numbers { ty, sides: [left, right], .. } => significant_bytes((left | right) & ty.mask()),
        Operands::Quads { .. } => 0,
        Operands::Bytes { sides: [left, right], .. } => left.len().min(right.len()),
    }
}

/// How many bits of `width` bytes are right from an end on: of texts in whole bytes.
fn right(operands: &Operands, (width, end): (usize, End)) -> usize {
    let bits = match operands {
        Operands::Numbers { ty, sides: [left, right], .. } => {
            let differs = (left ^ right) & ty.mask();
            let bits = if end == End::First { differs.trailing_zeros() } else { differs.leading_zeros() };
            if end == End::First { bits as usize } else { (bits as usize + 8 * width).saturating_sub(64) }
        }
        Operands::Quads { .. } => 0,
        Operands::Bytes { sides: [left, right], .. } => 8 * left.iter().zip(right).take_while(|(l, r)| l == r).count(),
    };
    bits.min(8 * width)
}

/// Gives places one after the other the value with which most is right: the last that there are bytes in an operand,
/// where what is before them has another meaning, then all.
fn chains(probe: &mut Probe<'_, '_>, problem: Problem<'_>) -> Step<Option<Solution>> {
    let Problem { goal, dependence, .. } = problem;
    let width = width(&goal.operands);
    let ends = if goal.operands.is_text() { &[End::First][..] } else { &[End::First, End::Last] };
    for places in dependence.sides.iter().filter(|places| (2..=DESCENT_PLACES_MAX).contains(&places.len())) {
        let last = places.len().saturating_sub(width);
        for &end in ends.iter().filter(|_| width > 1) {
            for first in [last, 0].into_iter().take(1 + usize::from(last > 0)) {
                if let Some(solution) = chain(probe, problem, &places[first..], (width, end))? {
                    return Ok(Some(solution));
                }
            }
        }
    }
    Ok(None)
}

fn chain(
    probe: &mut Probe<'_, '_>,
    Problem { input, goal, .. }: Problem<'_>,
    places: &[usize],
    what: (usize, End),
) -> Step<Option<Solution>> {
    let mut best = input.to_vec();
    let bits = 8 * what.0 as u64;
    let wrong = |operands: &Operands| bits - right(operands, what) as u64;
    let mut nearest = wrong(&goal.operands);
    for (number, &place) in (1..).zip(places) {
        let before = nearest;
        let values = Values::All.of(best[place]);
        if let Some(solution) = settle(probe, goal, (&mut best, place, &values), (&mut nearest, &wrong))? {
            return Ok(Some(solution));
        }
        // One that is right by chance as it is brings nothing.
        if nearest == before && bits - nearest < 8 * number {
            break;
        }
    }
    Ok(None)
}

/// Gives all places each of the 256 values, and each place then the one with which most of what it becomes is right.
fn sweep(
    probe: &mut Probe<'_, '_>,
    Problem { input, goal, dependence }: Problem<'_>,
    side: usize,
) -> Step<Option<Solution>> {
    let (places, Some(wanted)) = (&dependence.sides[side], goal.operands.bytes(1 - side)) else { return Ok(None) };
    // By place: how much is right with the best value, and that.
    let mut best: Vec<(usize, u8)> = places.iter().map(|&place| (0, input[place])).collect();
    for value in 0..=u8::MAX {
        let mut candidate = input.to_vec();
        places.iter().for_each(|&place| candidate[place] = value);
        let observed = match probe.attempt(&candidate, goal)? {
            Ok(solution) => return Ok(Some(solution)),
            Err(observed) => observed,
        };
        let Some(observed) = observed else { continue };
        let Some(own) = observed.operands.bytes(side) else { continue };
        for (place, best) in places.iter().zip(&mut best) {
            let becomes = dependence.content[side].iter().zip(&*own).zip(&*wanted);
            let right = becomes.filter(|((from, own), wanted)| from.contains(place) && own == wanted).count();
            if right > best.0 {
                *best = (right, value);
            }
        }
    }
    let mut candidate = input.to_vec();
    places.iter().zip(best).for_each(|(&place, (_, value))| candidate[place] = value);
    Ok(probe.attempt(&candidate, goal)?.ok())
}

/// Flips each bit that the operands depend on, and then those together with which the operands would be equal if each
/// changed what it changes whatever the others are.
fn linear(probe: &mut Probe<'_, '_>, problem: Problem<'_>) -> Step<Option<Solution>> {
    let Problem { input, goal, dependence } = problem;
    let Operands::Numbers { ty, sides, .. } = goal.operands else { return Ok(None) };
    let mut places = dependence.sides.concat();
    places.sort_unstable();
    places.dedup();
    if ty.is_float() {
        return Ok(None);
    }
    // So many are enough for any operand, and nothing else depends on the last ones, most likely.
    places.drain(..places.len().saturating_sub(LINEAR_PLACES_MAX));
    let difference = (sides[0] ^ sides[1]) & ty.mask();
    let mut changes = Vec::new();
    for bit in 0..8 * places.len() {
        let mut candidate = input.to_vec();
        candidate[places[bit / 8]] ^= 1 << (bit % 8);
        let change = match probe.attempt(&candidate, goal)? {
            Ok(solution) => return Ok(Some(solution)),
            Err(Some(Observed { operands: Operands::Numbers { sides, .. }, .. })) => {
                (sides[0] ^ sides[1] ^ difference) & ty.mask()
            }
            Err(_) => 0,
        };
        changes.push(change);
    }
    let Some(flips) = flips::together(&changes, difference) else { return Ok(None) };
    let mut candidate = input.to_vec();
    flips::bits(flips).for_each(|(place, bit)| candidate[places[place]] ^= bit);
    Ok(probe.attempt(&candidate, goal)?.ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::strategy::compares::seen::observed::tests::compare;

    #[test]
    fn what_is_right_is_counted_from_an_end() {
        let number = |left, right| compare(1, left, right).operands;
        let two = number(0x1234, 0x5234);
        let counted = |operands: &Operands, end| right(operands, (width(operands), end));
        assert_eq!((width(&two), counted(&two, End::First), counted(&two, End::Last)), (2, 14, 1));
        let equal = number(0x1234, 0x1234);
        assert_eq!((counted(&equal, End::First), counted(&equal, End::Last)), (16, 16));
        assert_eq!(width(&number(0, 1 << 31)), 4);
    }
}
