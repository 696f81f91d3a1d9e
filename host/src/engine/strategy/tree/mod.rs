//! Uniform over what a guest can draw.
//!
//! A generator that draws one alternative after the other makes what lies near its root far more often than the rest
//! (Regehr, "Helping generative fuzzers avoid looking only where the light is good"). Here a tree of all draws so far
//! is kept; each node knows about how many leaves are below it ([`counted`]), and children are drawn by that. Whoever
//! goes where nobody was goes on with random choices, and the tree gets what these drew.
//!
//! | mode | draws |
//! | --- | --- |
//! | sample | with replacement; in the end each leaf is as likely |
//! | explore | no leaf twice: n leaves in n executions, each of those that are left about as likely |
//! | novelty | no leaf twice, as Hypothesis' `DataTree`: a random walk that avoids what is exhausted |
//!
//! | option | |
//! | --- | --- |
//! | `alpha0` to `alpha100` | by leaves to this power, in percent (else 100, and 50 where there are a million leaves) |
//! | `strata` | what there is no room for in the tree counts as others that the same place in the guest draws |
//! | `kw-is` | leaves are estimated by the probability of what was drawn alone (Knuth) |
//!
//! A round is small while little is known: one execution for 16 that were made.

pub(super) mod counted;
#[cfg(test)]
mod tests;

use self::counted::{Counted, Law, Mode, Walk};
use super::shown::{self, Status};
use super::{Cost, Spent, Strategy, View};
use crate::engine::corpus::Corpus;
use crate::engine::rng::Rng;
use crate::engine::workers::report::Report;
use crate::engine::workers::worker::Worker;
use crate::stream::{Choice, Rule, Tail, Trace, encode};
use anyhow::Result;

/// Number of the task that plans a round.
const TASKS: u64 = 2 << 33;
/// One execution in a round for so many before it.
const ROUND_PART: u64 = 16;
/// Executions of a round, at most.
const ROUND_MAX: u64 = 4096;
/// Choices that are drawn at random at most behind the known ones; then the simplest follow.
const RANDOM_CHOICES: u32 = 8192;
/// Walks that lead where another one of the round does, until that is planned.
const COLLISIONS_MAX: u32 = 4;

/// Executes leaves of a tree of draws.
#[derive(Debug)]
pub(super) struct Tree {
    mode: Mode,
    counted: Counted,
    /// How many were executed.
    runs: u64,
}

/// The powers that can be asked for, by their place: in quarters.
const ALPHAS: [&str; 5] = ["alpha0", "alpha25", "alpha50", "alpha75", "alpha100"];

impl Tree {
    /// The options' names.
    pub(super) const OPTIONS: &[&str] =
        &["explore", ALPHAS[0], ALPHAS[1], ALPHAS[2], ALPHAS[3], ALPHAS[4], "strata", "kw-is"];

    pub(super) fn new(mode: Mode) -> Self {
        Self { mode, counted: Counted::default(), runs: 0 }
    }

    /// The one that these options ask for; of several powers the largest counts.
    pub(super) fn with(options: &[String]) -> Self {
        let has = |name: &str| options.iter().any(|option| option == name);
        let alpha = (0..).zip(ALPHAS).filter(|(_, name)| has(name)).map(|(alpha, _)| alpha).last();
        let law = Law { alpha, strata: has("strata"), knuth: has("kw-is"), nodes_max: None };
        let mode = if has("explore") { Mode::Explore } else { Mode::Sample };
        Self { mode, counted: Counted::by(law), runs: 0 }
    }
}

/// A stream to be executed, and the seed of what follows it.
#[derive(Debug)]
pub(super) struct Leaf {
    choices: Vec<Choice>,
    /// The probability of each, if that is kept.
    odds: Vec<f64>,
    seed: u64,
}

impl Strategy for Tree {
    type Task = Leaf;
    /// What it drew, and how it ended.
    type Learned = (Trace, Status);

    fn plan(&self, view: &View<'_>, execs: u64) -> Vec<Leaf> {
        let mut rng = Rng::of_task(view.seed, view.round, TASKS);
        let wanted = (self.runs / ROUND_PART).clamp(1, ROUND_MAX).min(execs);
        let (mut leaves, mut taken, mut collisions) = (Vec::new(), std::collections::BTreeSet::new(), 0);
        while (leaves.len() as u64) < wanted && collisions < COLLISIONS_MAX && !self.is_exhausted() {
            let Walk { choices, odds, end } = self.counted.walk(self.mode, &mut rng);
            // Two that go to where nobody was by one way may draw the same.
            if self.mode != Mode::Sample && !taken.insert(end) {
                collisions += 1;
                continue;
            }
            leaves.push(Leaf { choices, odds, seed: rng.word() });
        }
        leaves
    }

    fn cost(&self, _: &Leaf, view: &View<'_>) -> Cost {
        Cost { execs: 1, fuel: view.fuel_mean }
    }

    fn run(&self, task: &Leaf, view: &View<'_>, worker: &mut Worker, report: &mut Report) -> Result<Self::Learned> {
        worker.input = encode(&task.choices);
        let tail = Tail::Random { seed: task.seed, choices: RANDOM_CHOICES };
        worker.rule = Rule { tail, wrap: false, close: true };
        let (outcome, observation) = shown::execute(view, worker, report)?;
        Ok((observation.draws(), Status::of(&outcome)))
    }

    fn learn(&mut self, task: Leaf, (trace, status): Self::Learned, _: Spent, _: &mut Corpus) {
        self.runs += 1;
        self.counted.add(&trace.draws, &trace.choices, status.is_case(), &task.odds);
    }

    fn is_exhausted(&self) -> bool {
        self.mode != Mode::Sample && self.counted.is_done()
    }
}
