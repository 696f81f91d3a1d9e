//! Swaps neighbouring bytes that are not in order.

use super::{blob, with_blob};
use crate::engine::shrink::shrinker::{Shrinker, Step};

/// Longer blobs are left as they are.
const LEN_MAX: usize = 64;

pub(super) fn run(s: &mut Shrinker<'_>, at: usize) -> Step<()> {
    let len = blob(&s.current().trace, at).len();
    if len > LEN_MAX {
        return Ok(());
    }
    let mut from = 1;
    while let Some(place) = s.first(from, len, |trace, place| {
        let mut bytes = blob(trace, at).to_vec();
        if place >= bytes.len() || bytes[place - 1] <= bytes[place] {
            return None;
        }
        bytes.swap(place - 1, place);
        with_blob(trace, at, bytes)
    })? {
        from = (place - 1).max(1);
    }
    Ok(())
}
