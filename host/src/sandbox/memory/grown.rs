//! Memory above the snapshot: what an execution grew, and is taken away after it.
//!
//! What opening and closing pages by mprotect costs is that the kernel splits mappings and joins them: neighbours with
//! the same access become one. A mark that pages get when they become hot keeps these apart from all others, so that
//! each run of hot pages is a mapping of its own for good, and only its access changes: 1.4 us for both instead of 4.2.
//! Nothing else depends on the mark. It is a system call, too, so a memory that hardly ever grows does without.

use super::budget::{Budget, Pool};
use super::mapping::{Access, Mapping, PAGE_BYTES, page_of, round_up};
use super::marks::Marks;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

/// So many pages between two that were touched are opened and zeroed with them. A page costs 0.2 us, because mprotect
/// has made the processor forget where it is, and what is behind the gap 1 us as a run by itself.
const GAP_PAGES: usize = 16;

/// So much of what an execution touched is zeroed by writing; the rest is given back to the kernel. That costs ten
/// times as much, but keeps a rare huge growth from staying resident.
const RESIDENT_BYTES_MAX: usize = 16 << 20;

/// After so many faults each makes four times as many pages hot: an allocator that is asked for another size each time
/// begins another page each time, and there are thousands. Zeroing sixty-four pages takes less than one fault.
const FAULTS_ALONE: usize = 8;
/// The most that one fault makes hot,
const CHUNK_PAGES_MAX: usize = 64;
/// or a quarter of the hot pages directly before it, and no more than so many: who touched these touches them in order.
const AHEAD_PAGES_MAX: usize = 1024;

/// Hot pages are set apart from the execution on that grows the memory as the so manieth.
const CUTS_JOINED: usize = 16;

/// Which pages above the snapshot were ever touched. These are writable as soon as the memory grows over them, and
/// zeroed when it is cut back. The others stay inaccessible, which costs nothing, until the fault that touches them.
/// Pages are numbered from the first.
#[derive(Debug)]
pub(super) struct Grown {
    /// Where memory above the snapshot begins, in bytes: at a page.
    first: usize,
    /// Set apart after [`CUTS_JOINED`] cuts, unless the kernel refused that.
    hot: Marks,
    /// How often pages became hot.
    faults: AtomicUsize,
    /// How often the memory was cut back.
    cuts: AtomicUsize,
    /// All that grows is writable: the budget of mappings is spent.
    all: AtomicBool,
    /// What is writable stays so, whatever the memory's size is.
    keeps_open: bool,
    /// Two mappings for each run of hot pages, open or closed: the run, and what is behind it; and one while the end of
    /// the memory is inside a run, of which only the part below is open.
    budget: Budget,
}

impl Grown {
    /// Memory can grow from `first` up to `capacity`, both in bytes. With `keeps_open` nobody accesses what is beyond
    /// its size.
    pub(super) fn new(first: usize, capacity: usize, keeps_open: bool, pool: &'static Pool) -> Self {
        let pages = capacity.saturating_sub(first).div_ceil(*PAGE_BYTES);
        let (faults, cuts, all) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
        Self { first, hot: Marks::new(pages), faults, cuts, all, keeps_open, budget: Budget::new(pool) }
    }

    /// Where memory above the snapshot begins, in bytes: at a page.
    pub(super) fn first(&self) -> usize {
        self.first
    }

    /// Whether all that grows is writable, because there were no mappings left to tell pages apart.
    #[cfg(test)]
    pub(super) fn spent(&self) -> bool {
        self.all.load(Relaxed)
    }

    /// Whether pages that are hot are writable whatever the memory's size is.
    fn is_left_open(&self) -> bool {
        self.keeps_open && !self.all.load(Relaxed)
    }

    /// The memory grew by the pages from `start` to `end`, in bytes.
    pub(super) fn open(&self, mapping: &Mapping, start: usize, end: usize) -> io::Result<()> {
        if start >= end {
            return Ok(());
        }
        let pages = self.pages(start, end);
        if self.is_left_open() {
            return Ok(());
        }
        let affordable = !self.all.load(Relaxed) && self.budget.take(self.parts(pages.end) - self.parts(pages.start));
        if !affordable || self.hot.runs(pages).any(|run| self.protect(mapping, run, Access::Write).is_err()) {
            return self.open_all(mapping, end);
        }
        Ok(())
    }

    /// How many mappings more there are because the memory ends with the page before `end`: one if that is inside a
    /// run.
    fn parts(&self, end: usize) -> isize {
        isize::from(end > 0 && self.hot.contains(end - 1) && self.hot.contains(end))
    }

    /// Makes the page at `offset` writable, and perhaps others around it, of a memory that ends with the page at `end`,
    /// both in bytes. Returns `false` if it was, or can't be. Async-signal-safe.
    pub(super) fn make_hot(&self, mapping: &Mapping, offset: usize, end: usize) -> bool {
        let page = self.pages(offset, offset + 1).start;
        if self.all.load(Relaxed) || self.hot.contains(page) {
            return false;
        }
        let pages = self.chunk(page, self.pages(offset, end).end);
        // A run that begins beyond the end is closed now, so the page doesn't join it before the memory is cut back.
        let at_end = pages.end == self.pages(offset, end).end;
        let beyond = !self.keeps_open && at_end && self.hot.contains(pages.end);
        let affordable = self.budget.take(2 * (1 - self.hot.around(&pages)) + isize::from(beyond));
        if !affordable || self.protect(mapping, pages.clone(), Access::Write).is_err() {
            return self.open_all(mapping, end).is_ok();
        }
        self.insert(mapping, pages);
        true
    }

