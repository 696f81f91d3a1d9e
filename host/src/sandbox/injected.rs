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

    /// Forgets the calls that were live when an execution ended.
    pub(super) fn forget_calls(&self) {
        // SAFETY: no guest runs.
        unsafe { self.region.write(layout::CALLS as usize, &[0; 4]) };
    }

    /// Says how many pages of its memory the guest doesn't count; and in bytes where the annex begins, and how long the guest's part is.
    pub(super) fn set_annex(&self, hidden: u64, start: u64, guest_end: u64) {
        let room = (1_u64 << 32).wrapping_sub(start).wrapping_add(guest_end);
        let cells =
            [(layout::HIDDEN, hidden), (layout::ANNEX, start), (layout::GUEST_END, guest_end), (layout::ROOM, room)];
        for (offset, value) in cells {
            // SAFETY: no guest runs.
            unsafe { self.region.write(offset as usize, &value.to_le_bytes()) };
        }
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
        let Range { start: annex, end: behind } = layout::ANNEX_CELLS;
        self.clear(layout::FLAGS as usize..annex as usize);
        self.clear(behind as usize..layout::COUNTERS as usize + 4 * self.counters);
    }

    fn clear(&self, bytes: Range<usize>) {
        for offset in bytes.clone().step_by(FORGET_BYTES) {
            let len = FORGET_BYTES.min(bytes.end - offset);
            // SAFETY: no guest runs.
            unsafe {
                // What was never written takes no memory, and stays so.
                if self.region.bytes()[offset..offset + len].iter().any(|&byte| byte != 0) {
                    self.region.write(offset, &[0; FORGET_BYTES][..len]);
                }
            }
        }
    }

    /// The values of all counters, by their numbers.
    pub(super) fn values(&self) -> &[u32] {
        let bytes = &self.bytes()[layout::COUNTERS as usize..][..4 * self.counters.next_multiple_of(LINE_COUNTERS)];
        // SAFETY: any four bytes are a number; on a machine of another byte order the numbers would be other ones, but no less valid.
        let (before, values, after) = unsafe { bytes.align_to::<u32>() };
        assert!(before.is_empty() && after.is_empty(), "memories begin at a page, and counters are aligned in them");
        values
    }

    /// Adds every group of functions that has a counter which is not 0 to `executed`. Costs what was
    /// executed since the instance was made, by pages, not what the module has.
    pub(super) fn executed(&self, groups: &Groups, executed: &mut Vec<ExecutedGroup>) {
        let (lines, _) = self.values().as_chunks::<LINE_COUNTERS>();
        let start = executed.len();
        let mut rare_from = None;
        // What is being looked at: lines of a group, their end, the sum of their hashes.
        let (mut group, mut end, mut hash) = (0, 0, 0_u64);
        let visit_bytes = |offset: usize, bytes: &[u8]| {
            // Pages hold whole lines; those before the counters hold fuel, flags and polls.
            let line_at = |offset: usize| offset.saturating_sub(layout::COUNTERS as usize) / (4 * LINE_COUNTERS);
            let page_end = line_at(offset + bytes.len()).min(lines.len());
            for first in (line_at(offset)..page_end).step_by(LINES_MAX) {
                let mut mask = mask_of_lines(&lines[first..page_end.min(first + LINES_MAX)]);
                while mask != 0 {
                    let line = first + mask.trailing_zeros() as usize;
                    mask &= mask - 1;
                    // Bytes come in ascending order.
                    if line >= end {
                        if end > 0 {
                            executed.push(ExecutedGroup { group, hash });
                        }
                        let is_rare;
                        (group, end, is_rare) = groups.at(line);
                        hash = 0;
                        if is_rare && rare_from.is_none() {
                            rare_from = Some(executed.len());
                        }
                    }
                    // A sum, so that no line waits for the one before it.
                    hash = hash.wrapping_add(hash::of_line(line as u64, &lines[line]));
                }
            }
        };
        // SAFETY: no guest runs, and nobody else has the region.
        unsafe { self.region.visit_hot(visit_bytes) }
        if end > 0 {
            executed.push(ExecutedGroup { group, hash });
        }
        if let Some(rare) = rare_from {
            join(executed, start, rare);
        }
    }

    /// One of the groups.
    pub(super) fn group<'a>(&'a self, groups: &Groups, group: u32) -> Group<'a> {
        let lines = &groups.groups[group as usize];
        Group { values: self.values(), lines: lines.main, first: lines.first }
    }
}

