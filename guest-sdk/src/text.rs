//! Alphabets, and strings as indices in them.
//!
//! An alphabet is a list of ranges of Unicode scalar values, each `first, last`, both included. Characters count through
//! the ranges in the order in which they are listed, so the first character is the simplest. What a stream holds of a string is one
//! LEB128 number for each character: its index. Ranges must not include surrogates (U+D800 to U+DFFF).

use alloc::string::String;
use alloc::vec::Vec;

/// Small letters, capital letters, digits, the rest of printable ASCII with the space first, then everything else: what a
/// string is made of if nothing is said. The number of characters is 1,112,064.
#[rustfmt::skip]
pub const UNICODE: &[u32] = &[
    0x61, 0x7a, 0x41, 0x5a, 0x30, 0x39, 0x20, 0x2f, 0x3a, 0x40, 0x5b, 0x60, 0x7b, 0x7e, 0, 0x1f, 0x7f, 0xd7ff, 0xe000, 0x10_ffff,
];

/// Printable ASCII in the same order.
pub const ASCII: &[u32] = &[0x61, 0x7a, 0x41, 0x5a, 0x30, 0x39, 0x20, 0x2f, 0x3a, 0x40, 0x5b, 0x60, 0x7b, 0x7e];

/// `a` to `z`.
pub const LOWER: &[u32] = &[0x61, 0x7a];

/// `0` to `9`.
pub const DIGITS: &[u32] = &[0x30, 0x39];

/// How many characters an alphabet has.
///
/// # Panics
///
/// If the alphabet is not a list of ranges of scalar values, or has none.
pub fn count(alphabet: &[u32]) -> u32 {
    assert!(!alphabet.is_empty() && alphabet.len().is_multiple_of(2), "an alphabet is a list of `first, last`");
    let ranges = alphabet.chunks_exact(2).map(|range| {
        let (first, last) = (range[0], range[1]);
        let is_whole = char::from_u32(first).is_some() && char::from_u32(last).is_some();
        assert!(is_whole && first <= last && !(first < 0xd800 && last > 0xdfff), "{first:#x} to {last:#x} is no range");
        last - first + 1
    });
    ranges.fold(0, u32::saturating_add)
}

/// The character with this index; `None` if the alphabet has fewer.
pub fn character(alphabet: &[u32], index: u32) -> Option<char> {
    let mut left = index;
    for range in alphabet.chunks_exact(2) {
        let len = range[1] - range[0] + 1;
        if left < len {
            return char::from_u32(range[0] + left);
        }
        left -= len;
    }
    None
}

/// The string that a blob stands for. Indices that are too large stand for the first character; the string is cut at `max`
/// characters and filled up to `min` with the first character.
pub fn decode(mut blob: &[u8], min: u32, max: u32, alphabet: &[u32]) -> (String, Vec<u32>) {
    let mut indices = Vec::new();
    while !blob.is_empty() && indices.len() < max as usize {
        indices.push(read_leb(&mut blob));
    }
    indices.resize(indices.len().max(min as usize), 0);
    let text = indices.iter_mut().map(|index| {
        character(alphabet, *index).unwrap_or_else(|| {
            *index = 0;
            character(alphabet, 0).unwrap_or_default()
        })
    });
    (text.collect(), indices)
}

/// The blob for a string, given as indices.
pub fn encode(indices: &[u32]) -> Vec<u8> {
    let mut blob = Vec::with_capacity(indices.len());
    for &index in indices {
        let mut left = index;
        while left >= 0x80 {
            blob.push(left as u8 | 0x80);
            left >>= 7;
        }
        blob.push(left as u8);
    }
    blob
}

/// A number of at most 32 bits and five bytes; bits beyond are dropped, and a number that is cut off ends where the bytes end.
fn read_leb(blob: &mut &[u8]) -> u32 {
    let mut number = 0_u64;
    for at in 0..5 {
        let Some((&byte, rest)) = blob.split_first() else { break };
        *blob = rest;
        number |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            break;
        }
    }
    number as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alphabets_hold_what_they_say() {
        assert_eq!([count(UNICODE), count(ASCII), count(LOWER), count(DIGITS)], [1_112_064, 95, 26, 10]);
        assert_eq!([0, 26, 52, 62].map(|index| character(UNICODE, index)), ['a', 'A', '0', ' '].map(Some));
        assert_eq!(character(UNICODE, 1_112_063), Some('\u{10ffff}'));
        assert_eq!(character(UNICODE, 1_112_064), None);
    }

    #[test]
    fn every_character_has_an_index_of_its_own() {
        let mut seen = std::vec![false; 0x11_0000];
        for index in 0..1_112_064 {
            let character = character(UNICODE, index).unwrap() as usize;
            assert!(!std::mem::replace(&mut seen[character], true));
        }
    }

    #[test]
    fn strings_come_back_from_their_blobs() {
        let indices = [0, 127, 128, 1_112_063];
        let (text, again) = decode(&encode(&indices), 0, 10, UNICODE);
        assert_eq!(again, indices);
        assert_eq!(text.chars().count(), 4);
    }

    #[test]
    fn any_blob_is_a_string_within_its_bounds() {
        assert_eq!(decode(&[], 2, 3, DIGITS).0, "00");
        assert_eq!(decode(&[9, 10, 0xff, 0xff, 0xff, 0xff, 0xff, 1], 0, 3, DIGITS).0, "900");
        assert_eq!(decode(&[0x80], 0, 3, DIGITS), (String::from("0"), Vec::from([0])));
    }
}
