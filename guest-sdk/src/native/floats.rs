//! Numbers between two bounds, in the order that [`crate::float`] describes.

use crate::float::{INFINITE, NAN, NEGATIVE_ZERO, SUBNORMAL};
use crate::index::Zigzag;

/// All integers up to this are numbers: 2^53.
const INTEGER_MAX: f64 = 9_007_199_254_740_992.0;
/// Bits of 2^-970: from there on no number needs more than 1022 binary places.
const FEW_PLACES: u64 = 0x0350_0000_0000_0000;

/// Numbers between two bounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Floats {
    lo: f64,
    hi: f64,
    flags: u32,
    /// How many are finite and not negative zero.
    finite: u64,
    /// The others, as far as they are permitted.
    specials: [Option<f64>; 4],
}

impl Floats {
    /// `None` if there is no number between the bounds.
    pub(super) fn new(lo: f64, hi: f64, flags: u32) -> Option<Self> {
        if lo.is_nan() || hi.is_nan() || lo > hi {
            return None;
        }
        let permits = |flag| flags & flag != 0;
        let specials = [
            (permits(NEGATIVE_ZERO) && lo <= 0.0 && hi >= 0.0).then_some(-0.0),
            (permits(INFINITE) && hi == f64::INFINITY).then_some(f64::INFINITY),
            (permits(INFINITE) && lo == f64::NEG_INFINITY).then_some(f64::NEG_INFINITY),
            permits(NAN).then_some(f64::NAN),
        ];
        // Adding 0 makes 0 of negative zero.
        let (lo, hi) = (lo.max(f64::MIN) + 0.0, hi.min(f64::MAX) + 0.0);
        let up_to = |value: f64| magnitudes_up_to(value.to_bits(), flags);
        let below = |value: f64| magnitudes_up_to(value.to_bits() - 1, flags);
        let finite = if lo > hi {
            0
        } else if lo > 0.0 {
            up_to(hi) - below(lo)
        } else if hi < 0.0 {
            up_to(-lo) - below(-hi)
        } else {
            up_to(hi) + up_to(lo.abs()) - 1
        };
        let floats = Self { lo, hi, flags, finite, specials };
        (floats.count() > 0).then_some(floats)
    }

    fn count(&self) -> u64 {
        self.finite + self.specials.iter().flatten().count() as u64
    }

    /// The largest index.
    pub(super) fn index_max(&self) -> u64 {
        self.count() - 1
    }

    /// The number with an index that is not larger than the largest.
    pub(super) fn value(&self, index: u64) -> f64 {
        if let Some(special) = index.checked_sub(self.finite) {
            return self.specials.iter().flatten().nth(special as usize).copied().unwrap_or(f64::NAN);
        }
        let mut left = index;
        let found = self.steps().find_map(|step| {
            let count = step.count();
            let is_here = left < count;
            if !is_here {
                left -= count;
            }
            is_here.then(|| step.value(left))
        });
        found.expect("the steps have all finite numbers")
    }

    /// The index of a number; `None` if it is not among these.
    pub(super) fn index(&self, value: f64) -> Option<u64> {
        let is_same = |other: f64| other.to_bits() == value.to_bits() || other.is_nan() && value.is_nan();
        if let Some(place) = self.specials.iter().flatten().position(|&special| is_same(special)) {
            return Some(self.finite + place as u64);
        }
        let is_negative_zero = value == 0.0 && value.is_sign_negative();
        if is_negative_zero || !(self.lo..=self.hi).contains(&value) {
            return None;
        }
        let mut before = 0;
        self.steps().find_map(|step| {
            let index = step.index(value).map(|index| before + index);
            before += step.count();
            index
        })
    }

