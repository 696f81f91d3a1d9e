//! Pages below the snapshot: which are writable, and the way back.

use super::budget::{Budget, Pool};
use super::demotion::{Idle, LARGE_PAGES, Run, Upkeep};
use super::image::Image;
use super::lines;
use super::mapping::{Access, Mapping, PAGE_BYTES, page_of};
use super::marks::Marks;
use std::cell::UnsafeCell;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// As many pages come back together at most, from an aligned block: a fault costs as much as so many do in twenty
/// executions.
const BLOCK_PAGES: usize = 8;

/// Behind so many pages or more that became hot one after the other in an execution, as many are opened together,
const AHEAD_PAGES_MIN: usize = 4;
/// and no more than so many. What is opened in vain is made read-only again within 122 executions, which costs no more
/// than the faults that so many pages took.
const AHEAD_PAGES_MAX: usize = 512;

/// Of a large run that was demoted so many pages come back together, from the one that was written on.
const BACK_PAGES_MAX: usize = 1024;

/// What is known of the writes to a memory before there are any.
#[derive(Clone, Debug, Default)]
pub(crate) struct Writes {
    /// What is from here on, in bytes, where a page starts, is not restored: it is always written before it is read.
    pub(crate) scratch: Option<usize>,
    /// Nothing else is ever written than what is in these bytes.
    pub(crate) only: Option<[Range<usize>; 2]>,
    /// Pages may be opened before they are written. Not where one is [closed](super::Region::close) at times.
    pub(crate) reads_ahead: bool,
}

/// A range of pages of a memory as they were when the snapshot was taken, numbered from the first of them.
#[derive(Debug)]
pub(super) struct Pages {
    /// Where they begin, in bytes from the memory's start: at a page.
    start: usize,
    image: Arc<Image>,
    /// The pages that are writable.
    hot: Marks,
    /// Hot pages that `upkeep` doesn't know, for the fault handler, which must not ask that.
    fresh: Marks,
    /// Those of them that somebody wanted to write; the others were opened with these.
    wanted: Marks,
    /// See [`Writes::reads_ahead`].
    reads_ahead: bool,
    /// Pages that were demoted together with the one before: who comes back brings such neighbours along.
    demoted_with_previous: Marks,
    /// `hot` is not what `upkeep` knows.
    changed: AtomicBool,
    /// All pages are writable: the budget of mappings is spent.
    all: AtomicBool,
    /// Pages from here on are always writable and never restored.
    scratch: usize,
    /// A page that nobody may touch.
    forbidden: Option<usize>,
    /// Somebody did, whom a fault would have killed.
    opened: AtomicBool,
    budget: Budget,
    /// Only touched while no guest runs, by the thread that runs it.
    upkeep: UnsafeCell<Upkeep>,
}

// SAFETY: everything but `upkeep` is atomic or never changes, and who may touch `upkeep` is said there: each method
// that does is `unsafe`.
unsafe impl Sync for Pages {}

impl Pages {
    /// No page is hot. `image` is what `mapping` holds now from `start` on, in bytes; the forbidden page holds zeros.
    pub(super) fn new(
        mapping: &Mapping,
        start: usize,
        image: Arc<Image>,
        forbidden: Option<usize>,
        writes: Writes,
        pool: &'static Pool,
    ) -> io::Result<Self> {
        let count = image.padded().len() / *PAGE_BYTES;
        let scratch = writes.scratch.map_or(count, page_of);
        let pages = Self {
            start,
            image,
            hot: Marks::new(count),
            fresh: Marks::new(count),
            wanted: Marks::new(count),
            reads_ahead: writes.reads_ahead,
            demoted_with_previous: Marks::new(count),
            scratch,
            changed: AtomicBool::new(false),
            all: AtomicBool::new(false),
            forbidden,
            opened: AtomicBool::new(false),
            budget: Budget::new(pool),
            upkeep: UnsafeCell::new(Upkeep::new(count, writes.only)),
        };
        pages.protect(mapping, 0..count, Access::Read)?;
        if scratch < count {
            pages.budget.take(1);
            pages.protect(mapping, scratch..count, Access::Write)?;
        }
        if let Some(page) = forbidden {
            pages.budget.take(2);
            pages.protect(mapping, page..page + 1, Access::None)?;
        }
        pages.open_what_others_write(mapping);
        Ok(pages)
    }

