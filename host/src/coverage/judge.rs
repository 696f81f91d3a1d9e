//! Whether an execution shows something new, at the cost of what it did that no execution before it did.
//!
//! Counters must be solved for the counts of edges, and that takes longer than most functions run. But functions mostly do what
//! they did before. So for each function that was executed a hash of its counters is looked up; only if it is not known, the function is
//! solved and its features are looked up.

use super::{Added, Seen, bucket, hash};
use crate::sandbox::{Executed, Observation};

/// Hashes that are remembered, as a power of 2. A new one takes the place of an old one.
const KNOWN_BITS: u32 = 15;

/// Remembers what a target's functions did. Belongs to one worker and one variant of the target.
#[derive(Debug)]
pub struct Judge {
    /// By the highest bits of a hash: the hash. What it stands for shows nothing that the corpus had not shown.
    known: Box<[u64]>,
}

impl Judge {
    /// Knows nothing.
    pub fn new() -> Self {
        // Place 0 is that of hashes that begin with zeros, so 0 is not the hash that it starts with.
        Self { known: vec![u64::MAX; 1 << KNOWN_BITS].into() }
    }

    /// Whether the last execution showed a feature that is neither in `seen` nor in `added`. `seen` may only grow from one
    /// call to the next.
    ///
    /// Where the observation is not exact this says nothing of use.
    pub fn is_news(&mut self, observation: Observation<'_>, seen: &Seen, added: &Added) -> bool {
        let mut news = false;
        observation.functions(|function| {
            let hash = hash_of(function);
            let place = (hash >> (u64::BITS - KNOWN_BITS)) as usize;
            if self.known[place] == hash {
                return;
            }
            let mut known = true;
            function.edges(|edge, count| {
                let bucket = bucket(count);
                if !seen.has(edge, bucket) {
                    known = false;
                    news |= !added.has(edge, bucket);
                }
            });
            if known {
                self.known[place] = hash;
            }
        });
        news
    }
}

impl Default for Judge {
    fn default() -> Self {
        Self::new()
    }
}

/// A hash over all that a function's counts follow from.
fn hash_of(function: Executed<'_>) -> u64 {
    let (pairs, rest) = function.counters.as_chunks::<2>();
    let pairs = pairs.iter().map(|&[low, high]| u64::from(low) | u64::from(high) << 32);
    let rest = rest.iter().map(|&count| u64::from(count));
    let mut hash = hash::of(function.index() as u64, pairs.chain(rest));
    function.frames(|frame| hash = hash::of(hash, std::iter::once(frame)));
    hash
}
