//! Chooses which testcase is mutated next.

use super::corpus::{Corpus, Feature};
use super::rng::Rng;

/// Weights over the testcases of a corpus, fixed for one round.
///
/// Each feature is *owned* by the testcase that shows it at the least cost (length, then fuel), as AFL's favoured
/// entries. A testcase weighs more the more features it owns that few others show, and less the more often it was chosen.
#[derive(Clone, Debug)]
pub(super) struct Scheduler {
    /// Running sums of the weights.
    sums: Vec<u64>,
}

impl Scheduler {
    /// A weight that divides well.
    const UNIT: u64 = 1 << 20;

    pub(super) fn new(corpus: &Corpus) -> Self {
        let testcases = corpus.testcases();
        assert!(!testcases.is_empty(), "a corpus holds at least one testcase before it is scheduled");
        let mut weights = vec![Self::UNIT / 16; testcases.len()];
        for Feature { owner, testcases } in corpus.features() {
            weights[owner] += Self::UNIT / u64::from(testcases);
        }
        let mut sum = 0;
        let sums = weights.iter().zip(testcases).map(|(weight, testcase)| {
            sum += (weight / (testcase.picks + 1).isqrt()).max(1);
            sum
        });
        Self { sums: sums.collect() }
    }

    /// The index of a testcase, at random by weight.
    pub(super) fn pick(&self, rng: &mut Rng) -> usize {
        let total = *self.sums.last().expect("not empty");
        let point = rng.below(usize::try_from(total).expect("weights are small")) as u64;
        self.sums.partition_point(|&sum| sum <= point)
    }
}
