//! One kept instance: runs inputs, each from the same state.

use super::call::Call;
use super::candidate::Candidate;
use super::code::CodeCache;
use super::compiler::Code;
use super::file_args::FileArgs;
use super::hash;
use super::host::{Host, Limits};
use super::injected::Injected;
use super::interrupt::{Gate, Interrupter, Unprepared};
use super::memory::{Region, with_witness};
use super::observation::Observation;
use super::past::Past;
use super::prepare::{initialiser_failed, prepare};
use super::quick::Other;
use super::snapshot::{Snapshot, region};
use super::stack::with_room;
use super::target::{INIT_FUEL_MAX, Target, Unsuited};
use super::trap;
use super::variant::Variant;
use super::wasi::{Wasi, WasiConfig};
use super::words::Failed;
use crate::outcome::{Frame, Outcome, Trap, TrapKind};
use crate::said::Said;
use crate::settings::Settings;
use crate::stream::given::Given;
use crate::stream::{Closing, Rule};
use anyhow::{Context, Result, bail, ensure};
use fuzzbox_instrument::layout;
use std::num::NonZeroU64;
use std::sync::Arc;
use wasmtime::{AsContextMut, ExternRef, Instance, RootScope, Store};

/// Runs a target's entry on inputs, each from the state right after initialisation.
///
/// The rule is *restored equals fresh*: what an execution does never depends on what ran before it on the same executor.
/// State is restored lazily, at the start of the next run, so that the counters, the output and the memory of the last execution
/// can be looked at until then.
#[derive(Debug)]
pub struct Executor {
    pub(super) target: Arc<Target>,
    pub(super) instance: Kept,
    /// In quick code: another instance, once something failed.
    pub(super) other: Option<Other>,
    pub(super) gate: Arc<Gate>,
    /// What call sites close with.
    closing: Arc<Closing>,
    /// An execution happened since the state was restored.
    pub(super) dirty: bool,
    /// Fuel that an execution may take, in units.
    fuel_max: u64,
}

/// An instance with all that is needed to run and to restore it.
pub(super) struct Kept {
    store: Store<Host>,
    call: Call,
    pub(super) injected: Injected,
    snapshot: Snapshot,
    /// The last execution ended by a trap, or by so many frames that not all are known.
    cut: bool,
    /// The injected memory could not be made accessible again.
    pub(super) lost: bool,
    /// The last execution ended because the native stack did.
    overflowed: bool,
    /// The calls that were live when the last execution was interrupted, innermost first, where that is known.
    interrupted_in: Vec<Frame>,
    /// The stream of the last execution.
    given: Given,
    /// What the injected memory has for call sites to close with.
    closing: Arc<Closing>,
    /// What the guest said that its failure is.
    class: Option<Arc<str>>,
    instance: Instance,
    /// The guest was called after an execution, in a way that can't be undone.
    spent: bool,
    /// What the last execution might take.
    fuel_max: u64,
}

/// How an input is executed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// From the initial state.
    Restored,
    /// From that, and the guest is told that what it reports is read.
    Reporting,
    /// From whatever state there is.
    Unrestored,
}

impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kept").finish_non_exhaustive()
    }
}

impl Target {
    /// Makes `bytes` (a core module or a component, binary or text) ready to be executed under `settings`.
    ///
    /// # Errors
    ///
    /// If `bytes` is not a module that can be fuzzed: invalid, without entry, with unknown imports, or it
    /// fails while it is initialised.
    pub fn load(bytes: &[u8], settings: Settings) -> Result<Self> {
        Self::load_cached(bytes, settings, &CodeCache::default())
    }

    /// As [`Target::load`]. What machine code is in `code` is not compiled again, and what is compiled is kept there; so
    /// for the other variants that are made of the target.
    ///
    /// # Errors
    ///
    /// As for [`Target::load`]; never because of `code`.
    pub fn load_cached(bytes: &[u8], settings: Settings, code: &CodeCache) -> Result<Self> {
        Self::compiled(Candidate::new(bytes, settings)?, code, Code::Optimised)
    }

    /// Makes a candidate ready. What machine code is in `cache` is not compiled again, and what is compiled is kept there; so for the other
    /// variants that are made of the target. In quick code ([`Target::is_quick`]) it is only if that was asked for, and optimised code is
    /// not in the cache.
    ///
    /// # Errors
    ///
    /// If the module is invalid, or its initialisers fail; never because of `cache`.
    pub fn compiled(candidate: Candidate, cache: &CodeCache, code: Code) -> Result<Self> {
        Self::compiled_watched(candidate, cache, code, &|_| ())
    }

