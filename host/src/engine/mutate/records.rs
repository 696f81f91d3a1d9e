//! Changes of records that have their length in front of them: it stays true.
//!
//! A length is guessed: a number of 2 or 4 bytes that is no larger than what follows it is rarely anything else, since
//! most of its bytes are zero (what a field does to others is what FrameShift, of AFL++ 4.40, finds by executing). One
//! of a single byte is small, or its record ends where the input does. What seems to count a record and what is around
//! it changes with it, half of the time.

use super::Context;
use super::blocks::{insert_at, other, remove, repeat, replace, token};
use crate::engine::rng::Rng;
use crate::engine::used::List;
use std::ops::Range;

/// How far a length is looked for, in bytes.
const LOOK_MAX: usize = 128;
/// So much later than where a record's bytes end the next one may begin: checksums, padding.
const TRAILER_MAX: usize = 8;
/// By so many bytes a record is made longer, at most.
const GROWTH_MAX: usize = 32;
/// A record is rarely shorter, in bytes.
const LEN_MIN: usize = 1;

/// A number that seems to be the length of what follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Field {
    at: usize,
    width: usize,
    big_endian: bool,
    len: usize,
}

impl Field {
    /// What stands somewhere, if it can be a length.
    fn read<const WIDTH: usize, const BIG_ENDIAN: bool>(bytes: &[u8], at: usize) -> Option<Self> {
        let (before, (field, behind)) = (bytes.get(..at)?, bytes.get(at..)?.split_first_chunk::<WIDTH>()?);
        let len = number::<WIDTH, BIG_ENDIAN>(field);
        if !(LEN_MIN..=behind.len()).contains(&len) {
            return None;
        }
        if WIDTH == 1 && len != behind.len() && (len >= usize::from(b' ') || field[0].is_ascii_whitespace()) {
            return None;
        }
        // With zeros in front, or behind, it is rather a number of more bytes.
        let is_narrow = WIDTH == 1 && (before.last() == Some(&0) || behind.first() == Some(&0));
        let rest = if BIG_ENDIAN { before.last_chunk() } else { behind.first_chunk() };
        let is_part = WIDTH == 2 && rest == Some(&[0, 0]);
        (!is_part && !is_narrow).then_some(Self { at, width: WIDTH, big_endian: BIG_ENDIAN, len })
    }

    /// The first one of a width and a byte order that begins at one of these places.
    fn first(bytes: &[u8], places: Range<usize>, (width, big_endian): (usize, bool)) -> Option<Self> {
        // A loop for each: most of them find nothing.
        match (width, big_endian) {
            (1, _) => Self::first_of::<1, true>(bytes, places),
            (2, false) => Self::first_of::<2, false>(bytes, places),
            (2, true) => Self::first_of::<2, true>(bytes, places),
            (_, false) => Self::first_of::<4, false>(bytes, places),
            (_, true) => Self::first_of::<4, true>(bytes, places),
        }
    }

    fn first_of<const WIDTH: usize, const BIG_ENDIAN: bool>(bytes: &[u8], places: Range<usize>) -> Option<Self> {
        let looked_at = bytes.get(places.start..bytes.len().min(places.end + WIDTH - 1))?;
        // Most are too large, whatever is around them.
        let fits = |field| (LEN_MIN..=bytes.len()).contains(&number::<WIDTH, BIG_ENDIAN>(field));
        let mut fitting = looked_at.array_windows().zip(places).filter(|&(field, _)| fits(field));
        fitting.find_map(|(_, at)| Self::read::<WIDTH, BIG_ENDIAN>(bytes, at))
    }

    /// The first one of a width and a byte order, by chance, from a random place on.
    fn any(bytes: &[u8], rng: &mut Rng) -> Option<Self> {
        if bytes.is_empty() {
            return None;
        }
        // Those of more bytes are surer.
        let width = [1, 2, 4, 4][rng.below(4)];
        let big_endian = rng.one_in(2);
        Self::any_of(bytes, (width, big_endian), rng)
    }

    /// The first one of this width and byte order from a random place on.
    fn any_of(bytes: &[u8], kind: (usize, bool), rng: &mut Rng) -> Option<Self> {
        if bytes.is_empty() {
            return None;
        }
        let start = rng.below(bytes.len());
        Self::first(bytes, start..bytes.len().min(start + LOOK_MAX), kind)
    }

    /// What it says is its record's.
    fn body(self) -> Range<usize> {
        let start = self.at + self.width;
        start..start + self.len
    }

