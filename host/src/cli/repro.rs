//! `fuzzbox repro`: run a finding again.

use super::debug_info::DebugInfoArgs;
use super::exit::{Exit, Verdict};
use super::findings;
use super::output::{self, say};
use super::session::symbols;
use super::store_args::StoreArgs;
use super::target_args::load;
use crate::report::{self, Decoded, ResolvedFrame, Symbols};
use crate::sandbox::{CodeCache, Executor, Outcome, Target};
use crate::store::FindingRecord;
use anyhow::Context;
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;

/// Flags of `repro`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// First digits of the finding's hash, or of its input's
    #[arg(value_name = "HASH")]
    hash: String,
    /// Run it on another build of the target
    #[arg(long, value_name = "WASM")]
    on: Option<PathBuf>,
    /// One JSON object instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    debug_info: DebugInfoArgs,
    #[command(flatten)]
    store: StoreArgs,
}

/// What running a finding again showed.
#[derive(Debug, Serialize)]
struct Reproduction {
    /// The finding.
    id: crate::store::FindingId,
    target: String,
    input: crate::store::InputId,
    /// `ok`, `rejected`, `crash`, `hang`, `oom`.
    outcome: String,
    /// The signature now; absent if nothing failed.
    signature: Option<String>,
    /// The signature then.
    expected: String,
    /// It failed with the same signature.
    same: bool,
    frames: Vec<ResolvedFrame>,
    /// What the guest drew, if it draws.
    #[serde(skip_serializing_if = "Option::is_none")]
    drawn: Option<Decoded>,
}

impl Args {
    pub(super) fn run(self) -> Verdict {
        let store = self.store.open_existing()?;
        let instead = format!("`fuzzbox replay WASM {}` executes an input", self.hash);
        let record = findings::find(&store, &self.hash, &instead)?;
        let input = store.finding_input(&record).context("failed to read the finding's input")?;
        let target = match &self.on {
            Some(path) => load(path, findings::settings(&record)?, &CodeCache::new(&store))?,
            None => findings::load(&store, &record)?,
        };
        let target = Arc::new(target);
        let debug_info = self.debug_info.find(&target.bytes, self.on.as_deref())?;
        // A stored module has lost the files beside it; the finding has what they said.
        let lines_are_lost = self.on.is_none() && debug_info.kind.is_none();
        let symbols = symbols(&target, debug_info);
        let reproduction = run(&target, &symbols, record, &input, lines_are_lost)?;
        let failed = reproduction.signature.is_some();
        if self.json {
            say!("{}", serde_json::to_string(&reproduction).context("failed to write JSON")?);
        } else {
            print(&reproduction, &input)?;
        }
        Ok(if failed { Exit::Findings } else { Exit::Clean })
    }
}

fn run(
    target: &Arc<Target>,
    symbols: &Symbols,
    record: FindingRecord,
    input: &[u8],
    lines_are_lost: bool,
) -> anyhow::Result<Reproduction> {
    let mut executor = Executor::new(target)?;
    let outcome = executor.run(input)?;
    let drawn = target.takes_choices().then(|| report(&mut executor, &outcome, input, symbols)).transpose()?;
    let signature = outcome.trap().map(|trap| report::signature(outcome.name(), trap, symbols));
    let frames = match outcome.trap() {
        Some(trap) if lines_are_lost && report::unresolved(&record.frames) == trap.frames => record.frames,
        Some(trap) => symbols.resolve(&trap.frames),
        None => Vec::new(),
    };
    Ok(Reproduction {
        id: record.id,
        target: record.target,
        input: record.input,
        outcome: outcome.name().to_owned(),
        same: signature.as_deref() == Some(&*record.signature),
        signature,
        expected: record.signature,
        frames,
        drawn,
    })
}

/// What the guest drew and says of it. It is executed again for that, because it may spare itself the trouble when nobody reads it; what it
/// does then is no verdict.
fn report(executor: &mut Executor, outcome: &Outcome, input: &[u8], symbols: &Symbols) -> anyhow::Result<Decoded> {
    let reporting = executor.run_reporting(input)?;
    if reporting != *outcome {
        eprintln!(
            "warning: the guest ends otherwise when it reports ({}): it must not depend on that",
            reporting.name()
        );
    }
    let observation = executor.observation();
    Ok(Decoded::new(&observation.draws(), &observation.told(), |index| symbols.name(index).into_owned()))
}

fn print(reproduction: &Reproduction, input: &[u8]) -> std::io::Result<()> {
    say!("finding {} of {}", reproduction.id, reproduction.target);
    say!("input {}: {}", reproduction.input, report::preview(input, report::PREVIEW_COLUMNS));
    match &reproduction.signature {
        Some(signature) => {
            say!("{}", output::failure(&reproduction.outcome, signature));
            say!("{}", output::frames(&reproduction.frames));
        }
        None => say!("{}: it does not fail", reproduction.outcome),
    }
    if let Some(Decoded { notes, choices }) = &reproduction.drawn {
        for (title, lines) in [("notes", notes), ("choices", choices)].iter().filter(|(_, lines)| !lines.is_empty()) {
            say!("{title}");
            lines
                .iter()
                .flat_map(|line| line.lines())
                .try_for_each(|line| Ok::<_, std::io::Error>(say!("  {line}")))?;
        }
    }
    match (&reproduction.signature, reproduction.same) {
        (_, true) => say!("reproduced: the signature is the same"),
        (Some(_), false) => say!("it fails in another way; the finding's signature is {}", reproduction.expected),
        (None, false) => say!("not reproduced; the finding's signature is {}", reproduction.expected),
    }
    Ok(())
}
