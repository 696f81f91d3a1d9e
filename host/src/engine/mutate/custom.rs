//! Mutants that the guest's own functions make, in the place of ours: harnesses have them because their inputs are
//! compressed, signed or encoded otherwise.

use super::Mutator;
use crate::engine::corpus::Corpus;
use crate::engine::rng::Rng;
use crate::sandbox::{CustomMutator, MutateBytes};
use anyhow::Result;

/// What `LLVMFuzzerMutate` does in a campaign with this seed: what is done to inputs of other guests, but that it takes
/// nothing from the corpus, whose inputs are not what the guest mutates.
pub(in crate::engine) fn mutate_bytes(mutator: &Mutator, seed: u64) -> MutateBytes {
    /// No round has this number.
    const ROUND: u64 = u64::MAX;
    let (mutator, nothing) = (mutator.clone(), Corpus::new(0));
    MutateBytes::new(move |bytes, len_max, call| {
        mutator.mutate(bytes, len_max, &nothing, &mut Rng::of_task(seed, ROUND, call));
    })
}

/// A mutant of a testcase, or what is made of two: each half of the time, if the guest does both. `None` if it fails.
///
/// # Errors
///
/// If the host fails.
pub(in crate::engine) fn make(
    custom: &mut CustomMutator,
    (corpus, parent): (&Corpus, usize),
    len_max: usize,
    rng: &mut Rng,
) -> Result<Option<Vec<u8>>> {
    let testcases = corpus.testcases();
    let (seed, input) = (rng.word() as u32, &testcases[parent].bytes);
    if custom.crosses_over() && (!custom.mutates() || rng.one_in(2)) {
        custom.cross_over(input, &rng.pick(testcases).bytes, len_max, seed)
    } else {
        custom.mutate(input, len_max, seed)
    }
}