    /// As [`Target::compiled`]; `watch` is given the handle to interrupt the module with, before any of it is called.
    ///
    /// # Errors
    ///
    /// As for [`Target::compiled`], and if it was interrupted.
    pub fn compiled_watched(
        candidate: Candidate,
        cache: &CodeCache,
        code: Code,
        watch: &dyn Fn(Interrupter),
    ) -> Result<Self> {
        let again = candidate.clone();
        let target = Arc::new(Self::compile(candidate, (Variant::Metered, &Past::default()), (cache, code), None)?);
        // Whatever keeps the module from being executed is said now, not by the first worker.
        match Executor::watched(&target, watch) {
            // Where initialisers end may be a matter of how large frames are: optimised code decides.
            Err(error) if target.is_quick() && !error.is::<Unprepared>() => {
                Self::compiled_watched(again, cache, Code::Optimised, watch)
            }
            Err(error) => Err(error),
            Ok(executor) => {
                drop(executor);
                Ok(Arc::into_inner(target).expect("the executor is gone"))
            }
        }
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
        self.in_variant_after(variant, &Past::default())
    }

    /// As [`Target::in_variant`], laid out for executions like those of the past.
    ///
    /// # Errors
    ///
    /// As for [`Target::in_variant`].
    pub fn in_variant_after(self: &Arc<Self>, variant: Variant, past: &Past) -> Result<Self> {
        let made = Self::compile(self.candidate(), (variant, past), (&self.cache, Code::Optimised), None);
        let target = self.alike(made.context(Unsuited)?)?;
        Ok(Arc::into_inner(target).expect("the executor is gone"))
    }

    /// Lets what was compiled of the same module begin as this does, and share what both have.
    pub(super) fn alike(self: &Arc<Self>, mut target: Self) -> Result<Arc<Self>> {
        target.attempts = self.attempts.clone();
        target.tables = self.tables.clone();
        target.images_elsewhere = self.images();
        target.restores = self.restores;
        let target = Arc::new(target);
        let same = Executor::new(self)?.state_hash() == Executor::new(&target)?.state_hash();
        ensure!(same, "the initialisers leave another state in another variant of the module");
        Ok(target)
    }
}

impl Executor {
    /// Instantiates and initialises the target.
    ///
    /// # Errors
    ///
    /// If the module's initialiser fails, an import is unknown, or there is no place for the input.
    pub fn new(target: &Arc<Target>) -> Result<Self> {
        Self::watched(target, |_| ())
    }

    /// As [`Executor::new`]; `watch` is given the handle to interrupt the module with before any of it is called.
    ///
    /// # Errors
    ///
    /// As for [`Executor::new`], and if it was interrupted.
    pub fn watched(target: &Arc<Target>, watch: impl FnOnce(Interrupter)) -> Result<Self> {
        let gate = Arc::default();
        watch(Interrupter::new(&gate));
        let instance = with_room(target.variant.stack_bytes(), || Kept::new(target, &gate))?;
        Ok(Self {
            instance,
            other: None,
            target: target.clone(),
            gate,
            closing: Arc::default(),
            dirty: false,
            fuel_max: target.settings.fuel_max,
        })
    }

    /// A handle to interrupt executions with, from any thread; of use for as long as the executor lives.
    pub fn interrupter(&self) -> Interrupter {
        Interrupter::new(&self.gate)
    }

    /// Executes `input` from the initial state.
    ///
    /// # Errors
    ///
    /// If `input` is longer than the limit, or the host fails; never for what the guest does.
    pub fn run(&mut self, input: &[u8]) -> Result<Outcome> {
        self.execute(input, &Rule::default(), Way::Restored)
    }

    /// As [`Executor::run`], but the guest is told that what it reports is read: its feature `fuzzbox:report` is enabled.
    ///
    /// It is free to draw or to end otherwise then. So what it does without being told is what counts, and this is for people to read.
    ///
    /// # Errors
    ///
    /// As for [`Executor::run`].
    pub fn run_reporting(&mut self, input: &[u8]) -> Result<Outcome> {
        self.execute(input, &Rule::default(), Way::Reporting)
    }

    /// As [`Executor::run`] for a guest that draws: `input` is a choice stream (of any bytes), read by `rule`. For other guests the
    /// rule means nothing.
    ///
    /// # Errors
    ///
    /// As for [`Executor::run`].
    pub fn run_stream(&mut self, input: &[u8], rule: &Rule) -> Result<Outcome> {
        self.execute(input, rule, Way::Restored)
    }

