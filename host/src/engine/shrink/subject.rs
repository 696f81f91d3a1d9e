//! What is shrunk: something that executes a stream and says how that ended.

use crate::stream::{Choice, Trace};
use anyhow::Result;

/// Executes streams. Deterministic: the same stream and the same tail give the same attempt.
pub trait Subject {
    /// Executes each of `orders`, and gives the attempts in the same order.
    ///
    /// Implementations may execute them at once. What the shrinker finds does not depend on it. Fewer attempts than
    /// orders end the shrink, as a limit does: the user interrupted it.
    ///
    /// # Errors
    ///
    /// If the host fails, never for what the guest does.
    fn attempt_all(&self, orders: &[Order]) -> Result<Vec<Attempt>>;

    /// How many orders are executed at once. With 1, nothing is executed on speculation.
    fn jobs(&self) -> usize {
        1
    }
}

/// What to execute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// What the first draws take.
    pub choices: Vec<Choice>,
    /// What the draws after them take.
    pub tail: Tail,
}

/// What draws take when the given choices are used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// The simplest.
    Zero,
    /// Random ones, a function of this seed.
    Random(u64),
}

/// How an execution ended, and what it drew.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// How it ended.
    pub verdict: Verdict,
    /// What it drew. Of an overrun, the draws up to there.
    pub trace: Trace,
}

/// How an execution ended, as seen by someone who looks for one failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// With the failure that is shrunk: the signature is the same.
    Same,
    /// With another failure, whose signature this is.
    Slip(String),
    /// Without a failure.
    Valid,
    /// The guest rejected what it drew.
    Invalid,
    /// It drew more than it may.
    Overrun,
}
