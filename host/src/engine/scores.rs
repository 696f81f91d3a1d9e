//! Scores that the guest wants to be large (`target`), and who has the best.
//!
//! As in targeted property-based testing (Löscher and Sagonas, "Targeted property-based testing", ISSTA 2017) and
//! Hypothesis: a testcase is worth keeping if it has a better score for some label than all before it. So it is for
//! what it costs: the Pareto front are the testcases beside which none is simpler, has no lower score, and all their
//! kinds of spans. The scheduler gives weight to both.

use super::testcase::{FEATURE_WEIGHT, Scores, Testcase, told};
use crate::sandbox::Observation;
use crate::stream::{Node, shortlex};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Labels whose scores are kept; a guest that has more is not helped with those that come later.
const LABELS_MAX: usize = 64;
/// Testcases on the front; while there are so many, none comes to them but the best of a label.
const FRONT_MAX: usize = 64;
/// What the best score of a label weighs for the scheduler.
const BEST_WEIGHT: u64 = 8 * FEATURE_WEIGHT;
/// What a place on the front does.
const FRONT_WEIGHT: u64 = FEATURE_WEIGHT;
/// Improvements that the first climb for a label may make; each further one twice as many.
const IMPROVEMENTS_START: u32 = 10;

/// The best scores of a corpus.
#[derive(Clone, Debug, Default)]
pub(super) struct Targets {
    best: BTreeMap<Box<[u8]>, Best>,
    /// The Pareto front: testcases by index.
    front: Vec<usize>,
}

/// Who has the best score of a label.
#[derive(Clone, Copy, Debug)]
struct Best {
    score: f64,
    testcase: usize,
    /// Nothing better is near this score.
    climbed: Option<f64>,
    /// How many improvements the next climb may make.
    improvements_max: u32,
}

/// A score to be improved.
#[derive(Clone, Debug)]
pub(super) struct Climb {
    pub(super) label: Box<[u8]>,
    /// The testcase that has the best.
    pub(super) testcase: usize,
    pub(super) improvements_max: u32,
}

impl Targets {
    /// Adds those of `scores` to `added` that are better than what is in both; returns whether there were some.
    pub(super) fn improve(&self, added: &mut Scores, scores: &Scores) -> bool {
        let new = scores.0.iter().filter(|(label, score)| self.is_better(label, **score));
        new.fold(false, |news, (label, &score)| added.put(label, score) | news)
    }

    /// Whether a score is better than all that testcases have for its label.
    fn is_better(&self, label: &[u8], score: f64) -> bool {
        self.best.get(label).map_or(self.best.len() < LABELS_MAX, |best| score > best.score)
    }

    /// Whether the last execution has such a score, and better than what is in `added`. Costs nothing if there are no
    /// scores.
    pub(super) fn is_news(&self, observation: Observation<'_>, added: &Scores) -> bool {
        let is_new = |(label, score)| self.is_better(label, score) && added.get(label).is_none_or(|best| score > best);
        observation.can_tell() && told(observation).any(is_new)
    }

    /// Whether one of these scores is better.
    pub(super) fn is_new(&self, scores: &Scores) -> bool {
        scores.0.iter().any(|(label, &score)| self.is_better(label, score))
    }

    /// Enters the scores of a testcase.
    pub(super) fn add(&mut self, testcase: usize, scores: &Scores) {
        for (label, &score) in &scores.0 {
            if self.is_better(label, score) {
                let (climbed, improvements_max) = self
                    .best
                    .get(label)
                    .map_or((None, IMPROVEMENTS_START), |best| (best.climbed, best.improvements_max));
                self.best.insert(label.clone(), Best { score, testcase, climbed, improvements_max });
            }
        }
    }

    /// Lets a testcase with scores have its place on the front, if it has one.
    pub(super) fn enter(&mut self, index: usize, testcases: &[Testcase]) {
        let new = &testcases[index];
        if new.scores.0.is_empty() || self.front.iter().any(|&other| dominates(&testcases[other], new)) {
            return;
        }
        self.front.retain(|&other| !dominates(new, &testcases[other]));
        if self.front.len() == FRONT_MAX {
            let Some(place) = self.front.iter().position(|&other| !self.is_best(other)) else { return };
            if !self.is_best(index) {
                return;
            }
            self.front.remove(place);
        }
        self.front.push(index);
    }

    /// Whether a testcase has the best score of some label.
    pub(super) fn is_best(&self, testcase: usize) -> bool {
        self.best.values().any(|best| best.testcase == testcase)
    }

    /// What testcases weigh for their scores, by index.
    pub(super) fn weights(&self) -> BTreeMap<usize, u64> {
        let mut weights = BTreeMap::new();
        let front = self.front.iter().map(|&testcase| (testcase, FRONT_WEIGHT));
        for (testcase, weight) in front.chain(self.best.values().map(|best| (best.testcase, BEST_WEIGHT))) {
            *weights.entry(testcase).or_insert(0) += weight;
        }
        weights
    }

    /// The scores that became better since they were last improved, or were not improved as far as they can be.
    pub(super) fn climbs(&self) -> Vec<Climb> {
        let due = self.best.iter().filter(|(_, best)| best.climbed != Some(best.score));
        due.map(|(label, best)| Climb {
            label: label.clone(),
            testcase: best.testcase,
            improvements_max: best.improvements_max,
        })
        .collect()
    }

    /// What came of a climb was entered; if it was not cut off, there is nothing better near.
    pub(super) fn climbed(&mut self, label: &[u8], cut: bool) {
        if let Some(best) = self.best.get_mut(label) {
            best.climbed = (!cut).then_some(best.score);
            best.improvements_max = best.improvements_max.saturating_mul(2);
        }
    }
}

