//! `fuzzbox ls`: what is in the store.

use super::exit::{Exit, Verdict};
use super::output;
use super::store_args::StoreArgs;
use super::write::{say, say_json, warning};
use crate::report::Headline;
use crate::report::text::counted;
use crate::store::{FindingRecord, Origin};
use serde::Serialize;

/// Flags of `ls`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// JSON lines instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreArgs,
}

/// One target of the store.
#[derive(Debug, Serialize)]
struct Line {
    target: String,
    /// The module's file and entry, if they were noted.
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<Origin>,
    corpus: usize,
    findings: Vec<FindingRecord>,
}

impl Args {
    pub(super) fn run(self) -> Verdict {
        let store = self.store.open_existing()?;
        for target in store.targets()? {
            let findings = store.findings(Some(&target.name))?;
            let line = Line {
                corpus: store.corpus(&target.name)?.len(),
                origin: store.origin(&target.name)?,
                target: target.name,
                findings,
            };
            for error in store.damaged(Some(&line.target))? {
                warning!("{error:#}");
            }
            if self.json {
                say_json(&line)?;
            } else {
                print(&line)?;
            }
        }
        Ok(Exit::Clean)
    }
}

fn print(line: &Line) -> std::io::Result<()> {
    let (inputs, findings) = (counted(line.corpus as u64, "input"), counted(line.findings.len() as u64, "finding"));
    say!("{}: {inputs}, {findings}", line.target);
    for finding in &line.findings {
        let id = finding.id.to_string();
        let bytes = counted(finding.input_bytes, "byte");
        let headline = Headline::new(&finding.frames, finding.said.as_ref());
        // Of the function, the signature tells.
        let source = headline.and_then(|headline| headline.source);
        let source = source.map_or_else(String::new, |source| format!(" at {source}"));
        say!("  {} {}{source} ({bytes})", &id[..8], output::failure(&finding.kind, &finding.signature));
    }
    Ok(())
}
