//! The state of an instance after its initialisers, and the way back to it.

use super::host::{Host, Limits};
use super::injected::Injected;
use super::interrupt::Gate;
use super::memory::Region;
use super::signals;
use super::target::Target;
use anyhow::{Context, Result};
use std::sync::Arc;
use wasmtime::{Global, Instance, Memory, Ref, Store, Table, Val};

/// Memories, mutable globals, tables and limits of an instance as they were when the snapshot was taken.
pub(super) struct Snapshot {
    /// The guest's memories, then the injected one.
    memories: Vec<SavedMemory>,
    globals: Vec<(Global, Val)>,
    tables: Vec<SavedTable>,
    limits: Limits,
}

struct SavedMemory {
    memory: Memory,
    region: Arc<Region>,
    image: Arc<[u8]>,
}

struct SavedTable {
    table: Table,
    /// The functions it holds; `None` for tables of other references, which are not restored.
    functions: Option<Vec<Ref>>,
}

impl Snapshot {
    /// Takes the snapshot and begins to track writes to memory.
    pub(super) fn take(
        target: &Target,
        store: &mut Store<Host>,
        instance: &Instance,
        injected: &Injected,
        gate: &Arc<Gate>,
    ) -> Result<Self> {
        let mut memories: Vec<SavedMemory> = Vec::new();
        let guest = target.state.memories.iter().map(String::as_str);
        for export in guest.chain([target.injected.memory_export.as_str()]) {
            let region = region(target, store, instance, export)?;
            let memory = instance.get_memory(&mut *store, export).context("the rewriter exports every memory")?;
            // Two imports may be the same memory.
            if memories.iter().all(|saved| !Arc::ptr_eq(&saved.region, &region)) {
                // SAFETY: no guest runs.
                let image = unsafe { target.image(memories.len(), region.bytes()) };
                // SAFETY: no guest runs; the handler is set below, before one does.
                unsafe { region.track() }.context("failed to protect a linear memory")?;
                memories.push(SavedMemory { memory, region, image });
            }
        }
        let (last, guest) = memories.split_last().expect("the injected memory is there");
        assert!(Arc::ptr_eq(&last.region, injected.region()));
        let guest = guest.iter().map(|saved| saved.region.clone()).collect();
        signals::handle_faults(store, guest, injected.region().clone(), gate.clone());
        gate.watch(injected.region());

        let mut globals = Vec::new();
        for export in &target.state.globals {
            let global =
                instance.get_global(&mut *store, export).context("the rewriter exports every mutable global")?;
            globals.push((global, global.get(&mut *store)));
        }
        let mut tables = Vec::new();
        for export in &target.state.tables {
            let table = instance.get_table(&mut *store, export).context("the rewriter exports every table")?;
            let functions = (0..table.size(&*store))
                .map(|index| table.get(&mut *store, index).filter(|item| matches!(item, Ref::Func(_))))
                .collect();
            tables.push(SavedTable { table, functions });
        }
        Ok(Self { memories, globals, tables, limits: store.data().limits })
    }

    /// Goes back to the snapshot, tables only if `tables_written`. Returns `false` if the instance must be replaced.
    pub(super) fn restore(&self, store: &mut Store<Host>, tables_written: bool) -> Result<bool> {
        let mut grown = 0;
        for saved in &self.memories {
            grown += saved.region.size() - saved.image.len();
            // SAFETY: no guest runs, and the image is the region's.
            if unsafe { saved.region.restore(&saved.image) }.context("failed to restore a linear memory")? {
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
        for (global, value) in &self.globals {
            global.set(&mut *store, *value).map_err(anyhow::Error::from)?;
        }
        if tables_written {
            for saved in &self.tables {
                let Some(functions) = &saved.functions else { return Ok(false) };
                for (index, item) in (0..).zip(functions) {
                    saved.table.set(&mut *store, index, item.clone()).map_err(anyhow::Error::from)?;
                }
            }
        }
        Ok(true)
    }

    /// A hash over the present state: memories (without the injected one), mutable globals over numbers, sizes of tables.
    pub(super) fn hash_of_present(&self, store: &mut Store<Host>) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new();
        let guest = &self.memories[..self.memories.len() - 1];
        for saved in guest {
            hasher.update(&(saved.region.size() as u64).to_le_bytes());
            // SAFETY: no guest runs.
            hasher.update(unsafe { saved.region.bytes() });
        }
        for (global, _) in &self.globals {
            match global.get(&mut *store) {
                Val::I32(value) => hasher.update(&value.to_le_bytes()),
                Val::I64(value) => hasher.update(&value.to_le_bytes()),
                Val::F32(bits) => hasher.update(&bits.to_le_bytes()),
                Val::F64(bits) => hasher.update(&bits.to_le_bytes()),
                Val::V128(value) => hasher.update(&value.as_u128().to_le_bytes()),
                reference => hasher.update(&[u8::from(reference.ref_().is_some_and(|reference| reference.is_null()))]),
            };
        }
        for saved in &self.tables {
            hasher.update(&saved.table.size(&*store).to_le_bytes());
        }
        hasher.finalize()
    }
}

/// The region behind the memory that is exported as `export`.
pub(super) fn region(
    target: &Target,
    store: &mut Store<Host>,
    instance: &Instance,
    export: &str,
) -> Result<Arc<Region>> {
    let memory = instance.get_memory(&mut *store, export).context("the rewriter exports every memory")?;
    region_of(target, store, memory)
}

pub(super) fn region_of(target: &Target, store: &Store<Host>, memory: Memory) -> Result<Arc<Region>> {
    target.memories.region(memory.data_ptr(store)).context("every linear memory is one of ours")
}
