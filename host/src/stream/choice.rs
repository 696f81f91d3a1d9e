//! Choices, their order, and their bytes.
//!
//! A stream has no header. It is a sequence of items, each an unsigned LEB128 number of at most 65 bits:
//!
//! ```text
//! index << 1                  a draw: which of its values, 0 the simplest
//! length << 1 | 1  bytes...   a blob of that many bytes
//! ```
//!
//! Any byte string decodes: a number that is cut off ends where the bytes end, bits beyond the 65th are dropped, and a
//! blob longer than what is left takes what is left. [`encode`] writes each number in as few bytes as possible, so
//! `encode(decode(bytes))` is a fixed point.

use std::cmp::Ordering;

/// What one draw takes from the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Which value, counted from the simplest.
    Index(u64),
    /// Bytes, as they are (for strings: indices in the alphabet, each as LEB128).
    Blob(Vec<u8>),
}

impl Choice {
    /// The simplest choice for any draw of an index.
    pub const ZERO: Self = Self::Index(0);

    /// The index; `None` for a blob.
    pub fn index(&self) -> Option<u64> {
        match self {
            Self::Index(index) => Some(*index),
            Self::Blob(_) => None,
        }
    }

    /// The bytes; `None` for an index.
    pub fn blob(&self) -> Option<&[u8]> {
        match self {
            Self::Index(_) => None,
            Self::Blob(bytes) => Some(bytes),
        }
    }
}

/// Indices come before blobs; indices by value, blobs by length, then by bytes.
impl Ord for Choice {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Index(a), Self::Index(b)) => a.cmp(b),
            (Self::Blob(a), Self::Blob(b)) => a.len().cmp(&b.len()).then_with(|| a.cmp(b)),
            (Self::Index(_), Self::Blob(_)) => Ordering::Less,
            (Self::Blob(_), Self::Index(_)) => Ordering::Greater,
        }
    }
}

impl PartialOrd for Choice {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The order of simplicity: fewer choices first, then choice by choice.
pub fn shortlex(a: &[Choice], b: &[Choice]) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

/// The canonical bytes of a stream.
pub fn encode(choices: &[Choice]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(choices.len() * 2);
    encode_into(&mut bytes, choices);
    bytes
}

/// Appends the canonical bytes of a stream.
pub fn encode_into(bytes: &mut Vec<u8>, choices: &[Choice]) {
    for choice in choices {
        match choice {
            Choice::Index(index) => write_number(bytes, u128::from(*index) << 1),
            Choice::Blob(blob) => {
                write_number(bytes, (blob.len() as u128) << 1 | 1);
                bytes.extend_from_slice(blob);
            }
        }
    }
}

/// The choices that `bytes` stand for; total.
pub fn decode(bytes: &[u8]) -> Vec<Choice> {
    items(bytes)
        .map(|item| match item {
            Item::Index(index) => Choice::Index(index),
            Item::Blob(blob) => Choice::Blob(blob.to_vec()),
        })
        .collect()
}

/// A choice whose blob lies in the bytes that it was decoded from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item<'a> {
    /// See [`Choice::Index`].
    Index(u64),
    /// See [`Choice::Blob`].
    Blob(&'a [u8]),
}

/// What [`decode`] gives, without copies.
pub fn items(mut bytes: &[u8]) -> impl Iterator<Item = Item<'_>> {
    std::iter::from_fn(move || {
        let (item, rest) = first_item(bytes)?;
        bytes = rest;
        Some(item)
    })
}

/// The item at the beginning of `bytes`, and what follows it; `None` at the end.
pub fn first_item(bytes: &[u8]) -> Option<(Item<'_>, &[u8])> {
    if bytes.is_empty() {
        return None;
    }
    let (value, is_blob, rest) = read_number(bytes);
    if !is_blob {
        return Some((Item::Index(value), rest));
    }
    let len = usize::try_from(value).unwrap_or(usize::MAX).min(rest.len());
    let (blob, rest) = rest.split_at(len);
    Some((Item::Blob(blob), rest))
}

/// Indices that eight bytes hold without a rest.
pub enum Short {
    /// One byte each.
    Eight([u64; 8]),
    /// Two bytes each.
    Four([u64; 4]),
}