    /// What call sites close with from now on in executions by a rule that says so.
    pub fn set_closing(&mut self, closing: &Arc<Closing>) {
        if !Arc::ptr_eq(&self.closing, closing) {
            self.closing = closing.clone();
        }
    }

    /// From now on an execution may take so many units of fuel, if the settings don't say fewer. It has no meaning in variants without fuel.
    pub fn set_fuel_max(&mut self, fuel_max: u64) {
        self.fuel_max = fuel_max.min(self.target.settings.fuel_max);
    }

    /// Executes `input` from whatever state the last execution left: to measure what restoring takes, and nothing else.
    ///
    /// # Errors
    ///
    /// As for [`Executor::run`].
    pub fn run_unrestored(&mut self, input: &[u8]) -> Result<Outcome> {
        self.execute(input, &Rule::default(), Way::Unrestored)
    }

    fn execute(&mut self, input: &[u8], rule: &Rule, way: Way) -> Result<Outcome> {
        let limit = self.target.settings.input_bytes_max as usize;
        ensure!(
            input.len() <= limit,
            "the input has {} bytes, the limit is {limit}\nhelp: raise it with --input-bytes-max",
            input.len()
        );
        self.leave_excerpt();
        if !self.target.is_quick() {
            return self.execute_once(input, rule, way);
        }
        let outcome = self.execute_once(input, rule, way)?;
        if outcome.trap().is_some() || self.instance.overflowed {
            return self.execute_optimised((input, rule), way, &outcome);
        }
        Ok(outcome)
    }

    pub(super) fn execute_once(&mut self, input: &[u8], rule: &Rule, way: Way) -> Result<Outcome> {
        with_room(self.target.variant.stack_bytes(), || {
            if way != Way::Unrestored
                && let Err(error) = self.restore()
            {
                return if error.is::<Unprepared>() { Ok(Outcome::Interrupted) } else { Err(error) };
            }
            self.dirty = true;
            if rule.close {
                self.instance.close_with(&self.closing);
            }
            self.instance.give(&self.target, input, rule, way == Way::Reporting);
            self.instance.fuel_max = self.fuel_max;
            self.instance.run(&self.target, &self.gate, input)
        })
    }

    /// The guest's calls that were live when the last execution was interrupted, innermost first; none where the variant doesn't tell, or the
    /// guest had returned.
    pub fn interrupted_in(&self) -> &[Frame] {
        &self.instance.interrupted_in
    }

    /// If the last execution failed: a number that tells where, the same for each failure of this executor's target with the
    /// same calls and the same kind. `None` if that isn't known, and for what did not fail.
    pub fn stack_key(&self) -> Option<NonZeroU64> {
        let Kept { store, snapshot, cut, class, .. } = &self.instance;
        let key = store.data().frames.key.filter(|_| *cut).or_else(|| snapshot.fault().key())?;
        // What the guest says a failure is tells it from others at the same place.
        let class = class.as_ref().map(|class| class.bytes().map(u64::from));
        class.map_or(Some(key), |class| NonZeroU64::new(hash::of(key.get(), class)))
    }

    /// Whether the last execution grew a memory, if that can be told.
    pub(crate) fn has_grown(&self) -> bool {
        self.target.restores && self.instance.snapshot.has_grown()
    }

    /// What the last execution showed.
    pub fn observation(&self) -> Observation<'_> {
        let Kept { store, injected, cut, lost, fuel_max, .. } = &self.instance;
        let (cut, lost, fuel_max) = (*cut, *lost, *fuel_max);
        Observation { target: &self.target, injected, host: store.data(), cut, lost, fuel_max }
    }

    /// What the guest said in the last execution, which ended with `outcome`, for people. What else that execution showed is to be asked
    /// before: the guest may be called for it, to make a text of its message.
    ///
    /// # Errors
    ///
    /// If the host fails; never for what the guest does.
    pub fn said(&mut self, outcome: &Outcome) -> Result<Said> {
        with_room(self.target.variant.stack_bytes(), || Ok(self.instance.said(&self.target, outcome)))
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
        let restores = self.target.restores && self.target.state.irreversible.is_none();
        let reversible = restores && self.instance.restore(self.target.throws)?;
        if !reversible {
            self.instance = Kept::new(&self.target, &self.gate)?;
        }
        self.dirty = false;
        Ok(())
    }
}

