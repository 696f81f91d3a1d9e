//! The functions by which a program has its memory, by their names: most programs export none of them.

use crate::settings::AllocatorKind;

/// Allocators: what they take, what allocates a block, and what frees it. If a module has several the first is called:
/// C's before those that it may be made of.
const ALLOCATORS: [(AllocatorKind, [&str; 2]); 6] = [
    (AllocatorKind::C, ["malloc", "free"]),
    (AllocatorKind::C, ["c.malloc.malloc", "c.malloc.free"]),
    (AllocatorKind::C, ["dlmalloc", "dlfree"]),
    (AllocatorKind::Rust, ["__rust_alloc", "__rust_dealloc"]),
    (AllocatorKind::Zig, ["heap.BrkAllocator.alloc", "heap.BrkAllocator.free"]),
    (AllocatorKind::Zig, ["heap.WasmAllocator.alloc", "heap.WasmAllocator.free"]),
];

/// Functions of a module that have names of an allocator's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found([[Option<u32>; 2]; ALLOCATORS.len()]);

impl Found {
    /// Takes a function's name. Of several with the same one the first counts.
    pub(super) fn add(&mut self, index: u32, name: &str) {
        for (found, (_, names)) in self.0.iter_mut().zip(ALLOCATORS) {
            for (found, function) in found.iter_mut().zip(names) {
                if found.is_none() && is_named(function, name) {
                    *found = Some(index);
                }
            }
        }
    }

    /// What allocates a block and what frees it, and what these take, if the module has both.
    pub(crate) fn pair(&self) -> Option<(AllocatorKind, [u32; 2])> {
        let mut pairs = self.0.iter().zip(ALLOCATORS);
        pairs.find_map(|(&[allocate, free], (kind, _))| Some((kind, [allocate?, free?])))
    }
}

/// Whether a function's name in a module is this one, which may be a Rust path's end there.
fn is_named(function: &str, name: &str) -> bool {
    name == function
        || function.starts_with("__rust")
            && name.contains(function)
            && format!("{:#}", rustc_demangle::demangle(name)).rsplit("::").next() == Some(function)
}
