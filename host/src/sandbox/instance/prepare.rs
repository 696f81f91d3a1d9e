//! From a new instance to one that waits for its first input.
//!
//! In this order: initialisers, with a place for the input in between, growth of the heap, the warm-up run. The
//! snapshot is taken after that, so each costs once what it would cost in every execution.
//!
//! Growth of the heap and a warm-up run that the guest only may have wanted are attempts. What they leave behind if
//! they fail can't be undone before there is a snapshot, so the instance is given up then, and the next one does
//! without: [`Plan`] says what is not tried again, for all instances of a target.

use crate::sandbox::entry::call::{Binding, Call, Place};
use crate::sandbox::imports::host::Host;
use crate::sandbox::imports::link::can_ask_for_snapshot;
use crate::sandbox::instance::annex::Annex;
use crate::sandbox::instance::exports::Exports;
use crate::sandbox::instance::injected::{Injected, Provision};
use crate::sandbox::interrupt::gate::Gate;
use crate::sandbox::limits::CALLS_MAX;
use crate::sandbox::memory::Region;
use crate::sandbox::source::interface::Interface;
use crate::sandbox::targets::Target;
use crate::sandbox::targets::instance_facts::{Attempt, Plan, Preparation};
use crate::settings::Settings;
use crate::stream::area::StreamArea;
use anyhow::{Context, Result, anyhow, ensure};
use std::fmt;
use wasmtime::{Instance, Store, WasmBacktrace};

/// What to say if nothing can be executed because of `error`, in a line: without all calls that were live. It happened
/// `when` so much fuel was allowed.
pub(crate) fn initialiser_failed(
    target: &Target,
    error: wasmtime::Error,
    (when, fuel_max): (&str, u64),
) -> anyhow::Error {
    let reason = match error.downcast_ref::<wasmtime::Trap>() {
        Some(wasmtime::Trap::UnreachableCodeReached) if is_ours(target, &error) => anyhow!(
            "it takes more than {fuel_max} units of fuel, has more than {CALLS_MAX} calls at a time, or writes below address 1024"
        ),
        Some(trap) => anyhow!("{trap}"),
        None => anyhow::Error::from(error),
    };
    reason.context(format!("the module fails {when}, before it is given any input"))
}

/// Whether an `unreachable` is one that the rewriter put there, where the module itself has something else.
fn is_ours(target: &Target, error: &wasmtime::Error) -> bool {
    const UNREACHABLE: u8 = 0;
    let frame = error.downcast_ref::<WasmBacktrace>().and_then(|backtrace| backtrace.frames().first());
    let offset = frame.and_then(|frame| u32::try_from(frame.module_offset()?).ok());
    let original = offset.and_then(|offset| target.rewritten.offsets.original(offset));
    original
        .and_then(|original| target.candidate.bytes().get(original as usize))
        .is_some_and(|&operator| operator != UNREACHABLE)
}

/// What comes of it.
pub(crate) enum Prepared {
    Ready {
        call: Box<dyn Call>,
        done: Preparation,
        /// What the guest's initialisers gave names, if the plan asked for them.
        names: Option<Vec<(u32, u32, String)>>,
    },
    /// An attempt was in vain: a new instance is to be made, for which it is left out.
    InVain(Attempt),
}

/// How the guest is called before there is anything to go back to.
struct Stage<'a> {
    injected: &'a Injected,
    gate: &'a Gate,
}

impl Stage<'_> {
    /// Runs `job`, which calls the guest, once it has what it needs.
    fn call<T>(&self, provision: Provision, job: impl FnOnce() -> T) -> Result<T> {
        self.injected.provide(provision);
        self.gate.prepare(job)
    }
}

