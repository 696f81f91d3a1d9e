//! Address space that belongs to us.

use std::io;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::LazyLock;

/// The size of a page of the host, in bytes.
pub(crate) static PAGE_BYTES: LazyLock<usize> = LazyLock::new(|| {
    // SAFETY: sysconf has no preconditions.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).expect("the page size is positive")
});

/// Which page a byte is in. In each execution, so it is no division.
pub(super) fn page_of(offset: usize) -> usize {
    offset >> PAGE_BYTES.trailing_zeros()
}

/// Where the bytes of pages are that are counted from `start`.
pub(super) fn in_bytes(pages: Range<usize>, start: usize) -> Range<usize> {
    start + pages.start * *PAGE_BYTES..start + pages.end * *PAGE_BYTES
}

pub(super) fn round_up(bytes: usize) -> usize {
    // Pages are powers of two, which the compiler doesn't know: it would divide.
    let mask = *PAGE_BYTES - 1;
    (bytes + mask) & !mask
}

/// What can be done with pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    None,
    Read,
    Write,
}

/// A range of whole pages, at first all zeros and inaccessible. Unmapped when dropped.
#[derive(Debug)]
pub(super) struct Mapping {
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: it is a range of addresses; whoever reads or writes there has to justify it.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// `bytes` is a positive multiple of the page size.
    pub(super) fn new(bytes: usize) -> io::Result<Self> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a fresh anonymous mapping at an address of the kernel's choice.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_NONE, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { base: NonNull::new(base.cast()).expect("a mapping is never at 0"), bytes })
    }

    pub(super) fn base(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    /// Allows `access` to `len` bytes from `offset`, a multiple of the page size, on, rounded up to whole pages.
    /// Async-signal-safe.
    pub(super) fn protect(&self, offset: usize, len: usize, access: Access) -> io::Result<()> {
        let len = round_up(len);
        debug_assert!(offset.is_multiple_of(*PAGE_BYTES) && offset + len <= self.bytes);
        if len == 0 {
            return Ok(());
        }
        let protection = match access {
            Access::None => libc::PROT_NONE,
            Access::Read => libc::PROT_READ,
            Access::Write => libc::PROT_READ | libc::PROT_WRITE,
        };
        // SAFETY: the range is inside our own mapping.
        let failed = unsafe { libc::mprotect(self.base().add(offset).cast(), len, protection) != 0 };
        if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Lets neighbouring pages become one mapping of the kernel's whenever their access is the same. It joins mappings
    /// only if they were one when they were first written. All pages before `offset`, a multiple of the page size, are
    /// writable, and those from there on inaccessible and never written.
    pub(super) fn make_joinable(&self, offset: usize) -> io::Result<()> {
        self.protect(offset, 1, Access::Write)?;
        // SAFETY: the page is ours and writable.
        unsafe { self.base().add(offset).write_volatile(0) };
        self.protect(offset, 1, Access::None)
    }

    /// Keeps pages from becoming one mapping of the kernel's with neighbours that are not set apart, or lets them
    /// again: a mark that changes nothing else, except that core dumps don't hold the pages. Both are multiples of the
    /// page size. Async-signal-safe.
    pub(super) fn set_apart(&self, offset: usize, len: usize, apart: bool) -> io::Result<()> {
        debug_assert!(offset.is_multiple_of(*PAGE_BYTES) && offset + len <= self.bytes);
        #[cfg(target_os = "linux")]
        return self.advise(offset, len, if apart { libc::MADV_DONTDUMP } else { libc::MADV_DODUMP });
        #[cfg(not(target_os = "linux"))]
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }

    /// Makes accessible pages zeros, and gives them back to the kernel. Both are multiples of the page size.
    pub(super) fn give_back(&self, offset: usize, len: usize) -> io::Result<()> {
        debug_assert!(offset + len <= self.bytes);
        self.advise(offset, len, libc::MADV_DONTNEED)
    }

    fn advise(&self, offset: usize, len: usize, advice: libc::c_int) -> io::Result<()> {
        // SAFETY: the range is inside our own anonymous mapping.
        let failed = unsafe { libc::madvise(self.base().add(offset).cast(), len, advice) != 0 };
        if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and nobody can reach it any more.
        unsafe { libc::munmap(self.base().cast(), self.bytes) };
    }
}