impl Kept {
    pub(super) fn new(target: &Target, gate: &Arc<Gate>) -> Result<Self> {
        let engine = target.module.engine();
        let injected_bytes =
            usize::try_from(target.injected.pages << 16).context("the counters fill the address space")?;
        let bytes_max = usize::try_from(target.settings.memory_bytes_max)?.saturating_add(injected_bytes);
        let added = [target.injected.trap_table_export.is_some(), target.injected.annex.is_some()];
        let limits = Limits::new(bytes_max, added.into_iter().filter(|is_there| *is_there).count());
        let mut store = Store::new(engine, Host::new(Wasi::new(wasi_config(target)), limits));
        store.limiter(|host| host);
        let instance = instantiate(target, &mut store, gate)?
            .map_err(|error| initialiser_failed(target, error, ("while it is instantiated", INIT_FUEL_MAX)))?;
        store.data_mut().memory = instance.get_memory(&mut store, "memory");
        store.data_mut().frames.count = !matches!(target.variant, Variant::Fast(_));
        let injected = region(target, &mut store, &instance, &target.injected.memory_export)?;
        let injected = Injected::new(injected, target.counters(), &target.injected);
        if target.variant.has_fuel() {
            store.data_mut().fuel = Some(injected.region().clone());
        }
        if let Some(export) = &target.injected.trap_table_export {
            trap::replace_unreachable(&mut store, &instance, export)?;
        }
        let Some(call) = prepare(target, &mut store, &instance, &injected, gate)? else {
            return Self::new(target, gate);
        };
        if target.throws {
            // The heap comes into being with its first object. It is there before the snapshot, so that an execution
            // that throws is not one that grew something.
            ExternRef::new(&mut RootScope::new(&mut store), ())?;
        }
        target.note_initialised(|| injected.counted());
        injected.forget();
        injected.forget_stream();
        let snapshot = Snapshot::take(target, &mut store, &instance, &injected, gate)?;
        store.data_mut().wasi.snapshot();
        let (given, closing) = (Given::default(), Arc::default());
        Ok(Self {
            store,
            call,
            injected,
            snapshot,
            cut: false,
            lost: false,
            overflowed: false,
            interrupted_in: Vec::new(),
            given,
            closing,
            class: None,
            instance,
            spent: false,
            fuel_max: target.settings.fuel_max,
        })
    }

    /// Lets call sites close with this.
    fn close_with(&mut self, closing: &Arc<Closing>) {
        if !Arc::ptr_eq(&self.closing, closing) {
            self.closing = closing.clone();
            self.injected.give_closing(closing);
        }
    }

    /// Gives the guest its stream, if it draws.
    fn give(&mut self, target: &Target, input: &[u8], rule: &Rule, reporting: bool) {
        if target.injected.stream.is_some() {
            self.given.set(if target.takes_choices() { input } else { &[] }, rule);
            if rule.close {
                self.given.set_closings(self.closing.bytes().len());
            }
            if reporting {
                self.given.set_reporting();
            }
            self.injected.give(&self.given);
        }
    }

    fn run(&mut self, target: &Target, gate: &Gate, input: &[u8]) -> Result<Outcome> {
        self.class = None;
        self.interrupted_in.clear();
        self.store.data_mut().frames.clear();
        self.store.data_mut().given = None;
        self.snapshot.fault().clear();
        if target.variant.has_fuel() {
            self.injected.set_fuel(self.fuel_max);
            self.store.data_mut().wasi.set_work_max(self.fuel_max);
        }
        if target.variant.has_trace() {
            // It was cleared with all else, unless nothing was restored.
            self.injected.forget_trace();
        }
        let result = self.call.run(&mut self.store, input, || gate.enter());
        self.ended(target, gate, result)
    }

    /// What became of an execution. Most end well, which is told without another look.
    fn ended(&mut self, target: &Target, gate: &Gate, result: wasmtime::Result<i32>) -> Result<Outcome> {
        let trap = result.as_ref().err().and_then(|error| error.downcast_ref::<wasmtime::Trap>());
        self.overflowed = trap == Some(&wasmtime::Trap::StackOverflow);
        let interrupted = gate.leave(Some(self.injected.region()));
        self.lost = interrupted.is_err();
        let interrupted = interrupted.context("failed to make the counters accessible after an interruption")?;
        if self.store.data().limits.host_failed {
            bail!(
                "failed to grow a linear memory: the machine is out of memory or of mappings\nhelp: lower --memory-max or --jobs"
            );
        }
        if let (Ok(given), false) = (&result, self.snapshot.forbidden_was_opened()) {
            self.cut = self.store.data().frames.cut;
            let ended = if *given == -1 { Outcome::Rejected } else { Outcome::Ok };
            return Ok(if interrupted { Outcome::Interrupted } else { ended });
        }
        self.failed(target, result, interrupted)
    }

