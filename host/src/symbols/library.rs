//! Whose a function is: the user's, or that of a library that comes with a language.
//!
//! By its file where debug information names one, else by its name. What a program's author has chosen and can mend is
//! the user's: crates and packages of others too, because it is often these that are fuzzed. Everything here is a list
//! of conventions, and decides only what is shown first.

use super::simplify;

/// What begins the paths of libraries, or stands in them behind a `/`.
const FILES: [&str; 40] = [
    // Rust: as rustup's are built, as Debian's are, and what they are built with.
    "rustc/",
    "library/core/src/",
    "library/std/src/",
    "library/alloc/src/",
    "library/panic_abort/src/",
    "library/panic_unwind/src/",
    "library/portable-simd/",
    "library/compiler-builtins/",
    "rust/deps/",
    "rustlib/src/rust/",
    "dlmalloc-0",
    // C: wasi-libc, and Emscripten's.
    "wasi-libc/",
    "libc-top-half/",
    "libc-bottom-half/",
    "dlmalloc/src/",
    "emmalloc/",
    "system/lib/libc/",
    "system/lib/dlmalloc.c",
    "system/lib/compiler-rt/",
    "wasi-sysroot/include/",
    // C++.
    "c++/v1/",
    "libcxx/",
    "libcxxabi/",
    "libunwind/",
    "compiler-rt/lib/",
    // Go: what has no dot in it before the first `/` is Go's own.
    "go/src/runtime/",
    "go/src/internal/",
    "go/src/syscall/",
    "go/src/sync/",
    "go/src/reflect/",
    "go/src/os/",
    "go/src/fmt/",
    "go/src/encoding/",
    "go/src/strings/",
    // Zig, and AssemblyScript.
    "lib/std/",
    "lib/compiler_rt/",
    "~lib/",
    // Ours.
    "guest-sdk/src/",
    "guest-sdk/c/",
    "fuzzbox_guest/",
];

/// Files without a folder that libraries have: the compiler says no more.
const FILE_NAMES: [&str; 3] = ["fuzzbox.h", "fuzzbox.zig", "compiler_rt.zig"];

/// What begins the names of functions of libraries, simplified.
const PREFIXES: [&str; 48] = [
    // Rust. What a trait of theirs is implemented for begins the name of the implementation.
    "core::",
    "alloc::",
    "std::",
    "&",
    "[T]::",
    "T::",
    "str::",
    "dlmalloc::",
    "compiler_builtins::",
    "panic_abort::",
    "panic_unwind::",
    "hashbrown::",
    "rustc_demangle::",
    "addr2line::",
    "gimli::",
    "__rustc",
    // C++
    "operator new",
    "operator delete",
    "abi::",
    "vtable for",
    // What begins so is the implementation's, by C's standard.
    "__",
    "dl",
    // Go
    "runtime.",
    "runtime/",
    "internal/",
    "syscall.",
    "syscall/",
    "sync.",
    "sync/",
    "reflect.",
    "type:.",
    "wasm_export_",
    "_rt0_wasm",
    "wasm_pc_f_loop",
    "wasmexport",
    // Zig
    "debug.",
    "builtin.",
    "start.",
    "heap.",
    "mem.",
    "fmt.",
    "Io.",
    "os.",
    "posix.",
    "compiler_rt.",
    // AssemblyScript, and ours
    "~lib/",
    "~start",
    "fuzzbox_guest::",
];

/// Functions of C's library that no name tells, and what compilers and linkers add, sorted.
const NAMES: &str = "\
    _Exit _exit _initialize _start abort abort_message aligned_alloc arg_n atexit atoi atol bsearch calloc \
    copysignl environ exit fclose fflush fflush_unlocked fgets fileno finish_lock fmt_fp fmt_o fmt_u fmt_x fopen fprintf \
    fputc fputs fputs_unlocked fread free freopen frexp frexpl fseek fseeko ftell ftello fwrite fwrite_unlocked getdelim getenv \
    getline getopt hexfloat init_top internal_memalign iprintf isalnum isalpha isdigit isspace iswalpha iswdigit iswspace locale_init \
    long_double_not_supported lseek malloc malloc_usable_size mbrtowc mbsrtowcs mbstowcs mbtowc memalign memchr memcmp memcpy memmem \
    memmove memrchr memset pop_arg posix_memalign printf printf_core prepend_alloc putc putchar puts qsort qsort_r \
    realloc rust_begin_unwind rust_eh_personality rust_panic sbrk scalbn scalbnl scanexp segment_holding setvbuf smoothsort snprintf sn_write sprintf sscanf \
    stdio_exit strcasecmp strcat strchr strchrnul strcmp strcpy strcspn strdup strerror strerror_r strlen strncasecmp strncat strncmp \
    strncpy strndup strnlen strpbrk strrchr strspn strstr strtod strtof strtok strtol strtoll strtoul strtoull strtox swprintf \
    sys_trim tmalloc_large tmalloc_small tolower toupper try_realloc_chunk twoway_strstr undefined_weak:main ungetc vfprintf vprintf vsnprintf \
    vsprintf vsscanf wcrtomb wcslen wcsnlen wcsrtombs wcstombs wctomb wmemchr";

