//! Lowers each byte.

use super::simpler::simplest;
use super::{blob, with_blob};
use crate::engine::shrink::shrinker::{Shrinker, Step};

/// Of longer blobs, not every byte is worth a search.
const LEN_MAX: usize = 256;

pub(super) fn run(s: &mut Shrinker<'_>, at: usize) -> Step<()> {
    let mut place = 0;
    while place < blob(&s.current().trace, at).len().min(LEN_MAX) {
        let base = s.current();
        let bytes = blob(&base.trace, at);
        simplest(s, bytes[place], |s, rank| {
            let mut bytes = bytes.to_vec();
            bytes[place] = rank;
            with_blob(&base.trace, at, bytes).map_or(Ok(false), |choices| s.consider(choices))
        })?;
        place += 1;
    }
    Ok(())
}
