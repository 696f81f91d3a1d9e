//! Lowers decimal numbers in text as numbers.

use super::{text, with_text};
use crate::engine::shrink::search::lowest;
use crate::engine::shrink::shrinker::{Shrinker, Step};
use std::ops::Range;

pub(super) fn run(s: &mut Shrinker<'_>, at: usize) -> Step<()> {
    let taste = s.taste();
    let mut number = 0;
    loop {
        let base = s.current();
        let bytes = text(&base.trace, at, taste);
        let Some(range) = numbers(&bytes).into_iter().nth(number) else { return Ok(()) };
        number += 1;
        let digits = str::from_utf8(&bytes[range.clone()]).unwrap_or_default();
        let Ok(value) = digits.parse::<u64>() else { continue };
        lowest(s, value, |s, value| {
            let bytes = [&bytes[..range.start], value.to_string().as_bytes(), &bytes[range.end..]].concat();
            with_text(&base.trace, at, &bytes, taste).map_or(Ok(false), |choices| s.consider(choices))
        })?;
    }
}

/// Runs of two digits and more; single ones are bytes.
fn numbers(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut start = 0;
    let runs = bytes.chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit());
    let ranges = runs.map(|run| (start, start += run.len()).0..start);
    ranges.filter(|range| range.len() > 1 && bytes[range.start].is_ascii_digit()).collect()
}
