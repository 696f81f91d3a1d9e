//! `fuzzbox show`: one object of the store.

use super::debug_info::{DebugInfoArgs, Found};
use super::drawn::Execution;
use super::exit::{Exit, Fault, Verdict};
use super::findings;
use super::input::one_match;
use super::output::{self, say};
use super::session::symbols;
use super::store_args::StoreArgs;
use crate::report::{self, Decoded, Symbols};
use crate::sandbox::Executor;
use crate::store::{FindingRecord, Match, Store};
use anyhow::{Context, Result};
use serde::Serialize;
use std::io::Write;
use std::sync::Arc;

/// Flags of `show`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// First digits of a finding's, an input's or a module's hash
    #[arg(value_name = "HASH")]
    hash: String,
    /// Only the object's bytes (a finding's: its input's)
    #[arg(long, conflicts_with = "json")]
    raw: bool,
    /// One JSON object instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    debug_info: DebugInfoArgs,
    #[command(flatten)]
    store: StoreArgs,
}

/// A finding, and what is known only by executing it.
#[derive(Serialize)]
struct Finding<'a> {
    #[serde(flatten)]
    record: &'a FindingRecord,
    /// What the target drew, if it draws. The record's `drawn` is what it left.
    #[serde(skip_serializing_if = "Option::is_none")]
    decoded: Option<Decoded>,
}

impl Args {
    pub(super) fn run(self) -> Verdict {
        let store = self.store.open_existing()?;
        let found = one_match(&store, &self.hash)?;
        let (finding, object) = match &found {
            Match::Finding { target, id } => {
                let mut record = store.finding(target, *id)?;
                if self.debug_info.is_given() {
                    self.resolve_again(&store, &mut record)?;
                }
                let object = record.input.into();
                (Some(record), object)
            }
            Match::Input { id, .. } => (None, (*id).into()),
            Match::Module { object, .. } | Match::Object(object) => (None, *object),
        };
        let bytes = store.get(object)?;
        let finding = finding.as_ref().filter(|_| !self.raw).map(|record| Finding::new(&store, record, &bytes));
        if self.raw {
            std::io::stdout().write_all(&bytes)?;
        } else if self.json {
            let json = match &finding {
                Some(finding) => serde_json::to_string(finding),
                None => serde_json::to_string(
                    &serde_json::json!({ "object": object, "bytes": bytes.len(), "is": found.to_string() }),
                ),
            };
            say!("{}", json.context("failed to write JSON")?);
        } else {
            print(&found, finding.as_ref(), &bytes)?;
        }
        Ok(Exit::Clean)
    }

    /// Looks up the frames of a finding in what `--debug-info` names.
    fn resolve_again(&self, store: &Store, record: &mut FindingRecord) -> Result<(), Fault> {
        let module = store.get(record.module_object).context("failed to read the finding's module")?;
        let module = crate::sandbox::core_module(&module).context("failed to read the finding's module")?;
        let debug_info = self.debug_info.find(&module, None)?;
        let cfgs = fuzzbox_instrument::Cfgs::new(&module).context("failed to read the finding's module")?;
        let name = |index: u32| cfgs.names().get(index as usize).cloned().flatten();
        let symbols = debug_info.apply(Symbols::new(&module, name));
        record.frames = symbols.resolve(&report::unresolved(&record.frames));
        Ok(())
    }
}

impl<'a> Finding<'a> {
    fn new(store: &Store, record: &'a FindingRecord, input: &[u8]) -> Self {
        let decoded = record.drawn.as_ref().and_then(|_| {
            let decoded = decoded(store, record, input);
            decoded.inspect_err(|error| eprintln!("warning: what was drawn is not known: {error:#}")).ok()?
        });
        Self { record, decoded }
    }
}

/// Executes the finding in its own module, to see what that draws.
fn decoded(store: &Store, record: &FindingRecord, input: &[u8]) -> Result<Option<Decoded>> {
    let target = Arc::new(findings::load(store, record)?);
    let execution = Execution::reported(&mut Executor::new(&target)?, input)?;
    Ok(execution.decoded(&target, &symbols(&target, Found::default()), &[]))
}

fn print(found: &Match, finding: Option<&Finding<'_>>, bytes: &[u8]) -> std::io::Result<()> {
    say!("{found}");
    if let Some(Finding { record: finding, .. }) = finding {
        say!("{}", output::failure(&finding.kind, &finding.signature));
        say!("{}", output::frames(&finding.frames));
        say!("module {}", finding.module);
        say!("input  {}", finding.input);
        say!("settings {}", finding.settings);
        for former in &finding.former {
            say!("shrunk from input {} ({} bytes)", former.input, former.input_bytes);
        }
        if let Some(value) = finding.drawn.as_ref().and_then(|drawn| drawn.value.as_ref()) {
            say!("value  {}", value.object);
        }
    }
    say!("{}", report::preview(bytes, report::PREVIEW_COLUMNS));
    if let Some(Finding { record, decoded }) = finding {
        std::io::stdout().write_all(output::drawn(decoded.as_ref()).as_bytes())?;
        say!("fuzzbox repro {}", &record.id.to_string()[..8]);
    }
    Ok(())
}
