//! A module made ready to be executed: what it was made from, what was put into it, its machine code, and what was
//! learned of it.

pub(super) mod against;
mod compile;
pub(super) mod groups;
pub(super) mod instance_facts;
pub(super) mod warmth;

use crate::cache::Cache;
use crate::id::{FindingId, InputId};
use crate::outcome::FailureKind;
use crate::sandbox::candidate::Candidate;
use crate::sandbox::code::cache::CodeCache;
use crate::sandbox::code::compiled::CompiledModule;
use crate::sandbox::code::compiler::Code;
use crate::sandbox::code::variant::Variant;
use crate::sandbox::imports::Imports;
use crate::sandbox::imports::host::MutateBytes;
use crate::sandbox::interrupt::stop::Stop;
use crate::sandbox::limits::INIT_FUEL_MAX;
use crate::sandbox::targets::against::Against;
use crate::sandbox::targets::groups::Groups;
use crate::sandbox::targets::instance_facts::{InstanceFacts, Preparation};
use crate::sandbox::targets::warmth::Warmth;
use crate::sandbox::wasi::MODULE as WASI;
use fuzzbox_instrument::{EdgeMap, Instrumented, StateExports};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock};

/// A module ready to be executed. Cheap to share between threads; each makes its own
/// [`Executor`](crate::sandbox::Executor).
#[derive(Debug)]
pub struct Target {
    /// What it was made from: the module, its entry, and what else the outcomes depend on.
    pub candidate: Candidate,
    /// The edges of the module, the same in all variants.
    pub edges: EdgeMap,
    /// What was put into the code.
    pub variant: Variant,
    /// What the rewriter says, without the module and the edges.
    pub(in crate::sandbox) rewritten: Instrumented,
    /// Which functions' counters are in which line.
    pub(in crate::sandbox) groups: Groups,
    /// Those of the functions that have counters which are whole; all are if that isn't said.
    pub(in crate::sandbox) functions: Option<BTreeSet<u32>>,
    pub(in crate::sandbox) code: CompiledModule,
    /// Where the module's code can be interrupted; `None` if it can't be.
    pub(in crate::sandbox) stop: Option<Stop>,
    pub(in crate::sandbox) imports: Imports,
    /// What `LLVMFuzzerMutate` does, where inputs are made.
    pub(in crate::sandbox) mutate: Option<MutateBytes>,
    /// Instances are restored, by handling faults.
    pub(in crate::sandbox) restores: bool,
    /// Where the code of other variants is looked for.
    pub(in crate::sandbox) cache: CodeCache,
    /// What instances execute before their first input, if they don't begin as the module does.
    pub(in crate::sandbox) warmth: Option<Warmth>,
    /// What instances showed.
    pub(in crate::sandbox) learned: InstanceFacts,
    /// Another build, which executes each input as well.
    pub(crate) against: Option<Against>,
    /// Its code compares addresses: what fails in it is executed again in this one, and only that counts.
    pub(in crate::sandbox) exact: Option<Arc<Target>>,
    /// What else was made of it, if its code is quick.
    pub(in crate::sandbox) optimised: OptimisedTargets,
}

/// The module of a target in quick code, in code that decides.
#[derive(Debug, Default)]
pub(in crate::sandbox) struct OptimisedTargets {
    /// All of it, once that was asked for.
    pub(in crate::sandbox) whole: OnceLock<Arc<Target>>,
    /// Held by who makes it.
    pub(in crate::sandbox) making: Mutex<()>,
    pub(in crate::sandbox) excerpts: Mutex<Excerpts>,
}

/// The module without functions that executions did not enter.
#[derive(Debug, Default)]
pub(in crate::sandbox) struct Excerpts {
    /// How many were made.
    pub(in crate::sandbox) made: usize,
    pub(in crate::sandbox) last: Option<Arc<Target>>,
}

impl Target {
    /// Whether what executions take is counted, and limited.
    pub fn has_fuel(&self) -> bool {
        self.variant.has_fuel()
    }

    /// Units of fuel that exported initialisers may take: twice as many as executions, if these may take more than by
    /// default.
    pub(in crate::sandbox) fn init_fuel_max(&self) -> u64 {
        self.candidate.settings.fuel_max.saturating_mul(2).max(INIT_FUEL_MAX)
    }

    /// The same target on a machine whose faults can't be handled: each execution has a new instance, reading past the
    /// end of an input is not found, and variants without fuel can't be interrupted. For comparisons.
    #[must_use]
    pub fn without_restoring(self) -> Self {
        let optimised = OptimisedTargets { whole: OnceLock::new(), ..self.optimised };
        Self { restores: false, learned: self.learned.without_attempts(), optimised, ..self }
    }

