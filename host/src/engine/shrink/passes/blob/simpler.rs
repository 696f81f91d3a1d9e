//! Finds a simpler byte that will do.

use crate::engine::shrink::search::lowest;
use crate::engine::shrink::shrinker::{Shrinker, Step};
use crate::stream::Taste;

/// Finds a small rank for which `probe` holds, given that it holds for `rank`.
///
/// Bytes and digits are numbers. Other characters have a meaning each, so that nothing is learned of one from another
/// and a search would ask in vain: each simpler kind of characters is asked for by its first.
pub(super) fn simplest(
    s: &mut Shrinker<'_>,
    rank: u8,
    mut probe: impl FnMut(&mut Shrinker<'_>, u8) -> Step<bool>,
) -> Step<()> {
    let taste = s.taste();
    let number = |s: &mut Shrinker<'_>, rank: u8, probe: &mut dyn FnMut(&mut Shrinker<'_>, u8) -> Step<bool>| {
        lowest(s, rank.into(), |s, lower| probe(s, lower as u8)).map(drop)
    };
    let byte = taste.byte(rank);
    let is_number = byte.is_ascii_digit() || !(byte.is_ascii_graphic() || byte.is_ascii_whitespace());
    if taste == Taste::Value || is_number {
        return number(s, rank, &mut probe);
    }
    let small = byte.to_ascii_lowercase();
    for other in [b'0', b'a', small, b'A', b' '] {
        let lower = taste.rank(other);
        if lower < rank && probe(s, lower)? {
            // Another digit than 0, perhaps.
            return if other == b'a' { number(s, lower, &mut probe) } else { Ok(()) };
        }
    }
    Ok(())
}
