//! An overlay: mutants take large steps at first, and ever smaller ones while nothing new is reached.
//!
//! Simulated annealing, as AFLGo cools (Böhme, Pham, Nguyen and Roychoudhury, "Directed greybox fuzzing", CCS 2017):
//! the temperature is 20^(-t / t_x), where t are executions since an edge was new; from t_x on it is below 0.05.
//! Mutants have 1 + 9 times the temperature changes on average, whatever their strategy would have.

use super::member::{AnyLearned, AnyTask, Member};
use super::{Cost, Spent, View};
use crate::engine::corpus::Corpus;
use crate::engine::mutate::Steps;
use crate::engine::workers::report::Report;
use crate::engine::workers::worker::Worker;
use anyhow::Result;
use std::any::Any;

/// Executions until it is cold: t_x.
const COLD_EXECS: u64 = 1 << 16;
/// Parts of that in which the temperature falls, and by how much in each: 20^(-1/64).
const PARTS: u64 = 64;
const PART: f64 = 0.954_270_297_669_237_5;
/// Changes that it adds while it is hot.
const HOT: f64 = 9.0;

/// A strategy whose mutants take ever smaller steps.
#[derive(Debug)]
pub(super) struct Anneal {
    inner: Box<dyn Member>,
    /// Executions since an edge was new.
    execs: u64,
}

impl Anneal {
    pub(super) fn new(inner: Box<dyn Member>) -> Self {
        Self { inner, execs: 0 }
    }

    /// What the strategy is shown.
    fn view<'a>(&self, view: &View<'a>) -> View<'a> {
        View { steps: Some(Steps::Mean(1.0 + HOT * temperature(self.execs))), ..*view }
    }
}

/// From 1 down. Multiplied step by step, which all machines do alike.
pub(super) fn temperature(execs: u64) -> f64 {
    (0..(execs * PARTS / COLD_EXECS).min(8 * PARTS)).fold(1.0, |temperature, _| temperature * PART)
}

impl Member for Anneal {
    fn inner(&self) -> &dyn Member {
        &*self.inner
    }

    fn inner_mut(&mut self) -> &mut dyn Member {
        &mut *self.inner
    }

    fn plan(&self, view: &View<'_>, execs: u64) -> Vec<(AnyTask, Cost)> {
        self.inner.plan(&self.view(view), execs)
    }

    fn run(
        &self,
        task: &(dyn Any + Send + Sync),
        view: &View<'_>,
        worker: &mut Worker,
        report: &mut Report,
    ) -> Result<AnyLearned> {
        self.inner.run(task, &self.view(view), worker, report)
    }

    fn learn(&mut self, task: AnyTask, learned: AnyLearned, spent: Spent, corpus: &mut Corpus) {
        self.execs = self.execs.saturating_add(spent.execs);
        self.inner.learn(task, learned, spent, corpus);
    }

    fn settled(&mut self, testcase: usize, has_edges: bool) {
        self.execs = if has_edges { 0 } else { self.execs };
        self.inner.settled(testcase, has_edges);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_cold_after_its_time() {
        assert_eq!(temperature(0), 1.0);
        assert!((temperature(COLD_EXECS / 2) - 0.223_606_797_75).abs() < 1e-9);
        assert!((temperature(COLD_EXECS) - 0.05).abs() < 1e-9);
        assert!(temperature(u64::MAX / PARTS) < 1e-9);
    }
}
