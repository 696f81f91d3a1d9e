//! What is executed at once, and in which order.

use super::member::{AnyAside, AnyLearned, AnyTask};
use super::{Cost, Spent, Strategies, View};
use crate::engine::corpus::Corpus;
use crate::engine::workers::report::BoxedReport;
use crate::engine::workers::worker::Worker;
use anyhow::Result;
use std::cmp::Reverse;
use std::fmt;

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

/// Tasks of one strategy that go on beside later rounds.
pub(in crate::engine) struct AsideTasks {
    place: usize,
    run: AnyAside,
    tasks: Vec<Task>,
    patience: u64,
}

/// A task of a strategy.
#[derive(Debug)]
struct Task {
    /// The strategy's place in the table.
    place: usize,
    /// The task's number among those of its strategy.
    number: usize,
    task: AnyTask,
    /// What it may take.
    cost: Cost,
}

/// What came of a strategy's tasks, in their order.
#[derive(Debug)]
pub(in crate::engine) struct Results {
    /// The strategy's place in the table.
    pub(in crate::engine) place: usize,
    pub(in crate::engine) reports: Vec<BoxedReport>,
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
    /// New edges that it brought, known when its report was merged.
    pub(in crate::engine) edges: u64,
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
                self.tasks.push(Task { place, number, task, cost });
            }
        }
        self.tasks.sort_by_key(|task| Reverse(task.cost.fuel));
        self
    }

    /// How many there are.
    pub(in crate::engine) fn count(&self) -> u64 {
        self.tasks.len() as u64
    }

    /// Executions that they may make.
    pub(in crate::engine) fn execs(&self) -> u64 {
        self.tasks.iter().map(|task| task.cost.execs).sum()
    }

    /// The tasks of one strategy, without what they are shown. `None` if there are none.
    pub(in crate::engine) fn aside(self) -> Option<AsideTasks> {
        let place = self.tasks.first()?.place;
        let member = self.strategies.members()[place];
        let (run, patience) = (member.aside(&self.view)?, member.patience(&self.view));
        Some(AsideTasks { place, run, tasks: self.tasks, patience })
    }

    /// Runs task `task`, of those that [are](Tasks::count) there.
    pub(in crate::engine) fn run(&self, task: u64, worker: &mut Worker) -> Result<(BoxedReport, AnyLearned)> {
        let Task { place, task, .. } = &self.tasks[usize::try_from(task)?];
        let mut report = BoxedReport::default();
        let learned = self.strategies.members()[*place].run(&**task, &self.view, worker, &mut report)?;
        Ok((report, learned))
    }

    /// What came of them, by strategy: in the order in which these were asked.
    pub(in crate::engine) fn results(self, results: Vec<(BoxedReport, AnyLearned)>) -> Vec<Results> {
        let mut all: Vec<_> = self.places.into_iter().map(Results::none).collect();
        for (task, report, learned) in in_order(self.tasks, results) {
            let results = all.iter_mut().find(|results| results.place == task.place);
            results.expect("its strategy was asked").push(task, report, learned);
        }
        all
    }
}

/// Tasks by their numbers, with what came of them.
fn in_order(
    tasks: Vec<Task>,
    results: Vec<(BoxedReport, AnyLearned)>,
) -> impl Iterator<Item = (Task, BoxedReport, AnyLearned)> {
    let mut done: Vec<_> = tasks.into_iter().zip(results).collect();
    done.sort_by_key(|(task, _)| task.number);
    done.into_iter().map(|(task, (report, learned))| (task, report, learned))
}

impl AsideTasks {
    /// How many there are.
    pub(in crate::engine) fn count(&self) -> u64 {
        self.tasks.len() as u64
    }

    /// Executions that they may make.
    pub(in crate::engine) fn execs(&self) -> u64 {
        self.tasks.iter().map(|task| task.cost.execs).sum()
    }

    /// Fuel that the campaign may spend until it waits for them.
    pub(in crate::engine) fn lag(&self) -> u64 {
        self.tasks.first().map_or(0, |longest| longest.cost.fuel.saturating_mul(self.patience))
    }

    /// Runs task `task`, of those that [are](AsideTasks::count) there.
    pub(in crate::engine) fn run(&self, task: u64, worker: &mut Worker) -> Result<(BoxedReport, AnyLearned)> {
        let mut report = BoxedReport::default();
        let learned = (self.run)(&*self.tasks[usize::try_from(task)?].task, worker, &mut report)?;
        Ok((report, learned))
    }

    /// What came of them.
    pub(in crate::engine) fn results(self, results: Vec<(BoxedReport, AnyLearned)>) -> Results {
        let mut all = Results::none(self.place);
        // What they were shown is the campaign's alone again before it learns.
        drop(self.run);
        in_order(self.tasks, results).for_each(|(task, report, learned)| all.push(task, report, learned));
        all
    }
}

impl fmt::Debug for AsideTasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsideTasks").field("place", &self.place).field("tasks", &self.tasks).finish_non_exhaustive()
    }
}

impl Results {
    /// A strategy had nothing to do.
    pub(in crate::engine) fn none(place: usize) -> Self {
        Self { place, reports: Vec::new(), lessons: Vec::new() }
    }

    fn push(&mut self, Task { place, task, .. }: Task, report: BoxedReport, learned: AnyLearned) {
        self.lessons.push(Lesson { place, task, learned, execs: report.execs, edges: 0 });
        self.reports.push(report);
    }

    /// Whether the tasks made testcases shorter that are already there.
    pub(in crate::engine) fn are_shorter(&self, strategies: &Strategies) -> bool {
        strategies.members()[self.place].shortens()
    }
}

impl Lesson {
    /// Lets the strategy learn, when the task's report was merged; `overruns` executions of the campaign overran by
    /// then.
    pub(in crate::engine) fn learn(self, strategies: &mut Strategies, overruns: u64, corpus: &mut Corpus) {
        let spent = Spent { execs: self.execs, overruns, edges: self.edges };
        strategies.members_mut()[self.place].learn(self.task, self.learned, spent, corpus);
    }
}
