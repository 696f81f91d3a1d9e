//! Replaces a span by one inside it with the same label: a tree by one of its subtrees.

use crate::engine::shrink::edit::replaced;
use crate::engine::shrink::shrinker::{Shrinker, Step};
use crate::stream::Trace;
use std::ops::Range;

/// Descendants that are tried for one span.
const DESCENDANTS_MAX: usize = 16;

pub(super) fn run(s: &mut Shrinker<'_>) -> Step<()> {
    let mut from = 0;
    loop {
        let pairs = descents(&s.current().trace);
        let Some(at) = s.first(from, pairs.len(), |trace, at| {
            let (outer, inner) = pairs[at].clone();
            Some(replaced(&trace.choices, outer, &trace.choices[inner]))
        })?
        else {
            return Ok(());
        };
        // Nothing before this span has changed.
        let start = pairs[at].0.start;
        from = descents(&s.current().trace).partition_point(|(outer, _)| outer.start < start);
    }
}

/// Spans and descendants with the same label, by where the outer one begins; for each the shortest descendants first.
pub(in crate::engine::shrink) fn descents(trace: &Trace) -> Vec<(Range<usize>, Range<usize>)> {
    let mut pairs = Vec::new();
    for (at, outer) in trace.spans.iter().enumerate() {
        let inside = trace.spans[at + 1..].iter().take_while(|span| span.depth > outer.depth);
        let mut inner: Vec<_> = inside
            .filter(|span| span.label == outer.label && span.start < span.end && span.range() != outer.range())
            .map(|span| span.range())
            .collect();
        inner.sort_by_key(|range| (range.len(), range.start));
        inner.dedup();
        pairs.extend(inner.into_iter().take(DESCENDANTS_MAX).map(|inner| (outer.range(), inner)));
    }
    pairs
}
