//! Ways to places in a module: how far blocks are from some, and which branches decide whether they are reached.
//!
//! ```text
//! program     graphs of all functions, who calls whom and where, and which edges enter which blocks
//! decisions   what branches decide by, as far as operands are recorded: comparisons, and `and`, `or`, `not` of these
//! distances   AFLGo's distances: how far each block is, on average over all ways
//! levels      Wegener's approach levels: how many branches must still turn out well
//! seen        calls by reference that executions made
//! changed     which blocks of a function are others than in an older build
//! ```
//!
//! Both follow calls: direct ones, and those by reference to all functions of the type that somebody refers to; where a
//! function was seen to be called so, to that one from those callers alone.

mod changed;
mod decisions;
mod distances;
mod levels;
mod program;
mod seen;
#[cfg(test)]
mod tests;

pub use changed::{changed_blocks, operators};
pub use decisions::{Decision, Test};
pub use levels::{Dependence, Levels};
pub use program::{Goal, Program};
pub use seen::SeenCalls;

/// Stands for no block.
const NONE: u32 = u32::MAX;
