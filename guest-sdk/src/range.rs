//! Ranges as callers write them.

use crate::integer::Integer;
use core::ops::{Bound, Range, RangeBounds, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

/// Both bounds of a range, included.
///
/// # Panics
///
/// If there is no value between them.
pub(crate) fn bounds<T: Integer>(range: &impl RangeBounds<T>) -> (T, T) {
    let lo = match range.start_bound() {
        Bound::Included(&lo) => Some(lo),
        Bound::Excluded(&lo) => lo.next(),
        Bound::Unbounded => Some(T::MIN),
    };
    let hi = match range.end_bound() {
        Bound::Included(&hi) => Some(hi),
        Bound::Excluded(&hi) => hi.previous(),
        Bound::Unbounded => Some(T::MAX),
    };
    match (lo, hi) {
        (Some(lo), Some(hi)) if lo <= hi => (lo, hi),
        _ => panic!("a range without values"),
    }
}

/// How long something may be: `3`, `0..10`, `2..=5`, `1..` or `..`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lengths {
    /// The smallest length.
    pub min: u32,
    /// The largest length.
    pub max: u32,
}

/// Lengths go up to here, so that they are the same number with and without sign.
const LEN_MAX: usize = i32::MAX as usize;

impl Lengths {
    /// # Panics
    ///
    /// If there is no length between the bounds.
    fn between(range: impl RangeBounds<usize>) -> Self {
        let (min, max) = bounds(&range);
        assert!(min <= LEN_MAX, "a length of {min}");
        Self { min: min as u32, max: max.min(LEN_MAX) as u32 }
    }
}

impl From<usize> for Lengths {
    fn from(len: usize) -> Self {
        Self::between(len..=len)
    }
}

macro_rules! from_range {
    ($($range:ty)*) => {$(
        impl From<$range> for Lengths {
            fn from(range: $range) -> Self {
                Self::between(range)
            }
        }
    )*};
}

from_range! { Range<usize> RangeInclusive<usize> RangeFrom<usize> RangeTo<usize> RangeToInclusive<usize> RangeFull }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_as_written() {
        let of = |lengths: Lengths| (lengths.min, lengths.max);
        assert_eq!(of(3.into()), (3, 3));
        assert_eq!(of((0..10).into()), (0, 9));
        assert_eq!(of((2..=5).into()), (2, 5));
        assert_eq!(of((1..).into()), (1, i32::MAX as u32));
        assert_eq!(of((..).into()), (0, i32::MAX as u32));
    }

    #[test]
    #[should_panic(expected = "without values")]
    fn an_empty_range_is_a_mistake() {
        bounds(&(5_i8..5));
    }
}
