//! Functions that give and take memory. What fails in one of them before there is any input is hardly the input's
//! fault.

use super::simplify;

/// Names of C's, of what they are made of in wasi-libc and Emscripten, and of Go's.
const NAMES: [&str; 20] = [
    "malloc",
    "calloc",
    "realloc",
    "free",
    "aligned_alloc",
    "posix_memalign",
    "memalign",
    "sbrk",
    "__sbrk",
    "dlmalloc",
    "dlcalloc",
    "dlrealloc",
    "dlfree",
    "dlmemalign",
    "init_top",
    "sys_alloc",
    "runtime.mallocgc",
    "runtime.sbrk",
    "runtime.sysAlloc",
    "runtime.persistentalloc",
];

/// How names begin in Rust, AssemblyScript and Zig.
const BEGINNINGS: [&str; 8] = [
    "__rust_alloc",
    "__rust_realloc",
    "__rust_dealloc",
    "__rdl_",
    "__rg_",
    "dlmalloc::",
    "~lib/rt/",
    "heap.wasm_allocator",
];

/// Whether a function belongs to an allocator, by its name.
pub fn is_allocator(name: &str) -> bool {
    let is_one = |name: &str| NAMES.contains(&name) || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning));
    is_one(name) || is_one(&simplify(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocators_of_all_languages_are_known_and_nothing_else() {
        for name in [
            "malloc",
            "dlmalloc",
            "__rust_alloc_zeroed",
            "dlmalloc::dlmalloc::Dlmalloc<A>::malloc",
            "~lib/rt/tlsf/addMemory",
            "runtime.mallocgc",
        ] {
            assert!(is_allocator(name), "{name}");
        }
        for name in ["", "main", "parse_malloc", "free_list", "abort", "~lib/string/String#concat", "runtime.gopanic"] {
            assert!(!is_allocator(name), "{name}");
        }
    }
}
