//! Counters: which of a function's flows have one, and how all counts follow from them.
//!
//! The flow through a function is conserved: what enters a block leaves it. So when enough flows are counted, the
//! others follow. `weights` guesses how often each is taken, `tree` leaves the most frequent ones uncounted, `place`
//! puts counters on the rest, `recover` computes the others again, and `map` gives counters their numbers.
//!
//! # Few counters, all counts
//!
//! Few counters, all counts. The flows of a function that have no counter are a spanning tree of its graph, the most
//! expensive to count; the others' counts give theirs, because what enters a block leaves it. A frame that a trap left
//! is an edge out of its block; calls that may throw have an edge of their own. `fast` counts what can still be new.
//! Costs on five programs, CPU time against the plain module (`xtask cost`, medians): see CHANGELOG.

mod map;
mod place;
mod recover;
mod tree;
mod weights;

pub(crate) use map::CounterNumbers;
pub use map::{CounterMap, CountsBuffer, FunctionCounters, LeftFrame};
pub(crate) use place::{Placement, place, profile};
pub use recover::LANES;
