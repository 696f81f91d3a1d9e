//! Where wasmtime gets its linear memories from.

use super::Region;
use anyhow::{Context, Result};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};
use wasmtime::{AsContext, AsContextMut, Instance, LinearMemory, Memory, MemoryCreator, MemoryType};

/// wasmtime's handle of a region.
struct Handle(Arc<Region>);

// SAFETY: `length` bytes at the base are accessible, but for pages whose faults the store's handler deals with, and
// those before an annex, where only the guest's code can go, which traps; the rest of the reservation and the guard are
// not, and nothing moves.
unsafe impl LinearMemory for Handle {
    fn byte_size(&self) -> usize {
        self.0.length()
    }

    fn byte_capacity(&self) -> usize {
        self.0.capacity
    }

    fn grow_to(&mut self, new_size: usize) -> wasmtime::Result<()> {
        Ok(self.0.grow_to(new_size)?)
    }

    fn as_ptr(&self) -> *mut u8 {
        self.0.base()
    }
}

/// Makes the linear memories of an engine, and finds the region behind a memory's address.
#[derive(Debug, Default)]
pub(crate) struct Memories {
    regions: Mutex<BTreeMap<usize, Weak<Region>>>,
}

/// What is told of each new region.
type Witness = Box<dyn Fn(&Arc<Region>)>;

thread_local! {
    static WITNESS: RefCell<Option<Witness>> = const { RefCell::new(None) };
}

/// Runs `job`, and tells `witness` of every region that this thread makes meanwhile: an instance's memories are there
/// before its start function is called, and nobody else can know them by then.
pub(crate) fn with_witness<T>(witness: impl Fn(&Arc<Region>) + 'static, job: impl FnOnce() -> T) -> T {
    WITNESS.replace(Some(Box::new(witness)));
    let result = job();
    WITNESS.replace(None);
    result
}

impl Memories {
    /// The region behind a memory, which is one of ours.
    pub(crate) fn region(&self, store: impl AsContext, memory: Memory) -> Result<Arc<Region>> {
        let base = memory.data_ptr(store) as usize;
        let region = self.regions.lock().expect("no panic while held").get(&base).and_then(Weak::upgrade);
        region.context("every linear memory is one of ours")
    }

    /// The region behind the memory that an instance exports.
    pub(crate) fn exported(
        &self,
        mut store: impl AsContextMut,
        instance: &Instance,
        export: &str,
    ) -> Result<Arc<Region>> {
        let memory = instance.get_memory(&mut store, export).context("the rewriter exports every memory")?;
        self.region(&store, memory)
    }
}

// SAFETY: regions are zero-filled, reserve what was asked for, and are guarded.
unsafe impl MemoryCreator for Memories {
    fn new_memory(
        &self,
        _ty: MemoryType,
        minimum: usize,
        maximum: Option<usize>,
        reserved_size_in_bytes: Option<usize>,
        guard_size_in_bytes: usize,
    ) -> std::result::Result<Box<dyn LinearMemory>, String> {
        let reserved = reserved_size_in_bytes.unwrap_or(0);
        let region = Region::new(minimum, maximum, reserved, guard_size_in_bytes)
            .map_err(|error| format!("failed to reserve address space for a linear memory: {error}"))?;
        let region = Arc::new(region);
        WITNESS.with_borrow(|witness| {
            if let Some(witness) = witness {
                witness(&region);
            }
        });
        let mut regions = self.regions.lock().expect("no panic while held");
        regions.retain(|_, region| region.strong_count() > 0);
        regions.insert(region.base() as usize, Arc::downgrade(&region));
        Ok(Box::new(Handle(region)))
    }
}
