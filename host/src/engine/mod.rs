//! The campaign: rounds of tasks, a corpus, a scheduler, mutators.
//!
//! A round is a pure function of (corpus, seed, round number). Its tasks run on all workers, and their results are
//! merged in task order: the same seed finds the same corpus after the same number of executions, however many workers
//! there are. Nothing in this room reads a clock, a thread's identity or a hash map's order; whoever drives the
//! campaign decides after which round to stop.
//!
//! # Files
//!
//! `campaign` (rounds), `strategy/` (what executions are spent on, a file or folder each: `havoc`, `trim`, `compares/`,
//! `climb/`, `closing/`, and those that have a name, of which `named` has the table; its module doc says how to write
//! one; `tasks` is what a round executes at once), `workers/` (threads: `pool`, `worker`, `report`, `ender`,
//! `variants`), `retirement` (which variant executes inputs, which edges retire), `scheduler`, `rarity` (what testcases
//! weigh by it), `mutate/` (bytes; `choices/` by spans), `corpus`, `scores` (who has the best), `testcase`, `aim`
//! (where to get, and how near testcases are), `features` (which of what guests can do is on), `suspects` (what may
//! hang), `span_pool`, `dictionary/` (and in it the constants that code compares with), `results/` (what need not be
//! executed again), `learned` (what the next campaign begins with), `checks` and `lengths` (numbers that say what else
//! is in an input), `rng`; `shrink/` (a file per pass, `passes/blob/` for bytes; its module doc says how to write one).

mod aim;
mod campaign;
mod checks;
mod corpus;
mod dictionary;
mod features;
mod learned;
mod lengths;
mod mutate;
mod rarity;
mod results;
mod retirement;
mod rng;
mod round;
mod scheduler;
mod scores;
pub mod shrink;
mod span_pool;
mod strategy;
mod suspects;
mod testcase;
mod used;
mod workers;

pub use aim::{Aim, Aimed};
pub use campaign::Campaign;
pub use corpus::Corpus;
pub use dictionary::Dictionary;
pub use learned::Learned;
pub(crate) use learned::Moved;
pub use mutate::Mutator;
pub use results::{Carry, Inherited, Results};
pub use rng::Rng;
pub use round::{Discovery, Failure, Round, Totals};
pub use strategy::exemplar::automaton::Automaton;
pub use strategy::exemplar::states::Experiment;
pub use strategy::named::Search;
pub use testcase::{Scores, Testcase};
pub use workers::pool::{Times, Workers};
