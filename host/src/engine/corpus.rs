//! The inputs that are worth keeping.

use super::pool::Pool;
use super::rng::Rng;
use super::scores::Targets;
use super::testcase::{FEATURE_WEIGHT, NewTestcase, Scores, Testcase};
use crate::coverage::{Profile, Seen};
use crate::id::InputId;
use fuzzbox_instrument::EdgeSet;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The testcases of a campaign in the order in which they were added, and what all of them showed.
#[derive(Clone, Debug)]
pub struct Corpus {
    testcases: Vec<Testcase>,
    ids: BTreeSet<InputId>,
    seen: Seen,
    /// [`BUCKETS`] for each edge, then for each number of events, once there are some.
    features: Vec<Feature>,
    /// By testcase: what the features that it owns weigh.
    weights: Vec<u64>,
    /// Fuel that the slowest testcase takes.
    slowest: u64,
    /// Spans of testcases, if the guest draws.
    pool: Pool,
    targets: Targets,
    retired: EdgeSet,
    /// What testcases were compared with, each once.
    tokens: Vec<Vec<u8>>,
}

/// Tokens that are kept at most.
const TOKENS_MAX: usize = 512;
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

/// What was new when an input was admitted.
#[derive(Clone, Debug)]
pub(super) struct Admitted {
    /// The testcase's index.
    pub(super) index: usize,
    /// Edges that nobody reached before it, ascending.
    pub(super) new_edges: Vec<u32>,
    /// Features that nobody showed before it, ascending: what it is kept for.
    pub(super) news: Profile,
}

impl Corpus {
    /// An empty corpus for a module with `edges_total` edges.
    pub fn new(edges_total: usize) -> Self {
        Self {
            testcases: Vec::new(),
            ids: BTreeSet::new(),
            seen: Seen::nothing(edges_total),
            features: vec![Feature::default(); edges_total * BUCKETS],
            weights: Vec::new(),
            slowest: 0,
            pool: Pool::default(),
            targets: Targets::default(),
            retired: EdgeSet::default(),
            tokens: Vec::new(),
        }
    }

    /// Takes an input if its profile shows something new, or it has a better score. It counts for the scheduler once it
    /// is [settled](Corpus::settle).
    pub(super) fn admit(&mut self, new: NewTestcase) -> Option<Admitted> {
        let NewTestcase { input, profile, unseen, fuel, sample, scores } = new;
        let id = InputId::of(&input);
        if !(self.seen.is_new(&unseen) || self.targets.is_new(&scores)) || !self.ids.insert(id) {
            return None;
        }
        let news = self.seen.news(&unseen);
        let new_edges = self.seen.add(&news);
        let index = self.testcases.len();
        self.targets.add(index, &scores);
        self.push(Testcase { id, bytes: input.into(), profile, fuel, picks: 0, sample, scores });
        Some(Admitted { index, new_edges, news })
    }

    /// Puts an input that shows the same news at less cost in the place of a testcase that is not settled. Returns the
    /// edges that nobody reached before it. If it is a testcase already nothing changes.
    pub(super) fn shorten(&mut self, index: usize, shorter: NewTestcase) -> Vec<u32> {
        let NewTestcase { input, profile, unseen, fuel, sample, scores } = shorter;
        let id = InputId::of(&input);
        if !self.ids.insert(id) {
            return Vec::new();
        }
        self.ids.remove(&self.testcases[index].id);
        let new_edges = self.seen.add(&unseen);
        self.targets.add(index, &scores);
        let shorter = Testcase { id, bytes: input.into(), profile, fuel, picks: 0, sample, scores };
        let replaced = std::mem::replace(&mut self.testcases[index], shorter);
        if replaced.fuel == self.slowest {
            self.slowest = self.testcases.iter().map(|testcase| testcase.fuel).max().unwrap_or_default();
        }
        self.slowest = self.slowest.max(fuel);
        new_edges
    }

    /// Enters a testcase, once, for the features that it shows.
    pub(super) fn settle(&mut self, index: usize) {
        let cost = |index: usize| (self.testcases[index].bytes.len(), self.testcases[index].fuel, index);
        let own = u32::try_from(index).expect("testcases are far fewer");
        let own_cost = cost(index);
        let profile = &self.testcases[index].profile.0;
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
        self.targets.enter(index, &self.testcases);
        let Testcase { id, sample, .. } = &self.testcases[index];
        if let Some(sample) = sample {
            let (seed, _) = id.0.split_first_chunk().expect("an id is longer");
            self.pool.offer(sample, &mut Rng::of_task(u64::from_le_bytes(*seed), 0, 0));
        }
    }

    /// Keeps what testcases were compared with.
    pub(super) fn add_tokens(&mut self, tokens: Vec<Vec<u8>>) {
        for token in tokens {
            if self.tokens.len() < TOKENS_MAX && !self.tokens.contains(&token) {
                self.tokens.push(token);
            }
        }
    }

    /// What testcases were compared with.
    pub(super) fn tokens(&self) -> &[Vec<u8>] {
        &self.tokens
    }

    /// Spans of the testcases.
    pub(super) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Whose scores are best.
    pub(super) fn targets(&self) -> &Targets {
        &self.targets
    }

    /// See [`Targets::climbed`].
    pub(super) fn climbed(&mut self, label: &[u8], cut: bool) {
        self.targets.climbed(label, cut);
    }

    /// By testcase: the sum over the features that it owns of [`FEATURE_WEIGHT`] divided by the number of testcases
    /// that show it.
    pub(super) fn weights(&self) -> &[u64] {
        &self.weights
    }

    /// How many testcases execute an edge.
    pub(super) fn testcases_with(&self, edge: u32) -> u32 {
        self.features[edge as usize * BUCKETS..][..BUCKETS].iter().map(|feature| feature.testcases).sum()
    }

    /// From now on nothing that this edge shows is new.
    pub(super) fn retire(&mut self, edge: u32) {
        self.seen.retire(edge);
        self.retired.insert(edge);
    }

    /// Whether an edge has retired.
    pub(super) fn is_retired(&self, edge: u32) -> bool {
        self.retired.contains(edge)
    }

    /// Adds the empty input although it shows nothing that may be kept.
    pub(super) fn keep_empty(&mut self) {
        let id = InputId::of(&[]);
        self.ids.insert(id);
        let (profile, scores) = (Profile::default(), Scores::default());
        self.push(Testcase { id, bytes: Arc::from([]), profile, fuel: 0, picks: 0, sample: None, scores });
    }

    fn push(&mut self, testcase: Testcase) {
        self.slowest = self.slowest.max(testcase.fuel);
        self.testcases.push(testcase);
        self.weights.push(0);
    }

    /// The testcases in the order in which they were added.
    pub fn testcases(&self) -> &[Testcase] {
        &self.testcases
    }

    /// Fuel that the slowest testcase takes, in units.
    pub(super) fn slowest(&self) -> u64 {
        self.slowest
    }

    pub(super) fn picked(&mut self, index: usize) {
        self.testcases[index].picks += 1;
    }

    /// What all testcases showed.
    pub fn seen(&self) -> &Seen {
        &self.seen
    }

    /// blake3 over the sorted input ids: equal for equal sets of inputs.
    pub fn hash(&self) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new();
        for id in &self.ids {
            hasher.update(&id.0);
        }
        hasher.finalize()
    }
}
