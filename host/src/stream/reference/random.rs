//! How draws are distributed where the tail is random.

use super::Reference;
use rand_core::Rng as _;

impl Reference {
    pub(super) fn random(&mut self) -> u64 {
        self.rng.next_u64()
    }

    /// Whether something happens that has a probability in units of 2^-32.
    pub(super) fn chance(&mut self, p: u32) -> bool {
        ((self.random() >> 32) as u32) < p
    }

    /// Whether a feature is off.
    pub(super) fn random_feature(&mut self) -> u64 {
        if self.swarm.is_none() {
            self.swarm = Some(self.random() >> 63 == 1);
        }
        if self.swarm == Some(true) { self.random() >> 63 } else { 0 }
    }

    /// An index of a number.
    pub(super) fn random_index(&mut self, max: u64) -> u64 {
        if max <= 255 {
            return self.random() % (max + 1);
        }
        let r = self.random();
        if (r as u32).is_multiple_of(20) {
            return self.random_constant(max);
        }
        let width = 1 + (r >> 40) % u64::from(u64::BITS - max.leading_zeros());
        let mut index = self.random() >> (64 - width);
        if r & 1 << 32 != 0 {
            index |= 1 << (width - 1);
        }
        if index > max { index % (max + 1) } else { index }
    }

    /// The largest index, the one before it, or one that is beside a power of 2 or 10.
    fn random_constant(&mut self, max: u64) -> u64 {
        let r = self.random();
        if r & 2 == 0 {
            return max - (r & 1);
        }
        let power = r >> 8 & 0xff;
        let power = if r & 1 == 0 { 1 << (power % 63) } else { 10_u64.pow((power % 19) as u32) };
        let distance = power + (r >> 16 & 0xff) % 3 - 1;
        (2_u64.wrapping_mul(distance).wrapping_sub(r >> 24 & 1)).min(max)
    }

    /// A length from `min` to `max`.
    pub(super) fn random_len(&mut self, min: u32, max: u32) -> u32 {
        let span = (max - min).min(255);
        let r = self.random();
        let width = (r & 0xffff) % u64::from(33 - span.leading_zeros());
        let len = (r >> 32) as u32 & ((1_u64 << width) - 1) as u32;
        min + len.min(span)
    }
}
