//! What a memory held when its snapshot was taken; one copy serves all workers.

use super::are_zeros;
use super::mapping::{Access, Mapping, PAGE_BYTES, round_up};
use super::marks::Marks;
use std::io;

/// The bytes of a memory, filled up with zeros to whole pages, at an address that is a multiple of the page size:
/// copies are twice as fast as from just anywhere.
///
/// Pages that hold nothing but zeros are known, so that they are cleared instead of copied. They take no memory here.
#[derive(Debug)]
pub(crate) struct Image {
    mapping: Mapping,
    len: usize,
    /// The pages that hold something else than zeros.
    data: Marks,
    /// The pages that some memory which holds this has hot now, or had last: those that others will soon write, too.
    /// What is among them changes no result.
    heat: Marks,
}

impl Image {
    /// # Errors
    ///
    /// If there is no memory for it.
    pub(crate) fn of(bytes: &[u8]) -> io::Result<Self> {
        let page_bytes = *PAGE_BYTES;
        let mapping = Mapping::new(round_up(bytes.len()).max(page_bytes))?;
        mapping.protect(0, bytes.len(), Access::Write)?;
        let pages = bytes.len().div_ceil(page_bytes);
        let (data, heat) = (Marks::new(pages), Marks::new(pages));
        for (page, bytes) in bytes.chunks(page_bytes).enumerate() {
            if !are_zeros(bytes) {
                data.insert(page..page + 1);
                // SAFETY: as long as `bytes`, rounded up, writable, and not yet anybody else's.
                unsafe { mapping.base().add(page * page_bytes).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
            }
        }
        mapping.protect(0, bytes.len(), Access::Read)?;
        Ok(Self { mapping, len: bytes.len(), data, heat })
    }

    /// Length of the memory in bytes.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The memory's bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.padded()[..self.len]
    }

    /// The memory's bytes, and zeros after them to the end of the page.
    pub(super) fn padded(&self) -> &[u8] {
        // SAFETY: so many bytes are mapped and readable, and nobody ever writes to them.
        unsafe { std::slice::from_raw_parts(self.mapping.base(), round_up(self.len)) }
    }

    /// The first page from `page` on, if there is one before `end`, that is all zeros where `page` is not, or the other
    /// way around.
    pub(super) fn kind_ends(&self, page: usize, end: usize) -> usize {
        self.data.run_ends(page, end)
    }

    /// The pages that are hot where there are other memories that hold this.
    pub(super) fn heat(&self) -> &Marks {
        &self.heat
    }

    /// Whether a page holds nothing but zeros.
    pub(super) fn is_zero(&self, page: usize) -> bool {
        !self.data.contains(page)
    }
}
