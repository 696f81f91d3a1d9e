//! `fuzzbox show`: one object of the store.

use super::debug_info::DebugInfoArgs;
use super::exit::{Exit, Fault, Verdict};
use super::input::one_match;
use super::output::{self, say};
use super::store_args::StoreArgs;
use crate::report::{self, Symbols};
use crate::store::{FindingRecord, Match, Store};
use anyhow::Context;
use std::io::Write;

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
        if self.raw {
            std::io::stdout().write_all(&bytes)?;
        } else if self.json {
            let json = match &finding {
                Some(record) => serde_json::to_string(record),
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

fn print(found: &Match, finding: Option<&FindingRecord>, bytes: &[u8]) -> std::io::Result<()> {
    say!("{found}");
    if let Some(finding) = finding {
        say!("{}", output::failure(&finding.kind, &finding.signature));
        say!("{}", output::frames(&finding.frames));
        say!("module {}", finding.module);
        say!("input  {}", finding.input);
        say!("settings {}", finding.settings);
        for former in &finding.former {
            say!("shrunk from input {} ({} bytes)", former.input, former.input_bytes);
        }
    }
    say!("{}", report::preview(bytes, report::PREVIEW_COLUMNS));
    if let Some(finding) = finding {
        say!("fuzzbox repro {}", &finding.id.to_string()[..8]);
    }
    Ok(())
}
