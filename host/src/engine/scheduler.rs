//! Chooses which testcase is mutated next.
//!
//! # Time is shared, not executions
//!
//! Time is shared, not executions. A testcase's weight for the scheduler is what its features are worth, divided by
//! what its execution costs. New testcases that reach new edges are trimmed in the next round, beside its mutants
//! (alone they are too few for all workers), and count from then on.

use super::corpus::Corpus;
use super::rng::Rng;
use super::testcase::{FEATURE_WEIGHT, Testcase};

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
    /// What an execution takes, in the mean over testcases, with what restoring takes.
    mean: u64,
}

/// Fuel that restoring and judging take about as long as.
pub(super) const EXECUTION_FUEL: u64 = 4_000;
/// Mutants of a testcase before another is chosen,
pub(super) const PICK_EXECS: usize = 16;
/// if these take no more than so many times as much as those of the mean one: whoever has the slowest testcase last
/// makes all others wait.
const PICK_COST_MAX: u64 = 4;
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
                let cost =
                    testcase.fuel.saturating_add(EXECUTION_FUEL).saturating_mul(mutants(testcase.fuel, mean) as u64);
                let speed =
                    (mean.saturating_mul(SPEED_RANGE * PICK_EXECS as u64) / cost).clamp(1, SPEED_RANGE * SPEED_RANGE);
                let weight = (weight + FEATURE_WEIGHT / 16) / (picks + 1).isqrt();
                let weight = (weight * speed / SPEED_RANGE).max(1);
                sum += factors.get(index).map_or(weight, |factor| (weight as f64 * factor).max(1.0) as u64);
                sum
            },
        );
        Self { sums: sums.collect(), mean }
    }

    /// How many mutants a testcase has when it is picked.
    pub(super) fn mutants(&self, testcase: &Testcase) -> usize {
        mutants(testcase.fuel, self.mean)
    }

    /// The index of a testcase, at random by weight.
    pub(super) fn pick(&self, rng: &mut Rng) -> usize {
        let total = *self.sums.last().expect("not empty");
        let point = rng.below(usize::try_from(total).expect("weights are small")) as u64;
        self.sums.partition_point(|&sum| sum <= point)
    }
}

/// How many mutants a testcase has when it is picked, whose execution takes `fuel` units, and with what restoring takes
/// one takes `mean` in the mean.
fn mutants(fuel: u64, mean: u64) -> usize {
    let affordable = mean.saturating_mul(PICK_COST_MAX * PICK_EXECS as u64) / fuel.saturating_add(EXECUTION_FUEL);
    usize::try_from(affordable).map_or(PICK_EXECS, |affordable| affordable.clamp(1, PICK_EXECS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pick_takes_no_more_than_four_of_the_mean_one_unless_it_is_a_single_mutant() {
        let mean = 1_000_000;
        let mutants = |times: u64| mutants(times * mean - EXECUTION_FUEL, mean);
        assert_eq!([1, 4, 5, 8, 64, 1_000].map(mutants), [16, 16, 12, 8, 1, 1]);
        assert_eq!(super::mutants(0, mean), PICK_EXECS);
    }
}
