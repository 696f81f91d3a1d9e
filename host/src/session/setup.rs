//! What a campaign needs, and everything around it.

use super::ending::Ending;
use crate::engine::{Aim, Dictionary, Search, Workers};
use crate::report::Flags;
use crate::sandbox::{Candidate, Target};
use crate::store::Store;
use crate::symbols::Symbols;
use std::sync::Arc;
use std::time::Duration;

/// When to stop.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limits {
    pub(crate) time: Option<Duration>,
    pub(crate) execs: Option<u64>,
    /// Stop when the first inputs were executed.
    pub(crate) seeds_only: bool,
    pub(crate) stop_on_first: bool,
    /// Stop when all goals are reached.
    pub(crate) hunts: bool,
}

/// What a campaign needs, and everything around it.
pub(crate) struct Session<'a> {
    pub(crate) name: String,
    pub(crate) target: Arc<Target>,
    pub(crate) store: &'a Store,
    pub(crate) workers: &'a Workers,
    /// Ends what `workers` do.
    pub(crate) ending: &'a Ending,
    pub(crate) jobs: usize,
    pub(crate) seed: u64,
    pub(crate) dictionary: Dictionary,
    pub(crate) limits: Limits,
    /// What need not be advised.
    pub(crate) given: Flags,
    /// What makes inputs.
    pub(crate) search: Search,
    /// Where it is to get, if it is to get somewhere.
    pub(crate) aim: Option<Arc<Aim>>,
    /// A module that makes inputs in the place of the target.
    pub(crate) mutator: Option<&'a Candidate>,
    /// Look at what executions compare.
    pub(crate) compares: bool,
    /// Have executions begin after others where that saves time.
    pub(crate) warms: bool,
    /// Look for a smaller input of each finding.
    pub(crate) shrink: bool,
    /// Takes what the user should know and no event says; the text is not safe to print yet.
    pub(crate) warn: &'a (dyn Fn(&str) + Sync),
    /// Where lines are looked up.
    pub(crate) symbols: Symbols,
}
