//! The campaign: rounds of tasks, a corpus, a scheduler, mutators.
//!
//! A round is a pure function of (corpus, seed, round number). Its tasks run on all workers, and their results are merged in task order:
//! the same seed finds the same corpus after the same number of executions, however many workers there are. Nothing in
//! this room reads a clock, a thread's identity or a hash map's order; whoever drives the campaign decides after which round to stop.

mod campaign;
mod climb;
mod closing;
mod compares;
mod corpus;
mod dictionary;
mod ender;
mod mutate;
mod report;
mod rng;
mod round;
mod scheduler;
pub mod shrink;
mod suspects;
mod targets;
mod tasks;
mod trim;
mod variants;
mod worker;

pub use campaign::Campaign;
pub use corpus::{Corpus, Testcase};
pub use dictionary::Dictionary;
pub use mutate::Mutator;
pub use rng::Rng;
pub use round::{Failure, Found, Round, Totals};
pub use targets::Scores;
pub use worker::Workers;
