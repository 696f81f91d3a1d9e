//! Lets two numbers compare otherwise: candidates for the places that an operand depends on.

use super::super::input::digits;
use super::super::input::encodings::{fields, near, text, texts, turning};
use super::super::input::once;
use super::super::probing::probe::{Probe, Problem, Solution, Step};
use super::super::seen::number::Number;
use super::super::seen::observed::{Observed, Operands};
use super::bytes::in_hex;
use crate::engine::checks::{number, write};
use std::ops::Range;

/// Places that follow each other and are more than this hold no number.
const RUN_BYTES_MAX: usize = 24;
/// So many runs of places are tried.
const RUNS_MAX: usize = 4;
const GLANCES_MAX: usize = 2;
/// Digits of a number in text that is moved, at most.
const DIGITS_MAX: usize = 15;

/// Tries what is likely, in a few dozen executions for each place.
pub(super) fn solve(probe: &mut Probe<'_, '_>, problem: Problem<'_>) -> Step<Option<Solution>> {
    let Problem { input, goal, dependence } = problem;
    let Operands::Numbers { ty, sides, .. } = goal.operands else { return Ok(None) };
    for side in 0..2 {
        let (own, other) = (sides[side], sides[1 - side]);
        for run in dependence.runs(side).into_iter().filter(|run| run.len() <= RUN_BYTES_MAX).take(RUNS_MAX) {
            let place = Place { input, run };
            let mut candidates = Vec::new();
            // As wide as the places are at first, which is most often right.
            let spans = spans(place.input, &place.run);
            let (first, rest) = spans.split_at(spans.len().min(1));
            for wanted in near(ty, other) {
                place.replaced(ty, wanted, first, &mut candidates);
                place.moved((own, wanted), first, &mut candidates);
            }
            if goal.operands.is_part_of_text(1 - side) {
                let wanted = goal.operands.bytes(1 - side).unwrap_or_default();
                in_hex(&wanted).iter().for_each(|text| place.over(text, &mut candidates));
            }
            for wanted in near(ty, other) {
                place.texts(ty, wanted, &mut candidates);
                place.moved_text(ty, (own, wanted), &mut candidates);
            }
            for wanted in near(ty, other) {
                place.replaced(ty, wanted, rest, &mut candidates);
                place.moved((own, wanted), rest, &mut candidates);
            }
            if let Some(solution) = probe.first(candidates, goal)? {
                return Ok(Some(solution));
            }
            if let Some(solution) = by_slope(probe, &place, goal, side)? {
                return Ok(Some(solution));
            }
            if let Some(solution) = as_float(probe, &place, goal, side)? {
                return Ok(Some(solution));
            }
        }
        if let Some(solution) = by_length(probe, problem, side, &near(ty, other))? {
            return Ok(Some(solution));
        }
    }
    Ok(None)
}

/// Tries what is most likely, in one or two executions for each place: the number that is wanted, written as wide as
/// the place is.
pub(super) fn glance(probe: &mut Probe<'_, '_>, problem: Problem<'_>) -> Step<Option<Solution>> {
    let Problem { input, goal, dependence } = problem;
    let Operands::Numbers { ty, .. } = goal.operands else { return Ok(None) };
    for side in 0..2 {
        let Some(wanted) = turning(&goal.operands, side) else { continue };
        let mut candidates = Vec::new();
        for run in dependence.runs(side).into_iter().take(GLANCES_MAX) {
            let place = Place { input, run: run.clone() };
            if input[run.clone()].iter().all(u8::is_ascii_digit)
                && let Some(text) = text(ty, wanted)
            {
                candidates.push(place.spliced(&text));
            }
            if run.len() <= 8 {
                place.replaced(ty, wanted, &[run], &mut candidates);
            }
        }
        if let Some(solution) = probe.first(candidates, goal)? {
            return Ok(Some(solution));
        }
        if let Some(solution) = by_length(probe, problem, side, &[wanted])? {
            return Ok(Some(solution));
        }
    }
    Ok(None)
}

