//! Functions by which programs start and fail, in the conventions of each language's runtime. All by their simplified
//! names.

/// Functions that are part of how programs fail.
const FAILURE_NAMES: [&str; 42] = [
    // C
    "abort",
    "_abort",
    "__abort",
    "abort_message",
    "__abort_message",
    "__assert",
    "__assert_fail",
    "__assert_func",
    "__assert_rtn",
    "raise",
    "__stack_chk_fail",
    "__stack_chk_fail_local",
    "__trap",
    "exit",
    "_exit",
    "_Exit",
    "__wasi_proc_exit",
    "__imported_wasi_snapshot_preview1_proc_exit",
    "proc_exit",
    // C++
    "std::terminate",
    "std::__terminate",
    "std::unexpected",
    "std::__unexpected",
    "std::rethrow_exception",
    "std::__libcpp_verbose_abort",
    "__libcpp_verbose_abort",
    "__clang_call_terminate",
    "demangling_terminate_handler",
    "demangling_unexpected_handler",
    // Rust
    "rust_panic",
    "rust_begin_unwind",
    "std::process::abort",
    "std::process::exit",
    "core::intrinsics::abort",
    "std::alloc::rust_oom",
    "alloc::alloc::handle_alloc_error",
    "alloc::raw_vec::handle_error",
    "alloc::raw_vec::capacity_overflow",
    // AssemblyScript, D, Zig
    "~lib/builtins/abort",
    "_d_assert",
    "_d_assert_msg",
    "posix.abort",
];

/// What the names of such functions begin with.
const FAILURE_PREFIXES: [&str; 25] = [
    "__cxa_",
    "_Unwind_",
    "__ubsan_handle_",
    "__asan_report_",
    "rust_panic",
    "__rust_",
    "__rg_oom",
    "__rdl_oom",
    "__rustc::",
    "panic_abort::",
    "panic_unwind::",
    "core::panicking::",
    "std::panicking::",
    "std::sys::backtrace::__rust_end_short_backtrace",
    "std::sys_common::backtrace::__rust_end_short_backtrace",
    "core::slice::index::slice_",
    "core::str::slice_error_fail",
    "core::cell::panic_",
    "wasi_snapshot_preview1.proc_exit",
    "runtime.",
    "_d_arraybounds",
    "debug.panic",
    "debug.FullPanic",
    "debug.defaultPanic",
    "libfuzzer_sys::initialize",
];

/// The last parts of the names of such functions, in whatever module they are.
const FAILURE_LAST: [&str; 10] = [
    "unwrap_failed",
    "expect_failed",
    "assert_failed",
    "panic_fmt",
    "abort_internal",
    "len_mismatch_fail",
    "panic_cold_explicit",
    "panic_display",
    "handle_alloc_error",
    "default_panic",
];

/// Whether a function (by its simplified name) is part of how programs fail, rather than of why.
pub fn is_failure_machinery(name: &str) -> bool {
    let last = name.rsplit("::").next().unwrap_or(name);
    FAILURE_NAMES.contains(&name)
        || FAILURE_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || FAILURE_LAST.contains(&last)
        || last.starts_with("__throw_")
        || last.starts_with("begin_panic")
        || (last.starts_with("slice_") && (last.ends_with("_fail") || last.ends_with("_fail_rt")))
}

/// Whether a function (by its simplified name) starts programs, rather than being one.
pub(super) fn is_startup(name: &str) -> bool {
    const NAMES: [&str; 12] = [
        "_start",
        "__main_void",
        "__main_argc_argv",
        "__original_main",
        "_initialize",
        "__wasm_call_ctors",
        "undefined_weak:main",
        "rust_fuzzer_test_input",
        "lang_start",
        "_rt0_wasm_wasip1",
        "_rt0_wasm_wasip1_lib",
        "wasm_pc_f_loop",
    ];
    const PREFIXES: [&str; 7] = [
        "std::rt::lang_start",
        "std::sys::backtrace::__rust_begin_short_backtrace",
        "std::sys_common::backtrace::__rust_begin_short_backtrace",
        "core::ops::function::FnOnce::call_once",
        "libfuzzer_sys::",
        "runtime.",
        "start.",
    ];
    NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Whether a function (by its simplified name) calls what a program has set to be called when it fails: a panic hook, a
/// terminate handler.
pub(super) fn calls_hook(name: &str) -> bool {
    const NAMES: [&str; 4] = [
        "std::panicking::panic_with_hook",
        "std::panicking::rust_panic_with_hook",
        "std::terminate",
        "std::__terminate",
    ];
    NAMES.contains(&name)
}
