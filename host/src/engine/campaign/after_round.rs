//! Strategies whose tasks come after a round's.

use super::Campaign;
use crate::engine::round::Round;
use crate::engine::strategy::Phase;
use crate::engine::strategy::tasks::Tasks;
use crate::engine::workers::pool::Workers;
use crate::outcome::Outcome;
use anyhow::Result;

impl Campaign {
    /// Executes the tasks of all strategies of a phase, one strategy after the other, until `execs_max` executions were
    /// made in all. If that is aborted nothing happens, as if there had been no executions left.
    pub(super) fn run_phase(
        &mut self,
        phase: Phase,
        workers: &Workers,
        execs_max: u64,
        signature: &dyn Fn(&Outcome) -> String,
        round: &mut Round,
    ) -> Result<()> {
        for place in self.strategies.of(phase) {
            let left = execs_max.saturating_sub(self.totals.execs);
            let tasks = Tasks::new(&self.strategies, self.view()).plan([place], left);
            if tasks.count() == 0 {
                continue;
            }
            let results = workers.run(&self.variants, tasks.count(), |task, worker| tasks.run(task, worker))?;
            let Some(results) = results.filter(|_| !workers.aborted()) else { continue };
            for results in tasks.results(results) {
                for admitted in self.merge_results(results, signature, round) {
                    self.settle(admitted, round);
                }
            }
        }
        Ok(())
    }
}
