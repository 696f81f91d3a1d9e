//! Lowers a byte that may be a length, and deletes as many bytes behind it.
//!
//! The byte is a digit, or a number as it is where there is no text. What it counts begins right behind it or a few
//! bytes later.

use super::tokens::is_text;
use super::{blob, text, with_text};
use crate::engine::shrink::search::longest;
use crate::engine::shrink::shrinker::{Shrinker, Step};

/// Where what is counted may begin, behind the byte.
const BEHIND_MAX: usize = 6;
/// In longer blobs there are too many bytes that could be lengths.
const LEN_MAX: usize = 512;

pub(super) fn run(s: &mut Shrinker<'_>, at: usize) -> Step<()> {
    let taste = s.taste();
    let mut place = 0;
    while place < blob(&s.current().trace, at).len().min(LEN_MAX) {
        let base = s.current();
        let bytes = text(&base.trace, at, taste);
        let count = match bytes.get(place) {
            Some(digit @ b'0'..=b'9') => digit - b'0',
            Some(byte) if !is_text(&bytes) => *byte,
            _ => 0,
        };
        let left = bytes.len().saturating_sub(place + 1);
        if count == 0 || usize::from(count) > left {
            place += 1;
            continue;
        }
        let shorter = |behind: usize, by: usize| {
            let start = place + behind;
            if by > usize::from(count) || start + by > bytes.len() {
                return None;
            }
            let mut shorter = [&bytes[..start], &bytes[start + by..]].concat();
            shorter[place] -= by as u8;
            with_text(&base.trace, at, &shorter, taste)
        };
        let found = s.first(1, BEHIND_MAX + 1, |_, behind| shorter(behind, 1))?;
        if let Some(behind) = found {
            longest(s, |s, more| shorter(behind, 1 + more).map_or(Ok(false), |choices| s.consider(choices)))?;
            continue;
        }
        place += 1;
    }
    Ok(())
}
