//! What the rewriter exports of an instance, found once: all of its state, and the injected memory.

use crate::sandbox::imports::host::Host;
use crate::sandbox::memory::Region;
use crate::sandbox::targets::Target;
use anyhow::{Context, Result};
use std::sync::Arc;
use wasmtime::{Global, Instance, Memory, Store, Table};

/// All state of an instance that an execution can change.
pub(crate) struct Exports {
    /// The guest's memories, by their indices.
    pub(crate) memories: Vec<ExportedMemory>,
    /// The memory that the rewriter added.
    pub(crate) injected: ExportedMemory,
    /// Mutable globals.
    pub(crate) globals: Vec<Global>,
    pub(crate) tables: Vec<Table>,
}

/// A memory, for wasmtime and for us.
#[derive(Clone)]
pub(crate) struct ExportedMemory {
    pub(crate) memory: Memory,
    pub(crate) region: Arc<Region>,
}

impl Exports {
    /// Those of an instance of `target`.
    pub(crate) fn find(target: &Target, store: &mut Store<Host>, instance: &Instance) -> Result<Self> {
        let mut memory = |export: &String| {
            let memory = instance.get_memory(&mut *store, export).context("the rewriter exports every memory")?;
            anyhow::Ok(ExportedMemory { memory, region: target.code.memories.region(&*store, memory)? })
        };
        let (state, injected) = (&target.rewritten.state, &target.rewritten.injected);
        let memories = state.memories.iter().map(&mut memory).collect::<Result<_>>()?;
        let injected = memory(&injected.memory_export)?;
        let mut global = |export| instance.get_global(&mut *store, export);
        let globals: Option<_> = state.globals.iter().map(|export| global(export)).collect();
        let globals = globals.context("the rewriter exports every mutable global")?;
        let mut table = |export| instance.get_table(&mut *store, export);
        let tables: Option<_> = state.tables.iter().map(|export| table(export)).collect();
        let tables = tables.context("the rewriter exports every table")?;
        Ok(Self { memories, injected, globals, tables })
    }
}