    /// Opens pages that other memories with this image have hot: a fault for each of them is more than a system call
    /// for a run, and those that are not written are soon demoted.
    fn open_what_others_write(&self, mapping: &Mapping) {
        let end = self.scratch;
        let hole = self.forbidden.unwrap_or(end).min(end);
        for part in [0..hole, hole..end] {
            for run in self.image.heat().runs(part) {
                if run.contains(&hole) || !self.budget.take(2) {
                    continue;
                }
                if self.protect(mapping, run.clone(), Access::Write).is_err() {
                    self.budget.take(-2);
                    return;
                }
                self.hot.insert(run);
                self.changed.store(true, Relaxed);
            }
        }
    }

    /// The same where time counts: see [`Upkeep::timed`].
    pub(super) fn timed(self) -> Self {
        Self { upkeep: UnsafeCell::new(self.upkeep.into_inner().timed()), ..self }
    }

    fn protect(&self, mapping: &Mapping, pages: Range<usize>, access: Access) -> io::Result<()> {
        mapping.protect(self.start + pages.start * *PAGE_BYTES, pages.len() * *PAGE_BYTES, access)
    }

    /// Where a page begins.
    fn at(&self, mapping: &Mapping, page: usize) -> *mut u8 {
        mapping.base().wrapping_add(self.start + page * *PAGE_BYTES)
    }

    pub(super) fn image(&self) -> &Image {
        &self.image
    }

    /// Whether a page is the forbidden one, accessible or not.
    pub(super) fn is_forbidden(&self, page: usize) -> bool {
        self.forbidden == Some(page)
    }

    /// The page that is inaccessible now.
    pub(super) fn closed(&self) -> Option<usize> {
        self.forbidden.filter(|_| !self.opened.load(Relaxed))
    }

    /// Whether the forbidden page was opened since the last restore.
    pub(super) fn was_opened(&self) -> bool {
        self.opened.load(Relaxed)
    }

    /// What becomes of a fault on a page: whether it was opened, so that the access can be tried again. `by_guest` says
    /// that the guest's own code accesses it: only then it can be refused. Async-signal-safe.
    pub(super) fn fault(&self, mapping: &Mapping, page: usize, by_guest: bool) -> bool {
        if self.is_forbidden(page) {
            return !by_guest && self.open_forbidden(mapping, page);
        }
        self.make_hot(mapping, page) || !by_guest && self.protect(mapping, page..page + 1, Access::Write).is_ok()
    }

    fn open_forbidden(&self, mapping: &Mapping, page: usize) -> bool {
        if self.protect(mapping, page..page + 1, Access::Write).is_err() {
            if self.protect(mapping, 0..self.hot.pages(), Access::Write).is_err() {
                return false;
            }
            self.all_are_hot();
        }
        self.opened.store(true, Relaxed);
        true
    }

    /// Makes a page writable and hot; returns `false` if it was. Not for the forbidden page. Async-signal-safe.
    #[inline]
    pub(super) fn make_hot(&self, mapping: &Mapping, page: usize) -> bool {
        let is_cold = page < self.scratch && !self.all.load(Relaxed) && !self.hot.contains(page);
        is_cold && self.heat_up(mapping, page)
    }

