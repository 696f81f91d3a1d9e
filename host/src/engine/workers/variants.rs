//! The variants that executions go through.
//!
//! # Quick variants execute, one decides
//!
//! Quick variants execute, one decides. A campaign begins in `metered` (a counter on every edge, fuel, a limit on live
//! calls), goes on in `full` when that is compiled, and in `fast` when half of the seen edges have retired: each has
//! shown nothing new for a million executions and is executed by eight testcases. What fails, takes too long, or shows
//! something new is executed again in `metered`, and only that counts. So when a variant is ready changes nothing but
//! speed, and neither does the clock. A failure whose stack has been reported is known by a hash of its frames and not
//! executed again.

use crate::sandbox::{CustomTargets, Target, Watchdog};
use std::sync::Arc;

/// The variants of one target that executions go through.
///
/// All say the same about an input. What the quick one can't say for certain (that it fails, that it takes too long),
/// or what is worth keeping, is executed again in the one that decides. So which of the quick ones is in use, and since
/// when, changes nothing but speed.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Variants {
    /// Decides: it has fuel, and its failures have frames.
    pub(in crate::engine) metered: Arc<Target>,
    /// Executes everything first; may be the same.
    pub(in crate::engine) quick: Arc<Target>,
    /// Ends what takes too long in a quick variant without fuel.
    pub(in crate::engine) watchdog: Option<Arc<Watchdog>>,
    /// Says what is compared, once somebody wants to know.
    pub(in crate::engine) traced: Option<Arc<Target>>,
    /// The guest's own functions that make mutants, if it has some.
    pub(in crate::engine) custom: Option<Arc<CustomTargets>>,
    /// The same one for all variants of a campaign: what a worker remembers of another one, which may have seen more,
    /// is not true here.
    pub(in crate::engine) campaign: Arc<()>,
}

impl Variants {
    /// One variant for all.
    pub(in crate::engine) fn of(metered: Arc<Target>) -> Self {
        Self { quick: metered.clone(), metered, watchdog: None, traced: None, custom: None, campaign: Arc::default() }
    }
}
