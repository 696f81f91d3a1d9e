//! `fuzzbox ci`: check all targets after a change.

use super::against::AgainstArgs;
use super::campaigns::{CampaignArgs, Job, Order};
use super::exit::Verdict;
use super::goals::GoalArgs;
use super::naming::NameArgs;
use super::target_args::TargetArgs;
use std::path::PathBuf;
use std::time::Duration;

/// How long targets are fuzzed if nobody says.
const TIME: Duration = Duration::from_secs(60);

/// Flags of `ci`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The modules to check, wasm or wat: first what is known of all of them is tried, then they are fuzzed for --time
    /// [default: 60s], shared by what each brings
    #[arg(required = true, value_name = "WASM")]
    targets: Vec<PathBuf>,
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
    pub(super) fn run(mut self) -> Verdict {
        self.campaigns.end_after(TIME);
        let Self { targets, goals, campaigns, flags, names } = &self;
        campaigns.run(Job {
            targets,
            names,
            flags,
            against: &AgainstArgs::default(),
            goals,
            mutator: None,
            seeds: targets.iter().map(|_| Vec::new()).collect(),
            watch: &|_, _| Ok(()),
            order: Order::KnownFirst,
        })
    }
}
