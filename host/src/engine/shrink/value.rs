//! Numbers behind indices.
//!
//! Index 0 is the value that a draw goes towards; then come, in turns, one more and one less, two more and two less,
//! as long as there are values on both sides, and then the rest of the longer side.

use crate::stream::{Choice, Draw, DrawKind};

/// Whether the index stands for an integer that arithmetic makes sense of.
pub(super) fn is_number(draw: &Draw) -> bool {
    matches!(draw.kind, DrawKind::Int | DrawKind::Uint) && !draw.forced
}

/// Bounds and the value of index 0.
fn bounds(draw: &Draw) -> (i128, i128, i128) {
    let wide = |bits: i64| if draw.kind == DrawKind::Uint { i128::from(bits as u64) } else { i128::from(bits) };
    let (lo, hi) = (wide(draw.lo), wide(draw.hi));
    (lo, hi, wide(draw.towards).clamp(lo, hi.max(lo)))
}

/// The value that index 0 stands for.
pub(super) fn simplest_value(draw: &Draw) -> i128 {
    bounds(draw).2
}

/// The value that `index` stands for.
pub(super) fn value_of(draw: &Draw, index: u64) -> i128 {
    let (lo, hi, towards) = bounds(draw);
    let (below, above) = (towards - lo, hi - towards);
    let both = below.min(above);
    let index = i128::from(index);
    if index <= 2 * both {
        let distance = (index + 1) / 2;
        if index % 2 == 1 { towards + distance } else { towards - distance }
    } else if above > below {
        towards + (index - both)
    } else {
        towards - (index - both)
    }
}

/// The index of `value`; `None` if it is out of bounds.
pub(super) fn index_of(draw: &Draw, value: i128) -> Option<u64> {
    let (lo, hi, towards) = bounds(draw);
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
    let (lo, hi, _) = bounds(draw);
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
        assert_eq!((0..9).map(|i| value_of(&signed, i)).collect::<Vec<_>>(), [0, 1, -1, 2, -2, 3, -3, 4, 5]);
        let clamped = draw(DrawKind::Int, 2, 4, 0);
        assert_eq!((0..3).map(|i| value_of(&clamped, i)).collect::<Vec<_>>(), [2, 3, 4]);
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
                let value = value_of(&draw, index);
                if let Some(back) = index_of(&draw, value) {
                    assert_eq!(back, index, "{draw:?}");
                }
            }
        }
        assert_eq!(index_of(&draw(DrawKind::Int, 0, 5, 0), 6), None);
    }
}
