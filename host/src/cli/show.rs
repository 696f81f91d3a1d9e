//! `fuzzbox show`: one object of the store.

use super::debug_info::symbols;
use super::debug_info::{DebugInfoArgs, ModuleDebugInfo};
use super::exit::{Exit, Fault, Verdict};
use super::input::{one_match, resolve};
use super::output;
use super::store_args::StoreArgs;
use super::write::{Out, lines, say, say_json, warning};
use crate::id::InputId;
use crate::report;
use crate::sandbox::Executor;
use crate::session::execution::Execution;
use crate::session::records;
use crate::store::{FindingRecord, Match, Store};
use crate::stream::Decoded;
use crate::text::grouped;
use anyhow::{Context, Result};
use serde::Serialize;
use std::collections::BTreeSet;
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
        if let Some(id) = self.input(&store)? {
            return self.show_input(&store, id);
        }
        let found = one_match(&store, &self.hash)?;
        let (finding, object) = match &found {
            Match::Finding { target, id, input } => {
                let mut record = store.finding(target, *id)?;
                if self.debug_info.is_given() {
                    self.resolve_again(&store, &mut record)?;
                }
                let object = if self.raw { *input } else { record.input }.into();
                (Some(record), object)
            }
            Match::Input { id, .. } => (None, (*id).into()),
            Match::Module { object, .. } | Match::Object(object) => (None, *object),
        };
        let bytes = store.get(object)?;
        let finding = finding.as_ref().filter(|_| !self.raw).map(|record| Finding::new(&store, record, &bytes));
        if self.raw {
            Out.write_all(&bytes)?;
        } else if self.json {
            match &finding {
                Some(finding) => say_json(finding)?,
                None => {
                    say_json(&serde_json::json!({ "object": object, "bytes": bytes.len(), "is": found.to_string() }))?;
                }
            }
        } else {
            print(&found, finding.as_ref(), &bytes)?;
        }
        Ok(Exit::Clean)
    }

    /// The input that the hash means, whatever it shows: a finding has a hash of its own.
    fn input(&self, store: &Store) -> Result<Option<InputId>, Fault> {
        let prefix = self.hash.to_ascii_lowercase();
        let begins = |id: String| id.starts_with(&prefix);
        let mut inputs = BTreeSet::new();
        for found in resolve(store, &self.hash)? {
            match found {
                Match::Input { id, .. } => drop(inputs.insert(id)),
                // If it isn't the input's either, it is that of a finding whose place this one took.
                Match::Finding { id, input, .. } if !begins(id.to_string()) && begins(input.to_string()) => {
                    inputs.insert(input);
                }
                _ => return Ok(None),
            }
        }
        Ok(inputs.pop_first().filter(|_| inputs.is_empty()))
    }

    /// Shows an input, and who has it.
    fn show_input(&self, store: &Store, id: InputId) -> Verdict {
        let bytes = store.get(id.into())?;
        if self.raw {
            Out.write_all(&bytes)?;
            return Ok(Exit::Clean);
        }
        let names = store.target_names()?;
        // A target that can't be read hides no other.
        let keeps = |name: &String| store.corpus(name).is_ok_and(|corpus| corpus.iter().any(|entry| entry.input == id));
        let targets: Vec<_> = names.iter().filter(|name| keeps(name)).cloned().collect();
        let has_it =
            |record: &FindingRecord| record.input == id || record.former.iter().any(|former| former.input == id);
        let findings: Vec<_> =
            names.iter().flat_map(|name| store.findings(Some(name)).unwrap_or_default()).filter(has_it).collect();
        let size = bytes.len() as u64;
        if self.json {
            let ids: Vec<_> = findings.iter().map(|record| record.id).collect();
            say_json(&serde_json::json!({
                "input": id, "bytes": size, "targets": targets, "findings": ids,
                // As older versions said it.
                "object": id, "is": format!("input {id} of {}", targets.join(", ")),
            }))?;
            return Ok(Exit::Clean);
        }
        say!("input {id}");
        say!("{}", report::preview(&bytes, crate::text::PREVIEW_COLUMNS));
        lines(&dump(&bytes))?;
        if !targets.is_empty() {
            say!("in the corpus of {}", targets.join(", "));
        }
        for record in findings {
            let how = if record.input == id { "shows" } else { "was shrunk to show" };
            let (id, failure) = (record.id.to_string(), output::failure(record.kind.name(), &record.signature));
            say!("{how} finding {} of {}: {failure}", &id[..8], record.target);
        }
        Ok(Exit::Clean)
    }

    /// Looks up the frames of a finding in what `--debug-info` names.
    fn resolve_again(&self, store: &Store, record: &mut FindingRecord) -> Result<(), Fault> {
        let module = store.get(record.module_object).context("failed to read the finding's module")?;
        let settings = records::settings(record).context("failed to read the finding's settings")?;
        let symbols = records::stored_symbols(&module, settings.call.as_deref())
            .context("failed to read the finding's module")?;
        let symbols = self.debug_info.find(symbols.module(), None)?.apply(symbols);
        record.frames = symbols.resolve(&crate::symbols::unresolved(&record.frames));
        Ok(())
    }
}

