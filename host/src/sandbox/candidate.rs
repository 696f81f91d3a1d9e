//! What can be found out about a module before it is rewritten and compiled: whether it can be a target, and by which
//! entry.
//!
//! # What can be refused is refused first
//!
//! What can be refused is refused first. A `Candidate` needs milliseconds: entry, imports, limits. Verbs read all other
//! files, and check all flags, between the candidate and compiling it. `inspect` compiles nothing.

use crate::id::{ModuleId, ObjectId};
use crate::sandbox::code::compiler::Code;
use crate::sandbox::entry::Entry;
use crate::sandbox::entry::misspelled::{has_function, not_exported};
use crate::sandbox::imports::Missing;
use crate::sandbox::imports::missing::missing;
use crate::sandbox::limits::TABLE_ELEMENTS_MAX;
use crate::sandbox::source::Source;
use crate::sandbox::source::interface::{Interface, initial_bytes};
use crate::sandbox::wasi::WasiConfig;
use crate::settings::Settings;
use crate::text::size;
use anyhow::{Result, bail, ensure};
use fuzzbox_instrument::Options;
use std::sync::Arc;

/// A module that has an entry, and of which nothing is known that would keep it from being executed.
///
/// It costs next to nothing beside a [`Target`](crate::sandbox::Target), so whatever else can be wrong (flags, other
/// files) is to be found out between the two.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub(super) source: Source,
    /// Under what it will be executed.
    pub settings: Settings,
    /// The entry that was chosen.
    pub entry: Entry,
    /// What will execute: the file without custom sections.
    pub id: ModuleId,
    /// The file as an object of the store.
    pub object: ObjectId,
    pub(super) interface: Arc<Interface>,
    /// What the guest finds when it starts.
    pub(super) wasi: WasiConfig,
    /// Imports that will be stubbed.
    pub(super) missing: Arc<Missing>,
}

impl Candidate {
    /// Reads a module or a component, binary or text, and chooses its entry.
    ///
    /// # Errors
    ///
    /// If it is neither; if it has no entry, or imports what nobody provides, or needs more memory than it may have.
    /// The message is about the module, not its path.
    pub fn new(bytes: &[u8], settings: Settings) -> Result<Self> {
        let source = Source::new(bytes)?;
        let interface = interface(&source)?;
        check_limits(&interface, &settings)?;
        let entry = choose(&source, &interface, &settings)?;
        let missing = missing(&interface, source.lowered(), settings.stub_imports)?;
        Ok(Self {
            id: ModuleId::of(&fuzzbox_instrument::strip_custom_sections(&source.file)?),
            object: ObjectId::of(&source.file),
            wasi: entry.way().wasi_config(&settings),
            source,
            settings,
            entry,
            interface: Arc::new(interface),
            missing: Arc::new(missing),
        })
    }

    /// How it is compiled if that is not to be waited for: large modules in a hurry.
    pub fn code_to_begin_with(&self) -> Code {
        Code::to_begin_with(self.interface.code_bytes)
    }

    /// What was given: the module, or a component.
    pub fn file(&self) -> &Arc<[u8]> {
        &self.source.file
    }

    /// The module that will execute; of a component the one that it is linked to.
    pub fn bytes(&self) -> &Arc<[u8]> {
        &self.source.module
    }
}

/// What a module says of itself, or why it is none.
pub(super) fn interface(source: &Source) -> Result<Interface> {
    Interface::of(&source.module).or_else(|error| {
        // The rewriter knows better words for what is invalid.
        fuzzbox_instrument::instrument(&source.module, &Options::default())?;
        Err(error)
    })
}

/// Chooses the entry as settings say.
pub(super) fn choose(source: &Source, interface: &Interface, settings: &Settings) -> Result<Entry> {
    match &source.component {
        Some(component) => Entry::of_component(component, interface, settings),
        None => match &settings.entry {
            Some(name) if interface.function(name).is_none() => {
                Err(not_exported(name, interface, has_function(&source.module, name)))
            }
            _ => Entry::choose(interface, settings),
        },
    }
}

/// Refuses memories and tables that can't be had, with the flag that helps.
pub(super) fn check_limits(interface: &Interface, settings: &Settings) -> Result<()> {
    if interface.memories.iter().any(|memory| memory.shared) {
        bail!("the module has a shared memory: programs with threads can't be executed deterministically");
    }
    let bytes = interface.memories.iter().map(initial_bytes).fold(0, u64::saturating_add);
    ensure!(
        bytes <= settings.memory_bytes_max,
        "the module needs {} of memory from the start, the limit is {}\nhelp: raise it with --memory-max",
        size(bytes),
        size(settings.memory_bytes_max)
    );
    let elements = interface.tables.iter().map(|table| table.initial).fold(0, u64::saturating_add);
    ensure!(
        elements <= TABLE_ELEMENTS_MAX as u64,
        "the module's tables need {elements} elements from the start, all of them together can have {TABLE_ELEMENTS_MAX}"
    );
    Ok(())
}
