//! Floats of 128 bits as bits: their order, and the doubles near them.

use std::cmp::Ordering;

/// The bit that says that one is negative.
pub(in crate::engine::strategy::compares) const SIGN: u128 = 1 << 127;
/// All bits of the exponent: infinity.
const INFINITY: u128 = 0x7fff << FRACTION_BITS;
const FRACTION_BITS: u32 = 112;
/// How much more the exponent's bits are than those of a double with the same value.
const BIAS_MORE: u64 = 16_383 - 1_023;
/// How many bits more the fraction has than a double's.
const FRACTION_MORE: u32 = FRACTION_BITS - 52;

/// Which of two is less; `None` if one is no number.
pub(in crate::engine::strategy::compares) fn order(left: u128, right: u128) -> Option<Ordering> {
    if left & !SIGN > INFINITY || right & !SIGN > INFINITY {
        return None;
    }
    Some(key(left).cmp(&key(right)))
}

/// A number that is ordered as a float is that is a number. Both zeros are 0.
pub(in crate::engine::strategy::compares) fn key(bits: u128) -> i128 {
    let size = (bits & !SIGN).cast_signed();
    if bits & SIGN == 0 { size } else { -size }
}

/// The double that is nearest in the direction of zero.
pub(in crate::engine::strategy::compares) fn double(bits: u128) -> f64 {
    let sign = if bits & SIGN == 0 { 1.0 } else { -1.0 };
    let size = bits & !SIGN;
    let exponent = (size >> FRACTION_BITS) as u64;
    let fraction = (size >> FRACTION_MORE) as u64 & ((1 << 52) - 1);
    let exponent = match exponent {
        0x7fff if size > INFINITY => return f64::NAN,
        0x7fff => return sign * f64::INFINITY,
        // What is too small for a double, or almost, is 0.
        exponent if exponent <= BIAS_MORE => return sign * 0.0,
        exponent => exponent - BIAS_MORE,
    };
    sign * if exponent >= 0x7ff { f64::MAX } else { f64::from_bits(exponent << 52 | fraction) }
}

#[cfg(test)]
pub(in crate::engine::strategy::compares) mod tests {
    use super::*;
    use crate::engine::rng::Rng;

    /// The same value.
    pub(in crate::engine::strategy::compares) fn quad(value: f64) -> u128 {
        let bits = value.to_bits();
        let (exponent, fraction) = (bits >> 52 & 0x7ff, bits & ((1 << 52) - 1));
        let size = if exponent == 0 {
            0
        } else {
            u128::from(exponent + BIAS_MORE) << FRACTION_BITS | u128::from(fraction) << FRACTION_MORE
        };
        size | u128::from(bits >> 63) << 127
    }

    #[test]
    fn they_are_ordered_as_the_doubles_with_the_same_values() {
        let pi = 0x4000_921f_b544_42d1_8000_0000_0000_0000_u128;
        assert_eq!(pi, quad(std::f64::consts::PI));
        let mut rng = Rng::of_task(1, 0, 0);
        let mut values = vec![0.0, -0.0, 1.0, -1.0, 1e300, -1e300];
        values.extend((0..200).map(|_| f64::from_bits(rng.word())).filter(|value| value.is_normal()));
        for &left in &values {
            assert_eq!(double(quad(left)), left);
            for &right in &values {
                assert_eq!(order(quad(left), quad(right)), left.partial_cmp(&right), "{left} {right}");
            }
            assert_eq!(order(quad(left), INFINITY), Some(Ordering::Less));
            assert_eq!(order(quad(left), INFINITY | 1), None);
        }
    }
}
