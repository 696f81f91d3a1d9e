//! Which pages are restored, and which no longer need be: what is kept between executions, when no guest runs.

use super::image::Image;
use super::lines;
use super::mapping::{PAGE_BYTES, page_of};
use super::marks::Marks;
use std::ops::Range;
use std::time::{Duration, Instant};

/// Every so many restores, hot pages are compared with the image. A check costs about as much again as the restore, so
/// 1.6 % in all. A prime, because inputs may repeat in cycles.
const CHECK_EVERY: u32 = 61;

/// A page that was clean in so many checks in a row is demoted, at first: about 2,900 executions. A page costs 40 ns
/// per execution as long as it is hot, and 6 us once when it becomes hot again, for which other threads wait, too.
/// Alone, a twentieth of it costs as much, but so no more either; all threads together make fewer system calls so.
const CLEAN_CHECKS: u32 = 48;

/// A demotion was a mistake if the page became hot again within so many checks (31,000 executions): next time it takes
/// twice as many clean checks. Comparing the costs alone, a small part of it would do; but so a page that is written
/// again and again stays hot after a few demotions, and there are no system calls any more.
const MISTAKE_CHECKS: u32 = 512;

/// The most doublings: 3 million executions.
const PATIENCE_MAX: u8 = 10;
const _: () = assert!(CLEAN_CHECKS << PATIENCE_MAX <= u16::MAX as u32, "clean checks are counted in 16 bits");

/// Hot pages that are clean may take one part in so many of the time, of a guest whose executions take long: to make
/// them read-only, and writable again, are system calls, for which all threads wait.
const IDLE_PART: u128 = 32;

/// What such a page takes in an execution, in nanoseconds.
const IDLE_NANOS: u128 = 40;

/// Neighbours of so many pages or more in which nothing was written are judged as a whole, and at each restore: some
/// executions write megabytes, and to look through those takes all others longer than they do.
pub(super) const LARGE_PAGES: usize = 128;

/// They are demoted when so many of these pages were looked at in vain: that took about as long as to open them again,
/// with a fault and a system call. So it takes no more than twice what it would if one knew who writes them.
const LARGE_IDLE_PAGES: usize = 4096;

/// Runs end at multiples of so many pages: beside what is always written may lie what is rarely.
const RUN_PAGES: usize = LARGE_PAGES;

/// Neighbouring hot pages, restored at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// In bytes from the memory's start.
    pub(super) start: usize,
    /// In bytes.
    pub(super) len: usize,
    /// As many of them may be written, in bytes: lines of 64.
    pub(super) used: usize,
    /// The image has nothing but zeros there.
    pub(super) zero: bool,
    /// In how many restores in a row nothing was written there.
    idle: usize,
}

impl Run {
    fn pages(&self) -> Range<usize> {
        page_of(self.start)..page_of(self.start + self.len)
    }
}

/// Finds neighbours, in the order of their addresses, in which nothing was written for too long.
#[derive(Debug, Default)]
pub(super) struct Idle {
    /// Neighbours in which nothing was written, as far as the last run, and in how many restores in a row at least.
    pages: Range<usize>,
    restores: usize,
    found: Vec<Range<usize>>,
}

impl Idle {
    /// Notes of the next run whether something was written there.
    pub(super) fn note(&mut self, run: &mut Run, written: bool) {
        run.idle = if written { 0 } else { run.idle + 1 };
        let pages = run.pages();
        if !written && pages.start == self.pages.end && !self.pages.is_empty() {
            self.pages.end = pages.end;
            self.restores = self.restores.min(run.idle);
            return;
        }
        self.end();
        if !written {
            (self.pages, self.restores) = (pages, run.idle);
        }
    }

    fn end(&mut self) {
        let pages = std::mem::take(&mut self.pages);
        if pages.len() >= LARGE_PAGES && self.restores.saturating_mul(pages.len()) >= LARGE_IDLE_PAGES {
            self.found.push(pages);
        }
    }

    /// The pages that are to be demoted.
    pub(super) fn found(mut self) -> Vec<Range<usize>> {
        self.end();
        self.found
    }
}

