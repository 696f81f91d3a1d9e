//! Events as features: what a guest calls `event` with is as worth reaching as an edge.
//!
//! An event's feature is its label and the order of magnitude of its value. Labels are told apart by a hash, [`LABELS`]
//! of them: two that share a number share their features, which hides news but makes none. Features of events have the
//! numbers behind those of the module's edges, [`CELLS`] for each label, each with eight buckets, as edges have;
//! nothing else about them differs, but that they never retire and are not counted as edges.

use crate::sandbox::Observation;
use fuzzbox_instrument::layout::stream::{ENTRY_EVENT, label_hash};

/// Labels that are told apart.
pub(crate) const LABELS: u32 = 1 << 10;

/// Numbers that a label's features have: eight orders of magnitude each.
pub(crate) const CELLS: u32 = CLASSES / u8::BITS;

/// Orders of magnitude of a value: 0, 2^0, 2^1, ... 2^62, and negative ones from -2^0 to -2^63.
const CLASSES: u32 = 128;

/// The features of the events of the last execution, each as often as it was told: its number, and the bucket as one
/// bit of eight.
pub(crate) fn of(observation: Observation<'_>) -> impl Iterator<Item = (u32, u8)> {
    let edges = observation.edges_total() as u32;
    let told = observation.entries().filter(|entry| entry.kind == ENTRY_EVENT);
    told.map(move |entry| {
        let (event, bucket) = feature(entry.text, entry.numbers[0]);
        (edges + event, bucket)
    })
}

/// The feature of an event, as its number behind those of the edges, and the bucket as one bit of eight.
fn feature(label: &[u8], value: i64) -> (u32, u8) {
    let class = class(value);
    let slot = (label_hash(label) % u64::from(LABELS)) as u32;
    (slot * CELLS + class / u8::BITS, 1 << (class % u8::BITS))
}

fn class(value: i64) -> u32 {
    match value {
        0 => 0,
        1.. => 1 + value.ilog2(),
        ..0 => 64 + value.unsigned_abs().ilog2(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_one_magnitude_are_one_feature() {
        let classes = [0, 1, 2, 4, i64::MAX, -1, -2, -4, i64::MIN].map(class);
        assert_eq!(classes, [0, 1, 2, 3, 63, 64, 65, 66, 127]);
        assert_eq!(feature(b"a", 5), feature(b"a", 7));
        assert_ne!(feature(b"a", 5), feature(b"a", 8));
        assert_ne!(feature(b"a", 5), feature(b"b", 5));
        assert!((-70..70).all(|value| feature(b"x", value).0 < LABELS * CELLS));
    }
}
