//! When it is learned how streams end, and from which executions.

use super::{Closings, Learner, Probed};
use crate::engine::corpus::Corpus;
use crate::engine::rng::Rng;
use crate::engine::strategy::{Cost, Spent, Strategy, View};
use crate::engine::workers::report::{Baseline, Report, Witness};
use crate::engine::workers::variants::Variants;
use crate::engine::workers::worker::{Worker, deciding};
use crate::outcome::Outcome;
use crate::stream::Rule;
use anyhow::Result;

/// Learns from executions that overran how streams end.
#[derive(Debug, Default)]
pub(in crate::engine) struct Lessons {
    /// How mutants of streams end.
    pub(in crate::engine) closings: Closings,
    /// Executions that overran in the round.
    pub(in crate::engine) witnesses: Vec<Witness>,
}

/// One lesson, from all witnesses.
#[derive(Debug)]
pub(in crate::engine) struct Lesson {
    execs: u64,
}

impl Strategy for Lessons {
    type Task = Lesson;
    type Learned = Closings;

    fn plan(&self, view: &View<'_>, execs: u64) -> Vec<Lesson> {
        let execs = self.closings.budget(view.execs, view.overruns).min(execs);
        let is_due = !self.witnesses.is_empty() && execs > 0;
        is_due.then_some(Lesson { execs }).into_iter().collect()
    }

    fn cost(&self, task: &Lesson, view: &View<'_>) -> Cost {
        Cost { execs: task.execs, fuel: task.execs.saturating_mul(view.fuel_mean) }
    }

    fn run(&self, task: &Lesson, view: &View<'_>, worker: &mut Worker, report: &mut Report) -> Result<Closings> {
        let rng = Rng::of_task(view.seed, view.round, u64::MAX);
        let learner = Learner::new(self.closings.clone(), task.execs, rng);
        let samples = view.corpus.testcases().iter().map(|testcase| testcase.sample.as_ref());
        learner.learn(samples, &self.witnesses, &mut |input, rule, closing| {
            worker.probe(view.variants, Baseline { closing, ..view.known }, (input, rule), report)
        })
    }

    fn learn(&mut self, _: Lesson, mut learned: Closings, spent: Spent, _: &mut Corpus) {
        let changed = learned.table() != self.closings.table();
        learned.spent(spent.execs, spent.overruns, changed);
        self.closings = learned;
    }
}

impl Worker {
    /// Executes a stream where that decides, and reports it.
    fn probe(
        &mut self,
        variants: &Variants,
        known: Baseline<'_>,
        (input, rule): (&[u8], &Rule),
        report: &mut Report,
    ) -> Result<Probed> {
        let executor = deciding(&mut self.quick, &mut self.metered, variants, &self.life)?;
        if input.len() > variants.metered.candidate.settings.input_bytes_max as usize {
            return Ok(Probed::Other);
        }
        report.execs += 1;
        report.input_bytes += input.len() as u64;
        executor.set_closing(known.closing);
        let outcome = self.life.run(executor, input, rule)?;
        let probed = match outcome {
            Outcome::Ok => Probed::Ended(executor.observation().draws()),
            Outcome::Overrun => Probed::Overran(executor.observation().draws()),
            _ => Probed::Other,
        };
        report.decided(executor, input, (outcome, None), known);
        Ok(probed)
    }
}
