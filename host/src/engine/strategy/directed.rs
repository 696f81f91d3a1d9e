//! Mutants of testcases that are near goals, as AFLGo makes them: [`nearby`](super::nearby) says how many of each.

use super::havoc::{Havoc, Mutating, Picker};
use super::nearby::energies;
use super::{Cost, Strategy, View};
use crate::engine::scheduler::Scheduler;
use crate::engine::workers::report::Report;
use crate::engine::workers::worker::Worker;
use anyhow::Result;

/// Executes mutants of what is near.
#[derive(Debug, Default)]
pub(super) struct Directed;

impl Strategy for Directed {
    type Task = Mutating;
    type Learned = ();

    fn plan(&self, view: &View<'_>, execs: u64) -> Vec<Mutating> {
        let near = view.near().map(|pursuit| Scheduler::scaled(view.corpus, &energies(pursuit, view.execs)));
        let scheduler = near.unwrap_or_else(|| Scheduler::new(view.corpus));
        Havoc::tasks(view, execs, Picker { scheduler, nearby: None })
    }

    fn cost(&self, task: &Mutating, view: &View<'_>) -> Cost {
        Havoc.cost(task, view)
    }

    fn run(&self, task: &Mutating, view: &View<'_>, worker: &mut Worker, report: &mut Report) -> Result<()> {
        Havoc.run(task, view, worker, report)
    }
}