    /// The pages that become hot with one of them, none of which is, of a memory that ends with the page before `end`.
    fn chunk(&self, page: usize, end: usize) -> Range<usize> {
        let faults = self.faults.fetch_add(1, Relaxed);
        let sizes = std::iter::successors(Some((1, FAULTS_ALONE)), |&(pages, faults)| Some((4 * pages, 4 * faults)));
        let size = sizes.take_while(|&(pages, _)| pages <= CHUNK_PAGES_MAX).find(|&(_, limit)| faults < limit);
        let size = size.map_or(CHUNK_PAGES_MAX, |(pages, _)| pages);
        let before = (page.saturating_sub(4 * AHEAD_PAGES_MAX)..page).rev().take_while(|&page| self.hot.contains(page));
        let ahead = page + before.count() / 4;
        let aligned = page / size * size..(page / size * size + size).max(ahead).min(end);
        let start = (aligned.start..page).rev().take_while(|&before| !self.hot.contains(before)).last();
        let last = (page + 1..aligned.end).take_while(|&after| !self.hot.contains(after)).last();
        start.unwrap_or(page)..last.unwrap_or(page) + 1
    }

    /// These pages are hot from now on.
    fn insert(&self, mapping: &Mapping, pages: Range<usize>) {
        if self.sets_apart() {
            self.set_apart(mapping, &pages);
        }
        self.hot.insert(pages);
    }

    pub(super) fn sets_apart(&self) -> bool {
        self.cuts.load(Relaxed) >= CUTS_JOINED
    }

    fn set_apart(&self, mapping: &Mapping, pages: &Range<usize>) {
        let bytes = self.bytes(pages);
        // A kernel that refuses this joins and splits the mappings each time, as it would without.
        let _ = mapping.set_apart(bytes.start, bytes.len(), true);
    }

    /// The ranges of bytes, up to the page that ends at `end`, that are accessible, in ascending order.
    pub(super) fn accessible(&self, end: usize) -> impl Iterator<Item = Range<usize>> {
        let all = self.all.load(Relaxed).then_some(self.first..end).filter(|bytes| !bytes.is_empty());
        let pages = if self.all.load(Relaxed) { 0..0 } else { self.pages(self.first, end.max(self.first)) };
        all.into_iter().chain(self.hot.runs(pages).map(|run| self.bytes(&run)))
    }

    /// Makes all that grew one mapping, so that nothing has to be taken for it.
    fn open_all(&self, mapping: &Mapping, end: usize) -> io::Result<()> {
        mapping.protect(self.first, end - self.first, Access::Write)?;
        // What is hot beyond the end as well.
        let _ = mapping.set_apart(self.first, self.hot.pages() * *PAGE_BYTES, false);
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
        let mut open: Option<Range<usize>> = None;
        let mut room = RESIDENT_BYTES_MAX;
        for bytes in self.accessible(end) {
            // SAFETY: it is writable; the rest by the contract.
            unsafe { zero(mapping, &bytes, &mut room)? };
            if self.is_left_open() {
                continue;
            }
            if let Some(open) = &open {
                self.fill_gap(mapping, self.pages(open.end, bytes.start));
            }
            open = Some(open.map_or(bytes.start, |open| open.start)..bytes.end);
        }
        if self.is_left_open() {
            return Ok(());
        }
        // What is closed between the runs costs less than a system call for each.
        let open = open.unwrap_or(end..end);
        mapping.protect(open.start, open.len(), Access::None)?;
        if !self.all.load(Relaxed) {
            self.budget.take(-self.parts(self.pages(self.first, end).end));
            if self.cuts.fetch_add(1, Relaxed) + 1 == CUTS_JOINED {
                self.hot.runs(0..self.hot.pages()).for_each(|run| self.set_apart(mapping, &run));
            }
        }
        Ok(())
    }

    /// Joins two runs of hot pages if what is between them, which is closed, is small.
    fn fill_gap(&self, mapping: &Mapping, gap: Range<usize>) {
        if gap.len() <= GAP_PAGES {
            self.insert(mapping, gap);
            self.budget.take(-2);
        }
    }

    fn protect(&self, mapping: &Mapping, pages: Range<usize>, access: Access) -> io::Result<()> {
        let bytes = self.bytes(&pages);
        mapping.protect(bytes.start, bytes.len(), access)
    }

    /// The pages in which the bytes from `start` to `end` lie.
    fn pages(&self, start: usize, end: usize) -> Range<usize> {
        page_of(start - self.first)..page_of(round_up(end - self.first))
    }

    fn bytes(&self, pages: &Range<usize>) -> Range<usize> {
        self.first + pages.start * *PAGE_BYTES..self.first + pages.end * *PAGE_BYTES
    }
}

/// Makes bytes zeros, of which so many may stay resident; takes from these.
///
/// # Safety
///
/// `bytes` are writable pages, and nobody else reads or writes there.
unsafe fn zero(mapping: &Mapping, bytes: &Range<usize>, resident: &mut usize) -> io::Result<()> {
    let written = bytes.len().min(*resident);
    *resident -= written;
    // SAFETY: by the contract.
    unsafe { mapping.base().add(bytes.start).write_bytes(0, written) };
    let rest = bytes.start + written..bytes.end;
    if rest.is_empty() { Ok(()) } else { mapping.give_back(rest.start, rest.len()) }
}
