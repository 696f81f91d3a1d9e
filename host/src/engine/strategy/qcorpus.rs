//! A queue of inputs, of which rare ones have more children and come again.
//!
//! Crowbar's notes (`qcorpus_fuzz`): what [`generations`](super::generations) do at once, one case after the other. A
//! child joins the queue if it is worth more than two children of its own. A case that had its turn goes to the end of
//! the queue if it had more than one child, or is the last one with its rarest feature, and is forgotten otherwise.

use super::cases::{self, Born, CASES_MAX, Case, Counts, Litter, rounded, shares};
use super::generations::STEPS;
use super::{Cost, Gains, Spent, Strategy, View};
use crate::engine::corpus::Corpus;
use crate::engine::rng::Rng;
use crate::engine::workers::report::Report;
use crate::engine::workers::worker::Worker;
use anyhow::Result;
use std::collections::VecDeque;
use std::sync::Arc;

/// What all of the queue is worth, in children.
const WORK: f64 = 1000.0;
/// Executions of a round, about.
const ROUND_EXECS: u64 = 256;
/// Number of the task that plans.
const PLAN: u64 = 5 << 33;
/// Children that a child is worth, to join the queue.
const WORK_MIN: f64 = 2.0;

/// Breeds from a queue.
#[derive(Debug, Default)]
pub(super) struct Qcorpus {
    queue: VecDeque<Arc<Case>>,
    counts: Counts,
    /// What had its turn in this round, with how many children, and these.
    bred: Vec<(Arc<Case>, u64)>,
    born: Vec<Arc<Case>>,
}

impl Strategy for Qcorpus {
    type Task = Litter;
    type Learned = Vec<Born>;

    fn plan(&self, view: &View<'_>, execs: u64) -> Vec<Litter> {
        if self.queue.is_empty() {
            let first = cases::first(view).into_iter().map(Some).chain([None]);
            let litter = |(number, parent)| Litter { number, parent, children: 1 };
            return (0..execs).zip(first).map(litter).collect();
        }
        let mut rng = Rng::of_task(view.seed, view.round, PLAN);
        let (work, _) = shares(self.queue.iter(), &self.counts, WORK);
        let (mut left, mut litters) = (ROUND_EXECS.min(execs), Vec::new());
        for (number, (parent, work)) in (0..).zip(self.queue.iter().zip(work)) {
            if left == 0 {
                break;
            }
            let children = (1 + rounded(work, &mut rng)).min(left);
            left -= children;
            litters.push(Litter { number, parent: Some(parent.clone()), children });
        }
        litters
    }

    fn cost(&self, task: &Litter, view: &View<'_>) -> Cost {
        task.cost(view)
    }

    fn run(&self, task: &Litter, view: &View<'_>, worker: &mut Worker, report: &mut Report) -> Result<Vec<Born>> {
        task.breed(STEPS, view, worker, report)
    }

    fn learn(&mut self, task: Litter, born: Vec<Born>, _: Spent, _: &mut Corpus) {
        born.iter().for_each(|child| self.counts.add(child.as_deref()));
        self.born.extend(born.into_iter().flatten());
        if let Some(parent) = task.parent {
            // It was the first one, unless this is what the campaign began with.
            if self.queue.front().is_some_and(|front| Arc::ptr_eq(front, &parent)) {
                self.queue.pop_front();
            }
            self.bred.push((parent, task.children));
        }
    }

    fn gained(&mut self, _: Gains, _: Gains) {
        let born = std::mem::take(&mut self.born);
        let bred = std::mem::take(&mut self.bred);
        let all = self.queue.iter().chain(bred.iter().map(|(case, _)| case));
        let (_, mut owners) = shares(all, &self.counts, WORK);
        for (case, children) in bred {
            let rarest = self.counts.rarest(&case);
            let owners = owners.entry(rarest).or_insert(1);
            if children > 1 || *owners == 1 {
                self.queue.push_back(case);
            } else {
                *owners -= 1;
            }
        }
        let total: f64 = owners.keys().map(|&feature| self.counts.interest(feature)).sum();
        for case in born {
            let rarest = self.counts.rarest(&case);
            let (interest, others) = (self.counts.interest(rarest), owners.entry(rarest).or_insert(0));
            if WORK * interest / total.max(interest) / (*others + 1) as f64 > WORK_MIN && self.queue.len() < CASES_MAX {
                *others += 1;
                self.queue.push_back(case);
            }
        }
    }
}