    /// As [`Pages::make_hot`] for a page that is not, which is seldom asked.
    #[cold]
    fn heat_up(&self, mapping: &Mapping, page: usize) -> bool {
        let together = self.demoted_with(page);
        let is_large = together.len() >= LARGE_PAGES;
        let others = self.written_by_others(page);
        let pages = together.start.min(others.start)..self.ahead(page).max(together.end).max(others.end);
        // What is between others splits their mapping in three; what is beside a hot page moves a boundary; what is
        // between two hot pages joins them.
        let affordable = self.budget.take(2 * (1 - self.hot.around(&pages)));
        if !affordable || self.protect(mapping, pages.clone(), Access::Write).is_err() {
            return self.make_all_hot(mapping).is_ok();
        }
        // To find out which of so many were written takes as long as to have them all for a while.
        self.wanted.insert(if is_large { pages.clone() } else { page..page + 1 });
        self.fresh.insert(pages.clone());
        self.hot.insert(pages);
        self.changed.store(true, Relaxed);
        true
    }

    /// A page that is not hot, with those around it that other memories with this image have hot, and this one hasn't.
    fn written_by_others(&self, page: usize) -> Range<usize> {
        let heat = self.image.heat();
        let joins = |&page: &usize| heat.contains(page) && !self.hot.contains(page) && !self.is_forbidden(page);
        let reach = if self.reads_ahead { AHEAD_PAGES_MAX } else { 0 };
        let before = (page.saturating_sub(reach)..page).rev().take_while(joins).count();
        let behind = (page + 1..(page + reach).min(self.scratch)).take_while(joins).count();
        page - before..page + 1 + behind
    }

    /// Where the pages end that are to be opened with one that is not hot, itself among them.
    fn ahead(&self, page: usize) -> usize {
        let before = (page.saturating_sub(AHEAD_PAGES_MAX)..page).rev().take_while(|&page| self.fresh.contains(page));
        let count = if self.reads_ahead { before.count() } else { 0 };
        let count = if count >= AHEAD_PAGES_MIN { count } else { 1 };
        let end = self.forbidden.filter(|&forbidden| forbidden > page).unwrap_or(self.scratch);
        self.hot.run_ends(page, (page + count).min(end).min(self.scratch))
    }

    /// A page that is not hot, with those of its block that were demoted in one piece with it and are not hot again; or
    /// with as many of these as are opened ahead, if they were a large run: who has megabytes may write some of them
    /// only. So none of them is a page that somebody [closed](Pages::close): these
    /// are never demoted.
    fn demoted_with(&self, page: usize) -> Range<usize> {
        let reach = page.saturating_sub(LARGE_PAGES)..(page + BACK_PAGES_MAX).min(self.scratch);
        let all = self.demoted_within(page, reach);
        if all.len() >= LARGE_PAGES {
            return all;
        }
        let block = page / BLOCK_PAGES * BLOCK_PAGES;
        self.demoted_within(page, block..(block + BLOCK_PAGES).min(self.scratch))
    }

    /// A page that is not hot, with those of a range that were demoted in one piece with it and are not hot again.
    fn demoted_within(&self, page: usize, range: Range<usize>) -> Range<usize> {
        let joins = |page: usize| self.demoted_with_previous.contains(page);
        let is_cold = |page: usize| !self.hot.contains(page) && !self.is_forbidden(page);
        let start = (range.start + 1..=page).rev().take_while(|&page| joins(page) && is_cold(page - 1)).last();
        let end = (page + 1..range.end).take_while(|&page| joins(page) && is_cold(page));
        start.map_or(page, |start| start - 1)..end.last().map_or(page + 1, |last| last + 1)
    }

    /// One mapping for all of it, the forbidden page aside: this gives mappings back, so it works when nothing else
    /// does.
    pub(super) fn make_all_hot(&self, mapping: &Mapping) -> io::Result<()> {
        for range in self.accessible() {
            self.protect(mapping, range, Access::Write)?;
        }
        self.all_are_hot();
        Ok(())
    }

    fn all_are_hot(&self) {
        self.all.store(true, Relaxed);
        self.budget.give_all_back();
    }

    /// The pages, in ascending order, without the one that is forbidden.
    pub(super) fn accessible(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let end = self.hot.pages();
        let hole = self.closed().unwrap_or(end);
        [0..hole, hole.saturating_add(1)..end].into_iter().filter(|range| !range.is_empty())
    }

