//! An input as solvers see it: bytes, and where in them operands lie.
//!
//! What the bytes are says [`form`]: those of the input, or of the [`values`] that a guest drew. What an operand
//! depends on is a [`Dependence`](places::Dependence), which [`probing`](super::probing) finds out; where nobody has
//! looked, [`literal`] and [`windows`] say where an operand lies as it is. [`encodings`] has the ways in which a number
//! may lie there, and [`digits`] those that are moved as text; of what is the same only the first is kept ([`once`]).
//! [`flips`] says which bits to flip together. Nothing here executes.

pub(super) mod digits;
pub(super) mod encodings;
pub(super) mod flips;
pub(super) mod form;
pub(super) mod literal;
pub(super) mod once;
pub(super) mod places;
mod values;
pub(super) mod windows;
