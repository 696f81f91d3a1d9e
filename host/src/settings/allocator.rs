//! Which allocator the heap is grown by.

use serde::{Deserialize, Serialize};

/// The allocator that is made to take memory before the first execution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Allocator {
    /// The one that is exported, as `malloc` and `free` or as `realloc`. That is also what stored settings without it
    /// mean.
    #[default]
    Exported,
    /// The exported one, or one that is known by the names of its functions. In stored settings it is written out which
    /// that is: names are no part of what a module is known by.
    Named,
    /// That of these functions, by their indices in the module.
    Functions {
        /// What they take.
        kind: AllocatorKind,
        /// What allocates a block.
        allocate: u32,
        /// What frees it.
        free: u32,
    },
}

/// What the functions of an allocator take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AllocatorKind {
    /// `malloc(size)` and `free(block)`.
    C,
    /// `__rust_alloc(size, alignment)` and `__rust_dealloc(block, size, alignment)`.
    Rust,
    /// Zig's, of which nothing but the type tells an instance from another: `alloc(self, size, alignment, caller)` and
    /// `free(self, block, size, alignment, caller)`, where the alignment is a logarithm.
    Zig,
}
