//! `fuzzbox hunt`: find an input that gets somewhere.

use super::against::AgainstArgs;
use super::campaigns::{CampaignArgs, Job, Order};
use super::exit::{UserError, Verdict};
use super::goals::GoalArgs;
use super::naming::NameArgs;
use super::target_args::TargetArgs;
use anyhow::anyhow;
use std::path::PathBuf;

/// Flags of `hunt`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The module, wasm or wat
    #[arg(value_name = "WASM")]
    target: PathBuf,
    #[command(flatten)]
    goals: GoalArgs,
    #[command(flatten)]
    campaigns: CampaignArgs,
    #[command(flatten)]
    flags: TargetArgs,
    #[command(flatten)]
    names: NameArgs,
}

impl Args {
    pub(super) fn run(self) -> Verdict {
        let Self { target, goals, campaigns, flags, names } = &self;
        if !goals.is_given() {
            return Err(anyhow!("there is nothing to hunt\nhelp: --goal says where to get")).blame_user();
        }
        campaigns.hunting()?.run(Job {
            targets: std::slice::from_ref(target),
            names,
            flags,
            against: &AgainstArgs::default(),
            goals,
            mutator: None,
            seeds: vec![Vec::new()],
            watch: &|_, _| Ok(()),
            order: Order::InTurns,
        })
    }
}
