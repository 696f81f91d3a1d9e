//! Replaces a span by one inside it, as `descend` does, and changes the sign of one number.
//!
//! In `(0 - x) / 2` the subtraction only makes a negative number of a positive one: `x / 2` fails as well, but for the
//! opposite x.

use super::edit::{index_at, replaced, with_index};
use super::passes::descents;
use super::shrinker::{Shrinker, Step};
use super::value::is_number;
use crate::stream::Trace;

/// Tries at most so many. True if something simpler was found.
pub(super) fn opposite(s: &mut Shrinker<'_>, tries: u64) -> Step<bool> {
    let base = s.current();
    let numbers: Vec<_> =
        (0..base.trace.choices.len()).filter_map(|at| Some((at, opposite_index(&base.trace, at)?))).collect();
    let descents = descents(&base.trace);
    let tries = usize::try_from(tries).unwrap_or(usize::MAX).min(descents.len().saturating_mul(numbers.len()));
    let found = s.first(0, tries, |trace, way| {
        let (outer, inner) = descents[way / numbers.len()].clone();
        let (at, index) = numbers[way % numbers.len()];
        let is_lost = outer.contains(&at) && !inner.contains(&at);
        (!is_lost).then(|| {
            let choices = with_index(&trace.choices, at, index);
            replaced(&choices, outer, &choices[inner])
        })
    })?;
    Ok(found.is_some())
}

/// The index of the number with the other sign, if it can be drawn.
fn opposite_index(trace: &Trace, at: usize) -> Option<u64> {
    let draw = &trace.draws[at];
    let number = is_number(draw).then(|| draw.number(index_at(trace, at)))?;
    draw.index_of(-number).filter(|_| number != 0)
}
