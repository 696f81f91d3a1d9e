//! `fuzzbox repro`: run a finding again, or all of them on another build.

mod all;

use super::debug_info::DebugInfoArgs;
use super::debug_info::symbols;
use super::exit::{Exit, UserError, Verdict};
use super::findings;
use super::linking::LinkArgs;
use super::output;
use super::store_args::StoreArgs;
use super::target_args::optimise;
use super::write::{lines, say, say_json, warn};
use crate::failure::Said;
use crate::id::{FindingId, InputId};
use crate::report;
use crate::sandbox::CodeCache;
use crate::session::records;
use crate::session::reproduction::{Attempt, Reproduction, Way};
use crate::store::FindingRecord;
use crate::stream::Decoded;
use crate::symbols::{ResolvedFrame, Symbols};
use anyhow::{Context, anyhow};
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;

/// Flags of `repro`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// First digits of the finding's hash, or of its input's
    #[arg(value_name = "HASH")]
    hash: Option<String>,
    /// Run it on another build of the target, or without a hash all findings: by the value that was drawn, else by the
    /// choices, else by the choices found again by their spans, else by a search that begins with them
    #[arg(long, value_name = "WASM")]
    on: Option<PathBuf>,
    /// Only in this way
    #[arg(long, value_enum, requires = "on")]
    by: Option<Way>,
    /// All findings of the target that is called so in the store [default: as the file, else the only one]
    #[arg(long, value_name = "NAME", requires = "on", conflicts_with = "hash")]
    name: Option<String>,
    /// One JSON object instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    linking: LinkArgs,
    #[command(flatten)]
    debug_info: DebugInfoArgs,
    #[command(flatten)]
    store: StoreArgs,
}

/// What running a finding again showed.
#[derive(Debug, Serialize)]
struct Report {
    /// The finding.
    id: FindingId,
    target: String,
    input: InputId,
    /// Its name: [`Outcome::name`](crate::outcome::Outcome::name).
    outcome: String,
    /// The signature now; absent if nothing failed.
    signature: Option<String>,
    /// The signature then.
    expected: String,
    /// It failed with the same signature; a value that is checked by itself, with the same kind of failure.
    same: bool,
    /// What was executed: `value`, `choices` (the input as it is), `spans` or `search`.
    by: Way,
    /// What had been tried before, in vain.
    tried: Vec<Way>,
    frames: Vec<ResolvedFrame>,
    /// What the guest drew, if it draws.
    #[serde(skip_serializing_if = "Option::is_none")]
    drawn: Option<Decoded>,
    /// What the guest said, if it said something.
    #[serde(skip_serializing_if = "Option::is_none")]
    said: Option<Said>,
}

impl Args {
    pub(super) fn run(self) -> Verdict {
        if self.on.is_none() && self.linking.is_given() {
            return Err(anyhow!("a finding has all that was linked: --with and --link are for another build (--on)"))
                .blame_user();
        }
        let store = self.store.open_existing()?;
        let Some(hash) = &self.hash else { return all::run(&self, &store) };
        let instead = format!("`fuzzbox replay WASM {hash}` executes an input");
        let record = findings::find(&store, hash, &instead)?;
        let input = store.finding_input(&record).context("failed to read the finding's input")?;
        let candidate = match &self.on {
            Some(path) => findings::another_build(&store, &record, path, &self.linking)?,
            None => records::candidate(&store, &record)?,
        };
        let debug_info = self.debug_info.find(candidate.bytes(), self.on.as_deref())?;
        let target = match &self.on {
            Some(path) => optimise(path, candidate, &CodeCache::of_user())?,
            None => findings::compile(&record, candidate)?,
        };
        let target = Arc::new(target);
        // A stored module has lost the files beside it; the finding has what they said.
        let lines_are_lost = self.on.is_none() && debug_info.kind.is_none();
        let symbols = symbols(&target, debug_info);
        let reproduction = Reproduction {
            store: &store,
            record: &record,
            input: &input,
            target: &target,
            symbols: &symbols,
            warn: &warn,
            is_another: self.on.is_some(),
        };
        let mut attempts = reproduction.attempts(&self.ways())?;
        let best = best(&attempts);
        let Some(attempt) = best.map(|best| attempts.swap_remove(best)) else {
            return Err(anyhow!("finding {} can't be run again in this way", record.id)).blame_user();
        };
        let tried = self.ways().into_iter().take_while(|way| *way != attempt.way);
        let tried = tried.filter(|way| attempts.iter().any(|other| other.way == *way)).collect();
        let report = Report::new(&record, &attempt, tried, &symbols, lines_are_lost);
        if self.json {
            say_json(&report)?;
        } else {
            report.print(&attempt.input, self.on.is_some())?;
        }
        Ok(if report.signature.is_some() { Exit::Findings } else { Exit::Clean })
    }

