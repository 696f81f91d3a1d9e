//! `fuzzbox bench search`: how soon strategies find a failure, or reach edges, by many seeds.

use super::super::exit::{Exit, UserError, Verdict};
use super::super::input::read_dir;
use super::super::naming::default_name;
use super::super::target_args::{TargetArgs, optimise};
use super::super::write::{lines, say_json};
use super::statistics::{Median, a12, p_value};
use crate::engine::{Campaign, Dictionary, Mutator, Search, Workers};
use crate::outcome::Outcome;
use crate::sandbox::{CodeCache, Target};
use anyhow::{Result, anyhow};
use cpu_time::ProcessTime;
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;

/// Flags of `bench search`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The modules, wasm or wat
    #[arg(value_name = "WASM", required = true)]
    targets: Vec<PathBuf>,
    /// Strategies, as `run --strategy` takes them; all others are compared with the first
    #[arg(long, value_name = "STRATEGY", value_delimiter = ',', default_value = "auto")]
    strategy: Vec<Search>,
    /// Campaigns of each strategy on each module, by the seeds 1, 2, and so on
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,
    /// Executions of each campaign at most
    #[arg(long, short = 'n', value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..))]
    execs: u64,
    /// Campaigns end when they have reached so many edges, not with the first failure
    #[arg(long, value_name = "N")]
    edges: Option<usize>,
    /// Inputs that each campaign begins with
    #[arg(long, value_name = "DIR")]
    corpus: Option<PathBuf>,
    /// Threads of each campaign; they change the time alone
    #[arg(long, short = 'j', value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    jobs: u16,
    /// One JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    flags: TargetArgs,
}

/// One campaign.
#[derive(Clone, Copy, Debug, Serialize)]
struct Run {
    seed: u64,
    /// It found a failure, or reached all edges that were asked for.
    done: bool,
    /// Executions until then, or all that it made.
    execs: u64,
    /// CPU time of all threads until then, in seconds, compiling in the background included.
    cpu_seconds: f64,
    /// Edges that were reached by then.
    edges: usize,
}

/// A strategy on a module.
#[derive(Debug, Serialize)]
struct Row {
    target: String,
    strategy: String,
    /// Campaigns that got there.
    done: usize,
    /// Those that did not get there count as if they had with their last execution.
    execs: Median,
    cpu_seconds: Median,
    edges: Median,
    /// Beside the first strategy; `None` for this itself.
    versus: Option<Versus>,
    runs: Vec<Run>,
}

/// How a strategy differs from the first one.
#[derive(Clone, Copy, Debug, Serialize)]
struct Versus {
    /// The probability that it takes more executions, ties counted by half (Vargha and Delaney).
    a12_execs: f64,
    /// How likely a difference like this is by chance (Mann and Whitney).
    p_execs: f64,
    /// The same of edges.
    a12_edges: f64,
    p_edges: f64,
}

/// What was measured.
#[derive(Debug, Serialize)]
struct Table {
    execs_max: u64,
    seeds: u64,
    rows: Vec<Row>,
}

impl Args {
    pub(super) fn run(self) -> Verdict {
        let mut rows: Vec<Row> = Vec::new();
        let workers = Workers::new(usize::from(self.jobs), Arc::default())?;
        for path in &self.targets {
            let candidate = self.flags.candidate(path)?;
            let refused = |strategy: &Search| strategy.needs_goals();
            if let Some(strategy) = self.strategy.iter().find(|strategy| refused(strategy)) {
                return Err(anyhow!("strategy `{strategy}` is for goals (`hunt`), which are not measured"))
                    .blame_user();
            }
            for strategy in &self.strategy {
                strategy.check(candidate.entry.takes_choices()).blame_user()?;
            }
            let read = |dir: &PathBuf| read_dir(dir, &candidate.settings).blame_user();
            let inputs = self.corpus.as_ref().map(read).transpose()?.unwrap_or_default();
            let inputs: Vec<_> = inputs.into_iter().map(|(_, input)| input).collect();
            let name = default_name(path, self.flags.entry().as_deref());
            let target = Arc::new(optimise(path, candidate, &CodeCache::of_user())?);
            let first = rows.len();
            for strategy in &self.strategy {
                let campaign = |seed| self.campaign(&workers, &target, strategy, seed, &inputs);
                let runs: Vec<_> = (1..=self.seeds).map(campaign).collect::<Result<_>>()?;
                let row = Row::of(name.clone(), strategy.to_string(), runs, rows.get(first));
                rows.push(row);
            }
        }
        let table = Table { execs_max: self.execs, seeds: self.seeds, rows };
        if self.json {
            say_json(&table)?
        } else {
            lines(&table.text())?
        }
        Ok(Exit::Clean)
    }

