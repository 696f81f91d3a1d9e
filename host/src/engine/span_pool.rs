//! Spans of testcases, to be used in others.

use super::rng::Rng;
use crate::stream::Node;
use std::collections::BTreeMap;

/// Spans that are kept of each label.
const FRAGMENTS_MAX: usize = 64;
/// Labels of which spans are kept.
const LABELS_MAX: usize = 4096;

/// By label, some of the spans that testcases had: a uniform sample of all that were ever offered (Vitter, "Random
/// sampling with a reservoir", algorithm R).
#[derive(Clone, Debug, Default)]
pub(super) struct Pool(BTreeMap<u64, Reservoir>);

#[derive(Clone, Debug, Default)]
struct Reservoir {
    fragments: Vec<Node>,
    offered: usize,
}

impl Pool {
    /// Offers all spans of a sample. What is kept depends on `rng`, so it is one that belongs to the sample.
    pub(super) fn offer(&mut self, sample: &Node, rng: &mut Rng) {
        sample.visit_spans(&mut |span, _| {
            let label = span.label().expect("it is a span");
            if self.0.len() == LABELS_MAX && !self.0.contains_key(&label) {
                return;
            }
            let Reservoir { fragments, offered } = self.0.entry(label).or_default();
            *offered += 1;
            if fragments.len() < FRAGMENTS_MAX {
                fragments.push(span.clone());
            } else if let Some(fragment) = fragments.get_mut(rng.below(*offered)) {
                *fragment = span.clone();
            }
        });
    }

    /// A span with this label.
    pub(super) fn pick(&self, label: u64, rng: &mut Rng) -> Option<&Node> {
        let fragments = &self.0.get(&label)?.fragments;
        Some(rng.pick(fragments))
    }
}
