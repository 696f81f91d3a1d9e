//! `fuzzbox gate`: fuzz a target just long enough to reach every trace.

use super::against::AgainstArgs;
use super::campaigns::{CampaignArgs, Job, Order};
use super::exit::Verdict;
use super::goals::GoalArgs;
use super::naming::NameArgs;
use super::target_args::TargetArgs;
use super::traces;
use std::path::PathBuf;

/// Flags of `gate`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = CODES)]
pub(super) struct Args {
    /// The module to fuzz, wasm or wat
    #[arg(value_name = "WASM")]
    target: PathBuf,
    /// The directory whose `.toml` files are the traces
    #[arg(long, value_name = "DIR", default_value = traces::DIR)]
    traces: PathBuf,
    #[command(flatten)]
    campaigns: CampaignArgs,
    #[command(flatten)]
    flags: TargetArgs,
    #[command(flatten)]
    names: NameArgs,
}

/// What the exit codes mean here.
const CODES: &str = "It ends as soon as every trace was reached, or else after --time or --execs, or \
    if there is neither after 5 minutes. Inputs that come further on a trace are stored, so that the next time they are \
    executed first.\n\nExit codes: 0 every trace was reached and nothing failed; 1 something fails, or a trace was not \
    reached, whose first frame that was not is named; 2 a bad flag, file or target; 3 fuzzbox itself failed; 4 nothing \
    was executed";

impl Args {
    pub(super) fn run(self) -> Verdict {
        let Self { target, traces, campaigns, flags, names } = self;
        campaigns.run(Job {
            targets: &[target],
            names: &names,
            flags: &flags,
            against: &AgainstArgs::default(),
            goals: &GoalArgs::default(),
            mutator: None,
            grammar: None,
            traces: Some(traces::of(&traces)?),
            is_gate: true,
            seeds: vec![Vec::new()],
            watch: &|_, _| Ok(()),
            order: Order::InTurns,
        })
    }
}
