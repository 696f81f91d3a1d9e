//! Replaces all bytes of one value by a simpler one, in all blobs.

use super::blob;
use super::simpler::simplest;
use crate::engine::shrink::shrinker::{Shrinker, Step};
use crate::stream::{Choice, Trace};
use std::collections::BTreeMap;

pub(super) fn run(s: &mut Shrinker<'_>) -> Step<()> {
    let mut below = 256;
    // From the least simple down. One that occurs once is lowered on its own elsewhere.
    while let Some(rank) = repeated(&s.current().trace).into_iter().rev().find(|rank| usize::from(*rank) < below) {
        below = rank.into();
        let base = s.current();
        simplest(s, rank, |s, lower| s.consider(replaced(&base.trace, rank, lower)))?;
    }
    Ok(())
}

/// Ranks that occur twice and more, without the simplest.
fn repeated(trace: &Trace) -> Vec<u8> {
    let mut counts: BTreeMap<u8, usize> = BTreeMap::new();
    for at in 0..trace.choices.len() {
        for rank in blob(trace, at) {
            *counts.entry(*rank).or_default() += 1;
        }
    }
    counts.into_iter().filter(|(rank, count)| *rank > 0 && *count > 1).map(|(rank, _)| rank).collect()
}

fn replaced(trace: &Trace, rank: u8, lower: u8) -> Vec<Choice> {
    let replace = |blob: &Vec<u8>| blob.iter().map(|other| if *other == rank { lower } else { *other }).collect();
    let choice = |choice: &Choice| match choice {
        Choice::Index(index) => Choice::Index(*index),
        Choice::Blob(blob) => Choice::Blob(replace(blob)),
    };
    trace.choices.iter().map(choice).collect()
}
