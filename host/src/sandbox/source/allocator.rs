//! The functions by which a program has its memory, by their names: most programs export none of them.

/// What the functions of an allocator take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `malloc(size)` and `free(block)`.
    C,
    /// `__rust_alloc(size, alignment)` and `__rust_dealloc(block, size, alignment)`.
    Rust,
    /// Zig's, of which nothing but the type tells an instance from another: `alloc(self, size, alignment, caller)` and
    /// `free(self, block, size, alignment, caller)`, where the alignment is a logarithm.
    Zig,
}

/// Allocators: what they take, what allocates a block, and what frees it. Which of these are called, if a module has
/// several: C's before those that it may be made of.
pub(crate) const ALLOCATORS: [(Kind, [&str; 2]); 6] = [
    (Kind::C, ["malloc", "free"]),
    (Kind::C, ["c.malloc.malloc", "c.malloc.free"]),
    (Kind::C, ["dlmalloc", "dlfree"]),
    (Kind::Rust, ["__rust_alloc", "__rust_dealloc"]),
    (Kind::Zig, ["heap.BrkAllocator.alloc", "heap.BrkAllocator.free"]),
    (Kind::Zig, ["heap.WasmAllocator.alloc", "heap.WasmAllocator.free"]),
];

/// All of their functions.
pub(crate) fn functions() -> impl Iterator<Item = &'static str> {
    ALLOCATORS.iter().flat_map(|(_, functions)| *functions)
}

/// Whether a function's name in a module is this one, which may be a Rust path's end there.
pub(crate) fn is_named(function: &str, name: &str) -> bool {
    name == function
        || function.starts_with("__rust")
            && name.contains(function)
            && format!("{:#}", rustc_demangle::demangle(name)).rsplit("::").next() == Some(function)
}