/// Whether a function is a library's. `function` is its demangled name, `file` where its source is.
pub fn is_library(function: &str, file: Option<&str>) -> bool {
    if let Some(file) = file {
        let file = file.replace('\\', "/");
        let name = file.rsplit('/').next().unwrap_or(&file);
        // Without a folder, it may be anybody's.
        let begins = |folder: &str| file.starts_with(folder) || file.contains(&format!("/{folder}"));
        return FILES.iter().any(|folder| begins(folder))
            || FILE_NAMES.contains(&name) && (name.starts_with("fuzzbox") || !file.contains('/'));
    }
    let name = simplify(function);
    is_library_name(&name)
}

fn is_library_name(name: &str) -> bool {
    /// The program's own, whatever linkers call it.
    const MAIN: [&str; 3] = ["__original_main", "__main_argc_argv", "__main_void"];
    // `dl` alone begins many a name: it is that of an allocator's function, or none.
    let begins = |prefix: &&str| match *prefix {
        "dl" => name.strip_prefix("dl").is_some_and(|rest| NAMES.split(' ').any(|known| known == rest)),
        prefix => name.starts_with(prefix),
    };
    !MAIN.contains(&name) && (PREFIXES.iter().any(begins) || NAMES.split_whitespace().any(|known| known == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_tell_whose_a_function_is() {
        let libraries = [
            "/rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/core/src/option.rs",
            "/usr/src/rustc-1.63.0/library/std/src/panicking.rs",
            "library/alloc/src/vec/mod.rs",
            "/rust/deps/dlmalloc-0.2.11/src/dlmalloc.rs",
            "dlmalloc/src/malloc.c",
            "/build/wasi-libc/libc-top-half/musl/src/stdio/fwrite.c",
            "/usr/include/wasm32-wasi/c++/v1/vector",
            "/usr/local/go/src/runtime/panic.go",
            "/opt/zig/lib/std/debug.zig",
            "~lib/rt/tlsf.ts",
            "../guest-sdk/src/native/case.rs",
        ];
        for file in libraries {
            assert!(is_library("f", Some(file)), "{file}");
        }
        let own = [
            "src/lib.rs",
            "/home/u/project/src/main.rs",
            "/root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/toml_edit-0.22.0/src/parser.rs",
            "my_library/core.c",
            "fuzz/harness.cc",
            "main.go",
            "assembly/index.ts",
            "std.zig",
        ];
        for file in own {
            assert!(!is_library("malloc", Some(file)), "{file}");
        }
    }

    #[test]
    fn names_tell_where_there_is_no_file() {
        let libraries = [
            "core::option::Option<T>::unwrap",
            "<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop",
            "<&T as core::fmt::Display>::fmt",
            "std::__2::vector<int, std::__2::allocator<int>>::at(unsigned long)",
            "dlmalloc",
            "dlfree",
            "__stdio_write",
            "hexfloat",
            "wcrtomb",
            "runtime.gopanic",
            "~lib/array/Array<i32>#__get",
        ];
        for name in libraries {
            assert!(is_library(name, None), "{name}");
        }
        let own = [
            "parse",
            "dlopen_plugin",
            "<toml::Value as core::fmt::Debug>::fmt",
            "main.main",
            "assembly/index/parse",
            "__main_void",
            "LLVMFuzzerTestOneInput",
            "func[11]",
            "json::std::f",
            "strange",
        ];
        for name in own {
            assert!(!is_library(name, None), "{name}");
        }
    }
}
