//! For guests that draw: makes scores larger, and learns how streams end.

use super::Campaign;
use crate::engine::closing::{Learner, Witness};
use crate::engine::report::{Known, Report};
use crate::engine::rng::Rng;
use crate::engine::round::Round;
use crate::engine::targets::Climb;
use crate::engine::worker::Workers;
use crate::outcome::Outcome;
use crate::stream::Node;
use anyhow::Result;

/// Number of the first task that climbs: the round's others have smaller ones.
const CLIMB_TASKS: u64 = 1 << 32;
/// Executions spent on one score in a round, at most.
const CLIMB_EXECS_MAX: u64 = 1000;

impl Campaign {
    /// Makes scores larger that became better, in at most `execs_max` executions. If that is aborted nothing happens, as if there had been no
    /// executions left.
    pub(super) fn climb(
        &mut self,
        workers: &Workers,
        execs_max: u64,
        signature: &dyn Fn(&Outcome) -> String,
        round: &mut Round,
    ) -> Result<()> {
        let (corpus, variants) = (&self.corpus, &self.variants);
        // What is not drawn has no numbers.
        let sample = |climb: &Climb| corpus.testcases()[climb.testcase].sample.as_ref().map(Node::choices);
        let climbs = corpus.targets().climbs().into_iter();
        let climbs: Vec<_> = climbs.filter_map(|climb| sample(&climb).map(|choices| (choices, climb))).collect();
        // Half of all executions may be such.
        let budget = (self.totals.execs - self.climbing_execs).saturating_sub(self.climbing_execs).min(execs_max);
        let share = (budget / (climbs.len() as u64).max(1)).min(CLIMB_EXECS_MAX);
        if climbs.is_empty() || share == 0 {
            return Ok(());
        }
        let known = self.all_known();
        let (seed, number) = (self.seed, self.totals.rounds);
        let reports = workers.run(variants, climbs.len() as u64, |task, worker| {
            let mut report = Report::default();
            let (choices, climb) = &climbs[usize::try_from(task)?];
            let rng = Rng::of_task(seed, number, CLIMB_TASKS + task);
            let cut = worker.climb(variants, known, (choices, climb), (share, rng), &mut report)?;
            Ok((report, cut))
        })?;
        let Some(reports) = reports.filter(|_| !workers.aborted()) else { return Ok(()) };
        for ((_, climb), (report, cut)) in climbs.into_iter().zip(reports) {
            self.climbing_execs += report.execs;
            for admitted in self.merge(vec![report], signature, round) {
                self.settle(admitted, round);
            }
            self.corpus.climbed(&climb.label, cut);
        }
        Ok(())
    }

    /// Learns from executions that overran how streams end, in at most `execs_max` others. If that is aborted nothing happens, as for
    /// [`Campaign::climb`].
    pub(super) fn learn_to_close(
        &mut self,
        workers: &Workers,
        witnesses: &[Witness],
        execs_max: u64,
        signature: &dyn Fn(&Outcome) -> String,
        round: &mut Round,
    ) -> Result<()> {
        let execs = self.closings.budget(self.totals.execs, self.totals.overruns).min(execs_max);
        if witnesses.is_empty() || execs == 0 {
            return Ok(());
        }
        let (corpus, variants, closings) = (&self.corpus, &self.variants, &self.closings);
        let (seed, number) = (self.seed, self.totals.rounds);
        let known = self.all_known();
        let results = workers.run(variants, 1, |_, worker| {
            let mut report = Report::default();
            let learner = Learner::new(closings.clone(), execs, Rng::of_task(seed, number, u64::MAX));
            let samples = corpus.testcases().iter().map(|testcase| testcase.sample.as_ref());
            let learned = learner.learn(samples, witnesses, &mut |input, rule, closing| {
                worker.probe(variants, Known { closing, ..known }, (input, rule), &mut report)
            })?;
            Ok((learned, report))
        })?;
        let result = results.filter(|_| !workers.aborted()).and_then(|mut results| results.pop());
        let Some((mut learned, report)) = result else { return Ok(()) };
        let changed = learned.table() != self.closings.table();
        learned.spent(report.execs, self.totals.overruns + report.overruns, changed);
        self.closings = learned;
        for admitted in self.merge(vec![report], signature, round) {
            self.settle(admitted, round);
        }
        Ok(())
    }
}
