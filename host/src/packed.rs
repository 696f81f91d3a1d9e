//! Numbers in few bytes, for what is kept in files.

/// Appends a number as LEB128: 7 bits to a byte.
pub(crate) fn put_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 1 << 7 {
        bytes.push(number as u8 | 1 << 7);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Appends a number of either sign, those near 0 in the fewest bytes.
pub(crate) fn put_signed(bytes: &mut Vec<u8>, number: i64) {
    put_number(bytes, (number << 1 ^ number >> 63).cast_unsigned());
}

/// Appends bytes, their number first.
pub(crate) fn put_bytes(bytes: &mut Vec<u8>, content: &[u8]) {
    put_number(bytes, content.len() as u64);
    bytes.extend_from_slice(content);
}

/// Reads what was put together so. `None` is what does not end, or is none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packed<'a>(&'a [u8]);

impl<'a> Packed<'a> {
    /// From the first byte on.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Whether all was read.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// So many bytes.
    pub(crate) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    /// A number that fits.
    pub(crate) fn number<T: TryFrom<u64>>(&mut self) -> Option<T> {
        let mut number: u64 = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = *self.take(1)?.first()?;
            let bits = u64::from(byte & 0x7f);
            // Nothing is lost at the top.
            if bits << shift >> shift != bits {
                return None;
            }
            number |= bits << shift;
            if byte >> 7 == 0 {
                return T::try_from(number).ok();
            }
        }
        None
    }

    /// A number of either sign.
    pub(crate) fn signed(&mut self) -> Option<i64> {
        let number: u64 = self.number()?;
        Some((number >> 1).cast_signed() ^ -((number & 1).cast_signed()))
    }

    /// Bytes behind their number.
    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let count = self.number()?;
        self.take(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_and_what_is_cut_or_too_large_is_none() {
        let numbers = [0, 1, 127, 128, 300, 1 << 31, u64::from(u32::MAX), 1 << 56, 1 << 63, u64::MAX];
        for number in numbers {
            let mut bytes = Vec::new();
            put_number(&mut bytes, number);
            let mut packed = Packed::new(&bytes);
            assert_eq!((packed.number(), packed.is_empty()), (Some(number), true));
            assert_eq!(Packed::new(&bytes[..bytes.len() - 1]).number::<u64>(), None);
            assert_eq!(Packed::new(&bytes).number::<u32>(), u32::try_from(number).ok());
            for signed in [number.cast_signed(), number.cast_signed().wrapping_neg()] {
                let mut bytes = Vec::new();
                put_signed(&mut bytes, signed);
                assert_eq!(Packed::new(&bytes).signed(), Some(signed));
            }
        }
        assert_eq!(Packed::new(&[0xff; 11]).number::<u64>(), None);
        assert_eq!(Packed::new(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]).number::<u64>(), None);
        let mut bytes = Vec::new();
        put_bytes(&mut bytes, b"abc");
        assert_eq!(Packed::new(&bytes).bytes(), Some(&b"abc"[..]));
        assert_eq!(Packed::new(&bytes[..3]).bytes(), None);
    }
}
