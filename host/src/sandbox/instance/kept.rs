//! An instance that is kept: executed, looked at, and restored.

use crate::outcome::{FailureKind, Frame, Outcome, Trap, TrapKind};
use crate::said::Said;
use crate::sandbox::code::variant::Variant;
use crate::sandbox::entry::call::{Call, Returned};
use crate::sandbox::hash;
use crate::sandbox::imports::frames;
use crate::sandbox::imports::host::{Host, Limits};
use crate::sandbox::instance::exports::Exports;
use crate::sandbox::instance::injected::Injected;
use crate::sandbox::instance::message::FailedInstance;
use crate::sandbox::instance::observation::Observation;
use crate::sandbox::instance::prepare::{Prepared, initialiser_failed, prepare};
use crate::sandbox::instance::snapshot::Snapshot;
use crate::sandbox::instance::verdict;
use crate::sandbox::interrupt::gate::Gate;
use crate::sandbox::limits::INIT_FUEL_MAX;
use crate::sandbox::memory::{Region, with_witness};
use crate::sandbox::targets::Target;
use crate::sandbox::targets::instance_facts::Lesson;
use crate::sandbox::wasi::Wasi;
use crate::stream::area::StreamArea;
use crate::stream::{Closing, Rule};
use anyhow::{Context, Result, bail};
use fuzzbox_instrument::layout::{self, Flag};
use std::num::NonZeroU64;
use std::sync::Arc;
use wasmtime::{AsContextMut, ExternRef, Instance, RootScope, Store};

/// An instance with all that is needed to run and to restore it.
pub(crate) struct KeptInstance {
    store: Store<Host>,
    call: Box<dyn Call>,
    injected: Injected,
    snapshot: Snapshot,
    /// The last execution ended by a trap, or by so many frames that not all are known.
    cut: bool,
    /// The entry returned from the last execution.
    returned: bool,
    /// The injected memory could not be made accessible again.
    lost: bool,
    /// The last execution ended because the native stack did.
    overflowed: bool,
    /// The calls that were live when the last execution was interrupted, innermost first, where that is known.
    interrupted_in: Vec<Frame>,
    /// The stream of the last execution.
    given: StreamArea,
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

impl std::fmt::Debug for KeptInstance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeptInstance").finish_non_exhaustive()
    }
}

impl KeptInstance {
    pub(crate) fn new(target: &Target, gate: &Arc<Gate>) -> Result<Self> {
        let mut plan = target.learned.plan();
        let mut host = Host::new(Wasi::new(target.candidate.wasi.clone()), limits(target)?);
        host.mutate.clone_from(&target.mutate);
        let mut store = Store::new(target.code.module.engine(), host);
        store.limiter(|host| host);
        let (instance, exports) = instantiate(target, &mut store, gate)?;
        let place = &target.rewritten.injected;
        if let Some(export) = &place.trap_table_export {
            frames::replace_unreachable(&mut store, &instance, export)?;
        }
        let host = store.data_mut();
        host.fuel = target.variant.has_fuel().then(|| exports.injected.region.clone());
        host.frames.count = !matches!(target.variant, Variant::Fast(_));
        let injected = Injected::new(exports.injected.region.clone(), target.counters(), place);
        let prepared = prepare(target, &mut store, &instance, &exports, (&injected, gate), &plan)?;
        let (call, done, names) = match prepared {
            Prepared::Ready { call, done, names } => (call, done, names),
            Prepared::InVain(attempt) => {
                target.learned.give_up(attempt);
                return Self::new(target, gate);
            }
        };
        if target.throws() {
            // The heap comes into being with its first object. It is there before the snapshot, so that an execution
            // that throws is not one that grew something.
            ExternRef::new(&mut RootScope::new(&mut store), ())?;
        }
        let counted = injected.forget(plan.initialised && target.variant.has_fuel());
        let initialised = counted.map(|counters| target.functions_of(&counters));
        let images = (&mut plan.images, &plan.tables);
        let snapshot = Snapshot::take(target, &mut store, (&instance, exports), gate, images)?;
        store.data_mut().wasi.snapshot();
        store.data_mut().has_input = true;
        target.learned.note(Lesson { done, names, initialised, images: plan.images });
        let (given, closing) = (StreamArea::default(), Arc::default());
        Ok(Self {
            store,
            call,
            injected,
            snapshot,
            cut: false,
            returned: false,
            lost: false,
            overflowed: false,
            interrupted_in: Vec::new(),
            given,
            closing,
            class: None,
            instance,
            spent: false,
            fuel_max: target.candidate.settings.fuel_max,
        })
    }

