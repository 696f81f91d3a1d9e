//! Makes a length another one, and what it counts as long.
//!
//! A number that is compared may say at the same time how much of what follows belongs together. With that number alone
//! changed, all that lies behind is read from elsewhere, and a checksum there is none any more: so nothing is seen to
//! depend on it, and nothing that is written there gets to the goal. So as much is put in, or taken out, where what it
//! counts ends: before the field of a guard, as many bytes behind the number as it says, or at the input's end. Then
//! all that follows stays what it was. (FrameShift keeps such lengths true in mutants; here one is to be something.)

use super::super::input::encodings::turning;
use super::super::input::form::LONGER;
use super::super::input::once;
use super::super::input::places::Dependence;
use super::super::probing::probe::{Probe, Problem, Solution, Step};
use super::super::seen::observed::Operands;
use super::numbers;
use std::collections::BTreeSet;

/// Numbers that may be the length.
const NUMBERS_MAX: usize = 6;
/// Places where what it counts may end.
const ENDS_MAX: usize = 6;
/// Bytes between a length and what it counts: none, or as many as the name of a chunk has.
const BETWEEN: [usize; 2] = [0, 4];
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
        let numbers: Vec<_> = length.numbers.iter().copied().filter(|&at| !is_guarded(at)).take(NUMBERS_MAX).collect();
        for lowest in numbers {
            let ends = length.ends(problem.input, lowest, probe.guards.iter().map(|guard| guard.field.start));
            let candidates = ends.iter().flat_map(|&end| length.resized(problem, lowest, end));
            if let Some(solution) = probe.first(candidates.collect::<Vec<_>>(), problem.goal)? {
                return Ok(Some(solution));
            }
        }
    }
    Ok(None)
}

/// A side that may be a length.
struct Length {
    own: u64,
    /// By how much it is to be larger.
    by: i64,
    /// The lowest bytes of what it may be in the input.
    numbers: Vec<usize>,
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
        let is_literal = |at: &&usize| input.get(**at) == Some(&(own as u8));
        // What lies nearest to what it counts is most likely.
        let away = dependence.away.iter().rev().filter(is_literal);
        let numbers: Vec<usize> = dependence.sides[side].iter().rev().chain(away).copied().collect();
        (!numbers.is_empty()).then_some(Self { own, by, numbers })
    }

    /// Where what the number counts may end.
    fn ends(&self, input: &[u8], lowest: usize, guards: impl Iterator<Item = usize>) -> Vec<usize> {
        let own = usize::try_from(self.own).unwrap_or(usize::MAX);
        let counted = BETWEEN.into_iter().flat_map(|between| [1, 2, 4].map(|width| lowest + width + between));
        let counted = counted.map(|start| start.saturating_add(own));
        let mut ends = Vec::new();
        for end in guards.chain(counted).chain([input.len()]).filter(|&end| end > lowest && end <= input.len()) {
            once::add(&mut ends, end);
        }
        ends.truncate(ENDS_MAX);
        ends
    }

    /// The input with another number, and what ends at `end` as much longer or shorter; also with all lengths that
    /// count this.
    fn resized(&self, Problem { input, dependence, .. }: Problem<'_>, lowest: usize, end: usize) -> Vec<Vec<u8>> {
        let with = |numbers: &BTreeSet<usize>| {
            let mut resized = input.to_vec();
            numbers.iter().try_for_each(|&at| numbers::add(&mut resized, at, self.by))?;
            let bytes = usize::try_from(self.by.unsigned_abs()).ok()?;
            if self.by > 0 {
                resized.splice(end..end, std::iter::repeat_n(LONGER, bytes));
            } else {
                let start = end.checked_sub(bytes).filter(|&start| start > lowest)?;
                resized.drain(start..end);
            }
            Some(resized)
        };
        let alone = BTreeSet::from([lowest]);
        let around = outer(input, dependence, lowest, end);
        let all = &alone | &around;
        with(&alone).into_iter().chain(if around.is_empty() { None } else { with(&all) }).collect()
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
            assert!(length.ends(input, 1, std::iter::empty()).contains(&end));
            length.resized(problem, 1, end)
        };
        assert_eq!(resized(b"x\x02ab!", &compare(1, 2, 4), 4), [b"x\x04abAA!"]);
        assert_eq!(resized(b"x\x03abc!", &compare(1, 3, 1), 5), [b"x\x01a!"]);
        // What is around it, too.
        let both = resized(b"\x04\x02ab!", &compare(1, 2, 3), 4);
        assert_eq!(both, [b"\x04\x03abA!", b"\x05\x03abA!"]);
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
