//! `fuzzbox replay`: execute inputs once each.

use super::against::AgainstArgs;
use super::compiling;
use super::debug_info;
use super::debug_info::symbols;
use super::exit::{Exit, Verdict};
use super::input;
use super::output;
use super::store_args::StoreArgs;
use super::target_args::{TargetArgs, compile};
use super::write::{self, say, say_json};
use crate::failure::Said;
use crate::sandbox::{CodeCache, Executor};
use crate::session::execution::Execution;
use crate::stream::Decoded;
use crate::symbols::Symbols;
use anyhow::Result;
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;

/// Flags of `replay`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The module, wasm or wat
    #[arg(value_name = "WASM")]
    target: PathBuf,
    /// Files, directories of files, or hashes of stored inputs and findings
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<String>,
    /// One JSON object per input
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    against: AgainstArgs,
    #[command(flatten)]
    flags: TargetArgs,
    #[command(flatten)]
    store: StoreArgs,
}

/// The verdict on one input.
#[derive(Debug, Serialize)]
struct Line {
    /// What was typed: a path or a hash.
    name: String,
    /// blake3 of the input.
    input: crate::id::InputId,
    /// Its name: [`Outcome::name`](crate::outcome::Outcome::name).
    outcome: String,
    /// Trap kind and normalised frames of a failure.
    signature: Option<String>,
    /// Code given to `proc_exit`.
    exit_code: Option<u32>,
    /// Edges reached.
    edges: u64,
    /// blake3 over (edge, exact count), ascending: equal for equal executions.
    edges_hash: String,
    /// Fuel used.
    fuel: u64,
    /// What the target drew, if it draws.
    #[serde(skip_serializing_if = "Option::is_none")]
    drawn: Option<Decoded>,
    /// What the target said, if it said something.
    #[serde(skip_serializing_if = "Option::is_none")]
    said: Option<Said>,
}

impl Args {
    pub(super) fn run(self) -> Verdict {
        let candidate = self.against.compared(self.flags.candidate(&self.target)?)?;
        let mut inputs = Vec::new();
        for typed in &self.inputs {
            inputs.extend(input::read(typed, &candidate.settings, || self.store.open_existing())?);
        }
        if inputs.is_empty() {
            return Ok(Exit::NothingExecuted);
        }
        for (name, bytes) in &inputs {
            input::check_len(name, bytes, &candidate.settings)?;
        }
        let debug_info = debug_info::named(candidate.bytes(), Some(&self.target));
        let code = (&CodeCache::of_user(), self.flags.quick_code(), None);
        let target = Arc::new(compile(&self.target, candidate, code, &mut compiling::live())?);
        let symbols = symbols(&target, debug_info);
        let mut executor = Executor::new(&target)?;
        let mut failed = false;
        let only_one = inputs.len() == 1;
        for (name, bytes) in inputs {
            let line = execute(&mut executor, &symbols, name, &bytes)?;
            failed |= line.signature.is_some();
            if self.json {
                say_json(&line)?;
            } else {
                say!("{}", text(&line));
                // Of many inputs, those that don't fail are of no interest.
                let is_shown = only_one || line.signature.is_some();
                let drawn = line.drawn.as_ref().filter(|_| is_shown);
                let said = line.said.as_ref().filter(|_| is_shown);
                write::lines(&output::said(said, drawn))?;
                write::lines(&output::drawn(drawn))?;
            }
        }
        Ok(if failed { Exit::Findings } else { Exit::Clean })
    }
}

fn execute(executor: &mut Executor, symbols: &Symbols, name: String, bytes: &[u8]) -> Result<Line> {
    let outcome = executor.run(bytes)?;
    let observation = executor.observation();
    let mut counts = Vec::new();
    observation.edges(|edge, count| counts.push((edge, count)));
    counts.sort_unstable();
    let mut hasher = blake3::Hasher::new();
    for (edge, count) in &counts {
        hasher.update(&edge.to_le_bytes()).update(&count.to_le_bytes());
    }
    let (exit_code, fuel) = (observation.exit_code(), observation.fuel());
    let execution = Execution::of(outcome, executor)?;
    let outcome = &execution.outcome;
    Ok(Line {
        name,
        input: crate::id::InputId::of(bytes),
        outcome: outcome.name().to_owned(),
        signature: outcome.failure().map(|(kind, trap)| crate::failure::signature(kind, trap, symbols).name),
        exit_code,
        edges: counts.len() as u64,
        edges_hash: hasher.finalize().to_hex().to_string(),
        fuel,
        drawn: execution.decoded(executor.target(), symbols, &[]),
        said: execution.said,
    })
}

fn text(line: &Line) -> String {
    let detail = match (&line.signature, line.exit_code) {
        (Some(signature), _) => format!("  {signature}"),
        (None, Some(code)) => format!("  exit code {code}"),
        (None, None) => String::new(),
    };
    format!("{:8} {:6} edges {:12} fuel  {}{detail}", line.outcome, line.edges, line.fuel, line.name)
}
