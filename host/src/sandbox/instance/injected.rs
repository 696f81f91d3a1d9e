//! The injected memory of an instance: fuel, flags, counters, and the choice stream.

use crate::sandbox::hash;
use crate::sandbox::limits::INIT_FUEL_MAX;
use crate::sandbox::memory::{Region, are_zeros};
use crate::sandbox::targets::groups::{ExecutedGroup, Groups};
use crate::stream::area::StreamArea;
use crate::stream::{Closing, GuestReport, Trace};
use fuzzbox_instrument::layout::{self, Flags, stream};
use std::ops::Range;
use std::sync::Arc;

/// Counters are forgotten this many bytes at a time.
const FORGET_BYTES: usize = 4096;

/// Counters are looked at by lines: most are 0.
const LINE_COUNTERS: usize = layout::LINE_COUNTERS as usize;

/// What there is for the guest when it is called next; what isn't said is as it was.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Provision {
    /// Fuel, in units.
    pub(crate) fuel: Option<u64>,
    pub(crate) annex: Option<AnnexCells>,
}

/// Where the annex of a memory is, for the code of the guest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnnexCells {
    /// How many pages of its memory the guest doesn't count.
    pub(crate) hidden: u64,
    /// Where the annex begins, in bytes.
    pub(crate) start: u64,
    /// How long the guest's part is, in bytes.
    pub(crate) guest_end: u64,
}

/// The memory that the rewriter added, laid out as [`layout`] says. The guest runs in no method of this.
pub(crate) struct Injected {
    region: Arc<Region>,
    counters: usize,
    /// Where the area of the choice stream is, if the guest draws.
    stream: Option<Range<usize>>,
}

impl Injected {
    /// `region` holds so many counters, and has room for a choice stream as `place` says.
    pub(crate) fn new(region: Arc<Region>, counters: usize, place: &fuzzbox_instrument::Injected) -> Self {
        let stream = place.stream.as_ref().map(|stream| stream.start as usize..stream.end as usize);
        Self { region, counters, stream }
    }

    /// The area of the choice stream; empty if the guest does not draw.
    pub(crate) fn stream(&self) -> &[u8] {
        self.stream.clone().map_or(&[], |stream| &self.bytes()[stream])
    }

    /// Whether the guest draws.
    pub(crate) fn has_stream(&self) -> bool {
        self.stream.is_some()
    }

    /// Gives the guest a stream. The area is as it was after initialisation, or [forgotten](Injected::forget_stream).
    pub(crate) fn give(&self, given: &StreamArea) {
        if let Some(Range { start, .. }) = self.stream {
            // SAFETY: no guest runs.
            given.parts(|place, bytes| unsafe { self.region.write(start + place as usize, bytes) });
        }
    }

    /// Says what call sites close with. That stays until it is said again.
    pub(crate) fn give_closing(&self, closing: &Closing) {
        if let Some(Range { start, .. }) = self.stream {
            // SAFETY: no guest runs.
            unsafe { self.region.write(start + stream::CLOSINGS as usize, closing.bytes()) };
        }
    }

    /// Makes the area an empty stream that nothing was drawn from.
    pub(crate) fn forget_stream(&self) {
        if let Some(Range { start, .. }) = self.stream {
            let end = (stream::COUNTS + 4 * stream::DEPTHS) as usize;
            // SAFETY: no guest runs.
            unsafe { self.region.write(start, &vec![0; end]) };
        }
    }

    /// Makes it an empty stream, and gives the names that the guest told there, if they are asked for.
    pub(crate) fn take_names(&self, is_asked: bool) -> Option<Vec<(u32, u32, String)>> {
        let names = is_asked.then(|| self.told().names);
        self.forget_stream();
        names
    }

    /// What the guest told.
    pub(crate) fn told(&self) -> GuestReport {
        let area = self.stream();
        if area.is_empty() { GuestReport::default() } else { GuestReport::read(area) }
    }

    /// Why the guest's draws ended the execution, if they did: a status of [`stream`].
    pub(crate) fn status(&self) -> u32 {
        let status = self.stream().get(stream::STATUS as usize..).and_then(|bytes| bytes.first_chunk());
        status.map_or(0, |&bytes| u32::from_le_bytes(bytes))
    }

    /// Whether the guest drew in a recursion without end; only where draws are recorded.
    pub(crate) fn runs_away(&self) -> bool {
        let area = self.stream();
        let item = |place: u32| {
            let bytes = area.get(place as usize..).and_then(|bytes| bytes.first_chunk());
            bytes.map_or(0, |&bytes| u32::from_le_bytes(bytes) / stream::ITEM_BYTES) as usize
        };
        let given = item(stream::END).max(item(stream::RANDOM_END));
        item(stream::POSITION) > given && Trace::read(area).runs_away(given)
    }