    /// As [`Kept::ended`] for an execution that did not, or read past its input.
    #[cold]
    fn failed(&mut self, target: &Target, result: wasmtime::Result<i32>, interrupted: bool) -> Result<Outcome> {
        let outcome = self.outcome(target, result)?;
        let overrun = self.snapshot.forbidden_was_opened() && outcome.trap().is_none();
        let outcome = if overrun { Outcome::Crash(Trap::input_overrun()) } else { outcome };
        // Which of the limits such a recursion meets first depends on the size of its frames.
        let away = overflows(&outcome) && target.takes_choices() && self.injected.runs_away();
        let outcome = if away { Outcome::Overrun } else { outcome };
        let failed = outcome.trap().is_some() && target.variant.frames_max().is_none();
        self.cut = failed || self.store.data().frames.cut;
        if !interrupted {
            return Ok(outcome);
        }
        self.interrupted_in = outcome.trap().map_or_else(Vec::new, |trap| trap.frames.clone());
        Ok(Outcome::Interrupted)
    }

    /// What the guest said, on its streams and to what ended it.
    fn said(&mut self, target: &Target, outcome: &Outcome) -> Said {
        let wasi = &self.store.data().wasi;
        let said = Said::written(wasi.stdout_tail(), wasi.stderr_tail());
        let Self { store, instance, injected, snapshot, spent, lost, .. } = self;
        let (Some(trap), Some(memory), false) = (outcome.trap(), snapshot.memory(), *lost) else { return said };
        let mut failed = Failed { target, store, instance, injected, memory, spent: *spent };
        let message = if *spent { None } else { failed.message(trap) };
        *spent |= failed.spent;
        Said { message, ..said }
    }

    /// What the end of a call means.
    fn outcome(&mut self, target: &Target, result: wasmtime::Result<i32>) -> Result<Outcome> {
        match result {
            Ok(-1) => Ok(Outcome::Rejected),
            Ok(_) => Ok(Outcome::Ok),
            Err(error) => {
                let status = self.injected.status();
                if status == layout::stream::FAILED {
                    self.class = self.injected.told().failed.map(Arc::from);
                }
                let context = trap::Context {
                    status,
                    class: self.class.clone(),
                    functions: target.edges.functions.len() as u32,
                    offsets: &target.rewritten.offsets,
                    has_frames: target.variant.frames_max().is_some(),
                    crash_on_exit: target.settings.crash_on_exit,
                    out_of_fuel: self.injected.flag(layout::FLAG_OUT_OF_FUEL),
                    stack_overflow: self.injected.flag(layout::FLAG_STACK_OVERFLOW),
                    low_store: self.injected.flag(layout::FLAG_LOW_STORE),
                    memory_refused: self.store.data().limits.refused,
                };
                if target.throws && error.is::<wasmtime::ThrownException>() {
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
        if self.lost
            || self.spent
            || self.injected.flag(layout::FLAG_TABLE_GROW)
            || self.injected.flag(layout::FLAG_SEGMENT_DROP)
        {
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

/// Makes an instance, which calls the start function. It can be interrupted as soon as the injected memory is there, which comes last.
fn instantiate(target: &Target, store: &mut Store<Host>, gate: &Arc<Gate>) -> Result<wasmtime::Result<Instance>> {
    let mut make = || target.imports.instantiate(&target.module, store);
    if !target.restores {
        return Ok(make());
    }
    gate.expect(target.stop(), target.variant.has_fuel());
    let (watching, bytes) = (gate.clone(), usize::try_from(target.injected.pages << 16)?);
    let witness = move |region: &Arc<Region>| {
        if region.size() == bytes {
            watching.watch(region);
        }
    };
    gate.prepare(|| with_witness(witness, make))
}

/// Whether it may be that the stack was too small: that of the machine, or that in the guest's memory.
fn overflows(outcome: &Outcome) -> bool {
    use TrapKind as K;
    outcome.trap().is_some_and(|trap| matches!(trap.kind, K::StackOverflow | K::MemoryOutOfBounds | K::NullWrite))
}

pub(super) fn wasi_config(target: &Target) -> WasiConfig {
    let name = b"program".to_vec();
    let FileArgs { args, paths } = FileArgs::of(&target.settings.args);
    let args = args.into_iter().map(String::into_bytes);
    WasiConfig {
        args: std::iter::once(name).chain(args).collect(),
        files: paths.into_iter().map(|path| (path, Vec::new())).collect(),
        work_max: target.settings.fuel_max,
        ..WasiConfig::default()
    }
}
