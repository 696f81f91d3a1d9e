//! What came of a shrink.

use crate::stream::{Choice, Trace};
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::Range;

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
