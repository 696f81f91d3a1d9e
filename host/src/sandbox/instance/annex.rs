//! The annex of the memory that inputs lie in: where the host puts what it gives the guest, beyond all that the guest's
//! part can grow to.
//!
//! So the guest has `memory.size` and all below it to itself, as in every other host, whatever its allocator makes of
//! that. The rewriter sees to it that the guest counts its own pages
//! ([`Options::annex`](fuzzbox_instrument::Options::annex)); here the annex is made, and the guest's part grows.
//!
//! ```text
//! 0                 size        guest_max         start                       end               length
//! | the guest's part |  can grow  |   a page    | arguments | input of any  | closed page     |
//! ```
//!
//! # Inputs end at a closed page
//!
//! Inputs end at a closed page, the last of the annex: inside the memory's length but inaccessible, so that reading one
//! byte too far traps whatever the memory's size is. Bulk operators and host functions would kill the process there:
//! for them the handler opens the page, and the execution ends as `input-overrun`.

use crate::sandbox::imports::host::Host;
use crate::sandbox::instance::exports::{ExportedMemory, Exports};
use crate::sandbox::instance::injected::AnnexCells;
use crate::sandbox::limits::ANNEX_GAP_BYTES;
use crate::sandbox::memory::{PAGE_BYTES, Region};
use crate::sandbox::targets::Target;
use anyhow::{Context, Result, bail};
use std::sync::Arc;
use wasmtime::{Caller, Func, Instance, Memory, Ref, ResourceLimiter, Store};

/// Where things are in the memory that inputs lie in, in bytes from its start.
pub(crate) struct Annex {
    pub(crate) memory: Memory,
    pub(crate) region: Arc<Region>,
    /// What the guest's code has to be told.
    pub(crate) cells: AnnexCells,
    /// Where the annex begins: a page of the machine for arguments.
    pub(crate) start: usize,
    /// The offset at which every input ends: where the last page of the annex begins, one of the machine.
    pub(crate) end: usize,
}

/// How long the parts of the memory are, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    /// The most that the guest's part can have.
    guest_max: usize,
    start: usize,
    length: usize,
}

impl Annex {
    /// Makes the annex, if the guest takes bytes, or if its code compares addresses and it can have as much memory as
    /// without one. Nothing that the guest ever sees of its memory changes.
    pub(crate) fn make(
        target: &Target,
        store: &mut Store<Host>,
        instance: &Instance,
        exports: &Exports,
    ) -> Result<Option<Self>> {
        let place = match &target.rewritten.injected.annex {
            Some(place) if target.candidate.entry.takes_bytes() || place.bounds => place,
            None if target.candidate.entry.takes_bytes() => {
                bail!("the harness takes a pointer, but the module has no memory")
            }
            _ => return Ok(None),
        };
        let ExportedMemory { memory, region } = exports.memories[place.memory as usize].clone();
        let page = memory.page_size(&*store);
        let maximum = place.maximum.map_or(u64::MAX, |pages| pages.saturating_mul(page));
        let guest_max = maximum.min(target.candidate.settings.memory_bytes_max);
        let (takes_bytes, way) = (target.candidate.entry.takes_bytes(), target.candidate.entry.way());
        let input = target.candidate.settings.input_bytes_max as usize;
        let input = if takes_bytes { way.placed_bytes_max(input) } else { 0 };
        let wanted = usize::try_from(guest_max)?;
        let layout = Layout::new(wanted, region.size(), input, usize::try_from(page)?, &region);
        if !takes_bytes && layout.is_none_or(|layout| layout.guest_max < wanted) {
            return Ok(None);
        }
        let Some(Layout { guest_max, start, length }) = layout else {
            bail!(
                "there is no room for inputs of {input} bytes: the guest has {} MiB of the 4 GiB that can be addressed\n\
                 help: lower --input-bytes-max",
                region.size() >> 20
            );
        };
        let hidden = (length - region.size()) as u64 / page;
        let guest_end = region.size() as u64;
        // Without inputs the annex is nobody's, too: what the guest finds where it is, is not there.
        let known = if takes_bytes { start } else { length };
        region.announce_annex(start);
        store.data_mut().makes_annex = true;
        let grown = memory.grow(&mut *store, hidden);
        store.data_mut().makes_annex = false;
        grown.map_err(anyhow::Error::from).context("failed to make room for inputs in the guest's memory")?;
        if place.bounds {
            region.keep_open();
        }
        let grow = growth(store, region.clone(), guest_max, page);
        let table = instance.get_table(&mut *store, &place.table_export).context("the rewriter exports its table")?;
        table.set(&mut *store, 0, Ref::Func(Some(grow)))?;
        if store.data().memory.is_some_and(|other| other.data_ptr(&*store) == memory.data_ptr(&*store)) {
            store.data_mut().wasi.has_gap(region.clone(), known);
        }
        let cells = AnnexCells { hidden, start: known as u64, guest_end };
        Ok(Some(Self { memory, region, cells, start, end: length - *PAGE_BYTES }))
    }

