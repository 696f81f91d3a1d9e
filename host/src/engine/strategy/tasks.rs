//! What is executed at once, and in which order.

use super::member::{AnyLearned, AnyTask};
use super::{Spent, Strategies, View};
use crate::engine::corpus::Corpus;
use crate::engine::workers::report::Report;
use crate::engine::workers::worker::Worker;
use anyhow::Result;
use std::cmp::Reverse;

/// The tasks of a round, or of what comes after it: a function of the corpus, the seed, and the round's number.
#[derive(Debug)]
pub(in crate::engine) struct Tasks<'a> {
    view: View<'a>,
    strategies: &'a Strategies,
    /// The strategies that were asked, by their places in the table.
    places: Vec<usize>,
    /// Those first that may take the most, so that workers end together.
    tasks: Vec<Task>,
}

/// A task of a strategy.
#[derive(Debug)]
struct Task {
    /// The strategy's place in the table.
    place: usize,
    /// The task's number among those of its strategy.
    number: usize,
    task: AnyTask,
    /// Fuel that it may take.
    fuel: u64,
}

/// What came of a strategy's tasks, in their order.
#[derive(Debug)]
pub(in crate::engine) struct Results {
    /// The strategy's place in the table.
    pub(in crate::engine) place: usize,
    pub(in crate::engine) reports: Vec<Report>,
    pub(in crate::engine) lessons: Vec<Lesson>,
}

/// What a strategy learns from one of its tasks.
#[derive(Debug)]
pub(in crate::engine) struct Lesson {
    place: usize,
    task: AnyTask,
    learned: AnyLearned,
    /// Executions of the task.
    execs: u64,
}

impl<'a> Tasks<'a> {
    /// None so far.
    pub(in crate::engine) fn new(strategies: &'a Strategies, view: View<'a>) -> Self {
        Self { view, strategies, places: Vec::new(), tasks: Vec::new() }
    }

    /// Adds what strategies plan, which together may make so many executions.
    pub(in crate::engine) fn plan(mut self, places: impl IntoIterator<Item = usize>, execs: u64) -> Self {
        let mut left = execs;
        for place in places {
            self.places.push(place);
            let planned = self.strategies.members()[place].plan(&self.view, left);
            for (number, (task, cost)) in planned.into_iter().enumerate() {
                left = left.saturating_sub(cost.execs);
                self.tasks.push(Task { place, number, task, fuel: cost.fuel });
            }
        }
        self.tasks.sort_by_key(|task| Reverse(task.fuel));
        self
    }

    /// How many there are.
    pub(in crate::engine) fn count(&self) -> u64 {
        self.tasks.len() as u64
    }

    /// What they are shown.
    pub(in crate::engine) fn view(&self) -> &View<'a> {
        &self.view
    }

    /// Runs task `task`, of those that [are](Tasks::count) there.
    pub(in crate::engine) fn run(&self, task: u64, worker: &mut Worker) -> Result<(Report, AnyLearned)> {
        let Task { place, task, .. } = &self.tasks[usize::try_from(task)?];
        let mut report = Report::default();
        let learned = self.strategies.members()[*place].run(&**task, &self.view, worker, &mut report)?;
        Ok((report, learned))
    }

    /// What came of them, by strategy: in the order in which these were asked.
    pub(in crate::engine) fn results(self, results: Vec<(Report, AnyLearned)>) -> Vec<Results> {
        let mut done: Vec<_> = self.tasks.into_iter().zip(results).collect();
        done.sort_by_key(|(task, _)| task.number);
        let empty = |place| Results { place, reports: Vec::new(), lessons: Vec::new() };
        let mut all: Vec<_> = self.places.into_iter().map(empty).collect();
        for (Task { place, task, .. }, (report, learned)) in done {
            let results = all.iter_mut().find(|results| results.place == place).expect("its strategy was asked");
            results.lessons.push(Lesson { place, task, learned, execs: report.execs });
            results.reports.push(report);
        }
        all
    }
}

impl Results {
    /// Whether the tasks made testcases shorter that are already there.
    pub(in crate::engine) fn are_shorter(&self, strategies: &Strategies) -> bool {
        strategies.members()[self.place].shortens()
    }
}

impl Lesson {
    /// Lets the strategy learn, when the task's report was merged; `overruns` executions of the campaign overran by
    /// then.
    pub(in crate::engine) fn learn(self, strategies: &mut Strategies, overruns: u64, corpus: &mut Corpus) {
        let spent = Spent { execs: self.execs, overruns };
        strategies.members_mut()[self.place].learn(self.task, self.learned, spent, corpus);
    }
}
