//! Indices of numbers, the other way round than [`Draw::number`].

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

/// The index of `value`; `None` if it is out of bounds.
pub(super) fn index_of(draw: &Draw, value: i128) -> Option<u64> {
    let (lo, hi, towards) = draw.bounds();
    if !(lo..=hi).contains(&value) {
        return None;
    }
    let both = (towards - lo).min(hi - towards);
    let distance = (value - towards).abs();
    let index = match (distance <= both, value > towards) {
        (true, true) => 2 * distance - 1,
        (true, false) => 2 * distance,
        (false, _) => both + distance,
    };
    u64::try_from(index).ok()
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

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(kind: DrawKind, lo: i64, hi: i64, towards: i64) -> Draw {
        Draw { kind, site: 0, max: u64::MAX, forced: false, payload: false, lo, hi, towards }
    }

    #[test]
    fn indices_go_out_from_the_simplest_value() {
        let signed = draw(DrawKind::Int, -3, 5, 0);
        assert_eq!((0..9).map(|i| signed.number(i)).collect::<Vec<_>>(), [0, 1, -1, 2, -2, 3, -3, 4, 5]);
        let clamped = draw(DrawKind::Int, 2, 4, 0);
        assert_eq!((0..3).map(|i| clamped.number(i)).collect::<Vec<_>>(), [2, 3, 4]);
        assert_eq!(index_of(&draw(DrawKind::Int, -32768, 32767, 0), -32768), Some(65535));
    }

    #[test]
    fn values_come_back_from_their_indices() {
        for (kind, lo, hi, towards) in [
            (DrawKind::Int, i64::MIN, i64::MAX, 0),
            (DrawKind::Int, i64::MIN, i64::MAX, i64::MIN),
            (DrawKind::Uint, 0, -1, 77),
            (DrawKind::Int, -5, 9, 7),
        ] {
            let draw = draw(kind, lo, hi, towards);
            for index in (0..40)
                .chain((lo == i64::MIN || hi == -1).then_some([1 << 40, u64::MAX - 1, u64::MAX]).into_iter().flatten())
            {
                let value = draw.number(index);
                if let Some(back) = index_of(&draw, value) {
                    assert_eq!(back, index, "{draw:?}");
                }
            }
        }
        assert_eq!(index_of(&draw(DrawKind::Int, 0, 5, 0), 6), None);
    }
}