/// The hot pages in the order of their addresses, and what each page did so far.
#[derive(Debug)]
pub(super) struct Upkeep {
    runs: Vec<Run>,
    /// See [`lines::look_first`].
    look_first: bool,
    /// There are so many hot pages that runs are judged.
    judges_runs: bool,
    /// The pages that are in `runs`.
    known: Marks,
    restores: u32,
    checks: u32,
    /// When the last check was, if time counts. It says what is worth a system call, and nothing else depends on that.
    checked_at: Option<Instant>,
    /// So many hot pages may be clean for long.
    idle_max: usize,
    /// By page: checks in a row in which it was clean.
    clean: Vec<u16>,
    /// By page: how often the number of clean checks that it takes to be demoted was doubled.
    patience: Vec<u8>,
    /// By page: the number of the check after which it was demoted; 0 for those that never were.
    demoted: Vec<u32>,
    /// What may be written, in bytes from the memory's start; all if that isn't said.
    written: Option<[Range<usize>; 2]>,
}

impl Upkeep {
    /// Nothing is hot. What is never hot takes no memory. Only what is in `written` is ever written, if it is said.
    pub(super) fn new(pages: usize, written: Option<[Range<usize>; 2]>) -> Self {
        Self {
            runs: Vec::new(),
            look_first: false,
            judges_runs: false,
            known: Marks::new(pages),
            restores: 0,
            checks: 0,
            checked_at: None,
            idle_max: 0,
            clean: vec![0; pages],
            patience: vec![0; pages],
            demoted: vec![0; pages],
            written,
        }
    }

    /// The same where time counts: clean pages may stay hot as long as nobody can tell.
    pub(super) fn timed(self) -> Self {
        Self { checked_at: Some(Instant::now()), ..self }
    }

    /// So many hot pages may be clean for long without being demoted.
    pub(super) fn idle_max(&self) -> usize {
        self.idle_max
    }

    /// What is to be restored, in ascending order.
    pub(super) fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// The same, to note what was written.
    pub(super) fn runs_mut(&mut self) -> &mut [Run] {
        &mut self.runs
    }

    /// Whether to look before writing.
    pub(super) fn look_first(&self) -> bool {
        self.look_first
    }

    /// Whether runs are to be [noted](Idle::note): with fewer pages nothing would be found.
    pub(super) fn judges_runs(&self) -> bool {
        self.judges_runs
    }

    /// Takes notice of pages that became hot, or were demoted. `is_written` says of a page that became hot whether it
    /// was written: others were opened with it.
    pub(super) fn refresh(&mut self, hot: &Marks, image: &Image, is_written: impl Fn(usize) -> bool) {
        let Self { known, clean, patience, demoted, checks, runs, written, .. } = self;
        hot.for_each_beyond(known, |page| {
            if !is_written(page) {
                // It is demoted at the next check; and it was no mistake to demote it.
                clean[page] = CLEAN_CHECKS as u16 - 1;
                return;
            }
            clean[page] = 0;
            let Some(cold) = checks.checked_sub(demoted[page]).filter(|_| demoted[page] != 0) else { return };
            let mistake = MISTAKE_CHECKS.max(CLEAN_CHECKS << patience[page]);
            if cold <= mistake {
                patience[page] = PATIENCE_MAX.min(patience[page] + 1);
            } else if cold > 4 * mistake {
                patience[page] = patience[page].saturating_sub(1);
            }
        });
        known.copy_from(hot);
        let before = std::mem::take(runs);
        let mut before = before.iter().peekable();
        for Range { start: mut page, end } in hot.runs(0..hot.pages()) {
            while page < end {
                let run_ends = image.kind_ends(page, end.min((page / RUN_PAGES + 1) * RUN_PAGES));
                let (start, len) = (page * *PAGE_BYTES, (run_ends - page) * *PAGE_BYTES);
                while before.next_if(|run| run.start < start).is_some() {}
                let idle = before.peek().filter(|run| (run.start, run.len) == (start, len)).map_or(0, |run| run.idle);
                let used = used(written.as_ref(), start, len);
                runs.push(Run { start, len, used, zero: image.is_zero(page), idle });
                page = run_ends;
            }
        }
        // What is zero needs no image, so it takes half the cache.
        let bytes = runs.iter().map(|run| if run.zero { run.used / 2 } else { run.used }).sum();
        self.look_first = lines::look_first(bytes);
        self.judges_runs = runs.iter().map(|run| run.len).sum::<usize>() >= LARGE_PAGES * *PAGE_BYTES;
        if !self.judges_runs {
            // Nobody counts on.
            runs.iter_mut().for_each(|run| run.idle = 0);
        }
    }

