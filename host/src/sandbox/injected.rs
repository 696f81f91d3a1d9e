//! The injected memory of an instance: fuel, flags, counters, and the choice stream.

use super::hash;
use super::memory::Region;
use super::target::INIT_FUEL_MAX;
use crate::stream::given::Given;
use crate::stream::{Closing, Told, Trace};
use fuzzbox_instrument::layout::stream;
use fuzzbox_instrument::{CounterMap, layout};
use std::ops::Range;
use std::sync::Arc;

/// Counters are forgotten this many bytes at a time.
const FORGET_BYTES: usize = 4096;

/// Counters are looked at by lines: most are 0.
const LINE_COUNTERS: usize = layout::LINE_COUNTERS as usize;

/// The memory that the rewriter added, laid out as [`layout`] says. The guest runs in no method of this.
pub(super) struct Injected {
    region: Arc<Region>,
    counters: usize,
    /// Where the area of the choice stream is, if the guest draws.
    stream: Option<Range<usize>>,
}

impl Injected {
    /// `region` holds so many counters, and has room for a choice stream as `place` says.
    pub(super) fn new(region: Arc<Region>, counters: usize, place: &fuzzbox_instrument::Injected) -> Self {
        let stream = place.stream.as_ref().map(|stream| stream.start as usize..stream.end as usize);
        Self { region, counters, stream }
    }

    /// The area of the choice stream; empty if the guest does not draw.
    pub(super) fn stream(&self) -> &[u8] {
        self.stream.clone().map_or(&[], |stream| &self.bytes()[stream])
    }

    /// Gives the guest a stream. The area is as it was after initialisation, or [forgotten](Injected::forget_stream).
    pub(super) fn give(&self, given: &Given) {
        if let Some(Range { start, .. }) = self.stream {
            // SAFETY: no guest runs.
            given.parts(|place, bytes| unsafe { self.region.write(start + place as usize, bytes) });
        }
    }

    /// Says what call sites close with. That stays until it is said again.
    pub(super) fn give_closing(&self, closing: &Closing) {
        if let Some(Range { start, .. }) = self.stream {
            // SAFETY: no guest runs.
            unsafe { self.region.write(start + stream::CLOSINGS as usize, closing.bytes()) };
        }
    }

    /// Makes the area an empty stream that nothing was drawn from.
    pub(super) fn forget_stream(&self) {
        if let Some(Range { start, .. }) = self.stream {
            let end = (stream::COUNTS + 4 * stream::DEPTHS) as usize;
            // SAFETY: no guest runs.
            unsafe { self.region.write(start, &vec![0; end]) };
        }
    }

    /// What the guest told.
    pub(super) fn told(&self) -> Told {
        let area = self.stream();
        if area.is_empty() { Told::default() } else { Told::read(area) }
    }

    /// Why the guest's draws ended the execution, if they did: a status of [`stream`].
    pub(super) fn status(&self) -> u32 {
        let status = self.stream().get(stream::STATUS as usize..).and_then(|bytes| bytes.first_chunk());
        status.map_or(0, |&bytes| u32::from_le_bytes(bytes))
    }

    /// Whether the guest drew in a recursion without end; only where draws are recorded.
    pub(super) fn runs_away(&self) -> bool {
        let area = self.stream();
        let item = |place: u32| {
            let bytes = area.get(place as usize..).and_then(|bytes| bytes.first_chunk());
            bytes.map_or(0, |&bytes| u32::from_le_bytes(bytes) / stream::ITEM_BYTES) as usize
        };
        let given = item(stream::END).max(item(stream::RANDOM_END));
        item(stream::POSITION) > given && Trace::read(area).runs_away(given)
    }

    pub(super) fn region(&self) -> &Arc<Region> {
        &self.region
    }

