//! Changes of what a known length counts: of elements one more or one less, of records whole ones.

use super::Context;
use super::blocks::{insert_at, remove, repeat};
use crate::engine::lengths::Length;
use std::ops::Range;

/// More bytes a record is not begun before its length, if nothing says where that is.
const HEAD_MAX: usize = 8;
/// Elements and bytes that are put in at once, at most.
const ELEMENTS_MAX: usize = 8;
const BYTES_MAX: usize = 32;

/// Changes what some length counts. The length itself is not made true.
pub(super) fn change(context: &mut Context<'_>, lengths: &[Length]) -> bool {
    let length = context.rng.pick(lengths);
    if length.unit > 1 {
        return change_elements(context, length);
    }
    let record = record(context, length, lengths);
    match context.rng.below(4) {
        0 => repeat(context, record),
        1 if record.len() < context.input.len() => {
            remove(context.input, record);
            true
        }
        2 => {
            // Behind what some other length counts.
            let block = context.input[record].to_vec();
            let at = context.rng.pick(lengths).body.end;
            insert_at(context, at, &block)
        }
        _ => {
            let most = if context.rng.one_in(2) { 4 } else { BYTES_MAX };
            let block = vec![context.rng.byte(); 1 + context.rng.below(most)];
            let at = if context.rng.one_in(2) { 0 } else { context.rng.below(length.body.len() + 1) };
            insert_at(context, length.body.end - at, &block)
        }
    }
}

/// Repeats an element, or leaves one out.
fn change_elements(context: &mut Context<'_>, Length { unit, body, .. }: &Length) -> bool {
    let count = body.len() / unit;
    if count == 0 {
        return false;
    }
    let start = body.start + unit * context.rng.below(count);
    if context.rng.one_in(3) {
        remove(context.input, start..start + unit);
        return true;
    }
    let most = if context.rng.one_in(2) { 1 } else { ELEMENTS_MAX };
    let block = context.input[start..start + unit].repeat(1 + context.rng.below(most));
    insert_at(context, start, &block)
}

/// What belongs to a length and to what it counts: from where the one before it ends, or a bit before its field.
fn record(context: &mut Context<'_>, Length { field, body, .. }: &Length, lengths: &[Length]) -> Range<usize> {
    let own = field.start.min(body.start);
    let first = own.saturating_sub(HEAD_MAX);
    let ends = lengths.iter().flat_map(|other| [other.body.end, other.body.start]);
    let known = ends.filter(|end| (first..=own).contains(end)).max();
    let start = known.unwrap_or_else(|| own - context.rng.below(own - first + 1));
    start..body.end.max(field.end)
}

#[cfg(test)]
mod tests {
    use super::super::Favours;
    use super::*;
    use crate::engine::checks::Writing;
    use crate::engine::{Corpus, Dictionary, Rng};
    use std::collections::BTreeSet;

    /// What is made of an input, with any random numbers.
    fn made(input: &[u8], lengths: &[Length]) -> BTreeSet<Vec<u8>> {
        let (corpus, dictionary, favours) = (&Corpus::new(0), &Dictionary::default(), &Favours::default());
        let make = |seed| {
            let (mut input, rng) = (input.to_vec(), &mut Rng::of_task(seed, 0, 0));
            let mut context = Context { input: &mut input, rng, corpus, dictionary, len_max: 64, favours, used: None };
            assert!(change(&mut context, lengths));
            input
        };
        (0..500).map(make).collect()
    }

    fn length(field: Range<usize>, unit: usize, body: Range<usize>) -> Length {
        Length { field, writing: Writing::Binary { big_endian: false, offset: 0 }, unit, body }
    }

    #[test]
    fn elements_are_repeated_or_left_out_as_a_whole() {
        let made = made(b"\x03aabbcc", &[length(0..1, 2, 1..7)]);
        for wanted in [&b"\x03bbcc"[..], b"\x03aabb", b"\x03aaaabbcc", b"\x03aabbcccccccccc"] {
            assert!(made.contains(wanted), "{}", wanted.escape_ascii());
        }
        for input in made {
            assert!(input[1..].chunks(2).all(|element| [b"aa", b"bb", b"cc"].iter().any(|known| **known == *element)));
        }
    }

    #[test]
    fn records_begin_where_the_one_before_them_ends() {
        let lengths = [length(1..2, 1, 2..4), length(5..6, 1, 6..9)];
        let made = made(b"A\x02aaB\x03bbb.", &lengths);
        for wanted in [&b"A\x02aaB\x03bbbB\x03bbb."[..], b"A\x02aa.", b"A\x02aaB\x03bbbA\x02aa."] {
            assert!(made.contains(wanted), "{}", wanted.escape_ascii());
        }
        let is_longer = |input: &Vec<u8>| input.len() == 11 && input.starts_with(b"A\x02aaB\x03bbb");
        assert!(made.iter().any(is_longer), "a byte more where it ends");
    }
}
