//! `fuzzbox shrink`: the smallest input that fails in the same way.

use super::against::AgainstArgs;
use super::debug_info::DebugInfoArgs;
use super::debug_info::symbols;
use super::exit::{Exit, Fault, UserError, Verdict};
use super::findings;
use super::input;
use super::naming::NameArgs;
use super::output;
use super::store_args::StoreArgs;
use super::target_args::{TargetArgs, optimise};
use super::write::{lines, say, say_json, shown};
use crate::engine::Workers;
use crate::engine::shrink::{Certificate, Limits, PassCount, ShrinkReport, ShrunkInput};
use crate::failure::signature_of;
use crate::id::{FindingId, InputId};
use crate::outcome::FailureKind;
use crate::report;
use crate::sandbox::{CodeCache, Target};
use crate::session::ending::Ending;
use crate::session::execution::{Execution, parts};
use crate::session::records;
use crate::session::records::new_record;
use crate::session::shrinking::{Shrinking, limits_of_hangs};
use crate::store::{FindingRecord, Store};
use crate::stream::Decoded;
use crate::symbols::Symbols;
use anyhow::{Context, anyhow};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Flags of `shrink`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// First digits of a finding's hash, or of its input's; or a module and an input: a file, or a hash
    #[arg(required = true, num_args = 1..=2, value_names = ["HASH | WASM", "INPUT"])]
    what: Vec<String>,
    /// Worker threads; the result is the same for any number [default: all cores]
    #[arg(short, long, value_name = "N")]
    jobs: Option<usize>,
    /// Stop after this many executions [default: 200000, for hangs 2000]
    #[arg(short = 'n', long, value_name = "N")]
    execs: Option<u64>,
    /// Write the smallest input to this file (of a module and an input, nothing goes to the store then)
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// One JSON object instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    against: AgainstArgs,
    #[command(flatten)]
    flags: TargetArgs,
    #[command(flatten)]
    debug_info: DebugInfoArgs,
    #[command(flatten)]
    names: NameArgs,
    #[command(flatten)]
    store: StoreArgs,
}

/// What is shrunk.
struct Subject {
    target: Arc<Target>,
    symbols: Symbols,
    name: String,
    input: Vec<u8>,
    /// The finding that it is, if it is one.
    finding: Option<FindingRecord>,
}

/// What came of it.
#[derive(Debug, Serialize)]
struct Summary {
    target: String,
    /// The finding in the store; absent if it was not stored.
    finding: Option<FindingId>,
    kind: FailureKind,
    signature: String,
    /// The input that it was shrunk from.
    from: InputId,
    from_bytes: u64,
    input: InputId,
    input_bytes: u64,
    /// Executions of the passes, the same for any number of jobs.
    executions: u64,
    /// Executions of the finish that tries all that is left to try.
    exhaustive: u64,
    /// Executions to find out which bytes matter.
    explained: u64,
    /// Nothing that is known makes it smaller; not so if `--execs` ended it.
    fixed_point: bool,
    /// It is proven that there is nothing simpler.
    minimal: bool,
    /// Ranges of bytes, or of choices if the target draws its input, `[start, end]`, that don't matter each.
    free: Vec<[usize; 2]>,
    /// Other failures that were seen: their signatures.
    slips: Vec<String>,
    /// Executions and successes by pass.
    passes: BTreeMap<&'static str, PassCount>,
    /// What the target draws from the input, if it draws.
    #[serde(skip_serializing_if = "Option::is_none")]
    drawn: Option<Decoded>,
}

impl Args {
    pub(super) fn run(self) -> Verdict {
        // Ctrl-C ends the shrink, and what was found until then is kept.
        let ending = Ending::by_signals()?;
        let workers = Workers::new(super::campaigns::jobs(self.jobs)?, ending.abort())?;
        let Subject { target, symbols, name, input, finding } = self.subject()?;
        let shrinking = Shrinking { target: &target, symbols: &symbols, workers: &workers };
        let execution = shrinking.execute(&input)?.context("interrupted")?;
        let outcome = &execution.outcome;
        let Some((kind, _)) = outcome.failure() else {
            let error = anyhow!("the input does not fail ({}), so there is nothing to shrink", outcome.name());
            return Err(error).blame_user();
        };
        let signature = signature_of(outcome, &symbols);
        let mut limits = Limits::default();
        if outcome.is_hang() {
            limits = limits_of_hangs();
        }
        limits.execs_max = self.execs.unwrap_or(limits.execs_max);
        let shrunk =
            shrinking.shrink(&input, &signature.name, limits)?.context("it did not fail twice in the same way")?;
        if let Some(path) = &self.output {
            let write = std::fs::write(path, &shrunk.input);
            write.with_context(|| format!("failed to write `{}`", shown(path))).blame_user()?;
        }
        let finding = finding.and_then(|finding| records::recognised(&finding, &signature, &symbols));
        let finding = self.keep(&shrinking, &name, finding, &execution, (&input, &shrunk))?;
        let drawn = shrinking
            .execute(&shrunk.input)?
            .and_then(|execution| execution.decoded(&target, &symbols, &shrunk.report.free));
        let summary = Summary { drawn, ..Summary::new(name, finding, kind, signature.name, &input, &shrunk) };
        if self.json {
            say_json(&summary)?;
        } else {
            let (left, part) = parts(&target, &shrunk.input);
            let (from, _) = parts(&target, &input);
            summary.print(&shrunk.input, &format!("{left} of {from} {part}s are left"), self.output.as_deref())?;
        }
        Ok(Exit::Clean)
    }

