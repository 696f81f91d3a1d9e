//! Streams as bytes, for replaying what fuzzbox has stored.

use std::vec::Vec;

/// What one draw takes from a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Which value, counted from the simplest.
    Index(u64),
    /// Bytes as they are.
    Blob(Vec<u8>),
}

/// The canonical bytes of a stream: for a draw LEB128 of `index << 1`, for a blob LEB128 of `length << 1 | 1` and the bytes.
pub fn encode(choices: &[Choice]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(choices.len() * 2);
    for choice in choices {
        match choice {
            Choice::Index(index) => write_number(&mut bytes, u128::from(*index) << 1),
            Choice::Blob(blob) => {
                write_number(&mut bytes, (blob.len() as u128) << 1 | 1);
                bytes.extend_from_slice(blob);
            }
        }
    }
    bytes
}

/// The choices that `bytes` stand for. Total: a number that is cut off ends where the bytes end, bits beyond the 65th are
/// dropped, and a blob longer than what is left takes what is left.
pub fn decode(mut bytes: &[u8]) -> Vec<Choice> {
    let mut choices = Vec::new();
    while !bytes.is_empty() {
        let number = read_number(&mut bytes);
        let value = (number >> 1) as u64;
        choices.push(if number & 1 == 0 {
            Choice::Index(value)
        } else {
            let len = usize::try_from(value).unwrap_or(usize::MAX).min(bytes.len());
            let (blob, rest) = bytes.split_at(len);
            bytes = rest;
            Choice::Blob(blob.to_vec())
        });
    }
    choices
}

/// Ten times seven bits hold 65.
const NUMBER_LEN_MAX: usize = 10;

fn write_number(bytes: &mut Vec<u8>, mut number: u128) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn read_number(bytes: &mut &[u8]) -> u128 {
    let mut number = 0_u128;
    for at in 0..NUMBER_LEN_MAX {
        let Some((&byte, rest)) = bytes.split_first() else { break };
        *bytes = rest;
        number |= u128::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            break;
        }
    }
    number & ((1 << 65) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_a_stream_are_those_that_fuzzbox_stores() {
        let stream = [Choice::Index(1), Choice::Index(300), Choice::Blob(b"ab".to_vec()), Choice::Index(0)];
        assert_eq!(encode(&stream), [2, 0xd8, 0x04, 5, b'a', b'b', 0]);
        assert_eq!(decode(&encode(&stream)), stream);
        let widest = [Choice::Index(u64::MAX), Choice::Blob(Vec::new())];
        assert_eq!(decode(&encode(&widest)), widest);
    }

    #[test]
    fn any_bytes_are_a_stream() {
        assert_eq!(decode(&[0x80]), [Choice::Index(0)]);
        assert_eq!(decode(&[9, 1, 2]), [Choice::Blob([1, 2].to_vec())]);
        assert_eq!(decode(&[0xff; 10]).len(), 1);
    }
}
