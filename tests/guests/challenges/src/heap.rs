//! A binary heap.

use fuzzbox_guest::{Source, label, property};
use std::fmt;

/// A heap or nothing; no key is less than the one above it.
#[derive(Clone)]
pub(crate) struct Heap(Option<Box<Node>>);

#[derive(Clone)]
struct Node {
    key: i64,
    left: Heap,
    right: Heap,
}

impl fmt::Debug for Heap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(node) => write!(f, "({}, {:?}, {:?})", node.key, node.left, node.right),
            None => f.write_str("-"),
        }
    }
}

impl Heap {
    fn draw(source: &mut Source, least: i64) -> Self {
        source.span(label("challenges::Heap"), |source| {
            source.deeper(|source| {
                let p_some = if source.is_too_deep() { 0.0 } else { 0.5 };
                if !source.chance(p_some) {
                    return Self(None);
                }
                let key = source.int(least..);
                Self::new(key, Self::draw(source, key), Self::draw(source, key))
            })
        })
    }

    fn new(key: i64, left: Self, right: Self) -> Self {
        Self(Some(Box::new(Node { key, left, right })))
    }

    fn merged(self, other: Self) -> Self {
        match (self.0, other.0) {
            (None, other) => Self(other),
            (one, None) => Self(one),
            (Some(one), Some(other)) => {
                let (top, below) = if one.key > other.key { (other, one) } else { (one, other) };
                Self::new(top.key, Self(Some(below)).merged(top.right), top.left)
            }
        }
    }

    /// All keys, each before those below it.
    fn keys(&self) -> Vec<i64> {
        let (mut keys, mut left) = (Vec::new(), vec![self]);
        while let Some(heap) = left.pop() {
            if let Some(node) = &heap.0 {
                keys.push(node.key);
                left.extend([&node.left, &node.right]);
            }
        }
        keys
    }

    /// Not sorted at all, below the first two.
    fn sorted_keys_wrongly(self) -> Vec<i64> {
        let Some(node) = self.0 else { return Vec::new() };
        let rest = node.left.merged(node.right).keys();
        std::iter::once(node.key).chain(rest).collect()
    }
}

property! {
    /// The keys of a heap come out sorted.
    #[should_panic(expected = "not sorted")]
    pub fn binheap(source) {
        let heap = Heap::draw(source, i64::MIN);
        source.note_value("heap", &heap);
        assert!(heap.sorted_keys_wrongly().is_sorted(), "not sorted");
    }
}
