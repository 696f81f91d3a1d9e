//! The injected memory of an instance: fuel, flags and counters.

use super::memory::Region;
use super::target::INIT_FUEL_MAX;
use fuzzbox_instrument::{CounterMap, FunctionCounters, layout};
use std::ops::Range;
use std::sync::Arc;

/// Counters are forgotten this many bytes at a time.
const FORGET_BYTES: usize = 4096;

/// Counters are looked at this many bytes at a time: most are 0.
const LINE_BYTES: usize = 64;

/// The memory that the rewriter added, laid out as [`layout`] says. The guest runs in no method of this.
pub(super) struct Injected {
    region: Arc<Region>,
    counters: usize,
}

impl Injected {
    /// `region` holds so many counters.
    pub(super) fn new(region: Arc<Region>, counters: usize) -> Self {
        Self { region, counters }
    }

    pub(super) fn region(&self) -> &Arc<Region> {
        &self.region
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
        // SAFETY: no guest runs.
        let bytes = unsafe { &self.region.bytes()[layout::COUNTERS as usize..][..4 * self.counters] };
        let counters = (0..).zip(bytes.chunks_exact(4));
        counters.filter(|(_, count)| *count != [0; 4]).map(|(index, _)| index).collect()
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
        // SAFETY: no guest runs.
        let bytes = unsafe { &self.region.bytes()[layout::COUNTERS as usize..][..4 * self.counters] };
        // SAFETY: any four bytes are a number; on a machine of another byte order the numbers would be other ones, but no less valid.
        let (before, values, after) = unsafe { bytes.align_to::<u32>() };
        assert!(before.is_empty() && after.is_empty(), "memories begin at a page, and counters are aligned in them");
        values
    }

    /// Calls `visit` for every function that has a counter which is not 0, with its place in `functions` and the values of
    /// its counters; with some functions perhaps twice. `lines` is [`first_functions`] of the same. Costs what was executed since the
    /// instance was made, by pages, not what the module has.
    pub(super) fn executed(&self, functions: &[FunctionCounters], lines: &[u32], mut visit: impl FnMut(usize, &[u32])) {
        let values = self.values();
        let mut last = usize::MAX;
        let visit_bytes = |offset: usize, bytes: &[u8]| {
            // Pages hold whole lines; those before the counters hold fuel, flags and polls.
            let start = offset.max(layout::COUNTERS as usize) - layout::COUNTERS as usize;
            let end = (offset + bytes.len()).saturating_sub(layout::COUNTERS as usize).min(4 * self.counters);
            let counters = values.get(start / 4..end / 4).unwrap_or_default();
            for (line, chunk) in (start / LINE_BYTES..).zip(counters.chunks(LINE_BYTES / 4)) {
                if chunk.iter().fold(0, |any, count| any | count) == 0 {
                    continue;
                }
                let after = u32::try_from(line * (LINE_BYTES / 4) + chunk.len()).expect("counters have 32-bit indices");
                for (index, function) in functions.iter().enumerate().skip(lines[line] as usize) {
                    if function.counters.start >= after {
                        break;
                    }
                    let counters = &values[function.counters.start as usize..function.counters.end as usize];
                    if index != last && counters.iter().any(|&count| count != 0) {
                        last = index;
                        visit(index, counters);
                    }
                }
            }
        };
        // SAFETY: no guest runs, and nobody else has the region.
        unsafe { self.region.visit_hot(visit_bytes) }
    }
}

/// By line of counters (16 of them): the place of the first function that has a counter there.
pub(super) fn first_functions(counters: &CounterMap) -> Box<[u32]> {
    let lines = (4 * counters.len() as usize).div_ceil(LINE_BYTES);
    let functions = counters.functions();
    let mut first = 0;
    let place = |line: usize| {
        while functions[first].counters.end as usize <= line * (LINE_BYTES / 4) {
            first += 1;
        }
        u32::try_from(first).expect("functions have 32-bit indices")
    };
    (0..lines).map(place).collect()
}
