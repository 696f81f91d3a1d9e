//! `fuzzbox import`: inputs of other fuzzers become a target's corpus.

use super::debug_info::DebugInfoArgs;
use super::ending::Ending;
use super::exit::{Exit, UserError, Verdict};
use super::input::read_dir;
use super::output::Output;
use super::session::{Limits, Session, symbols};
use super::store_args::StoreArgs;
use super::target_args::{TargetArgs, compile, target_name};
use crate::engine::{Dictionary, Workers};
use crate::sandbox::CodeCache;
use std::path::PathBuf;
use std::sync::Arc;

/// Flags of `import`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The directory: a libFuzzer corpus, an AFL++ output, or any files; a file's bytes are an input
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// The module that the inputs are for; those that show something new there are kept
    #[arg(long = "for", value_name = "WASM")]
    target: PathBuf,
    #[command(flatten)]
    flags: TargetArgs,
    #[command(flatten)]
    debug_info: DebugInfoArgs,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    output: Output,
}

impl Args {
    pub(super) fn run(self) -> Verdict {
        let candidate = self.flags.candidate(&self.target)?;
        let inputs: Vec<_> =
            read_dir(&self.dir, &candidate.settings).blame_user()?.into_iter().map(|(_, bytes)| bytes).collect();
        if inputs.is_empty() {
            return Err(anyhow::anyhow!("there are no inputs in `{}`", self.dir.display())).blame_user();
        }
        let debug_info = self.debug_info.find(candidate.bytes(), Some(&self.target))?;
        let mut reporter = self.output.reporter()?;
        let mut target = compile(&self.target, candidate, &self.store.code(), &mut *reporter)?;
        let symbols = symbols(&target, debug_info);
        let store = self.store.open_or_create()?;
        target.keep_code(&CodeCache::new(&store));
        let ending = Ending::by_signals()?;
        let workers = Workers::new(1, ending.abort())?;
        let session = Session {
            name: target_name(&self.target),
            target: Arc::new(target),
            store: &store,
            workers: &workers,
            ending: &ending,
            jobs: 1,
            seed: 0,
            dictionary: Dictionary::default(),
            limits: Limits { time: None, execs: None, seeds_only: true, stop_on_first: false },
            // Importing is to be quick.
            shrink: false,
            symbols,
        };
        let done = session.run(&inputs, &mut *reporter)?;
        let found = !done.findings.is_empty();
        Ok(if found { Exit::Findings } else { Exit::Clean })
    }
}
