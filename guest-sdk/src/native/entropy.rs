//! A finite number of random bytes: what an execution draws from when no stream is given.

use std::vec::Vec;

/// Random bytes in the small: 64 bits name all of them.
///
/// The low half is their number, the high half the state of a xorshift generator (13, 17, 5) whose numbers are written in
/// little endian, whole words of four bytes until there are enough. So does the crate arbtest; a seed means the same bytes
/// here and there.
///
/// A seed whose high half is 0 stands for zeros only: that generator never leaves 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed(pub u64);

impl Seed {
    /// So many bytes from this state.
    pub fn new(len: u32, state: u32) -> Self {
        Self(u64::from(state) << 32 | u64::from(len))
    }

    /// Reads `0x` and up to 16 hexadecimal digits; the `0x` may be left out.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        u64::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16).ok().map(Self)
    }

    /// How many bytes, before rounding up to whole words.
    pub fn len(self) -> u32 {
        self.0 as u32
    }

    /// No byte.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The bytes.
    pub fn bytes(self) -> Vec<u8> {
        let mut state = (self.0 >> 32) as u32;
        let mut bytes = Vec::with_capacity(self.len() as usize);
        while bytes.len() < self.len() as usize {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            bytes.extend_from_slice(&state.to_le_bytes());
        }
        bytes
    }
}

/// `0x` and 16 digits.
impl std::fmt::Display for Seed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "0x{:016x}", self.0)
    }
}

/// Bytes that are taken from the front. When they have run out, everything is 0.
#[derive(Clone, Debug, Default)]
pub(super) struct Entropy {
    bytes: Vec<u8>,
    taken: usize,
}

impl Entropy {
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, taken: 0 }
    }

    pub(super) fn left(&self) -> usize {
        self.bytes.len() - self.taken
    }

    pub(super) fn take(&mut self, len: usize) -> &[u8] {
        let start = self.taken;
        self.taken += len.min(self.left());
        &self.bytes[start..self.taken]
    }

    /// A number of `len` bytes; 0 when that many aren't left.
    fn number(&mut self, len: usize) -> u64 {
        let mut number = [0; 8];
        let taken = self.take(len);
        if taken.len() == len {
            number[..len].copy_from_slice(taken);
        }
        u64::from_le_bytes(number)
    }

    /// Uniform in `0..=max`.
    pub(super) fn up_to(&mut self, max: u64) -> u64 {
        let len = match max {
            0 => return 0,
            1..=0x0f => 1,
            0x10..=0xfff => 2,
            0x1000..=0xff_ffff => 4,
            _ => 8,
        };
        let number = u128::from(self.number(len)) << (64 - 8 * len);
        ((number * (u128::from(max) + 1)) >> 64) as u64
    }

    /// Any number of bits up to that of `max`, equally likely; then a number of that many bits.
    pub(super) fn any_magnitude(&mut self, max: u64) -> u64 {
        let bits = self.up_to(u64::from(64 - max.leading_zeros()));
        let number = if bits == 0 { 0 } else { self.up_to(u64::MAX >> (64 - bits)) };
        if number <= max { number } else { number % (max + 1) }
    }

    /// True with a probability in units of 2^-32.
    pub(super) fn chance(&mut self, p: u32) -> bool {
        let len = if p.is_multiple_of(1 << 24) { 1 } else { 4 };
        if self.left() < len {
            self.take(len);
            return false;
        }
        self.number(len) < u64::from(p) >> (32 - 8 * len)
    }

    /// One of several, as likely as their weights say; uniform if all weights are 0.
    pub(super) fn weighted(&mut self, weights: &[u32]) -> u32 {
        let total: u64 = weights.iter().map(|&weight| u64::from(weight)).sum();
        if total == 0 {
            return self.up_to(weights.len() as u64 - 1) as u32;
        }
        if self.left() == 0 {
            return 0;
        }
        let mut at = self.up_to(total - 1);
        for (alternative, &weight) in weights.iter().enumerate() {
            if at < u64::from(weight) {
                return alternative as u32;
            }
            at -= u64::from(weight);
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString as _;

    #[test]
    fn seeds_read_as_they_print() {
        let seed = Seed::new(32, 0xdead_beef);
        assert_eq!(seed.to_string(), "0xdeadbeef00000020");
        assert_eq!(Seed::parse(&seed.to_string()), Some(seed));
        assert_eq!(Seed::parse("not a seed"), None);
    }

    #[test]
    fn a_seed_of_zero_is_zeros() {
        assert_eq!(Seed::new(9, 0).bytes(), [0; 12]);
    }

    #[test]
    fn all_is_simplest_when_nothing_is_left() {
        let mut entropy = Entropy::new([255].to_vec());
        assert_eq!(entropy.up_to(u64::MAX), 0, "a number of which only a part is left is 0");
        assert_eq!(entropy.left(), 0);
        assert!(!entropy.chance(u32::MAX));
        assert_eq!((entropy.up_to(9), entropy.any_magnitude(9), entropy.weighted(&[0, 5])), (0, 0, 0));
    }

    #[test]
    fn numbers_fill_their_range() {
        let mut entropy = Entropy::new(Seed::new(65536, 1).bytes());
        let mut seen = [0_u32; 10];
        (0..10_000).for_each(|_| seen[entropy.up_to(9) as usize] += 1);
        assert!(seen.iter().all(|&count| (850..1150).contains(&count)), "{seen:?}");
        let half = (0..4000).filter(|_| entropy.chance(1 << 31)).count();
        assert!((1850..2150).contains(&half), "{half}");
    }
}
