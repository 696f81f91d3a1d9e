//! `fuzzbox import`: inputs of other fuzzers become a target's corpus.

use super::debug_info::DebugInfoArgs;
use super::debug_info::symbols;
use super::exit::{Exit, Fault, UserError, Verdict};
use super::grammar;
use super::input;
use super::naming::NameArgs;
use super::output::Output;
use super::store_args::StoreArgs;
use super::target_args::{TargetArgs, compile};
use super::write::{shown, warn};
use crate::engine::{Dictionary, Search, Workers};
use crate::grammar::Grammar;
use crate::id::InputId;
use crate::outcome::Outcome;
use crate::report::{self, Event, Files, Flags};
use crate::sandbox::{Candidate, CodeCache};
use crate::session::ending::Ending;
use crate::session::running::Running;
use crate::session::setup::{Limits, Session};
use crate::store::{Imported, Skipped, Store, import_kind};
use anyhow::anyhow;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
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
    /// What the inputs are texts of, in EBNF: each is parsed, and how many are such texts is told. They stay texts;
    /// `run --grammar` makes and changes them by the grammar's rules
    #[arg(long, value_name = "FILE")]
    parse: Option<PathBuf>,
    #[command(flatten)]
    flags: TargetArgs,
    #[command(flatten)]
    debug_info: DebugInfoArgs,
    #[command(flatten)]
    names: NameArgs,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    output: Output,
}

impl Args {
    pub(super) fn run(self) -> Verdict {
        let candidate = self.flags.candidate(&self.target)?;
        let grammar = self.grammar(&candidate)?;
        let Imported { inputs, skipped } = input::import(&self.dir, &candidate.settings).blame_user()?;
        if inputs.is_empty() {
            return Err(anyhow!("there are no inputs in `{}`", shown(&self.dir))).blame_user();
        }
        let name = self.names.names(std::slice::from_ref(&self.target), self.flags.entry().as_deref())?.remove(0);
        self.names.check(&self.store, [(&*name, &*self.target, &candidate)])?;
        let debug_info = self.debug_info.find(candidate.bytes(), Some(&self.target))?;
        let mut reporter = self.output.reporter()?;
        let code = (&CodeCache::of_user(), self.flags.quick_code(), None);
        let target = compile(&self.target, candidate, code, &mut *reporter)?;
        let symbols = symbols(&target, debug_info);
        let store = self.store.open_or_create()?;
        self.names.claim(&store, &name, &self.target, &target)?;
        let ending = Ending::by_signals()?;
        let workers = Workers::new(1, ending.abort())?;
        let session = Session {
            name,
            target: Arc::new(target),
            store: &store,
            workers: &workers,
            ending: &ending,
            jobs: 1,
            seed: 0,
            dictionary: Dictionary::default(),
            grammar: None,
            limits: Limits { seeds_only: true, ..Limits::default() },
            given: Flags::default(),
            // Importing is to be quick.
            search: Search::default(),
            aim: None,
            mutator: None,
            compares: false,
            warms: false,
            shrink: false,
            warn: &warn,
            symbols,
        };
        let before = ids(&store, &session.name)?;
        let (paths, inputs): (Vec<_>, Vec<_>) = inputs.into_iter().unzip();
        let parsed = grammar.map(|grammar| parsed(&grammar, &inputs));
        // If that is interrupted nothing is known of them.
        let outcomes = workers.outcomes(&session.target, &inputs, u64::MAX)?;
        let names: Vec<_> = inputs.iter().map(|input| InputId::of(input)).collect();
        let mut running = Running::begin(&session, inputs)?;
        running.turn(None, &mut *reporter)?;
        let after = ids(&store, &session.name)?;

        if let Some(outcomes) = outcomes {
            let files = imported(&self.dir, (&paths, &names, &outcomes), &skipped, after.difference(&before).copied());
            let event = report::Imported::new(session.name.clone(), files, parsed);
            reporter.report(&Event::Imported(event))?;
        }
        let findings = running.end(&mut *reporter)?.findings;
        Ok(if findings.is_empty() { Exit::Clean } else { Exit::Findings })
    }

    /// The grammar of `--parse`, refused where inputs are no texts.
    fn grammar(&self, candidate: &Candidate) -> Result<Option<Arc<Grammar>>, Fault> {
        let Some(path) = &self.parse else { return Ok(None) };
        if candidate.entry.takes_choices() {
            return Err(anyhow!("`{}` draws what it needs: it takes no texts", shown(&self.target))).blame_user();
        }
        grammar::read(path).map(Some)
    }
}

/// What a target's corpus has.
fn ids(store: &Store, target: &str) -> anyhow::Result<BTreeSet<InputId>> {
    Ok(store.corpus(target)?.iter().map(|entry| entry.input).collect())
}

/// How many inputs a grammar derives.
fn parsed(grammar: &Grammar, inputs: &[Vec<u8>]) -> u64 {
    inputs.par_iter().filter(|input| grammar.derivation(input).is_some()).count() as u64
}

/// Counts files by what became of them; `new` are the inputs that were kept for what they show.
fn imported(
    dir: &Path,
    (paths, names, outcomes): (&[PathBuf], &[InputId], &[Outcome]),
    skipped: &[Skipped],
    new: impl Iterator<Item = InputId>,
) -> BTreeMap<String, Files> {
    let mut new: BTreeSet<_> = new.collect();
    let mut kinds: BTreeMap<String, Files> = BTreeMap::new();
    for ((path, name), outcome) in paths.iter().zip(names).zip(outcomes) {
        let files = kinds.entry(import_kind(dir, path).to_owned()).or_default();
        match outcome {
            Outcome::Rejected => files.rejected += 1,
            outcome if outcome.trap().is_some() => files.failing += 1,
            // Of two files with the same bytes only the first is new.
            _ if new.remove(name) => files.new += 1,
            _ => files.known += 1,
        }
    }
    for skipped in skipped.iter().filter(|skipped| !skipped.expected) {
        kinds.entry(import_kind(dir, &skipped.path).to_owned()).or_default().unreadable += 1;
    }
    kinds
}