    /// Zeros, where an input of so many bytes was. To be called while nothing is tracked.
    pub(crate) fn clear(&self, len: usize) {
        let len = len.min(self.end - self.start);
        // SAFETY: no guest runs.
        unsafe { self.region.write(self.end - len, &vec![0; len]) };
    }
}

impl Layout {
    /// Room for inputs of so many bytes, as low as it can be: other addresses than the guest has are no subject of its
    /// tests. `None` if there is none.
    fn new(guest_max: usize, size: usize, input: usize, page: usize, region: &Region) -> Option<Self> {
        let granule = page.max(*PAGE_BYTES);
        // A memory of bytes has one less than can be addressed.
        let limit = region.capacity().min(1 << 32) - if page < granule { granule } else { 0 };
        let needed = (*PAGE_BYTES + input.max(1).next_multiple_of(*PAGE_BYTES) + *PAGE_BYTES).next_multiple_of(granule);
        let last = limit.checked_sub(needed)? / granule * granule;
        let start = (guest_max.next_multiple_of(granule) + ANNEX_GAP_BYTES).min(last);
        // The page before the annex is nobody's.
        let guest_max = guest_max.min(start.checked_sub(granule)?) / page * page;
        (size <= guest_max).then_some(Self { guest_max, start, length: start + needed })
    }
}

