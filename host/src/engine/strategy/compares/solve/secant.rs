//! Operands that grow or fall with a number in the input, by whatever rule: what is divided, scaled, squared, or put
//! together with others.
//!
//! Two values of the number for which the operands differ by something else say where to go on (the secant method);
//! between one that is too small and one that is too large halves are tried where that says little. A check on the way
//! may want something of the same number, as what is left of a division: the number is moved by what that lacks.

use super::super::input::digits;
use super::super::input::encodings::{fits, leb128};
use super::super::input::once;
use super::super::input::places::Dependence;
use super::super::probing::probe::{End, Probe, Problem, Solution, Step};
use super::super::probing::way::Way;
use super::super::seen::observed::{Observed, Operands};
use super::numbers::spans;
use crate::engine::checks::{number, write};
use std::ops::Range;

/// Places that follow each other, by side, and ways to read a number there.
const RUNS_MAX: usize = 2;
const WRITINGS_MAX: usize = 4;
/// Executions for each.
const EXECS: u64 = 32;
/// What a number is made larger by, in bits, until the operands differ by something else.
const STEPS: [u32; 6] = [0, 6, 12, 20, 26, 40];
/// How often a number that does not get there is brought nearer to one that does.
const RETREATS: u32 = 6;
/// Digits of a number in text, at most.
const DIGITS_MAX: usize = 18;

/// Moves numbers until the operands turn.
pub(super) fn solve(probe: &mut Probe<'_, '_>, problem: Problem<'_>) -> Step<Option<Solution>> {
    let Problem { input, goal, dependence } = problem;
    let Some(difference) = difference(goal) else { return Ok(None) };
    let aim = aim(goal, difference);
    let (mut way, is_plain) = (None, probe.form.is_plain());
    for writing in runs(dependence).into_iter().flat_map(|run| Writing::all(input, run, is_plain)) {
        let start = writing.read(input);
        let mut search = Search { probe, problem, writing, aim, way: &mut way, left: EXECS };
        match search.all((start, difference - aim)) {
            Ok(()) => {}
            Err(Ended::Solved(solution)) => return Ok(Some(*solution)),
            Err(Ended::Early(end)) => return Err(end),
        }
    }
    Ok(None)
}

/// How many executions [`solve`] may make.
pub(super) fn execs(Problem { goal, dependence, .. }: Problem<'_>) -> u64 {
    let writings = runs(dependence).len() * WRITINGS_MAX;
    if difference(goal).is_some() { writings as u64 * EXECS / 2 } else { 0 }
}

/// Places that follow each other where a number may lie.
fn runs(dependence: &Dependence) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for run in (0..2).flat_map(|side| dependence.runs(side).into_iter().take(RUNS_MAX)) {
        once::add(&mut runs, run);
    }
    if runs.is_empty() { dependence.held.clone() } else { runs }
}

/// How much larger the first operand is, in the order that numbers of its type have.
fn difference(observed: &Observed) -> Option<i128> {
    let Operands::Numbers { ty, sides, .. } = observed.operands else { return None };
    // The bits of floats are in their order, but for the sign.
    let ordered = |bits: u64| match ty.is_float() {
        true => {
            let bits = ty.float(bits).to_bits().cast_signed();
            i128::from(if bits < 0 { i64::MIN.wrapping_sub(bits) } else { bits })
        }
        false => i128::from(ty.signed(bits)),
    };
    Some(ordered(sides[0]) - ordered(sides[1]))
}

/// The difference with which they turn, next to none at all: none, if that is enough.
fn aim(goal: &Observed, difference: i128) -> i128 {
    let Operands::Numbers { sides, .. } = goal.operands else { return 0 };
    let is_enough = goal.operands.turns(0, sides[1]);
    if is_enough {
        0
    } else if difference > 0 {
        -1
    } else {
        1
    }
}

/// How a number is written in an input.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Writing {
    Field {
        span: Range<usize>,
        big_endian: bool,
    },
    Digits {
        span: Range<usize>,
        radix: u32,
    },
    /// LEB128, perhaps of what zigzag makes of it.
    Variable {
        span: Range<usize>,
        zigzag: bool,
    },
}

