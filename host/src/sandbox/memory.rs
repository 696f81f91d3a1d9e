//! Linear memories that go back to their snapshot in time proportional to what was written.
//!
//! wasmtime asks [`Memories`] for every linear memory. Each is one reservation of address space, so it never moves:
//!
//! ```text
//! base            snapshot          size (wasm length)                        reserved
//!  | R  RW  R  RW  R |  RW (grown)    |  no access ...                           |
//! ```
//!
//! Once [`Region::track`] was called, pages below the snapshot are read-only until the guest first writes to them: the
//! fault ([`super::signals`]) makes the page writable and *hot*. Restoring copies the hot pages back from the image
//! and leaves them writable, so that in the steady state there is no fault and no system call. Memory that grew is zeroed
//! and closed again, so that an access past the end traps in the thousandth execution as it did in the first.
//!
//! Whoever writes from outside the guest's activation (input delivery) calls [`Region::write`], which marks pages hot
//! first: there is no guest on the stack whose handler could do it.

use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, Weak};
use wasmtime::{LinearMemory, MemoryCreator, MemoryType};

/// Grown memory up to this size is zeroed by writing; above, its pages are given back to the kernel, which costs more
/// per page (46 ns against 30 ns for 16 pages) but keeps a rare huge growth from staying resident.
const ZERO_BY_WRITING_BYTES_MAX: usize = 1 << 20;

/// The kernel's limit on mappings is per process and shared by all workers; what is left of it for isolated writable pages.
/// The margin is for everything else in the process: code, stacks, other memories.
static MAPPINGS_LEFT: LazyLock<AtomicIsize> = LazyLock::new(|| {
    let limit = std::fs::read_to_string("/proc/sys/vm/max_map_count").ok().and_then(|text| text.trim().parse().ok());
    AtomicIsize::new(limit.unwrap_or(65_530) / 2)
});

/// The size of a page of the host, in bytes.
static PAGE_BYTES: LazyLock<usize> = LazyLock::new(|| {
    // SAFETY: sysconf has no preconditions.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).expect("the page size is positive")
});

/// One linear memory. Shared by wasmtime (as [`LinearMemory`]), the executor, and the fault handler of its store.
///
/// Only the thread that runs the store touches a region, so relaxed atomics do: they are here because the fault handler
/// interrupts that same thread.
#[derive(Debug)]
pub(super) struct Region {
    base: NonNull<u8>,
    /// Bytes of address space, guard included.
    mapped: usize,
    /// Bytes the memory can grow to.
    capacity: usize,
    /// The wasm length in bytes.
    size: AtomicUsize,
    tracking: OnceLock<Tracking>,
}

/// Which pages below the snapshot are writable.
#[derive(Debug)]
struct Tracking {
    /// The wasm length when the snapshot was taken.
    size: usize,
    /// One bit per page.
    hot: Box<[AtomicU64]>,
    /// The hot pages in the order in which they became hot; `hot_len` of them.
    list: Box<[AtomicU32]>,
    hot_len: AtomicUsize,
    /// All pages are writable: the budget of mappings is spent.
    all: AtomicBool,
    /// Mappings taken from [`MAPPINGS_LEFT`].
    mappings: AtomicIsize,
}

