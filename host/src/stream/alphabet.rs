//! Alphabets: which scalar values the indices in a string's blob stand for.

/// Takes an index from the start of a string's blob: LEB128, cut off after 32 bits and at the end.
pub fn read_pick(bytes: &mut &[u8]) -> u32 {
    let mut pick = 0;
    for shift in (0..35).step_by(7) {
        let Some((&byte, rest)) = bytes.split_first() else { break };
        *bytes = rest;
        pick |= u32::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            break;
        }
    }
    pick
}

/// Appends an index to a string's blob.
pub fn write_pick(bytes: &mut Vec<u8>, mut pick: u32) {
    loop {
        let more = if pick > 0x7f { 0x80 } else { 0 };
        bytes.push(pick as u8 & 0x7f | more);
        pick >>= 7;
        if pick == 0 {
            return;
        }
    }
}

/// An alphabet that guest SDKs have a name for: ranges of scalar values, the simplest first.
#[derive(Clone, Copy, Debug)]
pub struct Alphabet(&'static [(u32, u32)]);

/// Those of printable ASCII: small letters, capital letters, digits, the rest with the space first.
const ASCII: &[(u32, u32)] =
    &[(0x61, 0x7a), (0x41, 0x5a), (0x30, 0x39), (0x20, 0x2f), (0x3a, 0x40), (0x5b, 0x60), (0x7b, 0x7e)];
/// The same, then everything else.
const UNICODE: &[(u32, u32)] = &[
    (0x61, 0x7a),
    (0x41, 0x5a),
    (0x30, 0x39),
    (0x20, 0x2f),
    (0x3a, 0x40),
    (0x5b, 0x60),
    (0x7b, 0x7e),
    (0, 0x1f),
    (0x7f, 0xd7ff),
    (0xe000, 0x10_ffff),
];
const LOWER: &[(u32, u32)] = &[(0x61, 0x7a)];
const DIGITS: &[(u32, u32)] = &[(0x30, 0x39)];

impl Alphabet {
    /// The one that has so many scalar values: what a stream tells of an alphabet is its size. That another one of the
    /// same size is meant can't be seen.
    pub fn of_size(size: u32) -> Option<Self> {
        [UNICODE, ASCII, LOWER, DIGITS].map(Self).into_iter().find(|alphabet| alphabet.size() == size)
    }

    /// How many scalar values it has.
    pub fn size(self) -> u32 {
        self.0.iter().map(|(first, last)| last - first + 1).sum()
    }

    /// The scalar value with this index; `None` if it has fewer.
    pub fn scalar(self, mut index: u32) -> Option<char> {
        for &(first, last) in self.0 {
            let len = last - first + 1;
            if index < len {
                return char::from_u32(first + index);
            }
            index -= len;
        }
        None
    }

    /// The index of a scalar value; that of the first one if it is not among them.
    pub fn index(self, scalar: char) -> u32 {
        let (scalar, mut before) = (u32::from(scalar), 0);
        for &(first, last) in self.0 {
            if (first..=last).contains(&scalar) {
                return before + scalar - first;
            }
            before += last - first + 1;
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scalar_value_has_an_index() {
        for (size, scalars) in
            [(1_112_064, "azAZ09 ~\u{0}\u{7f}\u{d7ff}\u{e000}\u{10ffff}"), (95, "a ~"), (26, "az"), (10, "09")]
        {
            let alphabet = Alphabet::of_size(size).unwrap();
            for scalar in scalars.chars() {
                assert_eq!(alphabet.scalar(alphabet.index(scalar)), Some(scalar));
            }
            assert_eq!((alphabet.scalar(size), alphabet.scalar(size - 1).is_some()), (None, true));
        }
        assert!(Alphabet::of_size(27).is_none());
    }

    #[test]
    fn indices_come_back_from_their_bytes() {
        for pick in [0, 1, 127, 128, 1_112_063, u32::MAX] {
            let mut blob = Vec::new();
            write_pick(&mut blob, pick);
            let mut rest = &blob[..];
            assert_eq!((read_pick(&mut rest), rest.len()), (pick, 0));
        }
    }
}