/// Adds the hashes of rare counters to those of the groups that they belong to. They are from `rare` on, and those from `start` on
/// to there are in ascending order.
fn join(executed: &mut Vec<ExecutedGroup>, start: usize, rare: usize) {
    let mut kept = rare;
    for index in rare..executed.len() {
        let ExecutedGroup { group, hash } = executed[index];
        match executed[start..rare].binary_search_by_key(&group, |other| other.group) {
            Ok(place) => executed[start + place].hash = executed[start + place].hash.wrapping_add(hash),
            Err(_) => {
                executed[kept] = executed[index];
                kept += 1;
            }
        }
    }
    executed.truncate(kept);
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
    /// Those of all counters.
    pub(super) values: &'a [u32],
    /// The lines of their counters that are not rare.
    pub(super) lines: (u32, u32),
    /// The place of the first of them in [`CounterMap::by_counter`].
    pub(super) first: u32,
}

/// That some function of a group was executed.
#[derive(Clone, Copy, Debug)]
pub struct ExecutedGroup {
    /// Which group.
    pub(super) group: u32,
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
    /// In the order of their lines of counters that are not rare.
    groups: Box<[Lines]>,
    /// By line: its group.
    of_line: Box<[u32]>,
}

/// The lines of a group, each from the first to the one behind the last.
#[derive(Clone, Debug)]
struct Lines {
    main: (u32, u32),
    /// Those of the counters that executions of the past had no use for, if they lie elsewhere.
    rare: (u32, u32),
    /// The place of its first function in [`CounterMap::by_counter`].
    first: u32,
}

impl Groups {
    pub(super) fn new(counters: &CounterMap) -> Self {
        let narrow = |index: usize| u32::try_from(index).expect("functions and counters have 32-bit indices");
        let lines =
            |range: &Range<u32>| (range.start / layout::LINE_COUNTERS, range.end.div_ceil(layout::LINE_COUNTERS));
        let mut groups: Vec<Lines> = Vec::new();
        for (first, &place) in counters.by_counter().iter().enumerate() {
            let function = &counters.functions()[place as usize];
            if function.counters.is_empty() {
                continue;
            }
            let (main, rare) = (lines(&function.counters), lines(&function.rare));
            if groups.last().is_none_or(|group| group.main.1 <= main.0) {
                groups.push(Lines { main, rare: (0, 0), first: narrow(first) });
            }
            let group = groups.last_mut().expect("there is one");
            group.main.1 = main.1;
            if !function.rare.is_empty() {
                let start = if group.rare.1 == 0 { rare.0 } else { group.rare.0 };
                group.rare = (start, rare.1);
            }
        }
        let mut of_line = vec![0; (counters.len() as usize).div_ceil(LINE_COUNTERS)];
        for (index, group) in groups.iter().enumerate() {
            for (start, end) in [group.main, group.rare] {
                of_line[start as usize..end as usize].fill(narrow(index));
            }
        }
        Self { groups: groups.into(), of_line: of_line.into() }
    }

    /// The group of a line, the end of the lines that it has there, and whether these are of rare counters.
    fn at(&self, line: usize) -> (u32, usize, bool) {
        let group = self.of_line[line];
        let Lines { main, rare, .. } = &self.groups[group as usize];
        let is_rare = line >= main.1 as usize || line < main.0 as usize;
        (group, if is_rare { rare.1 } else { main.1 } as usize, is_rare)
    }
}
