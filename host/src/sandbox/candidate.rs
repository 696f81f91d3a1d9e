//! What can be found out about a module before it is rewritten and compiled: whether it can be a target, and by which
//! entry.
//!
//! # What can be refused is refused first
//!
//! What can be refused is refused first. A `Candidate` needs milliseconds: entry, imports, limits. Verbs read all other
//! files, and check all flags, between the candidate and compiling it. `inspect` compiles nothing.

use crate::id::{FindingId, InputId, ModuleId, ObjectId};
use crate::outcome::FailureKind;
use crate::sandbox::code::compiler::Code;
use crate::sandbox::conventions;
use crate::sandbox::conventions::kind::{Kind, NAMES_ARE_SHORT};
use crate::sandbox::entry::Entry;
use crate::sandbox::entry::file_args::wasi_config;
use crate::sandbox::entry::heap::written_out;
use crate::sandbox::entry::misspelled::{has_function, not_exported};
use crate::sandbox::imports::Missing;
use crate::sandbox::imports::missing::{missing, personalities};
use crate::sandbox::limits::TABLE_ELEMENTS_MAX;
use crate::sandbox::source::Source;
use crate::sandbox::source::interface::{Interface, initial_bytes};
use crate::sandbox::source::words::list;
use crate::sandbox::wasi::WasiConfig;
use crate::settings::{Allocator, Compare, Settings, Stub};
use crate::stream::Traces;
use crate::text::size;
use anyhow::{Context, Result, anyhow, bail, ensure};
use fuzzbox_instrument::{Options, protocol};
use std::sync::Arc;
use wasmparser::{Parser, Payload};

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
    /// Another build, which executes each input as well.
    pub(super) against: Option<Arc<Self>>,
    /// Traces that a campaign is to follow: what they match is a feature. They change no outcome.
    pub traces: Option<Arc<Traces>>,
}

impl Candidate {
    /// Reads a module or a component, binary or text, and chooses its entry.
    ///
    /// # Errors
    ///
    /// If it is neither; if it has no entry, or imports what nobody provides, or needs more memory than it may have.
    /// The message is about the module, not its path.
    pub fn new(bytes: &[u8], settings: Settings) -> Result<Self> {
        Self::with_glue(bytes, settings, "")
    }

    /// As [`Candidate::new`]; `glue` is the JavaScript that was made with the module. It tells how functions are called
    /// that are named by [`Settings::call`], which then has the recipe.
    ///
    /// # Errors
    ///
    /// As for [`Candidate::new`].
    pub fn with_glue(bytes: &[u8], mut settings: Settings, glue: &str) -> Result<Self> {
        let source = Source::new(bytes)?;
        refuse_kind(&source, &settings)?;
        settings.call = settings.call.map(|typed| recipe(&source, &typed, glue)).transpose()?;
        let source = source.called_by(settings.call.as_deref())?;
        let interface = interface(&source)?;
        let entry = |interface: &Interface| choose(&source, interface, &settings);
        let entry = check_limits(&interface, &settings).and_then(|()| entry(&interface))?;
        Self::of(source, settings, interface, entry)
    }

    /// Reads a module that makes inputs for others, by `LLVMFuzzerCustomMutator` or `LLVMFuzzerCustomCrossOver`, and
    /// need be nothing else.
    ///
    /// # Errors
    ///
    /// If it has neither, or as for [`Candidate::new`].
    pub fn mutator(bytes: &[u8], settings: &Settings) -> Result<Self> {
        let settings = Settings { entry: None, call: None, args: Vec::new(), ..settings.of_another_module() };
        let source = Source::new(bytes)?;
        ensure!(source.component.is_none(), "a component can't be a mutator: it has no memory to write an input to");
        refuse_kind(&source, &settings)?;
        let interface = interface(&source)?;
        check_limits(&interface, &settings)?;
        let (mutator, cross_over) = Entry::custom_mutators(&interface);
        let entry = mutator.or(cross_over).context(
            "the module has no mutator\nhelp: it exports `LLVMFuzzerCustomMutator` or `LLVMFuzzerCustomCrossOver`, with \
             the parameters that libFuzzer gives them",
        )?;
        Self::of(source, settings, interface, entry)
    }

