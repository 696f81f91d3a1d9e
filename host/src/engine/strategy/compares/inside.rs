//! Inputs that the guest's own mutator opens: what solvers change is what is inside.
//!
//! A harness has a mutator of its own because its inputs are compressed, signed or encoded otherwise, so that what the
//! program compares are no bytes of the input. That mutator undoes this, gives what is inside to `LLVMFuzzerMutate`,
//! and does it again. Here it is asked for both halves, each in a call of its own:
//!
//! ```text
//! open       testcase -> what it gives to LLVMFuzzerMutate first: the bytes that solvers change
//! replace    testcase, other bytes -> the input that is executed
//! ```
//!
//! Both calls have one seed, so that a mutator which changes one part or another by chance changes the same one twice.

use super::{Facts, Subject};
use crate::engine::workers::variants::Variants;
use crate::engine::workers::worker::Worker;
use crate::sandbox::CustomMutator;
use anyhow::Result;
use std::sync::Arc;

/// A testcase that was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::engine) struct Outer {
    testcase: Arc<[u8]>,
    seed: u32,
}

impl Outer {
    /// The input with these bytes inside, in `len_max` bytes at most, or as many as the testcase has. `None` if the
    /// guest makes none.
    pub(super) fn input(&self, custom: &mut CustomMutator, inner: &[u8], len_max: usize) -> Result<Option<Vec<u8>>> {
        custom.replace(&self.testcase, inner, len_max, self.seed)
    }
}

/// What solvers change of an input.
pub(super) enum Opened {
    /// Its own bytes, for want of something inside.
    Closed,
    /// What is inside.
    Open(Outer, Vec<u8>),
    /// Nothing: mutators begin with something of their own where they can't open an input.
    Unable,
}

/// Opens what is looked at, if the guest can.
///
/// What a mutator begins with where it can't open an input is looked at with the first testcase alone. Every other time
/// that all is looked at again everything stays closed: not all that is compared is inside.
pub(super) fn open(
    (subject, input): (&Subject, &[u8]),
    (variants, len_max, facts): (&Variants, usize, &Facts),
    worker: &mut Worker,
) -> Result<Opened> {
    let given = |outer: &Option<Outer>| {
        let open = |outer: &Outer| Opened::Open(outer.clone(), input.to_vec());
        Ok(outer.as_ref().map_or(Opened::Closed, open))
    };
    let (index, seed) = match subject {
        Subject::Reached(reached) => return given(&reached.outer),
        Subject::Hard(hard) => return given(&hard.outer),
        Subject::Testcase(index, _) => (*index, 0),
        Subject::Again(index, _) => (*index, facts.passes()),
    };
    let Some(targets) = variants.custom.as_ref().filter(|_| seed % 2 == 0) else { return Ok(Opened::Closed) };
    let custom = worker.custom(targets)?;
    let Some(opened) = custom.open(input, len_max, seed)? else { return Ok(Opened::Closed) };
    if index > 0 && custom.open(&[], len_max, seed)?.as_ref() == Some(&opened) {
        return Ok(Opened::Unable);
    }
    Ok(Opened::Open(Outer { testcase: input.into(), seed }, opened))
}
