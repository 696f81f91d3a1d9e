//! Replaces a span by one inside it, as `descend` does, and changes one number to make up for it.
//!
//! In `(0 - x) / 2` the subtraction only makes a negative number of a positive one: `x / 2` fails as well, but for the
//! opposite x. And `(x - 1) / 2`, where x is 0, fails as `x / 2` does where it is -1: then the stream becomes shorter,
//! though one of its choices has a larger index. No pass that changes one place, or makes all places simpler, gets
//! there.

use super::edit::{index_at, replaced, with_index};
use super::passes::descents;
use super::shrinker::{Shrinker, Step};
use super::value::is_number;
use crate::stream::Trace;

/// What was computed is mostly near the simplest values: these indices are tried.
const INDEX_MAX: u64 = 4;

/// Tries at most so many. True if something simpler was found.
pub(super) fn compensate(s: &mut Shrinker<'_>, tries: u64) -> Step<bool> {
    let base = s.current();
    let changes: Vec<(usize, u64)> = (0..base.trace.choices.len())
        .flat_map(|at| others(&base.trace, at).into_iter().map(move |to| (at, to)))
        .collect();
    let descents = descents(&base.trace);
    let tries = usize::try_from(tries).unwrap_or(usize::MAX).min(descents.len().saturating_mul(changes.len()));
    let found = s.first(0, tries, |trace, way| {
        let (outer, inner) = descents[way / changes.len()].clone();
        let (at, index) = changes[way % changes.len()];
        let is_lost = outer.contains(&at) && !inner.contains(&at);
        (!is_lost).then(|| {
            let choices = with_index(&trace.choices, at, index);
            replaced(&choices, outer, &choices[inner])
        })
    })?;
    Ok(found.is_some())
}

/// Indices that a number may have instead: that of the same number with the other sign, then simple ones.
fn others(trace: &Trace, at: usize) -> Vec<u64> {
    let draw = &trace.draws[at];
    if !is_number(draw) {
        return Vec::new();
    }
    let index = index_at(trace, at);
    let number = draw.number(index);
    let opposite = draw.index_of(-number).filter(|_| number != 0);
    let simple = (0..=INDEX_MAX.min(draw.max)).filter(|&other| other != index && Some(other) != opposite);
    opposite.into_iter().chain(simple).collect()
}
