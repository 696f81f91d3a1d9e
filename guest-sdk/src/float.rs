//! The order of floating-point numbers: which one an index of `draw_f64` stands for.
//!
//! Each number between the bounds has one index, and these come first:
//!
//! 1. integers up to 2^53, as [`crate::index::Zigzag`] orders them around 0: 0, 1, -1, 2 ...;
//! 2. odd multiples of 1/2, in the same way (0.5, -0.5, 1.5 ...), then of 1/4, 1/8 and so on;
//! 3. odd multiples of 2 that are beyond 2^53, from the smallest magnitude, first the positive and then the negative ones; then of
//!    4, 8 and so on;
//! 4. negative zero, infinity, negative infinity, NaN, as far as flags permit them.
//!
//! ```text
//! from 0 to 1:     0  1  0.5  0.25  0.75  0.125  0.375  0.625  0.875  0.0625 ...
//! from -1 to 1:    0  1  -1  0.5  -0.5  0.25  -0.25  0.75  -0.75 ...
//! from 2.5 to 4:   3  4  2.5  3.5  2.75 ...
//! ```
//!
//! Where 0 is not between the bounds, "around 0" means from the bound that is nearest to it. An infinite bound means the largest
//! finite number, besides permitting an infinity. Unless [`SUBNORMAL`] is set, numbers that need more than 1022 binary
//! places are left out: all that are subnormal, and some others below 2^-970. That integers come before fractions, and
//! fractions with few places first, is the idea of Hypothesis' order of floats.

/// NaN is permitted, whatever the bounds.
pub const NAN: u32 = 1;
/// Infinities are permitted, where they are the bound.
pub const INFINITE: u32 = 2;
/// Negative zero is permitted, if 0 is between the bounds.
pub const NEGATIVE_ZERO: u32 = 4;
/// Subnormal numbers are permitted.
pub const SUBNORMAL: u32 = 8;
/// All of these.
pub const ALL: u32 = NAN | INFINITE | NEGATIVE_ZERO | SUBNORMAL;
