//! The allocator of a program in C, and of most others, asked for memory from outside.

use crate::sandbox::imports::host::Host;
use crate::sandbox::source::interface::Interface;
use wasmtime::{Instance, Store, TypedFunc};

/// Whether a module exports an allocator.
pub(super) fn is_exported(interface: &Interface) -> bool {
    let exports = |name: &str| interface.function(name).is_some();
    exports("malloc") && exports("free") || exports("realloc")
}

/// The smallest block that is allocated, in bytes: below, sizes make no difference to most allocators.
const BLOCK_BYTES_MIN: u32 = 16;

/// A page of WebAssembly.
const PAGE_BYTES: u32 = 64 << 10;

/// What fits in one with what an allocator writes beside it.
const PAGE_BLOCK_BYTES: u32 = 60 << 10;

/// Lets the guest's allocator take so much memory, or nearly: blocks are allocated, and given back when all of them are
/// there. For an allocator that cuts up what it has one block would do. One that keeps memory for each size apart, as
/// Zig's does, has some for every size then: a half is blocks that fill a page, from which it cuts small ones, and of
/// the other half two are a quarter of it, two an eighth and so on. Tells whether it had any; `None` if the guest
/// failed in between.
pub(super) fn grow(store: &mut Store<Host>, instance: &Instance, bytes: u32) -> Option<bool> {
    let Some(allocator) = Allocator::of(store, instance) else { return Some(false) };
    let first = (bytes / 8).max(1);
    let halves = std::iter::successors(Some(first), |&size| Some(size / 2));
    let sizes = halves.take_while(|&size| size >= first.min(BLOCK_BYTES_MIN)).flat_map(|size| [size; 2]);
    let pages = std::iter::repeat_n(PAGE_BLOCK_BYTES, (bytes / 2 / PAGE_BYTES) as usize);
    let mut blocks = Vec::new();
    for size in sizes.chain(pages) {
        match allocator.allocate(store, size).ok()? {
            0 => break,
            block => blocks.push(block),
        }
    }
    let had_any = !blocks.is_empty();
    blocks.into_iter().rev().try_for_each(|block| allocator.free(store, block)).ok()?;
    Some(had_any)
}

/// An allocator's functions, as C knows them.
enum Allocator {
    /// `malloc` and `free`.
    Narrow(TypedFunc<u32, u32>, TypedFunc<u32, ()>),
    /// The same with addresses of 64 bits.
    Wide(TypedFunc<u64, u64>, TypedFunc<u64, ()>),
    /// `realloc`, which does both.
    Realloc(TypedFunc<(u32, u32), u32>),
}

impl Allocator {
    fn of(store: &mut Store<Host>, instance: &Instance) -> Option<Self> {
        let narrow = instance.get_typed_func(&mut *store, "malloc").ok();
        let narrow = narrow.zip(instance.get_typed_func(&mut *store, "free").ok());
        if let Some((malloc, free)) = narrow {
            return Some(Self::Narrow(malloc, free));
        }
        let wide = instance.get_typed_func(&mut *store, "malloc").ok();
        let wide = wide.zip(instance.get_typed_func(&mut *store, "free").ok());
        if let Some((malloc, free)) = wide {
            return Some(Self::Wide(malloc, free));
        }
        instance.get_typed_func(store, "realloc").ok().map(Self::Realloc)
    }

    /// A block's address; 0 if there is none.
    fn allocate(&self, store: &mut Store<Host>, bytes: u32) -> wasmtime::Result<u64> {
        match self {
            Self::Narrow(malloc, _) => malloc.call(store, bytes).map(u64::from),
            Self::Wide(malloc, _) => malloc.call(store, bytes.into()),
            Self::Realloc(realloc) => realloc.call(store, (0, bytes)).map(u64::from),
        }
    }

    fn free(&self, store: &mut Store<Host>, block: u64) -> wasmtime::Result<()> {
        let narrow = u32::try_from(block);
        match self {
            Self::Narrow(_, free) => free.call(store, narrow?),
            Self::Wide(_, free) => free.call(store, block),
            Self::Realloc(realloc) => realloc.call(store, (narrow?, 0)).map(drop),
        }
    }
}
