//! Runs a WASI command in wasmtime, with fuzzbox' own WASI: no clock, file or entropy of the machine.

use super::table::Command;
use anyhow::{Context as _, Result, bail, ensure};
use fuzzbox::sandbox::wasi::{self, Exit, Wasi, WasiConfig};
use fuzzbox_instrument::layout;
use std::time::Duration;
use wasmtime::{
    Caller, Config, Engine, Extern, ExternType, FuncType, Linker, Memory, Module, OptLevel, RegallocAlgorithm, Store,
    Val,
};

/// Native stack for the guest, as much as wasmtime accepts when it can also run guests asynchronously.
const STACK_BYTES: usize = 2 << 20;

/// What a command did.
#[derive(Clone, Debug)]
pub struct Ran {
    /// The exit code, 0 if the start function returned; or the trap.
    pub exit: Result<u32, String>,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: Vec<u8>,
    /// CPU time of instantiation and execution, without compilation.
    pub cpu: Duration,
}

impl Ran {
    /// Errors with the first difference, if there is one.
    pub(super) fn same_as(&self, other: &Self) -> Result<()> {
        ensure!(self.exit == other.exit, "ends with {:?}, before it was {:?}\n{}", self.exit, other.exit, self.head());
        for (name, new, old) in
            [("standard output", &self.stdout, &other.stdout), ("standard error", &self.stderr, &other.stderr)]
        {
            if let Some(at) = (0..new.len().max(old.len())).find(|&at| new.get(at) != old.get(at)) {
                bail!("{name} differs at byte {at} of {}, {} before", new.len(), old.len());
            }
        }
        Ok(())
    }

    /// Errors unless it ended well and wrote `says`.
    pub(super) fn check(&self, says: &str) -> Result<()> {
        ensure!(self.exit == Ok(0), "it ended with {:?}\n{}", self.exit, self.head());
        let said = |bytes: &[u8]| bytes.windows(says.len()).any(|part| part == says.as_bytes());
        ensure!(said(&self.stdout) || said(&self.stderr), "it did not write `{says}` but\n{}", self.head());
        Ok(())
    }

    /// The beginning of what was written.
    fn head(&self) -> String {
        let head = |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(2000)]).into_owned();
        format!("{}{}", head(&self.stdout), head(&self.stderr))
    }
}

struct State {
    memory: Option<Memory>,
    wasi: Wasi,
}

/// Runs a command to its end. `injected` is the exported memory that a rewritten module finds its fuel in; `data` are
/// files beside those of the command.
///
/// `quick` code is compiled twice as fast, and needs several times as much stack.
///
/// Errors if the module can't be compiled or instantiated; traps are results.
pub fn run(
    wasm: &[u8],
    injected: Option<&str>,
    command: &Command,
    data: &[(String, Vec<u8>)],
    quick: bool,
) -> Result<Ran> {
    let engine = Engine::new(&config(quick)).map_err(anyhow::Error::from)?;
    let module = Module::new(&engine, wasm).map_err(anyhow::Error::from).context("failed to compile")?;
    let mut wasi = Wasi::new(wasi_config(command, data));
    wasi.reset(command.stdin.as_bytes());
    let mut store = Store::new(&engine, State { memory: None, wasi });
    // A thread of its own: the guest's stack comes on top of what the host needs.
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES + (14 << 20));
    std::thread::scope(|scope| {
        let run = || {
            let cpu = this_thread()?;
            let exit = execute(&mut store, &module, injected)?;
            let cpu = this_thread()?.saturating_sub(cpu);
            let wasi = &store.data().wasi;
            Ok(Ran { exit, stdout: wasi.stdout().to_vec(), stderr: wasi.stderr().to_vec(), cpu })
        };
        let handle = thread.spawn_scoped(scope, run).context("failed to start a thread")?;
        handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn execute(store: &mut Store<State>, module: &Module, injected: Option<&str>) -> Result<Result<u32, String>> {
    let linker = linker(store, module)?;
    let instance =
        linker.instantiate(&mut *store, module).map_err(anyhow::Error::from).context("failed to instantiate")?;
    store.data_mut().memory = instance.get_memory(&mut *store, "memory");
    if let Some(name) = injected {
        let memory = instance.get_memory(&mut *store, name).context("the injected memory is not exported")?;
        let fuel = memory.data_mut(&mut *store).get_mut(layout::FUEL as usize..).and_then(<[u8]>::first_chunk_mut);
        *fuel.context("the injected memory is too small")? = i64::MAX.to_le_bytes();
    }
    let start = instance.get_typed_func::<(), ()>(&mut *store, "_start").map_err(anyhow::Error::from)?;
    Ok(match start.call(&mut *store, ()) {
        Ok(()) => Ok(0),
        Err(error) => match error.downcast_ref::<Exit>() {
            Some(Exit(code)) => Ok(*code),
            // The trap alone: functions have other names and offsets after rewriting.
            None => Err(error.root_cause().to_string()),
        },
    })
}

fn linker(store: &mut Store<State>, module: &Module) -> Result<Linker<State>> {
    let mut linker = Linker::new(module.engine());
    wasi::link(&mut linker, |state: &mut State| (state.memory, &mut state.wasi), |_| ())?;
    // The version before preview 1 differs in few functions, in the layout of what files are.
    linker.alias_module(wasi::MODULE, "wasi_unstable").map_err(anyhow::Error::from)?;
    // A signature of its own makes it another function, as the sockets of WasmEdge.
    linker.allow_shadowing(true);
    for import in module.imports() {
        let (wanted, ours) = (import.ty(), linker.get(&mut *store, import.module(), import.name()));
        let (ExternType::Func(wanted), Ok(Extern::Func(ours))) = (wanted, ours) else { continue };
        if !FuncType::eq(&wanted, &ours.ty(&*store)) {
            let trap =
                |_: Caller<'_, State>, _: &[Val], _: &mut [Val]| Err(wasmtime::Trap::UnreachableCodeReached.into());
            linker.func_new(import.module(), import.name(), wanted, trap).map_err(anyhow::Error::from)?;
        }
    }
    linker.define_unknown_imports_as_traps(module).map_err(anyhow::Error::from)?;
    Ok(linker)
}

fn config(quick: bool) -> Config {
    let mut config = Config::new();
    if quick {
        config.cranelift_opt_level(OptLevel::None).cranelift_regalloc_algorithm(RegallocAlgorithm::SinglePass);
    }
    config
        .relaxed_simd_deterministic(true)
        .max_wasm_stack(STACK_BYTES)
        .wasm_function_references(true)
        .wasm_gc(true)
        .wasm_exceptions(true)
        .wasm_multi_memory(true);
    config
}

fn wasi_config(command: &Command, data: &[(String, Vec<u8>)]) -> WasiConfig {
    let inputs = command.files.iter().map(|(at, text)| ((*at).to_owned(), text.as_bytes().to_vec()));
    WasiConfig {
        args: command.args.iter().map(|arg| arg.as_bytes().to_vec()).collect(),
        env: Vec::new(),
        files: inputs.chain(data.iter().cloned()).collect(),
        output_bytes_max: 64 << 20,
        fs_bytes_max: 512 << 20,
        work_max: u64::MAX / 2,
        ..WasiConfig::default()
    }
}

fn this_thread() -> Result<Duration> {
    let line = std::fs::read_to_string("/proc/thread-self/schedstat").context("failed to read a thread's CPU time")?;
    let nanos = line.split(' ').next().and_then(|nanos| nanos.parse().ok());
    Ok(Duration::from_nanos(nanos.context("a thread's CPU time is no number")?))
}
