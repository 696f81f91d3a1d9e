//! Linear memories that go back to their snapshot in time proportional to what was written.
//!
//! wasmtime asks [`Memories`] for every linear memory. Each is one reservation of address space, so it never moves:
//!
//! ```text
//! base                          snapshot            size (wasm length)                        reserved
//!  | R  RW  R  RW  forbidden  R |  RW (grown)  -    |  no access ...                           |
//! ```
//!
//! One can have an annex, which the guest does not count: see [`crate::sandbox::instance::annex`].
//!
//! ```text
//! base               snapshot      size                        annex                   length (wasm)    reserved
//!  | R  RW  R  RW  R  |  RW (grown) |  nobody's: no access ...  | R  RW  R  forbidden   |  no access ...   |
//! ```
//!
//! Once [`Region::track`] was called, pages below the snapshot are read-only until the guest first writes to them:
//! the fault ([`crate::sandbox::faults::handler`]) makes the page writable and *hot*. Restoring makes the hot pages
//! what they are in the [`Image`] and leaves them writable, so that in the steady state there is no fault and no
//! system call. A hot page that is clean each time somebody looks ([`demotion`]) is made read-only again. Memory that
//! grows becomes accessible where it is touched; afterwards that is zeroed and closed again ([`grown`]), so that an
//! access past the end traps in the thousandth execution as it did in the first. Of a guest that grows so often that
//! this costs more ([`Growths`](crate::sandbox::Growths)) the code compares addresses itself, in the quick variants,
//! and what it grew stays open.
//!
//! One page inside the memory's length can be [forbidden](Region::forbid): the guest's loads and stores trap there.
//! What would kill the process, an access by a host function or a library function that the guest's code calls, opens
//! the page for the rest of the execution, and is noted.
//!
//! Whoever writes from outside the guest's activation (input delivery) calls [`Region::write`], which marks pages hot
//! first: there is no guest on the stack whose handler could do it. Whoever reads then calls [`Region::visit`], which
//! knows what can be read.

mod budget;
mod closed;
mod creator;
mod demotion;
mod grown;
mod growth;
mod image;
mod images;
mod lines;
mod mapping;
mod marks;
mod pages;
#[cfg(test)]
mod tests;

pub(crate) use creator::{Memories, with_witness};
pub(crate) use image::Image;
pub(crate) use images::Images;
pub(crate) use mapping::PAGE_BYTES;
pub(crate) use pages::Writes;

use budget::{Budget, Pool};
use grown::Grown;
use mapping::{Access, Mapping, in_bytes, page_of, round_up};
use pages::Pages;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// What inaccessible pages hold.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// Whether bytes are all zeros: as fast as memory is read, also where code is not optimised.
pub(crate) fn are_zeros(bytes: &[u8]) -> bool {
    bytes.chunks(ZEROS.len()).all(|chunk| chunk == &ZEROS[..chunk.len()])
}

/// No page is forbidden.
const NOWHERE: usize = usize::MAX;

/// One linear memory. Shared by wasmtime (as its `LinearMemory`), the executor, and the fault handler of its store.
///
/// Only the thread that runs the store touches a region, so relaxed atomics do: they are here because the fault handler
/// interrupts that same thread.
#[derive(Debug)]
pub(crate) struct Region {
    mapping: Mapping,
    /// Bytes the memory can grow to.
    capacity: usize,
    /// The wasm length in bytes, up to the annex: what the guest counts.
    size: AtomicUsize,
    /// How often it grew since it was restored.
    steps: AtomicUsize,
    /// Where the next growth makes an annex; [`NOWHERE`] if it doesn't.
    announced: AtomicUsize,
    /// The bytes of the annex.
    annex: OnceLock<Range<usize>>,
    /// Where the forbidden page starts; [`NOWHERE`] if there is none.
    forbidden: AtomicUsize,
    /// What an execution grew stays open after it.
    keeps_open: AtomicBool,
    /// Where pages end that are writable before the memory grows over them: not behind its size if there are none.
    open_ahead: AtomicUsize,
    /// From where on the kernel may join mappings already, as [`Mapping::make_joinable`] has it: in bytes.
    joinable: AtomicUsize,
    pool: &'static Pool,
    /// What is worth a system call is measured by the time that executions take.
    timed: bool,
    tracking: OnceLock<Tracking>,
}

