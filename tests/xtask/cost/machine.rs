//! Compiled modules and kept instances of them.

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use fuzzbox::sandbox::compiler_settings;
use fuzzbox_instrument::{Injected, layout};
use wasmtime::{Caller, Engine, Extern, Instance, Linker, Memory, Module, Store, TypedFunc};

/// Native stack of a guest, in bytes, as the host gives it.
const STACK_BYTES: usize = 1 << 20;

/// More than any round takes, and far from overflow.
const FUEL: i64 = i64::MAX / 2;

/// An engine whose compiler does what the host's does. Our memories come from wasmtime.
pub(crate) fn engine() -> Result<Engine> {
    let mut config = compiler_settings();
    config.max_wasm_stack(STACK_BYTES);
    Engine::new(&config).map_err(ours)
}

/// A compiled module.
pub(crate) struct Machine {
    module: Module,
    linker: Linker<()>,
    /// Export of the memory that has the fuel, if the module was rewritten.
    injected: Option<String>,
    /// Bytes of the module's code section.
    pub(crate) wasm_code_bytes: usize,
    /// Bytes of its functions' machine code.
    pub(crate) machine_code_bytes: usize,
}

impl Machine {
    pub(crate) fn compile(engine: &Engine, wasm: &[u8], injected: Option<&Injected>) -> Result<Self> {
        let module = Module::new(engine, wasm).map_err(ours)?;
        let mut linker = Linker::new(engine);
        link(&mut linker, &module).map_err(ours)?;
        let machine_code_bytes = module.functions().map(|function| function.len).sum();
        let wasm_code_bytes = code_bytes(wasm)?;
        let injected = injected.map(|injected| injected.memory_export.clone());
        Ok(Self { module, linker, injected, wasm_code_bytes, machine_code_bytes })
    }

    /// A new instance, initialised, with room for inputs of up to `input_bytes_max` bytes.
    pub(crate) fn start(&self, input_bytes_max: usize) -> Result<Kept> {
        let mut store = Store::new(self.linker.engine(), ());
        let instance = self.linker.instantiate(&mut store, &self.module).map_err(ours)?;
        let injected = self.injected.as_deref().map(|name| memory(&mut store, &instance, name)).transpose()?;
        let input = memory(&mut store, &instance, "memory")?;
        if let Ok(initialize) = instance.get_typed_func::<(), ()>(&mut store, "_initialize") {
            initialize.call(&mut store, ()).map_err(ours)?;
        }
        if let Ok(initialize) = instance.get_typed_func::<(u32, u32), i32>(&mut store, "LLVMFuzzerInitialize") {
            let status = initialize.call(&mut store, (0, 0)).map_err(ours)?;
            ensure!(status == 0, "`LLVMFuzzerInitialize` returned {status}");
        }
        let malloc = instance.get_typed_func::<u32, u32>(&mut store, "malloc").map_err(ours)?;
        let size = u32::try_from(input_bytes_max.max(1)).context("seeds are too large")?;
        let place = malloc.call(&mut store, size).map_err(ours)?;
        ensure!(place != 0, "no room for an input of {size} bytes");
        let entry = instance.get_typed_func(&mut store, "LLVMFuzzerTestOneInput").map_err(ours)?;
        Ok(Kept { store, entry, input, place, injected })
    }
}

/// An instance that runs one input after the other.
pub(crate) struct Kept {
    store: Store<()>,
    entry: TypedFunc<(u32, u32), i32>,
    input: Memory,
    /// Where inputs are put.
    place: u32,
    injected: Option<Memory>,
}

impl Kept {
    /// Fills up the fuel, if there is any.
    pub(crate) fn refuel(&mut self) -> Result<()> {
        let Some(memory) = self.injected else { return Ok(()) };
        Ok(memory.write(&mut self.store, layout::FUEL as usize, &FUEL.to_le_bytes())?)
    }

    /// Runs each input once. The instance is of no use after an error.
    pub(crate) fn run(&mut self, inputs: &[Vec<u8>]) -> Result<()> {
        for input in inputs {
            self.input.write(&mut self.store, self.place as usize, input)?;
            self.entry.call(&mut self.store, (self.place, input.len() as u32)).map_err(ours)?;
        }
        Ok(())
    }
}

fn memory(store: &mut Store<()>, instance: &Instance, name: &str) -> Result<Memory> {
    instance.get_memory(store, name).with_context(|| format!("the module exports no memory `{name}`"))
}

/// Provides what harnesses ask of WASI when nothing goes wrong: there are no arguments, variables and open folders.
/// Whatever else is called traps.
fn link(linker: &mut Linker<()>, module: &Module) -> wasmtime::Result<()> {
    const WASI: &str = "wasi_snapshot_preview1";
    const EBADF: i32 = 8;
    let nothing = |mut caller: Caller<'_, ()>, count: u32, size: u32| -> wasmtime::Result<i32> {
        let Some(Extern::Memory(memory)) = caller.get_export("memory") else {
            wasmtime::bail!("the module exports no memory `memory`")
        };
        memory.write(&mut caller, count as usize, &[0; 4])?;
        memory.write(&mut caller, size as usize, &[0; 4])?;
        Ok(0)
    };
    linker.func_wrap(WASI, "args_sizes_get", nothing)?;
    linker.func_wrap(WASI, "environ_sizes_get", nothing)?;
    linker.func_wrap(WASI, "args_get", |_: u32, _: u32| 0_i32)?;
    linker.func_wrap(WASI, "environ_get", |_: u32, _: u32| 0_i32)?;
    linker.func_wrap(WASI, "fd_prestat_get", |_: u32, _: u32| EBADF)?;
    linker.define_unknown_imports_as_traps(module)
}

/// How long the code section is.
fn code_bytes(wasm: &[u8]) -> Result<usize> {
    for payload in wasmparser::Parser::new(0).parse_all(wasm) {
        if let wasmparser::Payload::CodeSectionStart { size, .. } = payload? {
            return Ok(size as usize);
        }
    }
    bail!("the module has no code")
}

/// An error of wasmtime as one of anyhow.
pub(crate) fn ours(error: wasmtime::Error) -> anyhow::Error {
    anyhow!("{error:#}")
}
