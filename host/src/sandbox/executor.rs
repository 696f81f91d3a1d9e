//! One kept instance: runs inputs, each from the same state.

use super::call::{Call, bind, initialiser_failed};
use super::fault::FaultRecord;
use super::host::{Host, Limits};
use super::injected::Injected;
use super::interrupt::{Gate, Interrupter};
use super::outcome::Outcome;
use super::settings::Settings;
use super::snapshot::{Snapshot, region};
use super::target::Target;
use super::trap;
use super::variant::Variant;
use super::wasi::{Wasi, WasiConfig};
use anyhow::{Context, Result, bail, ensure};
use fuzzbox_instrument::{Left, layout};
use std::sync::Arc;
use wasmtime::{AsContextMut, ExternRef, RootScope, Store};

/// Runs a target's entry on inputs, each from the state right after initialisation.
///
/// The rule is *restored equals fresh*: what an execution does never depends on what ran before it on the same executor.
/// State is restored lazily, at the start of the next run, so that the counters, the output and the memory of the last execution
/// can be looked at until then.
#[derive(Debug)]
pub struct Executor {
    target: Arc<Target>,
    instance: Kept,
    gate: Arc<Gate>,
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
    injected: Injected,
    snapshot: Snapshot,
    /// Frames that the end of the last execution left, where counts depend on them.
    left: Vec<Left>,
    /// The injected memory could not be made accessible again.
    lost: bool,
}

impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kept").finish_non_exhaustive()
    }
}

impl Target {
    /// Makes `bytes` (a core module, binary or text) ready to be executed under `settings`.
    ///
    /// # Errors
    ///
    /// If `bytes` is not a module that can be fuzzed: invalid, a component, without entry, with unknown imports, or it
    /// fails while it is initialised.
    pub fn load(bytes: &[u8], settings: Settings) -> Result<Self> {
        let target = Arc::new(Self::compile(bytes, settings, Variant::Metered)?);
        // Whatever keeps the module from being executed is said now, not by the first worker.
        drop(Executor::new(&target)?);
        Ok(Arc::into_inner(target).expect("the executor is gone"))
    }

    /// As [`Target::load`], in a variant.
    ///
    /// # Errors
    ///
    /// As for [`Target::load`] and [`Target::in_variant`].
    pub fn load_variant(bytes: &[u8], settings: Settings, variant: Variant) -> Result<Self> {
        let target = Self::load(bytes, settings)?;
        if variant == Variant::Metered { Ok(target) } else { Arc::new(target).in_variant(variant) }
    }

    /// Makes the same module ready in another variant, under the same settings.
    ///
    /// Nobody interrupts initialisers. They end here because they ended before, when this target was loaded: in
    /// [`Variant::Metered`] an endless one runs out of fuel.
    ///
    /// # Errors
    ///
    /// If the module can't be rewritten so, or the initialisers leave another state in this variant than in the other,
    /// which would be a mistake of ours.
    pub fn in_variant(self: &Arc<Self>, variant: Variant) -> Result<Self> {
        let target = Arc::new(Self::compile(&self.bytes, self.settings.clone(), variant)?);
        let same = Executor::new(self)?.state_hash() == Executor::new(&target)?.state_hash();
        ensure!(same, "the initialisers leave another state in another variant of the module");
        Ok(Arc::into_inner(target).expect("the executor is gone"))
    }
}

impl Executor {
    /// Instantiates and initialises the target.
    ///
    /// # Errors
    ///
    /// If the module's initialiser fails, an import is unknown, or there is no place for the input.
    pub fn new(target: &Arc<Target>) -> Result<Self> {
        let gate = Arc::default();
        Ok(Self { instance: Kept::new(target, &gate)?, target: target.clone(), gate, dirty: false })
    }

    /// A handle to interrupt executions with, from any thread, for as long as the executor lives.
    pub fn interrupter(&self) -> Interrupter {
        Interrupter::new(self.gate.clone())
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
        self.instance.run(&self.target, &self.gate, input)
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
        let reversible = self.target.state.irreversible.is_none() && self.instance.restore(self.target.throws)?;
        if !reversible {
            self.instance = Kept::new(&self.target, &self.gate)?;
        }
        self.dirty = false;
        Ok(())
    }
}

