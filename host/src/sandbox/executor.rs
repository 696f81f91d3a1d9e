//! One kept instance: runs inputs, each from the same state.

use super::entry::Entry;
use super::host::{Host, Limits};
use super::memory::Region;
use super::outcome::Outcome;
use super::snapshot::Snapshot;
use super::target::{INIT_FUEL_MAX, Target};
use super::trap;
use super::wasi::{Wasi, WasiConfig};
use anyhow::{Context, Result, bail, ensure};
use fuzzbox_instrument::layout;
use std::sync::Arc;
use wasmtime::{Instance, Memory, Store, TypedFunc};

/// Runs a target's entry on inputs, each from the state right after initialisation.
///
/// The rule is *restored equals fresh*: what an execution does never depends on what ran before it on the same executor.
/// State is restored lazily, at the start of the next run, so that the counters, the output and the memory of the last execution
/// can be looked at until then.
#[derive(Debug)]
pub struct Executor {
    target: Arc<Target>,
    instance: Kept,
    /// An execution happened since the state was restored.
    dirty: bool,
}

/// What a finished execution showed, apart from its outcome. Valid until the next run.
#[derive(Clone, Copy, Debug)]
pub struct Observation<'a> {
    executor: &'a Executor,
}

/// An instance with all that is needed to run and to restore it.
struct Kept {
    store: Store<Host>,
    call: Call,
    injected: Arc<Region>,
    snapshot: Snapshot,
}

impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kept").finish_non_exhaustive()
    }
}

/// The entry, bound to an instance.
enum Call {
    Harness { function: Harness, region: Arc<Region>, input_end: usize },
    Command(TypedFunc<(), ()>),
}

enum Harness {
    Narrow(TypedFunc<(i32, i32), i32>),
    NarrowVoid(TypedFunc<(i32, i32), ()>),
    Wide(TypedFunc<(i64, i64), i32>),
    WideVoid(TypedFunc<(i64, i64), ()>),
}

impl Executor {
    /// Instantiates and initialises the target.
    ///
    /// # Errors
    ///
    /// If the module's initialiser fails, an import is unknown, or there is no place for the input.
    pub fn new(target: &Arc<Target>) -> Result<Self> {
        Ok(Self { instance: Kept::new(target)?, target: target.clone(), dirty: false })
    }

    /// The target that is executed.
    pub fn target(&self) -> &Arc<Target> {
        &self.target
    }

    /// Executes `input` from the initial state.
    ///
    /// # Errors
    ///
    /// If `input` is longer than the limit, or the host fails; never for what the guest does.
    pub fn run(&mut self, input: &[u8]) -> Result<Outcome> {
        let limit = self.target.settings.input_bytes_max as usize;
        ensure!(
            input.len() <= limit,
            "the input has {} bytes, the limit is {limit}\nhelp: raise it with --input-bytes-max",
            input.len()
        );
        self.restore()?;
        self.dirty = true;
        self.instance.run(&self.target, input)
    }

    /// What the last execution showed.
    pub fn observation(&self) -> Observation<'_> {
        Observation { executor: self }
    }

    /// A hash over the guest's state as the last execution left it: contents and sizes of its memories, values of its mutable
    /// globals, sizes of its tables.
    pub fn state_hash(&mut self) -> blake3::Hash {
        self.instance.snapshot.hash_of_present(&mut self.instance.store)
    }

    /// Goes back to the initial state, by a new instance where it can't be restored.
    fn restore(&mut self) -> Result<()> {
        if !self.dirty {
            return Ok(());
        }
        let reversible = self.target.state.irreversible.is_none() && self.instance.restore()?;
        if !reversible {
            self.instance = Kept::new(&self.target)?;
        }
        self.dirty = false;
        Ok(())
    }
}

