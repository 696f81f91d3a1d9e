//! `fuzzbox ls`: what is in the store.

use super::exit::{Exit, Verdict};
use super::output;
use super::store_args::StoreArgs;
use super::write::{say, say_json, warning};
use crate::failure::Headline;
use crate::store::{FindingRecord, Life, Origin, State, Store};
use crate::text::counted;
use anyhow::Result;
use serde::Serialize;

/// Flags of `ls`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only findings that are open, or fail again after they were fixed
    #[arg(long, conflicts_with = "fixed")]
    open: bool,
    /// Only findings that are fixed, or were closed
    #[arg(long)]
    fixed: bool,
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
    findings: Vec<Living>,
}

/// A finding and where it is in its life.
#[derive(Debug, Serialize)]
struct Living {
    #[serde(flatten)]
    record: FindingRecord,
    life: Life,
}

impl Args {
    pub(super) fn run(self) -> Verdict {
        let store = self.store.open_existing()?;
        let mut problem = None;
        for name in store.target_names()? {
            // One that can't be read hides no other.
            let line = match Line::new(&store, &name) {
                Ok(line) => self.chosen(line),
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

    /// The findings that were asked for.
    fn chosen(&self, mut line: Line) -> Line {
        line.findings.retain(|Living { life, .. }| match (self.open, self.fixed) {
            (true, _) => life.is_open(),
            (_, true) => matches!(life.state, State::Fixed | State::Closed),
            _ => true,
        });
        line
    }
}

impl Line {
    /// Reads one target; says what of its findings can't be read.
    fn new(store: &Store, target: &str) -> Result<Self> {
        let (findings, corpus) = (store.findings(Some(target))?, store.corpus(target)?.len());
        for error in store.damaged(Some(target))? {
            warning!("{error:#}");
        }
        let lives = store.lives(target, &findings)?;
        let findings = findings.into_iter().zip(lives).map(|(record, life)| Living { record, life }).collect();
        Ok(Self { target: target.to_owned(), origin: store.origin(target)?, corpus, findings })
    }
}

fn print(line: &Line) -> std::io::Result<()> {
    let (inputs, findings) = (counted(line.corpus as u64, "input"), counted(line.findings.len() as u64, "finding"));
    say!("{}: {inputs}, {findings}", line.target);
    for Living { record: finding, life } in &line.findings {
        let id = finding.id.to_string();
        let bytes = counted(finding.input_bytes, "byte");
        let headline = Headline::new(&finding.frames, finding.said.as_ref());
        // Of the function, the signature tells.
        let source = headline.and_then(|headline| headline.source);
        let source = source.map_or_else(String::new, |source| format!(" at {source}"));
        let state = in_words(life, finding);
        say!("  {} {}{source} ({bytes}){state}", &id[..8], output::failure(finding.kind.name(), &finding.signature));
    }
    Ok(())
}

/// Where a finding is in its life; nothing of one that fails where it was found.
fn in_words(life: &Life, finding: &FindingRecord) -> String {
    let build = &life.module.to_string()[..8];
    match life.state {
        State::Open if life.differs => format!(" - fails in another way in build {build}"),
        State::Open if life.module == finding.module => String::new(),
        State::Open => format!(" - still there in build {build}"),
        State::Back => format!(" - back again in build {build}"),
        State::Fixed => format!(" - fixed in build {build}"),
        State::Closed => " - closed".to_owned(),
        State::Ignored => " - ignored".to_owned(),
    }
}
