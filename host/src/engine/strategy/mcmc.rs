//! A random walk over inputs that stays longer where things are rare.
//!
//! Crowbar's notes (`mcmc_fuzz`), after Metropolis and Hastings: a mutant takes the place of its parent if it is more
//! interesting, and otherwise with the ratio of both as probability. How interesting an input is are the executions for
//! one that showed its rarest feature. The notes name what is wrong with that, and each has an option:
//!
//! | option | |
//! | --- | --- |
//! | `hastings` | a longer input has more mutants, so the ratio is multiplied with the parent's length by the child's |
//! | `decay` | all counts are halved every 16,384 executions: what was found long ago is no measure of now |
//! | `bayes` | rates are means of a gamma posterior, (1 + hits) / (1 + executions): one hit says little |
//! | `hype` | as its code had it: interest by length, and a fifth of the ratio |
//!
//! Eight walks go on at once, each on one worker, and know of the others' counts at the end of a round.

use super::cases::{self, Born, Case, Counts, Litter, unit};
use super::{Cost, Spent, Strategy, View};
use crate::engine::corpus::Corpus;
use crate::engine::mutate::Steps;
use crate::engine::workers::report::Report;
use crate::engine::workers::worker::Worker;
use anyhow::Result;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Walks at once.
const WALKS: u64 = 8;
/// Executions of a walk in a round.
const WALK_EXECS: u64 = 64;
/// Changes of a mutant: Crowbar's chain of them stops with a probability of 0.6 in what its notes call small steps.
const STEPS: Steps = Steps::Mean(1.0 / 0.6);
/// Executions after which counts are halved.
const DECAY_EXECS: u64 = 1 << 14;
/// What a step to less interest is multiplied with in the code.
const HYPE: f64 = 0.2;

/// Walks over inputs.
#[derive(Debug, Default)]
pub(super) struct Mcmc {
    correction: Correction,
    /// Where walks are, by number.
    walks: Vec<Option<Arc<Case>>>,
    counts: Counts,
    /// Executions since counts were halved.
    since: u64,
}

/// What is done about the walk's faults.
#[derive(Clone, Copy, Debug, Default)]
struct Correction {
    hastings: bool,
    decay: bool,
    bayes: bool,
    hype: bool,
}

impl Mcmc {
    /// The options' names.
    pub(super) const OPTIONS: &[&str] = &["hastings", "decay", "bayes", "hype"];

    pub(super) fn new(options: &[String]) -> Self {
        let has = |name: &str| options.iter().any(|option| option == name);
        let [hastings, decay, bayes, hype] = [0, 1, 2, 3].map(|option| has(Self::OPTIONS[option]));
        Self { correction: Correction { hastings, decay, bayes, hype }, ..Self::default() }
    }
}

/// Counts of the campaign, and of a walk beside them.
struct Beside<'a> {
    counts: &'a Counts,
    hits: BTreeMap<u32, u64>,
    tests: u64,
}

impl Beside<'_> {
    fn add(&mut self, case: Option<&Case>) {
        self.tests += 1;
        case.into_iter().flat_map(|case| &case.features).for_each(|&feature| {
            *self.hits.entry(feature).or_default() += 1;
        });
    }

    /// Of all executions the part that showed a case's rarest feature.
    fn rate(&self, case: &Case, correction: Correction) -> f64 {
        let hits = |&feature: &u32| self.counts.hits(feature) + self.hits.get(&feature).copied().unwrap_or(0);
        let (hits, tests) = (case.features.iter().map(hits).min().unwrap_or(1), self.counts.tests() + self.tests);
        if correction.bayes { (hits + 1) as f64 / (tests + 1) as f64 } else { hits as f64 / tests.max(1) as f64 }
    }

    /// The probability to go from one case to another.
    fn acceptance(&self, from: &Case, to: &Case, correction: Correction) -> f64 {
        let lens = (from.len() + 1) as f64 / (to.len() + 1) as f64;
        let mut ratio = self.rate(from, correction) / self.rate(to, correction);
        if correction.hype {
            ratio *= lens;
        }
        if correction.hastings {
            ratio *= lens;
        }
        if ratio < 1.0 && correction.hype { HYPE * ratio } else { ratio }
    }
}

impl Strategy for Mcmc {
    /// Where a walk begins, and how many steps it makes.
    type Task = Litter;
    /// Where it ended, and what it met.
    type Learned = (Option<Arc<Case>>, Vec<Born>);

    fn plan(&self, view: &View<'_>, execs: u64) -> Vec<Litter> {
        let first = if self.walks.is_empty() { cases::first(view) } else { Vec::new() };
        let begin = |number: u64| {
            let own = self.walks.get(number as usize).cloned().flatten();
            own.or_else(|| first.get(number as usize % first.len().max(1)).cloned())
        };
        let walks = WALKS.min(execs);
        let children = (execs / walks.max(1)).min(WALK_EXECS);
        (0..walks).map(|number| Litter { number, parent: begin(number), children }).collect()
    }

    fn cost(&self, task: &Litter, view: &View<'_>) -> Cost {
        task.cost(view)
    }

    fn run(&self, task: &Litter, view: &View<'_>, worker: &mut Worker, report: &mut Report) -> Result<Self::Learned> {
        let (mut rng, mut state, mut met) = (task.rng(view), task.parent.clone(), Vec::new());
        let mut beside = Beside { counts: &self.counts, hits: BTreeMap::new(), tests: 0 };
        for _ in 0..task.children {
            let child = cases::child(state.as_deref(), STEPS, &mut rng, view, worker, report)?;
            beside.add(child.as_deref());
            if let Some(child) = &child {
                let moves = state
                    .as_ref()
                    .is_none_or(|state| unit(&mut rng) < beside.acceptance(state, child, self.correction));
                state = if moves { Some(child.clone()) } else { state };
            }
            met.push(child);
        }
        Ok((state, met))
    }

    fn learn(&mut self, task: Litter, (state, met): Self::Learned, _: Spent, _: &mut Corpus) {
        self.walks.resize(self.walks.len().max(task.number as usize + 1), None);
        self.walks[task.number as usize] = state;
        self.since += met.len() as u64;
        met.iter().for_each(|child| self.counts.add(child.as_deref()));
        if self.correction.decay && self.since >= DECAY_EXECS {
            self.since = 0;
            self.counts.halve();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::strategy::cases::tests::case;

    #[test]
    fn each_correction_changes_the_probability_as_it_says() {
        let (common, rare) = (case(9, &[0]), case(19, &[0, 1]));
        let mut counts = Counts::default();
        for _ in 0..3 {
            counts.add(Some(&common));
        }
        counts.add(Some(&rare));
        let beside = Beside { counts: &counts, hits: BTreeMap::new(), tests: 0 };
        let probability = |from: &Case, to: &Case, options: &[&str]| {
            let options: Vec<_> = options.iter().map(|&option| option.to_owned()).collect();
            beside.acceptance(from, to, Mcmc::new(&options).correction)
        };
        let assert_is =
            |probability: f64, expected: f64| assert!((probability - expected).abs() < 1e-12, "{probability}");
        // Four executions showed the one, one the other.
        assert_is(probability(&common, &rare, &[]), 4.0);
        assert_is(probability(&rare, &common, &[]), 0.25);
        assert_is(probability(&rare, &common, &["hastings"]), 0.5);
        assert_is(probability(&rare, &common, &["bayes"]), 0.4);
        assert_is(probability(&rare, &common, &["hype"]), 0.1);
        assert_is(probability(&rare, &common, &["bayes", "hastings"]), 0.8);
    }
}
