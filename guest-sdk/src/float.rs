//! The order of floating-point numbers: which one an index of `draw_f64` stands for.
//!
//! An index is `rank * 2 + sign`, sign 1 for negative. The rank orders magnitudes, NaN included, the simple ones first:
//!
//! ```text
//! rank                               magnitude
//! 0 .. 2^51                          the integer with this value
//! 2^51 + k * 2^52 + m, k in 0..=2046 the number with exponent k and mantissa m of the orders below
//! 2^51 + 2047 * 2^52                 infinity
//! 2^51 + 2047 * 2^52 + 1             NaN (the canonical one, whatever the sign)
//!
//! k          exponent (power of two)             m
//! 0          0: from 1 to 2                      mantissa bits reversed: 0 is 1.0, 1 is 1.5, 2 is 1.25
//! 1..=51     k: 2 to 4, 4 to 8 ...               the upper k bits, the integer's, as they are; the others reversed
//! 52..=1023  k                                   as it is
//! 1024..     1023 - k: 0.5 to 1, 0.25 to 0.5 ... reversed
//! 2046       subnormal                           reversed
//! ```
//!
//! So small integers come first, then numbers with few binary places, and those near zero and with long fractions last. The idea
//! (integers first, exponents by size, fractions by reversed bits) is that of Hypothesis' float order; there the rank has 64
//! bits and the sign one more. Integers below 2^51 have a second rank by their exponents; [`index_of`] gives the first.
//!
//! An index may stand for a number that isn't permitted: then the number is moved into the bounds, see [`Bounds::fit`].

/// Integers that have their value as rank.
const INTEGERS: u64 = 1 << 51;
const MANTISSA_BITS: u32 = 52;
const MANTISSA: u64 = (1 << MANTISSA_BITS) - 1;
const INFINITY_RANK: u64 = INTEGERS + (2047 << MANTISSA_BITS);
const NAN_RANK: u64 = INFINITY_RANK + 1;

/// How many indices there are: 2^52 + 2047 * 2^53 + 4.
pub const COUNT: u64 = (NAN_RANK + 1) * 2;

/// NaN is permitted.
pub const NAN: u32 = 1;
/// Infinities are permitted, as far as the bounds include them.
pub const INFINITE: u32 = 2;
/// Negative zero is permitted, where zero is.
pub const NEGATIVE_ZERO: u32 = 4;
/// Subnormal numbers are permitted.
pub const SUBNORMAL: u32 = 8;
/// All of these.
pub const ALL: u32 = NAN | INFINITE | NEGATIVE_ZERO | SUBNORMAL;

/// The number that an index below [`COUNT`] stands for; NaN for larger ones.
pub fn value_at(index: u64) -> f64 {
    let rank = index / 2;
    let magnitude = if rank < INTEGERS {
        rank as f64
    } else if rank >= NAN_RANK {
        return f64::NAN;
    } else if rank == INFINITY_RANK {
        f64::INFINITY
    } else {
        let code = rank - INTEGERS;
        let (k, m) = ((code >> MANTISSA_BITS) as u32, code & MANTISSA);
        f64::from_bits(u64::from(exponent_at(k)) << MANTISSA_BITS | swap_mantissa(k, m))
    };
    if index & 1 == 1 { -magnitude } else { magnitude }
}

/// The smallest index of a number.
pub fn index_of(value: f64) -> u64 {
    if value.is_nan() {
        return NAN_RANK * 2;
    }
    let bits = value.to_bits() & (u64::MAX >> 1);
    let magnitude = f64::from_bits(bits);
    let rank = if magnitude < INTEGERS as f64 && (magnitude as u64) as f64 == magnitude {
        magnitude as u64
    } else if magnitude == f64::INFINITY {
        INFINITY_RANK
    } else {
        let k = place_of_exponent((bits >> MANTISSA_BITS) as u32);
        INTEGERS + (u64::from(k) << MANTISSA_BITS | swap_mantissa(k, bits & MANTISSA))
    };
    rank * 2 + u64::from(value.is_sign_negative())
}

/// The exponent's bits (0 to 2046) for a place in the order: 1023 to 2046, then 1022 down to 0.
fn exponent_at(k: u32) -> u32 {
    if k <= 1023 { k + 1023 } else { 2046 - k }
}

fn place_of_exponent(biased: u32) -> u32 {
    if biased >= 1023 { biased - 1023 } else { 2046 - biased }
}

/// From the place in the order to the mantissa, and back.
fn swap_mantissa(k: u32, m: u64) -> u64 {
    let fraction_bits = match k {
        0..=51 => MANTISSA_BITS - k,
        52..=1023 => return m,
        _ => MANTISSA_BITS,
    };
    let fraction = m & ((1 << fraction_bits) - 1);
    (m ^ fraction) | fraction.reverse_bits() >> (64 - fraction_bits)
}

