//! Memory above the snapshot: what an execution grew, and is taken away after it.

use super::budget::{Budget, Pool};
use super::mapping::{Access, Mapping};
use super::marks::Marks;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// What is known to be written is opened and zeroed in chunks of this size: zeroing one takes as long as a call of mprotect.
const CHUNK_BYTES: usize = 1 << 16;

/// Memory so far above the snapshot is zeroed by writing; beyond, pages are given back to the kernel. That costs ten
/// times as much, but keeps a rare huge growth from staying resident.
const RESIDENT_BYTES_MAX: usize = 16 << 20;

/// Which chunks above the snapshot were ever written. These are writable as soon as the memory grows over them, and zeroed
/// when it is cut back; the first write to another is a fault, as below the snapshot.
#[derive(Debug)]
pub(super) struct Grown {
    /// Where memory above the snapshot begins, in bytes: at a page.
    first: usize,
    hot: Marks,
    /// All that grows is writable: the budget of mappings is spent.
    all: AtomicBool,
    budget: Budget,
}

impl Grown {
    /// Memory can grow from `first` up to `capacity`, both in bytes.
    pub(super) fn new(first: usize, capacity: usize, pool: &'static Pool) -> Self {
        let chunks = capacity.saturating_sub(first).div_ceil(CHUNK_BYTES);
        Self { first, hot: Marks::new(chunks), all: AtomicBool::new(false), budget: Budget::new(pool) }
    }

    /// Where memory above the snapshot begins, in bytes: at a page.
    pub(super) fn first(&self) -> usize {
        self.first
    }

    /// The memory grew by the pages `start..end`, in bytes.
    pub(super) fn open(&self, mapping: &Mapping, start: usize, end: usize) -> io::Result<()> {
        if start >= end {
            return Ok(());
        }
        let chunks = self.chunks(start, end);
        let runs = self.hot.runs(chunks.clone()).count();
        let affordable = !self.all.load(Relaxed) && self.budget.take(2 * isize::try_from(runs).expect("few"));
        if !affordable || self.open_runs(mapping, start..end, chunks).is_err() {
            return self.open_all(mapping, end);
        }
        Ok(())
    }

    fn open_runs(&self, mapping: &Mapping, pages: Range<usize>, chunks: Range<usize>) -> io::Result<()> {
        let all_hot = self.hot.contains(chunks.start) && self.hot.run_ends(chunks.start, chunks.end) == chunks.end;
        if !all_hot {
            mapping.protect(pages.start, pages.len(), Access::Read)?;
        }
        for run in self.hot.runs(chunks) {
            let bytes = self.bytes(&run);
            let (start, end) = (bytes.start.max(pages.start), bytes.end.min(pages.end));
            mapping.protect(start, end - start, Access::Write)?;
        }
        Ok(())
    }

    /// Makes the chunk at `offset` writable, of a memory that ends with the page at `end`, both in bytes. Returns `false` if it
    /// was, or can't be. Async-signal-safe.
    pub(super) fn make_hot(&self, mapping: &Mapping, offset: usize, end: usize) -> bool {
        let chunks = self.chunks(offset, offset + 1);
        if self.all.load(Relaxed) || self.hot.contains(chunks.start) {
            return false;
        }
        let bytes = self.bytes(&chunks);
        let len = bytes.end.min(end) - bytes.start;
        if !self.budget.take(2) || mapping.protect(bytes.start, len, Access::Write).is_err() {
            return self.open_all(mapping, end).is_ok();
        }
        self.hot.insert(chunks);
        true
    }

    fn open_all(&self, mapping: &Mapping, end: usize) -> io::Result<()> {
        mapping.protect(self.first, end - self.first, Access::Write)?;
        self.all.store(true, Relaxed);
        self.budget.give_all_back();
        Ok(())
    }

    /// Makes all that grew zeros and inaccessible; `end` is where its last page ends, in bytes.
    ///
    /// # Safety
    ///
    /// Nobody else reads or writes there.
    pub(super) unsafe fn cut(&self, mapping: &Mapping, end: usize) -> io::Result<()> {
        if end <= self.first {
            return Ok(());
        }
        if self.all.load(Relaxed) {
            // SAFETY: all of it is writable.
            unsafe { self.zero(mapping, self.first..end)? };
        } else {
            for run in self.hot.runs(self.chunks(self.first, end)) {
                let bytes = self.bytes(&run);
                // SAFETY: hot chunks are writable.
                unsafe { self.zero(mapping, bytes.start..bytes.end.min(end))? };
            }
        }
        mapping.protect(self.first, end - self.first, Access::None)?;
        self.budget.give_all_back();
        Ok(())
    }

    /// # Safety
    ///
    /// `bytes` are writable pages, and nobody else reads or writes there.
    unsafe fn zero(&self, mapping: &Mapping, bytes: Range<usize>) -> io::Result<()> {
        let resident = bytes.end.min(self.first + RESIDENT_BYTES_MAX).max(bytes.start);
        // SAFETY: by the contract.
        unsafe { mapping.base().add(bytes.start).write_bytes(0, resident - bytes.start) };
        if resident < bytes.end { mapping.give_back(resident, bytes.end - resident) } else { Ok(()) }
    }

    /// The chunks in which the bytes `start..end` lie.
    fn chunks(&self, start: usize, end: usize) -> Range<usize> {
        (start - self.first) / CHUNK_BYTES..(end - self.first).div_ceil(CHUNK_BYTES)
    }

    fn bytes(&self, chunks: &Range<usize>) -> Range<usize> {
        self.first + chunks.start * CHUNK_BYTES..self.first + chunks.end * CHUNK_BYTES
    }
}
