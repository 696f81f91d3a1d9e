//! Deletes adjacent choices, five to one, whatever they mean; where that goes well, as many times as it does.

use crate::engine::shrink::edit::without;
use crate::engine::shrink::search::longest;
use crate::engine::shrink::shrinker::{Shrinker, Step};

/// Choices that are deleted together at most.
const RUN_MAX: usize = 5;

pub(super) fn run(s: &mut Shrinker<'_>) -> Step<()> {
    for size in (1..=RUN_MAX).rev() {
        let mut from = 0;
        loop {
            let base = s.current();
            let choices = &base.trace.choices;
            let ends = (choices.len() + 1).saturating_sub(size);
            let Some(at) = s.first(from, ends, |trace, at| Some(without(&trace.choices, at..at + size)))? else {
                break;
            };
            longest(s, |s, more| {
                let end = at + size * (more + 1);
                if end <= choices.len() { s.consider(without(choices, at..end)) } else { Ok(false) }
            })?;
            from = at;
        }
    }
    Ok(())
}
