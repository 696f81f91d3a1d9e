//! The state of an instance after its initialisers, and the way back to it.
//!
//! # One instance per worker, restored after every execution
//!
//! One instance per worker, restored after every execution. Pages below the snapshot are read-only until first written;
//! the fault makes a page hot, and hot pages are copied back, those that are zero in the image cleared. A hot page that
//! stays clean is read-only again. So in the steady state there is neither a fault nor a system call. Memory that grew
//! is zeroed and closed; runs of pages that were ever touched there are marked, so that the kernel neither splits nor
//! joins mappings when they are opened and closed. Where executions grow the memory that inputs lie in, and do so in
//! less than a third of a millisecond, the system calls would cost most, and all workers wait for each other in them:
//! there the code of `full` and `fast` compares addresses with what the guest counts (`Options::bounds`;
//! `instrument/src/bounds` leaves out what is known), and what grew stays open: zeroing it is all that is left to do,
//! and the end is as exact as before. What fails such a comparison is decided in `metered`, as all failures are, so a
//! comparison may go a little further than the access. The injected memory with the counters is restored and scanned in
//! the same way, so both cost what was executed, not what the module could execute. Mutable globals are set back;
//! tables when a flag says that they were written. A table that grew, a dropped segment, garbage-collected objects: the
//! instance is replaced. So it is for every execution where faults aren't handled (`signals::HANDLED`): there is no
//! closed page behind inputs then, nothing is interrupted, and campaigns stay in `metered`.

use crate::sandbox::faults::handler::{Faults, handle_faults};
use crate::sandbox::faults::record::FaultRecord;
use crate::sandbox::imports::host::{Host, Limits};
use crate::sandbox::instance::exports::{ExportedMemory, Exports};
use crate::sandbox::interrupt::gate::Gate;
use crate::sandbox::memory::{Images, Region, Writes, are_zeros};
use crate::sandbox::tables::{SavedTables, TableImage};
use crate::sandbox::targets::Target;
use anyhow::{Context, Result};
use fuzzbox_instrument::layout;
use std::ops::Range;
use std::sync::Arc;
use wasmtime::{Global, Instance, Store, TypedFunc, Val};

/// Memories, mutable globals, tables and limits of an instance as they were when the snapshot was taken.
pub(crate) struct Snapshot {
    /// The guest's memories, then the injected one.
    memories: Vec<ExportedMemory>,
    globals: SavedGlobals,
    tables: SavedTables,
    limits: Limits,
    fault: Arc<FaultRecord>,
}

struct SavedGlobals {
    globals: Vec<Global>,
    way_back: WayBack,
}

/// How mutable globals get the values back that they had.
enum WayBack {
    /// There is at most one, which is set.
    Set(Option<Val>),
    /// The instance saved them, and this function restores them: one call takes as long as setting one and a half.
    Call(TypedFunc<(), ()>),
}

impl Snapshot {
    /// Takes the snapshot and begins to track writes to memory. `images` and `tables` are what memories and tables
    /// hold, as far as that is known; what is found out is added.
    pub(crate) fn take(
        target: &Target,
        store: &mut Store<Host>,
        (instance, exports): (&Instance, Exports),
        gate: &Arc<Gate>,
        (images, tables): (&mut Images, &Arc<TableImage>),
    ) -> Result<Self> {
        let injected = exports.injected.region.clone();
        let memories = memories(target, exports.memories, exports.injected, images)?;
        let (last, guest) = memories.split_last().expect("the injected memory is there");
        assert!(Arc::ptr_eq(&last.region, &injected));
        let fault = Arc::<FaultRecord>::default();
        let faults = Faults {
            guest: guest.iter().map(|saved| saved.region.clone()).collect(),
            injected,
            gate: gate.clone(),
            record: fault.clone(),
        };
        if target.restores {
            handle_faults(store, &target.code.module, faults);
        }
        let globals = SavedGlobals::save(target, store, instance, exports.globals)?;
        let tables = SavedTables::save(exports.tables, store, tables);
        Ok(Self { memories, globals, tables, limits: store.data().limits, fault })
    }

    /// By how many bytes memories grew since the state was restored.
    pub(crate) fn grown_bytes(&self) -> usize {
        self.memories.iter().map(|saved| saved.region.growth()).sum()
    }

    /// How often memories grew since then.
    pub(crate) fn growth_steps(&self) -> usize {
        self.memories.iter().map(|saved| saved.region.growth_steps()).sum()
    }

