//! Makes runs of bytes as simple as bytes can be: from each place on, as many as goes well.

use super::{blob, with_blob};
use crate::engine::shrink::search::longest;
use crate::engine::shrink::shrinker::{Shrinker, Step};
use crate::stream::{Choice, Trace};
use std::ops::Range;

pub(super) fn run(s: &mut Shrinker<'_>, at: usize) -> Step<()> {
    let mut from = 0;
    loop {
        let base = s.current();
        let len = blob(&base.trace, at).len();
        let Some(place) = s.first(from, len, |trace, place| simplified(trace, at, place..place + 1))? else {
            return Ok(());
        };
        let more = longest(s, |s, more| {
            let range = place + 1..place + 1 + more;
            if blob(&base.trace, at).get(range.clone()).is_some_and(is_simplest) {
                return Ok(true);
            }
            simplified(&base.trace, at, place..range.end).map_or(Ok(false), |choices| s.consider(choices))
        })?;
        from = place + 1 + more;
    }
}

/// The stream with the simplest bytes in `range`; `None` if they are that.
fn simplified(trace: &Trace, at: usize, range: Range<usize>) -> Option<Vec<Choice>> {
    let mut bytes = blob(trace, at).to_vec();
    let part = bytes.get_mut(range)?;
    if is_simplest(part) {
        return None;
    }
    part.fill(0);
    with_blob(trace, at, bytes)
}

fn is_simplest(ranks: &[u8]) -> bool {
    ranks.iter().all(|rank| *rank == 0)
}
