//! What a round executes at once, and in which order.

use super::compares::{Comparing, Learned};
use super::havoc::Mutating;
use super::trim::Trim;
use super::{Strategies, Strategy, View};
use crate::engine::workers::report::Report;
use crate::engine::workers::worker::Worker;
use anyhow::Result;

/// The tasks of a round: a function of the corpus, the seed, and the round's number.
///
/// Those that may take long come first, so that workers end together: before all others those that look at comparisons,
/// and those that make a testcase shorter. (These are no round of their own because they are few, and would leave
/// workers without any.)
#[derive(Debug)]
pub(in crate::engine) struct Tasks<'a> {
    view: View<'a>,
    strategies: &'a Strategies,
    comparing: Vec<Comparing>,
    trims: Vec<Trim>,
    mutating: Vec<Mutating>,
}

/// What came of a round's tasks, in the order in which it is merged.
#[derive(Debug)]
pub(in crate::engine) struct Sorted {
    pub(in crate::engine) compared: Vec<(Comparing, Report, Learned)>,
    pub(in crate::engine) trimmed: Vec<Report>,
    pub(in crate::engine) mutated: Vec<Report>,
}

impl<'a> Tasks<'a> {
    /// Those of the next round: `execs` mutants, and what else may be executed, `execs_max` executions in all.
    pub(in crate::engine) fn plan(strategies: &'a Strategies, view: View<'a>, execs: u64, execs_max: u64) -> Self {
        let trims = strategies.trim.plan(&view, execs_max - execs);
        let left = execs_max - execs - trims.iter().map(|trim| trim.execs).sum::<u64>();
        let comparing = Strategy::plan(&strategies.compares, &view, left);
        Self { view, strategies, comparing, trims, mutating: strategies.havoc.plan(&view, execs) }
    }

    /// How many there are.
    pub(in crate::engine) fn count(&self) -> u64 {
        (self.comparing.len() + self.trims.len() + self.mutating.len()) as u64
    }

    /// What they are shown.
    pub(in crate::engine) fn view(&self) -> &View<'a> {
        &self.view
    }

    /// Runs task `task`.
    pub(in crate::engine) fn run(&self, task: u64, worker: &mut Worker) -> Result<(Report, Option<Learned>)> {
        let (Strategies { compares, trim, havoc, .. }, view) = (self.strategies, &self.view);
        let (task, mut report) = (usize::try_from(task)?, Report::default());
        if let Some(task) = self.comparing.get(task) {
            let learned = compares.run(task, view, worker, &mut report)?;
            return Ok((report, Some(learned)));
        }
        let task = task - self.comparing.len();
        match self.trims.get(task) {
            Some(task) => trim.run(task, view, worker, &mut report)?,
            None => havoc.run(&self.mutating[task - self.trims.len()], view, worker, &mut report)?,
        }
        Ok((report, None))
    }

    /// Of all results those about comparisons, those about testcases to be made shorter, and those about mutants, in
    /// the order of the tasks' numbers.
    pub(in crate::engine) fn sorted(self, mut results: Vec<(Report, Option<Learned>)>) -> Sorted {
        let mutated = results.split_off(self.comparing.len() + self.trims.len());
        let trimmed = results.split_off(self.comparing.len());
        let mut numbered: Vec<_> = self.mutating.iter().map(Mutating::number).zip(mutated).collect();
        numbered.sort_unstable_by_key(|&(number, _)| number);
        let compared = self.comparing.into_iter().zip(results);
        Sorted {
            compared: compared
                .map(|(task, (report, learned))| (task, report, learned.expect("all of them learn")))
                .collect(),
            trimmed: trimmed.into_iter().map(|(report, _)| report).collect(),
            mutated: numbered.into_iter().map(|(_, (report, _))| report).collect(),
        }
    }
}