/// The indices in the first eight bytes, if all are short in the same way: most streams consist of such, and this is
/// three to four times as fast as item by item.
pub fn short_indices(bytes: &[u8]) -> Option<(Short, &[u8])> {
    let (word, rest) = bytes.split_first_chunk::<8>()?;
    let word = u64::from_le_bytes(*word);
    if word & ONE_BYTE_EACH.0 == ONE_BYTE_EACH.1 {
        return Some((Short::Eight(std::array::from_fn(|i| word >> (8 * i + 1) & 0x3f)), rest));
    }
    if word & TWO_BYTES_EACH.0 == TWO_BYTES_EACH.1 {
        // The lower byte of each lane without its two flags, and the upper one beside it.
        let word = (word & 0x007e_007e_007e_007e) >> 1 | (word & 0x7f00_7f00_7f00_7f00) >> 2;
        return Some((Short::Four(std::array::from_fn(|i| word >> (16 * i) & 0x1fff)), rest));
    }
    None
}

/// Which bits tell that eight bytes are indices of one byte, and what they are then: nothing goes on, nothing is a
/// blob.
const ONE_BYTE_EACH: (u64, u64) = (0x8181_8181_8181_8181, 0);
/// The same for indices of two bytes: the first goes on, the second doesn't.
const TWO_BYTES_EACH: (u64, u64) = (0x8081_8081_8081_8081, 0x0080_0080_0080_0080);

/// Bytes that one number takes at most: ten times seven bits hold 65.
const NUMBER_LEN_MAX: usize = 10;

fn write_number(bytes: &mut Vec<u8>, mut number: u128) {
    loop {
        let low = (number & 0x7f) as u8;
        number >>= 7;
        if number == 0 {
            bytes.push(low);
            return;
        }
        bytes.push(low | 0x80);
    }
}

/// The number at the beginning of `bytes`, as its highest 64 bits and its lowest, and what follows it.
fn read_number(bytes: &[u8]) -> (u64, bool, &[u8]) {
    let mut low = 0_u64;
    for (i, &byte) in bytes.iter().take(NUMBER_LEN_MAX - 1).enumerate() {
        low |= u64::from(byte & 0x7f) << (7 * i);
        if byte & 0x80 == 0 {
            return (low >> 1, low & 1 == 1, &bytes[i + 1..]);
        }
    }
    let last = bytes.get(NUMBER_LEN_MAX - 1).copied().unwrap_or(0);
    let rest = bytes.get(NUMBER_LEN_MAX..).unwrap_or_default();
    (low >> 1 | u64::from(last & 3) << 62, low & 1 == 1, rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::{Rng as _, SeedableRng as _};
    use rand_xoshiro::Xoshiro256PlusPlus;

    #[test]
    fn streams_come_back_from_their_bytes() {
        let streams: &[&[Choice]] = &[
            &[],
            &[Choice::ZERO],
            &[Choice::Index(63), Choice::Index(64), Choice::Index(u64::MAX)],
            &[Choice::Blob(vec![]), Choice::Blob(vec![0; 200]), Choice::Index(1)],
        ];
        for stream in streams {
            assert_eq!(decode(&encode(stream)), *stream);
        }
    }

    #[test]
    fn bytes_of_a_stream_stay_as_they_are() {
        // The form of a stored stream never changes.
        let stream = [Choice::Index(1), Choice::Index(300), Choice::Blob(b"ab".to_vec()), Choice::ZERO];
        assert_eq!(encode(&stream), [2, 0xd8, 0x04, 5, b'a', b'b', 0]);
    }

    #[test]
    fn any_bytes_are_a_stream_and_its_form_is_a_fixed_point() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        for _ in 0..10_000 {
            let mut bytes = vec![0; (rng.next_u32() % 40) as usize];
            rng.fill_bytes(&mut bytes);
            if rng.next_u32() & 1 == 0 {
                bytes.iter_mut().for_each(|byte| *byte |= 0x80);
            }
            let choices = decode(&bytes);
            let canonical = encode(&choices);
            assert_eq!(decode(&canonical), choices);
            assert!(canonical.len() <= bytes.len() + 10, "{bytes:?}");
        }
    }

    #[test]
    fn simpler_streams_come_first() {
        let index = |values: &[u64]| values.iter().map(|v| Choice::Index(*v)).collect::<Vec<_>>();
        assert_eq!(shortlex(&index(&[9]), &index(&[0, 0])), Ordering::Less);
        assert_eq!(shortlex(&index(&[1, 0]), &index(&[0, 9])), Ordering::Greater);
        assert_eq!(Choice::Blob(vec![9]).cmp(&Choice::Blob(vec![0, 0])), Ordering::Less);
        assert_eq!(Choice::Index(u64::MAX).cmp(&Choice::Blob(vec![])), Ordering::Less);
    }
}
