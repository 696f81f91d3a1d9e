//! Makes all draws of a span as simple as they can be.
//!
//! A span that has other draws then, usually fewer, leaves choices over, and what follows gets them. So the second
//! try is with what the guest drew there in the first one.

use crate::engine::shrink::edit::replaced;
use crate::engine::shrink::shrinker::{Shrinker, Step};
use crate::engine::shrink::subject::Tail;
use crate::stream::{Choice, Draw, Trace};

pub(super) fn run(s: &mut Shrinker<'_>) -> Step<()> {
    let mut at = 0;
    while at < s.current().trace.spans.len() {
        let base = s.current();
        if let Some(choices) = zeroed(&base.trace, at) {
            let looked = s.look(choices, Tail::Zero)?;
            let (old, new) = (base.trace.spans[at].range(), &looked.attempt.trace);
            if !looked.improved
                && let Some(span) = new.spans.get(at).map(|span| span.range())
                && span.start == old.start
                && span.len() != old.len()
                && span.end <= new.choices.len()
            {
                s.consider(replaced(&base.trace.choices, old, &new.choices[span]))?;
            }
        }
        at += 1;
    }
    Ok(())
}

fn zeroed(trace: &Trace, at: usize) -> Option<Vec<Choice>> {
    let range = trace.spans[at].range();
    let is_again = at > 0 && trace.spans[at - 1].range() == range;
    let zeros: Vec<_> = trace.draws[range.clone()].iter().map(Draw::simplest).collect();
    let is_changed = zeros != trace.choices[range.clone()];
    (!is_again && is_changed).then(|| replaced(&trace.choices, range, &zeros))
}
