//! Lowers a draw by one and deletes something behind it: a count and any one of the things it counts.

use crate::engine::shrink::edit::{index_at, with_index, without};
use crate::engine::shrink::shrinker::{Shrinker, Step};
use crate::engine::shrink::subject::Tail;

pub(super) fn run(s: &mut Shrinker<'_>) -> Step<()> {
    let mut at = 0;
    while at < s.current().trace.choices.len() {
        // Again while it goes well: where the last one was deleted.
        let mut from = at + 1;
        while let Some(next) = shorten(s, at, from)? {
            from = next;
        }
        at += 1;
    }
    Ok(())
}

/// Returns where something was deleted.
fn shorten(s: &mut Shrinker<'_>, at: usize, from: usize) -> Step<Option<usize>> {
    let base = s.current();
    if at >= base.trace.choices.len() || base.trace.draws[at].forced {
        return Ok(None);
    }
    let Some(lower) = index_at(&base.trace, at).checked_sub(1) else { return Ok(None) };
    let choices = with_index(&base.trace.choices, at, lower);
    let looked = s.look(choices.clone(), Tail::Zero)?;
    if looked.improved {
        // That was not what it takes here; how far down it goes is found elsewhere.
        return Ok(None);
    }
    let lost = choices.len().saturating_sub(looked.attempt.trace.choices.len());
    if lost == 0 {
        return Ok(None);
    }
    let ends = (choices.len() + 1).saturating_sub(lost);
    s.first(from, ends, |_, start| Some(without(&choices, start..start + lost)))
}