#[derive(Debug)]
struct Tracking {
    /// Below the snapshot.
    pages: Pages,
    /// Above it.
    grown: Grown,
    annex: Option<Pages>,
}

impl Region {
    pub(crate) fn new(minimum: usize, maximum: Option<usize>, reserved: usize, guard: usize) -> io::Result<Self> {
        let region = Self::with_budget(minimum, maximum, reserved, guard, Budget::of_process())?;
        Ok(Self { timed: true, ..region })
    }

    fn with_budget(
        minimum: usize,
        maximum: Option<usize>,
        reserved: usize,
        guard: usize,
        pool: &'static Pool,
    ) -> io::Result<Self> {
        let capacity = round_up(reserved.max(minimum));
        let mapping = Mapping::new(capacity + round_up(guard).max(*PAGE_BYTES))?;
        mapping.protect(0, minimum, Access::Write)?;
        Ok(Self {
            mapping,
            capacity: maximum.map_or(capacity, |maximum| maximum.min(capacity)),
            size: AtomicUsize::new(minimum),
            steps: AtomicUsize::new(0),
            announced: AtomicUsize::new(NOWHERE),
            annex: OnceLock::new(),
            forbidden: AtomicUsize::new(NOWHERE),
            keeps_open: AtomicBool::new(false),
            open_ahead: AtomicUsize::new(0),
            joinable: AtomicUsize::new(NOWHERE),
            pool,
            timed: false,
            tracking: OnceLock::new(),
        })
    }

    fn base(&self) -> *mut u8 {
        self.mapping.base()
    }

    fn tracking(&self) -> &Tracking {
        self.tracking.get().expect("the region is tracked")
    }

    /// How many bytes the guest counts: the wasm length if there is no annex.
    pub(crate) fn size(&self) -> usize {
        self.size.load(Relaxed)
    }

    /// The wasm length in bytes.
    fn length(&self) -> usize {
        self.annex.get().map_or(self.size(), |annex| annex.end)
    }

    /// Bytes that the memory can grow to.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Lets the next growth make an annex that begins at `start`, a page, and ends where the memory does then. The page
    /// before it will always be nobody's.
    pub(crate) fn announce_annex(&self, start: usize) {
        assert!(self.annex.get().is_none() && self.tracking.get().is_none());
        assert!(start.is_multiple_of(*PAGE_BYTES) && self.size() + *PAGE_BYTES <= start);
        self.announced.store(start, Relaxed);
    }

    /// Leaves open what executions grow, from the next snapshot on: nobody goes beyond what the guest counts, because
    /// the guest's code compares each address.
    pub(crate) fn keep_open(&self) {
        assert!(self.tracking.get().is_none());
        self.keeps_open.store(true, Relaxed);
    }

    /// Whether there are so many bytes at an offset, all the guest's or all the annex's.
    fn has(&self, offset: usize, len: usize) -> bool {
        let within = |start: usize, end: usize| offset >= start && offset <= end && len <= end - offset;
        within(0, self.size()) || self.annex.get().is_some_and(|annex| within(annex.start, annex.end))
    }

    /// By how many bytes the memory grew since it was restored.
    pub(crate) fn growth(&self) -> usize {
        self.size() - self.tracking().pages.image().len()
    }

    /// How often the memory grew since it was restored.
    pub(crate) fn growth_steps(&self) -> usize {
        self.steps.load(Relaxed)
    }