/// Lines of a dump, at most.
const DUMP_LINES_MAX: usize = 16;

/// The beginning of an input as `hexdump -C` shows it, if a preview has no room for all of it.
fn dump(bytes: &[u8]) -> Vec<String> {
    const LINE_BYTES: usize = 16;
    if bytes.len() <= LINE_BYTES {
        return Vec::new();
    }
    let line = |(number, bytes): (usize, &[u8])| {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x} ")).collect();
        let text = bytes.iter().map(|&byte| if (b' '..=b'~').contains(&byte) { char::from(byte) } else { '.' });
        format!("  {:08x}  {hex:48} |{}|", number * LINE_BYTES, text.collect::<String>())
    };
    let mut dump: Vec<_> = bytes.chunks(LINE_BYTES).enumerate().take(DUMP_LINES_MAX).map(line).collect();
    let left = bytes.len().saturating_sub(DUMP_LINES_MAX * LINE_BYTES);
    if left > 0 {
        dump.push(format!("  and {} more bytes; `fuzzbox show --raw` writes all", grouped(left as u64)));
    }
    dump
}

impl<'a> Finding<'a> {
    fn new(store: &Store, record: &'a FindingRecord, input: &[u8]) -> Self {
        let decoded = record.drawn.as_ref().and_then(|_| {
            let decoded = decoded(store, record, input);
            decoded.inspect_err(|error| warning!("what was drawn is not known: {error:#}")).ok()?
        });
        Self { record, decoded }
    }
}

/// Executes the finding in its own module, to see what that draws.
fn decoded(store: &Store, record: &FindingRecord, input: &[u8]) -> Result<Option<Decoded>> {
    let target = Arc::new(records::load(store, record)?);
    let execution = Execution::reported(&mut Executor::new(&target)?, input)?;
    Ok(execution.decoded(&target, &symbols(&target, ModuleDebugInfo::default()), &[]))
}

fn print(found: &Match, finding: Option<&Finding<'_>>, bytes: &[u8]) -> std::io::Result<()> {
    say!("{found}");
    if let Some(Finding { record: finding, .. }) = finding {
        say!("{}", output::failure(finding.kind.name(), &finding.signature));
        lines(&output::frames(&finding.frames))?;
        say!("module {}", finding.module);
        say!("input  {}", finding.input);
        say!("settings {}", finding.settings);
        for former in &finding.former {
            say!("formerly input {} ({} bytes)", former.input, former.input_bytes);
        }
        if let Some(value) = finding.drawn.as_ref().and_then(|drawn| drawn.value.as_ref()) {
            say!("value  {}", value.object);
        }
    }
    say!("{}", report::preview(bytes, crate::text::PREVIEW_COLUMNS));
    if let Some(Finding { record, decoded }) = finding {
        lines(&output::said(record.said.as_ref(), decoded.as_ref()))?;
        lines(&output::drawn(decoded.as_ref()))?;
        say!("fuzzbox repro {}", &record.id.to_string()[..8]);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dump_has_offsets_bytes_and_text_and_an_end() {
        assert_eq!(dump(b"short"), Vec::<String>::new());
        let lines = dump(b"0123456789abcdef\x1b[2J");
        assert_eq!(lines[0], "  00000000  30 31 32 33 34 35 36 37 38 39 61 62 63 64 65 66  |0123456789abcdef|");
        assert_eq!(lines[1], "  00000010  1b 5b 32 4a                                      |.[2J|");
        let long = dump(&[0; 1000]);
        assert_eq!((long.len(), &*long[16]), (17, "  and 744 more bytes; `fuzzbox show --raw` writes all"));
    }
}
