//! Many random walks at once, whatever they meet: nothing that an execution shows matters.
//!
//! Crowbar's notes (Dolan): independent samples go on trying the few small inputs for ever, however often these were
//! tried. A mutant of a small input is more likely to be large than the other way round, since there are so many more
//! large ones; so a walk tries small ones first and leaves them behind. There is a queue, so that not all depends on
//! one walk. The first of the queue has three children, and all of them join it; while there are too many, any one of
//! those that wait is forgotten.
//!
//! A step takes the beginning of what was drawn, up to any draw, and goes on from there at random, with at most eight
//! draws more than there were. Bytes are mutated as always.

use super::cases::{self, Born, Case, Litter};
use super::{Cost, Gains, Spent, Strategy, View};
use crate::engine::corpus::Corpus;
use crate::engine::mutate::Steps;
use crate::engine::rng::Rng;
use crate::engine::workers::report::Report;
use crate::engine::workers::worker::Worker;
use crate::stream::{Rule, Tail, encode};
use anyhow::Result;
use std::collections::VecDeque;
use std::sync::Arc;

/// Children of a visit.
const CHILDREN: u64 = 3;
/// Walks at most.
const WALKS_MAX: usize = 256;
/// Visits of a round, at most: a quarter of all walks take a step.
const VISITS_MAX: usize = WALKS_MAX / 4;
/// Draws that a step adds at most, and that a walk has at most.
const MORE_DRAWS: usize = 8;
const DRAWS_MAX: usize = 4096;
/// Number of the task that decides who is forgotten.
const FORGET: u64 = 12 << 33;

/// Walks at random.
#[derive(Debug, Default)]
pub(super) struct Walkers {
    queue: VecDeque<Arc<Case>>,
    born: Vec<Arc<Case>>,
    /// The campaign's seed, and how many were forgotten.
    seed: u64,
    forgotten: u64,
}

impl Strategy for Walkers {
    type Task = (u64, Litter);
    type Learned = Vec<Born>;

    fn plan(&self, view: &View<'_>, execs: u64) -> Vec<(u64, Litter)> {
        let first: Vec<_> = if self.queue.is_empty() { cases::first(view) } else { Vec::new() };
        let parents = self.queue.iter().chain(&first).take(VISITS_MAX).cloned().map(Some);
        let nobody = (self.queue.is_empty() && first.is_empty()).then_some(None);
        let mut left = execs;
        let litter = |(number, parent)| {
            let children = CHILDREN.min(left);
            left -= children;
            (children > 0).then_some((view.seed, Litter { number, parent, children }))
        };
        (0..).zip(parents.chain(nobody)).map_while(litter).collect()
    }

    fn cost(&self, (_, task): &(u64, Litter), view: &View<'_>) -> Cost {
        task.cost(view)
    }

    fn run(
        &self,
        (_, task): &(u64, Litter),
        view: &View<'_>,
        worker: &mut Worker,
        report: &mut Report,
    ) -> Result<Vec<Born>> {
        let mut rng = task.rng(view);
        let step = |_| match task.parent.as_deref().and_then(Case::choices) {
            Some(choices) => {
                let begins = rng.below(choices.len() + 1);
                worker.input = encode(&choices[..begins]);
                let most = choices.len().saturating_add(1 + rng.below(MORE_DRAWS)).min(DRAWS_MAX);
                let tail = Tail::Random { seed: rng.word(), choices: u32::try_from(most)? };
                worker.rule = Rule { tail, wrap: false, close: true };
                cases::born(view, worker, report)
            }
            None => cases::child(task.parent.as_deref(), Steps::Usual, &mut rng, view, worker, report),
        };
        (0..task.children).map(step).collect()
    }

    fn learn(&mut self, (seed, task): (u64, Litter), born: Vec<Born>, _: Spent, _: &mut Corpus) {
        self.seed = seed;
        // It was the first one, unless this is what the campaign began with.
        if self.queue.front().zip(task.parent.as_ref()).is_some_and(|(front, parent)| Arc::ptr_eq(front, parent)) {
            self.queue.pop_front();
        }
        self.born.extend(born.into_iter().flatten());
    }

    fn gained(&mut self, _: Gains, _: Gains) {
        for case in std::mem::take(&mut self.born) {
            self.queue.push_back(case);
            if self.queue.len() > WALKS_MAX {
                let place = Rng::of_task(self.seed, self.forgotten, FORGET).below(self.queue.len());
                self.forgotten += 1;
                self.queue.remove(place);
            }
        }
    }
}
