//! What a module's memory holds at the start: the only thing by which an address can be known again.

use std::cell::Cell;
use std::ops::Range;

/// How many bytes from an address on are looked at. Longer objects are known by their beginnings.
pub(super) const EXTENT_MAX: u64 = 1 << 16;

/// How many bytes all comparisons of two modules may look at, together: a bound for modules made to be slow. Real ones
/// stay below a hundredth of it.
const COMPARED_BYTES_MAX: u64 = 1 << 28;

/// Where the first object is if all start as zero, so that there are no segments: linkers keep what is below free.
const LOWEST_OBJECT: u64 = 1 << 10;

/// The longest path of a source file, in bytes.
const PATH_BYTES_MAX: u64 = 1 << 12;

/// How deep pointers in data are followed.
const DEPTH_MAX: u32 = 4;

/// Content with fewer bytes that aren't zero says too little about an address.
const TELLING_BYTES: usize = 3;

/// Memory 0 as the active data segments make it.
#[derive(Default)]
pub(super) struct Memory {
    /// Segments by their addresses; they don't overlap.
    pub(super) segments: Vec<(u64, Vec<u8>)>,
    /// The size of a pointer in bytes, 4 or 8.
    pub(super) word: u64,
    /// Where objects start as far as it is known, ascending: addresses in code and pointers in data.
    pub(super) starts: Vec<u64>,
    /// The size at the start: no address of an object is beyond.
    pub(super) bytes: u64,
}

impl Memory {
    /// Takes segments in the order of the file. A later one overwrites an earlier one at run time; here, where nothing
    /// but likeness depends on it, the one with the lower address is kept whole.
    pub(super) fn new(mut segments: Vec<(u64, Vec<u8>)>, word: u64, bytes: u64) -> Memory {
        segments.sort_by_key(|&(start, _)| start);
        let mut end = 0u64;
        for (start, content) in &mut segments {
            let cut = usize::try_from(end.saturating_sub(*start)).unwrap_or(usize::MAX).min(content.len());
            content.drain(..cut);
            *start += cut as u64;
            end = end.max(start.saturating_add(content.len() as u64));
        }
        segments.retain(|(_, content)| !content.is_empty());
        Memory { segments, word, starts: Vec::new(), bytes }
    }

    /// Where addresses of objects can be: from the first segment to the end of the memory.
    pub(super) fn objects(&self) -> Range<u64> {
        let start = self.segments.first().map_or(LOWEST_OBJECT, |&(start, _)| start);
        start..self.bytes.max(start)
    }

    /// Where the segments end.
    pub(super) fn segments_end(&self) -> u64 {
        self.segments.last().map_or(0, |(start, content)| start + content.len() as u64)
    }

    /// Learns where objects start: at the addresses `code` mentions, and where words in the segments point to.
    pub(super) fn find_starts(&mut self, code: impl Iterator<Item = u64>) {
        let objects = self.objects();
        let mut starts: Vec<u64> = code.filter(|address| objects.contains(address)).collect();
        for (start, content) in &self.segments {
            let skip = (start.next_multiple_of(self.word) - start) as usize;
            let words = content.get(skip..).unwrap_or_default().chunks_exact(self.word as usize);
            starts.extend(words.map(number).filter(|address| objects.contains(address)));
            starts.extend([*start, start + content.len() as u64]);
        }
        starts.sort_unstable();
        starts.dedup();
        self.starts = starts;
    }

    /// How many bytes from an address on belong to the object there, as far as it is known.
    pub(super) fn extent(&self, address: u64) -> u64 {
        let next = self.starts.partition_point(|&start| start <= address);
        let end = self.starts.get(next).copied().unwrap_or(self.bytes.max(address));
        (end - address).min(EXTENT_MAX)
    }

    /// The bytes from an address on; zeros where there is no segment.
    pub(super) fn read(&self, address: u64, length: u64) -> Vec<u8> {
        let mut out = vec![0; length as usize];
        let end = address.saturating_add(length);
        let first = self.segments.partition_point(|(start, content)| start + content.len() as u64 <= address);
        for (start, content) in &self.segments[first..] {
            if *start >= end {
                break;
            }
            let (from, to) = (address.max(*start), end.min(start + content.len() as u64));
            out[(from - address) as usize..(to - address) as usize]
                .copy_from_slice(&content[(from - start) as usize..(to - start) as usize]);
        }
        out
    }

