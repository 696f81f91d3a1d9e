//! The allocator of a program in C, and of most others, asked for memory from outside.

use crate::sandbox::imports::host::Host;
use crate::sandbox::source::interface::Interface;
use wasmtime::{Instance, Store};

/// Whether a module exports an allocator.
pub(super) fn is_exported(interface: &Interface) -> bool {
    let exports = |name: &str| interface.function(name).is_some();
    exports("malloc") && exports("free") || exports("realloc")
}

/// Lets the guest's allocator take memory: one block is allocated and given back. Tells whether it was; `None` if the
/// guest failed in between.
pub(super) fn grow(store: &mut Store<Host>, instance: &Instance, bytes: u32) -> Option<bool> {
    let allocated = if let (Ok(malloc), Ok(free)) = (
        instance.get_typed_func::<i32, i32>(&mut *store, "malloc"),
        instance.get_typed_func::<i32, ()>(&mut *store, "free"),
    ) {
        malloc.call(&mut *store, bytes.cast_signed()).and_then(|block| match block {
            0 => Ok(false),
            block => free.call(&mut *store, block).map(|()| true),
        })
    } else if let (Ok(malloc), Ok(free)) = (
        instance.get_typed_func::<i64, i64>(&mut *store, "malloc"),
        instance.get_typed_func::<i64, ()>(&mut *store, "free"),
    ) {
        malloc.call(&mut *store, i64::from(bytes)).and_then(|block| match block {
            0 => Ok(false),
            block => free.call(&mut *store, block).map(|()| true),
        })
    } else if let Ok(realloc) = instance.get_typed_func::<(i32, i32), i32>(&mut *store, "realloc") {
        realloc.call(&mut *store, (0, bytes.cast_signed())).and_then(|block| match block {
            0 => Ok(false),
            block => realloc.call(&mut *store, (block, 0)).map(|_| true),
        })
    } else {
        Ok(false)
    };
    allocated.ok()
}
