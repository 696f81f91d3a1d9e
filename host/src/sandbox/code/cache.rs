//! Compiled code, kept in the user's cache from one process to the next.
//!
//! An entry is found by a hash over everything that the machine code follows from: the rewritten module's bytes,
//! wasmtime's version and all its settings, the processor's features among them. So nobody has to know what the
//! rewriter looks at, and an entry is never out of date.
//!
//! Compiled code is run as it is found: wasmtime checks that it was compiled with the same settings, and accepts a
//! flipped bit. What is found here was therefore compiled by this user, and is as it was written ([`Cache::get`]). No
//! store has any, nothing imports it. Whatever is wrong with an entry, it counts as none.

use crate::cache::Cache;
use crate::sandbox::code::compiler::give_memory_back;
use anyhow::Result;
use std::hash::{Hash, Hasher};
use std::path::Path;
use std::sync::Arc;
use wasmtime::{Config, Engine, Module};

/// The kind of cache entries that hold compiled code.
const KIND: &str = "code";

/// Oldest entries are removed when they take more than this together, in bytes: 2 GiB.
const BYTES_MAX: u64 = 2 << 30;

/// Where compiled code is kept; nowhere, if it is made by [`Default`].
#[derive(Clone, Debug, Default)]
pub struct CodeCache {
    cache: Option<Arc<Cache>>,
}

/// Where a module's machine code came from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    /// It was found, and nothing had to be compiled.
    pub(crate) cached: bool,
}

impl CodeCache {
    /// Keeps code in the user's cache, if there is one.
    pub fn of_user() -> Self {
        Self { cache: Cache::of_user().map(Arc::new) }
    }

    /// Keeps code in the directory `fuzzbox` below `base`, if that can be had for this user alone.
    pub fn in_dir(base: &Path) -> Self {
        Self { cache: Cache::in_dir(base).map(Arc::new) }
    }

    /// The cache, if there is one.
    pub(crate) fn cache(&self) -> Option<&Cache> {
        self.cache.as_deref()
    }

    /// The machine code of `wasm`, in an engine with these settings. Code that had to be compiled is kept if it can be:
    /// a full disk is no reason not to execute it.
    ///
    /// # Errors
    ///
    /// If the settings make no engine, or `wasm` can't be compiled.
    pub(crate) fn compile(&self, config: &Config, wasm: &[u8]) -> Result<(Module, Origin)> {
        let engine = Engine::new(config).map_err(anyhow::Error::from)?;
        let key = key(&engine, wasm);
        if let Some(module) = self.load(&engine, &key) {
            return Ok((module, Origin { cached: true }));
        }
        // An engine keeps all memory that compiling took, to compile again: with inlining, that is a graph for each
        // function.
        let compiler = Engine::new(config).map_err(anyhow::Error::from)?;
        let code = compiler.precompile_module(wasm).map_err(anyhow::Error::from)?;
        drop(compiler);
        give_memory_back();
        // SAFETY: it was made right now, with the same settings.
        let load = || unsafe { Module::deserialize(&engine, &code) };
        let (module, ()) = rayon::join(load, || self.keep(&code, &key));
        Ok((module.map_err(anyhow::Error::from)?, Origin { cached: false }))
    }

    /// The machine code of `wasm`, if it need not be compiled.
    ///
    /// # Errors
    ///
    /// If the settings make no engine.
    pub(crate) fn find(&self, config: &Config, wasm: &[u8]) -> Result<Option<(Module, Origin)>> {
        if self.cache().is_none() {
            return Ok(None);
        }
        let engine = Engine::new(config).map_err(anyhow::Error::from)?;
        let key = key(&engine, wasm);
        Ok(self.load(&engine, &key).map(|module| (module, Origin { cached: true })))
    }

    fn keep(&self, code: &[u8], key: &[u8; 32]) {
        let keep = |cache: &Cache| {
            cache.put(KIND, key, code)?;
            cache.trim(KIND, BYTES_MAX)
        };
        // Without it the next process compiles once more, and that is all.
        let _: Option<Result<()>> = self.cache().map(keep);
    }

    /// The module under `key`, if there is one that can be used.
    fn load(&self, engine: &Engine, key: &[u8; 32]) -> Option<Module> {
        let bytes = self.cache()?.get(KIND, key)?;
        // SAFETY: These are the bytes that `keep` stored under this key, so wasmtime made them: a checksum over key and
        // content was right that is keyed with a secret which this user alone can read, and the file, its directory and
        // the secret's are this user's alone. Who can read the secret all the same can also write the program that runs
        // this. That a file came with a repository or out of an archive makes it the user's, but doesn't tell its maker
        // the secret.
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
