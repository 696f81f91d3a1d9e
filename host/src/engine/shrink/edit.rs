//! Small changes to streams, and groups of spans.

use crate::stream::{Choice, DrawKind, Span, Trace};
use std::collections::BTreeMap;
use std::ops::Range;

/// `choices` with `with` in the place of `range`.
pub(super) fn replaced(choices: &[Choice], range: Range<usize>, with: &[Choice]) -> Vec<Choice> {
    [&choices[..range.start], with, &choices[range.end..]].concat()
}

/// `choices` without `range`.
pub(super) fn without(choices: &[Choice], range: Range<usize>) -> Vec<Choice> {
    replaced(choices, range, &[])
}

/// `choices` with another index at `at`.
pub(super) fn with_index(choices: &[Choice], at: usize, index: u64) -> Vec<Choice> {
    let mut choices = choices.to_vec();
    choices[at] = Choice::Index(index);
    choices
}

/// The index at `at`; 0 for a blob.
pub(super) fn index_at(trace: &Trace, at: usize) -> u64 {
    trace.choices[at].index().unwrap_or(0)
}

/// Spans beside each other with the same label and the same parent, in their order; groups of one too.
///
/// The last one is left out if all it drew is that the collection ends: it must stay the last.
pub(super) fn siblings(trace: &Trace) -> Vec<Vec<Span>> {
    let mut groups: BTreeMap<(Option<u32>, u64), Vec<usize>> = BTreeMap::new();
    for (number, span) in trace.spans.iter().enumerate().filter(|(_, span)| span.start < span.end) {
        groups.entry((span.parent, span.label)).or_default().push(number);
    }
    let mut groups: Vec<_> = groups.into_values().collect();
    for group in &mut groups {
        group.pop_if(|last| is_end(trace, *last));
    }
    groups.retain(|group| !group.is_empty());
    groups.sort_unstable();
    groups.into_iter().map(|group| group.into_iter().map(|number| trace.spans[number]).collect()).collect()
}

/// Whether all that span `number` drew, itself and not by a span inside, is the end of a collection.
pub(super) fn is_end(trace: &Trace, number: usize) -> bool {
    let span = &trace.spans[number];
    span.range().len() == 1
        && trace.draws[span.start as usize].kind == DrawKind::More
        && trace.choices[span.start as usize] == Choice::ZERO
        && trace.spans.get(number + 1).is_none_or(|next| next.start > span.start)
}

/// The spans that hold the draw at `at` and their numbers, innermost first.
pub(super) fn around(trace: &Trace, at: usize) -> impl Iterator<Item = (usize, &Span)> {
    trace.spans.iter().enumerate().rev().filter(move |(_, span)| span.range().contains(&at))
}

/// The span of `new` that begins as span `number` of another execution did, which drew the same up to there.
pub(super) fn counterpart<'a>(new: &'a Trace, number: usize, span: &Span) -> Option<&'a Span> {
    new.spans.get(number).filter(|other| (other.start, other.label) == (span.start, span.label))
}
