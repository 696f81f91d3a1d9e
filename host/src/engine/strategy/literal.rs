//! Coverage-guided mutation as Crowbar's notes write it down, to the letter: for comparison.
//!
//! The first input of a queue has three mutants, and is forgotten; those that showed what nobody had join the queue. So
//! the place that was hardest to get to is lost as soon as three mutants of it were nothing new, since who gets there
//! again shows nothing new. Where the queue is empty a random input is made (as Crowbar's code does).

use super::cases::{self, Born, Case, Counts, Litter};
use super::{Cost, Gains, Spent, Strategy, View};
use crate::engine::corpus::Corpus;
use crate::engine::workers::report::Report;
use crate::engine::workers::worker::Worker;
use anyhow::Result;
use std::collections::VecDeque;
use std::sync::Arc;

/// Mutants of an input.
const CHILDREN: u64 = 3;
/// Inputs that have their turn in a round, at most.
const VISITS_MAX: usize = 64;

/// Mutates each input that showed something new three times.
#[derive(Debug, Default)]
pub(super) struct Literal {
    queue: VecDeque<Arc<Case>>,
    born: Vec<Arc<Case>>,
    counts: Counts,
    /// What the campaign began with had its turn.
    begun: bool,
}

impl Strategy for Literal {
    type Task = Litter;
    type Learned = Vec<Born>;

    fn plan(&self, view: &View<'_>, execs: u64) -> Vec<Litter> {
        let first = if self.begun { Vec::new() } else { cases::first(view) };
        let parents = self.queue.iter().chain(&first).take(VISITS_MAX).cloned().map(Some);
        let nobody = (self.queue.is_empty() && first.is_empty()).then_some(None);
        let mut left = execs;
        let litter = |(number, parent): (u64, Option<Arc<Case>>)| {
            let children = if parent.is_some() { CHILDREN.min(left) } else { 1.min(left) };
            left -= children;
            (children > 0).then_some(Litter { number, parent, children })
        };
        (0..).zip(parents.chain(nobody)).map_while(litter).collect()
    }

    fn cost(&self, task: &Litter, view: &View<'_>) -> Cost {
        task.cost(view)
    }

    fn run(&self, task: &Litter, view: &View<'_>, worker: &mut Worker, report: &mut Report) -> Result<Vec<Born>> {
        task.breed(super::generations::STEPS, view, worker, report)
    }

    fn learn(&mut self, task: Litter, born: Vec<Born>, _: Spent, _: &mut Corpus) {
        self.begun = true;
        if self.queue.front().zip(task.parent.as_ref()).is_some_and(|(front, parent)| Arc::ptr_eq(front, parent)) {
            self.queue.pop_front();
        }
        for child in born {
            let shows_news = child.iter().any(|case| case.features.iter().any(|&feature| self.counts.is_new(feature)));
            self.counts.add(child.as_deref());
            // One that is made afresh goes on in any case.
            self.born.extend(child.filter(|_| shows_news || task.parent.is_none()));
        }
    }

    fn gained(&mut self, _: Gains, _: Gains) {
        self.queue.extend(std::mem::take(&mut self.born));
        self.queue.truncate(cases::CASES_MAX);
    }
}
