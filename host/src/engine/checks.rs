//! Numbers of an input that say what else is in it, checksums and lengths: how they are written, and written anew.

use std::ops::Range;

/// Bytes of a number in the input at most, as a number and as text.
const NUMBER_BYTES_MAX: usize = 8;
const TEXT_BYTES_MAX: usize = 19;
/// What is shorter is everywhere, as a number and as text.
const FIELD_BYTES_MIN: usize = 2;
const FIELD_DIGITS_MIN: usize = 4;

/// A comparison of a number that lies in the input with one that is made of the rest of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Check {
    /// The side that lies in the input, and in how many bytes.
    side: usize,
    width: usize,
    writing: Writing,
}

/// How a number lies in the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writing {
    /// As bytes, with a constant that is added to give the operand.
    Binary { big_endian: bool, offset: u64 },
    /// As text, with all of its digits.
    Text { radix: u32, upper: bool },
}

/// What is written on disk for each way to write a number.
const CODES: [Writing; 6] = [
    Writing::Binary { big_endian: false, offset: 0 },
    Writing::Binary { big_endian: true, offset: 0 },
    Writing::Text { radix: 10, upper: false },
    Writing::Text { radix: 16, upper: false },
    Writing::Text { radix: 16, upper: true },
    Writing::Text { radix: 8, upper: false },
];

impl Check {
    /// A check of a field of that width; `None` if there is too little of it to be found elsewhere.
    pub(super) fn new(side: usize, width: usize, writing: Writing) -> Option<Self> {
        let least = if matches!(writing, Writing::Binary { .. }) { FIELD_BYTES_MIN } else { FIELD_DIGITS_MIN };
        (width >= least).then_some(Self { side, width, writing })
    }

    /// As numbers, to be kept: the side, the width, and how it is written.
    pub(super) fn to_code(self) -> Option<[u8; 3]> {
        let writing = CODES.iter().position(|code| *code == self.writing)?;
        Some([self.side as u8, self.width as u8, writing as u8])
    }

    /// What [`Check::to_code`] says; `None` if that is nothing of the kind.
    pub(super) fn of_code([side, width, writing]: [u8; 3]) -> Option<Self> {
        let (side, width, writing) = (side.into(), width.into(), *CODES.get(usize::from(writing))?);
        let width_max = if matches!(writing, Writing::Binary { .. }) { NUMBER_BYTES_MAX } else { TEXT_BYTES_MAX };
        Self::new(side, width, writing).filter(|_| side < 2 && width <= width_max)
    }

    /// Writes what is wanted in the place of what was read, where `sides` were compared. Returns whether it did: there
    /// may be no such place, or several.
    pub(super) fn repair(&self, input: &mut [u8], sides: [u64; 2]) -> bool {
        let Some([old, new]) = self.texts(sides).filter(|[old, new]| old != new) else { return false };
        let Some(place) = only_place(input, &old) else { return false };
        input[place].copy_from_slice(&new);
        true
    }

    /// What was read, and what is wanted, as they are written.
    fn texts(&self, sides: [u64; 2]) -> Option<[Vec<u8>; 2]> {
        let written = |side: usize| self.writing.written(sides[side], self.width);
        Some([written(self.side)?, written(1 - self.side)?])
    }
}

/// Where a text is, if it is there once.
fn only_place(input: &[u8], text: &[u8]) -> Option<Range<usize>> {
    let mut places = input.windows(text.len()).enumerate().filter(|(_, window)| *window == text);
    let (start, _) = places.next()?;
    places.next().is_none().then_some(start..start + text.len())
}

impl Writing {
    /// How `field` says `value`.
    pub(super) fn of(field: &[u8], value: u64) -> Option<Self> {
        if field.len() <= NUMBER_BYTES_MAX {
            for big_endian in [false, true] {
                if number(field, big_endian) == value {
                    return Some(Self::Binary { big_endian, offset: 0 });
                }
            }
        }
        let text = std::str::from_utf8(field).ok().filter(|text| text.len() <= TEXT_BYTES_MAX)?;
        for radix in [10, 16, 8] {
            if text.chars().all(|digit| digit.is_digit(radix)) && u64::from_str_radix(text, radix) == Ok(value) {
                return Some(Self::Text { radix, upper: text.contains(|digit: char| digit.is_ascii_uppercase()) });
            }
        }
        // A digit, say, of which the operand is another function.
        (field.len() == 1).then(|| Self::Binary { big_endian: false, offset: value.wrapping_sub(field[0].into()) })
    }