    /// All of the memory.
    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: no guest runs.
        unsafe { self.region.bytes() }
    }

    /// Begins a new trace, if there is one.
    pub(super) fn forget_trace(&self) {
        const CELLS: Range<u32> = layout::TRACE_CELLS;
        // SAFETY: no guest runs.
        unsafe { self.region.write(CELLS.start as usize, &[0; (CELLS.end - CELLS.start) as usize]) };
    }

    /// Sets the fuel for what runs next, in units.
    pub(super) fn set_fuel(&self, fuel: u64) {
        let fuel = i64::try_from(fuel).expect("limits on fuel are far below 2^63") - INIT_FUEL_MAX.cast_signed();
        // SAFETY: no guest runs.
        unsafe { self.region.write(layout::FUEL as usize, &fuel.to_le_bytes()) };
    }

    /// Fuel that is left; negative if the last bulk operation took more than there was.
    pub(super) fn fuel_left(&self) -> i64 {
        let start = layout::FUEL as usize;
        // SAFETY: no guest runs.
        let bytes = unsafe { &self.region.bytes()[start..start + 8] };
        i64::from_le_bytes(bytes.try_into().expect("eight bytes")).saturating_add(INIT_FUEL_MAX.cast_signed())
    }

    /// Whether the flag at `offset` is set: what it stands for happened since the state was restored.
    pub(super) fn flag(&self, offset: u32) -> bool {
        // SAFETY: no guest runs.
        unsafe { self.region.bytes()[offset as usize] != 0 }
    }

    /// The indices of all counters that are not 0. Costs what the module has.
    pub(super) fn counted(&self) -> Vec<u32> {
        let counters = (0..).zip(&self.values()[..self.counters]);
        counters.filter(|(_, count)| **count != 0).map(|(index, _)| index).collect()
    }

    /// Clears counters and flags: what the initialisers did is no part of any execution.
    pub(super) fn forget(&self) {
        let (start, end) = (layout::FLAGS as usize, layout::COUNTERS as usize + 4 * self.counters);
        for offset in (start..end).step_by(FORGET_BYTES) {
            let len = FORGET_BYTES.min(end - offset);
            // SAFETY: no guest runs.
            unsafe {
                // What was never written takes no memory, and stays so.
                if self.region.bytes()[offset..offset + len].iter().any(|&byte| byte != 0) {
                    self.region.write(offset, &[0; FORGET_BYTES][..len]);
                }
            }
        }
    }

    /// The values of the counters with these numbers.
    pub(super) fn counters(&self, range: Range<u32>) -> &[u32] {
        &self.values()[range.start as usize..range.end as usize]
    }

    fn values(&self) -> &[u32] {
        let bytes = &self.bytes()[layout::COUNTERS as usize..][..4 * self.counters.next_multiple_of(LINE_COUNTERS)];
        // SAFETY: any four bytes are a number; on a machine of another byte order the numbers would be other ones, but no less valid.
        let (before, values, after) = unsafe { bytes.align_to::<u32>() };
        assert!(before.is_empty() && after.is_empty(), "memories begin at a page, and counters are aligned in them");
        values
    }

    /// Adds every group of functions that has a counter which is not 0 to `executed`, in ascending order. Costs what was
    /// executed since the instance was made, by pages, not what the module has.
    pub(super) fn executed(&self, groups: &Groups, executed: &mut Vec<ExecutedGroup>) {
        let (lines, _) = self.values().as_chunks::<LINE_COUNTERS>();
        // The group that is being looked at.
        let (mut current, mut hash) = (0..0, 0_u64);
        let visit_bytes = |offset: usize, bytes: &[u8]| {
            // Pages hold whole lines; those before the counters hold fuel, flags and polls.
            let line_at = |offset: usize| offset.saturating_sub(layout::COUNTERS as usize) / (4 * LINE_COUNTERS);
            let end = line_at(offset + bytes.len()).min(lines.len());
            for first in (line_at(offset)..end).step_by(LINES_MAX) {
                let mut mask = mask_of_lines(&lines[first..end.min(first + LINES_MAX)]);
                while mask != 0 {
                    let line = first + mask.trailing_zeros() as usize;
                    mask &= mask - 1;
                    // Bytes come in ascending order.
                    if line >= current.end {
                        if current.end > 0 {
                            executed.push(ExecutedGroup { first_line: current.start, hash });
                        }
                        (current, hash) = (groups.get(line), 0);
                    }
                    // A sum, so that no line waits for the one before it.
                    hash = hash.wrapping_add(hash::of_line(line as u64, &lines[line]));
                }
            }
        };
        // SAFETY: no guest runs, and nobody else has the region.
        unsafe { self.region.visit_hot(visit_bytes) }
        if current.end > 0 {
            executed.push(ExecutedGroup { first_line: current.start, hash });
        }
    }

    /// The group that begins at this line.
    pub(super) fn group(&self, groups: &Groups, first_line: usize) -> Group<'_> {
        let (lines, _) = self.values().as_chunks::<LINE_COUNTERS>();
        Group { lines: &lines[groups.get(first_line)], first_line, first: groups.first[first_line] }
    }
}

