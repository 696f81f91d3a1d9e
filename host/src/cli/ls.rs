//! `fuzzbox ls`: what is in the store.

use super::exit::{Exit, Verdict};
use super::output::say;
use super::store_args::StoreArgs;
use crate::store::FindingRecord;
use anyhow::Context;
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
    corpus: usize,
    findings: Vec<FindingRecord>,
}

impl Args {
    pub(super) fn run(self) -> Verdict {
        let store = self.store.open_existing()?;
        for target in store.targets()? {
            let findings = store.findings(Some(&target.name))?;
            let line = Line { corpus: store.corpus(&target.name)?.len(), target: target.name, findings };
            for error in store.damaged(Some(&line.target))? {
                eprintln!("warning: {error:#}");
            }
            if self.json {
                say!("{}", serde_json::to_string(&line).context("failed to write JSON")?);
            } else {
                print(&line)?;
            }
        }
        Ok(Exit::Clean)
    }
}

fn print(line: &Line) -> std::io::Result<()> {
    say!("{}: {} inputs, {} findings", line.target, line.corpus, line.findings.len());
    for finding in &line.findings {
        let id = finding.id.to_string();
        say!("  {} {:5} {} ({} bytes)", &id[..8], finding.kind, finding.signature, finding.input_bytes);
    }
    Ok(())
}
