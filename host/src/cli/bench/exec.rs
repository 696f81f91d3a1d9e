//! `fuzzbox bench exec`: how fast inputs are executed.

use super::super::exit::{Exit, Fault, UserError, Verdict};
use super::super::input::read_dir;
use super::super::naming::default_name;
use super::super::target_args::{TargetArgs, duration, optimise};
use super::super::write::{lines, say_json, shown};
use super::measure::{Mode, Rate, Subject, Turn};
use crate::sandbox::{CodeCache, Executor, Growth, History, Target, Variant};
use crate::text::counted;
use anyhow::{Result, anyhow};
use fuzzbox_instrument::EdgeSet;
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// What is measured: the module as it is, and its variants.
const VARIANTS: [&str; 4] = ["plain", "metered", "full", "fast"];

/// Flags of `bench exec`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The module, wasm or wat
    #[arg(value_name = "WASM")]
    target: PathBuf,
    /// The inputs to replay, all of them in turn
    #[arg(value_name = "DIR")]
    inputs: PathBuf,
    /// CPU time for each row
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = duration)]
    cpu_time: Duration,
    /// Turns of each row, of which the median counts
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Only these variants
    #[arg(long, value_name = "VARIANT", value_delimiter = ',', default_values_t = VARIANTS.map(str::to_owned), value_parser = VARIANTS)]
    variants: Vec<String>,
    /// Never begin executions after others, as campaigns do where executions grow the memory again and again
    #[arg(long)]
    no_warm_up: bool,
    /// One JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    flags: TargetArgs,
}

/// What was measured.
#[derive(Debug, Serialize)]
struct Table {
    target: String,
    inputs: usize,
    /// Executions before the first, in all rows but those of the plain module.
    warm_up_inputs: usize,
    rows: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    /// `plain`, `metered`, `full`, `fast`.
    variant: &'static str,
    /// State is restored before every execution.
    restore: bool,
    /// After every execution it is asked whether it showed something new.
    judge: bool,
    /// The median over the rounds.
    execs_per_cpu_second: f64,
    /// The lowest and the highest of them.
    range: [f64; 2],
    /// Every input had the outcome and the edges that it has in a new instance of the metered variant. Only if state is
    /// restored.
    equal_to_fresh: Option<bool>,
}

impl Args {
    pub(super) fn run(self) -> Verdict {
        let candidate = self.flags.candidate(&self.target)?;
        let inputs = read_dir(&self.inputs, &candidate.settings).blame_user()?;
        if inputs.is_empty() {
            return Ok(Exit::NothingExecuted);
        }
        let target = Arc::new(optimise(&self.target, candidate, &CodeCache::of_user())?);
        let (paths, inputs): (Vec<_>, Vec<_>) = inputs.into_iter().unzip();
        let target = if self.no_warm_up { target } else { warmed(target, &inputs)? };
        let subject = Subject::new(&target, &inputs)?;
        if let Some(hang) = subject.hang() {
            let (path, fuel_max) = (shown(&paths[hang]), target.candidate.settings.fuel_max);
            let help = "help: raise --fuel-max, or leave that input out";
            return Err(anyhow!("`{path}` takes more than {fuel_max} units of fuel, perhaps for ever\n{help}"))
                .blame_user();
        }
        let table = self.measure(&target, &subject)?;
        if self.json {
            say_json(&table)?;
        } else {
            lines(&table.text().lines().map(str::to_owned).collect::<Vec<_>>())?;
        }
        let equal = table.rows.iter().all(|row| row.equal_to_fresh != Some(false));
        if !equal {
            return Err(Fault::from(anyhow!("some outcomes are not those of fresh instances: such rows don't count")));
        }
        Ok(Exit::Clean)
    }

    fn measure(&self, target: &Arc<Target>, subject: &Subject<'_>) -> Result<Table> {
        let executed: EdgeSet = subject.executed();
        let edges = 0..u32::try_from(target.edges.edges.len()).expect("edges have 32-bit indices");
        let rest: EdgeSet = edges.filter(|&edge| !executed.contains(edge)).collect();
        let past = History::of(target, subject.inputs.iter().map(Vec::as_slice))?;
        let mut turns = Vec::new();
        for name in VARIANTS.into_iter().filter(|&name| self.variants.iter().any(|wanted| wanted == name)) {
            if name == "plain" {
                turns.extend(Turn::plain(subject, target)?.map(|turn| (name, Mode::KEPT, turn)));
                continue;
            }
            let target = match name {
                "metered" => target.clone(),
                "full" => Arc::new(target.in_variant_after(Variant::Full, &past)?),
                _ => Arc::new(target.in_variant_after(Variant::Fast(rest.clone()), &past)?),
            };
            for mode in [Mode::KEPT, Mode::RESTORED, Mode::JUDGED] {
                turns.push((name, mode, Turn::new(subject, &target, mode)?));
            }
        }
        let round_time = self.cpu_time / self.rounds;
        for _ in 0..self.rounds {
            for (_, _, turn) in &mut turns {
                turn.take(round_time)?;
            }
        }
        let rows = turns.into_iter().map(|(variant, mode, mut turn)| {
            let equal_to_fresh = if mode.restore { Some(turn.equals_fresh()?) } else { None };
            let Rate { median, range } = turn.rate();
            Ok(Row {
                variant,
                restore: mode.restore,
                judge: mode.judge,
                execs_per_cpu_second: median,
                range,
                equal_to_fresh,
            })
        });
        Ok(Table {
            target: default_name(&self.target, self.flags.entry().as_deref()),
            inputs: subject.inputs.len(),
            warm_up_inputs: target.warm_up_inputs().len(),
            rows: rows.collect::<Result<_>>()?,
        })
    }
}

/// The target as campaigns execute it that begin with these inputs.
fn warmed(target: Arc<Target>, inputs: &[Vec<u8>]) -> Result<Arc<Target>> {
    let inputs: Vec<_> = inputs.iter().map(|input| Arc::from(&**input)).collect();
    let mut execute =
        |target: &Arc<Target>, inputs: &[_]| Growth::of_each(&mut Executor::new(target)?, inputs).map(Some);
    let warm = target.warmed_by(&[], &inputs, &mut execute)?;
    Ok(warm.unwrap_or(target))
}

impl Table {
    fn text(&self) -> String {
        let warm = match self.warm_up_inputs {
            0 => String::new(),
            warm => format!(", after {}", counted(warm as u64, "execution")),
        };
        let mut text =
            format!("{}, {} inputs{warm}\nvariant  restore  judge  execs per CPU second\n", self.target, self.inputs);
        let yes = |yes| if yes { "yes" } else { "no" };
        for row in &self.rows {
            let [low, high] = row.range;
            let note = if row.equal_to_fresh == Some(false) { "  not equal to fresh instances" } else { "" };
            text += &format!(
                "{:<7}  {:<7}  {:<5}  {:>10.0}  ({low:.0} to {high:.0}){note}\n",
                row.variant,
                yes(row.restore),
                yes(row.judge),
                row.execs_per_cpu_second
            );
        }
        text
    }
}
