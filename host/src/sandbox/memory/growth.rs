//! How a memory becomes longer.

use super::mapping::{Access, PAGE_BYTES, round_up};
use super::{NOWHERE, Region};
use std::io;
use std::sync::atomic::Ordering::Relaxed;

impl Region {
    /// wasmtime's growth, to so many bytes: of what the guest counts, or, announced before, an annex.
    pub(super) fn grow_to(&self, length: usize) -> io::Result<()> {
        let start = self.announced.swap(NOWHERE, Relaxed);
        if start == NOWHERE {
            return self.grow(length);
        }
        if length > self.capacity || length <= start {
            return Err(io::Error::from(io::ErrorKind::OutOfMemory));
        }
        self.mapping.protect(start, length - start, Access::Write)?;
        // So that it becomes one mapping again whenever the access is the same.
        // SAFETY: nobody knows of the annex yet.
        unsafe { self.base().add(start).write_volatile(0) };
        self.annex.set(start..length).expect("there is no annex yet");
        Ok(())
    }

    /// Lets the guest count so many bytes, zeros at first.
    pub(crate) fn grow(&self, size: usize) -> io::Result<()> {
        let old = self.size();
        if size > self.growth_end() || size < old {
            return Err(io::Error::from(io::ErrorKind::OutOfMemory));
        }
        let (start, end) = (round_up(old), round_up(size));
        match self.tracking.get() {
            Some(tracking) => tracking.grown.open(&self.mapping, start, end)?,
            None => {
                let start = start.max(self.open_ahead.load(Relaxed)).min(end);
                self.mapping.protect(start, end - start, Access::Write)?;
            }
        }
        self.size.store(size, Relaxed);
        self.steps.store(self.growth_steps() + usize::from(end > start), Relaxed);
        Ok(())
    }

    /// Makes so many bytes behind what the guest counts writable, if there are as many, so that nothing has to be done
    /// when it grows over them, bit by bit. [`Region::close_ahead`] comes before there is any input.
    pub(crate) fn open_ahead(&self, bytes: usize) -> io::Result<()> {
        assert!(self.tracking.get().is_none());
        let start = round_up(self.size());
        let end = start.saturating_add(round_up(bytes)).min(self.growth_end());
        if start < end {
            self.mapping.protect(start, end - start, Access::Write)?;
            self.open_ahead.store(end, Relaxed);
        }
        Ok(())
    }

    /// Makes what is still behind the size inaccessible, and zeros.
    pub(crate) fn close_ahead(&self) -> io::Result<()> {
        let (start, end) = (round_up(self.size()), self.open_ahead.swap(0, Relaxed));
        if start < end {
            self.mapping.give_back(start, end - start)?;
            // SAFETY: the page is writable still, and no guest's.
            unsafe { self.base().add(start).write_volatile(0) };
            self.joinable.store(start, Relaxed);
            self.mapping.protect(start, end - start, Access::None)?;
        }
        Ok(())
    }

    /// Where the guest's part ends that has grown as far as it can.
    fn growth_end(&self) -> usize {
        self.annex.get().map_or(self.capacity, |annex| annex.start - *PAGE_BYTES)
    }
}