    /// From here to the next such field, if there is one where this record ends.
    fn record(self, bytes: &[u8]) -> Range<usize> {
        let end = self.body().end;
        let last = end + TRAILER_MAX;
        let next = Self::first(bytes, end..last + 1, (self.width, self.big_endian)).map(|next| next.at);
        self.at..next.unwrap_or(last.min(bytes.len()))
    }

    /// The fields before it whose records have all of this one, and which are written in the same way.
    fn around(self, bytes: &[u8]) -> impl Iterator<Item = Self> {
        let places = self.at.saturating_sub(LOOK_MAX)..self.at;
        let kind = (self.width, self.big_endian);
        let read = move |at: usize| Self::first(bytes, at..at + 1, kind);
        places.filter_map(read).filter(move |other| other.body().end >= self.body().end)
    }

    fn write(self, bytes: &mut [u8], len: usize) -> bool {
        if self.width < 4 && len >> (8 * self.width) != 0 {
            return false;
        }
        let number = len as u32;
        let (little, big) = (number.to_le_bytes(), number.to_be_bytes());
        let written = if self.big_endian { &big[4 - self.width..] } else { &little[..self.width] };
        bytes[self.at..self.at + self.width].copy_from_slice(written);
        true
    }
}

/// The number that stands in these bytes.
fn number<const WIDTH: usize, const BIG_ENDIAN: bool>(field: &[u8; WIDTH]) -> usize {
    let with = |number: usize, &byte: &u8| number << 8 | usize::from(byte);
    if BIG_ENDIAN { field.iter().fold(0, with) } else { field.iter().rev().fold(0, with) }
}

/// Makes a record longer or shorter.
pub(super) fn resize(context: &mut Context<'_>) -> bool {
    let Some(field) = Field::any(context.input, context.rng) else { return false };
    let body = field.body();
    let around: Vec<_> = if context.rng.one_in(2) { field.around(context.input).collect() } else { Vec::new() };
    if context.rng.one_in(2) {
        let most = if context.rng.one_in(2) { 4 } else { 64 };
        let count = 1 + context.rng.below(field.len.min(most));
        let start = body.start + context.rng.below(field.len - count + 1);
        if !field.write(context.input, field.len - count) {
            return false;
        }
        for outer in around {
            outer.write(context.input, outer.len.saturating_sub(count));
        }
        remove(context.input, start..start + count);
        return true;
    }
    let most = if context.rng.one_in(2) { 4 } else { GROWTH_MAX };
    let count = 1 + context.rng.below(most);
    if context.input.len() + count > context.len_max || !field.write(context.input, field.len + count) {
        return false;
    }
    for outer in around {
        outer.write(context.input, outer.len + count);
    }
    let at = body.start + context.rng.below(field.len + 1);
    let mut made = [0; GROWTH_MAX];
    made[..count].fill_with(|| context.rng.byte());
    insert_at(context, at, &made[..count])
}

/// Repeats a record, leaves it out, or puts in one of another testcase.
pub(super) fn change_record(context: &mut Context<'_>) -> bool {
    let Some(field) = Field::any(context.input, context.rng) else { return false };
    let record = field.record(context.input);
    match context.rng.below(4) {
        0 if record.len() < context.input.len() => {
            remove(context.input, record);
            true
        }
        1 => repeat(context, record),
        choice => {
            let other = other(context);
            // One that is written in the same way: it begins where this one does, if both begin too late.
            let same = Field::any_of(other, (field.width, field.big_endian), context.rng);
            let Some(from) = same.map(|field| field.record(other)) else { return false };
            if choice == 2 {
                replace(context, record, &other[from])
            } else {
                insert_at(context, record.start, &other[from])
            }
        }
    }
}

/// Puts a token behind the length of a record that is as long as something else: names of chunks stand there.
pub(super) fn name_record(context: &mut Context<'_>) -> bool {
    let list = if context.rng.one_in(2) { List::Fields } else { List::Compared };
    let Some(field) = Field::any(context.input, context.rng) else { return false };
    let Some(name) = token(context, list) else { return false };
    let body = field.body();
    if name.len() > context.input.len() - body.start || name.len() > TRAILER_MAX {
        return false;
    }
    let mut record = context.input[field.record(context.input)].to_vec();
    let end = (field.width + name.len()).min(record.len());
    record[field.width..end].copy_from_slice(&name[..end - field.width]);
    // In its place, or before it.
    let range = field.record(context.input);
    if context.rng.one_in(2) { replace(context, range, &record) } else { insert_at(context, field.at, &record) }
}

#[cfg(test)]
mod tests {
    use super::super::{Dictionary, favour::Favours};
    use super::*;
    use crate::coverage::Profile;
    use crate::engine::Corpus;
    use crate::engine::testcase::NewTestcase;

