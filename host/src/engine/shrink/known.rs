//! Attempts that are known, so that nothing is executed twice.
//!
//! An execution that drew exactly `c`, and did not ask how long its stream is, is what any stream that begins with `c`
//! gives. And no canonical stream begins with another one, because a guest that has drawn the same so far does the same
//! next. So among the canonical streams in lexical order, the one that a stream begins with, if there is one, is the
//! greatest that is not greater than the stream. Bytes of streams compare for this as well as the streams: no choice's
//! bytes begin with another's.

use super::subject::{Attempt, Order, Tail, Verdict};
use crate::stream::{Choice, Trace, encode};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// Draws that the kept traces may have in all. Beyond it, what is known is forgotten, and may be executed again.
const DRAWS_MAX: usize = 2 << 20;
/// Streams of one blob with more bytes are large.
const LARGE_BYTES: usize = 2048;
/// Attempts that are made ahead and kept.
const AHEAD_MAX: usize = 4096;

/// Attempts by stream.
#[derive(Debug, Default)]
pub(super) struct Attempts {
    /// By hash of what was given, for those who were given what they didn't draw.
    given: BTreeMap<Key, Arc<Attempt>>,
    /// By the bytes of the canonical stream.
    canonical: BTreeMap<Box<[u8]>, Arc<Attempt>>,
    /// Made ahead of the question; nobody knows them.
    ahead: BTreeMap<Key, Arc<Attempt>>,
    draws: usize,
    canonical_len_max: usize,
}

type Key = [u8; 16];

impl Attempts {
    /// The attempt that `order` gives, if that is known.
    pub(super) fn get(&self, order: &Order) -> Option<Arc<Attempt>> {
        let mut bytes = encode(&order.choices);
        if let Some(attempt) = self.given.get(&key(&bytes, order.tail)) {
            return Some(attempt.clone());
        }
        if order.tail == Tail::Zero {
            let len = bytes.len().max(self.canonical_len_max);
            bytes.resize(len, 0);
        }
        let to_it = (Bound::Unbounded, Bound::Included(&*bytes));
        let (canonical, attempt) = self.canonical.range::<[u8], _>(to_it).next_back()?;
        bytes.starts_with(canonical).then(|| attempt.clone())
    }

    /// Takes in what executing `order` gave.
    pub(super) fn put(&mut self, order: &Order, attempt: Arc<Attempt>) {
        let given = encode(&order.choices);
        let bytes = encode(&attempt.trace.choices);
        // Of a large input that does not fail, the verdict is all there is to know. (What fails is compared with the
        // current stream.)
        let is_large = bytes.len() > LARGE_BYTES && attempt.trace.draws.len() == 1 && attempt.verdict != Verdict::Same;
        let attempt = if is_large {
            Arc::new(Attempt { verdict: attempt.verdict.clone(), trace: Trace::default() })
        } else {
            attempt
        };
        let size = attempt.trace.draws.len() + attempt.trace.spans.len() + 16;
        let size = size + if is_large { 0 } else { bytes.len() / 16 };
        if self.draws + size > DRAWS_MAX {
            *self = Self::default();
        }
        self.draws += size;
        self.given.insert(key(&given, order.tail), attempt.clone());
        // A guest that asked for the length of its stream may do something else with another that begins so.
        if attempt.verdict != Verdict::Overrun && !is_large && attempt.trace.entropy.is_none() {
            self.canonical_len_max = self.canonical_len_max.max(bytes.len());
            self.canonical.insert(bytes.into(), attempt);
        }
    }

    /// Whether `order` is known or was executed ahead.
    pub(super) fn has(&self, order: &Order) -> bool {
        self.ahead.contains_key(&key(&encode(&order.choices), order.tail)) || self.get(order).is_some()
    }

    /// Keeps what was executed ahead.
    pub(super) fn put_ahead(&mut self, order: &Order, attempt: Attempt) {
        if self.ahead.len() >= AHEAD_MAX {
            self.ahead.clear();
        }
        self.ahead.insert(key(&encode(&order.choices), order.tail), Arc::new(attempt));
    }

    /// Takes out what was executed ahead.
    pub(super) fn take_ahead(&mut self, order: &Order) -> Option<Arc<Attempt>> {
        self.ahead.remove(&key(&encode(&order.choices), order.tail))
    }
}

/// Drops choices at the end that the tail gives as well.
pub(super) fn trim(mut choices: Vec<Choice>, tail: Tail) -> Order {
    if tail == Tail::Zero {
        while choices.last() == Some(&Choice::ZERO) {
            choices.pop();
        }
    }
    Order { choices, tail }
}

fn key(bytes: &[u8], tail: Tail) -> Key {
    let mut hasher = blake3::Hasher::new();
    match tail {
        Tail::Zero => hasher.update(&[0]),
        Tail::Random(seed) => hasher.update(&[1]).update(&seed.to_le_bytes()),
    };
    let hash = hasher.update(bytes).finalize();
    *hash.as_bytes().first_chunk().expect("a hash has 32 bytes")
}
