//! Makes a length another one, and what it counts as long.
//!
//! A number that is compared may say at the same time how much of what follows belongs together. With that number alone
//! changed, all that lies behind is read from elsewhere, and a checksum there is none any more: so nothing is seen to
//! depend on it, and nothing that is written there gets to the goal. So as much is put in, or taken out, where what it
//! counts ends: before the field of a guard, as many bytes behind the number as it says, or at the input's end. Then
//! all that follows stays what it was. (FrameShift keeps such lengths true in mutants; here one is to be something.)
//! The number may be written in digits, as in `4:spam`.

use super::super::input::digits;
use super::super::input::encodings::turning;
use super::super::input::form::LONGER;
use super::super::input::once;
use super::super::input::places::Dependence;
use super::super::probing::probe::{Probe, Problem, Solution, Step};
use super::super::seen::observed::Operands;
use super::numbers;
use std::collections::BTreeSet;
use std::ops::Range;

/// Fields that may be the length.
const FIELDS_MAX: usize = 6;
/// Places where what it counts may end.
const ENDS_MAX: usize = 6;
/// Bytes between a length and what it counts: none, or as many as the name of a chunk has.
const BETWEEN: [usize; 2] = [0, 4];
/// Bytes between the digits of a length and what it counts: what ends them, a line's end, or two.
const BEHIND_DIGITS: [usize; 4] = [1, 2, 0, 4];
const RADICES: [u32; 2] = [10, 16];
/// Digits of a length at most.
const DIGITS_MAX: usize = 8;
/// What is put in or taken out, in bytes.
const RESIZED_MAX: i64 = 4096;

/// Whether a goal that nothing was seen to change may be a length.
pub(in crate::engine::strategy::compares) fn is_length(Problem { input, goal, dependence }: Problem<'_>) -> bool {
    (0..2).any(|side| Length::of(Problem { input, goal, dependence }, side).is_some())
}

/// Lets numbers be lengths of what follows them, and makes that as long.
pub(super) fn solve(probe: &mut Probe<'_, '_>, problem: Problem<'_>) -> Step<Option<Solution>> {
    if !probe.form.is_plain() {
        return Ok(None);
    }
    // What a checksum covers but the length may be nothing yet.
    let guards = probe.guards.clone();
    probe.guards.extend_from_slice(&probe.constants);
    let solution = resized(probe, problem);
    probe.guards = guards;
    solution
}

fn resized(probe: &mut Probe<'_, '_>, problem: Problem<'_>) -> Step<Option<Solution>> {
    for length in (0..2).filter_map(|side| Length::of(problem, side)) {
        let is_guarded = |at: usize| probe.guards.iter().any(|guard| guard.field.contains(&at));
        let fields: Vec<_> = length.fields.iter().filter(|field| !is_guarded(field.last())).take(FIELDS_MAX).collect();
        for field in fields {
            let ends = length.ends(problem.input, field, probe.guards.iter().map(|guard| guard.field.start));
            let candidates = ends.iter().flat_map(|&end| length.resized(problem, field, end));
            if let Some(solution) = probe.first(candidates.collect::<Vec<_>>(), problem.goal)? {
                return Ok(Some(solution));
            }
        }
    }
    Ok(None)
}

/// Where a length may be written.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Field {
    /// The lowest byte of a number.
    Lowest(usize),
    /// Digits, to this base.
    Digits(Range<usize>, u32),
}

impl Field {
    /// The field at a place that holds `own`.
    fn at(input: &[u8], at: usize, own: u64) -> Option<Self> {
        if input.get(at) == Some(&(own as u8)) {
            return Some(Self::Lowest(at));
        }
        let written = |radix| {
            let span = digits::around(input, at, radix).filter(|span| span.len() <= DIGITS_MAX)?;
            (digits::value(&input[span.clone()], radix) == own.into()).then_some(Self::Digits(span, radix))
        };
        RADICES.into_iter().find_map(written)
    }

    fn first(&self) -> usize {
        match self {
            Self::Lowest(at) => *at,
            Self::Digits(span, _) => span.start,
        }
    }

    fn last(&self) -> usize {
        match self {
            Self::Lowest(at) => *at,
            Self::Digits(span, _) => span.end - 1,
        }
    }

    /// Where what it counts may begin.
    fn begins(&self) -> Vec<usize> {
        let end = self.last() + 1;
        match self {
            Self::Lowest(_) => {
                BETWEEN.into_iter().flat_map(|between| [0, 1, 3].map(|more| end + more + between)).collect()
            }
            Self::Digits(..) => BEHIND_DIGITS.map(|between| end + between).into(),
        }
    }

    /// The bytes before `end` with a number that is so much larger than `own`.
    fn written(&self, input: &[u8], end: usize, (own, by): (u64, i64)) -> Option<Vec<u8>> {
        let mut written = input[..end].to_vec();
        match self {
            Self::Lowest(at) => numbers::add(&mut written, *at, by)?,
            Self::Digits(span, radix) => {
                let new = digits::written(own.checked_add_signed(by)?, *radix, span.len());
                written.splice(span.clone(), new.into_bytes());
            }
        }
        Some(written)
    }
}

/// A side that may be a length.
struct Length {
    own: u64,
    /// By how much it is to be larger.
    by: i64,
    /// Where it may be in the input.
    fields: Vec<Field>,
}

