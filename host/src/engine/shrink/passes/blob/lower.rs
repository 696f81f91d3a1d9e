//! Lowers each byte; capital letters to small ones first.

use super::{blob, with_blob};
use crate::engine::shrink::search::lowest;
use crate::engine::shrink::shrinker::{Shrinker, Step};

/// Of longer blobs, not every byte is worth a search.
const LEN_MAX: usize = 256;

pub(super) fn run(s: &mut Shrinker<'_>, at: usize) -> Step<()> {
    let taste = s.taste();
    let mut place = 0;
    while place < blob(&s.current().trace, at).len().min(LEN_MAX) {
        let base = s.current();
        let bytes = blob(&base.trace, at);
        let small = taste.rank(taste.byte(bytes[place]).to_ascii_lowercase());
        if small < bytes[place] {
            let mut bytes = bytes.to_vec();
            bytes[place] = small;
            if let Some(choices) = with_blob(&base.trace, at, bytes)
                && s.consider(choices)?
            {
                continue;
            }
        }
        lowest(s, bytes[place].into(), |s, rank| {
            let mut bytes = bytes.to_vec();
            bytes[place] = rank as u8;
            with_blob(&base.trace, at, bytes).map_or(Ok(false), |choices| s.consider(choices))
        })?;
        place += 1;
    }
    Ok(())
}
