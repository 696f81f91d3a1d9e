//! Sets of pages.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A set of pages below a number that is fixed. Async-signal-safe: the fault handler interrupts the thread that owns
/// it.
#[derive(Debug)]
pub(super) struct Marks {
    words: Box<[AtomicU64]>,
    pages: usize,
}

impl Marks {
    /// The empty set; takes a bit for each of so many pages.
    pub(super) fn new(pages: usize) -> Self {
        // Zeros that the kernel provides when they are first touched: there may be many words.
        let words: Box<[u64]> = vec![0; pages.div_ceil(64)].into();
        // SAFETY: an `AtomicU64` is a `u64` to the allocator, and the box owns them.
        let words = unsafe { Box::from_raw(Box::into_raw(words) as *mut [AtomicU64]) };
        Self { words, pages }
    }

    /// How many pages there could be.
    pub(super) fn pages(&self) -> usize {
        self.pages
    }

    pub(super) fn contains(&self, page: usize) -> bool {
        page < self.pages && self.words[page / 64].load(Relaxed) & 1 << (page % 64) != 0
    }

    pub(super) fn insert(&self, pages: Range<usize>) {
        assert!(pages.end <= self.pages);
        pages.for_each(|page| _ = self.words[page / 64].fetch_or(1 << (page % 64), Relaxed));
    }

    pub(super) fn remove(&self, pages: Range<usize>) {
        assert!(pages.end <= self.pages);
        pages.for_each(|page| _ = self.words[page / 64].fetch_and(!(1 << (page % 64)), Relaxed));
    }

    pub(super) fn remove_all(&self) {
        self.words.iter().for_each(|word| word.store(0, Relaxed));
    }

    /// Calls `visit` with all pages that are not in `known`, in ascending order. Both sets have room for the same
    /// pages.
    pub(super) fn for_each_beyond(&self, known: &Self, mut visit: impl FnMut(usize)) {
        for (index, (word, known)) in self.words.iter().zip(&known.words).enumerate() {
            let mut more = word.load(Relaxed) & !known.load(Relaxed);
            while more != 0 {
                visit(64 * index + more.trailing_zeros() as usize);
                more &= more - 1;
            }
        }
    }

    /// Becomes equal to `other`, which has room for the same pages.
    pub(super) fn copy_from(&self, other: &Self) {
        self.words.iter().zip(&other.words).for_each(|(to, from)| to.store(from.load(Relaxed), Relaxed));
    }

    /// How many of the two pages around `pages` are in the set.
    pub(super) fn around(&self, pages: &Range<usize>) -> isize {
        let before = pages.start.checked_sub(1).is_some_and(|page| self.contains(page));
        isize::from(before) + isize::from(self.contains(pages.end))
    }

    /// The end of the longest run from `page` on, `end` at most, of pages that are all in the set or all not in it.
    pub(super) fn run_ends(&self, page: usize, end: usize) -> usize {
        debug_assert!(page < end && end <= self.pages);
        let inside = self.contains(page);
        let mut next = page;
        while next < end {
            let word = self.words[next / 64].load(Relaxed);
            let others = if inside { !word } else { word } >> (next % 64);
            if others != 0 {
                return end.min(next + others.trailing_zeros() as usize);
            }
            next = (next / 64 + 1) * 64;
        }
        end
    }

    /// The longest runs of pages of the set within `pages`, in ascending order.
    pub(super) fn runs(&self, pages: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let Range { start: mut next, end } = pages;
        std::iter::from_fn(move || {
            if next < end && !self.contains(next) {
                next = self.run_ends(next, end);
            }
            (next < end).then(|| {
                let start = next;
                next = self.run_ends(start, end);
                start..next
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_maximal_and_ascending_across_words() {
        let marks = Marks::new(200);
        assert_eq!(marks.runs(0..200).count(), 0);
        for run in [0..1, 60..130, 131..132, 190..200] {
            marks.insert(run);
        }
        let runs = |pages| marks.runs(pages).collect::<Vec<_>>();
        assert_eq!(runs(0..200), [0..1, 60..130, 131..132, 190..200]);
        assert_eq!(runs(62..132), [62..130, 131..132]);
        assert_eq!(runs(1..60), []);
        assert_eq!(runs(199..200), vec![Range { start: 199, end: 200 }]);
        assert_eq!((marks.around(&(130..131)), marks.around(&(1..2)), marks.around(&(2..60))), (2, 1, 1));
        assert_eq!((marks.around(&(0..1)), marks.around(&(190..200))), (0, 0));
        marks.remove(64..128);
        assert_eq!(runs(0..200), [0..1, 60..64, 128..130, 131..132, 190..200]);
        assert!(!marks.contains(200), "nothing is beyond the end");
    }
}
