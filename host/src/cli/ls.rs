//! `fuzzbox ls`: what is in the store.

use super::exit::{Exit, Verdict};
use super::output;
use super::store_args::StoreArgs;
use super::write::{say, say_json, warning};
use crate::failure::Headline;
use crate::store::{FindingRecord, Origin, Store};
use crate::text::counted;
use anyhow::Result;
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
        let mut problem = None;
        for name in store.target_names()? {
            // One that can't be read hides no other.
            let line = match Line::new(&store, &name) {
                Ok(line) => line,
                Err(error) if problem.is_none() => {
                    problem = Some(error.context(format!("failed to list target `{}`", name.escape_debug())));
                    continue;
                }
                Err(error) => {
                    warning!("failed to list target `{}`: {error:#}", name.escape_debug());
                    continue;
                }
            };
            if self.json {
                say_json(&line)?;
            } else {
                print(&line)?;
            }
        }
        problem.map_or(Ok(Exit::Clean), |problem| Err(problem.into()))
    }
}

impl Line {
    /// Reads one target; says what of its findings can't be read.
    fn new(store: &Store, target: &str) -> Result<Self> {
        let (findings, corpus) = (store.findings(Some(target))?, store.corpus(target)?.len());
        for error in store.damaged(Some(target))? {
            warning!("{error:#}");
        }
        Ok(Self { target: target.to_owned(), origin: store.origin(target)?, corpus, findings })
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
        say!("  {} {}{source} ({bytes})", &id[..8], output::failure(finding.kind.name(), &finding.signature));
    }
    Ok(())
}
