//! `fuzzbox import`: inputs of other fuzzers become a target's corpus.

use super::debug_info::DebugInfoArgs;
use super::debug_info::symbols;
use super::exit::{Exit, UserError, Verdict};
use super::input;
use super::naming::NameArgs;
use super::output::Output;
use super::store_args::StoreArgs;
use super::target_args::{TargetArgs, compile};
use super::write::{shown, warn};
use crate::engine::{Dictionary, Search, Workers};
use crate::id::InputId;
use crate::outcome::Outcome;
use crate::report::{self, Event, Files, Flags};
use crate::sandbox::CodeCache;
use crate::session::ending::Ending;
use crate::session::running::Running;
use crate::session::setup::{Limits, Session};
use crate::store::{Imported, Skipped, Store};
use anyhow::anyhow;
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
            limits: Limits { seeds_only: true, ..Limits::default() },
            given: Flags::default(),
            // Importing is to be quick.
            search: Search::default(),
            compares: false,
            shrink: false,
            warn: &warn,
            symbols,
        };
        let ids = |store: &Store| -> anyhow::Result<BTreeSet<InputId>> {
            Ok(store.corpus(&session.name)?.iter().map(|entry| entry.input).collect())
        };
        let before = ids(&store)?;
        let (paths, inputs): (Vec<_>, Vec<_>) = inputs.into_iter().unzip();
        // If that is interrupted nothing is known of them.
        let outcomes = workers.outcomes(&session.target, &inputs, u64::MAX)?;
        let names: Vec<_> = inputs.iter().map(|input| InputId::of(input)).collect();
        let mut running = Running::begin(&session, inputs)?;
        running.turn(None, &mut *reporter)?;
        let after = ids(&store)?;

        if let Some(outcomes) = outcomes {
            let files = imported(&self.dir, (&paths, &names, &outcomes), &skipped, after.difference(&before).copied());
            let event = report::Imported::new(session.name.clone(), files);
            reporter.report(&Event::Imported(event))?;
        }
        let done = running.end(&mut *reporter)?;
        let found = !done.findings.is_empty();
        Ok(if found { Exit::Findings } else { Exit::Clean })
    }
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
        let files = kinds.entry(kind(dir, path).to_owned()).or_default();
        match outcome {
            Outcome::Rejected => files.rejected += 1,
            outcome if outcome.trap().is_some() => files.failing += 1,
            // Of two files with the same bytes only the first is new.
            _ if new.remove(name) => files.new += 1,
            _ => files.known += 1,
        }
    }
    for skipped in skipped.iter().filter(|skipped| !skipped.expected) {
        kinds.entry(kind(dir, &skipped.path).to_owned()).or_default().unreadable += 1;
    }
    kinds
}

/// How other fuzzers call files that fail.
const FAILING: [(&str, &str); 5] = [
    ("crash-", "crash-*"),
    ("leak-", "leak-*"),
    ("oom-", "oom-*"),
    ("slow-unit-", "slow-unit-*"),
    ("timeout-", "timeout-*"),
];

/// What a file is to whoever wrote it, by the folder of AFL++ that it is in, or by libFuzzer's name for it; `inputs` if
/// neither says.
fn kind(dir: &Path, path: &Path) -> &'static str {
    let below = path.strip_prefix(dir).unwrap_or(path);
    let folders = below.parent().into_iter().flat_map(Path::iter).rev().chain(dir.file_name());
    let folders = folders.filter_map(|folder| ["crashes", "hangs", "queue"].into_iter().find(|name| folder == *name));
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let by_name = FAILING.iter().find(|(prefix, _)| name.starts_with(prefix)).map(|(_, kind)| *kind);
    folders.into_iter().next().or(by_name).unwrap_or("inputs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_other_fuzzers_are_told_apart() {
        let kind = |dir: &str, path: &str| super::kind(Path::new(dir), &Path::new(dir).join(path));
        assert_eq!(kind("out", "default/queue/id:000000,orig:a"), "queue");
        assert_eq!(kind("out", "default/crashes/id:000000,sig:06"), "crashes");
        assert_eq!(kind("out/default/hangs", "id:000000"), "hangs");
        assert_eq!(kind("queue", "crashes/x"), "crashes");
        assert_eq!(kind("corpus", "crash-0eb8e4ed029b774d80f2b66408203801cb982a60"), "crash-*");
        assert_eq!(
            [kind("c", "timeout-1"), kind("c", "oom-1"), kind("c", "slow-unit-1")],
            ["timeout-*", "oom-*", "slow-unit-*"]
        );
        assert_eq!([kind("c", "crashed"), kind("queued", "x"), kind(".", "a")], ["inputs"; 3]);
    }
}