/// What `draw_f64` permits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// The least; -infinity for none.
    pub lo: f64,
    /// The greatest; infinity for none.
    pub hi: f64,
    /// [`NAN`], [`INFINITE`], [`NEGATIVE_ZERO`], [`SUBNORMAL`].
    pub flags: u32,
}

impl Bounds {
    /// The number itself if it is permitted, else one that is.
    ///
    /// Negative zero becomes zero and a subnormal number zero, if zero is within the bounds. Everything else becomes
    /// `lo * (1 - f) + hi * f`, where f is the number's mantissa as a fraction of 2^52 and infinite bounds are the
    /// largest finite numbers; so a number whose mantissa is 0 becomes `lo`.
    pub fn fit(self, value: f64) -> f64 {
        if self.permits(value) {
            return value;
        }
        let has_zero = self.lo <= 0.0 && 0.0 <= self.hi;
        if has_zero && (value == 0.0 || value.is_subnormal()) {
            return 0.0;
        }
        let (lo, hi) = (self.lo.max(-f64::MAX), self.hi.min(f64::MAX));
        let fraction = (value.to_bits() & MANTISSA) as f64 / (1_u64 << MANTISSA_BITS) as f64;
        let moved = (lo * (1.0 - fraction) + hi * fraction).clamp(lo, hi);
        if moved == 0.0 || (has_zero && moved.is_subnormal() && self.flags & SUBNORMAL == 0) { 0.0 } else { moved }
    }

    fn permits(self, value: f64) -> bool {
        if value.is_nan() {
            return self.flags & NAN != 0;
        }
        let is_negative_zero = value == 0.0 && value.is_sign_negative();
        self.lo <= value
            && value <= self.hi
            && (value.is_finite() || self.flags & INFINITE != 0)
            && (!is_negative_zero || self.flags & NEGATIVE_ZERO != 0)
            && (!value.is_subnormal() || self.flags & SUBNORMAL != 0)
    }

    /// Only one number is possible.
    pub fn is_forced(self) -> bool {
        self.lo == self.hi
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn simple_numbers_come_first() {
        let first: Vec<f64> = (0..6).map(value_at).collect();
        assert_eq!(first, [0.0, -0.0, 1.0, -1.0, 2.0, -2.0]);
        assert!(value_at(1).is_sign_negative());
        let after_integers: Vec<f64> = (0..5).map(|m| value_at((INTEGERS + m) * 2)).collect();
        assert_eq!(after_integers, [1.0, 1.5, 1.25, 1.75, 1.125]);
        let in_order = [1.5, 2.5, 2.25, 3.5, 4.5, 0.5, 0.75, 0.25, 5e-324, f64::INFINITY, f64::NAN];
        assert!(in_order.windows(2).all(|pair| index_of(pair[0]) < index_of(pair[1])));
        assert_eq!(index_of(f64::NAN) + 2, COUNT);
    }

    #[test]
    fn every_number_comes_back_from_its_index() {
        let mut bits = 0x9e37_79b9_7f4a_7c15_u64;
        let fixed = [0.0, -0.0, 1.0, 0.5, 5e-324, f64::MAX, f64::MIN_POSITIVE, f64::INFINITY, 4503599627370497.0];
        let random = (0..100_000).map(|_| {
            bits ^= bits << 13;
            bits ^= bits >> 7;
            bits ^= bits << 17;
            f64::from_bits(bits)
        });
        for value in random.chain(fixed).filter(|value| !value.is_nan()) {
            let index = index_of(value);
            assert!(index < COUNT);
            assert_eq!(value_at(index).to_bits(), value.to_bits(), "{value:e}");
        }
    }

    #[test]
    fn every_index_is_a_number_within_the_bounds() {
        let bounds = [
            Bounds { lo: 0.5, hi: 0.75, flags: 0 },
            Bounds { lo: -1.0, hi: f64::INFINITY, flags: INFINITE },
            Bounds { lo: f64::NEG_INFINITY, hi: f64::INFINITY, flags: 0 },
            Bounds { lo: -0.0, hi: 3.0, flags: NEGATIVE_ZERO },
        ];
        for bounds in bounds {
            for step in 0..100_000 {
                let value = bounds.fit(value_at(step * (COUNT / 100_000)));
                assert!(bounds.permits(value), "{value:e} in {bounds:?}");
            }
        }
        assert_eq!(bounds[0].fit(value_at(0)), 0.5);
        assert_eq!(bounds[1].fit(value_at(1)).to_bits(), 0);
        assert!(bounds[2].fit(f64::NAN).is_finite());
    }
}
