//! Makes blocks as simple as bytes can be: all of it, halves, quarters and so on down to single bytes.

use super::{blob, with_blob};
use crate::engine::shrink::shrinker::{Shrinker, Step};

pub(super) fn run(s: &mut Shrinker<'_>, at: usize) -> Step<()> {
    let len = blob(&s.current().trace, at).len();
    let mut size = len;
    while size > 0 {
        let mut from = 0;
        while let Some(block) = s.first(from, len.div_ceil(size), |trace, block| {
            let mut bytes = blob(trace, at).to_vec();
            let end = ((block + 1) * size).min(bytes.len());
            let block = bytes.get_mut(block * size..end)?;
            if block.iter().all(|rank| *rank == 0) {
                return None;
            }
            block.fill(0);
            with_blob(trace, at, bytes)
        })? {
            from = block + 1;
        }
        size /= 2;
    }
    Ok(())
}