/// The function that grows the guest's part, up to `guest_max` bytes, by pages of `page` bytes.
fn growth(store: &mut Store<Host>, region: Arc<Region>, guest_max: usize, page: u64) -> Func {
    Func::wrap(store, move |mut caller: Caller<'_, Host>, pages: i64| -> wasmtime::Result<i32> {
        let bytes = usize::try_from(pages.cast_unsigned().saturating_mul(page)).unwrap_or(usize::MAX);
        let (size, host) = (region.size(), caller.data_mut());
        let wanted = size.saturating_add(bytes);
        if wanted > guest_max {
            host.limits.refused = true;
            return Ok(0);
        }
        if !host.memory_growing(size, wanted, None)? {
            return Ok(0);
        }
        if let Err(error) = region.grow(wanted) {
            host.memory_grow_failed(error.into())?;
            return Ok(0);
        }
        Ok(1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coverage::Profile;
    use crate::sandbox::{Candidate, Code, CodeCache, Executor, History, Variant};
    use crate::settings::Settings;
    use crate::stream::{Choice, encode};

    const MIB: usize = 1 << 20;
    const GIB: usize = 1 << 30;

    fn layout(guest_max: usize, size: usize, input: usize, page: usize) -> Option<Layout> {
        let region = Region::new(0, None, 4 * GIB, 0).unwrap();
        let layout = Layout::new(guest_max, size, input, page, &region);
        if let Some(Layout { guest_max, start, length }) = layout {
            assert!(guest_max.is_multiple_of(page) && length.is_multiple_of(page) && start.is_multiple_of(*PAGE_BYTES));
            assert!(guest_max + *PAGE_BYTES <= start && start + input + 2 * *PAGE_BYTES <= length && length <= 4 * GIB);
        }
        layout
    }

    #[test]
    fn the_annex_is_right_above_what_the_guest_can_have() {
        let place = |guest_max, page| layout(guest_max, 1 << 16, MIB, page).unwrap();
        assert_eq!(place(256 * MIB, 1 << 16).start, 257 * MIB);
        assert_eq!(place(256 * MIB, 1 << 16).guest_max, 256 * MIB);
        assert_eq!(place(1 << 16, 1 << 16).start, (1 << 16) + MIB);
        assert_eq!(place(70_000, 1).guest_max, 70_000);
        assert_eq!(place(70_000, 1).start, 70_000_usize.next_multiple_of(*PAGE_BYTES) + MIB);
    }

    #[test]
    fn a_guest_that_may_have_everything_has_less_by_the_annex() {
        for page in [1, 1 << 16] {
            let Layout { guest_max, length, .. } = layout(4 * GIB, 1 << 16, 64 * MIB, page).unwrap();
            assert!(guest_max > 4 * GIB - 65 * MIB, "{guest_max}");
            assert!(length < 1 << 32 || page > 1);
        }
        assert_eq!(layout(4 * GIB, 4 * GIB - (1 << 16), 1, 1 << 16), None);
        assert!(layout(4 * GIB, 4 * GIB - (2 << 16), 1, 1 << 16).is_some());
        assert_eq!(layout(4 * GIB, 4 * GIB - (2 << 16), 1 << 16, 1 << 16), None);
    }

    /// Sees that what is quick and compares addresses fails where what decides does, again and again; and that what
    /// decides and compares them says the same of each execution as what doesn't; so it does where that was made of
    /// quick code, whose failures excerpts decide, and later the whole module.
    fn fails_alike(module: &str, inputs: &[Vec<u8>]) -> usize {
        let metered = Arc::new(Target::load(module.as_bytes(), Settings::default()).unwrap());
        let comparing = metered.in_variant_after(Variant::Full, &History::default().comparing()).unwrap();
        assert!(comparing.compares_addresses() && !metered.compares_addresses());
        let deciding = metered.comparing().unwrap();
        assert!(deciding.compares_addresses() && Arc::ptr_eq(deciding.cold(), &metered));
        let candidate = Candidate::new(module.as_bytes(), Settings::default()).unwrap();
        let hurried = Arc::new(Target::compiled(candidate, &CodeCache::default(), Code::Quick).unwrap());
        let made_of_it = hurried.comparing().unwrap();
        assert!(hurried.is_quick() && made_of_it.compares_addresses() && !made_of_it.is_quick());
        let [mut exact, mut quick, mut deciding, mut made_of_it] =
            [metered, Arc::new(comparing), deciding, made_of_it].map(|target| Executor::new(&target).unwrap());
        let mut failing = 0;
        for (number, input) in inputs.iter().enumerate() {
            if number == inputs.len() / 2 {
                assert!(hurried.optimised_by_now().is_none(), "excerpts were enough so far");
                hurried.optimised().unwrap();
            }
            let [outcome, other, decided, decided_by_excerpts] =
                [&mut exact, &mut quick, &mut deciding, &mut made_of_it].map(|executor| executor.run(input).unwrap());
            assert_eq!((outcome.failure().is_some(), &outcome), (other.failure().is_some(), &decided));
            assert_eq!(outcome, decided_by_excerpts);
            let shown = |executor: &mut Executor| {
                let observation = executor.observation();
                let draws = observation.draws().canonical().choices;
                (Profile::of(observation), observation.fuel(), draws, executor.grown_bytes(), executor.state_hash())
            };
            let expected = shown(&mut exact);
            assert_eq!(expected, shown(&mut deciding), "{input:?}");
            assert_eq!(expected, shown(&mut made_of_it), "{input:?}");
            failing += usize::from(outcome.failure().is_some());
        }
        failing
    }

    /// Grows by `$wanted` pages, which must be zeros, fills them, and reads so many bytes behind them.
    const GROWS: &str = r#"(func $grows (param $wanted i32) (param $behind i32) (local $size i32)
        (local.set $size (i32.mul (memory.grow (local.get $wanted)) (i32.const 65536)))
        (if (i32.ne (local.get $size) (i32.const 65536)) (then unreachable))
        (local.set $size (i32.mul (memory.size) (i32.const 65536)))
        (if (i32.load8_u (i32.sub (local.get $size) (i32.const 1))) (then unreachable))
        (i32.store8 (i32.sub (local.get $size) (i32.const 1)) (i32.const 7))
        (drop (i32.load8_u (i32.add (i32.sub (local.get $size) (i32.const 1)) (local.get $behind)))))"#;

    #[test]
    fn who_takes_no_bytes_and_grows_ends_where_its_memory_does_too() {
        let draws = format!(
            r#"(module (import "fuzzbox_v1" "draw_int" (func $int (param i64 i64 i64) (result i64)))
            (memory (export "memory") 1) {GROWS}
            (func (export "fbx_grows") (call $grows
                (i32.wrap_i64 (call $int (i64.const 0) (i64.const 40) (i64.const 0)))
                (i32.wrap_i64 (call $int (i64.const 0) (i64.const 1) (i64.const 0))))))"#
        );
        let choices = |number: u64| [number * 7 % 41, number.is_multiple_of(5).into()].map(Choice::Index);
        let inputs: Vec<Vec<u8>> = (0..400).map(|number| encode(&choices(number))).collect();
        let failing = fails_alike(&draws, &inputs);
        assert_eq!(failing, 80);
        // Where the annex is there is nothing.
        let annex = Settings::default().memory_bytes_max + ANNEX_GAP_BYTES as u64;
        for address in [annex - 100, annex + 100, annex + (1 << 16) + 100] {
            let reads = format!(
                r#"(module (memory (export "memory") 1) {GROWS} (func (export "_start")
                (call $grows (i32.const 2) (i32.const 0))
                (drop (i32.load (i32.const {address})))))"#
            );
            assert_eq!(fails_alike(&reads, &vec![vec![0]; 9]), 9, "{address}");
        }
        for (pages, behind, failing) in [(3, 0, 0), (0, 0, 0), (3, 1, 9), (0, 1, 9)] {
            let program = format!(
                r#"(module (memory (export "memory") 1) {GROWS}
                (func (export "_start") (call $grows (i32.const {pages}) (i32.const {behind}))))"#
            );
            assert_eq!(fails_alike(&program, &vec![vec![0]; 9]), failing, "{pages} pages, {behind} behind");
        }
    }

    #[test]
    fn who_takes_bytes_and_grows_fails_alike_with_comparisons() {
        let module = format!(
            r#"(module (memory (export "memory") 1) {GROWS}
            (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32)
                (call $grows
                    (i32.and (i32.load8_u (local.get 0)) (i32.const 31))
                    (i32.eqz (i32.rem_u (i32.load8_u (local.get 0)) (i32.const 5))))
                (i32.const 0)))"#
        );
        let inputs: Vec<Vec<u8>> = (0..=255).map(|byte: u8| vec![byte.wrapping_mul(7)]).collect();
        assert_eq!(fails_alike(&module, &inputs), 52);
    }
}
