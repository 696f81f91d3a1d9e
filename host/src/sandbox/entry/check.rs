//! Checks of values: `fbx_check_NAME(ptr, len)`, the second half of a property in two parts.
//!
//! The input is the value, in the encoding in which the guest gave it away. It lies where the guest's own
//! `fbx_alloc(len)` says, because the check takes it over as a block of its allocator.

use crate::sandbox::entry::Entry;
use crate::sandbox::entry::call::{Binding, Call, copy_in};
use crate::sandbox::entry::way::{Export, Way};
use crate::sandbox::imports::host::Host;
use crate::sandbox::memory::Region;
use crate::sandbox::source::interface::Interface;
use anyhow::{Context, Result};
use std::sync::Arc;
use wasmparser::{FuncType, ValType};
use wasmtime::{Instance, Store, TypedFunc};

/// How the names of checks of values begin.
pub(super) const PROPERTY_CHECK: &str = "fbx_check_";

/// What gives the host room for a value.
pub(super) const PROPERTY_ALLOC: &str = "fbx_alloc";

/// Whether an export with this name and type checks values, in a module that can be given one.
pub(super) fn is_check(interface: &Interface, name: &str, ty: &FuncType) -> bool {
    let is = |ty: &FuncType, params: usize, results: usize| {
        let numbers = ty.params().iter().chain(ty.results()).all(|&ty| ty == ValType::I32);
        numbers && ty.params().len() == params && ty.results().len() == results
    };
    let alloc = interface.function(PROPERTY_ALLOC);
    name.starts_with(PROPERTY_CHECK) && is(ty, 2, 0) && alloc.is_some_and(|alloc| is(alloc, 1, 1))
}

/// An export that checks values.
pub(super) fn entry(export: &Export<'_>) -> Result<Option<Entry>> {
    let is_check = is_check(export.interface, export.name, export.ty);
    Ok(is_check.then(|| Entry::new(Check { export: export.name.to_owned() })))
}

/// The check of a property in two parts: the input is the value that is checked.
#[derive(Debug)]
struct Check {
    export: String,
}

impl Way for Check {
    fn export(&self) -> &str {
        &self.export
    }

    fn what(&self) -> String {
        "(ptr, len), the check of a value".to_owned()
    }

    fn place(&self, _: bool) -> String {
        format!("a value, where `{PROPERTY_ALLOC}` says")
    }

    fn over_read(&self, _: bool) -> &'static str {
        "not found: behind the value is other memory of the guest"
    }

    fn bind(&self, binding: Binding<'_>, store: &mut Store<Host>, instance: &Instance) -> Result<Box<dyn Call>> {
        let function = instance.get_typed_func(&mut *store, &self.export)?;
        let alloc = instance.get_typed_func(&mut *store, PROPERTY_ALLOC)?;
        let first = binding.exported.first();
        let named = instance.get_memory(&mut *store, "memory");
        let memory = named.or_else(|| instance.get_memory(&mut *store, first?));
        let memory = memory.context("the check takes a pointer, but the module has no memory")?;
        Ok(Box::new(CheckCall { function, alloc, region: binding.memories.region(&*store, memory)? }))
    }
}

/// A check, bound to an instance.
struct CheckCall {
    function: TypedFunc<(u32, u32), ()>,
    alloc: TypedFunc<u32, u32>,
    region: Arc<Region>,
}

impl Call for CheckCall {
    fn run(&mut self, store: &mut Store<Host>, value: &[u8], enter: &dyn Fn()) -> wasmtime::Result<i32> {
        store.data_mut().wasi.reset(&[]);
        enter();
        let len = value.len() as u32;
        let at = self.alloc.call(&mut *store, len)?;
        copy_in(&self.region, at, value)?;
        self.function.call(store, (at, len)).map(|()| 0)
    }
}
