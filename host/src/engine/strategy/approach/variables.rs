//! What of an input is changed: numbers that a guest draws; or words of the bytes that it is found to depend on.

use super::climb::{Climber, Point};
use crate::engine::strategy::compares::Form;
use crate::stream::Rule;
use anyhow::Result;
use std::ops::Range;

/// Bytes that are looked at together first, where there are many.
const CHUNK: usize = 16;
/// Where there are no more they are looked at one by one.
const FEW: usize = 32;
/// Bytes that are changed to find out whether anything depends on them: most of their bits.
const CHANGE: u8 = 0x55;
/// Bytes that decide, and others on which the way depends, at most.
const BYTES_MAX: usize = 64;
/// Numbers that have their turn, at most.
const NUMBERS_MAX: usize = 256;

/// Something of an input that is a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Variable {
    /// Bytes as a number, the lowest or the highest first.
    Word { at: Range<usize>, big_endian: bool },
    /// How long it is, in one of the ways of its form.
    Length(usize),
}

impl Variable {
    /// The input with this changed by so much; `None` if there is none.
    pub(super) fn changed(&self, form: &Form, by: i64, len_max: usize) -> Option<Vec<u8>> {
        match self {
            Self::Length(growth) => form.grown(form.bytes(), *growth, (by, false), len_max),
            Self::Word { at, big_endian } => {
                let mut bytes = form.bytes().to_vec();
                let own = bytes.get_mut(at.clone())?;
                let mut word = [0; 8];
                let place = |index: usize| if *big_endian { own.len() - 1 - index } else { index };
                (0..own.len()).for_each(|index| word[place(index)] = own[index]);
                let changed = u64::from_le_bytes(word).wrapping_add(by.cast_unsigned()).to_le_bytes();
                let place = |index: usize, len: usize| if *big_endian { len - 1 - index } else { index };
                let len = own.len();
                (0..len).for_each(|index| own[index] = changed[place(index, len)]);
                Some(form.input(&bytes).into_owned())
            }
        }
    }
}

impl Climber<'_, '_> {
    /// The variables of a point, those first that are likely to decide. `None` if finding them came nearer: then it has
    /// others.
    pub(super) fn variables(&mut self, best: &mut Point) -> Result<Option<Vec<Variable>>> {
        let (numbers, bytes) = best.form.numbers_and_bytes();
        let (mut hot, mut cold) = (Vec::new(), Vec::new());
        let count: usize = bytes.iter().map(Range::len).sum();
        let mut open: Vec<Range<usize>> = bytes.iter().flat_map(|range| chunks(range, count)).rev().collect();
        while let Some(range) = open.pop() {
            if hot.len() >= BYTES_MAX || cold.len() >= BYTES_MAX || self.left == 0 {
                break;
            }
            let before = best.score;
            let Some(score) = self.changed(best, &range)? else { break };
            if best.score < before {
                return Ok(None);
            }
            match range.len() {
                _ if score == before => {}
                1 if score.level == before.level => hot.push(range.start),
                1 => cold.push(range.start),
                len => {
                    let middle = range.start + len / 2;
                    open.extend([middle..range.end, range.start..middle]);
                }
            }
        }
        let lengths = (0..best.form.growths()).map(Variable::Length);
        let mut variables: Vec<_> = self.some_of(numbers).into_iter().flat_map(|at| words(at, false)).collect();
        variables.extend(runs(&hot).into_iter().flat_map(|run| words(run, true)));
        if variables.is_empty() {
            variables.splice(0..0, lengths)
        } else {
            variables.splice(variables.len().., lengths)
        };
        variables.extend(cold.into_iter().map(|at| Variable::Word { at: at..at + 1, big_endian: false }));
        Ok(Some(variables))
    }

    /// Executes a point with some of its bytes changed, and takes that if it is nearer. How near it is.
    fn changed(&mut self, best: &mut Point, range: &Range<usize>) -> Result<Option<super::score::Score>> {
        let mut bytes = best.form.bytes().to_vec();
        bytes[range.clone()].iter_mut().for_each(|byte| *byte ^= CHANGE);
        let input = best.form.input(&bytes).into_owned();
        let Some(point) = self.execute(&input, &Rule { close: true, ..Rule::default() })? else { return Ok(None) };
        let score = point.score;
        if score < best.score {
            *best = point;
        }
        Ok(Some(score))
    }

    /// Where there are too many numbers, those from one on that is chosen at random.
    fn some_of(&mut self, mut numbers: Vec<Range<usize>>) -> Vec<Range<usize>> {
        if numbers.len() > NUMBERS_MAX {
            let first = self.rng.below(numbers.len());
            numbers.rotate_left(first);
            numbers.truncate(NUMBERS_MAX);
        }
        numbers
    }
}

/// A range in parts that are looked at together, where there are so many bytes in all.
fn chunks(range: &Range<usize>, count: usize) -> Vec<Range<usize>> {
    let len = if count <= FEW { 1 } else { CHUNK };
    let end = range.end;
    range.clone().step_by(len).map(|start| start..(start + len).min(end)).collect()
}

/// Places that follow each other, as ranges of up to 8.
fn runs(places: &[usize]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for &place in places {
        match runs.last_mut() {
            Some(run) if run.end == place && run.len() < 8 => run.end += 1,
            _ => runs.push(place..place + 1),
        }
    }
    runs
}

/// The numbers that bytes may be: as wide as they are, and what they have of 8, 4, 2 and 1 bytes.
fn words(at: Range<usize>, may_be_parts: bool) -> Vec<Variable> {
    let widths = [8, 4, 2, 1].into_iter().filter(|width| *width < at.len() && may_be_parts);
    let parts = widths.flat_map(|width| {
        let starts = at.clone().step_by(width).filter(move |start| start + width <= at.end);
        starts.map(move |start| start..start + width)
    });
    let both = |at: Range<usize>| {
        let big = (at.len() > 1 && may_be_parts).then(|| Variable::Word { at: at.clone(), big_endian: true });
        std::iter::once(Variable::Word { at, big_endian: false }).chain(big)
    };
    std::iter::once(at.clone()).chain(parts).flat_map(both).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_changed_in_either_order_of_their_bytes() {
        let form = Form::plain(&[0xff, 0, 1, 7]);
        let changed = |big_endian, by| Variable::Word { at: 0..3, big_endian }.changed(&form, by, 9).unwrap();
        assert_eq!((changed(false, 1), changed(true, 1)), (vec![0, 1, 1, 7], vec![0xff, 0, 2, 7]));
        assert_eq!((changed(false, -0x100), changed(true, -2)), (vec![0xff, 0xff, 0, 7], vec![0xfe, 0xff, 0xff, 7]));
        assert_eq!(Variable::Length(0).changed(&form, 2, 9).unwrap().len(), 6);
        assert_eq!(Variable::Length(0).changed(&form, 8, 9), None);
    }

    #[test]
    fn runs_of_bytes_are_numbers_of_all_widths() {
        assert_eq!(runs(&[1, 2, 3, 4, 9, 11, 12]), [1..5, 9..10, 11..13]);
        let places: Vec<_> = words(1..4, true)
            .into_iter()
            .map(|word| if let Variable::Word { at, big_endian } = word { (at, big_endian) } else { panic!() })
            .collect();
        let expected =
            [(1..4, false), (1..4, true), (1..3, false), (1..3, true), (1..2, false), (2..3, false), (3..4, false)];
        assert_eq!(places, expected);
        assert_eq!(words(0..4, false).len(), 1);
    }
}
