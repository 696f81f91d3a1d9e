//! Mutants whose checksums and lengths are written anew.
//!
//! What changes anything behind a checksum breaks it, so that mutants of such formats show how they are refused, and
//! nothing else. Where [`compares`](super::compares) has seen that a number of the input is compared with one that is
//! made of the rest ([`Check`](crate::engine::checks::Check)), mutants are executed where it is recorded what is
//! compared: what a check wants is written where the number lies that it was given, and the mutant is executed again,
//! until all hold. (TaintScope and RedQueen patch such checks out of the program, and repair what was found then; here
//! nothing is found that the program itself would refuse.)
//!
//! This takes some times as long as a mutant does. How much of a campaign is spent on it follows from what it brings
//! ([`allowance`](super::allowance)).

use super::allowance::{Allowance, Terms};
use super::compares::repair;
use super::havoc::{Parent, give_mutant};
use super::traced::{self, SLOWNESS};
use super::{Cost, Gains, Spent, Strategy, View};
use crate::engine::corpus::Corpus;
use crate::engine::rng::Rng;
use crate::engine::scheduler::{PICK_EXECS, Scheduler};
use crate::engine::workers::report::Report;
use crate::engine::workers::worker::Worker;
use crate::stream::Rule;
use anyhow::Result;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is free is some tenths of a second.
const TERMS: Terms = Terms { free: 1 << 29, share_min: 32, share_max: 3, share_stuck: 16 };
/// Number of the random numbers of the first task, among those of tasks.
const TASKS: u64 = 15 << 33;
/// Tasks in a round, at most.
const TASKS_MAX: u64 = 64;
/// Executions of a task.
const TASK_EXECS: u64 = 64;
/// Testcases that a task looks for: most may have nothing that is checked.
const PICKS_MAX: usize = 64;
/// Executions of a mutant at most: all that is wrong in it is written anew each time, and what is nested comes out one
/// by one.
const MUTANT_EXECS: u64 = 4;

/// Executes mutants whose checksums are written anew.
#[derive(Debug, Default)]
pub(in crate::engine) struct Checksums {
    /// Executions that were made, and fuel that they took in the traced variant.
    execs: u64,
    spent: u64,
    allowance: Allowance,
    /// Whether something is checked in testcases, by index, where that is known.
    checked: Arc<BTreeMap<usize, bool>>,
    /// In how many checks that was looked for.
    checks: usize,
}

/// Some mutants.
#[derive(Debug)]
pub(in crate::engine) struct Repairing {
    number: u64,
    scheduler: Arc<Scheduler>,
    checked: Arc<BTreeMap<usize, bool>>,
}

/// What a task learned.
#[derive(Debug, Default)]
pub(in crate::engine) struct Repaired {
    /// Fuel that was spent in the traced variant.
    spent: u64,
    /// Whether something is checked in testcases, by index.
    checked: BTreeMap<usize, bool>,
}

impl Checksums {
    /// Fuel of an execution, with all that belongs to it.
    fn execution(&self, view: &View<'_>) -> u64 {
        let least = view.fuel_mean.saturating_add(traced::EXECUTION_FUEL);
        least.max(self.spent / self.execs.max(1)).saturating_mul(SLOWNESS)
    }
}

impl Strategy for Checksums {
    type Task = Repairing;
    type Learned = Repaired;

    fn plan(&self, view: &View<'_>, execs: u64) -> Vec<Repairing> {
        let variants = view.variants;
        // Others say themselves what belongs together in what they make.
        let is_made = variants.metered.takes_choices() || variants.custom.is_some();
        if view.corpus.checks().is_empty() || variants.traced.is_none() || is_made {
            return Vec::new();
        }
        let left = self.allowance.total(&TERMS, view.fuel).saturating_sub(self.spent.saturating_mul(SLOWNESS));
        let affordable = left / self.execution(view).saturating_mul(TASK_EXECS);
        let count = affordable.min(execs / TASK_EXECS).min(TASKS_MAX);
        if count == 0 {
            return Vec::new();
        }
        let scheduler = Arc::new(Scheduler::new(view.corpus));
        (0..count)
            .map(|number| Repairing { number, scheduler: scheduler.clone(), checked: self.checked.clone() })
            .collect()
    }

    fn cost(&self, _: &Repairing, view: &View<'_>) -> Cost {
        Cost { execs: TASK_EXECS, fuel: self.execution(view).saturating_mul(TASK_EXECS) }
    }

    fn run(&self, task: &Repairing, view: &View<'_>, worker: &mut Worker, report: &mut Report) -> Result<Repaired> {
        let mut rng = Rng::of_task(view.seed, view.round, TASKS + task.number);
        let (mut left, mut learned) = (TASK_EXECS, Repaired::default());
        for _ in 0..PICKS_MAX {
            let parent = task.scheduler.pick(&mut rng);
            let known = learned.checked.get(&parent).or_else(|| task.checked.get(&parent)).copied();
            if left == 0 || known == Some(false) {
                continue;
            }
            report.picks.push(parent);
            let testcase = &view.corpus.testcases()[parent];
            if known.is_none() {
                worker.input.clear();
                worker.input.extend_from_slice(&testcase.bytes);
                left -= 1;
                let is_checked = repair_given(view, worker, report, &mut learned.spent)?.is_some();
                learned.checked.insert(parent, is_checked);
                if !is_checked {
                    continue;
                }
            }
            for _ in 0..PICK_EXECS {
                let steps = view.steps.unwrap_or_default();
                give_mutant(view, steps, Parent::of(testcase), &mut rng, worker);
                for _ in 0..left.min(MUTANT_EXECS) {
                    left -= 1;
                    if repair_given(view, worker, report, &mut learned.spent)? != Some(true) {
                        break;
                    }
                }
            }
        }
        Ok(learned)
    }

    fn learn(&mut self, _: Repairing, learned: Repaired, spent: Spent, corpus: &mut Corpus) {
        self.execs += spent.execs;
        self.spent = self.spent.saturating_add(learned.spent);
        let checked = Arc::make_mut(&mut self.checked);
        checked.extend(learned.checked);
        // With more checks there may be one in what had none.
        if corpus.checks().len() > self.checks {
            self.checks = corpus.checks().len();
            checked.retain(|_, is_checked| *is_checked);
        }
    }

    fn gained(&mut self, own: Gains, mutants: Gains) {
        self.allowance.brought(mutants, own.edges);
    }
}

/// Executes what a worker was given, and writes anew what is wrong in it. Returns whether something was; `None` if
/// nothing is checked.
fn repair_given(view: &View<'_>, worker: &mut Worker, report: &mut Report, spent: &mut u64) -> Result<Option<bool>> {
    let mut input = std::mem::take(&mut worker.input);
    let (_, observation) = worker.execute_traced(view.variants, view.known, (&input, &Rule::default()), report)?;
    let trace = observation.trace();
    *spent += traced::EXECUTION_FUEL + traced::fuel(observation.fuel(), &trace);
    let repaired = repair(&mut input, &trace, view.corpus.checks());
    worker.input = input;
    Ok(repaired)
}