    /// Makes a page inaccessible; on an error nothing changed. Any thread may call it: contents and hot marks stay as
    /// they are. The owner may open the page at any time, when it makes all pages hot.
    pub(super) fn close(&self, mapping: &Mapping, page: usize) -> io::Result<()> {
        self.protect(mapping, page..page + 1, Access::None)
    }

    /// Makes what [`Pages::close`] closed accessible again: a hot page can be written, others read.
    pub(super) fn reopen(&self, mapping: &Mapping, page: usize) -> io::Result<()> {
        let access = if self.hot.contains(page) { Access::Write } else { Access::Read };
        if self.all.load(Relaxed) || self.protect(mapping, page..page + 1, access).is_err() {
            self.make_all_hot(mapping)?;
        }
        Ok(())
    }

    /// Calls `visit` with the ranges of pages that can differ from the image, in ascending order, without the forbidden
    /// page.
    ///
    /// # Safety
    ///
    /// No guest runs, and only the thread that runs it calls this.
    pub(super) unsafe fn visit_hot(&self, mapping: &Mapping, mut visit: impl FnMut(Range<usize>)) {
        if self.all.load(Relaxed) {
            return self.accessible().for_each(visit);
        }
        // SAFETY: by the contract. The borrow ends here, so `visit` may do anything.
        unsafe { self.refresh(mapping, &mut *self.upkeep.get()) };
        for index in 0.. {
            // SAFETY: as above.
            let run = unsafe { (&*self.upkeep.get()).runs().get(index).copied() };
            let Some(run) = run else { break };
            visit(page_of(run.start)..page_of(run.start + run.len));
        }
    }

    /// Lets `upkeep` know which pages are hot.
    ///
    /// # Safety
    ///
    /// As for [`Pages::visit_hot`].
    #[inline]
    unsafe fn refresh(&self, mapping: &Mapping, upkeep: &mut Upkeep) {
        if self.changed.load(Relaxed) {
            // SAFETY: by the contract.
            unsafe { self.refresh_changed(mapping, upkeep) };
        }
    }

    /// As [`Pages::refresh`], if some became hot or are no longer.
    ///
    /// # Safety
    ///
    /// As for [`Pages::visit_hot`].
    #[cold]
    unsafe fn refresh_changed(&self, mapping: &Mapping, upkeep: &mut Upkeep) {
        self.changed.store(false, Relaxed);
        // SAFETY: hot pages are readable; the rest by the contract.
        let differs = |page| unsafe { self.present(mapping, page) } != self.in_image(page);
        upkeep.refresh(&self.hot, &self.image, |page| {
            let is_written = self.wanted.contains(page) || differs(page);
            if is_written {
                self.image.heat().insert(page..page + 1);
            }
            is_written
        });
        self.fresh.remove_all();
        self.wanted.remove_all();
    }

    /// Makes all pages what they are in the image.
    ///
    /// # Safety
    ///
    /// As for [`Pages::visit_hot`]; and nobody else reads or writes the pages.
    pub(super) unsafe fn restore(&self, mapping: &Mapping) -> io::Result<()> {
        if self.was_opened() {
            // SAFETY: by the contract; it is open.
            unsafe { self.close_forbidden(mapping)? };
        }
        if self.all.load(Relaxed) {
            // SAFETY: by the contract.
            self.accessible().flatten().for_each(|page| _ = unsafe { self.restore_page(mapping, page) });
            return Ok(());
        }
        // SAFETY: by the contract.
        let upkeep = unsafe { &mut *self.upkeep.get() };
        // SAFETY: as above.
        unsafe { self.refresh(mapping, upkeep) };
        if upkeep.is_check() {
            // SAFETY: by the contract.
            unsafe { self.restore_and_check(mapping, upkeep) };
            return Ok(());
        }
        let (to, from, look) = (self.at(mapping, 0), self.image.padded().as_ptr(), upkeep.look_first());
        // SAFETY: hot pages are inside the image and writable, and the image is as long as they are.
        let restore = |&Run { start, used, zero, .. }: &Run| unsafe {
            lines::restore(to.add(start), (!zero).then(|| from.add(start)), used, look)
        };
        if !upkeep.judges_runs() {
            upkeep.runs().iter().for_each(|run| _ = restore(run));
            return Ok(());
        }
        let mut idle = Idle::default();
        for run in upkeep.runs_mut() {
            let written = restore(run);
            idle.note(run, written);
        }
        idle.found().into_iter().for_each(|pages| self.demote(mapping, upkeep, pages));
        Ok(())
    }

