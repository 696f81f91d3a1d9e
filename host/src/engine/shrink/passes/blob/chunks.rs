//! Deletes chunks: large ones first, halves of them next and so on down to single bytes; where that goes well, as
//! many of the next as it does. In a short blob, small chunks of any size are tried at every place.
//!
//! Like delta debugging, which goes back to large chunks after a success; here the next round does.

use super::{blob, without};
use crate::engine::shrink::search::longest;
use crate::engine::shrink::shrinker::{Shrinker, Step};

/// Chunks up to this size are tried at every place, in blobs up to this length.
const ANYWHERE: [(usize, usize); 2] = [(8, 32), (4, 96)];

pub(super) fn run(s: &mut Shrinker<'_>, at: usize) -> Step<()> {
    aligned(s, at)?;
    let size_max = |len: usize| ANYWHERE.iter().find(|(_, len_max)| len <= *len_max).map_or(0, |(size, _)| *size);
    let mut size = size_max(blob(&s.current().trace, at).len());
    while size > 1 {
        let mut from = 0;
        let places = |s: &Shrinker<'_>| (blob(&s.current().trace, at).len() + 1).saturating_sub(size);
        while let Some(start) = s.first(from, places(s), |trace, start| without(trace, at, start..start + size))? {
            from = start;
        }
        size -= 1;
    }
    Ok(())
}

fn aligned(s: &mut Shrinker<'_>, at: usize) -> Step<()> {
    let mut size = blob(&s.current().trace, at).len().next_power_of_two() / 2;
    while size > 0 {
        let mut from = 0;
        loop {
            let base = s.current();
            let len = blob(&base.trace, at).len();
            let chunks = len.saturating_sub(from).div_ceil(size);
            let range = |chunk: usize| from + chunk * size..(from + (chunk + 1) * size).min(len);
            let Some(chunk) = s.first(0, chunks, |trace, chunk| without(trace, at, range(chunk)))? else { break };
            let start = range(chunk).start;
            longest(s, |s, more| {
                let range = start..start + size.saturating_mul(more + 1);
                without(&base.trace, at, range).map_or(Ok(false), |choices| s.consider(choices))
            })?;
            // What came after it is there now, except for what was just refused.
            from = start;
        }
        size /= 2;
    }
    Ok(())
}
