//! What the index of a draw means: the one place where it is written down for this crate.
//!
//! A stream holds an *index* for each draw, counted from the simplest value, which has index 0. The number of values that are
//! possible is the draw's cardinality.
//!
//! | draw | index | cardinality |
//! | --- | --- | --- |
//! | `draw_int`, `draw_uint` | zigzag distance from `towards`, see [`Zigzag`] | `hi - lo + 1` |
//! | `draw_bool` | 0 false, 1 true; 0 alone where only one is possible | 2; 1 if `p_true` is 0 or 2^32 - 1 |
//! | `draw_choice` | the alternative, whatever its weight | `n` |
//! | `draw_f64` | see [`crate::float`] | numbers between the bounds |
//! | `draw_more` | 0 ends, 1 goes on; 0 alone where only one is possible | 2; 1 below `min` and at `max` |
//! | `draw_payload` | the value | 2^bits |
//! | `draw_bytes` | a blob: the bytes | |
//! | `draw_str` | a blob: for each scalar value its index in the alphabet, as LEB128; see [`crate::text`] | |
//!
//! A draw with cardinality 1 takes a place in the stream all the same, so that what follows stays where it is. An index that
//! is too large, a blob in the place of an index and the other way round stand for the simplest value (index 0, or
//! the smallest length with all bytes zero).

/// Integers between two bounds, in the order of their distance from one among them.
///
/// `towards` has index 0; then follow `towards + 1`, `towards - 1`, `towards + 2` and so on. Where one side has ended, the
/// other goes on alone:
///
/// ```text
/// lo = -2, hi = 5, towards = 0:   0  1 -1  2 -2  3  4  5
/// index                           0  1  2  3  4  5  6  7
/// ```
///
/// A `towards` that is out of bounds is moved to the nearer bound. All arithmetic is on distances, so that 128 bits suffice
/// for every range of `i128` and of `u128`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zigzag {
    /// How many values are less than `towards`.
    pub below: u128,
    /// How many are greater.
    pub above: u128,
}

impl Zigzag {
    /// For signed bounds, and `towards` between them.
    pub fn signed(lo: i128, hi: i128, towards: i128) -> Self {
        debug_assert!(lo <= towards && towards <= hi);
        Self { below: towards.wrapping_sub(lo) as u128, above: hi.wrapping_sub(towards) as u128 }
    }

    /// For unsigned bounds, and `towards` between them.
    pub fn unsigned(lo: u128, hi: u128, towards: u128) -> Self {
        debug_assert!(lo <= towards && towards <= hi);
        Self { below: towards - lo, above: hi - towards }
    }

    /// The largest index: the number of values less one.
    pub fn index_max(self) -> u128 {
        self.below + self.above
    }

    /// How far the value with this index is from `towards`, and whether it is less.
    pub fn distance(self, index: u128) -> (u128, bool) {
        let both = self.below.min(self.above);
        let step = index / 2 + index % 2;
        if step <= both { (step, index.is_multiple_of(2)) } else { (index - both, self.below > self.above) }
    }

    /// The index of the value that is so far from `towards`.
    pub fn index(self, distance: u128, is_less: bool) -> u128 {
        let both = self.below.min(self.above);
        match distance {
            0 => 0,
            _ if distance > both => distance + both,
            _ => distance * 2 - u128::from(!is_less),
        }
    }

    /// The value with this index: `towards` plus or minus its distance, in two's complement.
    pub fn value(self, index: u128, towards: u128) -> u128 {
        match self.distance(index) {
            (distance, true) => towards.wrapping_sub(distance),
            (distance, false) => towards.wrapping_add(distance),
        }
    }
}

/// The most that `draw_bool` can be asked for: certainly true.
pub const CERTAIN: u32 = u32::MAX;

/// The only answer that `draw_bool` can give for this probability, in units of 2^-32; `None` if there are two.
pub fn forced_bool(p_true: u32) -> Option<bool> {
    match p_true {
        0 => Some(false),
        CERTAIN => Some(true),
        _ => None,
    }
}

/// The only answer that `draw_more` can give for a collection that has `len` elements so far; `None` if there are two.
pub fn forced_more(len: u32, min: u32, max: u32) -> Option<bool> {
    if len < min {
        Some(true)
    } else if len >= max {
        Some(false)
    } else {
        None
    }
}

/// The average length that is asked for when nothing is said, in units of 1/256: twice the smallest length, five more
/// than it, or halfway to the largest.
pub fn average_q8(min: u32, max: u32) -> u32 {
    let usual = min.saturating_mul(2).max(min.saturating_add(5));
    let halfway = (u64::from(min) + u64::from(max)) * 128;
    (u64::from(usual) * 256).min(halfway).min(u64::from(i32::MAX as u32)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn all(lo: i128, hi: i128, towards: i128) -> Vec<i128> {
        let zigzag = Zigzag::signed(lo, hi, towards);
        (0..=zigzag.index_max()).map(|index| zigzag.value(index, towards as u128) as i128).collect()
    }

    #[test]
    fn integers_come_in_the_order_of_their_distance() {
        assert_eq!(all(-2, 5, 0), [0, 1, -1, 2, -2, 3, 4, 5]);
        assert_eq!(all(-4, 1, 0), [0, 1, -1, -2, -3, -4]);
        assert_eq!(all(3, 6, 3), [3, 4, 5, 6]);
        assert_eq!(all(3, 6, 6), [6, 5, 4, 3]);
        assert_eq!(all(7, 7, 7), [7]);
    }

    #[test]
    fn every_index_comes_back_from_its_value() {
        for (lo, hi) in [(-9, 9), (-3, 40), (-40, 3), (0, 17), (-17, 0)] {
            for towards in lo..=hi {
                let zigzag = Zigzag::signed(lo, hi, towards);
                for index in 0..=zigzag.index_max() {
                    let (distance, is_less) = zigzag.distance(index);
                    assert_eq!(zigzag.index(distance, is_less), index, "{lo} {hi} {towards}");
                }
            }
        }
    }

    #[test]
    fn the_widest_ranges_do_not_overflow() {
        let signed = Zigzag::signed(i128::MIN, i128::MAX, 0);
        assert_eq!(signed.index_max(), u128::MAX);
        assert_eq!(signed.value(u128::MAX, 0) as i128, i128::MIN);
        assert_eq!(signed.index(1 << 127, true), u128::MAX);
        let unsigned = Zigzag::unsigned(0, u128::MAX, u128::MAX);
        assert_eq!(unsigned.value(u128::MAX, u128::MAX), 0);
    }

    #[test]
    fn lengths_are_forced_at_their_bounds_only() {
        assert_eq!([0, 1, 2, 3].map(|len| forced_more(len, 1, 3)), [Some(true), None, None, Some(false)]);
        assert_eq!([average_q8(0, 1000), average_q8(0, 4), average_q8(20, 1000)], [5 * 256, 2 * 256, 40 * 256]);
    }
}
