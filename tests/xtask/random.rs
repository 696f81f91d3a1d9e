//! Numbers without a pattern, the same every time.

/// Xorshift (Marsaglia, "Xorshift RNGs", 2003); the state must not be 0.
#[derive(Debug)]
pub struct Random(pub u64);

impl Random {
    /// A number below `limit`, which is not 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }
}
