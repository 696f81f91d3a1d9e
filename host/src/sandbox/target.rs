//! A module made ready to be executed: rewritten, compiled, its entry chosen.

use super::candidate::Candidate;
use super::code::{CodeCache, Origin};
use super::compiler::{Code, INLINED_CODE_BYTES_MAX, compiler_settings};
use super::component::{Component, Source};
use super::entry::Entry;
use super::foreign;
use super::imports::{Imports, Missing};
use super::injected::Groups;
use super::interface::Interface;
use super::interrupt::Stop;
use super::memory::{Image, Memories};
use super::past::Past;
use super::prepare::Attempts;
use super::quick::Excerpts;
use super::signals;
use super::stack::compiling;
use super::tables::TableImage;
use super::variant::{METERED_STACK_BYTES, Variant};
use crate::id::{FindingId, InputId, ModuleId, ObjectId};
use crate::settings::Settings;
use anyhow::{Context, Result, bail};
use fuzzbox_instrument::{EdgeMap, Injected, Instrumented, StateExports};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, OnceLock};
use wasmtime::{Config, Inlining, Module};

/// Native stack that a thread should have to execute guests: the guest's, and the host functions' that it calls. On one with
/// less, [`Executor`](super::Executor) starts a thread where it has to.
pub const THREAD_STACK_BYTES: usize = METERED_STACK_BYTES + (8 << 20);

/// Heap for exceptions and other collected objects that an instance has from the start, in bytes.
const GC_HEAP_BYTES: u64 = 1 << 20;

/// Units of fuel for everything that runs before the first input: instantiation, start function, initialisers. It is in the rewritten
/// module, since a start function runs before anybody could set it; so it is the same for all limits on executions: twice their default.
/// Initialisers that are exported may take [more](Target::init_fuel_max).
pub(super) const INIT_FUEL_MAX: u64 = 4_000_000_000;

/// A module ready to be executed. Cheap to share between threads; each makes its own [`Executor`](super::Executor).
#[derive(Debug)]
pub struct Target {
    /// The original module (text already assembled); of a component the one that it is linked to.
    pub bytes: Arc<[u8]>,
    /// What was given: the module, or a component.
    pub file: Arc<[u8]>,
    /// What executes: the file without custom sections.
    pub id: ModuleId,
    /// The file's bytes as an object of the store.
    pub object: ObjectId,
    /// What else the outcomes depend on.
    pub settings: Settings,
    /// The entry that was chosen.
    pub entry: Entry,
    /// The edges of the module, the same in all variants.
    pub edges: EdgeMap,
    /// What was put into the code.
    pub variant: Variant,
    /// What the rewriter says, without the module and the edges.
    pub(super) rewritten: Instrumented,
    /// Which functions' counters are in which line.
    pub(super) groups: Groups,
    pub(super) injected: Injected,
    pub(super) state: StateExports,
    pub(super) module: Module,
    /// Where the module's code can be interrupted.
    stop: Option<Stop>,
    origin: Origin,
    /// How the machine code was made.
    code: Code,
    /// The same in optimised code, if this isn't, once it was asked for; and who makes it.
    optimised: OnceLock<Arc<Target>>,
    optimising: Mutex<()>,
    /// Those of the functions that have counters which are whole; all are if that isn't said.
    pub(super) functions: Option<BTreeSet<u32>>,
    pub(super) excerpts: Mutex<Excerpts>,
    /// If it is one: what it exports and imports.
    pub(super) component: Option<Arc<Component>>,
    pub(super) interface: Arc<Interface>,
    pub(super) imports: Imports,
    missing: Arc<Missing>,
    pub(super) memories: Arc<Memories>,
    /// The guest throws exceptions, which live on the collected heap.
    pub(super) throws: bool,
    /// What was tried before the first input; shared by variants, which do the same.
    pub(super) attempts: Arc<Attempts>,
    /// Instances are restored, by handling faults.
    pub(super) restores: bool,
    /// Where the code of other variants is looked for.
    pub(super) cache: CodeCache,
    /// Functions that ran before the first input.
    initialised: OnceLock<BTreeSet<u32>>,
    names: OnceLock<Vec<(u32, u32, String)>>,
    /// By memory, and of an annex right after its memory: what it holds when an instance is ready. Instances are equal, so one copy serves
    /// all workers.
    images: Mutex<Vec<Arc<Image>>>,
    /// Those of another variant: what is equal is had once.
    pub(super) images_elsewhere: Vec<Arc<Image>>,
    /// What tables hold then, in every variant.
    pub(super) tables: Arc<TableImage>,
}

/// Why a target is not made in a variant: engines have limits, and with what is added there the module is beyond one.
#[derive(Clone, Copy, Debug)]
pub struct Unsuited;

