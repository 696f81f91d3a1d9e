//! Which bytes are simpler.

/// A strict order of the bytes of plain inputs and blobs.
///
/// Blobs compare by length, and then lexically by the *rank* of their bytes, the number of bytes that are simpler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Taste {
    /// By value: what a guest draws as a blob.
    #[default]
    Value,
    /// Plain inputs, which people look at: digits, `a` to `z`, `A` to `Z`, space, newline, the other printable ASCII
    /// characters, NUL, the other bytes. Among the simplest inputs `0000` is easier to read and to type than four
    /// NULs.
    Readable,
}

/// By rank.
const READABLE: [u8; 256] = readable();
/// By byte.
const RANKS: [u8; 256] = ranks();

const fn readable() -> [u8; 256] {
    let ranges: [(u8, u8); 13] = [
        (b'0', b'9'),
        (b'a', b'z'),
        (b'A', b'Z'),
        (b' ', b' '),
        (b'\n', b'\n'),
        (b'!', b'/'),
        (b':', b'@'),
        (b'[', b'`'),
        (b'{', b'~'),
        (0, 9),
        (11, 31),
        (127, 127),
        (128, 255),
    ];
    let mut table = [0; 256];
    let (mut range, mut rank) = (0, 0);
    while range < ranges.len() {
        let mut byte = ranges[range].0 as usize;
        while byte <= ranges[range].1 as usize {
            table[rank] = byte as u8;
            byte += 1;
            rank += 1;
        }
        range += 1;
    }
    assert!(rank == 256, "every byte has a rank");
    table
}

const fn ranks() -> [u8; 256] {
    let mut table = [0; 256];
    let mut rank = 0;
    while rank < 256 {
        table[READABLE[rank] as usize] = rank as u8;
        rank += 1;
    }
    table
}

impl Taste {
    /// The byte with this rank.
    pub fn byte(self, rank: u8) -> u8 {
        match self {
            Self::Value => rank,
            Self::Readable => READABLE[usize::from(rank)],
        }
    }

    /// How many bytes are simpler.
    pub fn rank(self, byte: u8) -> u8 {
        match self {
            Self::Value => byte,
            Self::Readable => RANKS[usize::from(byte)],
        }
    }

    /// Compares two byte strings: the shorter is simpler, and of equally long ones the first different byte decides.
    pub fn compare(self, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
        let ranks = |bytes: &[u8]| bytes.iter().map(|byte| self.rank(*byte)).collect::<Vec<_>>();
        a.len().cmp(&b.len()).then_with(|| ranks(a).cmp(&ranks(b)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_a_rank_of_its_own() {
        for taste in [Taste::Value, Taste::Readable] {
            assert!((0..=255).all(|byte| taste.byte(taste.rank(byte)) == byte));
        }
        assert_eq!(Taste::Readable.byte(0), b'0');
        assert!(Taste::Readable.compare(b"0", b"\0").is_lt() && Taste::Readable.compare(b"zz", b"\0\0\0").is_lt());
    }
}
