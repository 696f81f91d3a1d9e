//! Linear memories that go back to their snapshot in time proportional to what was written.
//!
//! wasmtime asks [`Memories`] for every linear memory. Each is one reservation of address space, so it never moves:
//!
//! ```text
//! base                          snapshot            size (wasm length)                        reserved
//!  | R  RW  R  RW  forbidden  R |  RW (grown)  -    |  no access ...                           |
//! ```
//!
//! Once [`Region::track`] was called, pages below the snapshot are read-only until the guest first writes to them: the
//! fault ([`super::signals`]) makes the page writable and *hot*. Restoring makes the hot pages what they are in the [`Image`]
//! and leaves them writable, so that in the steady state there is no fault and no system call. A hot page that is
//! clean each time somebody looks ([`upkeep`]) is made read-only again. Memory that grows becomes accessible where it is
//! touched; afterwards that is zeroed and closed again ([`grown`]), so that an access past the end traps in the thousandth
//! execution as it did in the first.
//!
//! One page inside the memory's length can be [forbidden](Region::forbid): the guest's loads and stores trap there. What
//! would kill the process, an access by a host function or a library function that the guest's code calls, opens the page for the
//! rest of the execution, and is noted.
//!
//! Whoever writes from outside the guest's activation (input delivery) calls [`Region::write`], which marks pages hot
//! first: there is no guest on the stack whose handler could do it. Whoever reads then calls [`Region::visit`], which
//! knows what can be read.

mod budget;
mod creator;
mod grown;
mod image;
mod lines;
mod mapping;
mod marks;
mod pages;
#[cfg(test)]
mod tests;
mod upkeep;

pub(super) use creator::{Memories, with_witness};
pub(super) use image::Image;
pub(super) use mapping::PAGE_BYTES;

use budget::{Budget, Pool};
use grown::Grown;
use mapping::{Access, Mapping, round_up};
use pages::Pages;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// What inaccessible pages hold.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// No page is forbidden.
const NOWHERE: usize = usize::MAX;

/// One linear memory. Shared by wasmtime (as its `LinearMemory`), the executor, and the fault handler of its store.
///
/// Only the thread that runs the store touches a region, so relaxed atomics do: they are here because the fault handler
/// interrupts that same thread.
#[derive(Debug)]
pub(super) struct Region {
    mapping: Mapping,
    /// Bytes the memory can grow to.
    capacity: usize,
    /// The wasm length in bytes.
    size: AtomicUsize,
    /// Where the forbidden page starts; [`NOWHERE`] if there is none.
    forbidden: AtomicUsize,
    pool: &'static Pool,
    tracking: OnceLock<Tracking>,
}

#[derive(Debug)]
struct Tracking {
    /// Below the snapshot.
    pages: Pages,
    /// Above it.
    grown: Grown,
}

