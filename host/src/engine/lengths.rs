//! Numbers of an input that count bytes of it, and how they stay true when it changes.
//!
//! A length, an offset, and a number of elements are one thing here: a field, and the bytes that it counts. What is put
//! in between these, or taken out, makes the field another one; so does what happens to a length inside them that is
//! written in digits. (FrameShift, Harrison and others, 2025, section 3; who finds such fields is
//! `strategy/lengths`.)

use super::checks::{Writing, number};
use super::rng::Rng;
use std::ops::Range;

/// A field that counts bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Length {
    /// Where it is written, and how.
    pub(super) field: Range<usize>,
    pub(super) writing: Writing,
    /// It is one for so many bytes.
    pub(super) unit: usize,
    /// The bytes that it counts: what follows it, what it is a part of, or all before a place.
    pub(super) body: Range<usize>,
}

/// One run of bytes in the place of another one.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Edit {
    old: Range<usize>,
    new: usize,
}

/// Digits of a length at most.
const DIGITS_MAX: usize = 10;

impl Edit {
    /// What makes the one of the other; `None` if they are equal. Of several the last one.
    fn between(old: &[u8], new: &[u8]) -> Option<Self> {
        let equal = |(one, other): &(&u8, &u8)| one == other;
        let start = old.iter().zip(new).take_while(equal).count();
        if start == old.len() && start == new.len() {
            return None;
        }
        let behind = old[start..].iter().rev().zip(new[start..].iter().rev()).take_while(equal).count();
        Some(Self { old: start..old.len() - behind, new: new.len() - behind - start })
    }

    /// Where a place behind it is now.
    fn moved(&self, at: usize) -> usize {
        at - self.old.len() + self.new
    }

    /// Whether nothing is taken away.
    fn is_put_in(&self) -> bool {
        self.old.is_empty()
    }
}

impl Length {
    /// Whether it says what is so.
    pub(super) fn is_true(&self, input: &[u8]) -> bool {
        self.body.end <= input.len() && self.written().is_some_and(|written| input[self.field.clone()] == written)
    }

    /// Whether it counts another one, with all that this counts.
    pub(super) fn is_around(&self, Self { field, body, .. }: &Self) -> bool {
        self.body.start <= field.start.min(body.start) && self.body.end >= field.end.max(body.end)
    }

    /// How it says how much it counts; `None` if there is no room for that, or if it is not a number of whole elements.
    pub(super) fn written(&self) -> Option<Vec<u8>> {
        let count = self.body.len();
        if !count.is_multiple_of(self.unit) {
            return None;
        }
        let value = (count / self.unit) as u64;
        match self.writing {
            Writing::Binary { .. } => self.writing.written(value, self.field.len()),
            Writing::Text { .. } => (1..=DIGITS_MAX).find_map(|width| self.writing.written(value, width)),
        }
    }

    /// Lies where an edit leaves it. What is put in where its body begins belongs to that, if its field is elsewhere;
    /// what is put in where that ends if it is said so.
    fn follow(&mut self, edit: &Edit, takes_end: bool) {
        let Edit { old, new } = edit;
        let Range { start, end } = self.body;
        let stays_before = edit.is_put_in() && self.field.start != start;
        let starts = if old.end < start || old.end == start && !stays_before {
            edit.moved(start)
        } else {
            start.min(old.start + new)
        };
        let ends = if old.end < end || old.end == end && (takes_end || !edit.is_put_in()) {
            edit.moved(end)
        } else {
            end.min(old.start)
        };
        self.body = starts..ends.max(starts);
        if old.end <= self.field.start {
            self.field = edit.moved(self.field.start)..edit.moved(self.field.end);
        }
    }
}

