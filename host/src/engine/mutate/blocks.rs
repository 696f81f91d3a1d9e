//! Changes of runs of bytes: deleting, inserting, copying, tokens, and parts of other testcases.

use super::Context;
use crate::engine::used::List;
use std::ops::Range;

pub(super) fn delete(context: &mut Context<'_>) -> bool {
    if context.input.len() < 2 {
        return false;
    }
    let len = block_len(context, context.input.len() - 1);
    let range = range_of(context, context.input.len(), len);
    remove(context.input, range);
    true
}

pub(super) fn truncate(context: &mut Context<'_>) -> bool {
    if context.input.len() < 2 {
        return false;
    }
    let len = 1 + context.rng.below(context.input.len() - 1);
    context.input.truncate(len);
    true
}

pub(super) fn duplicate(context: &mut Context<'_>) -> bool {
    let room = room(context).min(context.input.len());
    if room == 0 {
        return false;
    }
    let len = block_len(context, room);
    let range = range_of(context, context.input.len(), len);
    // Right after itself as often as anywhere: lists grow so.
    let at = if context.rng.one_in(2) { range.end } else { context.rng.below(context.input.len() + 1) };
    copy_to(context.input, range, at);
    true
}

pub(super) fn overwrite_from_self(context: &mut Context<'_>) -> bool {
    if context.input.len() < 2 {
        return false;
    }
    let len = block_len(context, context.input.len() - 1);
    let from = range_of(context, context.input.len(), len);
    let to = range_of(context, context.input.len(), len);
    context.input.copy_within(from, to.start);
    true
}

pub(super) fn insert_random(context: &mut Context<'_>) -> bool {
    let room = room(context).min(8);
    if room == 0 {
        return false;
    }
    let len = 1 + context.rng.below(room);
    let mut block = context.rng.word().to_le_bytes();
    if context.rng.one_in(2) {
        block = block.map(|byte| b' ' + byte % 95);
    }
    insert_anywhere(context, &block[..len])
}

/// Inserts one byte many times: from the input, or random.
pub(super) fn insert_run(context: &mut Context<'_>) -> bool {
    let room = room(context);
    if room == 0 {
        return false;
    }
    let len = block_len(context, room);
    let byte = if context.input.is_empty() || context.rng.one_in(2) {
        context.rng.byte()
    } else {
        *context.rng.pick(context.input)
    };
    let (end, at) = (context.input.len(), context.rng.below(context.input.len() + 1));
    context.input.resize(end + len, byte);
    if at < end {
        context.input.copy_within(at..end, at + len);
        context.input[at..end.min(at + len)].fill(byte);
    }
    true
}

pub(super) fn swap(context: &mut Context<'_>) -> bool {
    let half = context.input.len() / 2;
    if half == 0 {
        return false;
    }
    let len = block_len(context, half);
    let first = range_of(context, half, len);
    let second = range_of(context, context.input.len() - half, len);
    for (a, b) in first.zip(second) {
        context.input.swap(a, half + b);
    }
    true
}

pub(super) fn insert_token(context: &mut Context<'_>) -> bool {
    insert_one_of(context, List::Tokens)
}

pub(super) fn overwrite_with_token(context: &mut Context<'_>) -> bool {
    overwrite_with_one_of(context, List::Tokens)
}

/// Puts what the code compares with in the place of something: fields have their place, so this is tried more often
/// than inserting it.
pub(super) fn overwrite_with_field(context: &mut Context<'_>) -> bool {
    overwrite_with_one_of(context, List::Fields)
}

pub(super) fn insert_field(context: &mut Context<'_>) -> bool {
    insert_one_of(context, List::Fields)
}

/// Puts what testcases were compared with in the place of something.
pub(super) fn overwrite_with_compared(context: &mut Context<'_>) -> bool {
    overwrite_with_one_of(context, List::Compared)
}

pub(super) fn insert_compared(context: &mut Context<'_>) -> bool {
    insert_one_of(context, List::Compared)
}

/// A token of a list: one that brought something as often as any.
pub(super) fn token<'a>(context: &mut Context<'a>, list: List) -> Option<&'a [u8]> {
    let (corpus, dictionary) = (context.corpus, context.dictionary);
    let tokens = match list {
        List::Tokens => dictionary.tokens(),
        List::Fields => dictionary.fields(),
        List::Compared => corpus.tokens(),
    };
    if tokens.is_empty() {
        return None;
    }
    let favoured = context.favours.token(list, context.rng).filter(|&number| number < tokens.len());
    let number = favoured.unwrap_or_else(|| context.rng.below(tokens.len()));
    if let Some(used) = &mut context.used {
        used.tokens.push((list, number));
    }
    Some(&tokens[number])
}

