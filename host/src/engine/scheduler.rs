//! Chooses which testcase is mutated next.
//!
//! # Time is shared, not executions
//!
//! Time is shared, not executions. A testcase's weight for the scheduler is what its features are worth, divided by
//! what its execution costs. New testcases that reach new edges are trimmed in the next round, beside its mutants
//! (alone they are too few for all workers), and count from then on.

use super::corpus::Corpus;
use super::rng::Rng;
use super::testcase::FEATURE_WEIGHT;

/// Weights over the testcases of a corpus, fixed for one round.
///
/// Each feature is *owned* by the testcase that shows it at the least cost (length, then fuel), as AFL's favoured
/// entries. What has the best score of a label, or a place on the Pareto front, weighs as much as some features. A
/// testcase weighs more the more features it owns that few others show, and less the more often it was chosen and the
/// longer its execution takes: the weight is meant for time, and slow testcases take more of it each time.
#[derive(Clone, Debug)]
pub(super) struct Scheduler {
    /// Running sums of the weights.
    sums: Vec<u64>,
}

/// Fuel that restoring and judging take about as long as.
pub(super) const EXECUTION_FUEL: u64 = 4_000;
/// A testcase counts as at most this many times as fast or slow as the mean one.
const SPEED_RANGE: u64 = 16;

impl Scheduler {
    pub(super) fn new(corpus: &Corpus) -> Self {
        Self::scaled(corpus, &[])
    }

    /// With the weight of each testcase times a factor, as far as there are some.
    pub(super) fn scaled(corpus: &Corpus, factors: &[f64]) -> Self {
        let testcases = corpus.testcases();
        assert!(!testcases.is_empty(), "a corpus holds at least one testcase before it is scheduled");
        let fuel = testcases.iter().map(|testcase| u128::from(testcase.fuel)).sum::<u128>() / testcases.len() as u128;
        let mean = u64::try_from(fuel).expect("a mean is no more than the largest").saturating_add(EXECUTION_FUEL);
        let mut sum = 0;
        let scores = corpus.targets().weights();
        let sums = corpus.weights().iter().enumerate().zip(testcases).zip(corpus.picks()).map(
            |(((index, weight), testcase), picks)| {
                let weight = weight + scores.get(&index).copied().unwrap_or(0);
                let speed = (mean.saturating_mul(SPEED_RANGE) / testcase.fuel.saturating_add(EXECUTION_FUEL))
                    .clamp(1, SPEED_RANGE * SPEED_RANGE);
                let weight = (weight + FEATURE_WEIGHT / 16) / (picks + 1).isqrt();
                let weight = (weight * speed / SPEED_RANGE).max(1);
                sum += factors.get(index).map_or(weight, |factor| (weight as f64 * factor).max(1.0) as u64);
                sum
            },
        );
        Self { sums: sums.collect() }
    }

    /// The index of a testcase, at random by weight.
    pub(super) fn pick(&self, rng: &mut Rng) -> usize {
        let total = *self.sums.last().expect("not empty");
        let point = rng.below(usize::try_from(total).expect("weights are small")) as u64;
        self.sums.partition_point(|&sum| sum <= point)
    }
}