impl Length {
    /// `None` if it can't be one that is to be another one.
    fn of(Problem { input, goal, dependence }: Problem<'_>, side: usize) -> Option<Self> {
        let Operands::Numbers { ty, sides, .. } = goal.operands else { return None };
        if ty.is_float() || !dependence.sides[1 - side].is_empty() {
            return None;
        }
        let own = sides[side];
        let by = ty.change(own, turning(&goal.operands, side)?);
        if by == 0 || !(-RESIZED_MAX..=RESIZED_MAX).contains(&by) || ty.signed(own) < 0 || ty.signed(own) > RESIZED_MAX
        {
            return None;
        }
        // What lies nearest to what it counts is most likely.
        let own_places = dependence.sides[side].iter().rev();
        let seen = own_places.map(|&at| Field::at(input, at, own).unwrap_or(Field::Lowest(at)));
        let away = dependence.away.iter().rev().filter_map(|&at| Field::at(input, at, own));
        let mut fields = Vec::new();
        seen.chain(away).for_each(|field| once::add(&mut fields, field));
        (!fields.is_empty()).then_some(Self { own, by, fields })
    }

    /// Where what the number counts may end.
    fn ends(&self, input: &[u8], field: &Field, guards: impl Iterator<Item = usize>) -> Vec<usize> {
        let own = usize::try_from(self.own).unwrap_or(usize::MAX);
        let counted = field.begins().into_iter().map(|start| start.saturating_add(own));
        let mut ends = Vec::new();
        let is_behind = |&end: &usize| end > field.last() && end <= input.len();
        for end in guards.chain(counted).chain([input.len()]).filter(is_behind) {
            once::add(&mut ends, end);
        }
        ends.truncate(ENDS_MAX);
        ends
    }

    /// The input with another number, and what ends at `end` as much longer or shorter; also with all lengths that
    /// count this.
    fn resized(&self, Problem { input, dependence, .. }: Problem<'_>, field: &Field, end: usize) -> Vec<Vec<u8>> {
        let with = |around: &BTreeSet<usize>| {
            let mut resized = field.written(input, end, (self.own, self.by))?;
            let longer = resized.len() as i64 - end as i64 + self.by;
            around.iter().try_for_each(|&at| numbers::add(&mut resized, at, longer))?;
            let bytes = usize::try_from(self.by.unsigned_abs()).ok()?;
            if self.by > 0 {
                resized.extend(std::iter::repeat_n(LONGER, bytes));
            } else {
                resized.truncate(resized.len().checked_sub(bytes).filter(|&start| start > field.last())?);
            }
            resized.extend_from_slice(&input[end..]);
            Some(resized)
        };
        let around = outer(input, dependence, field.first(), end);
        with(&BTreeSet::new()).into_iter().chain(if around.is_empty() { None } else { with(&around) }).collect()
    }
}

/// Bytes before a length that may count it and what it counts, up to `end`.
fn outer(input: &[u8], dependence: &Dependence, lowest: usize, end: usize) -> BTreeSet<usize> {
    let counts = |&at: &usize| (end..=input.len()).contains(&(at + 1 + usize::from(input[at])));
    dependence.away.iter().copied().take_while(|&at| at < lowest).filter(counts).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::strategy::compares::seen::number::Number;
    use crate::engine::strategy::compares::seen::observed::Observed;
    use crate::engine::strategy::compares::seen::observed::tests::compare;
    use fuzzbox_instrument::trace::Comparison;

    #[test]
    fn what_a_length_counts_becomes_longer_and_shorter_with_it() {
        let dependence = Dependence { away: vec![0, 1], ..Dependence::default() };
        let resized = |input: &[u8], goal: &Observed, end| {
            let problem = Problem { input, goal, dependence: &dependence };
            let length = Length::of(problem, 0).unwrap();
            assert!(length.ends(input, &length.fields[0], std::iter::empty()).contains(&end));
            length.resized(problem, &length.fields[0], end)
        };
        assert_eq!(resized(b"x\x02ab!", &compare(1, 2, 4), 4), [b"x\x04abAA!"]);
        assert_eq!(resized(b"x\x03abc!", &compare(1, 3, 1), 5), [b"x\x01a!"]);
        // What is around it, too.
        let both = resized(b"\x04\x02ab!", &compare(1, 2, 3), 4);
        assert_eq!(both, [b"\x04\x03abA!", b"\x05\x03abA!"]);
    }

    #[test]
    fn lengths_in_digits_get_as_many_as_they_need() {
        let dependence = Dependence { away: (0..5).collect(), ..Dependence::default() };
        let resized = |input: &[u8], goal: &Observed, end| {
            let length = Length::of(Problem { input, goal, dependence: &dependence }, 0).unwrap();
            assert!(length.ends(input, &length.fields[0], std::iter::empty()).contains(&end));
            length.resized(Problem { input, goal, dependence: &dependence }, &length.fields[0], end)
        };
        assert_eq!(resized(b"d2:ab!", &compare(1, 2, 4), 5), [b"d4:abAA!"]);
        assert_eq!(resized(b"d9:abcdefghi!", &compare(1, 9, 10), 12), [b"d10:abcdefghiA!"]);
        assert_eq!(resized(b"b\r\n0123456789a", &compare(1, 11, 9), 14), [b"9\r\n012345678"]);
    }

    #[test]
    fn only_what_is_in_the_input_is_a_length() {
        let dependence = Dependence { away: vec![0, 1], ..Dependence::default() };
        let is_length = |own, other| {
            is_length(Problem { input: b"x\x02ab!", goal: &compare(1, own, other), dependence: &dependence })
        };
        assert!(is_length(2, 300));
        assert!(!is_length(3, 300));
        assert!(!is_length(2, 1 << 20), "so much is not put in");
        let least = Operands::Numbers { comparison: Comparison::Eq, ty: Number::I64, sides: [0, 1 << 63] };
        let goal = Observed { operands: least, ..compare(1, 0, 0) };
        assert!(Length::of(Problem { input: b"x\0ab!", goal: &goal, dependence: &dependence }, 0).is_none());
    }
}
