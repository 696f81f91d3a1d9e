//! `fuzzbox run`: fuzz one or more targets.

use super::against::AgainstArgs;
use super::campaigns::{CampaignArgs, Job, Order};
use super::exit::{Fault, UserError, Verdict};
use super::goals::GoalArgs;
use super::grammar;
use super::input::read_at_most;
use super::module_file::MODULE_BYTES_MAX;
use super::naming::NameArgs;
use super::target_args::TargetArgs;
use super::traces;
use super::write::shown;
use crate::sandbox::Candidate;
use anyhow::Context;
use std::path::PathBuf;

/// Flags of `run`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The modules to fuzz, wasm or wat; several take turns
    #[arg(required = true, value_name = "WASM")]
    targets: Vec<PathBuf>,
    /// A module that makes the mutants, by LLVMFuzzerCustomMutator or LLVMFuzzerCustomCrossOver
    #[arg(long, value_name = "WASM")]
    mutator: Option<PathBuf>,
    /// What inputs are texts of, in EBNF: they are made and changed by its rules, where they are such texts
    #[arg(long, value_name = "FILE", conflicts_with = "mutator")]
    grammar: Option<PathBuf>,
    /// Follow the traces of key frames that the `.toml` files of this directory are
    #[arg(long, value_name = "DIR")]
    traces: Option<PathBuf>,
    #[command(flatten)]
    against: AgainstArgs,
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
        let Self { targets, against, goals, campaigns, flags, names, .. } = &self;
        let seeds = targets.iter().map(|_| Vec::new()).collect();
        campaigns.run(Job {
            targets,
            names,
            flags,
            against,
            goals,
            mutator: self.mutator()?,
            grammar: self.grammar.as_deref().map(grammar::read).transpose()?,
            traces: self.traces.as_deref().map(traces::of).transpose()?,
            is_gate: false,
            seeds,
            watch: &|_, _| Ok(()),
            order: Order::InTurns,
        })
    }

    /// The module of `--mutator`, under the limits that targets have.
    fn mutator(&self) -> Result<Option<Candidate>, Fault> {
        let Some(path) = &self.mutator else { return Ok(None) };
        let settings = self.flags.settings()?;
        let bytes = read_at_most(path, MODULE_BYTES_MAX, "");
        let module = bytes.and_then(|bytes| Candidate::mutator(&bytes, &settings));
        module.with_context(|| format!("failed to load mutator `{}`", shown(path))).map(Some).blame_user()
    }
}
