//! Ways to let a comparison turn out otherwise: candidates for the bytes that its operands depend on.
//!
//! A way is a file with a [`Solver`](super::probing::probe::Solver), mostly called `solve`, which attempts one
//! candidate after the other until one reaches its goal. Those that take little are chosen by [`little`], by what is
//! compared: [`bytes`], [`numbers`], [`sums`], [`numerals`], [`elsewhere`], [`resize`], [`quads`]. What enumerates is
//! chosen by [`search`]: [`secant`], [`meet`], [`eliminate`], [`pairs`], and sums again. That may take much, so an
//! `execs` says how much before it begins. [`fit`] makes a text as long as the other. [`climb`] is for goals that no
//! place leads to. [`hidden`] makes no candidates, but guesses at places for which others may.

mod bytes;
pub(super) mod climb;
mod eliminate;
pub(super) mod elsewhere;
pub(super) mod fit;
pub(super) mod hidden;
pub(super) mod little;
mod meet;
mod numbers;
mod numerals;
mod pairs;
mod quads;
pub(super) mod resize;
pub(super) mod search;
mod secant;
mod sums;
