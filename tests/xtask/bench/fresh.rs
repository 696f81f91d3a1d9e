//! A new instance for each execution, from wasmtime's pooling allocator: what we would do if we could not restore.

use crate::cost::machine::ours;
use anyhow::{Context as _, Result};
use wasmtime::{
    Config, Engine, InstanceAllocationStrategy, InstancePre, Linker, Module, ModuleExport, PoolingAllocationConfig,
    Store,
};

/// Up to here, memory and tables of an instance stay in place and are zeroed by writing, if that is wished for.
const RESIDENT_BYTES: usize = 64 << 10;

/// Where inputs are put.
const PLACE: u32 = 1024;

/// A compiled module that imports nothing, and what there is to look up.
pub(super) struct Fresh {
    engine: Engine,
    module: InstancePre<()>,
    memory: ModuleExport,
    entry: ModuleExport,
}

impl Fresh {
    /// `resident` says whether what an instance leaves behind is overwritten, which is faster for small ones, or given
    /// back to the kernel, which is the allocator's default.
    pub(super) fn new(wasm: &[u8], resident: bool) -> Result<Self> {
        let mut pool = PoolingAllocationConfig::new();
        pool.total_memories(4).total_core_instances(4).total_tables(4);
        if resident {
            pool.linear_memory_keep_resident(RESIDENT_BYTES).table_keep_resident(RESIDENT_BYTES);
        }
        let mut config = Config::new();
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool)).memory_init_cow(true);
        let engine = Engine::new(&config).map_err(ours)?;
        let module = Module::new(&engine, wasm).map_err(ours)?;
        let export = |name| module.get_export_index(name).with_context(|| format!("the module has no export `{name}`"));
        let (memory, entry) = (export("memory")?, export("LLVMFuzzerTestOneInput")?);
        let module = Linker::new(&engine).instantiate_pre(&module).map_err(ours)?;
        Ok(Self { engine, module, memory, entry })
    }

    /// Runs each input once.
    pub(super) fn run(&self, inputs: &[Vec<u8>]) -> Result<()> {
        for input in inputs {
            let mut store = Store::new(&self.engine, ());
            let instance = self.module.instantiate(&mut store).map_err(ours)?;
            let memory = instance.get_module_export(&mut store, &self.memory).and_then(|export| export.into_memory());
            memory.context("`memory` is not a memory")?.write(&mut store, PLACE as usize, input)?;
            let entry = instance.get_module_export(&mut store, &self.entry).and_then(|export| export.into_func());
            let entry = entry.context("the entry is not a function")?;
            let entry = entry.typed::<(u32, u32), i32>(&store).map_err(ours)?;
            entry.call(&mut store, (PLACE, input.len() as u32)).map_err(ours)?;
        }
        Ok(())
    }
}
