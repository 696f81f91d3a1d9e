//! How far a shrink goes.

/// Limits of one shrink. All are numbers of executions: no clock decides what is found.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Executions in all, those of the exhaustive finish and of the explanation not included.
    pub execs_max: u64,
    /// Executions without a success after which shrinking stops. The longest gap so far between two successes,
    /// five times, is waited for in any case.
    pub stall_max: u64,
    /// Executions of each exhaustive finish; 0 for none.
    pub exhaustive_max: u64,
    /// Executions for each part whose influence is examined; 0 for no explanation. No more parts are examined after
    /// 20,000 in all.
    pub explain_max: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { execs_max: 200_000, stall_max: 20_000, exhaustive_max: 20_000, explain_max: 500 }
    }
}