    /// The bytes of the annex, if there is one. [`Region::visit`] is for you when the region is tracked.
    ///
    /// # Safety
    ///
    /// As for [`Region::bytes`].
    pub(crate) unsafe fn annex_bytes(&self) -> Option<&[u8]> {
        assert!(self.tracking.get().is_none(), "pages may be inaccessible");
        let Range { start, end } = self.annex.get()?.clone();
        // SAFETY: they are mapped and readable; the caller keeps writers out.
        Some(unsafe { std::slice::from_raw_parts(self.base().add(start), end - start) })
    }

    /// Bytes of the annex, none of them on its last page, which may be closed.
    ///
    /// # Safety
    ///
    /// As for [`Region::bytes`].
    ///
    /// # Panics
    ///
    /// If they are not in the annex, or on its last page.
    pub(crate) unsafe fn annex_part(&self, part: Range<usize>) -> &[u8] {
        let annex = self.annex.get().expect("there is an annex");
        assert!(annex.start <= part.start && part.start <= part.end && part.end <= annex.end - *PAGE_BYTES);
        // SAFETY: they are mapped and readable; the caller keeps writers out.
        unsafe { std::slice::from_raw_parts(self.base().add(part.start), part.len()) }
    }

    /// The memory's bytes, without the annex. If it grew or a page of it is forbidden, [`Region::visit`] is for you.
    ///
    /// # Safety
    ///
    /// No guest of the region's store runs and nothing else writes to the region while the slice lives.
    ///
    /// # Panics
    ///
    /// If a page is inaccessible.
    pub(crate) unsafe fn bytes(&self) -> &[u8] {
        if let Some(Tracking { pages, .. }) = self.tracking.get() {
            assert!(pages.closed().is_none(), "a page is forbidden");
            assert_eq!(self.size(), pages.image().len(), "the memory grew");
        }
        // SAFETY: `size` bytes are mapped and readable; the caller keeps writers out.
        unsafe { std::slice::from_raw_parts(self.base(), self.size()) }
    }

    /// Calls `visit` with the bytes that the guest counts, in pieces in ascending order.
    ///
    /// # Safety
    ///
    /// As for [`Region::bytes`].
    pub(crate) unsafe fn visit(&self, mut visit: impl FnMut(&[u8])) {
        let size = self.size();
        let Some(Tracking { pages, grown, .. }) = self.tracking.get() else {
            // SAFETY: by the contract; all is accessible.
            return unsafe { self.visit_part(0..size, std::iter::once(0..size), &mut visit) };
        };
        let below = pages.accessible().map(|pages| in_bytes(pages, 0));
        // SAFETY: by the contract.
        unsafe { self.visit_part(0..size, below.chain(grown.accessible(round_up(size))), &mut visit) };
    }

    /// As [`Region::visit`] for the bytes of the annex, if there is one.
    ///
    /// # Safety
    ///
    /// As for [`Region::bytes`].
    pub(crate) unsafe fn visit_annex(&self, mut visit: impl FnMut(&[u8])) {
        let Some(range) = self.annex.get() else { return };
        match self.tracking.get().and_then(|tracking| tracking.annex.as_ref()) {
            // SAFETY: by the contract; all is accessible.
            None => unsafe { self.visit_part(range.clone(), std::iter::once(range.clone()), &mut visit) },
            Some(annex) => {
                let accessible = annex.accessible().map(|pages| in_bytes(pages, range.start));
                // SAFETY: by the contract.
                unsafe { self.visit_part(range.clone(), accessible, &mut visit) };
            }
        }
    }

