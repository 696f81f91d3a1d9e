//! Tasks that go on beside later rounds.
//!
//! A task that looks at comparisons can take longer than a round does with many workers, who would all wait for it. So
//! such tasks are begun with a round, know what was known then, and are merged with that round only if it is long
//! enough for them, else with a later one: which one follows from fuel alone, never from whether they are ready. Until
//! then no others are begun. Where they are not ready by then they are waited for.

use super::Campaign;
use crate::engine::strategy::Phase;
use crate::engine::strategy::member::AnyLearned;
use crate::engine::strategy::tasks::{AsideTasks, Results, Tasks};
use crate::engine::workers::pool::{Begun, Workers};
use crate::engine::workers::report::BoxedReport;
use anyhow::Result;
use std::sync::Arc;

/// So many workers are not to wait for the longest task: they spend so many times its fuel in the meantime.
const WORKERS: u64 = 64;
/// But no more than one part in so many of all fuel before: what is found late is of less use.
const LAG_PART: u64 = 16;

/// The tasks that are under way, if there are some.
#[derive(Debug, Default)]
pub(super) struct Aside(Option<UnderWay>);

/// Tasks that were begun in an earlier round.
#[derive(Debug)]
struct UnderWay {
    tasks: Arc<AsideTasks>,
    /// `None` when that was aborted: then they are begun again.
    begun: Option<Begun<(BoxedReport, AnyLearned)>>,
    /// When the campaign has spent so much fuel they are merged.
    due: u64,
}

impl Aside {
    /// Begins with tasks that make so many executions at most, unless there are some under way.
    pub(super) fn begin(&mut self, campaign: &Campaign, workers: &Workers, execs: u64) {
        if self.0.is_none() {
            let places = campaign.strategies.of(Phase::Aside);
            let tasks = Tasks::new(&campaign.strategies, campaign.view()).plan(places, execs).aside();
            let Some(tasks) = tasks else { return };
            let fuel = campaign.fuel();
            // While it is under way to some place each round goes on from what the one before found.
            let hurries = campaign.is_under_way() || !campaign.has_reached_traces();
            let lag_max = if hurries { 0 } else { fuel / LAG_PART };
            let due = fuel.saturating_add(tasks.longest().saturating_mul(WORKERS).min(lag_max));
            self.0 = Some(UnderWay { tasks: Arc::new(tasks), begun: None, due });
        }
        let UnderWay { tasks, begun, .. } = self.0.as_mut().expect("there are some");
        begun.get_or_insert_with(|| {
            let tasks = tasks.clone();
            workers.begin(&campaign.variants, tasks.count(), move |task, worker| tasks.run(task, worker))
        });
    }

    /// Whether there are some.
    pub(super) fn is_under_way(&self) -> bool {
        self.0.is_some()
    }

    /// Executions that the tasks under way may make.
    pub(super) fn execs(&self) -> u64 {
        self.0.as_ref().map_or(0, |under_way| under_way.tasks.execs())
    }

    /// Whether the tasks under way are merged with a round of so many executions, when `execs_max` are left.
    pub(super) fn is_due(&self, campaign: &Campaign, execs: u64, execs_max: u64) -> bool {
        let Some(under_way) = &self.0 else { return false };
        let is_last = execs.saturating_add(under_way.tasks.execs()) >= execs_max;
        let fuel = campaign.fuel_of(campaign.totals.execs.saturating_add(execs));
        is_last || campaign.is_warming_due() || fuel >= under_way.due
    }

    /// Waits for the tasks under way. `None` if that was aborted: then they are begun again if the campaign goes on.
    pub(super) fn end(&mut self) -> Result<Option<Results>> {
        let begun = self.0.as_mut().and_then(|under_way| under_way.begun.take());
        let Some(results) = begun.map_or(Ok(None), Begun::wait)? else { return Ok(None) };
        let tasks = self.0.take().and_then(|under_way| Arc::into_inner(under_way.tasks));
        Ok(Some(tasks.expect("who executed them has given them back").results(results)))
    }

    /// Waits until nothing is executed any more, after an abort.
    pub(super) fn abort(&mut self) -> Result<()> {
        let begun = self.0.as_mut().and_then(|under_way| under_way.begun.take());
        begun.map_or(Ok(()), |begun| begun.wait().map(|_| ()))
    }
}
