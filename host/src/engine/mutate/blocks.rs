//! Changes of runs of bytes: deleting, inserting, copying, tokens, and parts of other testcases.

use super::Context;
use std::ops::Range;

pub(super) fn delete(context: &mut Context<'_>) -> bool {
    if context.input.len() < 2 {
        return false;
    }
    let len = block_len(context, context.input.len() - 1);
    let range = range_of(context, context.input.len(), len);
    context.input.drain(range);
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
    let block = context.input[range.clone()].to_vec();
    // Right after itself as often as anywhere: lists grow so.
    let at = if context.rng.one_in(2) { range.end } else { context.rng.below(context.input.len() + 1) };
    insert(context, at, &block);
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
    let text = context.rng.one_in(2);
    let block: Vec<u8> =
        (0..len).map(|_| if text { b' ' + context.rng.byte() % 95 } else { context.rng.byte() }).collect();
    insert_anywhere(context, &block)
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
    insert_anywhere(context, &vec![byte; len])
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
    let dictionary = context.dictionary;
    insert_one_of(context, dictionary.tokens())
}

pub(super) fn overwrite_with_token(context: &mut Context<'_>) -> bool {
    let dictionary = context.dictionary;
    overwrite_with_one_of(context, dictionary.tokens())
}

/// Puts what the code compares with in the place of something: fields have their place, so this is tried more often than inserting it.
pub(super) fn overwrite_with_field(context: &mut Context<'_>) -> bool {
    let dictionary = context.dictionary;
    overwrite_with_one_of(context, dictionary.fields())
}

pub(super) fn insert_field(context: &mut Context<'_>) -> bool {
    let dictionary = context.dictionary;
    insert_one_of(context, dictionary.fields())
}

/// Puts what testcases were compared with in the place of something.
pub(super) fn overwrite_with_compared(context: &mut Context<'_>) -> bool {
    let corpus = context.corpus;
    overwrite_with_one_of(context, corpus.tokens())
}

pub(super) fn insert_compared(context: &mut Context<'_>) -> bool {
    let corpus = context.corpus;
    insert_one_of(context, corpus.tokens())
}

fn insert_one_of(context: &mut Context<'_>, tokens: &[Vec<u8>]) -> bool {
    if tokens.is_empty() {
        return false;
    }
    let token = context.rng.pick(tokens);
    insert_anywhere(context, token)
}

fn overwrite_with_one_of(context: &mut Context<'_>, tokens: &[Vec<u8>]) -> bool {
    if tokens.is_empty() {
        return false;
    }
    let token = context.rng.pick(tokens);
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
    let corpus = context.corpus;
    if corpus.testcases().is_empty() || context.input.is_empty() {
        return false;
    }
    let other = &context.rng.pick(corpus.testcases()).bytes;
    let keep = context.rng.below(context.input.len() + 1);
    let from = context.rng.below(other.len() + 1);
    context.input.truncate(keep);
    let room = room(context).min(other.len() - from);
    context.input.extend_from_slice(&other[from..from + room]);
    true
}

fn block_of_other<'a>(context: &mut Context<'a>) -> Option<&'a [u8]> {
    let corpus = context.corpus;
    let other = (!corpus.testcases().is_empty()).then(|| &context.rng.pick(corpus.testcases()).bytes)?;
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
    if block.len() > room(context) {
        return false;
    }
    let at = context.rng.below(context.input.len() + 1);
    insert(context, at, block);
    true
}

fn insert(context: &mut Context<'_>, at: usize, block: &[u8]) {
    let len = context.input.len();
    context.input.resize(len + block.len(), 0);
    context.input.copy_within(at..len, at + block.len());
    context.input[at..at + block.len()].copy_from_slice(block);
}
