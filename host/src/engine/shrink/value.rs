//! What draws of numbers mean to passes.

use super::shrinker::{Shrinker, Step};
use crate::stream::{Choice, Draw, DrawKind};

/// Whether the index stands for an integer that arithmetic makes sense of.
pub(super) fn is_number(draw: &Draw) -> bool {
    matches!(draw.kind, DrawKind::Int | DrawKind::Uint) && !draw.forced
}

/// Calls `change` with the places of all pairs of numbers that are so many numbers apart, near ones first. It may change the current stream.
pub(super) fn for_pairs(
    s: &mut Shrinker<'_>,
    apart_max: usize,
    mut change: impl FnMut(&mut Shrinker<'_>, usize, usize) -> Step<()>,
) -> Step<()> {
    for apart in 1..=apart_max {
        let mut first = 0;
        loop {
            let numbers: Vec<_> = {
                let current = s.current();
                (0..current.trace.draws.len()).filter(|at| is_number(&current.trace.draws[*at])).collect()
            };
            if first + apart >= numbers.len() {
                break;
            }
            change(s, numbers[first], numbers[first + apart])?;
            first += 1;
        }
    }
    Ok(())
}

/// The value that index 0 stands for.
pub(super) fn simplest_value(draw: &Draw) -> i128 {
    draw.bounds().2
}

/// `value`, if it is out of bounds by less than their width from the other end.
pub(super) fn wrapped(draw: &Draw, value: i128) -> i128 {
    let (lo, hi, _) = draw.bounds();
    let width = hi - lo + 1;
    if value > hi {
        value - width
    } else if value < lo {
        value + width
    } else {
        value
    }
}

/// The simplest choice that `draw` can take.
pub(super) fn simplest(draw: &Draw) -> Choice {
    if draw.kind.is_blob() { Choice::Blob(vec![0; usize::try_from(draw.lo).unwrap_or(0)]) } else { Choice::ZERO }
}
