//! Checks of values: `fbx_check_NAME(ptr, len)`, the second half of a property in two parts.
//!
//! The input is the value, in the encoding in which the guest gave it away. It lies where the guest's own
//! `fbx_alloc(len)` says, because the check takes it over as a block of its allocator.

use crate::sandbox::entry::binding::{Binding, copy_in};
use crate::sandbox::entry::{PROPERTY_ALLOC, PROPERTY_CHECK};
use crate::sandbox::imports::host::Host;
use crate::sandbox::memory::Region;
use crate::sandbox::source::interface::Interface;
use anyhow::{Context, Result};
use std::sync::Arc;
use wasmparser::{FuncType, ValType};
use wasmtime::{Instance, Store, TypedFunc};

/// Whether an export with this name and type checks values, in a module that can be given one.
pub(crate) fn is_check(interface: &Interface, name: &str, ty: &FuncType) -> bool {
    let is = |ty: &FuncType, params: usize, results: usize| {
        let numbers = ty.params().iter().chain(ty.results()).all(|&ty| ty == ValType::I32);
        numbers && ty.params().len() == params && ty.results().len() == results
    };
    let alloc = interface.function(PROPERTY_ALLOC);
    name.starts_with(PROPERTY_CHECK) && is(ty, 2, 0) && alloc.is_some_and(|alloc| is(alloc, 1, 1))
}

/// A check, bound to an instance.
pub(crate) struct CheckCall {
    function: TypedFunc<(u32, u32), ()>,
    alloc: TypedFunc<u32, u32>,
    region: Arc<Region>,
}

impl CheckCall {
    pub(crate) fn bind(binding: &Binding<'_>, store: &mut Store<Host>, instance: &Instance) -> Result<Self> {
        let function = instance.get_typed_func(&mut *store, binding.entry.export())?;
        let alloc = instance.get_typed_func(&mut *store, PROPERTY_ALLOC)?;
        let first = binding.exported.first();
        let named = instance.get_memory(&mut *store, "memory");
        let memory = named.or_else(|| instance.get_memory(&mut *store, first?));
        let memory = memory.context("the check takes a pointer, but the module has no memory")?;
        Ok(Self { function, alloc, region: binding.memories.region(&*store, memory)? })
    }

    /// Checks a value, `enter` before anything else.
    pub(crate) fn run(&self, store: &mut Store<Host>, value: &[u8], enter: impl FnOnce()) -> wasmtime::Result<()> {
        store.data_mut().wasi.reset(&[]);
        enter();
        let len = value.len() as u32;
        let at = self.alloc.call(&mut *store, len)?;
        copy_in(&self.region, at, value)?;
        self.function.call(store, (at, len))
    }
}