    /// What can be read of what the guest counts: offsets and bytes, ascending. All else is zeros.
    ///
    /// # Safety
    ///
    /// As for [`Region::bytes`], as long as the bytes are there.
    pub(crate) unsafe fn accessible(&self) -> Vec<(usize, &[u8])> {
        let size = self.size();
        let ranges: Vec<_> = match self.tracking.get() {
            None => std::iter::once(0..size).collect(),
            Some(Tracking { pages, grown, .. }) => {
                pages.accessible().map(|pages| in_bytes(pages, 0)).chain(grown.accessible(round_up(size))).collect()
            }
        };
        let ranges =
            ranges.into_iter().map(|Range { start, end }| start..end.min(size)).filter(|range| !range.is_empty());
        // SAFETY: inside the memory and readable; the caller keeps writers out.
        let slice =
            |range: &Range<usize>| unsafe { std::slice::from_raw_parts(self.base().add(range.start), range.len()) };
        ranges.map(|range| (range.start, slice(&range))).collect()
    }

    /// Visits one part of the memory, of which the ranges in `accessible` are, in ascending order; the last may reach
    /// beyond the part.
    ///
    /// # Safety
    ///
    /// As for [`Region::bytes`].
    unsafe fn visit_part(
        &self,
        part: Range<usize>,
        accessible: impl Iterator<Item = Range<usize>>,
        visit: &mut impl FnMut(&[u8]),
    ) {
        let mut next = part.start;
        for Range { start, end } in accessible.chain(std::iter::once(part.end..part.end)) {
            while next < start {
                let zeros = ZEROS.len().min(start - next);
                visit(&ZEROS[..zeros]);
                next += zeros;
            }
            let end = end.min(part.end);
            // SAFETY: inside the memory and readable; the caller keeps writers out.
            visit(unsafe { std::slice::from_raw_parts(self.base().add(next), end - next) });
            next = end;
        }
    }

    /// Takes the present contents as the snapshot and begins to track writes. `image` holds the present contents,
    /// `annex` those of the annex.
    ///
    /// # Safety
    ///
    /// As for [`Region::bytes`]; and from now on the store's fault handler must know this region.
    pub(crate) unsafe fn track(&self, image: Arc<Image>, annex: Option<Arc<Image>>, writes: Writes) -> io::Result<()> {
        assert_eq!(image.len(), self.size());
        assert!(self.open_ahead.load(Relaxed) <= image.len(), "what is ahead was closed");
        let forbidden = Some(self.forbidden.load(Relaxed)).filter(|&offset| offset != NOWHERE);
        let page_in = |range: Range<usize>| {
            forbidden.filter(|offset| range.contains(offset)).map(|offset| page_of(offset - range.start))
        };
        // There is a guard at least.
        let end = round_up(image.len());
        if self.joinable.load(Relaxed) != end {
            self.mapping.make_joinable(end)?;
        }
        let end = self.annex.get().map_or(self.capacity, |annex| annex.start);
        let grown = Grown::new(round_up(image.len()), end, self.keeps_open.load(Relaxed), self.pool);
        let below = page_in(0..image.len());
        let pages = Pages::new(&self.mapping, 0, image, below, writes, self.pool)?;
        let timed = |pages: Pages| if self.timed { pages.timed() } else { pages };
        let annex = match (annex, self.annex.get()) {
            (Some(image), Some(range)) => {
                assert_eq!(image.len(), range.len());
                let forbidden = page_in(range.clone());
                Some(timed(Pages::new(&self.mapping, range.start, image, forbidden, Writes::default(), self.pool)?))
            }
            (None, None) => None,
            _ => panic!("there is an image of the annex if there is one"),
        };
        self.tracking.set(Tracking { pages: timed(pages), grown, annex }).expect("a region is tracked once");
        // What the snapshot grew no execution did.
        self.steps.store(0, Relaxed);
        Ok(())
    }

