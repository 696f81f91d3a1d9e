//! Memory above the snapshot: what an execution grew, and is taken away after it.

use super::budget::{Budget, Pool};
use super::mapping::{Access, Mapping, PAGE_BYTES};
use super::marks::Marks;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// So many pages between two that were written are opened and zeroed with them. A page costs 0.1 to 0.3 us, because mprotect
/// has made the processor forget where it is, and opening what is behind the gap by itself 0.7 us.
const GAP_PAGES: usize = 3;

/// Memory so far above the snapshot is zeroed by writing; beyond, pages are given back to the kernel. That costs ten
/// times as much, but keeps a rare huge growth from staying resident.
const RESIDENT_BYTES_MAX: usize = 16 << 20;

/// Which pages above the snapshot were ever written. These are writable as soon as the memory grows over them, and zeroed
/// when it is cut back; the first write to another is a fault, as below the snapshot. Pages are numbered from the first.
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
        let pages = capacity.saturating_sub(first).div_ceil(*PAGE_BYTES);
        Self { first, hot: Marks::new(pages), all: AtomicBool::new(false), budget: Budget::new(pool) }
    }

    /// Where memory above the snapshot begins, in bytes: at a page.
    pub(super) fn first(&self) -> usize {
        self.first
    }

    /// The memory grew by the pages from `start` to `end`, in bytes.
    pub(super) fn open(&self, mapping: &Mapping, start: usize, end: usize) -> io::Result<()> {
        if start >= end {
            return Ok(());
        }
        let pages = self.pages(start, end);
        let runs = self.hot.runs(pages.clone()).count();
        let affordable = !self.all.load(Relaxed) && self.budget.take(2 * isize::try_from(runs).expect("few"));
        if !affordable || self.open_runs(mapping, pages).is_err() {
            return self.open_all(mapping, end);
        }
        Ok(())
    }

    fn open_runs(&self, mapping: &Mapping, pages: Range<usize>) -> io::Result<()> {
        let all_hot = self.hot.contains(pages.start) && self.hot.run_ends(pages.start, pages.end) == pages.end;
        if !all_hot {
            self.protect(mapping, pages.clone(), Access::Read)?;
        }
        self.hot.runs(pages).try_for_each(|run| self.protect(mapping, run, Access::Write))
    }

    /// Makes the page at `offset` writable, of a memory that ends with the page at `end`, both in bytes. Returns `false` if it
    /// was, or can't be. Async-signal-safe.
    pub(super) fn make_hot(&self, mapping: &Mapping, offset: usize, end: usize) -> bool {
        let pages = self.pages(offset, offset + 1);
        if self.all.load(Relaxed) || self.hot.contains(pages.start) {
            return false;
        }
        // What is hot beyond the end is inaccessible now, and no neighbour.
        let beyond = pages.end == self.pages(offset, end).end && self.hot.contains(pages.end);
        let affordable = self.budget.take(2 * (1 - self.hot.around(&pages) + isize::from(beyond)));
        if !affordable || self.protect(mapping, pages.clone(), Access::Write).is_err() {
            return self.open_all(mapping, end).is_ok();
        }
        self.hot.insert(pages);
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
            let mut last = 0;
            for run in self.hot.runs(self.pages(self.first, end)) {
                // SAFETY: hot pages are writable.
                unsafe { self.zero(mapping, self.bytes(&run))? };
                if last > 0 && run.start - last <= GAP_PAGES {
                    self.hot.insert(last..run.start);
                }
                last = run.end;
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

    fn protect(&self, mapping: &Mapping, pages: Range<usize>, access: Access) -> io::Result<()> {
        let bytes = self.bytes(&pages);
        mapping.protect(bytes.start, bytes.len(), access)
    }

    /// The pages in which the bytes from `start` to `end` lie.
    fn pages(&self, start: usize, end: usize) -> Range<usize> {
        (start - self.first) / *PAGE_BYTES..(end - self.first).div_ceil(*PAGE_BYTES)
    }

    fn bytes(&self, pages: &Range<usize>) -> Range<usize> {
        self.first + pages.start * *PAGE_BYTES..self.first + pages.end * *PAGE_BYTES
    }
}
