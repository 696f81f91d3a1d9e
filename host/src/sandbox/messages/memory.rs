//! What lies in a guest's memory at an address that the guest named, none of which is trusted.

use crate::sandbox::memory::Region;

/// More of a text is not read.
pub(crate) const TEXT_BYTES_MAX: u32 = 4096;

/// A linear memory of a guest that does not run.
pub(crate) struct Memory<'a>(pub(crate) &'a Region);

impl Memory<'_> {
    /// So many bytes; `None` if some of them are outside. What is inaccessible holds zeros.
    pub(crate) fn bytes(&self, at: u32, len: u32) -> Option<Vec<u8>> {
        let (start, end) = (at as usize, at as usize + len as usize);
        if end > self.0.size() || len > TEXT_BYTES_MAX {
            return None;
        }
        let mut bytes = Vec::with_capacity(len as usize);
        let mut offset = 0;
        let take = |piece: &[u8]| {
            let from = start.clamp(offset, offset + piece.len()) - offset;
            let to = end.clamp(offset, offset + piece.len()) - offset;
            bytes.extend_from_slice(&piece[from..to]);
            offset += piece.len();
        };
        // SAFETY: no guest runs, and nothing writes meanwhile.
        unsafe { self.0.visit(take) };
        Some(bytes)
    }

    /// A number of 32 bits.
    pub(crate) fn number(&self, at: u32) -> Option<u32> {
        Some(u32::from_le_bytes(*self.bytes(at, 4)?.first_chunk()?))
    }

    /// A text of so many bytes of UTF-8; the beginning of one that is too long.
    pub(crate) fn text(&self, at: u32, len: u32) -> Option<String> {
        let bytes = self.bytes(at, len.min(TEXT_BYTES_MAX))?;
        match std::str::from_utf8(&bytes) {
            Ok(text) => Some(text.to_owned()),
            // Cut in the middle of a character, or no text at all.
            Err(error) if len > TEXT_BYTES_MAX && error.error_len().is_none() => {
                Some(String::from_utf8_lossy(&bytes[..error.valid_up_to()]).into_owned())
            }
            Err(_) => None,
        }
    }

    /// A text that a zero byte ends, of any bytes: not all of C's are UTF-8.
    pub(crate) fn text_to_zero(&self, at: u32) -> Option<String> {
        let room = u32::try_from(self.0.size().checked_sub(at as usize)?).unwrap_or(u32::MAX);
        let bytes = self.bytes(at, room.min(TEXT_BYTES_MAX))?;
        let end = bytes.iter().position(|&byte| byte == 0)?;
        (at != 0).then(|| String::from_utf8_lossy(&bytes[..end]).into_owned())
    }

    /// A string of AssemblyScript's: UTF-16, its length in bytes before it.
    pub(crate) fn utf16(&self, at: u32) -> Option<String> {
        let len = self.number(at.checked_sub(4)?)?.min(TEXT_BYTES_MAX) & !1;
        self.bytes(at, len).map(|bytes| from_utf16(&bytes))
    }
}

/// As text. What is none is replaced.
pub(crate) fn from_utf16(bytes: &[u8]) -> String {
    let (units, _) = bytes.as_chunks::<2>();
    let units: Vec<u16> = units.iter().map(|unit| u16::from_le_bytes(*unit)).collect();
    String::from_utf16_lossy(&units)
}
