//! `fuzzbox run`: fuzz one or more targets.

use super::campaigns::{CampaignArgs, Job};
use super::exit::Verdict;
use super::naming::NameArgs;
use super::target_args::TargetArgs;
use std::path::PathBuf;

/// Flags of `run`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The modules to fuzz, wasm or wat; several take turns
    #[arg(required = true, value_name = "WASM")]
    targets: Vec<PathBuf>,
    #[command(flatten)]
    campaigns: CampaignArgs,
    #[command(flatten)]
    flags: TargetArgs,
    #[command(flatten)]
    names: NameArgs,
}

impl Args {
    pub(super) fn run(self) -> Verdict {
        let Self { targets, campaigns, flags, names } = &self;
        let seeds = targets.iter().map(|_| Vec::new()).collect();
        campaigns.run(Job { targets, names, flags, seeds, watch: &|_, _| Ok(()) })
    }
}
