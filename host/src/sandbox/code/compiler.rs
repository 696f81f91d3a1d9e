//! wasmtime's settings, as far as machine code follows from them.
//!
//! Because of CPU time, a geometric mean over five programs:
//!
//! - Table elements are not made when first used: each indirect call would ask whether its element was made. With the
//!   next it is 2 %.
//! - Tables are not guarded against speculation: that keeps secrets of this process from guests that can measure time,
//!   and ours can't.
//! - Functions are put in the place of calls in `fast`, of up to 1 MiB of code: 7 % (md4c 27, expat 12, the others 0).
//!   It takes time that the first execution must not wait for, and memory.
//! - All else is as wasmtime has it. Optimising for size as well, or doing without address map, backtraces or frame
//!   pointers, makes no difference that can be told from noise.

use crate::settings::Settings;
use rayon::{ThreadBuilder, ThreadPoolBuilder};
use std::thread::{Builder, available_parallelism};
use wasmtime::{Config, OptLevel, RegallocAlgorithm};

/// Modules whose code section has more bytes are never compiled with inlining. It holds the graphs of all functions at
/// once, 700 to 1,400 bytes for each byte of code: 0.5 GB for icepack (0.36 MB of code), 0.8 for sqlite (1.2), 6.3 for
/// PHP (9.5), more than 22 for clang (66), where 0.05, 0.1, 1 and 3 are enough without. And large programs gain
/// nothing: sqlite, QuickJS (1.4 MB) and PHP are as fast without, icepack is not (1.5 times as fast with it).
pub(crate) const INLINED_CODE_BYTES_MAX: u32 = 1 << 20;

/// Code sections with more bytes are first compiled in a hurry, so that a campaign begins sooner. What is smaller is
/// optimised in less than a second.
const QUICK_CODE_BYTES_MIN: u32 = 1 << 18;

/// Threads that a pool pretends to have which compiles in a hurry. rayon cuts a list in about so many parts as a pool
/// has threads, and each part is gone through by one of them: with two parts a core had nothing to do for the last
/// third of esbuild's time. If they all were real they would share the cores, and the largest function be done long
/// after all others: resvg took a sixth longer.
const PARTS: usize = 1024;

/// How machine code is made. It makes no difference to what a guest does, but for the speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// In a third of the time: not optimised.
    Quick,
    /// As fast as it gets.
    Optimised,
}

impl Code {
    /// What to begin with for a module whose code section has so many bytes.
    pub(crate) fn to_begin_with(code_bytes: u32) -> Self {
        if code_bytes >= QUICK_CODE_BYTES_MIN { Self::Quick } else { Self::Optimised }
    }

    /// Changes settings made by [`compiler_settings`].
    pub(crate) fn apply(self, config: &mut Config) {
        if self == Self::Quick {
            config.cranelift_opt_level(OptLevel::None).cranelift_regalloc_algorithm(RegallocAlgorithm::SinglePass);
        }
    }

    /// Calls `job`, which compiles. In a hurry, while nothing else is done, in parts so small that all cores are in use
    /// to the end.
    pub(crate) fn compile<T: Send>(self, job: impl FnOnce() -> T + Send) -> T {
        let cores = available_parallelism().map_or(1, usize::from);
        let begin = |thread: ThreadBuilder| match thread.index() < cores {
            true => Builder::new().name("compile".to_owned()).spawn(|| thread.run()).map(drop),
            false => Ok(()),
        };
        let pool = || ThreadPoolBuilder::new().num_threads(cores.max(PARTS)).spawn_handler(begin).build();
        match (self == Self::Quick).then(pool) {
            Some(Ok(pool)) => pool.install(job),
            // With those that there are.
            _ => job(),
        }
    }
}

/// Settings for rewritten modules: deterministic, and everything on that [`fuzzbox_instrument::features`] accepts. The
/// rewriter has made NaNs canonical; what is not rewritten has them as the processor makes them.
///
/// Public for those who measure what code costs.
pub fn compiler_settings() -> Config {
    let mut config = Config::new();
    config
        .cranelift_opt_level(OptLevel::Speed)
        .cranelift_regalloc_algorithm(RegallocAlgorithm::Backtracking)
        .relaxed_simd_deterministic(true)
        .generate_address_map(true)
        .memory_may_move(false)
        .memory_reservation(Settings::MEMORY_BYTES_MAX)
        .memory_init_cow(false)
        .table_lazy_init(false);
    // SAFETY: The setting decides what is executed speculatively; bounds are checked all the same. What can be learned
    // from that needs a clock, or memory that threads share: guests have a clock that doesn't depend on time, and one
    // thread.
    unsafe { config.cranelift_flag_set("enable_table_access_spectre_mitigation", "false") };
    config
        .wasm_tail_call(true)
        .wasm_function_references(true)
        .wasm_gc(true)
        .wasm_exceptions(true)
        .wasm_multi_memory(true)
        .wasm_memory64(true)
        .wasm_extended_const(true)
        .wasm_relaxed_simd(true)
        .wasm_wide_arithmetic(true)
        .wasm_custom_page_sizes(true)
        .wasm_threads(true)
        .wasm_branch_hinting(true);
    config
}

/// Gives memory back to the system that compiling took, as far as the allocator keeps it: some ten times as much as a
/// campaign needs.
pub(crate) fn give_memory_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it has no preconditions.
    unsafe {
        libc::malloc_trim(0);
    }
}