    /// Counts a restore. Returns whether it is one in which the pages are checked.
    pub(super) fn is_check(&mut self) -> bool {
        self.restores += 1;
        let check = self.restores == CHECK_EVERY;
        if check {
            self.restores = 0;
            self.checks += 1;
            self.look_at_clock();
        }
        check
    }

    fn look_at_clock(&mut self) {
        let Some(before) = &mut self.checked_at else { return };
        let now = Instant::now();
        self.idle_max = affordable(now.duration_since(std::mem::replace(before, now)) / CHECK_EVERY);
    }

    /// Notes what a check found. Returns whether the page has been clean for long enough.
    pub(super) fn checked(&mut self, page: usize, clean: bool) -> bool {
        self.clean[page] = if clean { self.clean[page].saturating_add(1) } else { 0 };
        u32::from(self.clean[page]) >= CLEAN_CHECKS << self.patience[page]
    }

    /// Notes that a page is no longer hot. If it becomes hot before the next refresh, that is noticed as well.
    pub(super) fn demoted(&mut self, page: usize) {
        self.demoted[page] = self.checks;
        self.known.remove(page..page + 1);
    }
}

/// How many clean pages may be hot where an execution takes so long.
fn affordable(execution: Duration) -> usize {
    usize::try_from(execution.as_nanos() / (IDLE_PART * IDLE_NANOS)).unwrap_or(usize::MAX)
}

