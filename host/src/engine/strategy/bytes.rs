//! Mutants of testcases as plain bytes, whatever these are: for comparison with what knows what was drawn.
//!
//! As AFL has it: the scheduler picks a testcase, and its bytes are changed in a few places. In a stream that means
//! something else from the changed place on.

use super::havoc::{rule, shares};
use super::{Cost, Strategy, View, shown};
use crate::engine::rng::Rng;
use crate::engine::scheduler::Scheduler;
use crate::engine::suspects::Origin;
use crate::engine::workers::report::Report;
use crate::engine::workers::worker::Worker;
use anyhow::Result;
use std::sync::Arc;

/// Number of the first task.
const TASKS: u64 = 13 << 33;

/// Executes mutants of bytes.
#[derive(Debug, Default)]
pub(super) struct Bytes;

/// A task that executes some.
#[derive(Debug)]
pub(super) struct Mutants {
    /// Its number, among such.
    number: u64,
    execs: u64,
    scheduler: Arc<Scheduler>,
}

impl Strategy for Bytes {
    type Task = Mutants;
    type Learned = ();

    fn plan(&self, view: &View<'_>, execs: u64) -> Vec<Mutants> {
        let scheduler = Arc::new(Scheduler::new(view.corpus));
        let task = |(number, execs)| Mutants { number, execs, scheduler: scheduler.clone() };
        shares(execs, view).map(task).collect()
    }

    fn cost(&self, task: &Mutants, view: &View<'_>) -> Cost {
        Cost { execs: task.execs, fuel: task.execs.saturating_mul(view.fuel_mean) }
    }

    fn run(&self, task: &Mutants, view: &View<'_>, worker: &mut Worker, report: &mut Report) -> Result<()> {
        let mut rng = Rng::of_task(view.seed, view.round, TASKS + task.number);
        let (mut parent, mut left) = (0, 0);
        for _ in 0..task.execs {
            if left == 0 {
                parent = task.scheduler.pick(&mut rng);
                left = task.scheduler.mutants(&view.corpus.testcases()[parent]);
                report.picks.push(parent);
            }
            left -= 1;
            worker.input.clear();
            worker.input.extend_from_slice(&view.corpus.testcases()[parent].bytes);
            let steps = view.steps.unwrap_or_default();
            view.mutator.mutate_in((steps, &[]), &mut worker.input, view.len_max, view.corpus, &mut rng, None);
            worker.input.resize(worker.input.len().max(view.len_min), 0);
            worker.rule = rule(&mut rng);
            shown::execute(view, worker, report)?;
            report.suspect_is(|| Origin::Given(worker.input.clone()));
        }
        Ok(())
    }
}
