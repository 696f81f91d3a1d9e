//! The injected memory of an instance: fuel, flags and counters.

use super::memory::Region;
use super::target::INIT_FUEL_MAX;
use fuzzbox_instrument::layout;
use std::sync::Arc;

/// Counters are forgotten this many bytes at a time.
const FORGET_BYTES: usize = 4096;

/// Counters are looked at this many bytes at a time: most are 0.
const SCAN_BYTES: usize = 64;

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

    /// Calls `visit` with the index and the value of every counter that is not 0, in no defined order. Costs what was
    /// executed since the instance was made, by pages, not what the module has.
    pub(super) fn counters(&self, mut visit: impl FnMut(u32, u32)) {
        let counters = layout::COUNTERS as usize;
        let end = counters + 4 * self.counters;
        let visit_bytes = |offset: usize, bytes: &[u8]| {
            // Pages and counters are aligned; the first page also holds fuel and flags.
            let skip = counters.saturating_sub(offset).min(bytes.len());
            let len = end.saturating_sub(offset).min(bytes.len()).max(skip);
            for (index, chunk) in bytes[skip..len].chunks(SCAN_BYTES).enumerate() {
                if chunk.iter().all(|&byte| byte == 0) {
                    continue;
                }
                let first = (offset + skip - counters + index * SCAN_BYTES) / 4;
                for (word, count) in chunk.chunks_exact(4).enumerate() {
                    let count = u32::from_le_bytes(count.try_into().expect("four bytes"));
                    if count != 0 {
                        visit(u32::try_from(first + word).expect("counters have 32-bit indices"), count);
                    }
                }
            }
        };
        // SAFETY: no guest runs, and nobody else has the region.
        unsafe { self.region.visit_hot(visit_bytes) }
    }
}
