//! Cuts off the end, and then the beginning.

use super::{blob, with_blob};
use crate::engine::shrink::search::lowest;
use crate::engine::shrink::shrinker::{Shrinker, Step};

pub(super) fn run(s: &mut Shrinker<'_>, at: usize) -> Step<()> {
    for front in [false, true] {
        let base = s.current();
        let bytes = blob(&base.trace, at);
        lowest(s, bytes.len() as u64, |s, len| {
            let len = len as usize;
            let kept = if front { &bytes[bytes.len() - len..] } else { &bytes[..len] };
            with_blob(&base.trace, at, kept.to_vec()).map_or(Ok(false), |choices| s.consider(choices))
        })?;
    }
    Ok(())
}