impl Region {
    pub(super) fn new(minimum: usize, maximum: Option<usize>, reserved: usize, guard: usize) -> io::Result<Self> {
        Self::with_budget(minimum, maximum, reserved, guard, Budget::of_process())
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
            forbidden: AtomicUsize::new(NOWHERE),
            pool,
            tracking: OnceLock::new(),
        })
    }

    fn base(&self) -> *mut u8 {
        self.mapping.base()
    }

    fn tracking(&self) -> &Tracking {
        self.tracking.get().expect("the region is tracked")
    }

    /// The wasm length in bytes.
    pub(super) fn size(&self) -> usize {
        self.size.load(Relaxed)
    }

    /// By how many bytes the memory grew since it was restored.
    pub(super) fn growth(&self) -> usize {
        self.size() - self.tracking().pages.image().len()
    }

    /// The memory's bytes. If it grew or a page of it is forbidden, [`Region::visit`] is for you.
    ///
    /// # Safety
    ///
    /// No guest of the region's store runs and nothing else writes to the region while the slice lives.
    ///
    /// # Panics
    ///
    /// If a page is inaccessible.
    pub(super) unsafe fn bytes(&self) -> &[u8] {
        if let Some(Tracking { pages, .. }) = self.tracking.get() {
            assert!(pages.closed().is_none(), "a page is forbidden");
            assert_eq!(self.size(), pages.image().len(), "the memory grew");
        }
        // SAFETY: `size` bytes are mapped and readable; the caller keeps writers out.
        unsafe { std::slice::from_raw_parts(self.base(), self.size()) }
    }

    /// Calls `visit` with the memory's bytes, in pieces in ascending order.
    ///
    /// # Safety
    ///
    /// As for [`Region::bytes`].
    pub(super) unsafe fn visit(&self, mut visit: impl FnMut(&[u8])) {
        let (size, mut next) = (self.size(), 0);
        let mut visit_up_to = |accessible: Range<usize>| {
            while next < accessible.start {
                let zeros = ZEROS.len().min(accessible.start - next);
                visit(&ZEROS[..zeros]);
                next += zeros;
            }
            // SAFETY: inside the memory and readable; the caller keeps writers out.
            visit(unsafe { std::slice::from_raw_parts(self.base().add(next), accessible.end - next) });
            next = accessible.end;
        };
        if let Some(Tracking { pages, grown }) = self.tracking.get() {
            for range in pages.accessible() {
                visit_up_to(range.start * *PAGE_BYTES..size.min(range.end * *PAGE_BYTES));
            }
            for range in grown.accessible(round_up(size)) {
                visit_up_to(range.start..size.min(range.end));
            }
        }
        let rest = if self.tracking.get().is_some() { size..size } else { 0..size };
        visit_up_to(rest);
    }

    /// Makes a page of the host inaccessible, as part of the snapshot that is to be taken: the one that starts at `offset`. It
    /// becomes all zeros. The guest's loads and stores trap there. If anything else that the guest calls touches the page,
    /// it is accessible from then on until the memory is restored, and [`Region::was_opened`] tells.
    ///
    /// Returns `false` if there is no such page: `offset` is no multiple of the page size, or the page not inside the memory.
    ///
    /// # Safety
    ///
    /// As for [`Region::bytes`].
    ///
    /// # Panics
    ///
    /// If a page is forbidden already, or the region is tracked.
    pub(super) unsafe fn forbid(&self, offset: usize) -> bool {
        let end = offset.checked_add(*PAGE_BYTES);
        if !offset.is_multiple_of(*PAGE_BYTES) || end.is_none_or(|end| end > self.size()) {
            return false;
        }
        assert!(self.tracking.get().is_none() && self.forbidden.load(Relaxed) == NOWHERE);
        self.forbidden.store(offset, Relaxed);
        // SAFETY: inside the memory and writable; the rest by the contract.
        unsafe { self.base().add(offset).write_bytes(0, *PAGE_BYTES) };
        true
    }

    /// Whether something other than the guest's own loads and stores touched the forbidden page since the last restore.
    pub(super) fn was_opened(&self) -> bool {
        self.tracking.get().is_some_and(|tracking| tracking.pages.was_opened())
    }

    /// Takes the present contents as the snapshot and begins to track writes. `image` holds the present contents. What is from `scratch` on, which starts
    /// a page, is not restored: for what is always written before it is read.
    ///
    /// # Safety
    ///
    /// As for [`Region::bytes`]; and from now on the store's fault handler must know this region.
    pub(super) unsafe fn track(&self, image: Arc<Image>, scratch: Option<usize>) -> io::Result<()> {
        assert_eq!(image.len(), self.size());
        let forbidden = Some(self.forbidden.load(Relaxed)).filter(|&offset| offset != NOWHERE);
        let page = |offset| offset / *PAGE_BYTES;
        // There is a guard at least.
        self.mapping.make_joinable(round_up(image.len()))?;
        let grown = Grown::new(round_up(image.len()), self.capacity, self.pool);
        let pages = Pages::new(&self.mapping, image, forbidden.map(page), scratch.map(page), self.pool)?;
        self.tracking.set(Tracking { pages, grown }).expect("a region is tracked once");
        Ok(())
    }

    /// Whether a fault at an address was for want of permission that can be had, so that what faulted can be tried
    /// again: the page is writable and hot now. `by_guest` says that the guest's own code faulted. Only then this refuses
    /// pages inside the memory's length: those that are forbidden. Async-signal-safe.
    pub(super) fn open(&self, fault: usize, by_guest: bool) -> bool {
        let Some(tracking) = self.tracking.get() else { return false };
        let offset = fault.wrapping_sub(self.base() as usize);
        let end = round_up(self.size());
        if offset >= end {
            false
        } else if offset < tracking.grown.first() {
            tracking.pages.fault(&self.mapping, offset / *PAGE_BYTES, by_guest)
        } else {
            tracking.grown.make_hot(&self.mapping, offset, end)
        }
    }

    /// Where in the pages of the snapshot an address is, in bytes from the region's start.
    pub(super) fn offset(&self, address: usize) -> Option<usize> {
        let offset = address.wrapping_sub(self.base() as usize);
        (offset < self.tracking.get()?.grown.first()).then_some(offset)
    }

    /// Makes the page that starts at `offset`, inside the memory's first length, inaccessible, until a memory that is out of mappings
    /// becomes one; on an error nothing changed. Any thread may call it, but not while another begins to [track](Region::track).
    pub(super) fn close(&self, offset: usize) -> io::Result<()> {
        match self.tracking.get() {
            Some(Tracking { pages, .. }) => pages.close(&self.mapping, offset / *PAGE_BYTES),
            None => self.mapping.protect(offset, *PAGE_BYTES, Access::None),
        }
    }

    /// Makes a page that was [closed](Region::close) accessible again.
    pub(super) fn reopen(&self, offset: usize) -> io::Result<()> {
        match self.tracking.get() {
            Some(Tracking { pages, .. }) => pages.reopen(&self.mapping, offset / *PAGE_BYTES),
            None => self.mapping.protect(offset, *PAGE_BYTES, Access::Write),
        }
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
    pub(super) unsafe fn write(&self, offset: usize, bytes: &[u8]) {
        assert!(offset.checked_add(bytes.len()).is_some_and(|end| end <= self.size()));
        if bytes.is_empty() {
            return;
        }
        if let Some(Tracking { pages, grown }) = self.tracking.get() {
            for page in offset / *PAGE_BYTES..(offset + bytes.len()).div_ceil(*PAGE_BYTES) {
                assert!(!pages.is_forbidden(page), "the page is forbidden");
                let start = page * *PAGE_BYTES;
                if start < grown.first() {
                    pages.make_hot(&self.mapping, page);
                } else {
                    grown.make_hot(&self.mapping, start, round_up(self.size()));
                }
            }
        }
        // SAFETY: in bounds by the assertion, writable by the loop above.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.base().add(offset), bytes.len()) };
    }

    /// Goes back to the snapshot: contents and length. If the length changed, wasmtime's copy of it must be refreshed
    /// (by `memory.grow(0)`), which the return value says.
    ///
    /// # Safety
    ///
    /// As for [`Region::bytes`]; only the thread that runs the guest calls this.
    pub(super) unsafe fn restore(&self) -> io::Result<bool> {
        let Tracking { pages, grown } = self.tracking();
        let (size, snapshot) = (self.size(), pages.image().len());
        if size != snapshot {
            // SAFETY: no guest runs, and the bytes are inside the memory.
            unsafe { grown.cut(&self.mapping, round_up(size))? };
            self.size.store(snapshot, Relaxed);
        }
        // SAFETY: by the contract.
        unsafe { pages.restore(&self.mapping)? };
        Ok(size != snapshot)
    }

    /// Calls `visit` with the offset and the bytes of everything that can differ from the snapshot, below it, in ascending
    /// order; with all if the region is not tracked. What is there and how it is cut into pieces depends on what was executed before; all other bytes are
    /// those of the image.
    ///
    /// # Safety
    ///
    /// As for [`Region::restore`].
    pub(super) unsafe fn visit_hot(&self, mut visit: impl FnMut(usize, &[u8])) {
        let Some(Tracking { pages, .. }) = self.tracking.get() else {
            // SAFETY: by the contract.
            return visit(0, unsafe { self.bytes() });
        };
        let end = pages.image().len();
        // SAFETY: the contract is the same; the pages are inside the memory and readable.
        unsafe {
            pages.visit_hot(|range| {
                let (start, end) = (range.start * *PAGE_BYTES, (range.end * *PAGE_BYTES).min(end));
                visit(start, std::slice::from_raw_parts(self.base().add(start), end - start));
            });
        }
    }

    fn grow(&self, size: usize) -> io::Result<()> {
        let old = self.size();
        if size > self.capacity || size < old {
            return Err(io::Error::from(io::ErrorKind::OutOfMemory));
        }
        let (start, end) = (round_up(old), round_up(size));
        match self.tracking.get() {
            Some(tracking) => tracking.grown.open(&self.mapping, start, end)?,
            None => self.mapping.protect(start, end - start, Access::Write)?,
        }
        self.size.store(size, Relaxed);
        Ok(())
    }
}
