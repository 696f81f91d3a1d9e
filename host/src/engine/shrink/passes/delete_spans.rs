//! Deletes spans, and as many of their next siblings as goes well.

use crate::engine::shrink::edit::without;
use crate::engine::shrink::search::longest;
use crate::engine::shrink::shrinker::{Shrinker, Step};
use crate::stream::{Choice, Trace};

pub(super) fn run(s: &mut Shrinker<'_>) -> Step<()> {
    let mut from = 0;
    loop {
        let base = s.current();
        let Some(at) = s.first(from, base.trace.spans.len(), |trace, at| {
            let is_again = at > 0 && trace.spans[at - 1].range() == trace.spans[at].range();
            if is_again { None } else { without_run(trace, at, 1) }
        })?
        else {
            return Ok(());
        };
        longest(s, |s, more| without_run(&base.trace, at, 1 + more).map_or(Ok(false), |choices| s.consider(choices)))?;
        // What comes next has taken its place.
        from = at;
    }
}

/// The stream without span `at` and its next siblings of the same label, `count` spans together.
fn without_run(trace: &Trace, at: usize, count: usize) -> Option<Vec<Choice>> {
    let first = &trace.spans[at];
    let is_sibling = |span: &&crate::stream::Span| (span.parent, span.label) == (first.parent, first.label);
    let last = trace.spans[at..].iter().filter(is_sibling).nth(count - 1)?;
    let range = first.start as usize..last.end as usize;
    (!range.is_empty()).then(|| without(&trace.choices, range))
}
