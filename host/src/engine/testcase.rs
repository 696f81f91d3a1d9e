//! Testcases, and what their executions showed.

use super::lengths::Length;
use crate::coverage::Profile;
use crate::id::InputId;
use crate::sandbox::Observation;
use crate::stream::Node;
use fuzzbox_instrument::layout::stream::ENTRY_TARGET;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a feature weighs that a single testcase shows; one that n show weighs an nth. Divides well.
pub(super) const FEATURE_WEIGHT: u64 = 1 << 20;

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
    /// What its execution drew, if the guest draws.
    pub sample: Option<Node>,
    /// How a grammar derives it, if there is one that does.
    pub derivation: Option<Node>,
    /// What of it counts others of its bytes, as far as that is known.
    pub(super) lengths: Vec<Length>,
    /// The scores that it told.
    pub scores: Scores,
}

/// An input that shows something which was not known when the round began.
#[derive(Clone, Debug, Default)]
pub(super) struct NewTestcase {
    pub(super) input: Vec<u8>,
    pub(super) profile: Profile,
    /// What of it was not known when the round began: all that can be new when it is merged.
    pub(super) unseen: Profile,
    pub(super) fuel: u64,
    /// What it drew, if the guest draws.
    pub(super) sample: Option<Node>,
    /// The scores that it told.
    pub(super) scores: Scores,
}

/// The score of each label that an execution told: the largest, if it told several. What is no number is left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scores(pub(super) BTreeMap<Box<[u8]>, f64>);

impl Scores {
    /// Those of the last execution.
    pub(super) fn of(observation: Observation<'_>) -> Self {
        let mut scores = Self::default();
        for (label, score) in told(observation) {
            scores.put(label, score);
        }
        scores
    }

    /// The score of a label.
    pub(super) fn get(&self, label: &[u8]) -> Option<f64> {
        self.0.get(label).copied()
    }

    /// Enters a score if it is better than what is here; returns whether it was.
    pub(super) fn put(&mut self, label: &[u8], score: f64) -> bool {
        let better = self.get(label).is_none_or(|best| score > best);
        if better {
            self.0.insert(label.into(), score);
        }
        better
    }
}

/// What an execution told, as it did.
pub(super) fn told(observation: Observation<'_>) -> impl Iterator<Item = (&[u8], f64)> {
    let entries = observation.entries().filter(|entry| entry.kind == ENTRY_TARGET);
    let scores = entries.map(|entry| (entry.text, f64::from_bits(entry.numbers[0].cast_unsigned())));
    scores.filter(|(_, score)| !score.is_nan())
}
