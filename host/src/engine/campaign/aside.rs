//! Tasks that go on beside later rounds.
//!
//! A task that looks at comparisons can take longer than a round does with many workers, who would all wait for it, and
//! so can a visit. So such tasks are begun with a round, know what was known then, and are merged with that round only
//! if it is long enough for them, else with a later one: which one follows from fuel alone, never from whether they are
//! ready. Until then no others of the same strategy are begun. Where they are not ready by then they are waited for.

use super::Campaign;
use crate::engine::strategy::Phase;
use crate::engine::strategy::member::AnyLearned;
use crate::engine::strategy::tasks::{AsideTasks, Results, Tasks};
use crate::engine::workers::pool::{Begun, Workers};
use crate::engine::workers::report::BoxedReport;
use anyhow::Result;
use std::collections::BTreeMap;
use std::sync::Arc;

/// They are waited for when the campaign has spent so much of the fuel that it had spent before, if not earlier: one
/// part in so many. What is found late is of less use.
const LAG_PART: u64 = 16;

/// The tasks that are under way, by their strategy's place in the table.
#[derive(Debug, Default)]
pub(super) struct Aside(BTreeMap<usize, UnderWay>);

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
    /// Begins with tasks that make so many executions at most, of each strategy that has none under way.
    pub(super) fn begin(&mut self, campaign: &Campaign, workers: &Workers, execs: u64) {
        let mut left = execs;
        for place in campaign.strategies.of(Phase::Aside) {
            if self.0.contains_key(&place) {
                continue;
            }
            let tasks = Tasks::new(&campaign.strategies, campaign.view()).plan([place], left).aside();
            let Some(tasks) = tasks else { continue };
            left = left.saturating_sub(tasks.execs());
            let fuel = campaign.fuel();
            // While it is under way to some place each round goes on from what the one before found.
            let hurries = campaign.is_under_way() || !campaign.has_reached_traces();
            let lag_max = if hurries { 0 } else { fuel / LAG_PART };
            let due = fuel.saturating_add(tasks.lag().min(lag_max));
            self.0.insert(place, UnderWay { tasks: Arc::new(tasks), begun: None, due });
        }
        for UnderWay { tasks, begun, .. } in self.0.values_mut() {
            begun.get_or_insert_with(|| {
                let tasks = tasks.clone();
                workers.begin(&campaign.variants, tasks.count(), move |task, worker| tasks.run(task, worker))
            });
        }
    }

    /// Whether there are some.
    pub(super) fn is_under_way(&self) -> bool {
        !self.0.is_empty()
    }

    /// Executions that the tasks under way may make.
    pub(super) fn execs(&self) -> u64 {
        self.0.values().map(|under_way| under_way.tasks.execs()).sum()
    }

    /// Whose tasks are merged with a round of so many executions, when `execs_max` are left.
    pub(super) fn due(&self, campaign: &Campaign, execs: u64, execs_max: u64) -> Vec<usize> {
        let is_last = execs.saturating_add(self.execs()) >= execs_max;
        let fuel = campaign.fuel_of(campaign.totals.execs.saturating_add(execs));
        let is_due = |under_way: &UnderWay| is_last || campaign.is_warming_due() || fuel >= under_way.due;
        self.0.iter().filter(|(_, under_way)| is_due(under_way)).map(|(&place, _)| place).collect()
    }

    /// Waits for the tasks of these. `None` if that was aborted: then they are begun again if the campaign goes on.
    pub(super) fn end(&mut self, places: &[usize]) -> Result<Option<Vec<Results>>> {
        let mut ended = Vec::with_capacity(places.len());
        for place in places {
            let begun = self.0.get_mut(place).and_then(|under_way| under_way.begun.take());
            let Some(results) = begun.map_or(Ok(None), Begun::wait)? else { return Ok(None) };
            ended.push(results);
        }
        let results = |(place, results)| {
            let tasks = self.0.remove(place).and_then(|under_way| Arc::into_inner(under_way.tasks));
            tasks.expect("who executed them has given them back").results(results)
        };
        Ok(Some(places.iter().zip(ended).map(results).collect()))
    }

    /// Waits until nothing is executed any more, after an abort.
    pub(super) fn abort(&mut self) -> Result<()> {
        self.0
            .values_mut()
            .filter_map(|under_way| under_way.begun.take())
            .try_for_each(|begun| begun.wait().map(|_| ()))
    }
}