/// Fields around a run of places: as wide as it is, and as numbers are.
pub(super) fn spans(input: &[u8], run: &Range<usize>) -> Vec<Range<usize>> {
    let Range { start, end } = *run;
    let mut spans = Vec::new();
    for width in [run.len(), 1, 2, 4, 8] {
        // A number that is wider than what was seen to change begins there, or ends there.
        for start in [start, end.saturating_sub(width)] {
            let span = start..start + width;
            if width <= 8 && width >= run.len().min(8) && span.end <= input.len() {
                once::add(&mut spans, span);
            }
        }
    }
    spans
}

/// Where an operand may lie in an input.
struct Place<'i> {
    input: &'i [u8],
    run: Range<usize>,
}

impl Place<'_> {
    /// The number written in its place, in all ways in which it keeps its value.
    fn replaced(&self, ty: Number, wanted: u64, spans: &[Range<usize>], candidates: &mut Vec<Vec<u8>>) {
        for span in spans {
            for field in fields(ty, wanted, span.len()) {
                let mut candidate = self.input.to_vec();
                candidate[span.clone()].copy_from_slice(&field);
                once::add(candidates, candidate);
            }
        }
    }

    /// The number written in its place as text.
    fn texts(&self, ty: Number, wanted: u64, candidates: &mut Vec<Vec<u8>>) {
        for text in texts(ty, wanted) {
            // In the place of what is there, and over what follows.
            once::add(candidates, self.spliced(&text));
            self.over(&text, candidates);
        }
    }

    /// A text in the place of what is there.
    fn spliced(&self, text: &[u8]) -> Vec<u8> {
        let mut candidate = self.input.to_vec();
        candidate.splice(self.run.clone(), text.iter().copied());
        candidate
    }

    /// A text written from the place on.
    fn over(&self, text: &[u8], candidates: &mut Vec<Vec<u8>>) {
        let mut candidate = self.input.to_vec();
        let end = (self.run.start + text.len()).min(candidate.len());
        candidate.splice(self.run.start..end, text.iter().copied());
        once::add(candidates, candidate);
    }

    /// The number that is there moved as the operand must be: it may be the operand but for a constant that was added,
    /// taken away, or combined by `xor`.
    fn moved(&self, (own, wanted): (u64, u64), spans: &[Range<usize>], candidates: &mut Vec<Vec<u8>>) {
        for span in spans {
            for big_endian in [false, true] {
                let old = number(&self.input[span.clone()], big_endian);
                let by = wanted.wrapping_sub(own);
                for new in [old.wrapping_add(by), old.wrapping_sub(by), old ^ own ^ wanted] {
                    let mut candidate = self.input.to_vec();
                    write(&mut candidate[span.clone()], new, big_endian);
                    once::add(candidates, candidate);
                }
            }
        }
    }

    /// As [`Place::moved`], for a number in text around the place.
    fn moved_text(&self, ty: Number, (own, wanted): (u64, u64), candidates: &mut Vec<Vec<u8>>) {
        if ty.is_float() {
            return;
        }
        let by = ty.change(own, wanted);
        for radix in [10, 16, 8] {
            let span = digits::around(self.input, self.run.start, radix);
            let Some(span) = span.filter(|span| span.len() <= DIGITS_MAX) else { continue };
            // So few digits fit.
            let old = digits::value(&self.input[span.clone()], radix) as i64;
            for new in [old.checked_add(by), old.checked_sub(by)].into_iter().flatten() {
                let Ok(new) = u64::try_from(new) else { continue };
                let text = digits::written(new, radix, span.len());
                let more = text.len() - span.len();
                let mut candidate = self.input.to_vec();
                candidate.splice(span.clone(), text.bytes());
                once::add(candidates, candidate);
                // What follows may have to stay where it is.
                if let Some(start) = span.start.checked_sub(more).filter(|_| more > 0) {
                    let mut candidate = self.input.to_vec();
                    candidate.splice(start..span.end, text.bytes());
                    once::add(candidates, candidate);
                }
            }
        }
    }
}

