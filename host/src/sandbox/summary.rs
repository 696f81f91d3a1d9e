//! What a person wants to know about a module before it is fuzzed.

use crate::id::ModuleId;
use crate::sandbox::candidate::{check_limits, choose, interface, recipe, refuse_kind};
use crate::sandbox::code::history::History;
use crate::sandbox::code::variant::Variant;
use crate::sandbox::conventions;
use crate::sandbox::conventions::Proposal;
use crate::sandbox::conventions::kind::Kind;
use crate::sandbox::entry::Entry;
use crate::sandbox::entry::parameter::Parameter;
use crate::sandbox::imports::missing::{are_provided, missing, personalities};
use crate::sandbox::instance::prepare::initialiser;
use crate::sandbox::machine::registers::HANDLED;
use crate::sandbox::source::interface::{Import, Interface};
use crate::sandbox::source::words::Shortened;
use crate::sandbox::source::{Source, assemble};
use crate::sandbox::targets::instance_facts::Preparation;
use crate::sandbox::targets::{Target, restore_plan};
use crate::settings::{EntryArgs, Settings, Stub};
use anyhow::Result;
use serde::Serialize;
use std::collections::BTreeSet;
use wasmparser::{FuncType, TypeRef, Validator, WasmFeatures};

/// More exports than this are not proposed as entries.
const PROPOSED_MAX: usize = 8;

/// A module in words and numbers, for `inspect`.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// The module's id.
    pub module: ModuleId,
    /// What keeps it from being fuzzed under these settings, each with what helps; nothing if it can be.
    pub obstacles: Vec<String>,
    /// The entry and how it takes its input; null if there is none.
    pub entry: Option<String>,
    /// Exports that can be named by `--entry` and are not chosen without it, those over pointer and length first; not
    /// all if there are many.
    pub other_entries: Vec<String>,
    /// What made the module, as far as its imports and exports tell.
    pub kind: Option<String>,
    /// Ways to call exports by `--call`, the most promising first; not all if there are many.
    pub calls: Vec<Proposal>,
    /// How what is missing is best stubbed, if something is: functions that return nothing return, and a call of
    /// another rejects the input, so that nothing is found that is nobody's mistake.
    pub stubs: Option<Stub>,
    /// Hosts beside WASI that it gets, each with what is not known of it.
    pub personalities: Vec<String>,
    /// Where the input is for the guest.
    pub input: Option<String>,
    /// Whether a read past the end of the input is found.
    pub over_read: Option<&'static str>,
    /// What runs before the first input, in this order.
    pub before: Vec<String>,
    /// `module.name type`, in the module's order.
    pub imports: Vec<String>,
    /// Those of `imports` that nobody provides.
    pub missing: Vec<String>,
    /// `name type`: functions over pointer and length first, then other functions, then the rest, in the module's
    /// order.
    pub exports: Vec<String>,
    /// Size and limit of each linear memory of the guest.
    pub memories: Vec<String>,
    /// Edges that are counted; null if the module can't be rewritten.
    pub edges: Option<u64>,
    /// Functions that have edges.
    pub functions: Option<u64>,
    /// How state is restored after an execution, and why so.
    pub restore: Option<String>,
    /// Writes below address 1024 are found.
    pub finds_low_stores: bool,
    /// The module has debug information.
    pub has_dwarf: bool,
}

impl Summary {
    /// Describes a module or a component, binary or text, and what is known of it under `settings`. Nothing is
    /// compiled. `glue` is the JavaScript that was made with it.
    ///
    /// # Errors
    ///
    /// If it is neither, or invalid; not because it can't be fuzzed.
    pub fn of(bytes: &[u8], settings: &Settings, glue: &str) -> Result<Self> {
        let file = assemble(bytes)?;
        let module = ModuleId::of(&fuzzbox_instrument::strip_custom_sections(&file)?);
        let source = match Source::new(&file).and_then(|source| called(source, settings, glue)) {
            Ok(source) => source,
            Err(error) => {
                let obstacles = vec![obstacle(&file, error)?];
                return Ok(Self { obstacles, ..Self::empty(module) });
            }
        };
        let interface = interface(&source)?;
        let mut summary = Self::of_interface(module, &source, &interface, settings.stub_imports)?;
        let refused = refuse_kind(&source, settings).err();
        // What is refused is often large, and nobody asks how it would be rewritten.
        match refused {
            None => summary.describe_code(&source, settings)?,
            Some(_) => _ = Validator::new_with_features(WasmFeatures::all()).validate_all(&source.module)?,
        }
        if source.component.is_none() {
            summary.describe_kind(&source, &interface, glue);
        }
        summary.obstacles.extend(refused.as_ref().map(in_a_line));
        let limits = check_limits(&interface, settings).err();
        let imports = missing(&interface, source.lowered(), settings.stub_imports).err();
        let entry = choose(&source, &interface, settings);
        summary.other_entries = other_entries(&source, &interface, entry.as_ref().ok());
        match entry {
            Ok(entry) => summary.describe_entry(&entry, &interface, settings, None),
            // The ways to call it are told one by one.
            Err(error) => summary.obstacles.push(before_help(in_a_line(&error), &summary.calls)),
        }
        summary.obstacles.extend(limits.iter().chain(&imports).map(in_a_line));
        Ok(summary)
    }

