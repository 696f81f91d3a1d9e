//! Random numbers that are a function of their seed.

/// SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Less than `limit`; 0 if that is 0.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.next().checked_rem(limit as u64).unwrap_or(0) as usize
    }

    /// Once in `times`.
    pub(crate) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub(crate) fn choose<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        all.get(self.below(all.len()))
    }

    /// Mostly small, at most `limit`: each number of bits is equally likely.
    pub(crate) fn size(&mut self, limit: usize) -> usize {
        let bits = self.below(limit.ilog2() as usize + 1);
        (1 << bits).max(self.below(2 << bits)).min(limit)
    }

    /// Mostly at most `usual`, once in 20 times at most `large`.
    pub(crate) fn size_or(&mut self, usual: usize, large: usize) -> usize {
        let limit = if self.once_in(20) { large } else { usual };
        self.size(limit)
    }

    /// A number as programs have them, or one at the edge of its type.
    pub(crate) fn interesting(&mut self) -> i64 {
        match self.below(4) {
            0 => self.below(16) as i64 - 2,
            1 => [i32::MIN.into(), i32::MAX.into(), i64::MIN, i64::MAX, u32::MAX.into(), 1 << 16][self.below(6)],
            2 => 1 << self.below(63),
            _ => self.next().cast_signed(),
        }
    }
}