    /// Goes back to the snapshot, tables only if `tables_written`. Returns `false` if the instance must be replaced.
    pub(crate) fn restore(&self, store: &mut Store<Host>, tables_written: bool) -> Result<bool> {
        let mut grown = 0;
        for saved in &self.memories {
            grown += saved.region.growth();
            // SAFETY: no guest runs, and this thread is the one that runs it.
            if unsafe { saved.region.restore() }.context("failed to restore a linear memory")? {
                // wasmtime keeps its own copy of the length and reads ours after each growth, by 0 pages too.
                saved.memory.grow(&mut *store, 0).map_err(anyhow::Error::from)?;
            }
        }
        let all_growth = store.data().limits.bytes() - self.limits.bytes();
        if all_growth != grown {
            // Something grew that is not a linear memory: the heap of garbage-collected objects.
            return Ok(false);
        }
        store.data_mut().limits = self.limits;
        self.globals.restore(store)?;
        if tables_written { self.tables.restore(store) } else { Ok(true) }
    }

    /// The guest's first memory, if it has one.
    pub(crate) fn memory(&self) -> Option<&Region> {
        let (_, guest) = self.memories.split_last()?;
        guest.first().map(|saved| &*saved.region)
    }

    /// Where the guest was when it last trapped.
    pub(crate) fn fault(&self) -> &FaultRecord {
        &self.fault
    }

    /// Whether a forbidden page was touched by something else than the guest's own loads and stores, since the state
    /// was restored.
    pub(crate) fn forbidden_was_opened(&self) -> bool {
        self.memories.iter().any(|saved| saved.region.was_opened())
    }

    /// A hash over the present state: memories (without the injected one), mutable globals over numbers, sizes of
    /// tables.
    pub(crate) fn hash_of_present(&self, store: &mut Store<Host>) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new();
        let guest = &self.memories[..self.memories.len() - 1];
        for saved in guest {
            hasher.update(&(saved.region.size() as u64).to_le_bytes());
            let (mut memory, mut annex) = (Contents::default(), Contents::default());
            // SAFETY: no guest runs.
            unsafe { saved.region.visit(|bytes| memory.add(bytes, &mut hasher)) };
            hasher.update(b"annex");
            // One that holds nothing is as good as none, which another variant may have.
            // SAFETY: no guest runs.
            unsafe { saved.region.visit_annex(|bytes| annex.add(bytes, &mut hasher)) };
        }
        for global in &self.globals.globals {
            match global.get(&mut *store) {
                Val::I32(value) => hasher.update(&value.to_le_bytes()),
                Val::I64(value) => hasher.update(&value.to_le_bytes()),
                Val::F32(bits) => hasher.update(&bits.to_le_bytes()),
                Val::F64(bits) => hasher.update(&bits.to_le_bytes()),
                Val::V128(value) => hasher.update(&value.as_u128().to_le_bytes()),
                reference => hasher.update(&[u8::from(reference.ref_().is_some_and(|reference| reference.is_null()))]),
            };
        }
        for size in self.tables.sizes(store) {
            hasher.update(&size.to_le_bytes());
        }
        hasher.finalize()
    }
}

/// What a memory holds, to be hashed without its zeros: of most memories they are nearly all.
#[derive(Debug, Default)]
struct Contents {
    /// Bytes that were added.
    len: usize,
    /// Where what was hashed last ends.
    hashed: usize,
}

impl Contents {
    /// Bytes that are looked at together. Pieces of a memory end at multiples of it, or with the memory.
    const CHUNK_BYTES: usize = 4096;

    /// Adds the next piece.
    fn add(&mut self, bytes: &[u8], hasher: &mut blake3::Hasher) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let is_zero = are_zeros(&rest[..Self::CHUNK_BYTES.min(rest.len())]);
            let alike = rest.chunks(Self::CHUNK_BYTES).take_while(|chunk| are_zeros(chunk) == is_zero);
            let (next, others) = rest.split_at(alike.map(<[u8]>::len).sum());
            if !is_zero {
                if self.len != self.hashed {
                    hasher.update(&(self.len as u64).to_le_bytes());
                }
                hasher.update(next);
                self.hashed = self.len + next.len();
            }
            self.len += next.len();
            rest = others;
        }
    }
}

