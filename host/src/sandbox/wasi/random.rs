//! Randomness: a function of how often the guest asked, never of the machine.

/// What `random_get` gives: SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014)
/// from a fixed seed, in the same order in every execution. One number is drawn per 8 bytes, and a rest is not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Random {
    state: u64,
}

impl Random {
    pub(super) fn new() -> Self {
        Self { state: 0x0066_757a_7a62_6f78 }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.next().to_le_bytes()[..chunk.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn randomness_is_the_same_each_time_and_not_constant() {
        let (mut a, mut b) = ([0; 20], [0; 20]);
        let mut random = Random::new();
        random.fill(&mut a);
        Random::new().fill(&mut b);
        assert_eq!(a, b);
        random.fill(&mut b);
        assert_ne!(a, b);
    }
}