    /// Whether Rust's `core::panic::Location` is at an address: where in the source code something panics.
    ///
    /// ```text
    /// +0 pointer to "src/lib.rs", +4 its length, +8 line, +12 column (4 bytes each; pointer and length as wide as a word)
    /// ```
    fn is_location(&self, address: u64) -> bool {
        if !address.is_multiple_of(self.word) || !self.objects().contains(&address) {
            return false;
        }
        let words = self.read(address, 2 * self.word);
        let (pointer, length) = words.split_at(self.word as usize);
        let (pointer, length) = (number(pointer), number(length));
        if !self.objects().contains(&pointer) || !(4..PATH_BYTES_MAX).contains(&length) {
            return false;
        }
        // The length may include a zero at the end.
        let end = self.read(pointer + length - 4, 4);
        end.ends_with(b".rs") || end.starts_with(b".rs\0")
    }

    /// Whether a number in data is the line of a location: it changes with every line that is put before.
    pub(super) fn is_line(&self, address: u64) -> bool {
        address.checked_sub(2 * self.word).is_some_and(|start| self.is_location(start))
    }

    /// Whether the object at an address can be told from others by its content.
    pub(super) fn is_telling(&self, address: u64) -> bool {
        let length = self.extent(address).min(256);
        self.read(address, length).iter().filter(|&&byte| byte != 0).count() >= TELLING_BYTES
    }
}

/// A little-endian number of up to eight bytes.
pub(super) fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// Compares objects of two memories.
pub(super) struct Comparison<'a, F> {
    pub(super) old: &'a Memory,
    pub(super) new: &'a Memory,
    /// Whether two words can be places of corresponding functions in the tables.
    places: F,
    budget: Cell<u64>,
}

impl<'a, F: Fn(u64, u64) -> bool> Comparison<'a, F> {
    pub(super) fn new(old: &'a Memory, new: &'a Memory, places: F) -> Self {
        Comparison { old, new, places, budget: Cell::new(COMPARED_BYTES_MAX) }
    }

    /// Whether the same object is at `old` and at `new`: the same bytes, but for pointers, which must point to the same
    /// objects, functions' places in the table, and line numbers.
    ///
    /// Where an object ends is known in each module only from what starts behind it. So the longer of both extents
    /// counts; its tail may be zeros instead, which are padding.
    pub(super) fn same(&self, old: u64, new: u64) -> bool {
        self.same_within(old, new, DEPTH_MAX)
    }

    fn same_within(&self, old: u64, new: u64, depth: u32) -> bool {
        let (long, short) = {
            let (a, b) = (self.old.extent(old), self.new.extent(new));
            (a.max(b), a.min(b))
        };
        let Some(rest) = self.budget.get().checked_sub(long.max(64)) else { return false };
        self.budget.set(rest);
        let (a, b) = (self.old.read(old, long), self.new.read(new, long));
        let short = short as usize;
        if !self.same_words(old, new, &a[..short], &b[..short], depth) {
            return false;
        }
        let longer = if self.old.extent(old) == long { &a } else { &b };
        longer[short..].iter().all(|&byte| byte == 0) || self.same_words(old, new, &a, &b, depth)
    }

    fn same_words(&self, old: u64, new: u64, a: &[u8], b: &[u8], depth: u32) -> bool {
        if a == b {
            return true;
        }
        let word = self.old.word;
        if word != self.new.word || old % word != new % word {
            return false;
        }
        let skip = ((old.next_multiple_of(word) - old) as usize).min(a.len());
        let ((head, a), (other_head, b)) = (a.split_at(skip), b.split_at(skip));
        let words = a.chunks(word as usize).zip(b.chunks(word as usize));
        let mut words = (skip as u64..).step_by(word as usize).zip(words);
        // The last word may be cut where a number in code only looks like the address of something else.
        let whole = |memory: &Memory, address, part: &[u8]| match part.len() as u64 == word {
            true => number(part),
            false => number(&memory.read(address, word)),
        };
        head == other_head
            && words.all(|(at, (a, b))| {
                let (old, new) = (old + at, new + at);
                a == b
                    || self.same_word(whole(self.old, old, a), whole(self.new, new, b), depth)
                    || self.are_lines(old, new, a, b)
            })
    }

