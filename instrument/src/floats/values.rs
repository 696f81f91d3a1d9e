//! Values: what arithmetic gives, and what is one of several others.

use super::shape::Shape;

/// A value's number.
pub(super) type Value = u32;

/// The value that has its exact bits.
pub(super) const EXACT: Value = 0;

/// The value that is no NaN, or a canonical one.
pub(super) const NUMBER: Value = 1;

/// What a value is.
#[derive(Clone, Copy)]
pub(super) enum Origin {
    /// [`EXACT`] or [`NUMBER`].
    Known,
    /// Arithmetic gives it at a place.
    Made { shape: Shape, place: u32 },
    /// It is one of others: `Flow::joins` has them.
    Joined,
    /// Its bits are those of an operand, but for the sign.
    Signed(Slot),
}

/// A place on the stack.
#[derive(Clone, Copy)]
pub(super) struct Slot {
    pub(super) value: Value,
    /// Behind the operator that pushed it, if the test can be put there: a number in `Flow::places`.
    pub(super) place: Option<u32>,
}

/// Where a test can be put: how many edits are planned before it, and the operator that it follows, by its offset and
/// that of the next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    pub(crate) edits: u32,
    pub(crate) at: u32,
    pub(crate) end: u32,
}