    /// How its machine code was to be made. Optimised code is taken all the same where there is some.
    pub(crate) fn asked_code(&self) -> Code {
        self.code.asked
    }

    /// Whether its code was made in a hurry. What fails in it is executed again in optimised code
    /// ([`Target::optimised`]), and only that counts.
    pub fn is_quick(&self) -> bool {
        self.code.code == Code::Quick
    }

    /// Whose code would decide what fails in this one's, if it is optimised.
    pub(in crate::sandbox) fn exact(self: &Arc<Self>) -> &Arc<Self> {
        self.exact.as_ref().unwrap_or(self)
    }

    /// This target in optimised code, if that was made.
    pub fn optimised_by_now(&self) -> Option<&Arc<Self>> {
        self.optimised.whole.get()
    }

    /// Whether an [`Interrupter`](crate::sandbox::Interrupter) can end executions, as what has no fuel needs.
    pub fn can_be_interrupted(&self) -> bool {
        self.restores
    }

    /// The user's cache, if that may be used for this target.
    pub(crate) fn cache(&self) -> Option<&Cache> {
        self.cache.cache()
    }

    /// Whether the machine code was found in the cache, and nothing had to be compiled.
    pub fn was_cached(&self) -> bool {
        self.code.cached
    }

    /// Whether a function was entered before the first input: by the start function or an initialiser. What these
    /// execute is no part of any execution. Known once an executor was made.
    pub fn is_initialiser(&self, function: u32) -> bool {
        self.learned.initialised().is_some_and(|functions| functions.contains(&function))
    }

    /// The functions that were entered before the first input. `None` if that is not known: no executor was made, or
    /// something that was tried then was in vain.
    pub fn initialisers(&self) -> Option<&BTreeSet<u32>> {
        let Candidate { entry, interface, settings, .. } = &self.candidate;
        let expected = Preparation::expected(entry, interface, settings);
        self.learned.initialised().filter(|_| self.learned.done() == Some(expected))
    }

    /// The functions that have these counters.
    pub(in crate::sandbox) fn functions_of(&self, counters: &[u32]) -> BTreeSet<u32> {
        let map = &self.rewritten.counters;
        let function = |&counter: &u32| map.of_counter(counter).map(|index| map.functions()[index].function);
        counters.iter().filter_map(function).collect()
    }

    /// What the guest's initialisers gave names (`fuzzbox_v1.name`): of what kind, the id, the name. Known once an
    /// executor was made, in variants that record draws.
    pub fn names(&self) -> &[(u32, u32, String)] {
        self.learned.names()
    }

    /// How many counters there are.
    pub(in crate::sandbox) fn counters(&self) -> usize {
        self.rewritten.counters.len() as usize
    }

    /// Whether the guest throws exceptions, which live on the collected heap.
    pub(in crate::sandbox) fn throws(&self) -> bool {
        self.candidate.interface.has_tags
    }

    /// Whether code compares addresses with the end of the guest's part.
    pub(crate) fn compares_addresses(&self) -> bool {
        self.rewritten.injected.annex.as_ref().is_some_and(|annex| annex.bounds)
    }

    /// See [`Candidate::finding_id`].
    pub fn finding_id(&self, input: InputId, kind: FailureKind) -> FindingId {
        self.candidate.finding_id(input, kind)
    }

    /// Whether inputs are choice streams.
    pub fn takes_choices(&self) -> bool {
        self.candidate.entry.takes_choices()
    }

    /// What of an input is a stream that the guest draws from.
    pub(crate) fn stream_of<'i>(&self, input: &'i [u8]) -> &'i [u8] {
        if self.takes_choices() { input } else { &[] }
    }

    /// The export that checks the values which the entry gives away, if the entry is a property in two parts.
    pub fn check_of_values(&self) -> Option<String> {
        self.candidate.entry.way().check_of_values(&self.candidate.interface)
    }

    /// The export that is the memory which pointers mean that the guest gives the host: `memory`. Programs that are not
    /// for WASI may call theirs otherwise.
    pub(in crate::sandbox) fn memory_of_host(&self) -> Option<&str> {
        let interface = &self.candidate.interface;
        let first = self.rewritten.state.memories.first().map(String::as_str);
        let is_named = interface.exports.iter().any(|export| export.name == "memory");
        let is_for_wasi = interface.imports.iter().any(|import| import.module == WASI);
        if is_named || is_for_wasi { Some("memory") } else { first }
    }

    /// How the module's state is restored after an execution, and why, for people.
    pub fn restore_plan(&self) -> String {
        restore_plan(&self.rewritten.state, self.restores)
    }
}

/// How what is exported as state is restored, and why, for people.
pub(in crate::sandbox) fn restore_plan(state: &StateExports, restores: bool) -> String {
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
