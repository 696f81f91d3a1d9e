//! Shortens equal blobs together: a name and what has to be the same.

use super::{blob, with_blob};
use crate::engine::shrink::search::lowest;
use crate::engine::shrink::shrinker::{Shrinker, Step};
use crate::stream::{Choice, Trace};

pub(super) fn run(s: &mut Shrinker<'_>) -> Step<()> {
    let mut at = 0;
    while at < s.current().trace.choices.len() {
        shorten(s, at)?;
        at += 1;
    }
    Ok(())
}

/// Shortens the blob at `at` and those behind it that are equal.
fn shorten(s: &mut Shrinker<'_>, at: usize) -> Step<()> {
    let base = s.current();
    let group = equal(&base.trace, at);
    if group.len() < 2 {
        return Ok(());
    }
    let bytes = blob(&base.trace, at);
    let all = |trace: &Trace, bytes: &[u8]| -> Option<Vec<Choice>> {
        let mut choices = trace.choices.clone();
        for &place in &group {
            // Each has its own least length.
            choices[place] = with_blob(trace, place, bytes.to_vec())?.swap_remove(place);
        }
        Some(choices)
    };
    lowest(s, bytes.len() as u64, |s, len| {
        all(&base.trace, &bytes[..len as usize]).map_or(Ok(false), |choices| s.consider(choices))
    })?;
    loop {
        let base = s.current();
        if equal(&base.trace, at) != group {
            return Ok(());
        }
        let bytes = blob(&base.trace, at).to_vec();
        let without = |byte: usize| [&bytes[..byte], &bytes[byte + 1..]].concat();
        if s.first(0, bytes.len(), |trace, byte| all(trace, &without(byte)))?.is_none() {
            return Ok(());
        }
    }
}

/// The places from `at` on with the same blob, which is not empty.
fn equal(trace: &Trace, at: usize) -> Vec<usize> {
    let bytes = blob(trace, at);
    let is_equal = |place: &usize| !bytes.is_empty() && blob(trace, *place) == bytes;
    (at..trace.choices.len()).filter(is_equal).collect()
}
