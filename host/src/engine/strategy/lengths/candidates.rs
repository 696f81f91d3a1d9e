//! What may be a length, by how it is written and by what lies around it.

use crate::engine::checks::{Writing, number};
use crate::engine::lengths::{self, Length};
use std::ops::Range;

/// A length is made larger by so much, or by what it is.
const STEP: usize = 4;
/// How numbers are written that may be lengths: those of more bytes are surer.
const WRITINGS: [(Writing, usize); 7] = [
    (Writing::Binary { big_endian: false, offset: 0 }, 4),
    (Writing::Binary { big_endian: true, offset: 0 }, 4),
    (Writing::Binary { big_endian: false, offset: 0 }, 2),
    (Writing::Binary { big_endian: true, offset: 0 }, 2),
    (Writing::Binary { big_endian: false, offset: 0 }, 1),
    (Writing::Text { radix: 10, upper: false }, 0),
    (Writing::Text { radix: 16, upper: false }, 0),
];
/// Where what is counted may begin.
pub(super) const BEGINS: [Begin; 11] = [
    Begin::Behind(0),
    Begin::Before(0),
    Begin::Behind(4),
    Begin::Input,
    Begin::Told,
    Begin::Before(2),
    Begin::Before(4),
    Begin::Before(1),
    Begin::Behind(1),
    Begin::Behind(2),
    Begin::End,
];
/// The bits of a short length that may be a type.
const TYPE_BITS: u8 = 0xe0;
/// Elements have so many bytes, and there are no more of them.
const UNITS: [usize; 12] = [2, 3, 4, 6, 8, 10, 12, 14, 16, 20, 24, 32];
const ELEMENTS_MAX: usize = 32;

/// Where what a field counts begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Begin {
    /// So many bytes behind it: a name may lie in between.
    Behind(usize),
    /// So many bytes before it: where its record begins.
    Before(usize),
    /// Where the input does.
    Input,
    /// So that it ends where the field begins.
    End,
    /// Where the number says that lies before it.
    Told,
}

/// How a length is written, by its place in [`WRITINGS`], where what it counts begins, and in what.
pub(super) type Kind = (usize, Begin, usize);

/// By how many bytes what a length counts is made longer.
pub(super) fn step(length: &Length) -> usize {
    if length.unit == 1 { STEP.min(length.body.len()) } else { length.unit }
}

/// An input with a larger number and nothing else.
pub(super) fn larger(input: &[u8], length: &Length) -> Option<Vec<u8>> {
    let body = length.body.start..length.body.end + step(length);
    let written = Length { body, ..length.clone() }.written()?;
    Some([&input[..length.field.start], &written, &input[length.field.end..]].concat())
}

/// What may be counted by a number whose lowest byte, or last digit, is there.
pub(super) fn candidates(input: &[u8], at: usize) -> Vec<(Kind, Length)> {
    let mut candidates: Vec<(Kind, Length)> = Vec::new();
    // In many formats the highest bits of a short length are a type.
    let low = Writing::Binary { big_endian: false, offset: u64::from(input[at] & TYPE_BITS).wrapping_neg() };
    let typed = (input[at] & TYPE_BITS != 0).then_some((low, 1));
    for (place, writing) in WRITINGS.into_iter().chain(typed).enumerate() {
        let Some((field, value)) = lengths::read(input, at, writing) else { continue };
        let Some(value) = usize::try_from(value).ok().filter(|value| (1..=input.len()).contains(value)) else {
            continue;
        };
        let begins = BEGINS.into_iter().map(|begin| (begin, 1));
        let units = UNITS.into_iter().filter(|_| value <= ELEMENTS_MAX).map(|unit| (Begin::Behind(0), unit));
        for (begin, unit) in begins.chain(units) {
            let Some(body) = begin.body(input, (&field, writing.0), value * unit) else { continue };
            let is_new = candidates.iter().all(|(_, other)| other.body != body || other.unit != unit);
            if is_new && body.end <= input.len() && (begin == Begin::End || body.end > field.end) {
                let length = Length { field: field.clone(), writing: writing.0, unit, body };
                candidates.push(((place, begin, unit), length));
            }
        }
    }
    candidates
}

impl Begin {
    /// What a field counts that begins there and has so many bytes.
    fn body(self, input: &[u8], (field, writing): (&Range<usize>, Writing), bytes: usize) -> Option<Range<usize>> {
        let start = match self {
            Self::Behind(between) => field.end + between,
            Self::Before(before) => field.start.checked_sub(before)?,
            Self::Input => 0,
            Self::End => return Some(field.start.checked_sub(bytes)?..field.start),
            Self::Told => {
                let before = field.start.checked_sub(field.len())?;
                let Writing::Binary { big_endian, .. } = writing else { return None };
                let start = usize::try_from(number(&input[before..field.start], big_endian)).ok()?;
                Some(start).filter(|&start| start >= field.end && start < input.len())?
            }
        };
        Some(start..start.checked_add(bytes)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_may_count_what_follows_it_what_it_is_in_or_all_before_a_place() {
        let bodies = |input: &[u8], at| -> Vec<_> {
            let all = candidates(input, at).into_iter();
            all.map(|(_, length)| (length.field, length.unit, length.body)).collect()
        };
        let of_byte = bodies(b"ab\x04cdefghijkl", 2);
        for wanted in [(2..3, 1, 3..7), (2..3, 1, 7..11), (2..3, 1, 2..6), (2..3, 2, 3..11)] {
            assert!(of_byte.contains(&wanted), "{wanted:?}");
        }
        assert!(of_byte.iter().all(|(_, _, body)| body.end > 3 && body.end <= 13), "{of_byte:?}");
        assert!(bodies(b"\0\x08abcdefghij", 1).contains(&(0..2, 1, 0..8)), "all before a place");
        assert!(bodies(b"12:abcdefghijklmno", 1).contains(&(0..2, 1, 3..15)));
        assert!(bodies(b"1:abc", 0).contains(&(0..1, 1, 2..3)));
        assert_eq!(bodies(b"zz", 1), []);
    }
}