impl Observation<'_> {
    /// Calls `visit` with the index and the count of every edge that was executed. The order is not defined.
    pub fn edges(&self, mut visit: impl FnMut(u32, u32)) {
        let counters = layout::COUNTERS as usize;
        let end = counters + 4 * self.executor.target.edges.edges.len();
        let visit_bytes = |offset: usize, bytes: &[u8]| {
            // Pages and counters are aligned; the first page also holds fuel and flags.
            let skip = counters.saturating_sub(offset).min(bytes.len());
            let len = end.saturating_sub(offset).min(bytes.len()).max(skip);
            for (index, chunk) in bytes[skip..len].chunks(64).enumerate() {
                if chunk.iter().all(|&byte| byte == 0) {
                    continue;
                }
                for (word, count) in chunk.chunks_exact(4).enumerate() {
                    let count = u32::from_le_bytes(count.try_into().expect("four bytes"));
                    if count != 0 {
                        let edge = (offset + skip - counters) / 4 + index * 16 + word;
                        visit(u32::try_from(edge).expect("edges have 32-bit indices"), count);
                    }
                }
            }
        };
        // SAFETY: the guest doesn't run, and nobody else has the region.
        unsafe { self.executor.instance.injected.visit_hot(visit_bytes) }
    }

    /// Fuel that was used, in units (about one per instruction), the work of WASI calls included.
    pub fn fuel(&self) -> u64 {
        let Executor { instance, target, .. } = self.executor;
        let guest = target.settings.fuel_max.saturating_add_signed(instance.fuel_left().saturating_neg());
        guest.saturating_add(instance.store.data().wasi.work())
    }

    /// What the guest wrote to its standard output, up to the limit.
    pub fn stdout(&self) -> &[u8] {
        self.executor.instance.store.data().wasi.stdout()
    }

    /// What the guest wrote to its standard error, up to the limit.
    pub fn stderr(&self) -> &[u8] {
        self.executor.instance.store.data().wasi.stderr()
    }

    /// The code given to `proc_exit`, if the execution ended so.
    pub fn exit_code(&self) -> Option<u32> {
        self.executor.instance.store.data().wasi.exit_code()
    }
}

impl Kept {
    fn new(target: &Target) -> Result<Self> {
        let engine = target.module.engine();
        let injected_bytes =
            usize::try_from(target.injected.pages << 16).context("the counters fill the address space")?;
        let limits = Limits::new(usize::try_from(target.settings.memory_bytes_max)?.saturating_add(injected_bytes));
        let mut store = Store::new(engine, Host { wasi: Wasi::new(wasi_config(target)), memory: None, limits });
        store.limiter(|host| host);
        let instance = target
            .imports
            .instantiate(&target.module, &mut store)
            .map_err(|error| initialiser_failed(error, "while it is instantiated"))?;
        store.data_mut().memory = instance.get_memory(&mut store, "memory");
        let injected = region(target, &mut store, &instance, &target.injected.memory_export)?;
        let call = bind(target, &mut store, &instance, &injected)?;
        let snapshot = Snapshot::take(target, &mut store, &instance, &injected)?;
        store.data_mut().wasi.snapshot();
        Ok(Self { store, call, injected, snapshot })
    }

    fn run(&mut self, target: &Target, input: &[u8]) -> Result<Outcome> {
        set_fuel(&self.injected, target.settings.fuel_max);
        let store = &mut self.store;
        let result = match &self.call {
            Call::Command(start) => {
                store.data_mut().wasi.reset(input);
                start.call(store, ()).map(|()| 0)
            }
            Call::Harness { function, region, input_end } => {
                store.data_mut().wasi.reset(&[]);
                let start = input_end - input.len();
                // SAFETY: no guest runs.
                unsafe { region.write(start, input) };
                function.call(store, start, input.len())
            }
        };
        if self.store.data().limits.host_failed {
            bail!(
                "failed to grow a linear memory: the machine is out of memory or of mappings\nhelp: lower --memory-max or --jobs"
            );
        }
        match result {
            Ok(-1) if matches!(self.call, Call::Harness { .. }) => Ok(Outcome::Rejected),
            Ok(_) => Ok(Outcome::Ok),
            Err(error) => {
                let context = trap::Context {
                    offsets: &target.offsets,
                    crash_on_exit: target.settings.crash_on_exit,
                    out_of_fuel: self.flag(layout::FLAG_OUT_OF_FUEL),
                    memory_refused: self.store.data().limits.refused,
                };
                if error.is::<wasmtime::ThrownException>() {
                    // The exception itself says nothing that the trap does not.
                    let _ = self.store.take_pending_exception();
                }
                context.outcome(error)
            }
        }
    }

