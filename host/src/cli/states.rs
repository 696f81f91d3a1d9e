//! `fuzzbox states`: one stream for each state that a guest can be in.

use super::exit::{Exit, Fault, UserError, Verdict};
use super::input::read_dir;
use super::target_args::{TargetArgs, optimise};
use super::write::{lines, say_json};
use crate::engine::{Campaign, Dictionary, Experiment, Mutator, Search, Workers};
use crate::outcome::Outcome;
use crate::sandbox::CodeCache;
use crate::stream::{Choice, decode};
use crate::text::counted;
use anyhow::anyhow;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What tells states apart.
const OBSERVE: [&str; 3] = ["valid", "outcome", "cov"];

/// Flags of `states`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    queried: Queried,
    /// What tells states apart: whether all of a stream is taken, also how it ends, also what it reaches
    #[arg(long, value_name = "WHAT", default_value = OBSERVE[0], value_parser = OBSERVE)]
    observe: String,
    /// The tree of what tells states apart, as a graph for Graphviz
    #[arg(long, conflicts_with = "json")]
    dot: bool,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

/// Which target is asked, and how long.
#[derive(Debug, clap::Args)]
pub(super) struct Queried {
    /// The module, wasm or wat, whose entry draws
    #[arg(value_name = "WASM")]
    target: PathBuf,
    /// Executions at most
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    max: u64,
    /// Streams to begin with, such as some that are taken
    #[arg(long, value_name = "DIR")]
    examples: Option<PathBuf>,
    /// Seed of the random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    flags: TargetArgs,
}

impl Queried {
    /// Executes by a strategy until it has nothing left, or there were enough executions.
    pub(super) fn search(&self, strategy: &str) -> Result<Campaign, Fault> {
        let candidate = self.flags.candidate(&self.target)?;
        if !candidate.entry.takes_choices() {
            return Err(anyhow!("states are of targets that draw (`fuzzbox_v1`), this one takes bytes")).blame_user();
        }
        let read = |dir: &Path| read_dir(dir, &candidate.settings).blame_user();
        let examples = self.examples.as_deref().map(read).transpose()?.unwrap_or_default();
        let examples: Vec<_> = examples.into_iter().map(|(_, input)| input).collect();
        let target = Arc::new(optimise(&self.target, candidate, &CodeCache::of_user())?);
        let workers = Workers::new(1, Arc::default())?;
        let search: Search = strategy.parse()?;
        let mut campaign = Campaign::new(target, self.seed, Mutator::new(Dictionary::default())).with_search(&search);
        let signature = |outcome: &Outcome| outcome.name().to_owned();
        campaign.start(&workers, &examples, self.max, &signature)?;
        while campaign.totals().execs < self.max && !campaign.is_exhausted() {
            campaign.step(&workers, self.max - campaign.totals().execs, &signature)?;
        }
        Ok(campaign)
    }
}

/// States, and what tells them apart.
#[derive(Debug, Serialize)]
struct States {
    /// The simplest stream that is known for each state, as its choices.
    states: Vec<Vec<u64>>,
    /// The tree by which they are told apart, its root first.
    experiments: Vec<Node>,
    execs: u64,
}

/// A node of the tree.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Node {
    State { state: usize },
    Way { way: Vec<u64>, next: BTreeMap<String, usize> },
}

impl Args {
    pub(super) fn run(self) -> Verdict {
        let observe = if self.observe == OBSERVE[0] { String::new() } else { format!(":{}", self.observe) };
        let campaign = self.queried.search(&format!("exemplar{observe}"))?;
        let indices = |stream: Vec<u8>| decode(&stream).iter().filter_map(Choice::index).collect();
        let node = |experiment| match experiment {
            Experiment::State(state) => Node::State { state },
            Experiment::Way(way, next) => {
                Node::Way { way, next: next.into_iter().map(|(class, node)| (format!("{class:x}"), node)).collect() }
            }
        };
        let states = States {
            states: campaign.states().into_iter().map(indices).collect(),
            experiments: campaign.experiments().into_iter().map(node).collect(),
            execs: campaign.totals().execs,
        };
        match (self.json, self.dot) {
            (true, _) => say_json(&states)?,
            (_, true) => lines(&states.dot())?,
            _ => lines(&states.text())?,
        }
        Ok(Exit::Clean)
    }
}

/// Choices as people write them.
fn written(stream: &[u64]) -> String {
    let choices: Vec<_> = stream.iter().map(u64::to_string).collect();
    if choices.is_empty() { "(nothing)".to_owned() } else { choices.join(" ") }
}

impl States {
    fn text(&self) -> Vec<String> {
        let state = |(number, stream): (usize, &Vec<u64>)| format!("{number}: {}", written(stream));
        let mut text: Vec<_> = self.states.iter().enumerate().map(state).collect();
        let states = counted(self.states.len() as u64, "state");
        text.push(format!("{states} after {}", counted(self.execs, "execution")));
        text
    }

    fn dot(&self) -> Vec<String> {
        let mut dot = vec!["digraph experiments {".to_owned()];
        for (number, node) in self.experiments.iter().enumerate() {
            match node {
                Node::State { state } => {
                    let label = format!("{state}: {}", written(&self.states[*state]));
                    dot.push(format!("  n{number} [shape=box, label=\"{label}\"];"));
                }
                Node::Way { way, next } => {
                    dot.push(format!("  n{number} [label=\"{}\"];", written(way)));
                    let edge = |(class, to): (&String, &usize)| format!("  n{number} -> n{to} [label=\"{class}\"];");
                    dot.extend(next.iter().map(edge));
                }
            }
        }
        dot.push("}".to_owned());
        dot
    }
}
