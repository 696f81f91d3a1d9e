//! Inputs by their rarest features, the rarest first.
//!
//! Crowbar's notes (`pqcorpus_fuzz`). For each feature there is a queue of the cases of which it is the rarest. The
//! feature that was shown least, and whose cases had the fewest children, has its turn: its first case has one child.
//! Child and parent are offered to the queues of what is their rarest feature by now, and taken if that was shown less
//! often, of all executions, than by one for each case that waits there.
//!
//! A round has as many turns as one part in 32 of the executions before it, and at most 16: what its children showed is
//! known at its end, and who does not know it has turns that are nothing new.

use super::cases::{self, Born, CASES_MAX, Case, Counts, Litter};
use super::{Cost, Spent, Strategy, View};
use crate::engine::corpus::Corpus;
use crate::engine::mutate::Steps;
use crate::engine::workers::report::Report;
use crate::engine::workers::worker::Worker;
use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// Turns of a round, at most.
const ROUND_TURNS: u64 = 16;
/// A turn for so many executions.
const ROUND_PART: u64 = 32;
/// Changes of a mutant: Crowbar goes on with a probability of 0.3.
const STEPS: Steps = Steps::Mean(1.0 / 0.7);

/// Breeds from queues by feature.
#[derive(Debug, Default)]
pub(super) struct Pqcorpus {
    slots: BTreeMap<u32, Slot>,
    /// Cases in all of them.
    cases: usize,
    counts: Counts,
}

/// The cases whose rarest feature is the same.
#[derive(Debug, Default)]
struct Slot {
    queue: VecDeque<Arc<Case>>,
    /// Children that cases of it had.
    bred: u64,
}

/// A turn.
#[derive(Debug)]
pub(super) struct Turn {
    /// Whose it is; `None` if there was no case.
    feature: Option<u32>,
    litter: Litter,
}

impl Strategy for Pqcorpus {
    type Task = Turn;
    type Learned = Vec<Born>;

    fn plan(&self, view: &View<'_>, execs: u64) -> Vec<Turn> {
        let turn = |number, feature, parent| Turn { feature, litter: Litter { number, parent, children: 1 } };
        if self.cases == 0 {
            let first = cases::first(view).into_iter().map(Some).chain([None]);
            return (0..execs).zip(first).map(|(number, parent)| turn(number, None, parent)).collect();
        }
        let priority = |(&feature, slot): (&u32, &Slot)| (self.counts.hits(feature) + slot.bred, feature, 0_usize);
        let mut waiting: BTreeSet<_> =
            self.slots.iter().filter(|(_, slot)| !slot.queue.is_empty()).map(priority).collect();
        let turns = (self.counts.tests() / ROUND_PART).clamp(1, ROUND_TURNS).min(execs);
        let take = |number| {
            let (priority, feature, taken) = waiting.pop_first().expect("some case waits");
            let queue = &self.slots[&feature].queue;
            // What had a child goes to the end of its queue.
            let parent = queue[taken % queue.len()].clone();
            waiting.insert((priority + 1, feature, taken + 1));
            turn(number, Some(feature), Some(parent))
        };
        (0..turns).map(take).collect()
    }

    fn cost(&self, task: &Turn, view: &View<'_>) -> Cost {
        task.litter.cost(view)
    }

    fn run(&self, task: &Turn, view: &View<'_>, worker: &mut Worker, report: &mut Report) -> Result<Vec<Born>> {
        task.litter.breed(STEPS, view, worker, report)
    }

    fn learn(&mut self, task: Turn, born: Vec<Born>, _: Spent, _: &mut Corpus) {
        born.iter().for_each(|child| self.counts.add(child.as_deref()));
        let parent = task.litter.parent;
        if let Some((slot, parent)) = task.feature.and_then(|feature| self.slots.get_mut(&feature)).zip(parent.as_ref())
        {
            slot.bred += 1;
            if let Some(place) = slot.queue.iter().position(|case| Arc::ptr_eq(case, parent)) {
                slot.queue.remove(place);
                self.cases -= 1;
            }
        }
        born.into_iter().flatten().chain(parent).for_each(|case| self.offer(case));
    }
}

impl Pqcorpus {
    /// Takes a case if it is worth it.
    fn offer(&mut self, case: Arc<Case>) {
        let feature = self.counts.rarest(&case);
        let slot = self.slots.entry(feature).or_default();
        let is_worth_it = self.counts.interest(feature) / (1 + slot.queue.len()) as f64 > 1.0;
        let is_there = slot.queue.iter().any(|other| Arc::ptr_eq(other, &case));
        // A feature that all executions show has one case at least, so that there is always some.
        if (is_worth_it || slot.queue.is_empty()) && self.cases < CASES_MAX && !is_there {
            slot.queue.push_back(case);
            self.cases += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::strategy::cases::tests::case;

    #[test]
    fn a_case_waits_where_it_is_rarest_and_only_while_few_do() {
        let mut queues = Pqcorpus::default();
        let (common, rare) = (case(1, &[0]), case(1, &[0, 7]));
        (0..9).for_each(|_| queues.counts.add(Some(&common)));
        queues.counts.add(Some(&rare));
        for _ in 0..20 {
            queues.offer(case(1, &[0]));
            queues.offer(case(1, &[0, 7]));
        }
        // 10 executions for 10, and for 1.
        assert_eq!((queues.slots[&0].queue.len(), queues.slots[&7].queue.len()), (1, 9));
        assert_eq!(queues.cases, 10);
    }
}
