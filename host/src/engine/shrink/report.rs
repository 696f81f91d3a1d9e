//! How far to go, and what came of it.

use crate::stream::{Choice, Trace};
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::Range;

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

/// The smallest failing stream that was found.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// Its execution; `trace.choices` is the stream.
    pub trace: Trace,
    /// What was done.
    pub report: ShrinkReport,
    /// Other failures that were seen on the way: of each signature the simplest stream.
    pub slips: BTreeMap<String, Vec<Choice>>,
}

/// What a shrink did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShrinkReport {
    /// Different executions that were asked for, without those below. The same for any number of threads.
    pub evaluations: u64,
    /// Executions of the exhaustive finish.
    pub exhaustive: u64,
    /// Executions of the explanation.
    pub explained: u64,
    /// Executions and successes by pass.
    pub passes: BTreeMap<&'static str, PassCount>,
    /// Nothing that any pass can do makes it smaller. Not so if a limit ended it.
    pub is_fixed_point: bool,
    /// What is proven about the result.
    pub certificate: Certificate,
    /// Parts that don't matter: ranges of choices, ascending; whatever is drawn there, it fails in the same way. For a
    /// plain input, ranges of bytes.
    pub free: Vec<Range<usize>>,
}

/// Executions and successes of one pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PassCount {
    /// Executions.
    pub evaluations: u64,
    /// Streams that became the current one.
    pub successes: u64,
}

/// What the exhaustive finish proved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certificate {
    /// Nothing.
    #[default]
    None,
    /// Every simpler stream that draws the same things in the same order was executed, and none fails so.
    MinimalInShape,
    /// Every simpler stream was executed, and none fails so.
    Minimal,
}