    /// Writes `bytes` at `offset` from outside any activation of the guest.
    ///
    /// # Safety
    ///
    /// As for [`Region::bytes`].
    ///
    /// # Panics
    ///
    /// If the range is not inside the memory, or a page of it is forbidden.
    pub(crate) unsafe fn write(&self, offset: usize, bytes: &[u8]) {
        assert!(self.has(offset, bytes.len()));
        if bytes.is_empty() {
            return;
        }
        if let Some(tracking @ Tracking { pages, grown, .. }) = self.tracking.get() {
            for page in page_of(offset)..=page_of(offset + bytes.len() - 1) {
                let start = page * *PAGE_BYTES;
                let (pages, page) = self.in_annex(tracking, start).unwrap_or((pages, page));
                assert!(!pages.is_forbidden(page), "the page is forbidden");
                if start < grown.first() || offset >= round_up(self.size()) {
                    pages.make_hot(&self.mapping, page);
                } else {
                    grown.make_hot(&self.mapping, start, round_up(self.size()));
                }
            }
        }
        // SAFETY: in bounds by the assertion, writable by the loop above.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.base().add(offset), bytes.len()) };
    }

    /// The number at `offset`, which the guest has written before.
    ///
    /// # Safety
    ///
    /// The caller is a host function that the guest called, on its thread. Faults of the instance are handled, or
    /// nobody takes its pages away.
    pub(crate) unsafe fn load_inside(&self, offset: usize) -> u32 {
        assert!(self.has(offset, size_of::<u32>()));
        // SAFETY: in bounds; if somebody takes the page away, the handler gives it back to the host.
        unsafe { self.base().add(offset).cast::<u32>().read_volatile() }
    }

    /// Takes `amount` from the number at `offset`, which the guest has written before.
    ///
    /// # Safety
    ///
    /// As for [`Region::load_inside`].
    pub(crate) unsafe fn take_inside(&self, offset: usize, amount: i64) {
        assert!(self.has(offset, size_of::<i64>()));
        // SAFETY: as above.
        unsafe {
            let number = self.base().add(offset).cast::<i64>();
            number.write_volatile(number.read_volatile().saturating_sub(amount));
        }
    }

    /// Goes back to the snapshot: contents and length. If the wasm length changed, wasmtime's copy of it must be
    /// refreshed (by `memory.grow(0)`), which the return value says.
    ///
    /// # Safety
    ///
    /// As for [`Region::bytes`]; only the thread that runs the guest calls this.
    pub(crate) unsafe fn restore(&self) -> io::Result<bool> {
        let Tracking { pages, grown, annex } = self.tracking();
        let (size, snapshot) = (self.size(), pages.image().len());
        if size != snapshot {
            // SAFETY: no guest runs, and the bytes are inside the memory.
            unsafe { grown.cut(&self.mapping, round_up(size))? };
            self.size.store(snapshot, Relaxed);
            self.steps.store(0, Relaxed);
        }
        // SAFETY: by the contract.
        unsafe { pages.restore(&self.mapping)? };
        if let Some(annex) = annex {
            // SAFETY: by the contract.
            unsafe { annex.restore(&self.mapping)? };
        }
        Ok(size != snapshot && annex.is_none())
    }

    /// Calls `visit` with the offset and the bytes of everything that can differ from the snapshot, below it, in
    /// ascending order; with all if the region is not tracked. What is there and how it is cut into pieces depends on
    /// what was executed before; all other bytes are those of the image.
    ///
    /// # Safety
    ///
    /// As for [`Region::restore`].
    pub(crate) unsafe fn visit_hot(&self, mut visit: impl FnMut(usize, &[u8])) {
        let Some(Tracking { pages, .. }) = self.tracking.get() else {
            // SAFETY: by the contract.
            return visit(0, unsafe { self.bytes() });
        };
        let end = pages.image().len();
        // SAFETY: the contract is the same; the pages are inside the memory and readable.
        unsafe {
            pages.visit_hot(&self.mapping, |range| {
                let (start, end) = (range.start * *PAGE_BYTES, (range.end * *PAGE_BYTES).min(end));
                visit(start, std::slice::from_raw_parts(self.base().add(start), end - start));
            });
        }
    }
}