/// What stands somewhere as a number: digits that end there, or bytes of which the lowest lies there. `None` if nothing
/// does.
pub(super) fn read(input: &[u8], at: usize, (writing, width): (Writing, usize)) -> Option<(Range<usize>, u64)> {
    match writing {
        Writing::Binary { big_endian, offset } => {
            let start = if big_endian { (at + 1).checked_sub(width)? } else { at };
            let value = number(input.get(start..start + width)?, big_endian).wrapping_add(offset);
            Some((start..start + width, value))
        }
        Writing::Text { radix, .. } => {
            let is_digit = |byte: &u8| char::from(*byte).is_digit(radix);
            let digits = input[..=at].iter().rev().take_while(|byte| is_digit(byte)).count();
            let text = std::str::from_utf8(&input[at + 1 - digits..=at]).ok()?;
            let is_number = digits <= DIGITS_MAX && (digits == 1 || !text.starts_with('0'));
            let ends = !input.get(at + 1).is_some_and(is_digit);
            let value = u64::from_str_radix(text, radix).ok().filter(|_| is_number && ends)?;
            Some((at + 1 - digits..at + 1, value))
        }
    }
}

/// Lets lengths be true in `new`, which was made of `old` by a change. What that wrote itself is none any more.
pub(super) fn follow(lengths: &mut Vec<Length>, old: &[u8], new: &mut Vec<u8>, rng: &mut Rng) {
    let Some(edit) = Edit::between(old, new) else { return };
    *lengths = untouched(lengths, &edit);
    // What is put in where some end belongs to none of them, to the outermost, or to that and others.
    let ending = lengths.iter().filter(|length| length.body.end == edit.old.start).map(|length| length.body.start);
    let mut ending: Vec<_> = ending.collect();
    ending.sort_unstable();
    let innermost = rng.below(ending.len() + 1).checked_sub(1).map(|last| ending[last]);
    for length in &mut *lengths {
        length.follow(&edit, innermost.is_some_and(|innermost| length.body.start <= innermost));
    }
    write_all(lengths, new);
}

/// The lengths that are true in `new`, which was made of `old`, as it is.
pub(super) fn kept(lengths: &[Length], old: &[u8], new: &[u8]) -> Vec<Length> {
    let Some(edit) = Edit::between(old, new) else { return lengths.to_vec() };
    let mut lengths = untouched(lengths, &edit);
    lengths.iter_mut().for_each(|length| length.follow(&edit, false));
    lengths.retain(|length| length.is_true(new));
    lengths
}

/// Those whose fields an edit leaves alone.
fn untouched(lengths: &[Length], Edit { old, .. }: &Edit) -> Vec<Length> {
    lengths.iter().filter(|Length { field, .. }| old.end <= field.start || field.end <= old.start).cloned().collect()
}

/// An input with so many bytes more at a place, where something that is counted may end: all lengths count them that
/// count what is there, or ends there. `None` if one of them can't say it.
pub(super) fn grown(input: &[u8], lengths: &[Length], at: usize, by: usize) -> Option<Vec<u8>> {
    let (before, behind) = input.split_at(at);
    // As what is there ends, so that elements are some.
    let added = &before[at.saturating_sub(by)..];
    let edit = Edit { old: at..at, new: added.len() };
    let mut new = [before, added, behind].concat();
    let mut lengths = lengths.to_vec();
    let count = lengths.len();
    lengths.iter_mut().for_each(|length| length.follow(&edit, true));
    write_all(&mut lengths, &mut new);
    (lengths.len() == count && added.len() == by).then_some(new)
}