    /// Goes back to the snapshot; `false` if that is not possible.
    fn restore(&mut self) -> Result<bool> {
        if self.flag(layout::FLAG_TABLE_GROW) || self.flag(layout::FLAG_SEGMENT_DROP) {
            return Ok(false);
        }
        let tables = self.flag(layout::FLAG_TABLE_WRITE);
        self.snapshot.restore(&mut self.store, tables)
    }

    fn flag(&self, offset: u32) -> bool {
        // SAFETY: no guest runs.
        unsafe { self.injected.bytes()[offset as usize] != 0 }
    }

    fn fuel_left(&self) -> i64 {
        let start = layout::FUEL as usize;
        // SAFETY: no guest runs.
        let bytes = unsafe { &self.injected.bytes()[start..start + 8] };
        i64::from_le_bytes(bytes.try_into().expect("eight bytes"))
    }
}

fn set_fuel(injected: &Region, fuel: u64) {
    let fuel = i64::try_from(fuel).expect("limits on fuel are far below 2^63");
    // SAFETY: no guest runs.
    unsafe { injected.write(layout::FUEL as usize, &fuel.to_le_bytes()) };
}

/// The region behind the memory that is exported as `export`.
pub(super) fn region(
    target: &Target,
    store: &mut Store<Host>,
    instance: &Instance,
    export: &str,
) -> Result<Arc<Region>> {
    let memory = instance.get_memory(&mut *store, export).context("the rewriter exports every memory")?;
    region_of(target, store, memory)
}

fn region_of(target: &Target, store: &Store<Host>, memory: Memory) -> Result<Arc<Region>> {
    target.memories.region(memory.data_ptr(store)).context("every linear memory is one of ours")
}

fn wasi_config(target: &Target) -> WasiConfig {
    let name = b"program".to_vec();
    let args = target.settings.args.iter().map(|arg| arg.as_bytes().to_vec());
    WasiConfig {
        args: std::iter::once(name).chain(args).collect(),
        work_max: target.settings.fuel_max,
        ..WasiConfig::default()
    }
}

fn initialiser_failed(error: wasmtime::Error, when: &str) -> anyhow::Error {
    anyhow::Error::from(error).context(format!("the module fails {when}, before it is given any input"))
}

/// Runs the initialisers and finds a place for the input.
fn bind(target: &Target, store: &mut Store<Host>, instance: &Instance, injected: &Region) -> Result<Call> {
    set_fuel(injected, INIT_FUEL_MAX);
    match &target.entry {
        Entry::Command { export } => Ok(Call::Command(instance.get_typed_func(&mut *store, export)?)),
        Entry::LibFuzzer { export, wide } => {
            if let Ok(initialize) = instance.get_typed_func::<(), ()>(&mut *store, "_initialize") {
                initialize.call(&mut *store, ()).map_err(|error| initialiser_failed(error, "in `_initialize`"))?;
            }
            let memory = guest_memory(target, store, instance)?;
            libfuzzer_initialize(store, instance, memory)?;
            let (memory, input_end) = input_area(target, store, instance, memory)?;
            let function = Harness::bind(store, instance, export, *wide)?;
            Ok(Call::Harness { function, region: region_of(target, store, memory)?, input_end })
        }
    }
}

/// The memory that the harness' pointer means: the export `memory`, else the first.
fn guest_memory(target: &Target, store: &mut Store<Host>, instance: &Instance) -> Result<Memory> {
    let first = target.state.memories.first();
    let named = instance.get_memory(&mut *store, "memory");
    named
        .or_else(|| instance.get_memory(&mut *store, first?))
        .context("the harness takes a pointer, but the module has no memory")
}

