//! What ways to give an input have in common, once there is an instance.

use crate::sandbox::imports::host::Host;
use crate::sandbox::memory::{Memories, Region};
use anyhow::{Context, Result};
use std::ops::Range;
use std::sync::Arc;
use wasmtime::{Func, Instance, Store, ValRaw};

/// An entry, bound to an instance.
pub(crate) trait Call: Send + Sync {
    /// Gives the entry an input and calls it, `enter` right before. The result is -1 if the input is not to be kept.
    fn run(&mut self, store: &mut Store<Host>, input: &[u8], enter: &dyn Fn()) -> wasmtime::Result<i32>;

    /// What the last call wrote for the host, if that is what the entry does.
    fn written(&self) -> Option<Vec<u8>> {
        None
    }
}

/// What an entry is bound by, beside an instance.
pub(crate) struct Binding<'a> {
    /// Where the regions of memories are found.
    pub(crate) memories: &'a Memories,
    /// The guest's memories, by the names under which the rewriter exports them.
    pub(crate) exported: &'a [String],
    /// Where inputs lie, for those that take bytes in memory.
    pub(crate) place: Option<Place>,
}

/// Where inputs lie in linear memory.
pub(crate) struct Place {
    region: Arc<Region>,
    /// The offset at which each input ends.
    end: usize,
}

impl Place {
    /// Inputs end at offset `end` of a memory.
    pub(crate) fn new(region: Arc<Region>, end: usize) -> Self {
        Self { region, end }
    }

    /// Makes the page of the machine that begins where inputs end inaccessible to the guest.
    pub(crate) fn forbid_what_follows(&self) {
        // SAFETY: no guest runs.
        let forbidden = unsafe { self.region.forbid(self.end) };
        debug_assert!(forbidden, "memory was grown by that page");
    }

    /// The offset at which an input of `len` bytes starts.
    pub(super) fn start(&self, len: usize) -> usize {
        self.end - len
    }

    /// Writes an input, and returns where it starts.
    pub(super) fn put(&self, input: &[u8]) -> usize {
        let start = self.start(input.len());
        self.put_at(start, input);
        start
    }

    /// Writes bytes that end no later than inputs do.
    pub(super) fn put_at(&self, start: usize, bytes: &[u8]) {
        // SAFETY: no guest runs.
        unsafe { self.region.write(start, bytes) };
    }

    /// Bytes that end no later than inputs do.
    pub(super) fn bytes(&self, part: Range<usize>) -> &[u8] {
        // SAFETY: no guest runs.
        unsafe { self.region.annex_part(part) }
    }
}

/// A function of any type whose parameters are numbers. Its results are of no interest.
pub(super) struct Raw {
    function: Func,
    /// Parameters, of which the first call's results take the place.
    pub(super) values: Box<[ValRaw]>,
}

impl Raw {
    /// An export that was found before.
    pub(super) fn of_export(store: &mut Store<Host>, instance: &Instance, export: &str) -> Result<Self> {
        let function = instance.get_func(&mut *store, export).context("the entry was found before")?;
        Ok(Self::new(store, function))
    }

    pub(super) fn new(store: &Store<Host>, function: Func) -> Self {
        let ty = function.ty(store);
        let values = vec![ValRaw::u32(0); ty.params().len().max(ty.results().len())];
        Self { function, values: values.into() }
    }

    /// Calls with the present values as parameters. Whatever it returns is nothing: 0.
    pub(super) fn call(&mut self, store: &mut Store<Host>) -> wasmtime::Result<i32> {
        // SAFETY: `values` has room for the parameters and for the results, and whoever fills it does so by the
        // function's own type, all of whose parameters are numbers. Results, which may be references, are never read.
        unsafe { self.function.call_unchecked(store, &raw mut *self.values) }.map(|()| 0)
    }
}

impl Raw {
    /// What the last call returned, of a function that returns an i32 and nothing else.
    pub(super) fn result(&self) -> i32 {
        self.values[0].get_i32()
    }
}

/// Copies bytes to where the guest wants them, while none of its code runs; if they have no room there, that is its
/// failure.
pub(super) fn copy_in(region: &Region, at: u32, bytes: &[u8]) -> wasmtime::Result<()> {
    let end = (at as usize).checked_add(bytes.len());
    if end.is_none_or(|end| end > region.size()) {
        return Err(wasmtime::Trap::MemoryOutOfBounds.into());
    }
    // SAFETY: no guest runs.
    unsafe { region.write(at as usize, bytes) };
    Ok(())
}
