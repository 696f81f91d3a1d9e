//! What a round brought, and all rounds together.

use crate::outcome::Outcome;
use std::sync::Arc;

/// Sums over all executions of a campaign.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Executions, and results that were known and count as such.
    pub execs: u64,
    /// Those of them that were known.
    pub recalled: u64,
    /// Rounds that were finished.
    pub rounds: u64,
    /// Executions whose input the harness rejected.
    pub rejected: u64,
    /// Executions that drew more than they may: nobody knows how they would have ended.
    pub overruns: u64,
    /// Executions that were made to look at what is compared.
    pub compared: u64,
    /// Executions that ran out of all fuel. Those that hang as others did are ended before that.
    pub hangs: u64,
    /// Executions of which it is known what they took: most are made where fuel is not counted.
    pub sampled: u64,
    /// Fuel that these took.
    pub sampled_fuel: u64,
    /// How many of these took more than any testcase by far, so that they may hang.
    pub sampled_hangs: u64,
    /// Executions whose input was as long as the limit allows.
    pub at_len_max: u64,
    /// Bytes of all inputs that were executed.
    pub input_bytes: u64,
    /// The number of executions at which the last new edge was found.
    pub execs_at_new_edge: u64,
}

/// A failure with a signature that this campaign had not seen.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The input that shows it.
    pub input: Arc<[u8]>,
    /// How it ended.
    pub outcome: Outcome,
    /// Trap kind and normalised frames.
    pub signature: String,
    /// Executions up to the end of the round that found it.
    pub execs: u64,
}

/// A testcase that was added.
#[derive(Clone, Debug)]
pub struct Discovery {
    /// Its index in the corpus.
    pub index: usize,
    /// Edges that nobody reached before it.
    pub new_edges: Vec<u32>,
    /// Edges reached by all testcases up to it.
    pub edges: usize,
}

/// What a round brought.
#[derive(Clone, Debug, Default)]
pub struct Round {
    /// New testcases, in the order in which they were added.
    pub found: Vec<Discovery>,
    /// New failures.
    pub failures: Vec<Failure>,
    /// From this round on executions begin after others: see [`crate::engine::Campaign::warm_up_inputs`].
    pub is_warmer: bool,
}