    /// The ways to try, in this order. On the build that it was found in there is only one that can be right.
    fn ways(&self) -> Vec<Way> {
        match (self.by, &self.on) {
            (Some(way), _) => vec![way],
            (None, None) => vec![Way::Choices],
            (None, Some(_)) => Way::ALL.to_vec(),
        }
    }
}

/// The attempt to report: the one that fails as the finding does, else the first that fails at all, else the input as
/// it is.
fn best(attempts: &[Attempt]) -> Option<usize> {
    let first = |is: &dyn Fn(&Attempt) -> bool| attempts.iter().position(is);
    first(&|attempt| attempt.same)
        .or_else(|| first(&|attempt| attempt.signature.is_some()))
        .or_else(|| first(&|attempt| attempt.way == Way::Choices))
        .or_else(|| first(&|_| true))
}

impl Report {
    fn new(
        record: &FindingRecord,
        attempt: &Attempt,
        tried: Vec<Way>,
        symbols: &Symbols,
        lines_are_lost: bool,
    ) -> Self {
        let Attempt { way, target, input, execution, signature, same } = attempt;
        let frames = match execution.outcome.trap() {
            Some(trap) if lines_are_lost && crate::symbols::unresolved(&record.frames) == trap.frames => {
                record.frames.clone()
            }
            Some(trap) => symbols.resolve(&trap.frames),
            None => Vec::new(),
        };
        Self {
            id: record.id,
            target: record.target.clone(),
            input: InputId::of(input),
            outcome: execution.outcome.name().to_owned(),
            signature: signature.as_ref().map(|signature| signature.name.clone()),
            expected: record.signature.clone(),
            same: *same,
            by: *way,
            tried,
            frames,
            drawn: execution.decoded(target, symbols, &[]),
            said: execution.said.clone(),
        }
    }

    fn print(&self, input: &[u8], on_another_build: bool) -> std::io::Result<()> {
        let what = if self.by == Way::Value { "value" } else { "input" };
        say!("finding {} of {}", self.id, self.target);
        say!("{what} {}: {}", self.input, report::preview(input, crate::text::PREVIEW_COLUMNS));
        match &self.signature {
            Some(signature) => {
                say!("{}", output::failure(&self.outcome, signature));
                lines(&output::frames(&self.frames))?;
            }
            None => say!("{}: it does not fail", self.outcome),
        }
        lines(&output::said(self.said.as_ref(), self.drawn.as_ref()))?;
        lines(&output::drawn(self.drawn.as_ref()))?;
        let way = match self.by {
            _ if !on_another_build => "",
            Way::Value => " by its value",
            Way::Choices => " by its choices",
            Way::Spans => " by its choices, found again by their spans",
            Way::Search => " by a search that began with its choices",
        };
        match (&self.signature, self.same) {
            (Some(signature), true) if *signature == self.expected => {
                say!("reproduced{way}: the signature is the same")
            }
            (_, true) => say!("reproduced{way}; the finding's signature is {}", self.expected),
            (Some(_), false) => say!("it fails in another way; the finding's signature is {}", self.expected),
            (None, false) => say!("not reproduced; the finding's signature is {}", self.expected),
        }
        Ok(())
    }
}