    /// A record as PNG has them: length, name, so many bytes, checksum.
    fn record(len: u8) -> Vec<u8> {
        [&[0, 0, 0, len][..], &[255; 4], &vec![254; len.into()], &[253; 4]].concat()
    }

    /// Whether it is such records, one after the other.
    fn is_whole(mut bytes: &[u8]) -> bool {
        while let Some((len, rest)) = bytes.split_first_chunk() {
            let Some(rest) = rest.get(u32::from_be_bytes(*len) as usize + 8..) else { return false };
            bytes = rest;
        }
        bytes.is_empty()
    }

    fn corpus() -> Corpus {
        let mut corpus = Corpus::new(1);
        let input = [5, 9, 17].map(record).concat();
        corpus.admit(NewTestcase { input, unseen: Profile(vec![(0, 1)]), ..NewTestcase::default() });
        corpus
    }

    #[test]
    fn lengths_stay_true_where_they_were_guessed_well() {
        let (corpus, dictionary, favours) = (corpus(), Dictionary::default(), Favours::default());
        for change in [resize, change_record] {
            let (mut changed, mut whole) = (0, 0);
            for seed in 0..4_000 {
                let before = [3, 20, 11, 6].map(record).concat();
                let (mut input, rng) = (before.clone(), &mut Rng::of_task(seed, 0, 0));
                let (corpus, dictionary, favours, used) = (&corpus, &dictionary, &favours, None);
                let mut context = Context { input: &mut input, rng, corpus, dictionary, len_max: 200, favours, used };
                if change(&mut context) && input != before {
                    changed += 1;
                    whole += usize::from(is_whole(&input));
                }
                assert!(input.len() <= 200);
            }
            // By the last two bytes of a length records are cut there; the last one then ends too early.
            assert!(changed > 500 && whole * 10 > changed * 9, "{whole} of {changed}");
        }
    }

    #[test]
    fn what_counts_a_record_changes_with_it() {
        let (corpus, dictionary, favours) = (corpus(), Dictionary::default(), Favours::default());
        // As ASN.1 has them: what each says is all that follows it.
        let is_nested = |input: &[u8]| {
            let is_so = |level: usize| {
                let rest = input.get(2 * level..)?.strip_prefix(&[0xe0])?;
                Some(usize::from(*rest.first()?) == rest.len() - 1)
            };
            (0..3).all(|level| is_so(level) == Some(true))
        };
        let (mut changed, mut whole) = (0, 0);
        for seed in 0..4_000 {
            let before = [&[0xe0, 9, 0xe0, 7, 0xe0, 5][..], &[0xff; 5]].concat();
            assert!(is_nested(&before));
            let (mut input, rng) = (before.clone(), &mut Rng::of_task(seed, 0, 0));
            let (corpus, dictionary, favours, used) = (&corpus, &dictionary, &favours, None);
            let mut context = Context { input: &mut input, rng, corpus, dictionary, len_max: 200, favours, used };
            if resize(&mut context) && input.len() != before.len() {
                changed += 1;
                whole += usize::from(is_nested(&input));
            }
        }
        // Of the innermost one; others are cut open as often.
        assert!(changed > 500 && whole * 8 > changed, "{whole} of {changed}");
    }

    #[test]
    fn a_record_gets_a_name_with_the_length_of_another() {
        let (mut corpus, dictionary, favours) = (corpus(), Dictionary::default(), Favours::default());
        corpus.add_tokens([(0, b"gAMA".to_vec())]);
        let (mut named, mut whole) = (0, 0);
        for seed in 0..4_000 {
            let (mut input, rng) = ([3, 20, 11].map(record).concat(), &mut Rng::of_task(seed, 0, 0));
            let (corpus, dictionary, favours, used) = (&corpus, &dictionary, &favours, None);
            let mut context = Context { input: &mut input, rng, corpus, dictionary, len_max: 200, favours, used };
            if name_record(&mut context) && input.windows(4).any(|name| name == b"gAMA") {
                named += 1;
                whole += usize::from(is_whole(&input));
            }
        }
        assert!(named > 250 && whole * 10 > named * 9, "{whole} of {named}");
    }

    #[test]
    fn texts_have_no_records() {
        let (corpus, dictionary, favours) = (corpus(), Dictionary::default(), Favours::default());
        let mut input = b"key = value, and no more than that".to_vec();
        for seed in 0..100 {
            let (rng, before) = (&mut Rng::of_task(seed, 0, 0), input.clone());
            let (corpus, dictionary, favours, used) = (&corpus, &dictionary, &favours, None);
            let mut context = Context { input: &mut input, rng, corpus, dictionary, len_max: 99, favours, used };
            assert!(!resize(&mut context) && !change_record(&mut context) && input == before);
        }
    }
}
