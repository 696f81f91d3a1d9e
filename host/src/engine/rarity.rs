//! What testcases weigh when the next one is chosen: by how rare the features are that they show at the least cost.

use super::testcase::{FEATURE_WEIGHT, Testcase};

/// Buckets of hit counts that an edge can show.
const BUCKETS: usize = u8::BITS as usize;

/// Who shows a feature.
#[derive(Clone, Copy, Debug, Default)]
struct Feature {
    /// The testcase that shows it at the least cost, by index: the shortest, then the one that takes the least fuel,
    /// then the first.
    owner: u32,
    /// How many testcases show it.
    testcases: u32,
}

/// The weights of all testcases, kept while they are entered.
#[derive(Clone, Debug)]
pub(super) struct Weights {
    /// [`BUCKETS`] for each edge, then for each number of events, once there are some.
    features: Vec<Feature>,
    /// By testcase: what the features that it owns weigh.
    weights: Vec<u64>,
    /// The testcases that were entered, in this order.
    entered: Vec<usize>,
}

impl Weights {
    /// There are no testcases, of a module with `edges_total` edges.
    pub(super) fn new(edges_total: usize) -> Self {
        Self { features: vec![Feature::default(); edges_total * BUCKETS], weights: Vec::new(), entered: Vec::new() }
    }

    /// There is another testcase, which weighs nothing until it is [entered](Weights::enter).
    pub(super) fn add(&mut self) {
        self.weights.push(0);
    }

    /// Enters a testcase, once, for the features that it shows.
    pub(super) fn enter(&mut self, index: usize, testcases: &[Testcase]) {
        self.entered.push(index);
        let cost = |index: usize| (testcases[index].bytes.len(), testcases[index].fuel, index);
        let own = u32::try_from(index).expect("testcases are far fewer");
        let own_cost = cost(index);
        let profile = &testcases[index].profile.0;
        let cells = profile.last().map_or(0, |&(last, _)| (last as usize + 1) * BUCKETS);
        self.features.resize(self.features.len().max(cells), Feature::default());
        for &(edge, bucket) in profile {
            let feature = &mut self.features[edge as usize * BUCKETS + bucket.trailing_zeros() as usize];
            let before = feature.testcases;
            feature.testcases += 1;
            let owner = feature.owner as usize;
            if before == 0 {
                feature.owner = own;
                self.weights[index] += FEATURE_WEIGHT;
            } else if own_cost < cost(owner) {
                feature.owner = own;
                self.weights[owner] -= FEATURE_WEIGHT / u64::from(before);
                self.weights[index] += FEATURE_WEIGHT / u64::from(before + 1);
            } else {
                self.weights[owner] -= FEATURE_WEIGHT / u64::from(before) - FEATURE_WEIGHT / u64::from(before + 1);
            }
        }
    }

    /// Enters again those that were entered: they show something else.
    pub(super) fn enter_again(&mut self, testcases: &[Testcase]) {
        let entered = std::mem::take(&mut self.entered);
        self.features.fill(Feature::default());
        self.weights.fill(0);
        entered.into_iter().for_each(|index| self.enter(index, testcases));
    }

    /// By testcase: the sum over the features that it owns of [`FEATURE_WEIGHT`] divided by the number of testcases
    /// that show it.
    pub(super) fn by_testcase(&self) -> &[u64] {
        &self.weights
    }

    /// How many testcases execute an edge.
    pub(super) fn testcases_with(&self, edge: u32) -> u32 {
        self.features[edge as usize * BUCKETS..][..BUCKETS].iter().map(|feature| feature.testcases).sum()
    }
}