/// Lines that are looked at together.
const LINES_MAX: usize = 64;

/// A bit for each line that has a counter which is not 0; of at most [`LINES_MAX`].
fn mask_of_lines(lines: &[[u32; LINE_COUNTERS]]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        #[target_feature(enable = "avx2")]
        fn with_avx2(lines: &[[u32; LINE_COUNTERS]]) -> u64 {
            mask(lines)
        }
        // SAFETY: the processor has it.
        return unsafe { with_avx2(lines) };
    }
    mask(lines)
}

/// Without branches: which lines were executed can't be foretold.
#[inline(always)]
fn mask(lines: &[[u32; LINE_COUNTERS]]) -> u64 {
    let is_executed = |line: &[u32; LINE_COUNTERS]| u64::from(line.iter().fold(0, |any, count| any | count) != 0);
    (0..).zip(lines).fold(0, |mask, (bit, line)| mask | is_executed(line) << bit)
}

/// Functions whose counters share a line; or one, which has some lines for itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group<'a> {
    pub(super) lines: &'a [[u32; LINE_COUNTERS]],
    pub(super) first_line: usize,
    /// The place of the first of them in [`CounterMap::by_counter`].
    pub(super) first: u32,
}

/// That some function of a group was executed.
#[derive(Clone, Copy, Debug)]
pub struct ExecutedGroup {
    /// Which group: its first line of counters.
    pub(super) first_line: usize,
    hash: u64,
}

impl ExecutedGroup {
    /// A number that stands for what all functions of the group did. Others have it as well about once in 2^64 times.
    pub fn hash(&self) -> u64 {
        self.hash
    }
}

/// Which functions' counters are in which line of counters.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    /// By line: the place of the first function that has a counter there, in [`CounterMap::by_counter`].
    first: Box<[u32]>,
    /// By line: where its group begins, and ends.
    lines: Box<[(u32, u32)]>,
}

impl Groups {
    pub(super) fn new(counters: &CounterMap) -> Self {
        let count = (counters.len() as usize).div_ceil(LINE_COUNTERS);
        let (mut first, mut lines) = (vec![0; count], vec![(0, 0); count]);
        // From behind, so that the first function of a line is the last to enter.
        for (index, &place) in counters.by_counter().iter().enumerate().rev() {
            let function = &counters.functions()[place as usize];
            let start = function.counters.start as usize / LINE_COUNTERS;
            let end = (function.counters.end as usize).div_ceil(LINE_COUNTERS);
            let narrow = |index| u32::try_from(index).expect("functions and counters have 32-bit indices");
            first[start..end].fill(narrow(index));
            lines[start..end].fill((narrow(start), narrow(end)));
        }
        Self { first: first.into(), lines: lines.into() }
    }

    fn get(&self, line: usize) -> Range<usize> {
        let (start, end) = self.lines[line];
        start as usize..end as usize
    }
}