    fn of(source: Source, mut settings: Settings, interface: Interface, entry: Entry) -> Result<Self> {
        let missing = missing(&interface, source.lowered(), settings.stub_imports)?;
        // Who is compared says with what.
        (settings.against, settings.compare) = (None, Compare::default());
        let grows = settings.grow_heap_bytes > 0 && !entry.is_program() && source.component.is_none();
        settings.allocator = if grows { written_out(&interface, settings.allocator)? } else { Allocator::Exported };
        Ok(Self {
            id: ModuleId::of(&fuzzbox_instrument::strip_custom_sections(&source.file)?),
            object: ObjectId::of(&source.file),
            wasi: wasi_config(&settings),
            source,
            settings,
            entry,
            interface: Arc::new(interface),
            missing: Arc::new(missing),
            against: None,
            traces: None,
        })
    }

    /// Compared with `other`, which executes each input as well: what is `compare`d and differs is a failure.
    ///
    /// # Errors
    ///
    /// If that takes its input in another way.
    pub fn with_against(mut self, other: Self, compare: Compare) -> Result<Self> {
        let form =
            |candidate: &Self| if candidate.source.component.is_some() { "a component" } else { "a core module" };
        let (own, others) = (form(&self), form(&other));
        ensure!(own == others, "the target is {own}, and what it is compared with is {others}");
        let (own, others) = (self.entry.to_string(), other.entry.to_string());
        ensure!(
            own == others,
            "the target is called by {own}, and what it is compared with by {others}\n\
             help: --entry names an export that both have"
        );
        self.settings.against = Some(other.id);
        self.settings.compare = compare;
        self.against = Some(Arc::new(other));
        Ok(self)
    }

    /// The build that it is compared with.
    pub fn against(&self) -> Option<&Self> {
        self.against.as_deref()
    }