impl Writing {
    /// How a number may be written around a run of places; in other lengths if it is `plain`.
    fn all(input: &[u8], run: Range<usize>, plain: bool) -> Vec<Self> {
        let mut all = Vec::new();
        for radix in [10, 16] {
            let is_one = |span: &Range<usize>| {
                span.len() <= DIGITS_MAX && (radix == 10 || !input[span.clone()].iter().all(u8::is_ascii_digit))
            };
            let span = digits::around(input, run.start, radix).filter(is_one);
            all.extend(span.map(|span| Self::Digits { span, radix }));
        }
        let more = |byte: &&u8| **byte >= 0x80;
        let before = input[..run.start].iter().rev().take_while(more).count();
        let start = run.start - before;
        let len = input[start..].iter().take_while(more).count() + 1;
        if plain && start + len <= input.len() && len <= 9 && all.is_empty() {
            all.extend([false, true].map(|zigzag| Self::Variable { span: start..start + len, zigzag }));
        }
        let fields = spans(input, &run).into_iter().take(2).flat_map(|span| {
            let orders: &[bool] = if span.len() == 1 { &[false] } else { &[false, true] };
            orders.iter().map(move |&big_endian| Self::Field { span: span.clone(), big_endian })
        });
        // What is as wide as the places is most often a field.
        let at = if run.len() > 1 && !input[run.clone()].iter().all(u8::is_ascii_digit) { 0 } else { all.len() };
        all.splice(at..at, fields);
        all.truncate(WRITINGS_MAX);
        all
    }

    /// The number that an input has there.
    fn read(&self, input: &[u8]) -> i128 {
        match self {
            Self::Field { span, big_endian } => number(&input[span.clone()], *big_endian).into(),
            Self::Digits { span, radix } => digits::value(&input[span.clone()], *radix),
            Self::Variable { span, zigzag } => {
                let bits = input[span.clone()].iter().rev().fold(0, |bits, &byte| bits << 7 | i128::from(byte & 0x7f));
                if *zigzag { (bits >> 1) ^ -(bits & 1) } else { bits }
            }
        }
    }

    /// The input with another number; `None` if there is no room for it.
    fn write(&self, input: &[u8], value: i128) -> Option<Vec<u8>> {
        let mut written = input.to_vec();
        match self {
            Self::Field { span, big_endian } => {
                if !fits(value, span.len()) {
                    return None;
                }
                write(&mut written[span.clone()], value as u64, *big_endian);
            }
            Self::Digits { span, radix } => {
                let text = digits::written(u64::try_from(value).ok()?, *radix, span.len());
                written.splice(span.clone(), text.into_bytes());
            }
            Self::Variable { span, zigzag } => {
                let value = if *zigzag { (value << 1) ^ (value >> 127) } else { value };
                written.splice(span.clone(), leb128(u64::try_from(value).ok()?));
            }
        }
        Some(written)
    }
}

/// A number, and by how much more than they are to the operands differ then.
type Point = (i128, i128);

/// Why a search ends.
enum Ended {
    Solved(Box<Solution>),
    Early(End),
}

impl From<End> for Ended {
    fn from(end: End) -> Self {
        Self::Early(end)
    }
}

struct Search<'s, 'r, 'a> {
    probe: &'s mut Probe<'r, 'a>,
    problem: Problem<'s>,
    writing: Writing,
    /// By how much the operands are to differ.
    aim: i128,
    /// Looked for when it is needed.
    way: &'s mut Option<Way>,
    left: u64,
}

