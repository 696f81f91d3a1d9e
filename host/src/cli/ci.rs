//! `fuzzbox ci`: check all targets after a change.

use super::against::AgainstArgs;
use super::campaigns::{CampaignArgs, Job, Order};
use super::exit::Verdict;
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
    campaigns: CampaignArgs,
    #[command(flatten)]
    flags: TargetArgs,
    #[command(flatten)]
    names: NameArgs,
}

impl Args {
    pub(super) fn run(mut self) -> Verdict {
        self.campaigns.end_after(TIME);
        let Self { targets, campaigns, flags, names } = &self;
        let seeds = targets.iter().map(|_| Vec::new()).collect();
        let against = &AgainstArgs::default();
        let order = Order::KnownFirst;
        campaigns.run(Job { targets, names, flags, against, mutator: None, seeds, watch: &|_, _| Ok(()), order })
    }
}