    /// The order, step by step.
    fn steps(&self) -> impl Iterator<Item = Step> {
        let (lo, hi) = (self.lo, self.hi);
        let places_max = if self.flags & SUBNORMAL != 0 { 1074 } else { 1022 };
        let with_places = (0..=places_max).scan((lo, hi), |(lo, hi), places| {
            let (first, last) = (ceil(*lo), floor(*hi));
            (*lo, *hi) = (*lo + *lo, *hi + *hi);
            Some(if places == 0 { Step::Integers { first, last } } else { Step::Fractions { places, first, last } })
        });
        let large = (1..=1023).flat_map(move |power| {
            let unit = power_of_two(power);
            let (lo, hi) = (lo / unit, hi / unit);
            let least = (INTEGER_MAX / unit) as i64 + 1;
            let step =
                move |is_negative, first: i64, last| Step::Large { power, is_negative, first: first.max(least), last };
            [step(false, ceil(lo), floor(hi)), step(true, ceil(-hi), floor(-lo))]
        });
        with_places.chain(large)
    }
}

/// How many numbers there are from 0 to that with these bits.
fn magnitudes_up_to(bits: u64, flags: u32) -> u64 {
    if flags & SUBNORMAL != 0 {
        return bits + 1;
    }
    let tiny = bits.min(FEW_PLACES - 1);
    bits - tiny + (f64::from_bits(tiny) * power_of_two(1022)).floor() as u64 + 1
}

/// A part of the order: numbers with the same number of binary places.
#[derive(Clone, Copy, Debug)]
enum Step {
    Integers {
        first: i64,
        last: i64,
    },
    /// Odd multiples of 2^-places, by their factors.
    Fractions {
        places: i32,
        first: i64,
        last: i64,
    },
    /// Odd multiples of 2^power, by the factors of their magnitudes.
    Large {
        power: i32,
        is_negative: bool,
        first: i64,
        last: i64,
    },
}

/// The first odd number and the last among those from `first` to `last`.
fn odd(first: i64, last: i64) -> (i64, i64) {
    (first | 1, last.saturating_sub(1) | 1)
}

/// Numbers from `lo` to `hi` around the one nearest to 0.
fn around_zero(lo: i64, hi: i64) -> (Zigzag, i64) {
    let towards = 0.clamp(lo, hi);
    (Zigzag::signed(lo.into(), hi.into(), towards.into()), towards)
}

fn value_around_zero(index: u64, lo: i64, hi: i64) -> i64 {
    let (zigzag, towards) = around_zero(lo, hi);
    zigzag.value(index.into(), towards as u128) as i64
}

fn index_around_zero(value: i64, lo: i64, hi: i64) -> u64 {
    let (zigzag, towards) = around_zero(lo, hi);
    zigzag.index(value.abs_diff(towards).into(), value < towards) as u64
}

impl Step {
    fn count(self) -> u64 {
        let (first, last, by) = match self {
            Self::Integers { first, last } => (first, last, 1),
            Self::Fractions { first, last, .. } | Self::Large { first, last, .. } => {
                let (first, last) = odd(first, last);
                (first, last, 2)
            }
        };
        if first > last { 0 } else { last.abs_diff(first) / by + 1 }
    }

    /// The number at an index below the count.
    fn value(self, index: u64) -> f64 {
        match self {
            Self::Integers { first, last } => value_around_zero(index, first, last) as f64,
            Self::Fractions { places, first, last } => {
                // Odd numbers 1, -1, 3, -3 are 0, 1, -1, 2 by (1 - number) / 2, so that the positive come first.
                let (first, last) = odd(first, last);
                let number = 1 - 2 * value_around_zero(index, (1 - last) >> 1, (1 - first) >> 1);
                number as f64 * power_of_two(-places)
            }
            Self::Large { power, is_negative, first, last } => {
                let magnitude = (odd(first, last).0 + 2 * index as i64) as f64 * power_of_two(power);
                if is_negative { -magnitude } else { magnitude }
            }
        }
    }

    /// The index of a number; `None` if it isn't in this step.
    fn index(self, value: f64) -> Option<u64> {
        let whole = |value: f64| {
            let number = value as i64;
            (number as f64 == value && value.abs() <= INTEGER_MAX).then_some(number)
        };
        match self {
            Self::Integers { first, last } => {
                let number = whole(value).filter(|number| (first..=last).contains(number))?;
                Some(index_around_zero(number, first, last))
            }
            Self::Fractions { places, first, last } => {
                // In two steps, as 2^places may be too large for a number.
                let scaled = value * power_of_two(places / 2) * power_of_two(places - places / 2);
                let (first, last) = odd(first, last);
                let number = whole(scaled).filter(|number| number & 1 == 1 && (first..=last).contains(number))?;
                Some(index_around_zero((1 - number) >> 1, (1 - last) >> 1, (1 - first) >> 1))
            }
            Self::Large { power, is_negative, first, last } => {
                let magnitude = if is_negative { -value } else { value };
                let number = whole(magnitude / power_of_two(power))?;
                let (first, last) = odd(first, last);
                (number & 1 == 1 && (first..=last).contains(&number)).then(|| number.abs_diff(first) / 2)
            }
        }
    }
}