    fn empty(module: ModuleId) -> Self {
        Self {
            module,
            obstacles: Vec::new(),
            entry: None,
            other_entries: Vec::new(),
            kind: None,
            calls: Vec::new(),
            stubs: None,
            personalities: Vec::new(),
            input: None,
            over_read: None,
            before: Vec::new(),
            imports: Vec::new(),
            missing: Vec::new(),
            exports: Vec::new(),
            memories: Vec::new(),
            edges: None,
            functions: None,
            restore: None,
            finds_low_stores: false,
            has_dwarf: false,
        }
    }

    /// What the sections say.
    fn of_interface(module: ModuleId, source: &Source, interface: &Interface, stub: Option<Stub>) -> Result<Self> {
        let shown = |import: &Import| {
            format!("{}.{} {}", visible(&import.module), visible(&import.name), interface.describe(import.ty))
        };
        let provided = are_provided(interface, source.lowered(), stub)?;
        let missing = interface.imports.iter().zip(provided).filter(|(_, provided)| !provided);
        let missing: Vec<_> = missing.map(|(import, _)| import).collect();
        let mut exports: Vec<_> = interface.exports.iter().filter(|export| !export.is_ours()).collect();
        exports.sort_by_key(|export| {
            let function = interface.function_type(export.ty);
            let takes_bytes = function.is_some_and(|ty| takes_bytes(interface, ty));
            (!takes_bytes, function.is_none())
        });
        let exports =
            exports.iter().map(|export| format!("{} {}", visible(&export.name), interface.describe(export.ty)));
        let memories = interface.memories.iter().map(|&memory| interface.describe(TypeRef::Memory(memory)));
        Ok(Self {
            imports: interface.imports.iter().map(shown).collect(),
            stubs: if missing.is_empty() { None } else { stub.or(Some(best_stub(interface, &missing))) },
            missing: missing.into_iter().map(shown).collect(),
            exports: match &source.component {
                Some(component) => component.exports(),
                None => exports.collect(),
            },
            memories: memories.collect(),
            has_dwarf: fuzzbox_instrument::custom_sections(&source.module).any(|(name, _)| name == ".debug_line"),
            ..Self::empty(module)
        })
    }

    /// What is seen when it is rewritten.
    fn describe_code(&mut self, source: &Source, settings: &Settings) -> Result<()> {
        let options = Variant::Metered.options(&History::default(), settings);
        match fuzzbox_instrument::instrument(&source.module, &options) {
            Ok(rewritten) => {
                let functions: BTreeSet<u32> = rewritten.edges.edges.iter().map(|edge| edge.function).collect();
                self.edges = Some(rewritten.edges.edges.len() as u64);
                self.functions = Some(functions.len() as u64);
                self.restore = Some(restore_plan(&rewritten.state, HANDLED));
                self.finds_low_stores = rewritten.finds_low_stores;
            }
            Err(error) => self.obstacles.push(obstacle(&source.module, error)?),
        }
        Ok(())
    }

    /// What made it, how it can be called, and who provides what it imports.
    fn describe_kind(&mut self, source: &Source, interface: &Interface, glue: &str) {
        self.kind = Some(Kind::of(interface)).filter(|kind| *kind != Kind::Plain).map(|kind| kind.to_string());
        // Of what is refused no line would do, and programs of Go's are called as a whole.
        let kind = Kind::of(interface);
        if kind.refusal().is_none() && kind != Kind::Go {
            self.calls = conventions::checked(interface, &source.module, glue, PROPOSED_MAX, false);
        }
        self.personalities = personalities(interface)
            .into_iter()
            .map(|(personality, unknown)| match &unknown[..] {
                [] => personality.to_string(),
                _ => format!("{personality}; a call ends the execution as rejected of {}", unknown.join(", ")),
            })
            .collect();
    }

    /// What follows from the entry. `done` is what was done before the first input; what will be done, as far as it can
    /// be foreseen, if that isn't known.
    fn describe_entry(&mut self, entry: &Entry, interface: &Interface, settings: &Settings, done: Option<Preparation>) {
        let done = done.unwrap_or_else(|| Preparation::expected(entry, interface, settings));
        self.entry = Some(entry.to_string());
        self.input = Some(entry.way().place(done.closed_page));
        self.over_read = Some(entry.way().over_read(done.closed_page));
        self.before = before(entry, interface, settings, done);
    }
}

