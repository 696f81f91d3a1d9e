//! The inputs that are worth keeping.

use crate::coverage::{Profile, Seen};
use crate::store::InputId;
use fuzzbox_instrument::EdgeSet;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// An input that showed something new when it was added.
#[derive(Clone, Debug)]
pub struct Testcase {
    /// blake3 of `bytes`.
    pub id: InputId,
    /// The input.
    pub bytes: Arc<[u8]>,
    /// What its execution showed.
    pub profile: Profile,
    /// Fuel that its execution took.
    pub fuel: u64,
    /// How often it was chosen to be mutated.
    pub picks: u64,
}

/// The testcases of a campaign in the order in which they were added, and what all of them showed.
#[derive(Clone, Debug)]
pub struct Corpus {
    testcases: Vec<Testcase>,
    ids: BTreeSet<InputId>,
    seen: Seen,
    /// By edge and bucket bit.
    features: BTreeMap<(u32, u8), Feature>,
    retired: EdgeSet,
}

/// Who shows a feature.
#[derive(Clone, Copy, Debug)]
pub(super) struct Feature {
    /// The testcase that shows it at the least cost, by index: the shortest, then the one that takes the least fuel, then the first.
    pub(super) owner: usize,
    /// How many testcases show it.
    pub(super) testcases: u32,
}

impl Corpus {
    /// An empty corpus for a module with `edges_total` edges.
    pub fn new(edges_total: usize) -> Self {
        Self {
            testcases: Vec::new(),
            ids: BTreeSet::new(),
            seen: Seen::nothing(edges_total),
            features: BTreeMap::new(),
            retired: EdgeSet::default(),
        }
    }

    /// Adds an input if its profile shows something new; returns the edges that nobody reached before it, `None` if it was not added.
    pub fn offer(&mut self, bytes: &[u8], profile: Profile, fuel: u64) -> Option<Vec<u32>> {
        let id = InputId::of(bytes);
        if !self.seen.is_new(&profile) || !self.ids.insert(id) {
            return None;
        }
        let new_edges = self.seen.add(&profile);
        self.testcases.push(Testcase { id, bytes: bytes.into(), profile, fuel, picks: 0 });
        self.own(self.testcases.len() - 1);
        Some(new_edges)
    }

    /// Enters a testcase for the features that it shows.
    fn own(&mut self, index: usize) {
        let cost = |index: usize| (self.testcases[index].bytes.len(), self.testcases[index].fuel, index);
        for &feature in &self.testcases[index].profile.0 {
            let entry = self.features.entry(feature).or_insert(Feature { owner: index, testcases: 0 });
            entry.testcases += 1;
            if cost(index) < cost(entry.owner) {
                entry.owner = index;
            }
        }
    }

    /// Who shows which feature, in the order of features.
    pub(super) fn features(&self) -> impl Iterator<Item = Feature> {
        self.features.values().copied()
    }

    /// How many testcases execute an edge.
    pub(super) fn testcases_with(&self, edge: u32) -> u32 {
        self.features.range((edge, 0)..=(edge, u8::MAX)).map(|(_, feature)| feature.testcases).sum()
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
        self.testcases.push(Testcase { id, bytes: Arc::from([]), profile: Profile::default(), fuel: 0, picks: 0 });
    }

    /// The testcases in the order in which they were added.
    pub fn testcases(&self) -> &[Testcase] {
        &self.testcases
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