    /// Stores the smallest input: as the finding that it was shrunk from, or as one of an input that was typed, unless
    /// that is to be written to a file alone.
    fn keep(
        &self,
        shrinking: &Shrinking<'_>,
        name: &str,
        finding: Option<FindingRecord>,
        execution: &Execution,
        (input, shrunk): (&[u8], &ShrunkInput),
    ) -> Result<Option<FindingId>, Fault> {
        let (store, first) = match (finding, &self.output) {
            (None, Some(_)) => return Ok(None),
            (Some(finding), _) => {
                let store = self.store.open_existing()?;
                // An older version may have called it something else.
                store.add_finding(&finding, input).context("failed to store the finding")?;
                (store, finding)
            }
            (None, None) => {
                let store = self.store.open_or_create()?;
                self.names.claim(&store, name, Path::new(&self.what[0]), shrinking.target)?;
                let first = first_record(&store, name, shrinking, execution, input)?;
                (store, first)
            }
        };
        let id = shrinking.store(&store, &first, input, &shrunk.input)?;
        shrinking.store_slips(&store, &first, &shrunk.slips)?;
        Ok(Some(id))
    }

    fn subject(&self) -> Result<Subject, Fault> {
        match &*self.what {
            [hash] => self.finding(hash),
            [module, input] => self.input(Path::new(module), input),
            _ => unreachable!("clap lets one or two through"),
        }
    }

    fn finding(&self, hash: &str) -> Result<Subject, Fault> {
        if Path::new(hash).is_file() {
            let hash = shown(Path::new(hash));
            return Err(anyhow!(
                "`{hash}` is a file: which module does it make fail?\nhelp: `fuzzbox shrink WASM {hash}`"
            ))
            .blame_user();
        }
        let store = self.store.open_existing()?;
        let record = findings::find(&store, hash, &format!("`fuzzbox shrink WASM {hash}`"))?;
        let input = store.finding_input(&record).context("failed to read the finding's input")?;
        let candidate = records::candidate(&store, &record)?;
        let debug_info = self.debug_info.find(candidate.bytes(), None)?;
        let target = findings::compile(&record, candidate)?;
        let symbols = symbols(&target, debug_info);
        Ok(Subject { target: Arc::new(target), symbols, name: record.target.clone(), input, finding: Some(record) })
    }

    fn input(&self, module: &Path, typed: &str) -> Result<Subject, Fault> {
        let candidate = self.against.compared(self.flags.candidate(module)?)?;
        let mut inputs = input::read(typed, &candidate.settings, || self.store.open_existing())?;
        if inputs.len() != 1 {
            let typed = shown(Path::new(typed));
            return Err(anyhow!("`{typed}` holds {} inputs; one is shrunk at a time", inputs.len())).blame_user();
        }
        let input = inputs.remove(0).1;
        input::check_len(typed, &input, &candidate.settings)?;
        let name = self.names.names(&[module.to_owned()], self.flags.entry().as_deref())?.remove(0);
        if self.output.is_none() {
            self.names.check(&self.store, [(&*name, module, &candidate)])?;
        }
        let debug_info = self.debug_info.find(candidate.bytes(), Some(module))?;
        let target = optimise(module, candidate, &CodeCache::of_user())?;
        let symbols = symbols(&target, debug_info);
        Ok(Subject { target: Arc::new(target), symbols, name, input, finding: None })
    }
}

/// The record of an input that was typed, which becomes a finding.
fn first_record(
    store: &Store,
    name: &str,
    shrinking: &Shrinking<'_>,
    execution: &Execution,
    input: &[u8],
) -> anyhow::Result<FindingRecord> {
    let record = new_record(store, name, shrinking.target, shrinking.symbols, execution, input)?;
    let kept = store.add_finding(&record, input).context("failed to store the finding")?;
    if kept == record.id { Ok(record) } else { store.finding(name, kept) }
}

impl Summary {
    fn new(
        target: String,
        finding: Option<FindingId>,
        kind: FailureKind,
        signature: String,
        from: &[u8],
        shrunk: &ShrunkInput,
    ) -> Self {
        let ShrunkInput { input, report, slips } = shrunk;
        let ShrinkReport { evaluations, exhaustive, explained, is_fixed_point, certificate, free, passes } = report;
        Self {
            target,
            finding,
            kind,
            signature,
            from: InputId::of(from),
            from_bytes: from.len() as u64,
            input: InputId::of(input),
            input_bytes: input.len() as u64,
            executions: *evaluations,
            exhaustive: *exhaustive,
            explained: *explained,
            fixed_point: *is_fixed_point,
            minimal: *certificate == Certificate::Minimal,
            free: free.iter().map(|range| [range.start, range.end]).collect(),
            slips: slips.keys().cloned().collect(),
            passes: passes.clone(),
            drawn: None,
        }
    }

    fn print(&self, input: &[u8], left: &str, output: Option<&Path>) -> std::io::Result<()> {
        let executions = self.executions + self.exhaustive + self.explained;
        say!("{left}, after {executions} executions");
        say!("{}", output::failure(self.kind.name(), &self.signature));
        say!("input {}: {}", self.input, report::preview(input, crate::text::PREVIEW_COLUMNS));
        if self.minimal {
            say!("there is no simpler input that fails so");
        } else if !self.fixed_point {
            say!("it may become smaller yet: it was stopped early");
        }
        lines(&output::drawn(self.drawn.as_ref()))?;
        // What was drawn says so itself.
        for [start, end] in self.free.iter().filter(|_| self.drawn.is_none()) {
            if *end == start + 1 {
                say!("byte {start} can be any");
            } else {
                say!("bytes {start} to {} can be any", end - 1);
            }
        }
        for slip in &self.slips {
            say!("another failure on the way: {slip}");
        }
        if let Some(path) = output {
            say!("written to {}", shown(path));
        }
        if let Some(finding) = &self.finding {
            say!("fuzzbox repro {}", &finding.to_string()[..8]);
        }
        Ok(())
    }
}