/// The guest's memories, each once (two imports may be the same), then the injected one; from now on writes to them are
/// tracked, so they need the fault handler.
fn memories(
    target: &Target,
    guest: Vec<ExportedMemory>,
    injected: ExportedMemory,
    images: &mut Images,
) -> Result<Vec<ExportedMemory>> {
    let mut memories: Vec<ExportedMemory> = Vec::new();
    for exported in guest.into_iter().chain([injected.clone()]) {
        if memories.iter().all(|saved| !Arc::ptr_eq(&saved.region, &exported.region)) {
            memories.push(exported);
        }
    }
    let mut numbers = 0..;
    for ExportedMemory { region, .. } in memories.iter().filter(|_| target.restores) {
        let is_injected = Arc::ptr_eq(region, &injected.region);
        let scratch = is_injected.then(|| scratch(target)).flatten();
        let only = is_injected.then(|| written(target)).flatten();
        // A trace is written in order, and what records one has fuel, so nobody closes a page to end it.
        let reads_ahead = !is_injected || target.rewritten.injected.trace.is_some();
        let writes = Writes { scratch, only, reads_ahead };
        let mut image = |bytes| {
            let number = numbers.next().expect("there are few memories");
            images.image(number, bytes).context("failed to copy a linear memory")
        };
        // SAFETY: no guest runs.
        let (image, annex) = unsafe { (image(region.bytes())?, region.annex_bytes().map(image).transpose()?) };
        // SAFETY: no guest runs; the caller sets the handler before one does.
        unsafe { region.track(image, annex, writes) }.context("failed to protect a linear memory")?;
    }
    Ok(memories)
}

/// Where in the injected memory that begins which is written before it is read: of a stream only what the host wrote is
/// read, and then what the guest did; of a trace what was recorded, if it is the last thing there.
fn scratch(target: &Target) -> Option<usize> {
    let place = &target.rewritten.injected;
    let items = place.stream.as_ref().map(|stream| stream.start + layout::stream::ITEMS);
    items.or(place.trace.as_ref().map(|trace| trace.start)).map(|start| start as usize)
}

/// What is written of the injected memory, if that is little.
fn written(target: &Target) -> Option<[Range<usize>; 2]> {
    let place = &target.rewritten.injected;
    let counters = layout::COUNTERS as usize..layout::COUNTERS as usize + 4 * target.counters();
    place.stream.is_none().then_some([0..layout::CELLS_END as usize, counters])
}

impl SavedGlobals {
    fn save(target: &Target, store: &mut Store<Host>, instance: &Instance, globals: Vec<Global>) -> Result<Self> {
        let functions = (&target.rewritten.state.save_globals, &target.rewritten.state.restore_globals);
        let way_back = match functions {
            (Some(save), Some(restore)) if globals.len() > 1 => {
                let save: TypedFunc<(), ()> = instance.get_typed_func(&mut *store, save)?;
                save.call(&mut *store, ()).map_err(anyhow::Error::from).context("failed to save globals")?;
                WayBack::Call(instance.get_typed_func(&mut *store, restore)?)
            }
            _ => WayBack::Set(globals.first().map(|global| global.get(&mut *store))),
        };
        Ok(Self { globals, way_back })
    }

    fn restore(&self, store: &mut Store<Host>) -> Result<()> {
        match &self.way_back {
            WayBack::Call(restore) => restore.call(store, ()).map_err(anyhow::Error::from),
            WayBack::Set(value) => {
                let mut globals = self.globals.iter().zip(value);
                globals.try_for_each(|(global, value)| global.set(&mut *store, *value)).map_err(anyhow::Error::from)
            }
        }
        .context("failed to restore globals")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_hashed_alike_however_they_are_cut_and_only_if_they_are_equal() {
        const CHUNK: usize = Contents::CHUNK_BYTES;
        let hash = |pieces: &[&[u8]]| {
            let (mut contents, mut hasher) = (Contents::default(), blake3::Hasher::new());
            pieces.iter().for_each(|piece| contents.add(piece, &mut hasher));
            hasher.finalize()
        };
        let mut hashes = Vec::new();
        // Each chunk holds zeros or not, and the last may be a part of one.
        for (held, len) in (0..1_usize << 5).flat_map(|held| [(held, 5 * CHUNK), (held, 4 * CHUNK + 100)]) {
            let mut bytes = vec![0; len];
            (0..5).filter(|chunk| held >> chunk & 1 == 1).for_each(|chunk| bytes[chunk * CHUNK + 50] = 1);
            let whole = hash(&[&bytes]);
            for cut in 1..5 {
                let (first, rest) = bytes.split_at(cut * CHUNK);
                assert_eq!(hash(&[first, rest]), whole, "{held:#b} cut at {cut}");
                assert_eq!(hash(&[first, &[], rest, &[0; CHUNK]]), whole, "zeros at the end are none");
            }
            if len == 5 * CHUNK {
                hashes.push(whole);
            }
        }
        hashes.sort_by_key(|hash| *hash.as_bytes());
        hashes.dedup();
        assert_eq!(hashes.len(), 1 << 5);
    }
}