impl fmt::Display for Unsuited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the module is beyond what engines accept when more is put into it")
    }
}

impl Target {
    /// Whether what executions take is counted, and limited.
    pub fn has_fuel(&self) -> bool {
        self.variant.has_fuel()
    }

    /// Units of fuel that exported initialisers may take: twice as many as executions, if these may take more than by default.
    pub(super) fn init_fuel_max(&self) -> u64 {
        self.settings.fuel_max.saturating_mul(2).max(INIT_FUEL_MAX)
    }

    /// Rewrites and compiles a module, unless its code is in the cache; executes nothing. If optimised code is in the cache, it has that.
    /// If `functions` are given, others that have counters are left out.
    pub(super) fn compile(
        candidate: Candidate,
        (variant, past): (Variant, &Past),
        (cache, code): (&CodeCache, Code),
        functions: Option<BTreeSet<u32>>,
    ) -> Result<Self> {
        let Candidate { source, settings, entry, id, object, interface, missing } = candidate;
        let mut options = variant.options(past);
        options.annex = interface.memory.filter(|_| entry.takes_bytes());
        let mut rewritten = fuzzbox_instrument::instrument(&source.module, &options)?;
        let mut wasm = std::mem::take(&mut rewritten.wasm);
        if let Some(functions) = &functions {
            let counters = &rewritten.counters;
            let counts = |function| counters.of_function(function).map(|index| &counters.functions()[index].counters);
            fuzzbox_instrument::leave_out(&mut wasm, |function| {
                !functions.contains(&function) && counts(function).is_some_and(|counters| !counters.is_empty())
            })?;
        }
        let memories = Arc::new(Memories::default());
        let config = |code| config(&interface, &memories, &variant, code);
        // What can still be new is different in every campaign, and so is what failed: nobody would find such code again.
        let is_kept = !matches!(variant, Variant::Fast(_)) && functions.is_none();
        let kept = if is_kept { cache } else { &CodeCache::default() };
        let cached = if code == Code::Quick { kept.find(&config(Code::Optimised), &wasm)? } else { None };
        let (module, origin, code) = match cached {
            Some((module, origin)) => (module, origin, Code::Optimised),
            None => {
                let compiled = code.compile(|| kept.compile(&config(code), &wasm));
                let (module, origin) = compiled.context("failed to compile the rewritten module")?;
                (module, origin, code)
            }
        };
        drop(wasm);
        let stop = rewritten.injected.stop.and_then(|function| stop(&module, function));
        let protocol = &rewritten.injected.protocol_exports;
        let stubs = (settings.stub_imports, &*missing);
        let imports = Imports::of(&module, source.lowered(), stubs, variant.frames_max().is_none(), protocol)?;
        let Source { file, module: bytes, component } = source;
        Ok(Self {
            id,
            object,
            file,
            component,
            bytes,
            settings,
            entry,
            edges: std::mem::take(&mut rewritten.edges),
            injected: rewritten.injected.clone(),
            state: rewritten.state.clone(),
            groups: Groups::new(&rewritten.counters),
            rewritten,
            variant,
            stop,
            module,
            origin,
            code,
            optimised: OnceLock::new(),
            optimising: Mutex::default(),
            functions,
            excerpts: Mutex::default(),
            imports,
            missing,
            memories,
            throws: interface.has_tags,
            interface,
            attempts: Arc::default(),
            restores: signals::HANDLED,
            cache: cache.clone(),
            initialised: OnceLock::new(),
            names: OnceLock::new(),
            images: Mutex::default(),
            images_elsewhere: Vec::new(),
            tables: Arc::default(),
        })
    }

    /// The same target on a machine whose faults can't be handled: each execution has a new instance, reading past the end of an
    /// input is not found, and variants without fuel can't be interrupted. For comparisons.
    #[must_use]
    pub fn without_restoring(self) -> Self {
        let optimised = OnceLock::new();
        Self { restores: false, attempts: Arc::default(), initialised: OnceLock::new(), optimised, ..self }
    }

    /// Whether its code was made in a hurry. What fails in it is executed again in optimised code ([`Target::optimised`]), and only that
    /// counts.
    pub fn is_quick(&self) -> bool {
        self.code == Code::Quick
    }

    /// This target in optimised code; itself, if it is. The first time it is compiled, and whoever else asks meanwhile waits for that. Not to
    /// be called by a task on a pool, where waiting would run other tasks.
    ///
    /// # Errors
    ///
    /// As for [`Target::in_variant`].
    pub fn optimised(self: &Arc<Self>) -> Result<Arc<Self>> {
        if !self.is_quick() {
            return Ok(self.clone());
        }
        let _making = self.optimising.lock().expect("a panic ends the process");
        if let Some(optimised) = self.optimised.get() {
            return Ok(optimised.clone());
        }
        let made = self.in_variant(self.variant.clone())?;
        Ok(self.optimised.get_or_init(|| Arc::new(made)).clone())
    }

