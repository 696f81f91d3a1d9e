//! Compiled code, kept in a store from one process to the next.
//!
//! An entry is found by a hash over everything that the machine code follows from: the rewritten module's bytes, wasmtime's version
//! and all its settings, the processor's features among them. So nobody has to know what the rewriter looks at, and an entry is
//! never out of date.
//!
//! Compiled code is run as it is found: wasmtime checks that it was compiled with the same settings, and accepts a flipped bit. What is found
//! here was therefore compiled on this machine, by this user, and is as it was written ([`Store::cache_get`]). It is never
//! imported from elsewhere. Whatever is wrong with an entry, it counts as none.

use super::compiler::give_memory_back;
use crate::store::Store;
use anyhow::Result;
use std::hash::{Hash, Hasher};
use wasmtime::{Config, Engine, Module};

/// The kind of cache entries that hold compiled code.
const KIND: &str = "code";

/// Oldest entries are removed when they take more than this together, in bytes: 2 GiB.
const BYTES_MAX: u64 = 2 << 30;

/// Where compiled code is kept; nowhere, if it is made by [`Default`].
#[derive(Clone, Debug, Default)]
pub struct CodeCache {
    store: Option<Store>,
}

/// Where a module's machine code came from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    /// Under what it is kept.
    key: [u8; 32],
    /// It was found, and nothing had to be compiled.
    pub(super) cached: bool,
}

impl CodeCache {
    /// Keeps code in the cache of `store`.
    pub fn new(store: &Store) -> Self {
        Self { store: Some(store.clone()) }
    }

    /// The store in whose cache code is kept, if there is one.
    pub(super) fn store(&self) -> Option<&Store> {
        self.store.as_ref()
    }

    /// The machine code of `wasm`, in an engine with these settings. Code that had to be compiled is kept if it can be: a full disk is no
    /// reason not to execute it.
    ///
    /// # Errors
    ///
    /// If the settings make no engine, or `wasm` can't be compiled.
    pub(super) fn compile(&self, config: &Config, wasm: &[u8]) -> Result<(Module, Origin)> {
        let engine = Engine::new(config).map_err(anyhow::Error::from)?;
        let key = key(&engine, wasm);
        if let Some(module) = self.load(&engine, &key) {
            return Ok((module, Origin { key, cached: true }));
        }
        // An engine keeps all memory that compiling took, to compile again: with inlining, that is a graph for each function.
        let compiler = Engine::new(config).map_err(anyhow::Error::from)?;
        let code = compiler.precompile_module(wasm).map_err(anyhow::Error::from)?;
        drop(compiler);
        give_memory_back();
        let origin = Origin { key, cached: false };
        self.keep_bytes(&code, origin);
        // SAFETY: it was made right now, with the same settings.
        let module = unsafe { Module::deserialize(&engine, code) }.map_err(anyhow::Error::from)?;
        Ok((module, origin))
    }

    /// Keeps the code of `module`, if it isn't from a cache and there is a place for it.
    pub(super) fn keep(&self, module: &Module, origin: Origin) {
        if !origin.cached
            && self.store.is_some()
            && let Ok(bytes) = module.serialize()
        {
            self.keep_bytes(&bytes, origin);
        }
    }

    fn keep_bytes(&self, code: &[u8], origin: Origin) {
        let keep = |store: &Store| {
            store.cache_put(KIND, &origin.key, code)?;
            store.cache_trim(KIND, BYTES_MAX)
        };
        // Without it the next process compiles once more, and that is all.
        let _: Option<Result<()>> = self.store.as_ref().map(keep);
    }

    /// The module under `key`, if there is one that can be used.
    fn load(&self, engine: &Engine, key: &[u8; 32]) -> Option<Module> {
        let bytes = self.store.as_ref()?.cache_get(KIND, key)?;
        // SAFETY: These are the bytes that `keep` stored under this key, so `Module::serialize` made them: a checksum over key and
        // content was right, and the file is this user's, whom nobody else may write for. Who can write such a file all the same can
        // also write the program that reads it.
        unsafe { Module::deserialize(engine, bytes) }.ok()
    }
}

/// Everything that the machine code of `wasm` follows from.
fn key(engine: &Engine, wasm: &[u8]) -> [u8; 32] {
    let mut hasher = Blake3(blake3::Hasher::new());
    hasher.write(b"fuzzbox code 1\n");
    // Target, settings, features of the processor, and wasmtime's version.
    engine.precompile_compatibility_hash().hash(&mut hasher);
    hasher.write(wasm);
    *hasher.0.finalize().as_bytes()
}

/// Hashes what can only be hashed.
struct Blake3(blake3::Hasher);

impl Hasher for Blake3 {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        let hash = *self.0.finalize().as_bytes();
        u64::from_le_bytes(*hash.first_chunk().expect("a hash has 32 bytes"))
    }
}
