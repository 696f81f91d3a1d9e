//! Pages of a memory that are closed, and who may open them: the guest by its first write, the host where the guest
//! would trap.

use super::mapping::{Access, PAGE_BYTES, page_of, round_up};
use super::pages::Pages;
use super::{NOWHERE, Region, Tracking};
use std::io;
use std::sync::atomic::Ordering::Relaxed;

impl Region {
    /// Makes a page of the host inaccessible, as part of the snapshot that is to be taken: the one that starts at
    /// `offset`. It becomes all zeros. The guest's loads and stores trap there. If anything else that the guest calls
    /// touches the page, it is accessible from then on until the memory is restored, and [`Region::was_opened`] tells.
    ///
    /// Returns `false` if there is no such page: `offset` is no multiple of the page size, or the page not inside the
    /// memory.
    ///
    /// # Safety
    ///
    /// As for [`Region::bytes`].
    ///
    /// # Panics
    ///
    /// If a page is forbidden already, or the region is tracked.
    pub(crate) unsafe fn forbid(&self, offset: usize) -> bool {
        if !offset.is_multiple_of(*PAGE_BYTES) || !self.has(offset, *PAGE_BYTES) {
            return false;
        }
        assert!(self.tracking.get().is_none() && self.forbidden.load(Relaxed) == NOWHERE);
        self.forbidden.store(offset, Relaxed);
        // SAFETY: inside the memory and writable; the rest by the contract.
        unsafe { self.base().add(offset).write_bytes(0, *PAGE_BYTES) };
        true
    }

    /// Whether something other than the guest's own loads and stores touched the forbidden page since the last restore.
    pub(crate) fn was_opened(&self) -> bool {
        let opened = |Tracking { pages, annex, .. }: &Tracking| {
            pages.was_opened() || annex.as_ref().is_some_and(Pages::was_opened)
        };
        self.tracking.get().is_some_and(opened)
    }

    /// Whether a fault at an address was for want of permission that can be had, so that what faulted can be tried
    /// again: the page is writable and hot now. `by_guest` says that the guest's own code faulted. Only then this
    /// refuses pages inside the memory's length: those that are forbidden. Async-signal-safe.
    pub(crate) fn open(&self, fault: usize, by_guest: bool) -> bool {
        let Some(tracking) = self.tracking.get() else { return false };
        let offset = fault.wrapping_sub(self.base() as usize);
        let end = round_up(self.size());
        if offset >= end {
            self.in_annex(tracking, offset).is_some_and(|(annex, page)| annex.fault(&self.mapping, page, by_guest))
        } else if offset < tracking.grown.first() {
            tracking.pages.fault(&self.mapping, page_of(offset), by_guest)
        } else {
            tracking.grown.make_hot(&self.mapping, offset, end)
        }
    }

    /// The pages of the annex, and which of them holds an offset, if one does.
    pub(super) fn in_annex<'a>(&self, tracking: &'a Tracking, offset: usize) -> Option<(&'a Pages, usize)> {
        let range = self.annex.get().filter(|range| range.contains(&offset))?;
        Some((tracking.annex.as_ref()?, page_of(offset - range.start)))
    }

    /// Where in the pages of the snapshot an address is, in bytes from the region's start.
    pub(crate) fn offset(&self, address: usize) -> Option<usize> {
        let offset = address.wrapping_sub(self.base() as usize);
        (offset < self.tracking.get()?.grown.first()).then_some(offset)
    }

    /// Makes the page that starts at `offset`, inside the memory's first length, inaccessible, until a memory that is
    /// out of mappings becomes one; on an error nothing changed. Any thread may call it, but not while another begins
    /// to [track](Region::track).
    pub(crate) fn close(&self, offset: usize) -> io::Result<()> {
        match self.tracking.get() {
            Some(Tracking { pages, .. }) => pages.close(&self.mapping, page_of(offset)),
            None => self.mapping.protect(offset, *PAGE_BYTES, Access::None),
        }
    }

    /// Makes a page that was [closed](Region::close) accessible again.
    pub(crate) fn reopen(&self, offset: usize) -> io::Result<()> {
        match self.tracking.get() {
            Some(Tracking { pages, .. }) => pages.reopen(&self.mapping, page_of(offset)),
            None => self.mapping.protect(offset, *PAGE_BYTES, Access::Write),
        }
    }
}