    /// As [`Target::optimised`], on a thread of its own.
    pub(crate) fn optimise(self: &Arc<Self>) -> Result<Receiver<Result<Arc<Self>>>> {
        let target = self.clone();
        compiling(move || target.optimised())
    }

    /// This target in optimised code, if that was made.
    pub fn optimised_by_now(&self) -> Option<&Arc<Self>> {
        self.optimised.get()
    }

    /// What it was made from.
    pub(super) fn candidate(&self) -> Candidate {
        Candidate {
            source: Source { file: self.file.clone(), module: self.bytes.clone(), component: self.component.clone() },
            settings: self.settings.clone(),
            entry: self.entry.clone(),
            id: self.id,
            object: self.object,
            interface: self.interface.clone(),
            missing: self.missing.clone(),
        }
    }

    /// Where the module's code can be interrupted; `None` if it can't be.
    pub(super) fn stop(&self) -> Option<Stop> {
        self.stop.clone()
    }

    /// Whether an [`Interrupter`](super::Interrupter) can end executions, as what has no fuel needs.
    pub fn can_be_interrupted(&self) -> bool {
        self.restores
    }

    /// Whether the machine code was found in the cache, and nothing had to be compiled.
    pub fn was_cached(&self) -> bool {
        self.origin.cached
    }

    /// Whether a function was entered before the first input: by the start function or an initialiser. What these
    /// execute is no part of any execution. Known once an executor was made.
    pub fn is_initialiser(&self, function: u32) -> bool {
        self.initialised.get().is_some_and(|functions| functions.contains(&function))
    }

    /// The functions that ran before the first input, as far as that is known.
    pub(super) fn initialised(&self) -> impl Iterator<Item = u32> {
        self.initialised.get().into_iter().flatten().copied()
    }

    /// Notes what the initialisers executed, by the indices of counters that are not 0.
    pub(super) fn note_initialised(&self, counted: impl FnOnce() -> Vec<u32>) {
        if self.variant.has_fuel() {
            self.initialised.get_or_init(|| self.functions_of(&counted()));
        }
    }

    /// The functions that have these counters.
    pub(super) fn functions_of(&self, counters: &[u32]) -> BTreeSet<u32> {
        let map = &self.rewritten.counters;
        let function = |&counter: &u32| map.of_counter(counter).map(|index| map.functions()[index].function);
        counters.iter().filter_map(function).collect()
    }

    /// Notes what the initialisers gave names.
    pub(super) fn note_names(&self, names: impl FnOnce() -> Vec<(u32, u32, String)>) {
        if self.injected.stream.is_some() {
            self.names.get_or_init(names);
        }
    }

    /// What the guest's initialisers gave names (`fuzzbox_v1.name`): of what kind, the id, the name. Known once an executor was made, in
    /// variants that record draws.
    pub fn names(&self) -> &[(u32, u32, String)] {
        self.names.get().map_or(&[], |names| names)
    }

    /// How many counters there are.
    pub(super) fn counters(&self) -> usize {
        self.rewritten.counters.len() as usize
    }

    /// The images that were made so far.
    pub(super) fn images(&self) -> Vec<Arc<Image>> {
        self.images.lock().expect("no panic while held").clone()
    }

    /// Whether code compares addresses with the end of the guest's part.
    pub(crate) fn compares_addresses(&self) -> bool {
        self.injected.annex.as_ref().is_some_and(|annex| annex.bounds)
    }

    /// Image number `index`, of a memory or an annex whose bytes in a new instance are `bytes`.
    pub(super) fn image(&self, index: usize, bytes: &[u8]) -> std::io::Result<Arc<Image>> {
        let mut images = self.images.lock().expect("no panic while held");
        if index == images.len() {
            let equal = self.images_elsewhere.get(index).filter(|image| *image.bytes() == *bytes);
            images.push(equal.map_or_else(|| Image::of(bytes).map(Arc::new), |image| Ok(image.clone()))?);
        }
        let image = images[index].clone();
        debug_assert!(*image.bytes() == *bytes, "two instances of a module differ before they are given input");
        Ok(image)
    }

