//! Generations of inputs, of which rare ones have more children.
//!
//! Crowbar's notes (`corpus_fuzz`). All of a generation are replaced by their children, about a thousand; what the old
//! ones showed and no child does is kept by the shortest of those that showed it. Whoever has the rarest features has
//! the most children, and those whose rarest feature is the same share them: a number that need not be whole is
//! rounded at random, so that what is rare among many is not forgotten.

use super::cases::{self, Born, CASES_MAX, Case, Counts, Litter, rounded, shares};
use super::{Cost, Gains, Spent, Strategy, View};
use crate::engine::corpus::Corpus;
use crate::engine::mutate::Steps;
use crate::engine::rng::Rng;
use crate::engine::workers::report::Report;
use crate::engine::workers::worker::Worker;
use anyhow::Result;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Children of a generation, about.
const GENERATION: u64 = 1000;
/// Number of the task that plans.
const PLAN: u64 = 4 << 33;
/// Changes of a mutant: Crowbar goes on with a probability of 0.9.
pub(super) const STEPS: Steps = Steps::Mean(10.0);

/// Breeds generations.
#[derive(Debug, Default)]
pub(super) struct Generations {
    cases: Vec<Arc<Case>>,
    children: Vec<Arc<Case>>,
    counts: Counts,
}

impl Strategy for Generations {
    type Task = Litter;
    type Learned = Vec<Born>;

    fn plan(&self, view: &View<'_>, execs: u64) -> Vec<Litter> {
        let mut rng = Rng::of_task(view.seed, view.round, PLAN);
        let first = if self.cases.is_empty() { cases::first(view) } else { Vec::new() };
        let cases = if self.cases.is_empty() { &first } else { &self.cases };
        let (work, _) = shares(cases.iter(), &self.counts, GENERATION.min(execs) as f64);
        // One is made afresh.
        let mut left = execs.saturating_sub(1);
        let mut litters = vec![Litter { number: 0, parent: None, children: execs.min(1) }];
        for (number, (parent, work)) in (1..).zip(cases.iter().zip(work)) {
            let children = rounded(work, &mut rng).min(left);
            left -= children;
            if children > 0 {
                litters.push(Litter { number, parent: Some(parent.clone()), children });
            }
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
        self.children.extend(born.into_iter().flatten());
        // What was there first is part of the old generation, too.
        if let Some(parent) = task.parent.filter(|parent| !self.cases.iter().any(|case| Arc::ptr_eq(case, parent))) {
            self.cases.push(parent);
        }
    }

    fn gained(&mut self, _: Gains, _: Gains) {
        let children = std::mem::take(&mut self.children);
        self.cases = successors(std::mem::take(&mut self.cases), children);
    }
}

/// The children, and the shortest of the old ones for each feature that no child shows.
fn successors(mut old: Vec<Arc<Case>>, mut children: Vec<Arc<Case>>) -> Vec<Arc<Case>> {
    let mut shown: BTreeSet<u32> = children.iter().flat_map(|case| case.features.iter().copied()).collect();
    old.sort_by_key(|case| case.len());
    for case in old {
        let before = shown.len();
        shown.extend(case.features.iter().copied());
        if shown.len() > before {
            children.push(case);
        }
    }
    // The last ones are those without which something would be forgotten.
    children.drain(..children.len().saturating_sub(CASES_MAX));
    children
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::strategy::cases::tests::case;

    #[test]
    fn what_no_child_shows_is_kept_by_its_shortest_case() {
        let old = vec![case(9, &[1, 2]), case(5, &[1, 3]), case(3, &[1]), case(4, &[2, 9])];
        let next = successors(old, vec![case(7, &[9])]);
        let kept: Vec<_> = next.iter().map(|case| (case.len(), case.features.to_vec())).collect();
        assert_eq!(kept, [(7, vec![9]), (3, vec![1]), (4, vec![2, 9]), (5, vec![1, 3])]);
    }
}
