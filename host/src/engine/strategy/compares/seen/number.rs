//! Numbers as they are compared: bits, and of which type they are.

/// The type of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine::strategy::compares) enum Number {
    I32,
    I64,
    F32,
    F64,
}

impl Number {
    pub(super) fn new(float: bool, width: u8) -> Self {
        match (float, width) {
            (false, 4) => Self::I32,
            (false, _) => Self::I64,
            (true, 4) => Self::F32,
            (true, _) => Self::F64,
        }
    }

    pub(in crate::engine::strategy::compares) fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }

    /// In bits.
    pub(in crate::engine::strategy::compares) fn bits(self) -> u32 {
        if matches!(self, Self::I32 | Self::F32) { 32 } else { 64 }
    }

    /// All bits that it has.
    pub(in crate::engine::strategy::compares) fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }

    /// The value of an integer as a signed one.
    pub(in crate::engine::strategy::compares) fn signed(self, bits: u64) -> i64 {
        if self.bits() == 32 { i64::from(bits as u32 as i32) } else { bits.cast_signed() }
    }

    /// What is to be added to an integer to make another one of it, by the shorter way: numbers wrap.
    pub(in crate::engine::strategy::compares) fn change(self, from: u64, to: u64) -> i64 {
        self.signed(to.wrapping_sub(from))
    }

    /// The value of a float.
    pub(in crate::engine::strategy::compares) fn float(self, bits: u64) -> f64 {
        if self == Self::F32 { f32::from_bits(bits as u32).into() } else { f64::from_bits(bits) }
    }
}

/// Bytes of a number without the zeros before it: none of 0.
pub(in crate::engine::strategy::compares) fn significant_bytes(number: u64) -> usize {
    (u64::BITS - number.leading_zeros()).div_ceil(8) as usize
}