/// Whether a testcase is as good as another in all that counts, and better in something.
fn dominates(a: &Testcase, b: &Testcase) -> bool {
    let simpler = simplicity(a, b);
    let labels = b.scores.0.iter().map(|(label, score)| (a.scores.get(label), *score));
    let (mut better, more) = (simpler == Ordering::Less, a.scores.0.len() > b.scores.0.len());
    for (ours, theirs) in labels {
        match ours {
            Some(ours) if ours >= theirs => better |= ours > theirs,
            _ => return false,
        }
    }
    simpler != Ordering::Greater && (better || more) && has_spans_of(a, b)
}

/// Whether every kind of span that `b` drew `a` drew too: what was never seen in a simple testcase is worth its place
/// in another.
fn has_spans_of(a: &Testcase, b: &Testcase) -> bool {
    let labels = |testcase: &Testcase| testcase.sample.as_ref().map(Node::labels).unwrap_or_default();
    labels(b).is_subset(&labels(a))
}

/// The order of simplicity, of what was drawn if the guest draws.
fn simplicity(a: &Testcase, b: &Testcase) -> Ordering {
    match (a.sample.as_ref().map(Node::choices), b.sample.as_ref().map(Node::choices)) {
        (Some(a), Some(b)) => shortlex(&a, &b),
        _ => (a.bytes.len(), &a.bytes).cmp(&(b.bytes.len(), &b.bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coverage::Profile;
    use crate::id::InputId;
    use crate::stream::sample::tests::alternative;

    fn scores(scores: &[(&str, f64)]) -> Scores {
        Scores(scores.iter().map(|(label, score)| (label.as_bytes().into(), *score)).collect())
    }

    fn draw() -> Node {
        let draw = alternative(1, 3);
        Node::draw(draw, draw.simplest())
    }

    fn testcase(bytes: &[u8], told: &[(&str, f64)]) -> Testcase {
        let profile = Profile::default();
        Testcase {
            id: InputId::of(bytes),
            bytes: bytes.into(),
            profile,
            fuel: 1,
            sample: None,
            derivation: None,
            lengths: Vec::new(),
            scores: scores(told),
        }
    }

    #[test]
    fn only_what_is_better_for_some_label_is_news() {
        let mut targets = Targets::default();
        let first = scores(&[("a", 1.0), ("b", 5.0)]);
        assert!(targets.is_new(&first));
        targets.add(0, &first);
        assert!(!targets.is_new(&first) && !targets.is_new(&scores(&[("a", 0.5)])));
        assert!(targets.is_new(&scores(&[("a", 0.5), ("b", 5.5)])));
        // A task says the same thing once.
        let mut added = Scores::default();
        assert!(targets.improve(&mut added, &scores(&[("b", 6.0)])));
        assert!(!targets.improve(&mut added, &scores(&[("b", 5.5)])));
    }

    #[test]
    fn labels_beyond_the_limit_are_left_out() {
        let mut targets = Targets::default();
        for label in 0..2 * LABELS_MAX {
            targets.add(0, &scores(&[(&label.to_string(), 1.0)]));
        }
        assert_eq!(targets.best.len(), LABELS_MAX);
    }

    #[test]
    fn the_front_holds_what_nothing_dominates() {
        let testcases = [
            testcase(b"long", &[("a", 9.0)]),
            testcase(b"s", &[("a", 1.0)]),
            testcase(b"mid", &[("a", 0.5)]),
            testcase(b"m", &[("a", 1.0)]),
            testcase(b"n", &[("a", 1.0), ("b", 0.0)]),
        ];
        let mut targets = Targets::default();
        (0..testcases.len()).for_each(|index| {
            targets.add(index, &testcases[index].scores);
            targets.enter(index, &testcases);
        });
        // The third is longer and worse than the second, which is later in order than the fourth.
        assert_eq!(targets.front, [0, 3, 4]);
        assert_eq!(
            targets.weights(),
            BTreeMap::from([(0, FRONT_WEIGHT + BEST_WEIGHT), (3, FRONT_WEIGHT), (4, FRONT_WEIGHT + BEST_WEIGHT),])
        );
    }

    #[test]
    fn a_simpler_testcase_without_some_kind_of_span_dominates_none_that_has_it() {
        let drawn = |bytes: &[u8], labels: &[u64]| {
            let spans = labels.iter().map(|&label| Node::span(label, vec![draw()])).collect();
            Testcase { sample: Some(Node::span(0, spans)), ..testcase(bytes, &[("a", 1.0)]) }
        };
        let draw_two = drawn(b"two", &[7, 7]);
        assert!(dominates(&drawn(b"one", &[7]), &draw_two) && !dominates(&draw_two, &drawn(b"one", &[7])));
        assert!(!dominates(&drawn(b"one", &[8]), &draw_two));
        assert!(!dominates(&drawn(b"one", &[7]), &drawn(b"both", &[7, 8])));
    }

    #[test]
    fn a_score_is_climbed_from_until_nothing_near_is_better() {
        let mut targets = Targets::default();
        targets.add(3, &scores(&[("a", 1.0)]));
        let first = targets.climbs();
        assert_eq!((first.len(), first[0].testcase, first[0].improvements_max), (1, 3, IMPROVEMENTS_START));
        targets.climbed(b"a", true);
        assert_eq!(targets.climbs()[0].improvements_max, 2 * IMPROVEMENTS_START);
        targets.climbed(b"a", false);
        assert!(targets.climbs().is_empty());
        targets.add(4, &scores(&[("a", 2.0)]));
        assert_eq!(targets.climbs()[0].testcase, 4);
    }
}