/// A number written over a run of places, in all ways.
pub(super) fn replaced(input: &[u8], run: Range<usize>, (ty, wanted): (Number, u64), candidates: &mut Vec<Vec<u8>>) {
    let place = Place { input, run };
    place.replaced(ty, wanted, &spans(place.input, &place.run), candidates);
    place.texts(ty, wanted, candidates);
}

/// Adds to the number whose lowest byte is at a place, and which another byte before or behind it belongs to where it
/// needs one. `None` if that is not enough.
pub(super) fn add(input: &mut [u8], lowest: usize, by: i64) -> Option<()> {
    let byte = i64::from(input[lowest]).checked_add(by)?;
    if let Ok(byte) = u8::try_from(byte) {
        input[lowest] = byte;
        return Some(());
    }
    let higher = [lowest.checked_sub(1), Some(lowest + 1)].into_iter().flatten().filter(|&at| at < input.len());
    let carried = |at: usize| Some((at, u8::try_from(i64::from(input[at]) + byte.div_euclid(256)).ok()?));
    let (at, high) = higher.filter_map(carried).min_by_key(|&(at, _)| input[at])?;
    input[at] = high;
    input[lowest] = byte.rem_euclid(256) as u8;
    Some(())
}

/// Sees how the operand changes when the number at a place is one more, and goes on in that way (Newton's method; exact
/// for what is multiplied by a constant, modulo a power of two too).
fn by_slope(probe: &mut Probe<'_, '_>, place: &Place<'_>, goal: &Observed, side: usize) -> Step<Option<Solution>> {
    let Operands::Numbers { ty, sides, .. } = goal.operands else { return Ok(None) };
    for span in spans(place.input, &place.run) {
        for big_endian in [false, true] {
            let old = number(&place.input[span.clone()], big_endian);
            let with = |new: u64| {
                let mut candidate = place.input.to_vec();
                write(&mut candidate[span.clone()], new, big_endian);
                candidate
            };
            let moved = match probe.attempt(&with(old.wrapping_add(1)), goal)? {
                Ok(solution) => return Ok(Some(solution)),
                Err(moved) => moved,
            };
            let Some(Operands::Numbers { sides: others, .. }) = moved.map(|moved| moved.operands) else { continue };
            let steps = steps(ty, (sides[side], others[side]), sides[1 - side]);
            let candidates: Vec<_> = steps.into_iter().map(|step| with(old.wrapping_add(step))).collect();
            if let Some(solution) = probe.first(candidates, goal)? {
                return Ok(Some(solution));
            }
        }
    }
    Ok(None)
}

/// Takes what lies at a place for a float, makes it larger, and writes what the operand would be the other one with if
/// it were linear.
fn as_float(probe: &mut Probe<'_, '_>, place: &Place<'_>, goal: &Observed, side: usize) -> Step<Option<Solution>> {
    let Operands::Numbers { ty, sides, .. } = goal.operands else { return Ok(None) };
    if !ty.is_float() {
        return Ok(None);
    }
    for span in spans(place.input, &place.run).into_iter().filter(|span| matches!(span.len(), 4 | 8)) {
        for big_endian in [false, true] {
            let with = |value: f64| {
                let bits = if span.len() == 4 { u64::from((value as f32).to_bits()) } else { value.to_bits() };
                let mut candidate = place.input.to_vec();
                write(&mut candidate[span.clone()], bits, big_endian);
                candidate
            };
            let bits = number(&place.input[span.clone()], big_endian);
            let old = if span.len() == 4 { f32::from_bits(bits as u32).into() } else { f64::from_bits(bits) };
            // From what is no plain number nothing follows.
            let start = if (1e-30..1e30).contains(&old.abs()) { old } else { 0.0 };
            let step = (start.abs() / 64.0).max(1.0);
            let mut ends = [ty.float(sides[side]); 2];
            for (value, end) in [start, start + step].into_iter().zip(&mut ends) {
                match probe.attempt(&with(value), goal)? {
                    Ok(solution) => return Ok(Some(solution)),
                    Err(Some(Observed { operands: Operands::Numbers { sides, .. }, .. })) => {
                        *end = ty.float(sides[side]);
                    }
                    Err(_) => {}
                }
            }
            let candidates: Vec<_> = near(ty, sides[1 - side])
                .into_iter()
                .map(|wanted| start + (ty.float(wanted) - ends[0]) * step / (ends[1] - ends[0]))
                .filter(|value| value.is_finite())
                .map(with)
                .collect();
            if let Some(solution) = probe.first(candidates, goal)? {
                return Ok(Some(solution));
            }
        }
    }
    Ok(None)
}

