//! The guest's memory as the calls see it: every access is checked, and a bad one is `fault`.

use super::Wasi;
use super::abi::{Errno, Filestat, Result};
use std::cell::Cell;
use std::ops::Range;

/// One call in progress: the state and the guest's memory, borrowed side by side.
pub(super) struct Call<'a> {
    pub(super) wasi: &'a mut Wasi,
    pub(super) guest: Guest<'a>,
}

/// Linear memory of the calling instance; empty if it exports none, so that every access then fails.
///
/// Pointers and lengths come from the guest and may be anything. Nothing here allocates.
pub(super) struct Guest<'a> {
    bytes: &'a mut [u8],
    /// Those that are nobody's: there may be nothing behind the addresses.
    gap: Range<usize>,
    /// Bytes that were handed out, which is what the host's work is in proportion to.
    touched: Cell<u64>,
}

impl<'a> Guest<'a> {
    pub(super) fn new(bytes: &'a mut [u8]) -> Self {
        let gap = bytes.len()..bytes.len();
        Self { bytes, gap, touched: Cell::new(0) }
    }

    /// As if bytes in the middle of the memory weren't there.
    pub(super) fn with_gap(self, gap: Range<usize>) -> Self {
        Self { gap, ..self }
    }

    /// Bytes that were read or written so far, as often as they were.
    pub(super) fn touched(&self) -> u64 {
        self.touched.get()
    }

    fn touch(&self, len: usize) {
        self.touched.set(self.touched.get() + len as u64);
    }

    /// Counts work that is more than to move bytes, in units of fuel.
    pub(super) fn worked(&self, units: u64) {
        self.touched.set(self.touched.get().saturating_add(units.saturating_mul(8)));
    }

    /// The place of bytes `at..at + len`, if they are the guest's.
    fn place(&self, at: u32, len: usize) -> Result<Range<usize>> {
        let (start, end) = (at as usize, at as usize + len);
        let is_there = end <= self.bytes.len() && (end <= self.gap.start || start >= self.gap.end);
        if is_there { Ok(start..end) } else { Err(Errno::Fault) }
    }

    /// Bytes `at..at + len`.
    pub(super) fn bytes(&self, at: u32, len: u32) -> Result<&[u8]> {
        self.touch(len as usize);
        Ok(&self.bytes[self.place(at, len as usize)?])
    }

    /// Bytes `at..at + len`, writable.
    pub(super) fn bytes_mut(&mut self, at: u32, len: u32) -> Result<&mut [u8]> {
        self.touch(len as usize);
        let place = self.place(at, len as usize)?;
        Ok(&mut self.bytes[place])
    }

    /// A string; what is not UTF-8 is `ilseq`.
    pub(super) fn text(&self, at: u32, len: u32) -> Result<&str> {
        // To look at characters takes longer than to move bytes.
        self.worked(len.into());
        std::str::from_utf8(self.bytes(at, len)?).map_err(|_| Errno::Ilseq)
    }

    pub(super) fn u32_at(&self, at: u32) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array(at)?))
    }

    pub(super) fn u64_at(&self, at: u32) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array(at)?))
    }

    pub(super) fn array<const N: usize>(&self, at: u32) -> Result<[u8; N]> {
        self.touch(N);
        self.bytes[self.place(at, N)?].first_chunk().copied().ok_or(Errno::Fault)
    }

    /// Stores `bytes` at `at`. Storing nothing succeeds anywhere.
    pub(super) fn write(&mut self, at: u32, bytes: &[u8]) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let len = u32::try_from(bytes.len()).map_err(|_| Errno::Fault)?;
        self.bytes_mut(at, len)?.copy_from_slice(bytes);
        Ok(())
    }

    pub(super) fn write_u32(&mut self, at: u32, value: u32) -> Result<()> {
        self.write(at, &value.to_le_bytes())
    }

    pub(super) fn write_u64(&mut self, at: u32, value: u64) -> Result<()> {
        self.write(at, &value.to_le_bytes())
    }

    /// Stores a `filestat` (64 bytes). Padding keeps what it held.
    pub(super) fn write_filestat(&mut self, at: u32, stat: &Filestat) -> Result<()> {
        let to = self.bytes_mut(at, 64)?;
        let mut put = |offset: usize, value: u64| to[offset..offset + 8].copy_from_slice(&value.to_le_bytes());
        put(0, stat.dev);
        put(8, stat.ino);
        put(24, stat.nlink);
        put(32, stat.size);
        put(40, stat.atim);
        put(48, stat.mtim);
        put(56, stat.ctim);
        to[16] = stat.filetype as u8;
        Ok(())
    }
}

/// A guest's list of buffers (`iovec_array` or `ciovec_array`): pairs of pointer and length, 8 bytes each.
///
/// Buffers may overlap, and a list of 4 GiB is as cheap as one of [`Iovecs::COUNT_MAX`]: a call handles no more
/// than that and no more than [`Iovecs::BYTES_MAX`], which the guest sees as a short read or write.
#[derive(Clone, Copy)]
pub(super) struct Iovecs {
    at: u32,
    count: u32,
}

impl Iovecs {
    /// A buffer, however few bytes it has, in units of fuel.
    const ENTRY_WORK: u64 = 16;
    /// Buffers handled by one call (Linux' `IOV_MAX`).
    const COUNT_MAX: u32 = 1024;
    /// Bytes handled by one call (Linux' `MAX_RW_COUNT`).
    const BYTES_MAX: u32 = 0x7fff_f000;

    /// Takes the list at `at`; `fault` if no list can be there as far as its first buffer that is not empty.
    pub(super) fn new(guest: &Guest<'_>, at: u32, count: u32) -> Result<Self> {
        let iovecs = Self { at, count: count.min(Self::COUNT_MAX) };
        for index in 0..iovecs.count {
            if iovecs.get(guest, index)?.1 != 0 {
                break;
            }
        }
        Ok(iovecs)
    }

    fn get(&self, guest: &Guest<'_>, index: u32) -> Result<(u32, u32)> {
        let at = self.at.checked_add(index * 8).ok_or(Errno::Fault)?;
        guest.worked(Self::ENTRY_WORK);
        let pair = guest.u64_at(at)?;
        Ok((pair as u32, (pair >> 32) as u32))
    }

    /// Hands each buffer to `transfer` until one is not used up, and gives the number of bytes transferred.
    ///
    /// `transfer` gets the memory and the buffer's place, and says how much of it was used. A failure after some bytes
    /// were transferred ends the call with that number: the guest meets the failure in its next call.
    pub(super) fn transfer<'g>(
        self,
        guest: &mut Guest<'g>,
        mut transfer: impl FnMut(&mut Guest<'g>, u32, u32) -> Result<u32>,
    ) -> Result<u32> {
        let mut total = 0;
        for index in 0..self.count {
            let step = self.get(guest, index).and_then(|(at, len)| {
                let len = len.min(Self::BYTES_MAX - total);
                if len == 0 { Ok((0, 0)) } else { Ok((transfer(guest, at, len)?, len)) }
            });
            match step {
                Ok((used, len)) => {
                    total += used;
                    if used < len {
                        break;
                    }
                }
                Err(errno) if total == 0 => return Err(errno),
                Err(_) => break,
            }
        }
        Ok(total)
    }
}