/// How many bytes of a run may be written, as lines.
fn used(written: Option<&[Range<usize>; 2]>, start: usize, len: usize) -> usize {
    let Some(written) = written else { return len };
    let end = written.iter().filter(|part| part.start < start + len && part.end > start).map(|part| part.end).max();
    end.map_or(0, |end| (end - start).next_multiple_of(lines::LINE_BYTES).min(len))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Executions until a page that is hot and never written again is demoted.
    fn patience(upkeep: &mut Upkeep, page: usize) -> u32 {
        for executions in 1.. {
            if upkeep.is_check() && upkeep.checked(page, true) {
                upkeep.demoted(page);
                return executions;
            }
        }
        unreachable!("it is demoted")
    }

    #[test]
    fn who_comes_back_soon_is_demoted_later_and_later_and_who_stays_away_sooner() {
        let image = Image::of(&[0; 1 << 16]).unwrap();
        let (hot, cold) = (Marks::new(16), Marks::new(16));
        hot.insert(3..4);
        let mut upkeep = Upkeep::new(16, None);
        let heat = |upkeep: &mut Upkeep| {
            upkeep.refresh(&hot, &image, |_| true);
            let executions = patience(upkeep, 3);
            upkeep.refresh(&cold, &image, |_| true);
            executions
        };
        let first = CHECK_EVERY * CLEAN_CHECKS;
        for doublings in 0..4 {
            assert_eq!(heat(&mut upkeep), first << doublings, "after {doublings} mistakes");
        }
        let executions = |upkeep: &mut Upkeep, count: u32| (0..count).filter(|_| upkeep.is_check()).count();
        for halvings in (0..=3).rev() {
            executions(&mut upkeep, CHECK_EVERY * (5 * MISTAKE_CHECKS).max((5 * CLEAN_CHECKS) << halvings));
            assert_eq!(heat(&mut upkeep), first << u32::saturating_sub(halvings, 1), "after having been away for long");
        }
    }

    #[test]
    fn what_was_opened_for_others_is_demoted_at_once_each_time() {
        let image = Image::of(&[0; 1 << 16]).unwrap();
        let (hot, cold) = (Marks::new(16), Marks::new(16));
        hot.insert(3..4);
        let mut upkeep = Upkeep::new(16, None);
        for _ in 0..4 {
            upkeep.refresh(&hot, &image, |_| false);
            assert_eq!(patience(&mut upkeep, 3), CHECK_EVERY);
            upkeep.refresh(&cold, &image, |_| true);
        }
    }

    #[test]
    fn no_cycle_of_inputs_keeps_a_page_going_up_and_down() {
        for cycle in [64, 100, 244, 500, 610, 1_000, 2_000, 10_000] {
            let image = Image::of(&[0; 1 << 16]).unwrap();
            let hot = Marks::new(16);
            let (mut upkeep, mut demotions) = (Upkeep::new(16, None), 0);
            for execution in 0..4_000_000_u32 {
                let written = execution % cycle == 0;
                if written && !hot.contains(0) {
                    hot.insert(0..1);
                    upkeep.refresh(&hot, &image, |_| true);
                }
                if upkeep.is_check() && hot.contains(0) && upkeep.checked(0, !written) {
                    upkeep.demoted(0);
                    hot.remove(0..1);
                    upkeep.refresh(&hot, &image, |_| true);
                    demotions += 1;
                }
            }
            assert!(demotions <= u32::from(PATIENCE_MAX) + 1, "{demotions} demotions in cycles of {cycle}");
        }
    }

    #[test]
    fn a_page_that_is_written_right_after_it_was_demoted_is_noticed() {
        let image = Image::of(&[0; 1 << 16]).unwrap();
        let hot = Marks::new(16);
        hot.insert(0..1);
        let mut upkeep = Upkeep::new(16, None);
        for doublings in 0..4 {
            upkeep.refresh(&hot, &image, |_| true);
            assert_eq!(patience(&mut upkeep, 0), (CHECK_EVERY * CLEAN_CHECKS) << doublings);
        }
    }

    #[test]
    fn what_is_written_does_not_keep_what_is_beside_it() {
        let page = *PAGE_BYTES;
        let image = Image::of(&vec![0; 4 * RUN_PAGES * page]).unwrap();
        let hot = Marks::new(4 * RUN_PAGES);
        hot.insert(1..4 * RUN_PAGES - 1);
        let mut upkeep = Upkeep::new(4 * RUN_PAGES, None);
        upkeep.refresh(&hot, &image, |_| true);
        // The first run is written each time, the third every other time.
        let restored = |upkeep: &mut Upkeep, restore: usize| {
            let mut idle = Idle::default();
            for (number, run) in upkeep.runs_mut().iter_mut().enumerate() {
                idle.note(run, number == 0 || number == 2 && restore.is_multiple_of(2));
            }
            idle.found()
        };
        let found: Vec<_> =
            (1..=LARGE_IDLE_PAGES / RUN_PAGES).flat_map(|restore| restored(&mut upkeep, restore)).collect();
        // The last one has fewer pages by itself than are judged.
        assert!(found.len() == 1 && found[0] == (RUN_PAGES..2 * RUN_PAGES), "{found:?}");
    }

    #[test]
    fn only_where_executions_take_long_clean_pages_stay_hot() {
        assert_eq!(affordable(Duration::from_micros(1)), 0);
        assert_eq!(affordable(Duration::from_micros(500)), 390);
        assert_eq!(Upkeep::new(16, None).idle_max(), 0, "and only where time counts");
    }

    #[test]
    fn of_a_run_only_what_may_be_written_is_used() {
        let page = *PAGE_BYTES;
        let image = Image::of(&vec![0; 8 * page]).unwrap();
        let hot = Marks::new(8);
        hot.insert(0..2);
        hot.insert(4..7);
        let mut upkeep = Upkeep::new(8, Some([0..100, 4 * page..5 * page + 1]));
        upkeep.refresh(&hot, &image, |_| true);
        let used: Vec<_> = upkeep.runs().iter().map(|run| (run.start / page, run.len / page, run.used)).collect();
        assert_eq!(used, [(0, 2, 128), (4, 3, page + 64)]);
    }

    #[test]
    fn runs_are_split_where_the_image_changes_kind() {
        let page = *PAGE_BYTES;
        let mut bytes = vec![0; 8 * page];
        bytes[2 * page] = 1;
        bytes[4 * page - 1] = 1;
        let image = Image::of(&bytes).unwrap();
        let hot = Marks::new(8);
        hot.insert(1..5);
        hot.insert(6..7);
        let mut upkeep = Upkeep::new(8, None);
        upkeep.refresh(&hot, &image, |_| true);
        let runs: Vec<_> = upkeep.runs().iter().map(|run| (run.start / page, run.len / page, run.zero)).collect();
        assert_eq!(runs, [(1, 1, true), (2, 2, false), (4, 1, true), (6, 1, true)]);
    }
}
