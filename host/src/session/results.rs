//! What inputs show, kept from one process to the next.
//!
//! Results are believed: what they say of an input is not executed again, so whoever could write them could hide a
//! failure. So they lie in the user's cache directory, as compiled code does, and nothing in a store is taken for one.
//! An entry has all results of one module under the same settings, as the same sources of fuzzbox judged them. It is
//! read whole, and written whole with what another process wrote meanwhile; any may be deleted at any time.

use crate::engine::Results;
use crate::id::InputId;
use crate::sandbox::{Candidate, Target};
use anyhow::Result;

/// The kind of cache entries that hold results.
const KIND: &str = "results";

/// Oldest entries are removed when they take more than this together, in bytes.
const BYTES_MAX: u64 = 1 << 30;

/// The sources of fuzzbox that this is built of: others may count otherwise.
const SOURCES: &str = env!("FUZZBOX_SOURCES");

/// What is known of a target's inputs.
pub(super) fn load(target: &Target) -> Results {
    known(target, &target.candidate)
}

/// What is known of the inputs of a module, where `target` was executed.
pub(super) fn known(target: &Target, candidate: &Candidate) -> Results {
    let mut results = Results::of(candidate);
    if let Some(bytes) = target.cache().and_then(|cache| cache.get(KIND, &key(target, candidate))) {
        results.add(&bytes);
    }
    results
}

/// Keeps what came since it was read. Where it can't be kept, the next process executes more, and that is all.
pub(super) fn keep(target: &Target, results: &mut Results) {
    let Some(cache) = target.cache().filter(|_| results.has_news()) else { return };
    let key = key(target, &target.candidate);
    if let Some(bytes) = cache.get(KIND, &key) {
        results.add(&bytes);
    }
    let kept: Result<()> = cache.put(KIND, &key, &results.to_bytes()).and_then(|()| cache.trim(KIND, BYTES_MAX));
    if kept.is_ok() {
        results.kept();
    }
}

/// All that results depend on but the input.
fn key(target: &Target, candidate: &Candidate) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"fuzzbox results 1\n").update(SOURCES.as_bytes());
    // Where faults can't be handled less is found.
    hasher.update(&[u8::from(target.can_be_interrupted())]);
    hasher.update(&candidate.result_id(InputId([0; 32])).0);
    // What is reached of a trace is a feature.
    if let Some(traces) = &target.candidate.traces {
        hasher.update(format!("{traces:?}").as_bytes());
    }
    *hasher.finalize().as_bytes()
}
