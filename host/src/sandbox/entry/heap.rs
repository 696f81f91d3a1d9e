//! The program's allocator, asked for memory from outside.

use crate::sandbox::code::variant::{ALLOCATE, FREE};
use crate::sandbox::imports::host::Host;
use crate::sandbox::source::interface::Interface;
use crate::settings::{Allocator, AllocatorKind as Kind};
use anyhow::{Result, ensure};
use fuzzbox_instrument::Injected;
use wasmtime::{Instance, Store, TypedFunc};

/// Whether the heap of a module can be grown by the allocator that is meant.
pub(super) fn is_there(interface: &Interface, allocator: Allocator) -> bool {
    match allocator {
        Allocator::Exported => is_exported(interface),
        Allocator::Named => is_exported(interface) || interface.allocators.pair().is_some(),
        Allocator::Functions { .. } => true,
    }
}

fn is_exported(interface: &Interface) -> bool {
    let exports = |name: &str| interface.function(name).is_some();
    exports("malloc") && exports("free") || exports("realloc")
}

/// The allocator of a module that is meant, written out.
///
/// # Errors
///
/// If it is functions which the module doesn't have.
pub(in crate::sandbox) fn written_out(interface: &Interface, allocator: Allocator) -> Result<Allocator> {
    match allocator {
        Allocator::Named if !is_exported(interface) => Ok(match interface.allocators.pair() {
            Some((kind, [allocate, free])) => Allocator::Functions { kind, allocate, free },
            None => Allocator::Exported,
        }),
        Allocator::Named => Ok(Allocator::Exported),
        Allocator::Functions { allocate, free, .. } => {
            let last = allocate.max(free);
            ensure!(last < interface.functions_total, "its allocator has function {last}, which the module has not");
            Ok(allocator)
        }
        Allocator::Exported => Ok(allocator),
    }
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
pub(super) fn grow(
    store: &mut Store<Host>,
    instance: &Instance,
    (allocator, injected): (Allocator, &Injected),
    bytes: u32,
) -> Option<bool> {
    let Some(allocator) = Functions::of(store, instance, allocator, injected) else { return Some(false) };
    let first = (bytes / 8).max(1);
    let halves = std::iter::successors(Some(first), |&size| Some(size / 2));
    let sizes = halves.take_while(|&size| size >= first.min(BLOCK_BYTES_MIN)).flat_map(|size| [size; 2]);
    let pages = std::iter::repeat_n(PAGE_BLOCK_BYTES, (bytes / 2 / PAGE_BYTES) as usize);
    let mut blocks = Vec::new();
    for size in sizes.chain(pages) {
        match allocator.allocate(store, size).ok()? {
            0 => break,
            block => blocks.push((block, size)),
        }
    }
    let had_any = !blocks.is_empty();
    blocks.into_iter().rev().try_for_each(|block| allocator.free(store, block)).ok()?;
    Some(had_any)
}

/// An allocator's functions.
enum Functions {
    /// `malloc` and `free`.
    Narrow(TypedFunc<u32, u32>, TypedFunc<u32, ()>),
    /// The same with addresses of 64 bits.
    Wide(TypedFunc<u64, u64>, TypedFunc<u64, ()>),
    /// `realloc`, which does both.
    Realloc(TypedFunc<(u32, u32), u32>),
    Rust(TypedFunc<(u32, u32), u32>, TypedFunc<(u32, u32, u32), ()>),
    Zig(TypedFunc<(u32, u32, u32, u32), u32>, TypedFunc<(u32, u32, u32, u32, u32), ()>),
}

/// A logarithm of it.
const ALIGNMENT_LOG: u32 = 3;
const ALIGNMENT: u32 = 1 << ALIGNMENT_LOG;

impl Functions {
    fn of(store: &mut Store<Host>, instance: &Instance, allocator: Allocator, injected: &Injected) -> Option<Self> {
        if let Allocator::Functions { kind, .. } = allocator {
            let [allocate, free] = [ALLOCATE, FREE].map(|called| injected.callable.get(called));
            return Self::pair(store, instance, kind, [&allocate?.1, &free?.1]);
        }
        let exported = Self::pair(store, instance, Kind::C, ["malloc", "free"]);
        exported.or_else(|| instance.get_typed_func(&mut *store, "realloc").ok().map(Self::Realloc))
    }

    /// What these exports are, if they are functions of such an allocator.
    fn pair(store: &mut Store<Host>, instance: &Instance, kind: Kind, [allocate, free]: [&str; 2]) -> Option<Self> {
        let mut function = |name: &str| instance.get_func(&mut *store, name);
        let (allocate, free) = (function(allocate)?, function(free)?);
        let narrow = || Some(Self::Narrow(allocate.typed(&*store).ok()?, free.typed(&*store).ok()?));
        let wide = || Some(Self::Wide(allocate.typed(&*store).ok()?, free.typed(&*store).ok()?));
        match kind {
            Kind::C => narrow().or_else(wide),
            Kind::Rust => Some(Self::Rust(allocate.typed(&*store).ok()?, free.typed(&*store).ok()?)),
            Kind::Zig => Some(Self::Zig(allocate.typed(&*store).ok()?, free.typed(&*store).ok()?)),
        }
    }

    /// A block's address; 0 if there is none.
    fn allocate(&self, store: &mut Store<Host>, bytes: u32) -> wasmtime::Result<u64> {
        match self {
            Self::Narrow(malloc, _) => malloc.call(store, bytes).map(u64::from),
            Self::Wide(malloc, _) => malloc.call(store, bytes.into()),
            Self::Realloc(realloc) => realloc.call(store, (0, bytes)).map(u64::from),
            Self::Rust(allocate, _) => allocate.call(store, (bytes, ALIGNMENT)).map(u64::from),
            Self::Zig(allocate, _) => allocate.call(store, (0, bytes, ALIGNMENT_LOG, 0)).map(u64::from),
        }
    }

    fn free(&self, store: &mut Store<Host>, (block, bytes): (u64, u32)) -> wasmtime::Result<()> {
        let narrow = u32::try_from(block);
        match self {
            Self::Narrow(_, free) => free.call(store, narrow?),
            Self::Wide(_, free) => free.call(store, block),
            Self::Realloc(realloc) => realloc.call(store, (narrow?, 0)).map(drop),
            Self::Rust(_, free) => free.call(store, (narrow?, bytes, ALIGNMENT)),
            Self::Zig(_, free) => free.call(store, (0, narrow?, bytes, ALIGNMENT_LOG, 0)),
        }
    }
}