/// The least integer that is not below a number, or -2^53 if that is larger.
fn ceil(value: f64) -> i64 {
    value.max(-INTEGER_MAX).ceil() as i64
}

/// The largest integer that is not above a number, or 2^53 if that is smaller.
fn floor(value: f64) -> i64 {
    value.min(INTEGER_MAX).floor() as i64
}

/// 2^power, from -1074 to 1023.
fn power_of_two(power: i32) -> f64 {
    f64::from_bits(if power >= -1022 { ((power + 1023) as u64) << 52 } else { 1 << (power + 1074) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::float::ALL;
    use std::vec::Vec;

    fn first(lo: f64, hi: f64, flags: u32, count: u64) -> Vec<f64> {
        let floats = Floats::new(lo, hi, flags).unwrap();
        (0..count).map(|index| floats.value(index)).collect()
    }

    #[test]
    fn simple_numbers_come_first() {
        assert_eq!(first(f64::NEG_INFINITY, f64::INFINITY, ALL, 5), [0.0, 1.0, -1.0, 2.0, -2.0]);
        assert_eq!(first(0.0, 1.0, 0, 6), [0.0, 1.0, 0.5, 0.25, 0.75, 0.125]);
        assert_eq!(first(-1.0, 1.0, 0, 7), [0.0, 1.0, -1.0, 0.5, -0.5, 0.25, -0.25]);
        assert_eq!(first(2.5, 4.0, 0, 5), [3.0, 4.0, 2.5, 3.5, 2.75]);
        assert_eq!(first(4.0, 4.0, 0, 1), [4.0]);
    }

    #[test]
    fn special_numbers_come_last() {
        let all = Floats::new(f64::NEG_INFINITY, f64::INFINITY, ALL).unwrap();
        let last: Vec<f64> = (0..5).map(|place| all.value(all.index_max() - place)).collect();
        assert!(last[0].is_nan() && last[3].to_bits() == (-0.0_f64).to_bits());
        assert_eq!(last[1..3], [f64::NEG_INFINITY, f64::INFINITY]);
        assert_eq!(last[4], -2_f64.powi(1023));
        assert_eq!(all.index_max(), 0x7ff0_0000_0000_0000 * 2 - 1 + 3);
    }

    #[test]
    fn every_number_has_one_index() {
        let mut state = 1_u64;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        for round in 0..3000 {
            let mut any = || f64::from_bits(random() >> (random() % 2) << (random() % 64));
            let (a, b, value) = (any(), any(), any());
            let flags = random() as u32 & ALL;
            let Some(floats) = Floats::new(a.min(b), a.max(b), flags) else { continue };
            let index = random() >> (random() % 64);
            if index <= floats.index_max() {
                assert_eq!(floats.index(floats.value(index)), Some(index), "{round}: {floats:?}");
            }
            if let Some(index) = floats.index(value) {
                assert!(index <= floats.index_max());
                let same = floats.value(index);
                assert!(same.to_bits() == value.to_bits() || value.is_nan() && same.is_nan(), "{round}: {value:e}");
            }
        }
    }

    #[test]
    fn numbers_with_many_places_are_left_out() {
        let floats = Floats::new(0.0, f64::from_bits(FEW_PLACES + 3), 0).unwrap();
        // Multiples of 2^-1022 up to 2^-970, and three numbers beyond.
        assert_eq!(floats.index_max(), (1 << 52) + 3);
        assert_eq!(floats.value(1), 2_f64.powi(-970));
        assert!(Floats::new(5e-324, 5e-324, 0).is_none());
        assert!(Floats::new(1.0, 0.0, ALL).is_none() && Floats::new(f64::NAN, 0.0, ALL).is_none());
    }
}