fn insert_one_of(context: &mut Context<'_>, list: List) -> bool {
    let Some(token) = token(context, list) else { return false };
    insert_anywhere(context, token)
}

fn overwrite_with_one_of(context: &mut Context<'_>, list: List) -> bool {
    let Some(token) = token(context, list) else { return false };
    if token.len() > context.input.len() {
        return false;
    }
    let range = range_of(context, context.input.len(), token.len());
    context.input[range].copy_from_slice(token);
    true
}

pub(super) fn insert_from_other(context: &mut Context<'_>) -> bool {
    let Some(block) = block_of_other(context) else { return false };
    insert_anywhere(context, block)
}

pub(super) fn overwrite_from_other(context: &mut Context<'_>) -> bool {
    let Some(block) = block_of_other(context) else { return false };
    if block.len() > context.input.len() {
        return false;
    }
    let range = range_of(context, context.input.len(), block.len());
    context.input[range].copy_from_slice(block);
    true
}

/// Keeps the input's beginning and goes on with the end of another testcase.
pub(super) fn cross_over(context: &mut Context<'_>) -> bool {
    if context.corpus.testcases().is_empty() || context.input.is_empty() {
        return false;
    }
    let other = other(context);
    let keep = context.rng.below(context.input.len() + 1);
    let from = context.rng.below(other.len() + 1);
    context.input.truncate(keep);
    let room = room(context).min(other.len() - from);
    context.input.extend_from_slice(&other[from..from + room]);
    true
}

/// Adds to an input what another testcase has and it has not: all of that, or all but what both begin and end with, as
/// with the header of a file. So parts that each are right by themselves follow each other.
pub(super) fn join(context: &mut Context<'_>) -> bool {
    let other = other(context);
    let (own, is_whole) = (&*context.input, context.rng.one_in(2));
    let common = |pairs: &mut dyn Iterator<Item = (&u8, &u8)>| pairs.take_while(|(own, other)| own == other).count();
    let (begin, end) = if is_whole {
        (0, 0)
    } else {
        let begin = common(&mut own.iter().zip(other));
        (begin, common(&mut own[begin..].iter().rev().zip(other[begin..].iter().rev())))
    };
    let new = &other[begin..other.len() - end];
    let at = if context.rng.one_in(4) { begin } else { own.len() - end };
    !new.is_empty() && insert_at(context, at, new)
}

fn block_of_other<'a>(context: &mut Context<'a>) -> Option<&'a [u8]> {
    let other = other(context);
    if other.is_empty() {
        return None;
    }
    let len = block_len(context, other.len());
    let range = range_of(context, other.len(), len);
    Some(&other[range])
}

/// Bytes that the input may still grow by.
fn room(context: &Context<'_>) -> usize {
    context.len_max.saturating_sub(context.input.len())
}

/// A length from 1 to `max`, mostly small: uniform below a bound that is itself 4, 16, 64 or more.
fn block_len(context: &mut Context<'_>, max: usize) -> usize {
    let bound = *context.rng.pick(&[4, 4, 16, 16, 64, 256, 4096]);
    1 + context.rng.below(max.min(bound))
}

/// A random range of `len` bytes in `total`.
fn range_of(context: &mut Context<'_>, total: usize, len: usize) -> Range<usize> {
    let start = context.rng.below(total - len + 1);
    start..start + len
}

fn insert_anywhere(context: &mut Context<'_>, block: &[u8]) -> bool {
    let at = context.rng.below(context.input.len() + 1);
    insert_at(context, at, block)
}

/// The bytes of a testcase; none if there is no testcase.
pub(super) fn other<'a>(context: &mut Context<'a>) -> &'a [u8] {
    let corpus = context.corpus;
    if corpus.testcases().is_empty() { &[] } else { &context.rng.pick(corpus.testcases()).bytes }
}

/// Inserts bytes, if there is room.
pub(super) fn insert_at(context: &mut Context<'_>, at: usize, block: &[u8]) -> bool {
    if block.len() > room(context) {
        return false;
    }
    let (end, input) = (context.input.len(), &mut *context.input);
    input.extend_from_slice(block);
    if at < end {
        input.copy_within(at..end, at + block.len());
        input[at..at + block.len()].copy_from_slice(block);
    }
    true
}

