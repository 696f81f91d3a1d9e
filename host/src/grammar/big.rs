//! Numbers without a limit, as far as counting needs them.

use std::cmp::Ordering;

/// A number: digits of 32 bits, the lowest first, without zeros at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Big(Vec<u32>);

impl Big {
    pub(super) fn of(number: u64) -> Self {
        Self(vec![number as u32, (number >> 32) as u32]).trimmed()
    }

    fn trimmed(mut self) -> Self {
        let len = self.0.iter().rposition(|&digit| digit != 0).map_or(0, |last| last + 1);
        self.0.truncate(len);
        self
    }

    pub(super) fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.0.resize(self.0.len().max(other.0.len()) + 1, 0);
        let mut carry = 0;
        for (place, digit) in self.0.iter_mut().enumerate() {
            let sum = u64::from(*digit) + u64::from(other.0.get(place).copied().unwrap_or(0)) + carry;
            (*digit, carry) = (sum as u32, sum >> 32);
        }
        *self = std::mem::take(self).trimmed();
    }

    /// Takes away a number that is no larger.
    pub(super) fn subtract(&mut self, other: &Self) {
        let mut borrowed = 0;
        for (place, digit) in self.0.iter_mut().enumerate() {
            let taken = i64::from(other.0.get(place).copied().unwrap_or(0)) + borrowed;
            let rest = i64::from(*digit) - taken;
            (*digit, borrowed) = (rest as u32, i64::from(rest < 0));
        }
        *self = std::mem::take(self).trimmed();
    }

    pub(super) fn times(&self, other: &Self) -> Self {
        let mut product = vec![0_u32; self.0.len() + other.0.len()];
        for (place, &a) in self.0.iter().enumerate() {
            let mut carry = 0;
            for (digit, b) in product[place..].iter_mut().zip(other.0.iter().map(|&b| u64::from(b)).chain([0])) {
                let sum = u64::from(*digit) + u64::from(a) * b + carry;
                (*digit, carry) = (sum as u32, sum >> 32);
            }
        }
        Self(product).trimmed()
    }

    /// The number, if it has no more than 64 bits.
    pub(super) fn small(&self) -> Option<u64> {
        match self.0[..] {
            [] => Some(0),
            [low] => Some(low.into()),
            [low, high] => Some(u64::from(low) | u64::from(high) << 32),
            _ => None,
        }
    }

    /// A number below this one, which is not 0, each as likely.
    pub(super) fn below(&self, word: &mut dyn FnMut() -> u64) -> Self {
        let last = self.0.last().expect("it is not 0");
        let mask = u32::MAX >> last.leading_zeros();
        loop {
            let mut digits: Vec<u32> = self.0.iter().map(|_| (word() >> 32) as u32).collect();
            *digits.last_mut().expect("as many") &= mask;
            let number = Self(digits).trimmed();
            // More often than not.
            if number.cmp(self) == Ordering::Less {
                return number;
            }
        }
    }
}

impl PartialOrd for Big {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Big {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.len().cmp(&other.0.len()).then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_is_that_of_wide_numbers() {
        let wide = |big: &Big| big.0.iter().rev().fold(0_u128, |number, &digit| number << 32 | u128::from(digit));
        let mut seed = 1_u64;
        for _ in 0..2_000 {
            let mut random = || {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                seed >> (seed >> 58)
            };
            let [a, b, c] = [random(), random(), random()];
            let product = Big::of(a).times(&Big::of(b));
            assert_eq!(wide(&product), u128::from(a) * u128::from(b));
            let mut sum = product.clone();
            sum.add(&Big::of(c));
            assert_eq!(wide(&sum), (u128::from(a) * u128::from(b)).wrapping_add(c.into()));
            sum.subtract(&product);
            assert_eq!((sum.small(), sum.cmp(&Big::of(a))), (Some(c), c.cmp(&a)));
        }
        assert!(Big::of(0).is_zero() && Big::of(1 << 40).times(&Big::of(1 << 40)).small().is_none());
    }
}