    /// Lets call sites close with this.
    pub(crate) fn close_with(&mut self, closing: &Arc<Closing>) {
        if !Arc::ptr_eq(&self.closing, closing) {
            self.closing = closing.clone();
            self.injected.give_closing(closing);
        }
    }

    /// What the last execution wrote for the host, if that is what the entry does.
    pub(crate) fn written(&self) -> Option<Vec<u8>> {
        self.call.written()
    }

    /// What the entry returned in the last execution.
    pub(crate) fn returned(&self) -> Returned<'_> {
        if self.returned { self.call.returned() } else { Returned::default() }
    }

    /// What the guest wrote to its standard output in the last execution, up to the limit.
    pub(crate) fn stdout(&self) -> &[u8] {
        self.store.data().wasi.stdout()
    }

    /// As [`KeptInstance::stdout`], to standard error.
    pub(crate) fn stderr(&self) -> &[u8] {
        self.store.data().wasi.stderr()
    }

    /// Gives the guest its stream, if it draws.
    pub(crate) fn give(&mut self, target: &Target, input: &[u8], rule: &Rule, reporting: bool) {
        if target.rewritten.injected.stream.is_some() {
            self.given.set(target.stream_of(input), rule);
            if rule.close {
                self.given.set_closings(self.closing.bytes().len());
            }
            if reporting {
                self.given.set_reporting();
            }
            self.injected.give(&self.given);
        }
    }

    pub(crate) fn run(&mut self, target: &Target, gate: &Gate, input: &[u8], fuel_max: u64) -> Result<Outcome> {
        self.fuel_max = fuel_max;
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
        let result = self.call.run(&mut self.store, input, &|| gate.enter());
        self.ended(target, gate, result)
    }

    /// What became of an execution. Most end well, which is told without another look.
    fn ended(&mut self, target: &Target, gate: &Gate, result: wasmtime::Result<i32>) -> Result<Outcome> {
        let trap = result.as_ref().err().and_then(|error| error.downcast_ref::<wasmtime::Trap>());
        self.returned = result.is_ok();
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

    /// As [`KeptInstance::ended`] for an execution that did not, or read past its input.
    #[cold]
    fn failed(&mut self, target: &Target, result: wasmtime::Result<i32>, interrupted: bool) -> Result<Outcome> {
        let outcome = self.outcome(target, result)?;
        let overrun = self.snapshot.forbidden_was_opened() && outcome.trap().is_none();
        let outcome = if overrun { Outcome::failed(FailureKind::Crash, Trap::input_overrun()) } else { outcome };
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

    /// What is in a file of the guest's.
    pub(crate) fn file(&self, path: &str) -> Option<Vec<u8>> {
        self.store.data().wasi.file(path).map(<[u8]>::to_vec)
    }

    /// What the guest said, on its streams and to what ended it.
    pub(crate) fn said(&mut self, target: &Target, outcome: &Outcome) -> Said {
        let wasi = &self.store.data().wasi;
        let said = Said::written(wasi.stdout_tail(), wasi.stderr_tail());
        let Self { store, instance, injected, snapshot, spent, lost, .. } = self;
        let (Some(trap), Some(memory), false) = (outcome.trap(), snapshot.memory(), *lost) else { return said };
        let mut failed = FailedInstance { target, store, instance, injected, memory, spent: *spent };
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
                let context = verdict::Context {
                    status,
                    class: self.class.clone(),
                    functions: target.edges.functions.len() as u32,
                    offsets: &target.rewritten.offsets,
                    has_frames: target.variant.frames_max().is_some(),
                    crash_on_exit: target.candidate.settings.crash_on_exit,
                    flags: self.injected.flags(),
                    memory_refused: self.store.data().limits.refused,
                };
                if target.throws() && error.is::<wasmtime::ThrownException>() {
                    // The exception itself says nothing that the trap does not. The scope lets go of it.
                    let mut scope = RootScope::new(&mut self.store);
                    let _ = scope.as_context_mut().take_pending_exception();
                }
                context.outcome(error)
            }
        }
    }

    /// Goes back to the snapshot; `false` if that is not possible.
    pub(crate) fn restore(&mut self, throws: bool) -> Result<bool> {
        if self.lost || self.spent {
            return Ok(false);
        }
        let flags = self.injected.flags();
        if flags.has(Flag::TableGrow) || flags.has(Flag::SegmentDrop) {
            return Ok(false);
        }
        if throws {
            // Exceptions of one execution must not fill the next one's heap.
            self.store.gc(None)?;
        }
        self.snapshot.restore(&mut self.store, flags.has(Flag::TableWrite))
    }

    /// What the last execution showed.
    pub(crate) fn observation<'a>(&'a self, target: &'a Target) -> Observation<'a> {
        let Self { store, injected, cut, lost, fuel_max, .. } = self;
        let (cut, lost, fuel_max) = (*cut, *lost, *fuel_max);
        Observation { target, injected, host: store.data(), cut, lost, fuel_max, beside: None }
    }

    /// If the last execution failed: a number that tells where, of all instances of the same code.
    pub(crate) fn stack_key(&self) -> Option<NonZeroU64> {
        let Self { store, snapshot, cut, class, .. } = self;
        let key = store.data().frames.key.filter(|_| *cut).or_else(|| snapshot.fault().key())?;
        // What the guest says a failure is tells it from others at the same place.
        let class = class.as_ref().map(|class| class.bytes().map(u64::from));
        class.map_or(Some(key), |class| NonZeroU64::new(hash::of(key.get(), class)))
    }

    /// The calls that were live when the last execution was interrupted, innermost first, where that is known.
    pub(crate) fn interrupted_in(&self) -> &[Frame] {
        &self.interrupted_in
    }

    /// Whether the last execution ended because the native stack did.
    pub(crate) fn overflowed(&self) -> bool {
        self.overflowed
    }

    /// Whether the entry returned from the last execution: it can also end the program, or fail.
    pub(crate) fn has_returned(&self) -> bool {
        self.returned
    }

    /// By how many bytes the last execution grew memories, in an instance that is restored.
    pub(crate) fn grown_bytes(&self) -> usize {
        self.snapshot.grown_bytes()
    }

    /// How often the last execution grew memories.
    pub(crate) fn growth_steps(&self) -> usize {
        self.snapshot.growth_steps()
    }

    /// The indices of the counters that are not 0, if they are accessible.
    pub(crate) fn counted(&self) -> Option<Vec<u32>> {
        (!self.lost).then(|| self.injected.counted())
    }

    /// The injected memory.
    pub(crate) fn region(&self) -> &Arc<Region> {
        self.injected.region()
    }

    /// A hash over the guest's present state.
    pub(crate) fn state_hash(&mut self) -> blake3::Hash {
        self.snapshot.hash_of_present(&mut self.store)
    }
}

