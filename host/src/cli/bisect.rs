//! `fuzzbox bisect`: between which two builds a finding came or went.

use super::debug_info::{named, symbols};
use super::exit::{Exit, Fault, UserError, Verdict};
use super::findings;
use super::linking::LinkArgs;
use super::store_args::StoreArgs;
use super::target_args::optimise;
use super::write::{say, say_json, shown, warn};
use crate::id::{FindingId, ModuleId};
use crate::sandbox::CodeCache;
use crate::session::reproduction::{Reproduction, Way};
use crate::store::{FindingRecord, Store};
use anyhow::{Context, anyhow};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Flags of `bisect`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// First digits of the finding's hash, or of its input's
    #[arg(value_name = "HASH")]
    hash: String,
    /// Builds of the target, the oldest first; the exit code is 1 if it fails in the last one
    #[arg(value_name = "WASM", required = true)]
    builds: Vec<PathBuf>,
    /// One JSON object instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    linking: LinkArgs,
    #[command(flatten)]
    store: StoreArgs,
}

/// Between which builds it is.
#[derive(Debug, Serialize)]
struct Report {
    id: FindingId,
    signature: String,
    /// The last build like the first one, by its place among those that were given.
    before: usize,
    /// The first build that differs from it; none if the last one doesn't.
    after: Option<usize>,
    /// Those that were executed, by their places.
    builds: BTreeMap<usize, Tried>,
}

/// What it does in one build.
#[derive(Clone, Debug, Serialize)]
struct Tried {
    path: String,
    module: ModuleId,
    /// It fails as the finding does.
    fails: bool,
}

impl Args {
    pub(super) fn run(self) -> Verdict {
        let store = self.store.open_existing()?;
        let instead = format!("`fuzzbox replay WASM {}` executes an input", self.hash);
        let record = findings::find(&store, &self.hash, &instead)?;
        let input = store.finding_input(&record).context("failed to read the finding's input")?;
        let mut builds = BTreeMap::new();
        let (before, after) = between(self.builds.len(), |place| -> Result<bool, Fault> {
            let tried = self.tried(&store, &record, &input, place)?;
            let fails = tried.fails;
            builds.insert(place, tried);
            Ok(fails)
        })?;
        let report = Report { id: record.id, signature: record.signature.clone(), before, after, builds };
        if self.json {
            say_json(&report)?;
        } else {
            report.print()?;
        }
        let last = report.builds.last_key_value().is_some_and(|(_, tried)| tried.fails);
        Ok(if last { Exit::Findings } else { Exit::Clean })
    }

    /// Tries the finding on one build, in all ways.
    fn tried(&self, store: &Store, record: &FindingRecord, input: &[u8], place: usize) -> Result<Tried, Fault> {
        let path = self.builds.get(place).ok_or_else(|| anyhow!("there is no build {place}")).blame_user()?;
        let candidate = findings::another_build(store, record, path, &self.linking)?;
        let is_another = candidate.id != record.module;
        let debug_info = named(candidate.bytes(), Some(path));
        let target = Arc::new(optimise(path, candidate, &CodeCache::of_user())?);
        let symbols = symbols(&target, debug_info);
        let (target, symbols) = (&target, &symbols);
        let reproduction = Reproduction { store, record, input, target, symbols, warn: &warn, is_another };
        let ways = if is_another { &Way::ALL[..] } else { &[Way::Choices] };
        let fails = reproduction.attempts(ways)?.iter().any(|attempt| attempt.same);
        Ok(Tried { path: shown(path), module: target.candidate.id, fails })
    }
}

impl Report {
    fn print(&self) -> std::io::Result<()> {
        say!("finding {}: {}", self.id, self.signature);
        for Tried { path, module, fails } in self.builds.values() {
            let what = if *fails { "fails" } else { "does not fail" };
            say!("  {what} in {path} ({})", &module.to_string()[..8]);
        }
        let path = |place: usize| self.builds.get(&place).map_or("", |tried| &tried.path);
        let fails = |place: usize| self.builds.get(&place).is_some_and(|tried| tried.fails);
        match self.after {
            Some(after) if fails(after) => {
                say!("it came between {} and {}", path(self.before), path(after));
            }
            Some(after) => say!("it was fixed between {} and {}", path(self.before), path(after)),
            None if fails(self.before) => say!("it fails in the first and in the last of them"),
            None => say!("it fails neither in the first nor in the last of them"),
        }
        Ok(())
    }
}

/// Two neighbours of `count` that differ, if the first and the last do: as few are asked as halving needs. Else the
/// last alone.
fn between<E>(count: usize, mut ask: impl FnMut(usize) -> Result<bool, E>) -> Result<(usize, Option<usize>), E> {
    let (mut low, mut high) = (0, count - 1);
    let first = ask(low)?;
    if low == high || ask(high)? == first {
        return Ok((high, None));
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if ask(middle)? == first {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok((low, Some(high)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_that_differ_are_found_by_asking_few() {
        for count in 1..40 {
            for change in 0..=count {
                for fails_first in [false, true] {
                    let mut asked = Vec::new();
                    let ask = |place: usize| -> Result<bool, ()> {
                        asked.push(place);
                        Ok((place < change) == fails_first)
                    };
                    let found = between(count, ask).unwrap();
                    let expected =
                        if (1..count).contains(&change) { (change - 1, Some(change)) } else { (count - 1, None) };
                    assert_eq!(found, expected, "{count} {change}");
                    assert!(asked.len() <= 2 + count.ilog2() as usize + 1, "{asked:?}");
                }
            }
        }
    }
}