    /// A number as it is written; `None` if there is no room.
    pub(super) fn written(self, value: u64, width: usize) -> Option<Vec<u8>> {
        match self {
            Self::Binary { big_endian, offset } => {
                let value = value.wrapping_sub(offset);
                let mut field = vec![0; width];
                write(&mut field, value, big_endian);
                // It may be wider as an operand, and negative.
                let bits = 8 * width as u32;
                (bits == 64 || value >> bits == 0 || offset == 0 && value.cast_signed() >> (bits - 1) == -1)
                    .then_some(field)
            }
            Self::Text { radix, upper } => {
                let text = match (radix, upper) {
                    (10, _) => format!("{value:0width$}"),
                    (8, _) => format!("{value:0width$o}"),
                    (_, true) => format!("{value:0width$X}"),
                    _ => format!("{value:0width$x}"),
                };
                (text.len() == width).then(|| text.into_bytes())
            }
        }
    }
}

/// The unsigned number in bytes, 8 at most.
pub(super) fn number(bytes: &[u8], big_endian: bool) -> u64 {
    let add = |number: u64, &byte: &u8| number << 8 | u64::from(byte);
    if big_endian { bytes.iter().fold(0, add) } else { bytes.iter().rev().fold(0, add) }
}

/// The lowest bytes of a number, as many as there is room for.
pub(super) fn write(bytes: &mut [u8], number: u64, big_endian: bool) {
    let width = bytes.len().min(8);
    bytes[..width].copy_from_slice(&number.to_le_bytes()[..width]);
    if big_endian {
        bytes[..width].reverse();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_again() {
        for (width, big_endian) in [(1, false), (3, true), (4, false), (8, true)] {
            let mut bytes = vec![0; width];
            let value = 0x0102_0304_0506_0708 & (u64::MAX >> (64 - 8 * width));
            write(&mut bytes, value, big_endian);
            assert_eq!(number(&bytes, big_endian), value);
        }
    }

    #[test]
    fn what_is_wanted_is_written_where_what_was_read_lies_wherever_that_is() {
        let big = Check::new(1, 4, Writing::Binary { big_endian: true, offset: 0 }).unwrap();
        let text = Check::new(0, 4, Writing::Text { radix: 10, upper: false }).unwrap();
        let octal = Check::new(0, 6, Writing::Text { radix: 8, upper: false }).unwrap();
        assert_eq!(Writing::of(b"000644", 0o644), Some(octal.writing));
        for (check, input, sides, repaired) in [
            (big, &b"abcd\x01\x02\x03\x04e"[..], [0x1122_3344, 0x0102_0304], Some(&b"abcd\x11\x22\x33\x44e"[..])),
            (big, b"\x01\x02\x03\x04", [0x1122_3344, 0x0102_0304], Some(b"\x11\x22\x33\x44")),
            (big, b"\x01\x02\x03\x04 \x01\x02\x03\x04", [0x1122_3344, 0x0102_0304], None),
            (big, b"\x04\x03\x02\x01", [0x1122_3344, 0x0102_0304], None),
            (big, b"\x01\x02\x03\x04", [0x0102_0304, 0x0102_0304], None),
            (big, b"\x01\x02\x03", [0x1122_3344, 0x0102_0304], None),
            (text, b"0417 it is", [417, 23], Some(b"0023 it is")),
            (text, b"0417 it is", [417, 12345], None),
            (octal, b"000644 it is", [0o644, 0o1755], Some(b"001755 it is")),
        ] {
            let mut input = input.to_vec();
            let before = input.clone();
            assert_eq!(check.repair(&mut input, sides), repaired.is_some(), "{}", before.escape_ascii());
            assert_eq!(input, repaired.unwrap_or(&before), "{}", before.escape_ascii());
        }
        for check in [big, text, octal] {
            assert_eq!(Check::of_code(check.to_code().unwrap()), Some(check));
        }
        for code in [[2, 4, 0], [0, 9, 0], [0, 20, 2], [0, 1, 1], [0, 3, 2], [0, 4, 6]] {
            assert_eq!(Check::of_code(code), None, "{code:?}");
        }
        assert_eq!(Check::new(0, 1, Writing::Binary { big_endian: false, offset: 7 }), None, "one byte is everywhere");
    }
}
