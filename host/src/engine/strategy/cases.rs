//! Inputs that a strategy keeps for itself, whether they showed something new or not, and how often what they showed
//! was shown.
//!
//! Crowbar's design notes (Dolan) look for inputs by the *rarest* feature that each shows: of all executions so far as
//! few as possible showed it. How interesting a feature is are the executions for one that showed it.

use super::havoc::{Parent, give_mutant};
use super::quickcheck;
use super::shown::{self, Status};
use super::{Cost, View};
use crate::coverage::Profile;
use crate::engine::mutate::Steps;
use crate::engine::rng::Rng;
use crate::engine::suspects::Origin;
use crate::engine::testcase::Testcase;
use crate::engine::workers::report::Report;
use crate::engine::workers::worker::Worker;
use crate::stream::{Choice, Node, encode};
use anyhow::Result;
use std::sync::Arc;

/// Number of the first task that breeds.
const TASKS: u64 = 3 << 33;
/// Cases that a strategy keeps at most. Each has its input, which is no longer than mutants may be, its tree, and four
/// bytes for each feature.
pub(super) const CASES_MAX: usize = 4096;

/// An input that the guest takes, and what it showed.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) input: Box<[u8]>,
    sample: Option<Node>,
    /// See [`shown::features`].
    pub(super) features: Box<[u32]>,
}

impl Case {
    /// That of a testcase.
    pub(super) fn of(testcase: &Testcase) -> Self {
        let features = shown::features(&testcase.profile);
        Self { input: testcase.bytes.as_ref().into(), sample: testcase.sample.clone(), features }
    }

    /// What it drew, if its guest draws.
    pub(super) fn choices(&self) -> Option<Vec<Choice>> {
        self.sample.as_ref().map(Node::choices)
    }

    /// Its length: choices, or bytes.
    pub(super) fn len(&self) -> usize {
        self.sample.as_ref().map_or(self.input.len(), Node::draws)
    }
}

/// The testcases that there are: what a strategy begins with.
pub(super) fn first(view: &View<'_>) -> Vec<Arc<Case>> {
    let testcases = view.corpus.testcases();
    testcases[..testcases.len().min(CASES_MAX)].iter().map(|testcase| Arc::new(Case::of(testcase))).collect()
}

/// How often each feature was shown.
#[derive(Debug, Default)]
pub(super) struct Counts {
    hits: Vec<u64>,
    /// Executions.
    tests: u64,
}

impl Counts {
    /// Notes an execution, and what it showed if the guest took its input.
    pub(super) fn add(&mut self, case: Option<&Case>) {
        self.tests += 1;
        let Some(case) = case else { return };
        if let Some(&last) = case.features.last() {
            self.hits.resize(self.hits.len().max(last as usize + 1), 0);
        }
        case.features.iter().for_each(|&feature| self.hits[feature as usize] += 1);
    }

    /// Executions so far.
    pub(super) fn tests(&self) -> u64 {
        self.tests
    }

    /// How many of them showed a feature, at least 1.
    pub(super) fn hits(&self, feature: u32) -> u64 {
        self.hits.get(feature as usize).map_or(1, |&hits| hits.max(1))
    }

    /// Whether no execution showed it.
    pub(super) fn is_new(&self, feature: u32) -> bool {
        self.hits.get(feature as usize).is_none_or(|&hits| hits == 0)
    }

    /// Executions for one that showed a feature.
    pub(super) fn interest(&self, feature: u32) -> f64 {
        self.tests.max(1) as f64 / self.hits(feature) as f64
    }

    /// The feature of a case that the fewest executions showed, of several the first. One that shows nothing has the
    /// feature 0.
    pub(super) fn rarest(&self, case: &Case) -> u32 {
        case.features.iter().copied().min_by_key(|&feature| self.hits(feature)).unwrap_or(0)
    }

    /// Forgets half of everything.
    pub(super) fn halve(&mut self) {
        self.hits.iter_mut().for_each(|hits| *hits /= 2);
        self.tests /= 2;
    }
}

/// A task: a case is to have children.
#[derive(Debug)]
pub(super) struct Litter {
    /// The task's number in the round.
    pub(super) number: u64,
    /// `None` if all are made afresh.
    pub(super) parent: Option<Arc<Case>>,
    pub(super) children: u64,
}

/// A child that the guest took; `None` if it did not, or failed.
pub(super) type Born = Option<Arc<Case>>;

impl Litter {
    pub(super) fn cost(&self, view: &View<'_>) -> Cost {
        Cost { execs: self.children, fuel: self.children.saturating_mul(view.fuel_mean) }
    }

    /// Random numbers of its own.
    pub(super) fn rng(&self, view: &View<'_>) -> Rng {
        Rng::of_task(view.seed, view.round, TASKS + self.number)
    }

