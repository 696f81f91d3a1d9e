//! A rewritten module in machine code.

use crate::sandbox::code::cache::{CodeCache, Origin};
use crate::sandbox::code::compiler::{Code, INLINED_CODE_BYTES_MAX, compiler_settings};
use crate::sandbox::code::variant::Variant;
use crate::sandbox::limits::GC_HEAP_BYTES;
use crate::sandbox::memory::Memories;
use crate::sandbox::source::interface::Interface;
use anyhow::{Context, Result};
use std::sync::Arc;
use wasmtime::{Config, Inlining, Module};

/// A rewritten module in machine code.
#[derive(Clone, Debug)]
pub(crate) struct CompiledModule {
    pub(crate) module: Module,
    /// It was found in the cache.
    pub(crate) cached: bool,
    /// How it was made.
    pub(crate) code: Code,
    /// How it was to be made, if nobody had by then.
    pub(crate) asked: Code,
    /// The linear memories of its instances.
    pub(crate) memories: Arc<Memories>,
}

impl CompiledModule {
    /// Compiles `wasm`, which is a module rewritten as `variant` says, unless its code is in the cache. If optimised
    /// code is in the cache, it is that. `interface` is the module's before it was rewritten.
    ///
    /// # Errors
    ///
    /// If wasmtime refuses the module.
    pub(crate) fn new(
        wasm: &[u8],
        (interface, variant): (&Interface, &Variant),
        (cache, code): (&CodeCache, Code),
    ) -> Result<Self> {
        let memories = Arc::new(Memories::default());
        let config = |code| config(interface, &memories, variant, code);
        let cached = if code == Code::Quick { cache.find(&config(Code::Optimised), wasm)? } else { None };
        let asked = code;
        let (module, Origin { cached }, code) = match cached {
            Some((module, origin)) => (module, origin, Code::Optimised),
            None => {
                let compiled = code.compile(|| cache.compile(&config(code), wasm));
                let (module, origin) = compiled.context("failed to compile the rewritten module")?;
                (module, origin, code)
            }
        };
        Ok(Self { module, cached, code, asked, memories })
    }
}

/// wasmtime's settings for a variant of a module.
fn config(interface: &Interface, memories: &Arc<Memories>, variant: &Variant, code: Code) -> Config {
    let mut config = compiler_settings();
    code.apply(&mut config);
    config
        .max_wasm_stack(variant.stack_bytes())
        .async_stack_size(variant.stack_bytes()) // nothing is asynchronous; it must not be less
        .wasm_backtrace_max_frames(variant.frames_max())
        .gc_heap_initial_size(GC_HEAP_BYTES)
        .with_host_memory(memories.clone());
    if let Variant::Fast(_) = variant
        && interface.code_bytes <= INLINED_CODE_BYTES_MAX
    {
        config.compiler_inlining(Inlining::Yes);
    }
    config
}