/// Runs all that comes before the first input.
pub(crate) fn prepare(
    target: &Target,
    store: &mut Store<Host>,
    instance: &Instance,
    exports: &Exports,
    (injected, gate): (&Injected, &Gate),
    plan: &Plan,
) -> Result<Prepared> {
    let guest = Stage { injected, gate };
    let with_fuel = |fuel| Provision { fuel: target.variant.has_fuel().then_some(fuel), annex: None };
    guest.call(with_fuel(target.init_fuel_max()), || initialise(target, store, instance))??;
    let takes_bytes = target.candidate.entry.takes_bytes();
    let annex = make_annex(target, store, instance, exports, &guest)?;
    // What an execution may take is enough for an attempt.
    let attempt = with_fuel(target.candidate.settings.fuel_max);
    let memory = annex.as_ref().map(|annex| &*annex.region);
    let Some(heap) = guest.call(attempt, || grow_heap(target, store, instance, memory, plan))?? else {
        return Ok(Prepared::InVain(Attempt::Heap));
    };
    // What initialisers drew is no part of any execution.
    let asks = plan.names && target.rewritten.injected.stream.is_some();
    let mut names = injected.take_names(asks);
    let place = annex.as_ref().map(|annex| {
        let place = Place::new(annex.region.clone(), annex.end);
        if target.restores {
            place.forbid_what_follows();
        }
        place
    });
    let (memories, exported) = (&target.code.memories, &target.rewritten.state.memories);
    let mut call = target.candidate.entry.way().bind(Binding { memories, exported, place }, store, instance)?;
    let Some(warm_up) = guest.call(attempt, || warm_up(target, store, &mut *call, plan))?? else {
        return Ok(Prepared::InVain(Attempt::WarmUp));
    };
    // Nor is what first inputs drew; and who gives each name once has given it by then.
    let mut add_names = || {
        let more = injected.take_names(asks);
        names.iter_mut().for_each(|names| names.extend(more.iter().flatten().cloned()));
    };
    add_names();
    for input in target.warm_up_inputs() {
        injected.give(&StreamArea::of(target.stream_of(input)));
        guest.call(attempt, || execute_first(store, &mut *call, input))??;
        add_names();
        // Whoever comes next finds nothing there but what is its own.
        if let Some(annex) = &annex {
            annex.clear(target.candidate.entry.way().placed_bytes_max(input.len()));
        }
    }
    let limits = &mut store.data_mut().limits;
    ensure!(!limits.host_failed, "failed to grow a linear memory: the machine is out of memory or of mappings");
    // A growth that was refused so far is nothing that an execution did.
    limits.refused = false;
    let done = Preparation { heap, closed_page: takes_bytes && target.restores, warm_up };
    Ok(Prepared::Ready { call, done, names })
}

/// Makes the annex of the memory, if there is one, and has the harness initialise itself. It is of no interest where it
/// holds no inputs.
fn make_annex(
    target: &Target,
    store: &mut Store<Host>,
    instance: &Instance,
    exports: &Exports,
    guest: &Stage<'_>,
) -> Result<Option<Annex>> {
    let Some(annex) = Annex::make(target, store, instance, exports)? else { return Ok(None) };
    let provision = Provision { annex: Some(annex.cells), fuel: None };
    if !target.candidate.entry.takes_bytes() {
        guest.injected.provide(provision);
        return Ok(None);
    }
    guest.call(provision, || libfuzzer_initialize(target, store, instance, &annex))??;
    Ok(Some(annex))
}

/// What a module initialises itself by, if it exports it: a program that is no command. JavaScript calls
/// constructors by their own name, and what wasm-bindgen begins with; and a harness in a command, whose start is not
/// for it, has no other name for them.
pub(crate) fn initialiser<'i>(interface: &Interface, settings: &Settings) -> Option<&'i str> {
    let names = ["_initialize", "__wasm_call_ctors", "__wbindgen_start"];
    let known = match interface.function("LLVMFuzzerTestOneInput") {
        _ if settings.call.is_some() => &names[..],
        Some(_) => &names[..2],
        None => &names[..1],
    };
    known.iter().copied().find(|name| interface.function(name).is_some())
}

/// Calls the module's initialiser.
pub(crate) fn initialise(target: &Target, store: &mut Store<Host>, instance: &Instance) -> Result<()> {
    if target.candidate.entry.is_program() {
        return Ok(());
    }
    let Some(name) = initialiser(&target.candidate.interface, &target.candidate.settings) else { return Ok(()) };
    let Ok(initialize) = instance.get_typed_func::<(), ()>(&mut *store, name) else { return Ok(()) };
    initialize
        .call(store, ())
        .map_err(|error| initialiser_failed(target, error, (&format!("in `{name}`"), target.init_fuel_max())))
}

