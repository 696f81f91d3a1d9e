//! `fuzzbox cargo`: the targets of a cargo-fuzz folder, built for wasm and fuzzed as they are.
//!
//! ```text
//! folder.rs    where the folder is, and which targets it has
//! toolchain.rs cargo and rustc as they are called there, and what is compiled for
//! build.rs     targets become modules
//! beside.rs    corpora and artifacts, where cargo-fuzz has them
//! value.rs     `fmt`: what a target makes of an input
//! ```

mod beside;
mod build;
mod folder;
mod toolchain;
mod value;

use super::against::AgainstArgs;
use super::campaigns::{CampaignArgs, Job, Order};
use super::exit::{Exit, Fault, UserError, Verdict};
use super::goals::GoalArgs;
use super::naming::NameArgs;
use super::target_args::{LimitArgs, TargetArgs};
use super::write::{say, shown, tell, warning};
use crate::report::Event;
use crate::store::Store;
use crate::text::printable;
use anyhow::anyhow;
use beside::Beside;
use build::{BuildArgs, Built};
use folder::{Folder, FolderArgs};
use std::path::PathBuf;

/// Flags of `cargo`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Args {
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    run: RunArgs,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Fuzz targets, as without this word: for one that is called like a word of this list
    Run(Box<RunArgs>),
    /// List the targets
    List(FolderArgs),
    /// Only build the targets, and say where their modules are
    Build(TargetsArgs),
    /// Show what a target makes of an input: the value of its `Arbitrary` type, by `Debug`
    Fmt(value::Args),
}

/// Flags of campaigns.
#[derive(Debug, clap::Args)]
struct RunArgs {
    #[command(flatten)]
    targets: TargetsArgs,
    #[command(flatten)]
    campaigns: CampaignArgs,
    #[command(flatten)]
    limits: LimitArgs,
}

/// What is built, and how.
#[derive(Debug, clap::Args)]
struct TargetsArgs {
    /// The targets [default: all]
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
    #[command(flatten)]
    folder: FolderArgs,
    #[command(flatten)]
    build: BuildArgs,
}

impl Args {
    pub(super) fn run(self) -> Verdict {
        match self.what.unwrap_or(What::Run(Box::new(self.run))) {
            What::Run(args) => args.run(),
            What::List(args) => {
                args.find()?.targets.iter().try_for_each(|target| {
                    say!("{}", target.name);
                    Ok::<_, Fault>(())
                })?;
                Ok(Exit::Clean)
            }
            What::Build(args) => args.list_modules(),
            What::Fmt(args) => args.run(),
        }
    }
}

impl TargetsArgs {
    /// Builds the targets; those that don't are told.
    fn build(&self) -> Result<(Folder, Built), Fault> {
        let folder = self.folder.find()?;
        let built = self.build.build(&folder, &self.targets)?;
        tell_failed(&folder, &built)?;
        Ok((folder, built))
    }

    fn list_modules(self) -> Verdict {
        let (_, built) = self.build()?;
        for (_, module) in &built.modules {
            say!("{}", shown(&folder::from_here(module)));
        }
        Ok(if built.failed.is_empty() { Exit::Clean } else { Exit::Usage })
    }
}

impl RunArgs {
    fn run(mut self) -> Verdict {
        let (folder, built) = self.targets.build()?;
        let flags = TargetArgs::from(self.limits);
        let (names, targets): (Vec<String>, Vec<PathBuf>) = built.modules.into_iter().unzip();
        let (beside, seeds) = Beside::read(&folder, &names, &flags.settings()?)?;
        let watch = |store: &Store, event: &Event| match event {
            Event::Finding(finding) => beside.keep_artifact(store, finding),
            Event::Done(done) => beside.keep_corpus(store, &done.target),
            _ => Ok(()),
        };
        self.campaigns.store.set_project(folder.project);
        let names = &NameArgs::default();
        // Harnesses in Rust have mutators of their own.
        let mutator = None;
        let exit = self.campaigns.run(Job {
            targets: &targets,
            names,
            flags: &flags,
            against: &AgainstArgs::default(),
            goals: &GoalArgs::default(),
            mutator,
            seeds,
            watch: &watch,
            order: Order::InTurns,
        })?;
        let artifacts = beside.artifacts();
        if !artifacts.is_empty() {
            tell("note: what failed lies here, and `fuzzbox cargo fmt TARGET FILE` shows the value that it makes:");
            artifacts.iter().for_each(|path| tell(&format!("      {}", shown(path))));
        }
        // What was not executed has not passed.
        Ok(if exit == Exit::Clean && !built.failed.is_empty() { Exit::Usage } else { exit })
    }
}

/// Names the targets that did not build; if there are no others, that is the error.
fn tell_failed(folder: &Folder, Built { modules, failed }: &Built) -> Result<(), Fault> {
    let names: Vec<_> = failed.iter().map(|name| format!("`{}`", printable(name))).collect();
    let what = match names.len() {
        0 if modules.is_empty() => {
            return Err(anyhow!("`{}` has no target to build", shown(&folder::from_here(&folder.dir)))).blame_user();
        }
        0 => return Ok(()),
        1 => "does not build",
        _ => "do not build",
    };
    let names = names.join(", ");
    if modules.is_empty() {
        return Err(anyhow!("{names} {what} for wasm: cargo says why")).blame_user();
    }
    warning!("{names} {what} for wasm: cargo says why; this goes on without");
    Ok(())
}