// SAFETY: the memory behind `base` is owned by the region; wasmtime makes sure that only one thread at a time runs the
// store it belongs to, and all other fields are atomics.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    pub(super) fn new(minimum: usize, maximum: Option<usize>, reserved: usize, guard: usize) -> std::io::Result<Self> {
        let capacity = round_up(reserved.max(minimum));
        let mapped = capacity + round_up(guard).max(*PAGE_BYTES);
        // SAFETY: a fresh anonymous mapping at an address of the kernel's choice.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                mapped,
                libc::PROT_NONE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(std::io::Error::last_os_error());
        }
        let region = Self {
            base: NonNull::new(base.cast()).expect("a mapping is never at 0"),
            mapped,
            capacity: maximum.map_or(capacity, |maximum| maximum.min(capacity)),
            size: AtomicUsize::new(minimum),
            tracking: OnceLock::new(),
        };
        region.protect(0, minimum, libc::PROT_READ | libc::PROT_WRITE)?;
        Ok(region)
    }

    /// The wasm length in bytes.
    pub(super) fn size(&self) -> usize {
        self.size.load(Relaxed)
    }

    /// The memory's bytes.
    ///
    /// # Safety
    ///
    /// No guest of the region's store runs and nothing else writes to the region while the slice lives.
    pub(super) unsafe fn bytes(&self) -> &[u8] {
        // SAFETY: `size` bytes are mapped and readable; the caller keeps writers out.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.size()) }
    }

    /// Takes the present contents as the snapshot and begins to track writes. The caller keeps a copy of the contents.
    ///
    /// # Safety
    ///
    /// As for [`Region::bytes`]; and from now on the store's fault handler must know this region.
    pub(super) unsafe fn track(&self) -> std::io::Result<()> {
        let size = self.size();
        let pages = round_up(size) / *PAGE_BYTES;
        let tracking = Tracking {
            size,
            hot: (0..pages.div_ceil(64)).map(|_| AtomicU64::new(0)).collect(),
            list: (0..pages).map(|_| AtomicU32::new(0)).collect(),
            hot_len: AtomicUsize::new(0),
            all: AtomicBool::new(false),
            mappings: AtomicIsize::new(0),
        };
        // It reads a file the first time, which the fault handler must not.
        LazyLock::force(&MAPPINGS_LEFT);
        self.tracking.set(tracking).expect("a region is tracked once");
        self.protect(0, size, libc::PROT_READ)
    }

    /// Makes the page at address `fault` writable and hot if it is a tracked page of this region that was not; tells
    /// whether it did. Async-signal-safe: atomics and mprotect only.
    pub(super) fn open(&self, fault: usize) -> bool {
        let Some(tracking) = self.tracking.get() else { return false };
        self.offset(fault).is_some_and(|offset| self.make_hot(tracking, offset / *PAGE_BYTES))
    }

    /// Where in the pages of the snapshot an address is, in bytes from the region's start.
    pub(super) fn offset(&self, address: usize) -> Option<usize> {
        let offset = address.wrapping_sub(self.base.as_ptr() as usize);
        (offset < round_up(self.tracking.get()?.size)).then_some(offset)
    }

    fn make_hot(&self, tracking: &Tracking, page: usize) -> bool {
        let (word, bit) = (page / 64, 1 << (page % 64));
        if tracking.all.load(Relaxed) || tracking.hot[word].load(Relaxed) & bit != 0 {
            return false;
        }
        // An isolated writable page splits its neighbourhood in three: two more mappings.
        tracking.mappings.fetch_add(2, Relaxed);
        let affordable = MAPPINGS_LEFT.fetch_sub(2, Relaxed) >= 2;
        let writable = libc::PROT_READ | libc::PROT_WRITE;
        if !affordable || self.protect(page * *PAGE_BYTES, *PAGE_BYTES, writable).is_err() {
            return self.make_all_hot(tracking).is_ok();
        }
        tracking.hot[word].fetch_or(bit, Relaxed);
        let index = tracking.hot_len.load(Relaxed);
        tracking.list[index].store(u32::try_from(page).expect("at most 2^32 pages"), Relaxed);
        tracking.hot_len.store(index + 1, Relaxed);
        true
    }

    /// One mapping for all of it: this gives mappings back, so it works when nothing else does.
    fn make_all_hot(&self, tracking: &Tracking) -> std::io::Result<()> {
        self.protect(0, tracking.size, libc::PROT_READ | libc::PROT_WRITE)?;
        tracking.all.store(true, Relaxed);
        MAPPINGS_LEFT.fetch_add(tracking.mappings.swap(0, Relaxed), Relaxed);
        Ok(())
    }

    /// Makes the snapshot's pages from byte `from` on inaccessible; on an error nothing changed. Async-signal-safe, and any
    /// thread may call it: contents and hot marks stay as they are.
    pub(super) fn close(&self, from: usize) -> std::io::Result<()> {
        let tracking = self.tracking.get().expect("only a tracked region is closed");
        self.protect(from, tracking.size.saturating_sub(from), libc::PROT_NONE)
    }

    /// Makes what [`Region::close`] closed accessible again: hot pages can be written, the others read.
    pub(super) fn reopen(&self, from: usize) -> std::io::Result<()> {
        let tracking = self.tracking.get().expect("only a tracked region was closed");
        if tracking.all.load(Relaxed) || self.reopen_pages(tracking, from).is_err() {
            self.make_all_hot(tracking)?;
        }
        Ok(())
    }

    fn reopen_pages(&self, tracking: &Tracking, from: usize) -> std::io::Result<()> {
        self.protect(from, tracking.size.saturating_sub(from), libc::PROT_READ)?;
        let is_hot = |page: usize| tracking.hot[page / 64].load(Relaxed) & 1 << (page % 64) != 0;
        let end = round_up(tracking.size) / *PAGE_BYTES;
        let mut page = from / *PAGE_BYTES;
        while page < end {
            let hot = (page..end).take_while(|&page| is_hot(page)).count();
            self.protect(page * *PAGE_BYTES, hot * *PAGE_BYTES, libc::PROT_READ | libc::PROT_WRITE)?;
            page += hot + 1;
        }
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
    /// If the range is not inside the memory.
    pub(super) unsafe fn write(&self, offset: usize, bytes: &[u8]) {
        assert!(offset.checked_add(bytes.len()).is_some_and(|end| end <= self.size()));
        if bytes.is_empty() {
            return;
        }
        if let Some(tracking) = self.tracking.get() {
            let last = (offset + bytes.len() - 1).min(round_up(tracking.size).saturating_sub(1));
            for page in offset / *PAGE_BYTES..=last / *PAGE_BYTES {
                self.make_hot(tracking, page);
            }
        }
        // SAFETY: in bounds by the assertion, writable by the loop above.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.base.as_ptr().add(offset), bytes.len()) };
    }

    /// Goes back to the snapshot: contents and length. If the length changed, wasmtime's copy of it must be refreshed
    /// (by `memory.grow(0)`), which the return value says.
    ///
    /// # Safety
    ///
    /// As for [`Region::bytes`]; `image` is what the region held when [`Region::track`] was called.
    pub(super) unsafe fn restore(&self, image: &[u8]) -> std::io::Result<bool> {
        let tracking = self.tracking.get().expect("only a tracked region is restored");
        assert_eq!(image.len(), tracking.size);
        let grown = self.size() > tracking.size;
        if grown {
            self.cut(tracking.size)?;
        }
        if tracking.all.load(Relaxed) {
            // SAFETY: `image.len()` bytes are mapped and, since `all`, writable.
            unsafe { std::ptr::copy_nonoverlapping(image.as_ptr(), self.base.as_ptr(), image.len()) };
            return Ok(grown);
        }
        for range in self.hot_ranges(tracking) {
            // SAFETY: hot pages are inside the snapshot and writable; `image` has the same length as the snapshot.
            unsafe {
                std::ptr::copy_nonoverlapping(
                    image.as_ptr().add(range.start),
                    self.base.as_ptr().add(range.start),
                    range.len(),
                );
            };
        }
        Ok(grown)
    }

    /// The byte ranges that can differ from the snapshot, below it.
    fn hot_ranges(&self, tracking: &Tracking) -> impl Iterator<Item = std::ops::Range<usize>> {
        tracking.list[..tracking.hot_len.load(Relaxed)].iter().map(|page| {
            let start = page.load(Relaxed) as usize * *PAGE_BYTES;
            start..(start + *PAGE_BYTES).min(tracking.size)
        })
    }

    /// Calls `visit` with the offset and the bytes of everything that can differ from the snapshot, below it. The order
    /// is that of first writes, so it must not matter.
    ///
    /// # Safety
    ///
    /// As for [`Region::bytes`].
    pub(super) unsafe fn visit_hot(&self, mut visit: impl FnMut(usize, &[u8])) {
        let tracking = self.tracking.get().expect("only a tracked region has hot pages");
        // SAFETY: the caller keeps writers out.
        let bytes = unsafe { self.bytes() };
        if tracking.all.load(Relaxed) {
            visit(0, &bytes[..tracking.size]);
        } else {
            for range in self.hot_ranges(tracking) {
                visit(range.start, &bytes[range]);
            }
        }
    }

    /// Shrinks the memory to `size` bytes: what was above is zero and inaccessible.
    fn cut(&self, size: usize) -> std::io::Result<()> {
        let (start, end) = (round_up(size), round_up(self.size()));
        // The rest of the snapshot's last page; lengths are multiples of the page except with custom page sizes.
        // SAFETY: inside the memory; pages that grew are writable, and so is a partial last page once it was grown over.
        unsafe {
            if start > size {
                if let Some(tracking) = self.tracking.get() {
                    self.make_hot(tracking, size / *PAGE_BYTES);
                }
                self.base.as_ptr().add(size).write_bytes(0, start.min(self.size()) - size);
            }
            let grown = self.base.as_ptr().add(start);
            if end - start <= ZERO_BY_WRITING_BYTES_MAX {
                grown.write_bytes(0, end - start);
            } else if libc::madvise(grown.cast(), end - start, libc::MADV_DONTNEED) != 0 {
                return Err(std::io::Error::last_os_error());
            }
        }
        self.protect(start, end - start, libc::PROT_NONE)?;
        self.size.store(size, Relaxed);
        Ok(())
    }

    fn grow(&self, size: usize) -> std::io::Result<()> {
        let old = self.size();
        if size > self.capacity || size < old {
            return Err(std::io::Error::from(std::io::ErrorKind::OutOfMemory));
        }
        let start = round_up(old);
        self.protect(start, round_up(size).saturating_sub(start), libc::PROT_READ | libc::PROT_WRITE)?;
        self.size.store(size, Relaxed);
        Ok(())
    }

    /// Sets the protection of whole pages; `offset` is a multiple of the page size.
    fn protect(&self, offset: usize, len: usize, protection: libc::c_int) -> std::io::Result<()> {
        let len = round_up(len);
        debug_assert!(offset + len <= self.mapped);
        if len == 0 {
            return Ok(());
        }
        // SAFETY: the range is inside our own mapping.
        let failed = unsafe { libc::mprotect(self.base.as_ptr().add(offset).cast(), len, protection) != 0 };
        if failed { Err(std::io::Error::last_os_error()) } else { Ok(()) }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        if let Some(tracking) = self.tracking.get() {
            MAPPINGS_LEFT.fetch_add(tracking.mappings.load(Relaxed), Relaxed);
        }
        // SAFETY: the mapping is ours and nobody can reach it any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.mapped) };
    }
}

