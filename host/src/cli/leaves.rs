//! `fuzzbox leaves`: all that a guest can draw, the small ones first.

use super::exit::{Exit, Fault, UserError, Verdict};
use super::target_args::{TargetArgs, optimise};
use super::write::{lines, say_json};
use crate::engine::{Campaign, Dictionary, Mutator, Search, Workers};
use crate::outcome::Outcome;
use crate::sandbox::{Candidate, CodeCache};
use crate::stream::{Choice, decode, shortlex};
use crate::text::grouped;
use anyhow::anyhow;
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;

/// Flags of `leaves`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The module, wasm or wat, whose entry draws
    #[arg(value_name = "WASM")]
    target: PathBuf,
    /// Executions at most
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    max: u64,
    /// One JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    flags: TargetArgs,
}

/// What a guest can draw.
#[derive(Debug, Serialize)]
struct Leaves {
    /// Index of each choice, of each stream that the guest takes; null for payload and texts, which have more values.
    leaves: Vec<Vec<Option<u64>>>,
    /// Streams that the guest rejects.
    rejected: u64,
    /// There are no others.
    complete: bool,
}

impl Args {
    pub(super) fn run(self) -> Verdict {
        let candidate = self.flags.candidate(&self.target)?;
        if !candidate.entry.takes_choices() {
            return Err(anyhow!("leaves are of targets that draw (`fuzzbox_v1`), this one takes bytes")).blame_user();
        }
        let leaves = self.leaves(candidate)?;
        if self.json {
            say_json(&leaves)?;
        } else {
            lines(&leaves.text())?;
        }
        Ok(Exit::Clean)
    }

    fn leaves(&self, candidate: Candidate) -> Result<Leaves, Fault> {
        let target = Arc::new(optimise(&self.target, candidate, &CodeCache::of_user())?);
        let workers = Workers::new(1, Arc::default())?;
        let search: Search = "enumerate".parse()?;
        let mutator = Mutator::new(Dictionary::default());
        let mut campaign = Campaign::new(target, 0, mutator).with_search(&search).with_tally();
        let signature = |outcome: &Outcome| outcome.name().to_owned();
        // The empty stream is executed first, whatever the strategy is, and again as the first leaf.
        let execs_max = self.max + 1;
        campaign.start(&workers, &[], execs_max, &signature)?;
        let rejected = campaign.totals().rejected;
        while campaign.totals().execs < execs_max && !campaign.is_exhausted() {
            campaign.step(&workers, execs_max - campaign.totals().execs, &signature)?;
        }
        let mut streams: Vec<_> = campaign.tally().map(|(input, _)| decode(input)).collect();
        streams.sort_by(|a, b| shortlex(a, b));
        Ok(Leaves {
            leaves: streams.iter().map(|stream| stream.iter().map(Choice::index).collect()).collect(),
            rejected: campaign.totals().rejected - rejected,
            complete: campaign.is_exhausted(),
        })
    }
}

impl Leaves {
    fn text(&self) -> Vec<String> {
        let choice = |index: &Option<u64>| index.map_or_else(|| "_".to_owned(), |index| index.to_string());
        let leaf = |leaf: &Vec<Option<u64>>| leaf.iter().map(choice).collect::<Vec<_>>().join(" ");
        let mut text: Vec<_> = self.leaves.iter().map(leaf).collect();
        let count = match self.leaves.len() as u64 {
            1 => "1 leaf".to_owned(),
            count => format!("{} leaves", grouped(count)),
        };
        let rejected = if self.rejected == 0 { String::new() } else { format!(", and {} rejected", self.rejected) };
        let end = if self.complete { "" } else { ", and there are more (--max)" };
        text.push(format!("{count}{rejected}{end}"));
        text
    }
}