    pub(crate) fn region(&self) -> &Arc<Region> {
        &self.region
    }

    /// All of the memory.
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: no guest runs.
        unsafe { self.region.bytes() }
    }

    /// Begins a new trace, if there is one.
    pub(crate) fn forget_trace(&self) {
        const CELLS: Range<u32> = layout::TRACE_CELLS;
        // SAFETY: no guest runs.
        unsafe { self.region.write(CELLS.start as usize, &[0; (CELLS.end - CELLS.start) as usize]) };
    }

    /// Forgets the calls that were live when an execution ended.
    pub(crate) fn forget_calls(&self) {
        // SAFETY: no guest runs.
        unsafe { self.region.write(layout::CALLS as usize, &[0; 4]) };
    }

    /// Says what there is for the guest when it is called next.
    pub(crate) fn provide(&self, provision: Provision) {
        if let Some(fuel) = provision.fuel {
            self.set_fuel(fuel);
        }
        if let Some(annex) = provision.annex {
            self.set_annex(annex);
        }
    }

    fn set_annex(&self, AnnexCells { hidden, start, guest_end }: AnnexCells) {
        let room = (1_u64 << 32).wrapping_sub(start).wrapping_add(guest_end);
        let cells =
            [(layout::HIDDEN, hidden), (layout::ANNEX, start), (layout::GUEST_END, guest_end), (layout::ROOM, room)];
        for (offset, value) in cells {
            // SAFETY: no guest runs.
            unsafe { self.region.write(offset as usize, &value.to_le_bytes()) };
        }
    }

    /// Sets the fuel for what runs next, in units.
    pub(crate) fn set_fuel(&self, fuel: u64) {
        let fuel = i64::try_from(fuel).expect("limits on fuel are far below 2^63") - INIT_FUEL_MAX.cast_signed();
        // SAFETY: no guest runs.
        unsafe { self.region.write(layout::FUEL as usize, &fuel.to_le_bytes()) };
    }

    /// Fuel that is left; negative if the last bulk operation took more than there was.
    pub(crate) fn fuel_left(&self) -> i64 {
        let start = layout::FUEL as usize;
        // SAFETY: no guest runs.
        let bytes = unsafe { &self.region.bytes()[start..start + 8] };
        i64::from_le_bytes(bytes.try_into().expect("eight bytes")).saturating_add(INIT_FUEL_MAX.cast_signed())
    }

    /// What the rewriter's code told since the state was restored.
    pub(crate) fn flags(&self) -> Flags {
        Flags::read(self.bytes())
    }

    /// The indices of all counters that are not 0. Costs what the module has.
    pub(crate) fn counted(&self) -> Vec<u32> {
        let counters = (0..).zip(&self.values()[..self.counters]);
        counters.filter(|(_, count)| **count != 0).map(|(index, _)| index).collect()
    }

    /// Clears counters, flags and the stream: what the initialisers did is no part of any execution. Gives the counters
    /// that were not 0, as [`Injected::counted`], if they are asked for.
    pub(crate) fn forget(&self, is_asked: bool) -> Option<Vec<u32>> {
        let counted = is_asked.then(|| self.counted());
        self.forget_counts();
        self.forget_stream();
        counted
    }

    fn forget_counts(&self) {
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
                if !are_zeros(&self.region.bytes()[offset..offset + len]) {
                    self.region.write(offset, &[0; FORGET_BYTES][..len]);
                }
            }
        }
    }

    /// The values of all counters, by their numbers.
    pub(crate) fn values(&self) -> &[u32] {
        let bytes = &self.bytes()[layout::COUNTERS as usize..][..4 * self.counters.next_multiple_of(LINE_COUNTERS)];
        // SAFETY: any four bytes are a number; on a machine of another byte order the numbers would be other ones, but
        // no less valid.
        let (before, values, after) = unsafe { bytes.align_to::<u32>() };
        assert!(before.is_empty() && after.is_empty(), "memories begin at a page, and counters are aligned in them");
        values
    }

    /// Adds every group of functions that has a counter which is not 0 to `executed`. Costs what was
    /// executed since the instance was made, by pages, not what the module has.
    pub(crate) fn executed(&self, groups: &Groups, executed: &mut Vec<ExecutedGroup>) {
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
}

/// Adds the hashes of rare counters to those of the groups that they belong to. They are from `rare` on, and those from
/// `start` on to there are in ascending order.
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