/// Calls `LLVMFuzzerInitialize(int *argc, char ***argv)` if there is one, with argc 1 and argv { "fuzzbox", NULL }.
fn libfuzzer_initialize(store: &mut Store<Host>, instance: &Instance, memory: Memory) -> Result<()> {
    let Ok(initialize) = instance.get_typed_func::<(i32, i32), i32>(&mut *store, "LLVMFuzzerInitialize") else {
        return Ok(());
    };
    let page = memory.data_size(&*store);
    memory
        .grow(&mut *store, 1)
        .map_err(anyhow::Error::from)
        .context("no memory for the arguments of LLVMFuzzerInitialize")?;
    let base = i32::try_from(page).context("no address for the arguments of LLVMFuzzerInitialize")?;
    let (argc, argv, array, name) = (base, base + 4, base + 8, base + 16);
    let mut bytes = Vec::new();
    for word in [1, array, name, 0] {
        bytes.extend(word.to_le_bytes());
    }
    bytes.extend(b"fuzzbox\0");
    memory.write(&mut *store, page, &bytes)?;
    initialize
        .call(&mut *store, (argc, argv))
        .map_err(|error| initialiser_failed(error, "in `LLVMFuzzerInitialize`"))?;
    Ok(())
}

/// Finds a place for the longest input. Returns the memory and the offset at which every input ends.
///
/// Memory grows by the input's pages, and every input ends where memory does: reading past it traps, as long as
/// the guest doesn't grow its memory. A memory that can't grow gives a block from the guest's own `malloc`.
fn input_area(
    target: &Target,
    store: &mut Store<Host>,
    instance: &Instance,
    memory: Memory,
) -> Result<(Memory, usize)> {
    let len = target.settings.input_bytes_max;
    let pages = u64::from(len).max(1).div_ceil(memory.page_size(&*store));
    if memory.grow(&mut *store, pages).is_ok() {
        return Ok((memory, memory.data_size(&*store)));
    }
    let malloc = instance.get_typed_func::<i32, i32>(&mut *store, "malloc").ok();
    let pointer = match &malloc {
        Some(malloc) => {
            malloc.call(&mut *store, i32::try_from(len)?).map_err(|error| initialiser_failed(error, "in `malloc`"))?
        }
        None => 0,
    };
    let end = u64::from(pointer.cast_unsigned()) + u64::from(len);
    let fits = usize::try_from(end).is_ok_and(|end| end <= memory.data_size(&*store));
    ensure!(
        pointer != 0 && fits,
        "there is no room for inputs of {len} bytes: the memory can't grow, and `malloc` {}\nhelp: lower --input-bytes-max or raise --memory-max",
        if malloc.is_some() { "failed" } else { "is not exported" }
    );
    Ok((memory, usize::try_from(end)?))
}

impl Harness {
    fn bind(store: &mut Store<Host>, instance: &Instance, export: &str, wide: bool) -> Result<Self> {
        let function = instance.get_func(&mut *store, export).context("the entry was found before")?;
        let void = function.ty(&*store).results().len() == 0;
        Ok(match (wide, void) {
            (false, false) => Self::Narrow(function.typed(&*store)?),
            (false, true) => Self::NarrowVoid(function.typed(&*store)?),
            (true, false) => Self::Wide(function.typed(&*store)?),
            (true, true) => Self::WideVoid(function.typed(&*store)?),
        })
    }

    /// Calls the harness with the input at `start`. Offsets and lengths fit: they are inside the memory.
    fn call(&self, store: &mut Store<Host>, start: usize, len: usize) -> wasmtime::Result<i32> {
        let narrow = |value: usize| u32::try_from(value).expect("inside a 32-bit memory").cast_signed();
        let wide = |value: usize| i64::try_from(value).expect("inside a memory");
        match self {
            Self::Narrow(function) => function.call(store, (narrow(start), narrow(len))),
            Self::NarrowVoid(function) => function.call(store, (narrow(start), narrow(len))).map(|()| 0),
            Self::Wide(function) => function.call(store, (wide(start), wide(len))),
            Self::WideVoid(function) => function.call(store, (wide(start), wide(len))).map(|()| 0),
        }
    }
}
