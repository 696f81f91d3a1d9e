//! Strategies whatever their tasks are: what the table of all of them holds.

use super::exemplar::automaton::Automaton;
use super::exemplar::states::Experiment;
use super::{Cost, Gains, Spent, Strategy, View};
use crate::engine::corpus::Corpus;
use crate::engine::workers::report::Report;
use crate::engine::workers::worker::Worker;
use anyhow::Result;
use std::any::Any;
use std::fmt::Debug;

/// A task of some strategy.
pub(super) type AnyTask = Box<dyn Any + Send + Sync>;
/// What a task of some strategy learned.
pub(in crate::engine) type AnyLearned = Box<dyn Any + Send>;

/// As [`Aside`], whatever the strategy.
pub(in crate::engine) type AnyAside =
    Box<dyn Fn(&(dyn Any + Send + Sync), &mut Worker, &mut Report) -> Result<AnyLearned> + Send + Sync>;

/// A [`Strategy`] that is given back the tasks that it planned and what they learned, and no others; or what is put on
/// one, which says only what it does otherwise.
pub(super) trait Member: Debug + Send + Sync {
    /// What does all that this one doesn't do itself: what it is put on, or itself if it is put on nothing.
    fn inner(&self) -> &dyn Member;

    /// The same, to be changed.
    fn inner_mut(&mut self) -> &mut dyn Member;

    /// As [`Strategy::plan`], with what each task may take.
    fn plan(&self, view: &View<'_>, execs: u64) -> Vec<(AnyTask, Cost)> {
        self.inner().plan(view, execs)
    }

    /// As [`Strategy::run`].
    fn run(
        &self,
        task: &(dyn Any + Send + Sync),
        view: &View<'_>,
        worker: &mut Worker,
        report: &mut Report,
    ) -> Result<AnyLearned> {
        self.inner().run(task, view, worker, report)
    }

    /// As [`Strategy::aside`].
    fn aside(&self, view: &View<'_>) -> Option<AnyAside> {
        self.inner().aside(view)
    }

    /// As [`Strategy::patience`].
    fn patience(&self, view: &View<'_>) -> u64 {
        self.inner().patience(view)
    }

    /// As [`Strategy::learn`].
    fn learn(&mut self, task: AnyTask, learned: AnyLearned, spent: Spent, corpus: &mut Corpus) {
        self.inner_mut().learn(task, learned, spent, corpus);
    }

    /// As [`Strategy::gained`].
    fn gained(&mut self, own: Gains, mutants: Gains) {
        self.inner_mut().gained(own, mutants);
    }

    /// As [`Strategy::settled`].
    fn settled(&mut self, testcase: usize, has_edges: bool) {
        self.inner_mut().settled(testcase, has_edges);
    }

    /// As [`Strategy::shortens`].
    fn shortens(&self) -> bool {
        self.inner().shortens()
    }

    /// As [`Strategy::is_exhausted`].
    fn is_exhausted(&self) -> bool {
        self.inner().is_exhausted()
    }

    /// As [`Strategy::states`].
    fn states(&self) -> Vec<Vec<u8>> {
        self.inner().states()
    }

    /// As [`Strategy::experiments`].
    fn experiments(&self) -> Vec<Experiment> {
        self.inner().experiments()
    }

    /// As [`Strategy::automaton`].
    fn automaton(&self) -> Option<(Automaton, u64)> {
        self.inner().automaton()
    }

    /// As [`Strategy::needs_traces`].
    fn needs_traces(&self) -> bool {
        self.inner().needs_traces()
    }
}

/// Why no downcast fails.
const OWN: &str = "a strategy is given its own tasks";

impl<S: Strategy> Member for S {
    fn inner(&self) -> &dyn Member {
        self
    }

    fn inner_mut(&mut self) -> &mut dyn Member {
        self
    }

    fn plan(&self, view: &View<'_>, execs: u64) -> Vec<(AnyTask, Cost)> {
        let tasks = Strategy::plan(self, view, execs).into_iter();
        tasks.map(|task| (self.cost(&task, view), task)).map(|(cost, task)| (Box::new(task) as AnyTask, cost)).collect()
    }

    fn run(
        &self,
        task: &(dyn Any + Send + Sync),
        view: &View<'_>,
        worker: &mut Worker,
        report: &mut Report,
    ) -> Result<AnyLearned> {
        let learned = Strategy::run(self, task.downcast_ref().expect(OWN), view, worker, report)?;
        Ok(Box::new(learned))
    }

    fn aside(&self, view: &View<'_>) -> Option<AnyAside> {
        let run = Strategy::aside(self, view)?;
        Some(Box::new(move |task, worker, report| Ok(Box::new(run(task.downcast_ref().expect(OWN), worker, report)?))))
    }

    fn patience(&self, view: &View<'_>) -> u64 {
        Strategy::patience(self, view)
    }

    fn learn(&mut self, task: AnyTask, learned: AnyLearned, spent: Spent, corpus: &mut Corpus) {
        Strategy::learn(self, *task.downcast().expect(OWN), *learned.downcast().expect(OWN), spent, corpus);
    }

    fn gained(&mut self, own: Gains, mutants: Gains) {
        Strategy::gained(self, own, mutants);
    }

    fn settled(&mut self, testcase: usize, has_edges: bool) {
        Strategy::settled(self, testcase, has_edges);
    }

    fn shortens(&self) -> bool {
        Strategy::shortens(self)
    }

    fn is_exhausted(&self) -> bool {
        Strategy::is_exhausted(self)
    }

    fn states(&self) -> Vec<Vec<u8>> {
        Strategy::states(self)
    }

    fn experiments(&self) -> Vec<Experiment> {
        Strategy::experiments(self)
    }

    fn automaton(&self) -> Option<(Automaton, u64)> {
        Strategy::automaton(self)
    }

    fn needs_traces(&self) -> bool {
        Strategy::needs_traces(self)
    }
}