fn round_up(bytes: usize) -> usize {
    bytes.next_multiple_of(*PAGE_BYTES)
}

/// wasmtime's handle of a region.
struct Handle(Arc<Region>);

// SAFETY: `size` bytes at `base` are accessible, the rest of the reservation and the guard are not, and nothing moves.
unsafe impl LinearMemory for Handle {
    fn byte_size(&self) -> usize {
        self.0.size()
    }

    fn byte_capacity(&self) -> usize {
        self.0.capacity
    }

    fn grow_to(&mut self, new_size: usize) -> wasmtime::Result<()> {
        Ok(self.0.grow(new_size)?)
    }

    fn as_ptr(&self) -> *mut u8 {
        self.0.base.as_ptr()
    }
}

/// Makes the linear memories of an engine, and finds the region behind a memory's address.
#[derive(Debug, Default)]
pub(super) struct Memories {
    regions: Mutex<BTreeMap<usize, Weak<Region>>>,
}

impl Memories {
    /// The region that begins at `base`.
    pub(super) fn region(&self, base: *mut u8) -> Option<Arc<Region>> {
        self.regions.lock().expect("no panic while held").get(&(base as usize))?.upgrade()
    }
}

// SAFETY: regions are zero-filled, reserve what was asked for, and are guarded.
unsafe impl MemoryCreator for Memories {
    fn new_memory(
        &self,
        _ty: MemoryType,
        minimum: usize,
        maximum: Option<usize>,
        reserved_size_in_bytes: Option<usize>,
        guard_size_in_bytes: usize,
    ) -> Result<Box<dyn LinearMemory>, String> {
        let reserved = reserved_size_in_bytes.unwrap_or(0);
        let region = Region::new(minimum, maximum, reserved, guard_size_in_bytes)
            .map_err(|error| format!("failed to reserve address space for a linear memory: {error}"))?;
        let region = Arc::new(region);
        let mut regions = self.regions.lock().expect("no panic while held");
        regions.retain(|_, region| region.strong_count() > 0);
        regions.insert(region.base.as_ptr() as usize, Arc::downgrade(&region));
        Ok(Box::new(Handle(region)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tracked(size: usize) -> (Region, Box<[u8]>) {
        let region = Region::new(size, None, 1 << 20, 1 << 16).unwrap();
        // SAFETY: no guest anywhere.
        unsafe {
            region.write(0, b"hello");
            let image = region.bytes().into();
            region.track().unwrap();
            (region, image)
        }
    }

    #[test]
    fn restore_undoes_writes_and_growth() {
        let (region, image) = tracked(1 << 16);
        for round in 0_u8..3 {
            // SAFETY: no guest anywhere; pages were made hot or grown before they are written.
            unsafe {
                region.write(100, &[round + 1; 9000]);
                region.grow(3 << 16).unwrap();
                region.base.as_ptr().add(2 << 16).write_bytes(0xee, 100);
                assert!(region.restore(&image).unwrap());
                assert_eq!(region.bytes(), &image[..]);
                region.grow(3 << 16).unwrap();
                assert!(region.bytes()[1 << 16..].iter().all(|&byte| byte == 0));
                assert!(region.restore(&image).unwrap());
                assert!(!region.restore(&image).unwrap());
            }
        }
    }

    #[test]
    fn what_was_closed_and_opened_again_is_as_before() {
        let (region, image) = tracked(16 * *PAGE_BYTES);
        let page = *PAGE_BYTES;
        let base = region.base.as_ptr() as usize;
        // SAFETY: no guest anywhere.
        unsafe {
            region.write(3 * page, &vec![1; 2 * page]);
            region.write(9 * page, &[2]);
            let before = region.bytes().to_vec();
            region.close(2 * page).unwrap();
            region.reopen(2 * page).unwrap();
            assert_eq!(region.bytes(), before);
            // Hot pages can be written without more ado, and the others are still watched.
            region.base.as_ptr().add(4 * page).write(3);
            assert!(!region.open(base + 4 * page));
            assert!(region.open(base + 5 * page));
            region.restore(&image).unwrap();
            assert_eq!(region.bytes(), &image[..]);
            // So it is when there are no mappings left to tell pages apart.
            region.make_all_hot(region.tracking.get().unwrap()).unwrap();
            region.close(2 * page).unwrap();
            region.reopen(2 * page).unwrap();
            region.base.as_ptr().add(12 * page).write(4);
            assert!(!region.open(base + 12 * page));
            region.restore(&image).unwrap();
            assert_eq!(region.bytes(), &image[..]);
        }
    }

    #[test]
    fn a_fault_outside_the_snapshot_or_on_a_hot_page_is_refused() {
        let (region, _) = tracked(1 << 16);
        let base = region.base.as_ptr() as usize;
        assert!(region.open(base + 5));
        assert!(!region.open(base + 5), "a hot page can't fault for want of permission");
        assert!(!region.open(base + (1 << 16)));
        assert!(!region.open(base.wrapping_sub(1)));
    }

    #[test]
    fn lengths_that_are_no_multiple_of_the_page_are_cut_exactly() {
        let (region, image) = tracked(5000);
        // SAFETY: no guest anywhere.
        unsafe {
            region.grow(20_000).unwrap();
            region.write(4990, &[7; 4000]);
            region.restore(&image).unwrap();
            region.grow(20_000).unwrap();
            assert!(region.bytes()[5..].iter().all(|&byte| byte == 0));
        }
    }
}
