//! `fuzzbox learn`: the automaton of what a guest takes.

use super::exit::{Exit, Verdict};
use super::states::Queried;
use super::write::{lines, say_json};
use serde::Serialize;

/// Flags of `learn`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    queried: Queried,
    /// One JSON object instead of a graph for Graphviz
    #[arg(long)]
    json: bool,
}

/// What was learned.
#[derive(Debug, Serialize)]
struct Learned {
    /// Whether streams may end in a state, by state; they begin in the first.
    accepting: Vec<bool>,
    /// Where each alternative leads, by state.
    next: Vec<Vec<usize>>,
    /// Random streams that it was right about since it was last changed.
    tried: u64,
    /// It was right about so many that it is taken for the guest's.
    complete: bool,
    execs: u64,
}

impl Args {
    pub(super) fn run(self) -> Verdict {
        let campaign = self.queried.search("exemplar:learn")?;
        let execs = campaign.totals().execs;
        let Some((automaton, tried)) = campaign.automaton() else {
            lines(&[format!("// {execs} executions are too few for an automaton (--max)")])?;
            return Ok(Exit::Clean);
        };
        let complete = campaign.is_exhausted();
        if self.json {
            let (accepting, next) = (automaton.accepting, automaton.next);
            say_json(&Learned { accepting, next, tried, complete, execs })?;
            return Ok(Exit::Clean);
        }
        let states = automaton.accepting.len();
        let doubt = if complete { "" } else { ", and there may be more (--max)" };
        let mut text = vec![format!("// {states} states after {execs} executions, right about {tried} words{doubt}")];
        text.extend(automaton.dot().lines().map(str::to_owned));
        lines(&text)?;
        Ok(Exit::Clean)
    }
}
