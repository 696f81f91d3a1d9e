//! Values of draws, as a program has them in memory.

use crate::stream::alphabet::{Alphabet, read_pick, write_pick};
use crate::stream::float::Floats;
use crate::stream::{Choice, Draw, DrawKind};

/// What the bytes of a value are.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value {
    Integer,
    Float(Floats),
    Index,
    Blob,
    Text(Alphabet),
}

impl Value {
    /// What the value of a draw is.
    pub(super) fn of(draw: &Draw) -> Self {
        match draw.kind {
            DrawKind::Int | DrawKind::Uint => Self::Integer,
            DrawKind::F64 => {
                let [lo, hi] = [draw.lo, draw.hi].map(|bits| f64::from_bits(bits.cast_unsigned()));
                Floats::new(lo, hi, draw.towards as u32).map_or(Self::Index, Self::Float)
            }
            DrawKind::Bytes => Self::Blob,
            DrawKind::Str => {
                let size = u32::try_from(draw.towards).ok();
                size.and_then(Alphabet::of_size).map_or(Self::Blob, Self::Text)
            }
            DrawKind::Bool | DrawKind::Choice | DrawKind::More | DrawKind::Payload => Self::Index,
        }
    }

    /// How many bytes the value of a choice takes.
    pub(super) fn len(self, draw: &Draw, choice: &Choice) -> usize {
        let mut bytes = Vec::new();
        self.write(draw, choice, &mut bytes);
        bytes.len()
    }

    /// Appends the value that a choice stands for.
    pub(super) fn write(self, draw: &Draw, choice: &Choice, bytes: &mut Vec<u8>) {
        match (self, choice) {
            (Self::Text(alphabet), Choice::Blob(blob)) => {
                let mut rest = &blob[..];
                while !rest.is_empty() {
                    let scalar = alphabet.scalar(read_pick(&mut rest)).unwrap_or('a');
                    bytes.extend(scalar.encode_utf8(&mut [0; 4]).as_bytes());
                }
            }
            (_, Choice::Blob(blob)) => bytes.extend(blob),
            (Self::Integer, Choice::Index(index)) => {
                let width = width(draw);
                bytes.extend(&draw.number(*index).to_le_bytes()[..width]);
            }
            (Self::Float(floats), Choice::Index(index)) => {
                bytes.extend(floats.value(*index).unwrap_or_default().to_le_bytes());
            }
            (_, Choice::Index(index)) => bytes.extend(&index.to_le_bytes()[..width(draw)]),
        }
    }

    /// The choice of a value. What is out of bounds counts round.
    pub(super) fn read(self, draw: &Draw, bytes: &[u8]) -> Choice {
        let mut word = [0; 8];
        let len = bytes.len().min(8);
        word[..len].copy_from_slice(&bytes[..len]);
        let word = u64::from_le_bytes(word);
        match self {
            Self::Blob => Choice::Blob(bytes.to_vec()),
            Self::Text(alphabet) => {
                let mut blob = Vec::with_capacity(bytes.len());
                for chunk in bytes.utf8_chunks() {
                    // What is left of a character is as many others, so that all that follows stays where it is.
                    let rest = chunk.invalid().iter().map(|&byte| char::from(byte & 0x7f));
                    chunk.valid().chars().chain(rest).for_each(|char| write_pick(&mut blob, alphabet.index(char)));
                }
                Choice::Blob(blob)
            }
            Self::Float(floats) => {
                let value = f64::from_bits(word);
                Choice::Index(
                    floats.index(value).or_else(|| floats.index(value + 0.0)).unwrap_or(word % (floats.max() + 1)),
                )
            }
            Self::Integer => {
                let (lo, hi, _) = draw.bounds();
                let bits = 8 * width(draw) as u32;
                let value = if lo < 0 {
                    i128::from((word << (64 - bits)).cast_signed() >> (64 - bits))
                } else {
                    i128::from(word)
                };
                let value = lo + (value - lo).rem_euclid(hi.max(lo) - lo + 1);
                Choice::Index(draw.index_of(value).unwrap_or(0))
            }
            Self::Index => Choice::Index(draw.max.checked_add(1).map_or(word, |count| word % count)),
        }
    }
}

/// How many bytes all values of a number take.
fn width(draw: &Draw) -> usize {
    let bits = if matches!(draw.kind, DrawKind::Int | DrawKind::Uint) {
        let (lo, hi, _) = draw.bounds();
        let bits = |value: i128| i128::BITS - if value < 0 { !value } else { value }.leading_zeros();
        bits(lo).max(bits(hi)) + u32::from(lo < 0)
    } else {
        u64::BITS - draw.max.leading_zeros()
    };
    (bits.div_ceil(8).max(1) as usize).next_power_of_two()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(kind: DrawKind, lo: i64, hi: i64, max: u64) -> Draw {
        Draw { kind, site: 1, max, forced: false, payload: false, lo, hi, towards: 0 }
    }

    #[test]
    fn numbers_are_as_wide_as_their_bounds() {
        let int = |lo, hi| width(&draw(DrawKind::Int, lo, hi, hi.abs_diff(lo)));
        assert_eq!((int(0, 255), int(0, 256), int(-128, 127), int(-129, 0)), (1, 2, 1, 2));
        assert_eq!((int(0, 1 << 16), int(i64::MIN, i64::MAX), int(0, 0)), (4, 8, 1));
        assert_eq!(width(&draw(DrawKind::Uint, 0, -1, u64::MAX)), 8);
        assert_eq!((width(&draw(DrawKind::Choice, 0, 2, 2)), width(&draw(DrawKind::Payload, 0, 0, 1 << 40))), (1, 8));
    }

    #[test]
    fn text_stays_as_long_whatever_its_bytes_become() {
        let draw = draw(DrawKind::Str, 0, 100, 1_112_064);
        let draw = Draw { towards: 1_112_064, ..draw };
        let value = Value::of(&draw);
        for bytes in ["hell\u{1f980}!".as_bytes(), b"hello\xa6\x80!", b"\xf0\x9f", b"\xff\xc3(\xe2\x82"] {
            let mut read = Vec::new();
            value.write(&draw, &value.read(&draw, bytes), &mut read);
            assert_eq!(read.len(), bytes.len());
            assert!(read.iter().zip(bytes).all(|(read, byte)| read == byte || *read == byte & 0x7f));
        }
    }

    #[test]
    fn values_become_the_choices_that_they_come_from() {
        let all = [f64::NEG_INFINITY, f64::INFINITY].map(|bound| bound.to_bits().cast_signed());
        let floats = Draw { towards: 15, ..draw(DrawKind::F64, all[0], all[1], 0) };
        let draws = [
            draw(DrawKind::Int, -5, 300, 305),
            draw(DrawKind::Uint, 0, -1, u64::MAX),
            draw(DrawKind::Int, i64::MIN, i64::MAX, u64::MAX),
            draw(DrawKind::Choice, 0, 299, 299),
            floats,
        ];
        for draw in draws {
            let value = Value::of(&draw);
            for index in [0, 1, 2, 57, 299] {
                let mut bytes = Vec::new();
                value.write(&draw, &Choice::Index(index), &mut bytes);
                assert_eq!(value.read(&draw, &bytes), Choice::Index(index), "{draw:?}");
            }
        }
        let quarter = Value::of(&floats).read(&floats, &0.25_f64.to_le_bytes());
        let mut bytes = Vec::new();
        Value::of(&floats).write(&floats, &quarter, &mut bytes);
        assert_eq!(bytes, 0.25_f64.to_le_bytes());
    }
}