impl Target {
    /// Describes the target. Once an executor was made, that includes what was done before the first input.
    pub fn summary(&self) -> Summary {
        let source = &self.candidate.source;
        let functions: BTreeSet<u32> = self.edges.edges.iter().map(|edge| edge.function).collect();
        let mut summary = Summary {
            edges: Some(self.edges.edges.len() as u64),
            functions: Some(functions.len() as u64),
            restore: Some(self.restore_plan()),
            finds_low_stores: self.rewritten.finds_low_stores,
            ..Summary::of_interface(
                self.candidate.id,
                source,
                &self.candidate.interface,
                self.candidate.settings.stub_imports,
            )
            .unwrap_or_else(|_| Summary::empty(self.candidate.id))
        };
        summary.describe_entry(
            &self.candidate.entry,
            &self.candidate.interface,
            &self.candidate.settings,
            self.learned.done(),
        );
        summary
    }
}

/// What does the least harm in the place of imports that nobody provides.
fn best_stub(interface: &Interface, missing: &[&Import]) -> Stub {
    let returns = |import: &&Import| interface.function_type(import.ty).is_some_and(|ty| !ty.results().is_empty());
    if missing.iter().any(returns) { Stub::Reject } else { Stub::Zero }
}

/// A refusal without its help, if that is to call the module as is told anyway.
fn before_help(text: String, calls: &[Proposal]) -> String {
    match text.split_once("\nhelp: `inspect`") {
        Some((before, _)) if !calls.is_empty() => before.to_owned(),
        _ => text,
    }
}

/// Puts the function of a recipe into a module.
fn called(source: Source, settings: &Settings, glue: &str) -> Result<Source> {
    let call = settings.call.as_deref().map(|typed| recipe(&source, typed, glue)).transpose()?;
    source.called_by(call.as_deref())
}

/// A name in one line, also one that is empty.
fn visible(name: &str) -> String {
    if name.is_empty() { "\"\"".to_owned() } else { name.escape_debug().to_string() }
}

/// Why what is valid can't be fuzzed. What is invalid is an error.
fn obstacle(wasm: &[u8], error: anyhow::Error) -> Result<String> {
    match Validator::new_with_features(WasmFeatures::all()).validate_all(wasm) {
        Ok(_) => Ok(in_a_line(&error)),
        Err(_) => Err(error),
    }
}

/// An error with its causes.
fn in_a_line(error: &anyhow::Error) -> String {
    format!("{error:#}")
}

/// Exports that can be named as entries.
fn other_entries(source: &Source, interface: &Interface, chosen: Option<&Entry>) -> Vec<String> {
    if source.component.is_some() || Kind::of(interface) == Kind::Go {
        // Components' are listed with their types, and why some can't be called; programs are called as a whole.
        return Vec::new();
    }
    let addresses = interface.addresses();
    let can_be = |ty: &FuncType| Parameter::of(ty, addresses, EntryArgs::Auto).is_ok();
    let others = interface.functions().filter(|(name, ty)| {
        chosen.is_none_or(|entry| entry.export() != *name) && !ty.params().is_empty() && can_be(ty)
    });
    let mut others: Vec<_> = others.collect();
    others.sort_by_key(|(_, ty)| !takes_bytes(interface, ty));
    others.into_iter().take(PROPOSED_MAX).map(|(name, _)| Shortened(name).to_string()).collect()
}

/// Whether a function begins with what can be pointer and length.
fn takes_bytes(interface: &Interface, ty: &FuncType) -> bool {
    let parameters = Parameter::of(ty, interface.addresses(), EntryArgs::Auto);
    parameters.is_ok_and(|parameters| parameters.contains(&Parameter::Pointer))
}

/// What runs before the first input.
fn before(entry: &Entry, interface: &Interface, settings: &Settings, done: Preparation) -> Vec<String> {
    let initialiser = initialiser(interface, settings).unwrap_or("_initialize");
    let initialisers = [(initialiser, !entry.is_program()), ("LLVMFuzzerInitialize", entry.takes_bytes())];
    let called = initialisers.iter().filter(|(name, is_called)| *is_called && interface.function(name).is_some());
    let mut before: Vec<_> = called.map(|(name, _)| (*name).to_owned()).collect();
    if done.heap {
        before.push(format!("growth of the heap by {} KiB", settings.grow_heap_bytes.div_ceil(1024)));
    }
    if done.warm_up {
        before.push(match entry.way().goes_on() {
            true => "the program, until it looks at its input".to_owned(),
            false => "a run with the empty input".to_owned(),
        });
    }
    before
}