/// What an instance may grow to, with what the rewriter added.
fn limits(target: &Target) -> Result<Limits> {
    let fuzzbox_instrument::Injected { pages, trap_table_export, annex, .. } = &target.rewritten.injected;
    let injected_bytes = usize::try_from(pages << 16).context("the counters fill the address space")?;
    let bytes_max = usize::try_from(target.candidate.settings.memory_bytes_max)?.saturating_add(injected_bytes);
    let tables = usize::from(trap_table_export.is_some()) + usize::from(annex.is_some());
    Ok(Limits::new(bytes_max, tables))
}

/// Makes an instance, which calls the start function. It can be interrupted as soon as the injected memory is there,
/// which comes last.
fn instantiate(target: &Target, store: &mut Store<Host>, gate: &Arc<Gate>) -> Result<(Instance, Exports)> {
    let mut make = || target.imports.instantiate(&target.code.module, store);
    let made = if target.restores {
        gate.expect(target.stop.clone(), target.variant.has_fuel());
        let (watching, bytes) = (gate.clone(), usize::try_from(target.rewritten.injected.pages << 16)?);
        let witness = move |region: &Arc<Region>| {
            // A memory of the guest's may look like it, but the injected memory is made last.
            if region.size() == bytes {
                watching.watch(region);
            }
        };
        gate.prepare(|| with_witness(witness, make))?
    } else {
        make()
    };
    let instance =
        made.map_err(|error| initialiser_failed(target, error, ("while it is instantiated", INIT_FUEL_MAX)))?;
    store.data_mut().memory = target.memory_of_host().and_then(|name| instance.get_memory(&mut *store, name));
    let exports = Exports::find(target, store, &instance)?;
    Ok((instance, exports))
}

/// Whether it may be that the stack was too small: that of the machine, or that in the guest's memory.
fn overflows(outcome: &Outcome) -> bool {
    use TrapKind as K;
    outcome.trap().is_some_and(|trap| matches!(trap.kind, K::StackOverflow | K::MemoryOutOfBounds | K::NullWrite))
}
