//! Runs guests under plain wasmtime, a fresh instance each time: what any other way of running them is held against.

use anyhow::{Context as _, Result, anyhow, bail};
use std::path::Path;
use wasmtime::{Config, Engine, InstancePre, Linker, Module, Store, Trap, WasmBacktrace};
use wasmtime_wasi::p2::pipe::{MemoryInputPipe, MemoryOutputPipe};
use wasmtime_wasi::{I32Exit, WasiCtxBuilder, p1, p1::WasiP1Ctx};

/// More than any document here needs; an endless loop ends in a second.
const FUEL: u64 = 1_000_000_000;
const OUTPUT_BYTES_MAX: usize = 1 << 20;

/// A compiled guest.
pub(crate) struct Guest {
    engine: Engine,
    instance: InstancePre<WasiP1Ctx>,
    is_command: bool,
}

/// How a run ended, and what it left behind.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) end: End,
    pub(crate) output: Vec<u8>,
    /// Names of the active functions when it trapped, innermost first.
    pub(crate) frames: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Returned(i32),
    Exited(i32),
    Trapped(Trap),
}

impl Guest {
    pub(crate) fn load(module: &Path) -> Result<Self> {
        Self::compile(module).map_err(ours).with_context(|| format!("failed to load `{}`", module.display()))
    }

    fn compile(module: &Path) -> wasmtime::Result<Self> {
        let mut config = Config::new();
        config.consume_fuel(true).wasm_exceptions(true);
        let engine = Engine::new(&config)?;
        let module = Module::from_file(&engine, module)?;
        let is_command = module.get_export("_start").is_some();
        let mut linker = Linker::new(&engine);
        p1::add_to_linker_sync(&mut linker, |wasi| wasi)?;
        Ok(Self { instance: linker.instantiate_pre(&module)?, engine, is_command })
    }

    /// Runs once: the input is what a command reads, or what `LLVMFuzzerTestOneInput` gets.
    pub(crate) fn run(&self, input: &[u8]) -> Result<Run> {
        let output = MemoryOutputPipe::new(OUTPUT_BYTES_MAX);
        let mut wasi = WasiCtxBuilder::new();
        wasi.arg("guest").stdin(MemoryInputPipe::new(input.to_vec())).stdout(output.clone());
        let mut store = Store::new(&self.engine, wasi.build_p1());
        store.set_fuel(FUEL).map_err(ours)?;
        let result = if self.is_command { self.command(&mut store) } else { self.harness(&mut store, input) };
        let (end, frames) = match result {
            Ok(value) => (End::Returned(value), Vec::new()),
            Err(error) => ending(&error)?,
        };
        drop(store);
        Ok(Run { end, output: output.contents().to_vec(), frames })
    }

    fn command(&self, store: &mut Store<WasiP1Ctx>) -> wasmtime::Result<i32> {
        let instance = self.instance.instantiate(&mut *store)?;
        instance.get_typed_func::<(), ()>(&mut *store, "_start")?.call(store, ())?;
        Ok(0)
    }

    fn harness(&self, store: &mut Store<WasiP1Ctx>, input: &[u8]) -> wasmtime::Result<i32> {
        let instance = self.instance.instantiate(&mut *store)?;
        instance.get_typed_func::<(), ()>(&mut *store, "_initialize")?.call(&mut *store, ())?;
        if let Ok(initialize) = instance.get_typed_func::<(u32, u32), i32>(&mut *store, "LLVMFuzzerInitialize") {
            initialize.call(&mut *store, (0, 0))?;
        }
        let malloc = instance.get_typed_func::<u32, u32>(&mut *store, "malloc")?;
        let size = u32::try_from(input.len())?;
        let place = malloc.call(&mut *store, size.max(1))?;
        let memory = instance.get_memory(&mut *store, "memory").expect("a guest with `malloc` exports its memory");
        memory.write(&mut *store, place as usize, input)?;
        let entry = instance.get_typed_func::<(u32, u32), i32>(&mut *store, "LLVMFuzzerTestOneInput")?;
        entry.call(store, (place, size))
    }
}

fn ours(error: wasmtime::Error) -> anyhow::Error {
    anyhow!("{error:#}")
}

/// A trap or an exit is the guest's; any other error is ours.
fn ending(error: &wasmtime::Error) -> Result<(End, Vec<String>)> {
    if let Some(exit) = error.downcast_ref::<I32Exit>() {
        return Ok((End::Exited(exit.0), Vec::new()));
    }
    let Some(trap) = error.downcast_ref::<Trap>() else { bail!("the run failed: {error:?}") };
    let frames = error.downcast_ref::<WasmBacktrace>().map_or(&[][..], WasmBacktrace::frames);
    let names = frames.iter().map(|frame| frame.func_name().unwrap_or("?").to_owned()).collect();
    Ok((End::Trapped(*trap), names))
}
