//! Shortens words that occur several times, everywhere at once: a name where it is defined and where it is used, the
//! two ends of an element.

use super::{text, with_text};
use crate::engine::shrink::shrinker::{Shrinker, Step};
use std::collections::BTreeMap;

/// Different words that are tried.
const WORDS_MAX: usize = 100;

pub(super) fn run(s: &mut Shrinker<'_>, at: usize) -> Step<()> {
    let taste = s.taste();
    let mut from = 0;
    loop {
        let bytes = text(&s.current().trace, at, taste);
        let words = repeated(&bytes);
        let unused = &[unused(&bytes)];
        let found = s.first(from, 5 * words.len(), |trace, way| {
            let word = &words[way / 5];
            let new: &[u8] = match way % 5 {
                0 => b"",
                1 => b"0",
                2 => &word[..1],
                3 => unused,
                _ => &word[..word.len() / 2],
            };
            (new.len() < word.len()).then(|| with_text(trace, at, &replaced(&bytes, word, new), taste)).flatten()
        })?;
        match found {
            Some(way) => from = way / 5 * 5,
            None => return Ok(()),
        }
    }
}

/// The first letter that is no word; `z` if all are.
fn unused(bytes: &[u8]) -> u8 {
    let is_used = |letter: &u8| bytes.split(|byte| !is_word(*byte)).any(|word| word == [*letter]);
    (b'a'..=b'z').find(|letter| !is_used(letter)).unwrap_or(b'z')
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Words that occur twice and more, the longest first.
fn repeated(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut counts: BTreeMap<&[u8], usize> = BTreeMap::new();
    for word in bytes.split(|byte| !is_word(*byte)).filter(|word| !word.is_empty()) {
        *counts.entry(word).or_default() += 1;
    }
    let mut words: Vec<_> = counts.into_iter().filter(|(_, count)| *count > 1).map(|(word, _)| word.to_vec()).collect();
    words.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    words.truncate(WORDS_MAX);
    words
}

/// `bytes` with `new` for each `word`.
fn replaced(bytes: &[u8], word: &[u8], new: &[u8]) -> Vec<u8> {
    let parts = bytes.chunk_by(|a, b| is_word(*a) == is_word(*b));
    parts.flat_map(|part| if part == word { new } else { part }).copied().collect()
}
