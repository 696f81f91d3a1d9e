//! The flags that say where campaigns are to get.

use super::exit::{Fault, UserError};
use super::write::{shown, tell};
use crate::engine::Aim;
use crate::sandbox::Target;
use crate::session::goals::{CHANGED, Goals, NOTHING, split};
use crate::store::Store;
use crate::symbols::Symbols;
use anyhow::{Context, anyhow};
use clap::ValueEnum;
use fuzzbox_instrument::ways::Dependence;
use std::path::Path;
use std::sync::Arc;

/// Where to get, and when branches lead there.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct GoalArgs {
    /// Where to get: a function, FILE:LINE, FUNCTION:EDGE (as inspect --cfg shows edges), or `changed` for what is
    /// another than in the build that was fuzzed before; several with commas between. Half of all mutants are for that.
    /// Without it a quarter is for what changed, if something did; `none` leaves that out
    #[arg(long = "goal", value_name = "GOAL", help_heading = "Goals")]
    goals: Vec<String>,
    /// Which branches a block depends on
    #[arg(long, value_enum, default_value_t, requires = "goals", help_heading = "Goals")]
    cd: Cd,
}

/// Which branches a block depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Cd {
    /// Those after which it is certain to come one way, and not another (Ferrante, Ottenstein and Warren)
    #[default]
    Standard,
    /// Of these, those that dominate it
    Seed,
}

impl GoalArgs {
    /// Whether places are named.
    pub(super) fn is_given(&self) -> bool {
        split(&self.goals).iter().any(|goal| goal != NOTHING)
    }

    /// Refuses goals in one of several targets, whose names the others don't have.
    pub(super) fn check(&self, targets: usize) -> Result<(), Fault> {
        let named = split(&self.goals).into_iter().find(|goal| ![CHANGED, NOTHING].contains(&goal.as_str()));
        match named.filter(|_| targets > 1) {
            Some(goal) => Err(anyhow!("goal `{goal}` is in one target, there are {targets}")).blame_user(),
            None => Ok(()),
        }
    }

    /// The places in a target, of which a store may know older builds.
    pub(super) fn find(
        &self,
        path: &Path,
        target: (&Target, &Symbols),
        store: Option<(&Store, &str)>,
    ) -> Result<Option<Arc<Aim>>, Fault> {
        let dependence = match self.cd {
            Cd::Standard => Dependence::Standard,
            Cd::Seed => Dependence::Dominating,
        };
        let found = Goals::find(&split(&self.goals), dependence, target, store);
        let Goals { aim, notes } =
            found.with_context(|| format!("failed to find goals in `{}`", shown(path))).blame_user()?;
        notes.iter().for_each(|note| tell(&format!("note: {note}")));
        Ok(aim.map(Arc::new))
    }
}
