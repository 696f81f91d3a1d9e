//! Fewer choices, the rest zero.
//!
//! How much randomness a run needs is a first measure of how complicated it is, and the cheapest to make smaller: by
//! bisection over the length, whatever the stream means.

use crate::engine::shrink::search::lowest;
use crate::engine::shrink::shrinker::{Shrinker, Step};

pub(super) fn run(s: &mut Shrinker<'_>) -> Step<()> {
    let base = s.current();
    let choices = &base.trace.choices;
    lowest(s, choices.len() as u64, |s, len| s.consider(choices[..len as usize].to_vec()))?;
    Ok(())
}