/// Says bytes once more, right behind them, if there is room.
pub(super) fn repeat(context: &mut Context<'_>, range: Range<usize>) -> bool {
    if range.len() > room(context) {
        return false;
    }
    let at = range.end;
    copy_to(context.input, range, at);
    true
}

/// Puts bytes in the place of others, if there is room.
pub(super) fn replace(context: &mut Context<'_>, range: Range<usize>, block: &[u8]) -> bool {
    let (len, input) = (context.input.len(), &mut *context.input);
    if len - range.len() + block.len() > context.len_max {
        return false;
    }
    let end = range.start + block.len();
    if end > range.end {
        input.resize(len + end - range.end, 0);
        input.copy_within(range.end..len, end);
    } else if end < range.end {
        remove(input, end..range.end);
    }
    input[range.start..end].copy_from_slice(block);
    true
}

/// Takes bytes out.
pub(super) fn remove(input: &mut Vec<u8>, range: Range<usize>) {
    input.copy_within(range.end.., range.start);
    input.truncate(input.len() - range.len());
}

/// Inserts a copy of bytes.
fn copy_to(input: &mut Vec<u8>, range: Range<usize>, at: usize) {
    let len = range.len();
    input.extend_from_within(range);
    input[at..].rotate_right(len);
}

#[cfg(test)]
mod tests {
    use super::super::favour::Favours;
    use super::super::{CHANGES, Dictionary};
    use super::*;
    use crate::coverage::Profile;
    use crate::engine::testcase::NewTestcase;
    use crate::engine::{Corpus, Rng};
    use std::collections::BTreeSet;

    #[test]
    fn a_duplicate_is_a_block_of_the_input_wherever_it_is_put() {
        let (corpus, dictionary, favours) = (&Corpus::new(0), &Dictionary::default(), &Favours::default());
        let mut inside = 0;
        for seed in 0..2_000 {
            let before: Vec<u8> = (0..1 + seed as u8 % 40).collect();
            let mut after = before.clone();
            let rng = &mut Rng::of_task(seed, 0, 0);
            let context = &mut Context { input: &mut after, rng, corpus, dictionary, len_max: 64, favours, used: None };
            assert!(duplicate(context));
            let len = after.len() - before.len();
            let is_block = |block: &[u8]| before.windows(len).any(|window| window == block);
            let places: Vec<usize> = (0..=before.len())
                .filter(|&at| is_block(&after[at..at + len]))
                .filter(|&at| [&after[..at], &after[at + len..]].concat() == before)
                .collect();
            assert!(!places.is_empty(), "{before:?} {after:?}");
            inside += usize::from(places.iter().all(|&at| at > after[at].into() && at < after[at + len - 1].into()));
        }
        assert!(inside > 10, "blocks that are put into themselves: {inside}");
    }

    #[test]
    fn what_is_joined_is_whole_or_lacks_what_both_begin_and_end_with() {
        let (dictionary, favours) = (&Dictionary::default(), &Favours::default());
        let mut corpus = Corpus::new(1);
        let (input, unseen) = (b"<<two>".to_vec(), Profile(vec![(0, 1)]));
        corpus.admit(NewTestcase { input, unseen, ..NewTestcase::default() });
        let mut made = BTreeSet::new();
        for seed in 0..100 {
            let (mut input, rng) = (b"<one>".to_vec(), &mut Rng::of_task(seed, 0, 0));
            let context =
                &mut Context { input: &mut input, rng, corpus: &corpus, dictionary, len_max: 11, favours, used: None };
            assert!(join(context));
            made.insert(input);
        }
        let wanted = [&b"<<twoone>"[..], b"<<two><one>", b"<one<two>", b"<one><<two>"];
        assert_eq!(made, wanted.map(<[u8]>::to_vec).into());
    }

    #[test]
    fn changes_need_what_they_say() {
        let (corpus, dictionary, favours) = (&Corpus::new(0), &Dictionary::default(), &Favours::default());
        for (_, needed, _, change) in CHANGES {
            for len in 0..*needed {
                let (mut input, rng) = (vec![b'0'; len], &mut Rng::of_task(1, 0, 0));
                let context =
                    &mut Context { input: &mut input, rng, corpus, dictionary, len_max: 9, favours, used: None };
                assert!(!change(context) && input == vec![b'0'; len], "with {len} bytes");
            }
        }
    }
}
