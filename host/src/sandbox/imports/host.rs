//! What belongs to one instance on the host's side: WASI's state, the limits, and the frames that an execution left.

use crate::sandbox::limits::TABLE_ELEMENTS_MAX;
use crate::sandbox::memory::Region;
use crate::sandbox::messages::ImportCall;
use crate::sandbox::wasi::{Wasi, WasiConfig};
use fuzzbox_instrument::{LeftFrame, layout};
use std::fmt;
use std::num::NonZeroU64;
use std::sync::Arc;
use wasmtime::{Memory, ResourceLimiter};

/// What looking at one frame for references costs, in units of fuel.
const FRAME_WORK: i64 = 640;
/// Frames that are not counted.
const FRAMES_BESIDE: i64 = 64;

/// The host's side of one instance: the data of its store.
pub(crate) struct Host {
    pub(crate) wasi: Wasi,
    /// The memory that WASI's pointers mean: the instance's export `memory`.
    pub(crate) memory: Option<Memory>,
    pub(crate) limits: Limits,
    /// What was live when the guest ended itself, in variants whose traps don't tell.
    pub(crate) frames: Frames,
    /// The guest called `fuzzbox_v1.snapshot_here`.
    pub(crate) asked_for_snapshot: bool,
    /// What the guest gave to an import that ended the execution.
    pub(crate) given: Option<ImportCall>,
    /// What grows is an annex, which is not the guest's.
    pub(crate) makes_annex: bool,
    /// There was a snapshot: what is executed has an input.
    pub(crate) has_input: bool,
    /// Functions of the guest's that are live inside of functions of the host's.
    pub(crate) nested: u32,
    /// The injected memory, if there is fuel in it.
    pub(crate) fuel: Option<Arc<Region>>,
    /// What `LLVMFuzzerMutate` does, and how often it was called in an execution, with what that began with.
    pub(crate) mutate: Option<MutateBytes>,
    pub(crate) mutations: u64,
    /// What it does in the place of that.
    pub(crate) inner: Inner,
}

impl Host {
    /// For a store in which nothing is executed.
    pub(crate) fn nothing() -> Self {
        Self::new(Wasi::new(WasiConfig::default()), Limits::new(0, 0))
    }

    /// The state of an instance that was not made yet.
    pub(crate) fn new(wasi: Wasi, limits: Limits) -> Self {
        let frames = Frames::default();
        Self {
            wasi,
            memory: None,
            limits,
            frames,
            asked_for_snapshot: false,
            given: None,
            makes_annex: false,
            has_input: false,
            nested: 0,
            fuel: None,
            mutate: None,
            mutations: 0,
            inner: Inner::Mutated,
        }
    }

    /// Charges for what follows a growth that was refused: if it is the heap of collected objects that can't grow, all
    /// frames are looked at for references, with each allocation if next to nothing is free. (Where less than half of
    /// it is in use, objects are collected before growth is asked for; then there is enough to be allocated until the
    /// next time.)
    fn charge_collection(&self) {
        let Some(fuel) = &self.fuel else { return };
        // SAFETY: growth is asked for by the guest's code, which has entered a function and so written both.
        unsafe {
            let calls = i64::from(fuel.load_inside(layout::CALLS as usize));
            fuel.take_inside(layout::FUEL as usize, (calls + FRAMES_BESIDE) * FRAME_WORK);
        }
    }
}

/// What becomes of the bytes that a custom mutator gives to `LLVMFuzzerMutate`: of what is compressed or signed, what
/// is inside.
#[derive(Debug)]
pub(crate) enum Inner {
    /// They are mutated.
    Mutated,
    /// They stay; the first ones are noted.
    Noted(Option<Vec<u8>>),
    /// The first ones are replaced by these, and all others stay.
    Replaced(Option<Vec<u8>>),
}

/// Changes bytes in place, as fuzzers do: given are what may be changed, its length at most, and a seed.
#[derive(Clone)]
pub struct MutateBytes(Arc<Change>);

type Change = dyn Fn(&mut Vec<u8>, usize, u64) + Send + Sync;

impl MutateBytes {
    /// By this function, whose result is to depend on nothing else.
    pub fn new(change: impl Fn(&mut Vec<u8>, usize, u64) + Send + Sync + 'static) -> Self {
        Self(Arc::new(change))
    }

    pub(crate) fn change(&self, bytes: &mut Vec<u8>, len_max: usize, seed: u64) {
        (self.0)(bytes, len_max, seed);
    }
}

impl fmt::Debug for MutateBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MutateBytes")
    }
}

/// Limits on growth, and what they did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The sum of all linear memories, the injected one included, in bytes.
    bytes: usize,
    bytes_max: usize,
    /// The sum of all tables, those that the rewriter adds included.
    elements: usize,
    elements_max: usize,
    /// A growth was refused by our limit (not by the guest's own maximum).
    pub(crate) refused: bool,
    /// The host could not give memory that the limits allow: not the guest's fault.
    pub(crate) host_failed: bool,
}

impl Limits {
    /// The sum of all linear memories, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Allows `bytes_max` bytes of linear memory in all, and so many tables of one element beside the guest's.
    pub(crate) fn new(bytes_max: usize, added_tables: usize) -> Self {
        let elements_max = TABLE_ELEMENTS_MAX + added_tables;
        Self { bytes: 0, bytes_max, elements: 0, elements_max, refused: false, host_failed: false }
    }
}

impl ResourceLimiter for Host {
    fn memory_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        if self.makes_annex {
            return Ok(true);
        }
        if maximum.is_some_and(|maximum| desired > maximum) {
            // The guest's own maximum; wasmtime refuses it right after this.
            return Ok(false);
        }
        let limits = &mut self.limits;
        let bytes = limits.bytes.saturating_add(desired - current);
        limits.refused |= bytes > limits.bytes_max;
        if bytes <= limits.bytes_max {
            limits.bytes = bytes;
            return Ok(true);
        }
        self.charge_collection();
        Ok(false)
    }

    fn memory_grow_failed(&mut self, error: wasmtime::Error) -> wasmtime::Result<()> {
        // Only our own linear memories fail with an I/O error; everything else is a limit of the memory's type.
        self.limits.host_failed |= error.is::<std::io::Error>();
        Ok(())
    }

    fn table_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        let elements = self.limits.elements.saturating_add(desired.saturating_sub(current));
        let fits = elements <= self.limits.elements_max && maximum.is_none_or(|maximum| desired <= maximum);
        if fits {
            self.limits.elements = elements;
        }
        Ok(fits)
    }
}

/// The frames of the guest that were live when a host function ended it, which are the innermost. They count, since
/// what has entered them never left.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    /// Whether counts depend on them.
    pub(crate) count: bool,
    /// At most [`Frames::MAX`], sorted.
    pub(crate) left: Vec<LeftFrame>,
    /// A hash over them from the innermost outwards, if all are known.
    pub(crate) key: Option<NonZeroU64>,
    /// There were more, or some without offset.
    pub(crate) cut: bool,
}

impl Frames {
    /// As many as wasmtime looks at where its settings say that traps need none.
    pub(crate) const MAX: usize = 20;

    pub(crate) fn clear(&mut self) {
        self.left.clear();
        self.key = None;
        self.cut = false;
    }
}
