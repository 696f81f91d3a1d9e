//! Exchanges two values everywhere in a blob: what matters is which bytes are equal, not what they are.
//!
//! `1 0 1` can't become `0 1 0` one byte at a time if the first and the last have to stay equal, and not by lowering
//! the ones either, because then all are.

use super::{blob, with_blob};
use crate::engine::shrink::shrinker::{Shrinker, Step};

/// Blobs with more values are left as they are.
const VALUES_MAX: usize = 32;

pub(super) fn run(s: &mut Shrinker<'_>, at: usize) -> Step<()> {
    loop {
        let base = s.current();
        let pairs = disordered(blob(&base.trace, at));
        let exchange = |byte: u8, (a, b): (u8, u8)| match byte {
            _ if byte == a => b,
            _ if byte == b => a,
            _ => byte,
        };
        let exchanged = |pair| blob(&base.trace, at).iter().map(|&byte| exchange(byte, pair)).collect();
        if s.first(0, pairs.len(), |trace, pair| with_blob(trace, at, exchanged(pairs[pair])))?.is_none() {
            return Ok(());
        }
    }
}

/// Values of which the larger occurs before the smaller, by where they first occur.
fn disordered(blob: &[u8]) -> Vec<(u8, u8)> {
    let mut values: Vec<u8> = Vec::new();
    for &byte in blob {
        if !values.contains(&byte) {
            values.push(byte);
        }
    }
    if values.len() > VALUES_MAX {
        return Vec::new();
    }
    let behind = |(at, &first): (usize, &u8)| {
        let smaller = values[at + 1..].iter().filter(move |&&later| later < first);
        smaller.map(move |&later| (first, later)).collect::<Vec<_>>()
    };
    values.iter().enumerate().flat_map(behind).collect()
}