    /// Executes its children, mutants in steps of this kind.
    pub(super) fn breed(
        &self,
        steps: Steps,
        view: &View<'_>,
        worker: &mut Worker,
        report: &mut Report,
    ) -> Result<Vec<Born>> {
        let mut rng = self.rng(view);
        (0..self.children).map(|_| child(self.parent.as_deref(), steps, &mut rng, view, worker, report)).collect()
    }
}

/// Executes a child of a case, or an input that is made afresh.
pub(super) fn child(
    parent: Option<&Case>,
    steps: Steps,
    rng: &mut Rng,
    view: &View<'_>,
    worker: &mut Worker,
    report: &mut Report,
) -> Result<Born> {
    match parent {
        Some(Case { input, sample, .. }) => {
            give_mutant(view, view.steps.unwrap_or(steps), Parent::new(input, sample.as_ref()), rng, worker);
        }
        None => quickcheck::give(view, rng, worker),
    }
    born(view, worker, report)
}

/// Executes what a worker was given.
pub(super) fn born(view: &View<'_>, worker: &mut Worker, report: &mut Report) -> Result<Born> {
    let (outcome, observation) = shown::execute(view, worker, report)?;
    let takes_choices = view.variants.metered.takes_choices();
    let shown = (Status::of(&outcome) == Status::Valid).then(|| {
        let drawn = takes_choices.then(|| observation.draws().canonical());
        (drawn, shown::features(&Profile::of(observation)))
    });
    let given: Box<[u8]> = worker.input.as_slice().into();
    let case = shown.map(|(drawn, features)| {
        let input = drawn.as_ref().map_or_else(|| given.clone(), |drawn| encode(&drawn.choices).into());
        Case { input, sample: drawn.as_ref().map(Node::of), features }
    });
    report.suspect_is(|| Origin::Given(given.into()));
    // What is too long for a mutant is for no parent.
    let limit = view.variants.metered.candidate.settings.input_bytes_max as usize;
    Ok(case.filter(|case| case.input.len() <= limit).map(Arc::new))
}

/// A number from 0 to 1, without that.
pub(super) fn unit(rng: &mut Rng) -> f64 {
    (rng.word() >> 11) as f64 / (1_u64 << 53) as f64
}

/// A whole number that is `number` on average.
pub(super) fn rounded(number: f64, rng: &mut Rng) -> u64 {
    number as u64 + u64::from(unit(rng) < number.fract())
}

/// How much of `work` each case is worth: features by how interesting they are, those whose rarest feature is the same
/// alike. Also how many cases each rarest feature has.
pub(super) fn shares<'a>(
    cases: impl Iterator<Item = &'a Arc<Case>> + Clone,
    counts: &Counts,
    work: f64,
) -> (Vec<f64>, std::collections::BTreeMap<u32, u64>) {
    let rarest: Vec<_> = cases.map(|case| counts.rarest(case)).collect();
    let mut owners = std::collections::BTreeMap::<u32, u64>::new();
    rarest.iter().for_each(|&feature| *owners.entry(feature).or_default() += 1);
    let total: f64 = owners.keys().map(|&feature| counts.interest(feature)).sum();
    let share = |feature: &u32| work * counts.interest(*feature) / total / owners[feature] as f64;
    (rarest.iter().map(share).collect(), owners)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::engine::strategy) fn case(len: usize, features: &[u32]) -> Arc<Case> {
        Arc::new(Case { input: vec![0; len].into(), sample: None, features: features.into() })
    }

    #[test]
    fn work_is_shared_by_rarity_and_among_those_that_have_the_same() {
        let cases = [case(1, &[0, 1]), case(1, &[0, 1]), case(1, &[0, 2])];
        let mut counts = Counts::default();
        for _ in 0..6 {
            counts.add(Some(&case(1, &[0, 1])));
        }
        counts.add(Some(&case(1, &[0, 2])));
        counts.add(None);
        assert_eq!((counts.tests(), counts.rarest(&cases[0]), counts.rarest(&cases[2])), (8, 1, 2));
        let (work, owners) = shares(cases.iter(), &counts, 700.0);
        // 8 / 6 and 8 / 1.
        assert!((work[0] - 50.0).abs() < 1e-9 && (work[1] - 50.0).abs() < 1e-9 && (work[2] - 600.0).abs() < 1e-9);
        assert_eq!((owners[&1], owners[&2]), (2, 1));
        counts.halve();
        assert_eq!((counts.tests(), counts.hits(1), counts.hits(2)), (4, 3, 1));
    }

    #[test]
    fn rounding_keeps_the_mean() {
        let mut rng = Rng::of_task(1, 0, 0);
        let sum: u64 = (0..10_000).map(|_| rounded(2.3, &mut rng)).sum();
        assert!((22_700..23_300).contains(&sum), "{sum}");
    }
}
