//! Mutants of inputs that come near to what nobody has seen.
//!
//! What holds a campaign up may be no number that lies in the input: how deep something is nested, how often something
//! is there, what a program in the input computes. No place leads there, and no edge says that an input comes nearer.
//! So inputs are kept, apart from the corpus, for how near they come ([`nearest`](super::nearest)), and mutants of them
//! are executed where that is seen. These are libFuzzer's features of `-use_value_profile=1`, but only of comparisons
//! that always turned out the same way, and of inputs that are no burden to others: whoever gets past one is a testcase
//! by the edges that it reaches, and all that was kept for it is forgotten.
//!
//! It takes most where mutants bring nothing, and very little where they do.

use super::super::allowance::{Allowance, Terms};
use super::super::havoc::{Parent, give_mutant};
use super::super::traced::{self, SLOWNESS};
use super::nearest::{Found, Nearest, Turns};
use crate::coverage::Seen;
use crate::engine::corpus::Corpus;
use crate::engine::mutate::Steps;
use crate::engine::rng::Rng;
use crate::engine::strategy::{Cost, Gains, Spent, Strategy, View};
use crate::engine::workers::report::Report;
use crate::engine::workers::worker::Worker;
use anyhow::Result;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What is free is half a second of parsers, and two of what computes. (With a third of a campaign in which mutants
/// bring nothing, what it comes nearer to is found in half of the time; but on cJSON, where nothing is left to be
/// found, that is a quarter of all executions.)
const TERMS: Terms = Terms { free: 1 << 31, share_min: 64, share_max: 4, share_stuck: 16 };
/// Executions of a task, and about the fuel that they take at most.
const TASK_EXECS: u64 = 512;
const TASK_FUEL: u64 = 1 << 24;
/// Tasks of a round at most.
const TASKS_MAX: u64 = 64;
/// Testcases that a task begins with.
const FIRST_MAX: usize = 32;
/// Other inputs of which mutants have parts.
const OTHERS_MAX: usize = 128;
/// Number of the random numbers of its tasks, among those of all.
const TASKS: u64 = 16 << 33;

/// Comes nearer to what nobody has seen.
#[derive(Debug, Default)]
pub(in crate::engine) struct Nearing {
    nearest: Nearest,
    /// Testcases that were not looked at.
    queue: BTreeSet<usize>,
    allowance: Allowance,
    /// Executions, and their fuel in the traced variant.
    execs: u64,
    spent: u64,
}

/// A task.
#[derive(Debug)]
pub(in crate::engine) struct ComingNear {
    number: u64,
    execs: u64,
    /// Testcases to look at, by index, before mutants are made.
    first: Vec<usize>,
    turns: Arc<Turns>,
    /// Some of what is kept, as a corpus.
    others: Arc<Corpus>,
}

/// What a task found, and the fuel that it took in the traced variant.
#[derive(Debug, Default)]
pub(in crate::engine) struct CameNear {
    found: Found,
    spent: u64,
}

impl Nearing {
    /// Fuel that an execution takes on average, in the traced variant.
    fn execution_fuel(&self, view: &View<'_>) -> u64 {
        view.fuel_mean.saturating_add(traced::EXECUTION_FUEL).max(self.spent / self.execs.max(1))
    }

    /// Some of what is kept, of which mutants have parts.
    fn others(&self, view: &View<'_>) -> Corpus {
        let mut others = Corpus::of(Seen::nothing_of(&view.variants.metered));
        self.nearest.some(OTHERS_MAX).for_each(|bytes| others.lend(bytes.clone()));
        others.add_tokens(view.corpus.tokens_by_site().map(|(site, token)| (site, token.clone())));
        others
    }
}

impl Strategy for Nearing {
    type Task = ComingNear;
    type Learned = CameNear;

    fn plan(&self, view: &View<'_>, execs: u64) -> Vec<ComingNear> {
        // What is drawn, derived or made by the guest has other ways; and a goal is nearer by what it says itself.
        let is_made = view.variants.metered.takes_choices() || view.variants.custom.is_some();
        let is_led = view.mutator.grammar().is_some() || view.pursuit.is_some();
        if view.variants.traced.is_none() || is_made || is_led {
            return Vec::new();
        }
        let execution = self.execution_fuel(view);
        let task_execs = (TASK_FUEL / execution).clamp(1, TASK_EXECS);
        let task = execution.saturating_mul(task_execs);
        let left = (self.allowance.total(&TERMS, view.fuel) / SLOWNESS).saturating_sub(self.spent);
        // No round is only that.
        let round = view.round_execs.saturating_mul(view.fuel_mean.saturating_add(traced::EXECUTION_FUEL)) / SLOWNESS;
        let count = (left / task).min((round / task).max(1)).min(execs / task_execs).min(TASKS_MAX);
        if count == 0 {
            return Vec::new();
        }
        let (turns, others) = (Arc::new(self.nearest.turns()), Arc::new(self.others(view)));
        let first_max = FIRST_MAX.min(usize::try_from(task_execs).unwrap_or(FIRST_MAX));
        // The youngest lead on.
        let mut queue = self.queue.iter().rev().copied();
        let task = |number| {
            let first: Vec<_> = queue.by_ref().take(first_max).collect();
            ComingNear { number, execs: task_execs, first, turns: turns.clone(), others: others.clone() }
        };
        let has_work = |task: &ComingNear| !task.first.is_empty() || !self.nearest.is_empty();
        (0..count).map(task).filter(has_work).collect()
    }

    fn cost(&self, task: &ComingNear, view: &View<'_>) -> Cost {
        let fuel = task.execs.saturating_mul(self.execution_fuel(view)).saturating_mul(SLOWNESS);
        Cost { execs: task.execs, fuel }
    }

    fn run(&self, task: &ComingNear, view: &View<'_>, worker: &mut Worker, report: &mut Report) -> Result<CameNear> {
        let mut rng = Rng::of_task(view.seed, view.round, TASKS + task.number);
        let (mut came, mut first) = (CameNear::default(), task.first.iter());
        let among_these = View { corpus: &task.others, ..*view };
        for _ in 0..task.execs {
            let made_for = if let Some(&index) = first.next() {
                worker.input.clear();
                worker.input.extend_from_slice(&view.corpus.testcases()[index].bytes);
                None
            } else {
                let Some((site, input)) = self.nearest.pick(&task.turns, &came.found, &mut rng) else { break };
                let view = if rng.one_in(2) { view } else { &among_these };
                give_mutant(view, Steps::Usual, Parent::new(&input, None), &mut rng, worker);
                Some(site)
            };
            let (input, rule) = (std::mem::take(&mut worker.input), worker.rule);
            let (outcome, observation) = worker.execute_traced(view.variants, view.known, (&input, &rule), report)?;
            let trace = observation.trace();
            came.spent += traced::EXECUTION_FUEL + traced::fuel(observation.fuel(), &trace);
            if outcome.trap().is_none() {
                self.nearest.note((made_for, &input), &trace, &mut came.found);
            }
            worker.input = input;
        }
        Ok(came)
    }

    fn learn(&mut self, task: ComingNear, CameNear { found, spent }: CameNear, task_spent: Spent, _: &mut Corpus) {
        for index in &task.first {
            self.queue.remove(index);
        }
        self.execs += task_spent.execs;
        self.spent = self.spent.saturating_add(spent);
        self.nearest.take(found);
    }

    fn gained(&mut self, own: Gains, mutants: Gains) {
        self.allowance.brought(mutants, own.edges);
    }

    fn settled(&mut self, testcase: usize, _: bool) {
        self.queue.insert(testcase);
    }
}
