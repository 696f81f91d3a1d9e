//! Removes what the guest drew and threw away: all of it, or else one by one.

use crate::engine::shrink::edit::without;
use crate::engine::shrink::shrinker::{Shrinker, Step};
use crate::stream::{Choice, Trace};
use std::ops::Range;

pub(super) fn run(s: &mut Shrinker<'_>) -> Step<()> {
    let base = s.current();
    let all = discarded(&base.trace);
    if all.is_empty() || s.consider(without_all(&base.trace.choices, &all))? {
        return Ok(());
    }
    let mut from = 0;
    while let Some(at) = s.first(from, discarded(&s.current().trace).len(), |trace, at| {
        discarded(trace).get(at).map(|range| without(&trace.choices, range.clone()))
    })? {
        from = at;
    }
    Ok(())
}

/// Outermost discarded spans, ascending.
fn discarded(trace: &Trace) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for span in trace.spans.iter().filter(|span| span.discarded && span.start < span.end) {
        if ranges.last().is_none_or(|last| last.end <= span.start as usize) {
            ranges.push(span.range());
        }
    }
    ranges
}

fn without_all(choices: &[Choice], ranges: &[Range<usize>]) -> Vec<Choice> {
    let is_left = |at: &usize| !ranges.iter().any(|range| range.contains(at));
    (0..choices.len()).filter(is_left).map(|at| choices[at].clone()).collect()
}