impl Observation<'_> {
    /// Calls `visit` with the index and the count of every edge that was executed and whose count is known in the target's
    /// variant. The order is not defined.
    pub fn edges(&self, mut visit: impl FnMut(u32, u32)) {
        let Executor { instance, target, .. } = self.executor;
        if instance.lost {
            return;
        }
        let Some(rewritten) = &target.counts else { return instance.injected.counters(visit) };
        let mut counters = vec![0; target.counters()];
        instance.injected.counters(|index, value| counters[index as usize] = value);
        let counts = (0..).zip(rewritten.edge_counts(&counters, &instance.left));
        counts.filter(|&(_, count)| count != 0).for_each(|(edge, count)| visit(edge, count));
    }

    /// Fuel that was used, in units (about one per instruction), the work of WASI calls included. Only the latter in variants
    /// that have no fuel.
    pub fn fuel(&self) -> u64 {
        let Executor { instance, target, .. } = self.executor;
        if !target.variant.has_fuel() {
            return instance.store.data().wasi.work();
        }
        let guest = target.settings.fuel_max.saturating_add_signed(instance.injected.fuel_left().saturating_neg());
        guest.saturating_add(instance.store.data().wasi.work())
    }

    /// Where the guest's code was when it faulted.
    pub fn fault(&self) -> &FaultRecord {
        self.executor.instance.snapshot.fault()
    }

    /// Whether a bulk operator or a host function touched the page behind the input, where the guest's loads and stores trap.
    pub fn touched_forbidden_page(&self) -> bool {
        self.executor.instance.snapshot.forbidden_was_opened()
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
    fn new(target: &Target, gate: &Arc<Gate>) -> Result<Self> {
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
        let injected = Injected::new(injected, target.counters());
        if let Some(export) = &target.injected.trap_table_export {
            trap::replace_unreachable(&mut store, &instance, export)?;
        }
        let call = bind(target, &mut store, &instance, &injected)?;
        if target.throws {
            // The heap comes into being with its first object. It is there before the snapshot, so that an execution
            // that throws is not one that grew something.
            ExternRef::new(&mut RootScope::new(&mut store), ())?;
        }
        target.note_initialised(|| injected.counted());
        injected.forget();
        let snapshot = Snapshot::take(target, &mut store, &instance, &injected, gate)?;
        store.data_mut().wasi.snapshot();
        Ok(Self { store, call, injected, snapshot, left: Vec::new(), lost: false })
    }

    fn run(&mut self, target: &Target, gate: &Gate, input: &[u8]) -> Result<Outcome> {
        self.left.clear();
        self.snapshot.fault().clear();
        if target.variant.has_fuel() {
            self.injected.set_fuel(target.settings.fuel_max);
        }
        let store = &mut self.store;
        let result = match &self.call {
            Call::Command(start) => {
                store.data_mut().wasi.reset(input);
                gate.enter();
                start.call(store, ()).map(|()| 0)
            }
            Call::Harness { function, region, input_end } => {
                store.data_mut().wasi.reset(&[]);
                let start = input_end - input.len();
                // SAFETY: no guest runs.
                unsafe { region.write(start, input) };
                gate.enter();
                function.call(store, start, input.len())
            }
        };
        let interrupted = gate.leave(self.injected.region());
        self.lost = interrupted.is_err();
        let interrupted = interrupted.context("failed to make the counters accessible after an interruption")?;
        if self.store.data().limits.host_failed {
            bail!(
                "failed to grow a linear memory: the machine is out of memory or of mappings\nhelp: lower --memory-max or --jobs"
            );
        }
        let outcome = self.outcome(target, result)?;
        Ok(if interrupted { Outcome::Interrupted } else { outcome })
    }

    /// What the end of a call means.
    fn outcome(&mut self, target: &Target, result: wasmtime::Result<i32>) -> Result<Outcome> {
        match result {
            Ok(-1) if matches!(self.call, Call::Harness { .. }) => Ok(Outcome::Rejected),
            Ok(_) => Ok(Outcome::Ok),
            Err(error) => {
                if target.counts.is_some() {
                    self.left.extend(trap::left(&error));
                }
                let context = trap::Context {
                    offsets: &target.offsets,
                    crash_on_exit: target.settings.crash_on_exit,
                    out_of_fuel: self.injected.flag(layout::FLAG_OUT_OF_FUEL),
                    memory_refused: self.store.data().limits.refused,
                };
                if error.is::<wasmtime::ThrownException>() {
                    // The exception itself says nothing that the trap does not. The scope lets go of it.
                    let mut scope = RootScope::new(&mut self.store);
                    let _ = scope.as_context_mut().take_pending_exception();
                }
                context.outcome(error)
            }
        }
    }

    /// Goes back to the snapshot; `false` if that is not possible.
    fn restore(&mut self, throws: bool) -> Result<bool> {
        if self.lost || self.injected.flag(layout::FLAG_TABLE_GROW) || self.injected.flag(layout::FLAG_SEGMENT_DROP) {
            return Ok(false);
        }
        if throws {
            // Exceptions of one execution must not fill the next one's heap.
            self.store.gc(None)?;
        }
        let tables = self.injected.flag(layout::FLAG_TABLE_WRITE);
        self.snapshot.restore(&mut self.store, tables)
    }
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