/// Calls `LLVMFuzzerInitialize(int *argc, char ***argv)` if there is one, with argc 1 and argv { "fuzzbox", NULL }.
fn libfuzzer_initialize(target: &Target, store: &mut Store<Host>, instance: &Instance, annex: &Annex) -> Result<()> {
    const NAME: &str = "LLVMFuzzerInitialize";
    let Some(function) = instance.get_func(&mut *store, NAME) else { return Ok(()) };
    let (wide, base) = (annex.memory.ty(&*store).is_64(), annex.start);
    // argc, argv[0], argv[1], argv, and the name, in words of a pointer's size.
    let word = if wide { 8 } else { 4 };
    let words = [1, base + 4 * word, 0, base + word];
    let mut bytes: Vec<u8> = words.iter().flat_map(|value| value.to_le_bytes()[..word].to_vec()).collect();
    bytes.extend(b"fuzzbox\0");
    // SAFETY: no guest runs.
    unsafe { annex.region.write(base, &bytes) };
    let (argc, argv) = (base, base + 3 * word);
    let unusual = |error| anyhow::Error::from(error).context(format!("export `{NAME}` has an unusual type"));
    let result = if wide {
        let initialize = function.typed::<(i64, i64), i32>(&*store).map_err(unusual)?;
        initialize.call(&mut *store, (i64::try_from(argc)?, i64::try_from(argv)?))
    } else {
        let initialize = function.typed::<(i32, i32), i32>(&*store).map_err(unusual)?;
        initialize.call(&mut *store, (u32::try_from(argc)?.cast_signed(), u32::try_from(argv)?.cast_signed()))
    };
    result
        .map(drop)
        .map_err(|error| initialiser_failed(target, error, ("in `LLVMFuzzerInitialize`", target.init_fuel_max())))
}

/// Lets the guest's allocator take memory: blocks are allocated and given back. Tells whether that was done; `None` if
/// the guest failed in between.
///
/// An allocator that has no more memory asks for 64 KiB or so at a time, and every execution that makes it do so pays
/// for making pages accessible and inaccessible again. So does this, which `memory` is made ready for.
fn grow_heap(
    target: &Target,
    store: &mut Store<Host>,
    instance: &Instance,
    memory: Option<&Region>,
    plan: &Plan,
) -> Result<Option<bool>> {
    let bytes = target.candidate.settings.grow_heap_bytes;
    if bytes == 0 || target.candidate.entry.is_program() || !plan.heap {
        return Ok(Some(false));
    }
    // A half is for what allocators write beside blocks, and leave between them.
    memory.map_or(Ok(()), |memory| memory.open_ahead(bytes as usize / 2 * 3))?;
    let allocator = (target.candidate.settings.allocator, &target.rewritten.injected);
    let had_any = target.candidate.entry.way().grow_heap(store, instance, allocator, bytes);
    memory.map_or(Ok(()), Region::close_ahead)?;
    Ok(had_any)
}

/// Calls the entry with the empty input, if that is wanted: by the settings, or because the guest can ask for a
/// snapshot. Tells whether that was done; `None` if it was done in vain, since the guest failed or did not ask.
fn warm_up(target: &Target, store: &mut Store<Host>, call: &mut dyn Call, plan: &Plan) -> Result<Option<bool>> {
    let ordered = target.candidate.settings.warm_up;
    let may_ask = target.candidate.entry.can_be_gone_on_with() && can_ask_for_snapshot(&target.candidate.interface);
    if !(ordered || may_ask && plan.warm_up) {
        return Ok(Some(false));
    }
    let host = store.data_mut();
    // The call begins with a reset, which must not take back what initialisers did.
    host.wasi.snapshot();
    host.asked_for_snapshot = false;
    match call.run(store, &[], &|| ()) {
        Ok(_) => Ok((ordered || store.data().asked_for_snapshot).then_some(true)),
        Err(error) if ordered => Err(anyhow::Error::from(error)
            .context("the target fails on the empty input, with which it is warmed up\nhelp: leave out --warm-up")),
        Err(_) => Ok(None),
    }
}

/// Executes an input that comes before the first: what it leaves is where executions begin.
fn execute_first(store: &mut Store<Host>, call: &mut dyn Call, input: &[u8]) -> Result<()> {
    // The call begins with a reset, which must not take back what was done before.
    store.data_mut().wasi.snapshot();
    call.run(store, input, &|| ()).map(drop).map_err(anyhow::Error::from).context(FirstInputFails)
}

/// An input that passed in one variant fails in another: so it is with those that need nearly all of the stack, since
/// frames are larger where more is done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FirstInputFails;

impl fmt::Display for FirstInputFails {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an input fails that passed, with which executions begin")
    }
}