/// How far to go until the operand, which `next` follows in one step, is `other`.
fn steps(ty: Number, (own, next): (u64, u64), other: u64) -> Vec<u64> {
    let mut steps = Vec::new();
    let step = if ty.is_float() {
        let step = (ty.float(other) - ty.float(own)) / (ty.float(next) - ty.float(own));
        if !step.is_finite() {
            return steps;
        }
        step as i64
    } else {
        let (slope, by) = (next.wrapping_sub(own) & ty.mask(), other.wrapping_sub(own));
        if slope & 1 == 1 {
            steps.push(by.wrapping_mul(inverse(slope)));
        }
        match ty.signed(by).checked_div(ty.signed(slope)) {
            Some(step) => step,
            None => return steps,
        }
    };
    steps.extend([step, step.wrapping_add(1), step.wrapping_sub(1)].map(i64::cast_unsigned));
    steps
}

/// The inverse of an odd number modulo 2^64, by Newton's method: each step doubles the bits that are right, of which
/// there are 3 at first.
fn inverse(odd: u64) -> u64 {
    (0..5).fold(odd, |inverse, _| inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse))))
}

/// Makes the input longer or shorter in the ways that change an operand, to let it be one of the numbers that are
/// wanted.
fn by_length(
    probe: &mut Probe<'_, '_>,
    Problem { input, goal, dependence }: Problem<'_>,
    side: usize,
    wanted: &[u64],
) -> Step<Option<Solution>> {
    let Operands::Numbers { ty, sides, .. } = goal.operands else { return Ok(None) };
    for (growth, slopes) in dependence.by_length.iter().enumerate().filter(|(_, slopes)| slopes[side] != 0) {
        for wanted in wanted {
            let by = ty.change(sides[side], *wanted).checked_div(slopes[side]).unwrap_or(0);
            let Some(candidate) = probe.form.grown(input, growth, (by, false), probe.len_max) else { continue };
            if let Some(solution) = probe.attempt_grown(&candidate, goal)? {
                return Ok(Some(solution));
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_lead_to_the_other_operand() {
        assert!(steps(Number::I32, (100, 103), 400).contains(&100));
        // 7x = 1 modulo 2^32.
        let inverse = steps(Number::I32, (0, 7), 1)[0];
        assert_eq!(inverse.wrapping_mul(7) as u32, 1);
        let float = |value: f64| value.to_bits();
        assert!(steps(Number::F64, (float(0.25), float(0.5)), float(100.25)).contains(&400));
        assert!(steps(Number::F64, (float(0.0), float(0.0)), float(1.0)).is_empty());
        assert!(steps(Number::I64, (5, 5), 9).is_empty());
    }

    #[test]
    fn inverses_are_exact() {
        for odd in [1_u64, 3, 33, 0x0100_0000_01b3, u64::MAX] {
            assert_eq!(odd.wrapping_mul(inverse(odd)), 1, "{odd}");
        }
    }
}
