//! Counters: which of a function's flows have one, and how all counts follow from them.
//!
//! The flow through a function is conserved: what enters a block leaves it. So when enough flows are counted, the
//! others follow. `weights` guesses how often each is taken, `tree` leaves the most frequent ones uncounted, `place`
//! puts counters on the rest, `recover` computes the others again, and `map` gives counters their numbers.

mod map;
mod place;
mod recover;
mod tree;
mod weights;

pub(crate) use map::CounterNumbers;
pub use map::{CounterMap, CountsBuffer, FunctionCounters, LeftFrame};
pub(crate) use place::{Placement, place, profile};
pub use recover::LANES;