    fn are_lines(&self, old: u64, new: u64, a: &[u8], b: &[u8]) -> bool {
        // Where words are wide, the column is in the same one.
        a.get(4..) == b.get(4..) && self.old.is_line(old) && self.new.is_line(new)
    }

    fn same_word(&self, a: u64, b: u64, depth: u32) -> bool {
        if self.old.objects().contains(&a) && self.new.objects().contains(&b) {
            return depth == 0 || self.same_within(a, b, depth - 1);
        }
        (self.places)(a, b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(segments: &[(u64, &[u8])], code: &[u64]) -> Memory {
        let segments = segments.iter().map(|&(start, content)| (start, content.to_vec())).collect();
        let mut memory = Memory::new(segments, 4, 1 << 16);
        memory.find_starts(code.iter().copied());
        memory
    }

    #[test]
    fn segments_are_read_as_one_memory() {
        let memory = memory(&[(20, b"world"), (10, b"hello"), (12, b"xxxxxx")], &[]);
        assert_eq!(memory.read(9, 17), b"\0helloxxx\0\0world\0");
        assert_eq!(memory.objects(), 10..1 << 16);
        assert_eq!(memory.read(u64::MAX - 1, 4), [0; 4]);
    }

    #[test]
    fn an_object_ends_where_the_next_one_starts() {
        // The word at 104 points to 108.
        let memory = memory(&[(100, b"abcd\x6c\0\0\0text")], &[100, 110]);
        assert_eq!((memory.extent(100), memory.extent(108), memory.extent(110)), (8, 2, 2));
        assert_eq!(memory.extent(112), EXTENT_MAX.min((1 << 16) - 112));
    }

    #[test]
    fn objects_are_the_same_when_their_pointers_moved() {
        let old = memory(&[(100, b"\x68\0\0\0text\0")], &[100]);
        let new = memory(&[(96, b"--------\x6c\0\0\0text\0")], &[104]);
        let other = memory(&[(96, b"--------\x6c\0\0\0tent\0")], &[104]);
        assert!(Comparison::new(&old, &new, |_, _| false).same(100, 104));
        assert!(!Comparison::new(&old, &other, |_, _| false).same(100, 104));
    }

    #[test]
    fn padding_behind_an_object_is_not_part_of_it() {
        let old = memory(&[(100, b"abc\0\0\0\0\0next")], &[100, 108]);
        let new = memory(&[(100, b"abc\0next")], &[100, 104]);
        assert!(Comparison::new(&old, &new, |_, _| false).same(100, 100));
        let longer = memory(&[(100, b"abc\0more")], &[100]);
        assert!(!Comparison::new(&old, &longer, |_, _| false).same(100, 100));
    }

    #[test]
    fn the_line_of_a_location_does_not_count_but_its_column_does() {
        let location = |path: &[u8], line: u8, column: u8| {
            let words = [112, path.len() as u8, line, column].map(|word| [word, 0, 0, 0]).concat();
            memory(&[(96, &words), (112, path)], &[96])
        };
        let same = |old: &Memory, new: &Memory| Comparison::new(old, new, |_, _| false).same(96, 96);
        let old = location(b"src/lib.rs", 7, 5);
        assert!(same(&old, &location(b"src/lib.rs", 9, 5)));
        assert!(!same(&old, &location(b"src/lib.rs", 7, 6)));
        assert!(same(&location(b"src/lib.rs\0", 7, 5), &location(b"src/lib.rs\0", 9, 5)));
        assert!(!same(&location(b"src/lib.c", 7, 5), &location(b"src/lib.c", 9, 5)));
    }

    #[test]
    fn data_made_of_pointers_to_itself_is_compared_in_bounded_time() {
        let ring = |address: u32| (0..4096).flat_map(|_| address.to_le_bytes()).collect::<Vec<u8>>();
        let old = memory(&[(100, &ring(100))], &[]);
        let new = memory(&[(104, &ring(104))], &[]);
        assert!(!Comparison::new(&old, &new, |_, _| false).same(100, 104));
    }
}