    /// With a variable in the environment that the guest finds. That is no part of what results are kept by: it is for
    /// executions that are looked at, and not for campaigns.
    #[must_use]
    pub fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.wasi.env.push((name.into(), value.into()));
        self
    }

    /// How it is compiled if that is not to be waited for: large modules in a hurry.
    pub fn code_to_begin_with(&self) -> Code {
        Code::to_begin_with(self.interface.code_bytes)
    }

    /// How long its code is, in bytes.
    pub fn code_bytes(&self) -> u32 {
        self.interface.code_bytes
    }

    /// The entry in words, the hosts that the module gets beside WASI, and how much of what it imports nobody provides.
    pub fn described(&self) -> String {
        let mut text = self.entry.to_string();
        for (personality, unknown) in personalities(&self.interface) {
            let unknown: Vec<_> = unknown.into_iter().filter(|name| !self.is_stubbed(name)).collect();
            let ends = if unknown.is_empty() { "" } else { ", without " };
            text.push_str(&format!("; for the host of {personality}{ends}{}", list(&unknown)));
        }
        if self.entry.way().harness().is_some() {
            for own in self.mutators() {
                text.push_str(&format!("; mutants by its own {own}"));
            }
        }
        let what = match self.settings.stub_imports {
            Some(Stub::Zero) => "return zeros",
            Some(Stub::Reject) => "reject the input",
            Some(Stub::Trap) => "are crashes",
            None => "",
        };
        if !self.missing.is_empty() {
            text.push_str(&format!("; imports that {what}: {}", self.missing.len()));
        }
        if let Some(other) = &self.against {
            let id = other.id.to_string();
            text.push_str(&format!("; compared with module {} by {}", &id[..8], self.settings.compare));
        }
        text
    }

    /// The functions by which it makes inputs.
    pub fn mutators(&self) -> impl Iterator<Item = String> + use<> {
        let (mutator, cross_over) = Entry::custom_mutators(&self.interface);
        [mutator, cross_over].into_iter().flatten().map(|entry| entry.export().to_owned())
    }

    /// Whether the guest can tell key frames.
    pub fn tells_keyframes(&self) -> bool {
        let mut imports = self.interface.imports.iter();
        imports.any(|import| import.name == "keyframe" && protocol::is_function(&import.module, &import.name))
    }

    fn is_stubbed(&self, shown: &str) -> bool {
        self.missing.iter().any(|(module, name)| format!("{module}.{name}") == shown)
    }

    /// What was given: the module, or a component.
    pub fn file(&self) -> &Arc<[u8]> {
        &self.source.file
    }

    /// The address of the result of executing `input`: a hash over everything that its outcome depends on.
    pub fn result_id(&self, input: InputId) -> FindingId {
        self.id_under(&self.settings, input)
    }

    /// The address of a failure of this kind, which `input` shows.
    pub fn finding_id(&self, input: InputId, kind: FailureKind) -> FindingId {
        self.id_under(&self.settings_of(kind), input)
    }

    /// All that a failure of this kind depends on: what is no difference is there without the other build.
    pub fn settings_of(&self, kind: FailureKind) -> Settings {
        let settings = self.settings.clone();
        if kind == FailureKind::Difference {
            return settings;
        }
        Settings { against: None, compare: Compare::default(), ..settings }
    }

    fn id_under(&self, settings: &Settings, input: InputId) -> FindingId {
        let settings = serde_json::to_vec(settings).expect("settings are plain data");
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"fuzzbox result 1\n").update(&self.id.0).update(&input.0).update(&settings);
        FindingId(*hasher.finalize().as_bytes())
    }

    /// Where the code begins in [`Candidate::bytes`]: places in it differ by that in files that differ in custom
    /// sections alone. 0 if there is none.
    pub fn code_start(&self) -> u32 {
        let code = |payload| match payload {
            Payload::CodeSectionStart { unchecked_range: range, .. } => u32::try_from(range.start).ok(),
            _ => None,
        };
        Parser::new(0).parse_all(self.bytes()).map_while(Result::ok).find_map(code).unwrap_or(0)
    }

    /// The module that will execute; of a component the one that it is linked to.
    pub fn bytes(&self) -> &Arc<[u8]> {
        &self.source.module
    }
}

/// The recipe that was typed, or that is known by the name that was typed.
pub(super) fn recipe(source: &Source, typed: &str, glue: &str) -> Result<String> {
    match &source.component {
        Some(_) => Ok(typed.to_owned()),
        None => conventions::recipe(typed, &interface(source)?, glue),
    }
}

/// Refuses modules whose host can't be had, unless what they import is to be stubbed.
pub(super) fn refuse_kind(source: &Source, settings: &Settings) -> Result<()> {
    if source.component.is_some() || settings.stub_imports.is_some() {
        return Ok(());
    }
    match Kind::of(&interface(source)?).refusal() {
        Some(why) => bail!("{why}"),
        None => Ok(()),
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
    if let Some(recipe) = &source.recipe {
        return Entry::of_recipe(recipe, interface, settings);
    }
    match &source.component {
        Some(component) => Entry::of_component(component, interface, settings),
        None => match &settings.entry {
            Some(name) if interface.function(name).is_none() => {
                Err(not_exported(name, interface, has_function(&source.module, name)))
            }
            _ => Entry::choose(interface, settings).map_err(|error| match settings.entry {
                None => with_proposal(error, source, interface),
                Some(_) => error,
            }),
        },
    }
}

/// An error that there is no entry, with the way to call the module that promises most.
fn with_proposal(error: anyhow::Error, source: &Source, interface: &Interface) -> anyhow::Error {
    let mut proposals = conventions::checked(interface, &source.module, "", 1, false).into_iter();
    match proposals.next() {
        Some(proposal) => {
            anyhow!(
                "{error}\nhelp: `inspect` tells how its functions can be called, such as --call '{}'",
                proposal.call
            )
        }
        // With them something may be known.
        None if Kind::of(interface) == Kind::Minified => anyhow!("{error}\nhelp: {NAMES_ARE_SHORT}"),
        None => error,
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