    /// # Safety
    ///
    /// As for [`Pages::restore`]; the forbidden page is open.
    unsafe fn close_forbidden(&self, mapping: &Mapping) -> io::Result<()> {
        let page = self.forbidden.expect("it was opened");
        // SAFETY: by the contract.
        unsafe { self.at(mapping, page).write_bytes(0, *PAGE_BYTES) };
        self.protect(mapping, page..page + 1, Access::None)?;
        self.opened.store(false, Relaxed);
        Ok(())
    }

    /// Restores one page if need be; returns whether it was clean.
    ///
    /// # Safety
    ///
    /// As for [`Pages::restore`]; the page is writable.
    unsafe fn restore_page(&self, mapping: &Mapping, page: usize) -> bool {
        let image = self.in_image(page);
        // SAFETY: the page is mapped, and by the contract nobody else has it.
        let present = unsafe { std::slice::from_raw_parts_mut(self.at(mapping, page), image.len()) };
        let clean = present == image;
        if !clean {
            present.copy_from_slice(image);
        }
        clean
    }

    /// What is to be in a page.
    fn in_image(&self, page: usize) -> &[u8] {
        let start = page * *PAGE_BYTES;
        &self.image.padded()[start..start + *PAGE_BYTES]
    }

    /// What is in a page.
    ///
    /// # Safety
    ///
    /// The page is readable, and nobody writes there while the slice lives.
    unsafe fn present(&self, mapping: &Mapping, page: usize) -> &[u8] {
        // SAFETY: by the contract.
        unsafe { std::slice::from_raw_parts(self.at(mapping, page), *PAGE_BYTES) }
    }

    /// Restores hot pages one by one, and demotes those that were clean for long enough, if they are too many.
    ///
    /// # Safety
    ///
    /// As for [`Pages::restore`].
    unsafe fn restore_and_check(&self, mapping: &Mapping, upkeep: &mut Upkeep) {
        let mut idle: Vec<Range<usize>> = Vec::new();
        for page in self.hot.runs(0..self.hot.pages()).flatten() {
            // SAFETY: hot pages are writable; the rest by the contract.
            let clean = unsafe { self.restore_page(mapping, page) };
            match idle.last_mut() {
                _ if !upkeep.checked(page, clean) => {}
                Some(last) if last.end == page => last.end += 1,
                _ => idle.push(page..page + 1),
            }
        }
        let mut excess = idle.iter().map(Range::len).sum::<usize>().saturating_sub(upkeep.idle_max());
        for pages in idle {
            if excess == 0 {
                break;
            }
            excess = excess.saturating_sub(pages.len());
            self.demote(mapping, upkeep, pages);
        }
    }

    /// Makes neighbouring hot pages read-only, unless there are no mappings left to do so.
    fn demote(&self, mapping: &Mapping, upkeep: &mut Upkeep, pages: Range<usize>) {
        let mappings = 2 * (self.hot.around(&pages) - 1);
        if !self.budget.take(mappings) {
            return;
        }
        if self.protect(mapping, pages.clone(), Access::Read).is_err() {
            // They stay hot, and the others must not take what these have.
            self.budget.take(-mappings);
            return;
        }
        self.hot.remove(pages.clone());
        self.image.heat().remove(pages.clone());
        self.demoted_with_previous.remove(pages.start..pages.start + 1);
        self.demoted_with_previous.insert(pages.start + 1..pages.end);
        self.changed.store(true, Relaxed);
        pages.for_each(|page| upkeep.demoted(page));
    }
}