    fn campaign(
        &self,
        workers: &Workers,
        target: &Arc<Target>,
        strategy: &Search,
        seed: u64,
        inputs: &[Vec<u8>],
    ) -> Result<Run> {
        let dictionary = Dictionary::default().with_constants_of(target.candidate.bytes());
        let mut campaign = Campaign::new(target.clone(), seed, Mutator::new(dictionary))
            .with_search(strategy)
            .with_custom_mutators(None)?;
        let signature = |outcome: &Outcome| outcome.name().to_owned();
        let start = ProcessTime::now();
        let is_done = |campaign: &Campaign| match self.edges {
            Some(edges) => campaign.reached() >= edges,
            None => campaign.failures().len() > 0,
        };
        campaign.start(workers, inputs, self.execs, &signature)?;
        while campaign.totals().execs < self.execs && !campaign.is_exhausted() && !is_done(&campaign) {
            campaign.step(workers, self.execs - campaign.totals().execs, &signature)?;
        }
        let failed = campaign.failures().map(|failure| failure.execs).min().filter(|_| self.edges.is_none());
        Ok(Run {
            seed,
            done: is_done(&campaign),
            execs: failed.unwrap_or(campaign.totals().execs),
            cpu_seconds: start.elapsed().as_secs_f64(),
            edges: campaign.reached(),
        })
    }
}

impl Row {
    fn of(target: String, strategy: String, runs: Vec<Run>, first: Option<&Self>) -> Self {
        let execs = |runs: &[Run]| runs.iter().map(|run| run.execs as f64).collect::<Vec<_>>();
        let edges = |runs: &[Run]| runs.iter().map(|run| run.edges as f64).collect::<Vec<_>>();
        let seconds: Vec<_> = runs.iter().map(|run| run.cpu_seconds).collect();
        let versus = first.map(|first| Versus {
            a12_execs: a12(&execs(&runs), &execs(&first.runs)),
            p_execs: p_value(&execs(&runs), &execs(&first.runs)),
            a12_edges: a12(&edges(&runs), &edges(&first.runs)),
            p_edges: p_value(&edges(&runs), &edges(&first.runs)),
        });
        Self {
            target,
            strategy,
            done: runs.iter().filter(|run| run.done).count(),
            execs: Median::of(&execs(&runs)),
            cpu_seconds: Median::of(&seconds),
            edges: Median::of(&edges(&runs)),
            versus,
            runs,
        }
    }

    /// Its cells, as text.
    fn cells(&self) -> [String; 8] {
        let whole = |Median { median, interval: [low, high] }: Median| format!("{median:.0} ({low:.0} to {high:.0})");
        let Median { median, interval: [low, high] } = self.cpu_seconds;
        let versus = |of: fn(&Versus) -> (f64, f64)| {
            let cell = |versus| {
                let (a12, p) = of(versus);
                format!("{a12:.2} (p {p:.3})")
            };
            self.versus.as_ref().map_or_else(String::new, cell)
        };
        [
            self.target.clone(),
            self.strategy.clone(),
            format!("{} of {}", self.done, self.runs.len()),
            whole(self.execs),
            format!("{median:.2} ({low:.2} to {high:.2})"),
            whole(self.edges),
            versus(|versus| (versus.a12_execs, versus.p_execs)),
            versus(|versus| (versus.a12_edges, versus.p_edges)),
        ]
    }
}

impl Table {
    /// A line for each row; medians with their intervals of 95 %.
    fn text(&self) -> Vec<String> {
        let head = ["target", "strategy", "done", "executions", "CPU seconds", "edges", "A12 executions", "A12 edges"];
        let mut rows = vec![head.map(str::to_owned)];
        rows.extend(self.rows.iter().map(Row::cells));
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<_> = (0..head.len()).map(width).collect();
        let line = |row: &[String; 8]| {
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        rows.iter().map(line).collect()
    }
}
