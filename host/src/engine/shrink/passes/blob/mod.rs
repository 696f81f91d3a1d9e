//! Passes over the bytes of a blob: what a guest draws as bytes, or a whole plain input.
//!
//! A blob is kept as ranks ([`Taste`](crate::stream::Taste)); where a pass looks for text it looks at the bytes
//! behind them.

mod alphabet;
mod brackets;
mod chunks;
mod counts;
mod cut;
mod elements;
mod exchange;
mod lower;
mod numbers;
mod simpler;
mod simplify;
mod sort;
mod together;
mod tokens;
mod words;

use crate::engine::shrink::passes::Pass;
use crate::engine::shrink::shrinker::{Shrinker, Step};
use crate::stream::Taste;
use crate::stream::{Choice, Draw, DrawKind, Trace};
use std::ops::Range;

/// All of them, in the order in which they run: first what makes it shorter.
pub(super) const ALL: &[Pass] = &[
    ("bytes-cut", |s| each(s, cut::run)),
    ("bytes-elements", |s| each(s, elements::run)),
    ("bytes-tokens", |s| each(s, tokens::run)),
    ("bytes-chunks", |s| each(s, chunks::run)),
    ("bytes-together", together::run),
    ("bytes-counts", |s| each(s, counts::run)),
    ("bytes-words", |s| each(s, words::run)),
    ("bytes-numbers", |s| each(s, numbers::run)),
    ("bytes-simplify", |s| each(s, simplify::run)),
    ("bytes-alphabet", alphabet::run),
    ("bytes-lower", |s| each(s, lower::run)),
    ("bytes-exchange", |s| each(s, exchange::run)),
    ("bytes-sort", |s| each(s, sort::run)),
];

/// Runs `pass` on each blob of the stream.
fn each(s: &mut Shrinker<'_>, pass: fn(&mut Shrinker<'_>, usize) -> Step<()>) -> Step<()> {
    let mut at = 0;
    while at < s.current().trace.choices.len() {
        if s.current().trace.choices[at].blob().is_some_and(|blob| !blob.is_empty()) {
            pass(s, at)?;
        }
        at += 1;
    }
    Ok(())
}

/// The blob at `at`; empty if another choice is there now.
fn blob(trace: &Trace, at: usize) -> &[u8] {
    trace.choices.get(at).and_then(Choice::blob).unwrap_or(&[])
}

/// The stream with another blob at `at`; `None` if that is too short for the draw.
fn with_blob(trace: &Trace, at: usize, blob: Vec<u8>) -> Option<Vec<Choice>> {
    let least = |draw: &Draw| usize::try_from(draw.lo).unwrap_or(0);
    if blob.len() < least(trace.draws.get(at)?) {
        return None;
    }
    let mut choices = trace.choices.clone();
    choices[at] = Choice::Blob(blob);
    Some(choices)
}

/// The stream without `range` of the blob at `at`.
fn without(trace: &Trace, at: usize, range: Range<usize>) -> Option<Vec<Choice>> {
    let blob = blob(trace, at);
    (range.start < range.end && range.end <= blob.len())
        .then(|| [&blob[..range.start], &blob[range.end..]].concat())
        .and_then(|blob| with_blob(trace, at, blob))
}

/// The bytes behind the ranks of the blob at `at`; empty if they are no text.
fn text(trace: &Trace, at: usize, taste: Taste) -> Vec<u8> {
    if trace.draws.get(at).is_none_or(|draw| draw.kind == DrawKind::Str) {
        return Vec::new();
    }
    blob(trace, at).iter().map(|rank| taste.byte(*rank)).collect()
}

/// The stream with `text` for the blob at `at`.
fn with_text(trace: &Trace, at: usize, text: &[u8], taste: Taste) -> Option<Vec<Choice>> {
    with_blob(trace, at, text.iter().map(|byte| taste.rank(*byte)).collect())
}