/// Writes lengths that aren't true, the last first: digits may move what is behind them, and are counted by others. One
/// that can't say what is so stays as it was, and is none any more.
fn write_all(lengths: &mut Vec<Length>, input: &mut Vec<u8>) {
    lengths.sort_by_key(|length| length.field.start);
    for place in (0..lengths.len()).rev() {
        let Some(written) = lengths[place].written() else {
            lengths.remove(place);
            continue;
        };
        let field = lengths[place].field.clone();
        let edit = Edit { old: field.clone(), new: written.len() };
        input.splice(field.clone(), written);
        if edit.new != field.len() {
            lengths.iter_mut().for_each(|length| length.follow(&edit, false));
            lengths[place].field = field.start..field.start + edit.new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTE: Writing = Writing::Binary { big_endian: false, offset: 0 };
    const DECIMAL: Writing = Writing::Text { radix: 10, upper: false };

    fn length(field: Range<usize>, writing: Writing, unit: usize, body: Range<usize>) -> Length {
        Length { field, writing, unit, body }
    }

    /// `x`, a length of all behind it, and in that a shorter one.
    fn nested() -> (Vec<u8>, Vec<Length>) {
        let input = b"x\x06\x02ab:cd".to_vec();
        (input, vec![length(1..2, BYTE, 1, 2..8), length(2..3, BYTE, 1, 3..5)])
    }

    /// What comes out if `change` is made, by the seed of the random numbers.
    fn followed(change: impl Fn(&mut Vec<u8>), seed: u64) -> (Vec<u8>, Vec<Length>) {
        let (old, mut lengths) = nested();
        let mut new = old.clone();
        change(&mut new);
        follow(&mut lengths, &old, &mut new, &mut Rng::of_task(seed, 0, 0));
        assert!(lengths.iter().all(|length| length.is_true(&new)), "{} {lengths:?}", new.escape_ascii());
        (new, lengths)
    }

    #[test]
    fn lengths_stay_true_where_bytes_are_put_in_or_taken_out() {
        let insert = |at: usize, text: &'static [u8]| {
            move |input: &mut Vec<u8>| drop(input.splice(at..at, text.iter().copied()).collect::<Vec<_>>())
        };
        assert_eq!(followed(insert(4, b"!!"), 1).0, b"x\x08\x04a!!b:cd");
        assert_eq!(followed(insert(6, b"!"), 1).0, b"x\x07\x02ab:!cd");
        assert_eq!(followed(insert(0, b"!"), 1).0, b"!x\x06\x02ab:cd");
        assert_eq!(followed(insert(3, b"!"), 1).0, b"x\x07\x03!ab:cd");
        let delete = |range: Range<usize>| move |input: &mut Vec<u8>| drop(input.drain(range.clone()));
        assert_eq!(followed(delete(3..4), 1).0, b"x\x05\x01b:cd");
        assert_eq!(followed(delete(4..6), 1).0, b"x\x04\x01acd", "of two that it goes across each loses its part");
        assert_eq!(followed(|input: &mut Vec<u8>| input[6] = b'!', 1).0, b"x\x06\x02ab:!d");
        // What writes the number itself is left alone, and is no length any more; the other one is.
        let (new, lengths) = followed(|input: &mut Vec<u8>| input[2] = 9, 1);
        assert_eq!((&new[..], lengths.len()), (&b"x\x06\x09ab:cd"[..], 1));
        assert!(followed(delete(1..3), 1).1.is_empty());
    }

    #[test]
    fn what_is_put_in_where_lengths_end_belongs_to_some_of_the_outer_ones() {
        let (old, mut outcomes) = (b"\x04\x03abc".to_vec(), std::collections::BTreeSet::new());
        for seed in 0..64 {
            let mut lengths = vec![length(0..1, BYTE, 1, 1..5), length(1..2, BYTE, 1, 2..5)];
            let mut new = [&old[..], b"!"].concat();
            follow(&mut lengths, &old, &mut new, &mut Rng::of_task(seed, 0, 0));
            outcomes.insert(new);
        }
        assert_eq!(outcomes, [&b"\x04\x03abc!"[..], b"\x05\x03abc!", b"\x05\x04abc!"].map(<[u8]>::to_vec).into());
    }

    #[test]
    fn digits_offsets_and_numbers_of_elements_follow_too() {
        let rng = &mut Rng::of_task(1, 0, 0);
        // The outer one counts the digits of the inner one.
        let old = b"12:9:abcdefghi+".to_vec();
        let mut lengths = vec![length(0..2, DECIMAL, 1, 3..15), length(3..4, DECIMAL, 1, 5..14)];
        let mut new = b"12:9:abcde!fghi+".to_vec();
        follow(&mut lengths, &old, &mut new, rng);
        assert_eq!(new, b"14:10:abcde!fghi+");
        assert!(lengths.iter().all(|length| length.is_true(&new)), "{lengths:?}");
        // An offset of `z`, and two elements of two bytes before it.
        let old = b"\x07\x02aabb-z".to_vec();
        let lengths = || vec![length(0..1, BYTE, 1, 0..7), length(1..2, BYTE, 2, 2..6)];
        let (mut all, mut new) = (lengths(), b"\x07\x02aaaabb-z".to_vec());
        follow(&mut all, &old, &mut new, rng);
        assert_eq!(new, b"\x09\x03aaaabb-z");
        let (mut all, mut new) = (lengths(), b"\x07\x02aaabb-z".to_vec());
        follow(&mut all, &old, &mut new, rng);
        assert_eq!((&new[..], all.len()), (&b"\x08\x02aaabb-z"[..], 1), "half an element is none");
    }

    #[test]
    fn what_can_not_say_how_much_it_counts_is_no_length_any_more() {
        let (old, rng) = ([&[250][..], &[b'a'; 250]].concat(), &mut Rng::of_task(1, 0, 0));
        let (mut lengths, mut new) = (vec![length(0..1, BYTE, 1, 1..251)], old.clone());
        new.splice(9..9, [b'!'; 9]);
        follow(&mut lengths, &old, &mut new, rng);
        assert_eq!((new[0], lengths.len()), (250, 0));
        assert_eq!(grown(&old, &[length(0..1, BYTE, 1, 1..251)], 251, 9), None);
    }

    #[test]
    fn what_is_grown_ends_as_before_and_is_counted_by_all_around_it() {
        let (input, lengths) = nested();
        assert_eq!(grown(&input, &lengths, 5, 2).unwrap(), b"x\x08\x04abab:cd");
        assert_eq!(grown(&input, &lengths, 8, 2).unwrap(), b"x\x08\x02ab:cdcd");
        assert_eq!(grown(&input, &lengths, 1, 4), None, "there are not so many before it");
    }

    #[test]
    fn lengths_of_what_was_made_shorter_are_kept_if_they_are_true() {
        let (old, lengths) = nested();
        assert_eq!(kept(&lengths, &old, &old), lengths);
        assert_eq!(kept(&lengths, &old, b"\x06\x02ab:cd"), [length(0..1, BYTE, 1, 1..7), length(1..2, BYTE, 1, 2..4)]);
        assert_eq!(kept(&lengths, &old, b"x\x06\x02ab:c"), [length(2..3, BYTE, 1, 3..5)]);
    }

    #[test]
    fn numbers_are_read_by_their_lowest_byte_or_last_digit() {
        let big = Writing::Binary { big_endian: true, offset: 0 };
        let low = Writing::Binary { big_endian: false, offset: 0x40_u64.wrapping_neg() };
        assert_eq!(read(b"a\x01\x02z", 2, (big, 2)), Some((1..3, 0x102)));
        assert_eq!(read(b"a\x02\x01z", 1, (BYTE, 2)), Some((1..3, 0x102)));
        assert_eq!(read(b"\x02", 0, (big, 2)), None);
        assert_eq!(read(b"Cabc", 0, (low, 1)), Some((0..1, 3)));
        assert_eq!(read(b"a12:", 2, (DECIMAL, 0)), Some((1..3, 12)));
        assert_eq!(read(b"a12:", 1, (DECIMAL, 0)), None, "not all of it");
        assert_eq!(read(b"012:", 2, (DECIMAL, 0)), None, "its width is another thing");
        assert_eq!(read(b"a12:", 3, (DECIMAL, 0)), None);
    }
}
