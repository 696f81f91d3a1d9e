//! Strategies whose tasks come after a round's.

use super::Campaign;
use crate::engine::round::Round;
use crate::engine::strategy::{Runner, Spent, Strategies, Strategy};
use crate::engine::workers::pool::Workers;
use crate::engine::workers::report::Report;
use crate::outcome::Outcome;
use anyhow::Result;

/// What executes strategies whose tasks are no round's, until `execs_max` executions were made in all.
pub(super) struct Apart<'a> {
    pub(super) campaign: &'a mut Campaign,
    pub(super) workers: &'a Workers,
    pub(super) execs_max: u64,
    pub(super) signature: &'a dyn Fn(&Outcome) -> String,
    pub(super) round: &'a mut Round,
}

impl Runner for Apart<'_> {
    /// If that is aborted nothing happens, as if there had been no executions left.
    fn run<S: Strategy>(
        &mut self,
        strategy: fn(&Strategies) -> &S,
        strategy_mut: fn(&mut Strategies) -> &mut S,
    ) -> Result<()> {
        let Self { campaign, workers, .. } = self;
        let (view, planner) = (campaign.view(), strategy(&campaign.strategies));
        let tasks = planner.plan(&view, self.execs_max.saturating_sub(view.execs));
        if tasks.is_empty() {
            return Ok(());
        }
        let results = workers.run(view.variants, tasks.len() as u64, |task, worker| {
            let mut report = Report::default();
            let learned = planner.run(&tasks[usize::try_from(task)?], &view, worker, &mut report)?;
            Ok((report, learned))
        })?;
        let Some(results) = results.filter(|_| !workers.aborted()) else { return Ok(()) };
        for (task, (report, learned)) in tasks.into_iter().zip(results) {
            let execs = report.execs;
            for admitted in campaign.merge(vec![report], self.signature, self.round) {
                campaign.settle(admitted, self.round);
            }
            let spent = Spent { execs, overruns: campaign.totals.overruns };
            strategy_mut(&mut campaign.strategies).learn(task, learned, spent, &mut campaign.corpus);
        }
        Ok(())
    }
}