    /// The address of the result of executing `input`: a hash over everything that its outcome depends on.
    pub fn result_id(&self, input: InputId) -> FindingId {
        let settings = serde_json::to_vec(&self.settings).expect("settings are plain data");
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"fuzzbox result 1\n").update(&self.id.0).update(&input.0).update(&settings);
        FindingId(*hasher.finalize().as_bytes())
    }

    /// Whether inputs are choice streams.
    pub fn takes_choices(&self) -> bool {
        matches!(self.entry, Entry::Property { .. })
    }

    /// The export that checks the values which the entry gives away, if the entry is a property in two parts.
    pub fn check_of_values(&self) -> Option<String> {
        self.entry.check_of_values(&self.interface)
    }

    /// How the module's state is restored after an execution, and why, for people.
    pub fn restore_plan(&self) -> String {
        restore_plan(&self.state, self.restores)
    }
}

/// How what is exported as state is restored, and why, for people.
pub(super) fn restore_plan(state: &StateExports, restores: bool) -> String {
    match state.irreversible {
        _ if !restores => "a new instance for every execution: faults are not handled here".to_owned(),
        Some(reason) => format!("a new instance for every execution: {reason}"),
        None => format!(
            "kept instance: written pages (memories: {}), mutable globals ({}), tables when written ({}); \
             a new instance after an execution that grew a table or dropped a segment",
            state.memories.len(),
            state.globals.len(),
            state.tables.len()
        ),
    }
}

/// Turns wasm text into a binary module; leaves a binary as it is.
///
/// # Errors
///
/// If `bytes` is neither, or the text has errors.
pub fn assemble(bytes: &[u8]) -> Result<Cow<'_, [u8]>> {
    if bytes.is_empty() {
        bail!("the file is empty");
    }
    if bytes.starts_with(b"\0") {
        foreign::refuse_object(bytes)?;
        return Ok(bytes.into());
    }
    foreign::refuse(bytes)?;
    let text = std::str::from_utf8(bytes).ok().filter(|text| {
        let start = text.trim_start();
        start.starts_with('(') || start.starts_with(';')
    });
    let Some(text) = text else { bail!("it is neither a wasm module (no `\\0asm` at its start) nor wasm text") };
    Ok(wat::parse_str(text)?.into())
}

/// wasmtime's settings for a variant of a module.
fn config(interface: &Interface, memories: &Arc<Memories>, variant: &Variant, code: Code) -> Config {
    let mut config = compiler_settings();
    code.apply(&mut config);
    config
        .max_wasm_stack(variant.stack_bytes())
        .async_stack_size(variant.stack_bytes()) // nothing is asynchronous; it must not be less
        .wasm_backtrace_max_frames(variant.frames_max())
        .gc_heap_initial_size(GC_HEAP_BYTES)
        .with_host_memory(memories.clone());
    if let Variant::Fast(_) = variant
        && interface.code_bytes <= INLINED_CODE_BYTES_MAX
    {
        config.compiler_inlining(Inlining::Yes);
    }
    config
}

/// Where the code of a module is, and in it the code of `function`, at which interrupted code goes on.
fn stop(module: &Module, function: u32) -> Option<Stop> {
    let base = module.text().as_ptr() as usize;
    let at = module.functions().find(|other| other.index.as_u32() == function)?.offset;
    // What lies between the module's functions is nothing; how they are entered from outside, and leave it, lies behind all of them.
    let (start, end) = module
        .functions()
        .fold((at, at), |(start, end), function| (start.min(function.offset), end.max(function.offset + function.len)));
    Some(Stop { functions: base + start..base + end, at: base + at })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interruptible_is_the_code_of_the_modules_functions_and_nothing_else() {
        let functions: String = (0..300)
            .map(|index| format!("(func (export \"f{index}\") (call $import) (drop (memory.grow (i32.const 1))))"))
            .collect();
        let text = format!(
            r#"(module (import "fuzzbox_v1" "snapshot_here" (func $import)) (memory 1) {functions}
            (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32) (i32.const 0)))"#
        );
        let metered = Arc::new(Target::load(text.as_bytes(), Settings::default()).unwrap());
        assert_eq!(metered.stop(), None, "it has fuel");
        for variant in [Variant::Full, Variant::Fast(fuzzbox_instrument::EdgeSet::default())] {
            let target = metered.in_variant(variant).unwrap();
            let Stop { functions, at } = target.stop().unwrap();
            let base = target.module.text().as_ptr() as usize;
            let mut ranges: Vec<_> =
                target.module.functions().map(|function| (base + function.offset, function.len)).collect();
            ranges.sort_unstable();
            assert!(ranges.iter().any(|&(start, _)| start == at));
            let mut end = functions.start;
            for (start, len) in ranges {
                // As far as the next multiple of the alignment of functions.
                assert!((end..end + 64).contains(&start), "something lies between functions");
                end = start + len;
            }
            assert_eq!(end, functions.end);
            assert!(base + target.module.text().len() > end, "the ways in and out lie behind");
        }
    }
}
