//! The entry bound to an instance: initialisers, the place of the input, and the call itself.

use super::entry::Entry;
use super::host::Host;
use super::injected::Injected;
use super::memory::Region;
use super::snapshot::region_of;
use super::target::{INIT_FUEL_MAX, Target};
use anyhow::{Context, Result, ensure};
use std::sync::Arc;
use wasmtime::{Instance, Memory, Store, TypedFunc};

/// The entry, bound to an instance.
pub(super) enum Call {
    Harness { function: Harness, region: Arc<Region>, input_end: usize },
    Command(TypedFunc<(), ()>),
}

pub(super) enum Harness {
    Narrow(TypedFunc<(i32, i32), i32>),
    NarrowVoid(TypedFunc<(i32, i32), ()>),
    Wide(TypedFunc<(i64, i64), i32>),
    WideVoid(TypedFunc<(i64, i64), ()>),
}

pub(super) fn initialiser_failed(error: wasmtime::Error, when: &str) -> anyhow::Error {
    anyhow::Error::from(error).context(format!("the module fails {when}, before it is given any input"))
}

/// Runs the initialisers and finds a place for the input.
pub(super) fn bind(target: &Target, store: &mut Store<Host>, instance: &Instance, injected: &Injected) -> Result<Call> {
    if target.variant.has_fuel() {
        injected.set_fuel(INIT_FUEL_MAX);
    }
    match &target.entry {
        Entry::Command { export } => Ok(Call::Command(instance.get_typed_func(&mut *store, export)?)),
        Entry::LibFuzzer { export, wide } => {
            if let Ok(initialize) = instance.get_typed_func::<(), ()>(&mut *store, "_initialize") {
                initialize.call(&mut *store, ()).map_err(|error| initialiser_failed(error, "in `_initialize`"))?;
            }
            let memory = guest_memory(target, store, instance)?;
            libfuzzer_initialize(store, instance, memory, *wide)?;
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
fn libfuzzer_initialize(store: &mut Store<Host>, instance: &Instance, memory: Memory, wide: bool) -> Result<()> {
    const NAME: &str = "LLVMFuzzerInitialize";
    let Some(function) = instance.get_func(&mut *store, NAME) else { return Ok(()) };
    let base = memory.data_size(&*store);
    memory
        .grow(&mut *store, 1)
        .map_err(anyhow::Error::from)
        .with_context(|| format!("no memory for the arguments of {NAME}"))?;
    // argc, argv[0], argv[1], argv, and the name, in words of a pointer's size.
    let word = if wide { 8 } else { 4 };
    let words = [1, base + 4 * word, 0, base + word];
    let mut bytes: Vec<u8> = words.iter().flat_map(|value| value.to_le_bytes()[..word].to_vec()).collect();
    bytes.extend(b"fuzzbox\0");
    memory.write(&mut *store, base, &bytes)?;
    let (argc, argv) = (base, base + 3 * word);
    let unusual = |error| anyhow::Error::from(error).context(format!("export `{NAME}` has an unusual type"));
    let result = if wide {
        let initialize = function.typed::<(i64, i64), i32>(&*store).map_err(unusual)?;
        initialize.call(&mut *store, (i64::try_from(argc)?, i64::try_from(argv)?))
    } else {
        let initialize = function.typed::<(i32, i32), i32>(&*store).map_err(unusual)?;
        initialize.call(&mut *store, (u32::try_from(argc)?.cast_signed(), u32::try_from(argv)?.cast_signed()))
    };
    result.map(drop).map_err(|error| initialiser_failed(error, "in `LLVMFuzzerInitialize`"))
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
    pub(super) fn call(&self, store: &mut Store<Host>, start: usize, len: usize) -> wasmtime::Result<i32> {
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