impl Search<'_, '_, '_> {
    fn all(&mut self, first: Point) -> Result<(), Ended> {
        let Some(second) = self.second(first)? else { return Ok(()) };
        let mut points = [first, second];
        while self.left > 0 {
            points.sort_by_key(|(_, difference)| difference.abs());
            let [(near, by), (far, other)] = points;
            if by == other {
                break;
            }
            let is_between = by.signum() != other.signum();
            // What bends hardly gets nearer by secants alone.
            let is_halved = is_between && self.left.is_multiple_of(3);
            let step = if is_halved { (far - near) / 2 } else { part(-by, far - near, other - by) };
            let step = if step == 0 { (far - near).signum() } else { step };
            let Some(found) = self.towards(near, step)? else { break };
            let is_nearer = found.1.abs() < by.abs();
            if found.0 == near || found.0 == far || !is_between && !is_nearer {
                break;
            }
            points[usize::from(!is_between || found.1.signum() != by.signum())] = found;
        }
        Ok(())
    }

    /// Another number for which the operands differ by something else.
    fn second(&mut self, (start, difference): Point) -> Result<Option<Point>, Ended> {
        for step in STEPS.map(|bits| 1_i128 << bits) {
            for step in [step, -step] {
                if let Some(found) = self.at(start + step)? {
                    if found.1 != difference {
                        return Ok(Some(found));
                    }
                    // A larger one tells as much as a smaller one.
                    break;
                }
            }
        }
        Ok(None)
    }

    /// Goes so far, or, where the goal is not come to, a part of it.
    fn towards(&mut self, from: i128, step: i128) -> Result<Option<Point>, Ended> {
        for retreat in 0..RETREATS {
            let step = step / (1 << retreat);
            if step == 0 {
                break;
            }
            if let Some(found) = self.at(from + step)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Executes the input with a number, or, if the goal is not come to, the one nearby with which a check on the way
    /// turns out as it did.
    fn at(&mut self, value: i128) -> Result<Option<Point>, Ended> {
        let Problem { input, goal, .. } = self.problem;
        let Some(candidate) = self.writing.write(input, value) else { return Ok(None) };
        if let Some(difference) = self.attempt(&candidate)? {
            return Ok(Some((value, difference)));
        }
        if self.left == 0 {
            return Ok(None);
        }
        let way = match self.way {
            Some(way) => way,
            None => self.way.insert(Way::of(self.probe, input, goal)?),
        };
        self.left -= 1;
        let turned = way.turned(self.probe, &candidate)?;
        let Some(lacks) = turned.first().and_then(difference).filter(|&lacks| lacks != 0) else { return Ok(None) };
        for value in [value - lacks, value + lacks] {
            if let Some(candidate) = self.writing.write(input, value)
                && let Some(difference) = self.attempt(&candidate)?
            {
                return Ok(Some((value, difference)));
            }
        }
        Ok(None)
    }

    /// By how much the operands differ; `None` if the goal is not come to.
    fn attempt(&mut self, candidate: &[u8]) -> Result<Option<i128>, Ended> {
        self.left = self.left.saturating_sub(1);
        match self.probe.attempt(candidate, self.problem.goal)? {
            Ok(solution) => Err(Ended::Solved(Box::new(solution))),
            Err(observed) => Ok(observed.as_ref().and_then(difference).map(|difference| difference - self.aim)),
        }
    }
}

/// `number * part / whole`, about.
fn part(number: i128, part: i128, whole: i128) -> i128 {
    let about = || (number as f64 * part as f64 / whole as f64) as i128;
    number.checked_mul(part).map_or_else(about, |product| product / whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_they_were_read() {
        let digits = |radix| Writing::Digits { span: 1..4, radix };
        let variable = |zigzag| Writing::Variable { span: 1..3, zigzag };
        let field = Writing::Field { span: 1..3, big_endian: true };
        for (input, writing, value, written) in [
            (&b"x042y"[..], digits(10), 42, &b"x057y"[..]),
            (b"x04fy", digits(16), 79, b"x05ey"),
            (b"x\x9f\x08y", variable(false), 0x41f, b"x\xae\x08y"),
            (b"x\x9f\x08y", variable(true), -0x210, b"x\x81\x08y"),
            (b"x\x01\x02y", field, 0x102, b"x\x01\x11y"),
        ] {
            assert_eq!(writing.read(input), value, "{writing:?}");
            assert_eq!(writing.write(input, value + 15).unwrap(), written, "{writing:?}");
            assert_eq!(writing.write(input, value).unwrap(), input, "{writing:?}");
        }
        assert_eq!(digits(10).write(b"x042y", 1234).unwrap(), b"x1234y", "longer if it has to be");
        assert_eq!(digits(10).write(b"x042y", -1), None);
        assert_eq!(Writing::Field { span: 0..1, big_endian: false }.write(b"x", 256), None);
    }

    #[test]
    fn what_is_as_wide_as_the_places_is_looked_at_first() {
        let first =
            |input: &[u8], run: Range<usize>, plain| Writing::all(input, run, plain).into_iter().next().unwrap();
        assert_eq!(first(b"\x01\x02\x03\x04", 0..4, true), Writing::Field { span: 0..4, big_endian: false });
        assert_eq!(first(b"n=1234;", 4..6, true), Writing::Digits { span: 2..6, radix: 10 });
        let all = Writing::all(b"\x80\x01\0", 1..2, true);
        assert!(all.contains(&Writing::Variable { span: 0..2, zigzag: true }), "{all:?}");
        assert!(!Writing::all(b"\x80\x01\0", 1..2, false).contains(&Writing::Variable { span: 0..2, zigzag: true }));
    }

    #[test]
    fn parts_of_large_numbers_are_about_right() {
        assert_eq!(part(-7, 10, 20), -3);
        let (large, whole) = (1_i128 << 66, 1_i128 << 70);
        assert_eq!(part(large, 1 << 68, whole), 1 << 64);
    }
}
