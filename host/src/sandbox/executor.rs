//! One kept instance: runs inputs, each from the same state.

use crate::outcome::{Frame, Outcome};
use crate::said::{Message, Said};
use crate::sandbox::code::history::Growths;
use crate::sandbox::instance::kept::KeptInstance;
use crate::sandbox::instance::observation::{Beside, Observation};
use crate::sandbox::interrupt::gate::{Gate, Unprepared};
use crate::sandbox::interrupt::interrupter::Interrupter;
use crate::sandbox::machine::stack::with_room;
use crate::sandbox::targets::Target;
use crate::settings::Observable;
use crate::stream::{Closing, Rule};
use anyhow::{Result, ensure};
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::sync::Arc;

/// Runs a target's entry on inputs, each from the state right after initialisation.
///
/// The rule is *restored equals fresh*: what an execution does never depends on what ran before it on the same
/// executor. State is restored lazily, at the start of the next run, so that the counters, the output and the memory of
/// the last execution can be looked at until then.
#[derive(Debug)]
pub struct Executor {
    pub(super) target: Arc<Target>,
    pub(super) instance: KeptInstance,
    /// Where what fails is decided by another target: its instance, once something failed.
    pub(super) other: Option<Other>,
    pub(super) gate: Arc<Gate>,
    /// What call sites close with.
    closing: Arc<Closing>,
    /// An execution happened since the state was restored.
    pub(super) dirty: bool,
    /// Fuel that an execution may take, in units.
    pub(super) fuel_max: u64,
    /// The other build's, if the target is compared with one.
    pub(super) against: Option<Box<AgainstExecutor>>,
}

/// The executor of the other build, and what came of the last comparison.
#[derive(Debug)]
pub(super) struct AgainstExecutor {
    pub(super) executor: Executor,
    /// How the target's own execution ended.
    pub(super) own: Outcome,
    /// How the other build's did; `None` if it was not executed.
    pub(super) other: Option<Outcome>,
    /// What differs, and its class.
    pub(super) difference: Option<(Observable, Arc<str>)>,
    /// What failures of the other build are called.
    pub(super) signatures: BTreeMap<Outcome, Arc<str>>,
}

/// The other one of two instances: that of who decides what fails, or the executor's own while that is in its place.
pub(super) struct Other {
    pub(super) target: Arc<Target>,
    pub(super) instance: KeptInstance,
    /// As [`Executor::dirty`].
    pub(super) dirty: bool,
    /// The executor's own.
    pub(super) is_own: bool,
}

impl std::fmt::Debug for Other {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Other").finish_non_exhaustive()
    }
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

impl AgainstExecutor {
    fn new(executor: Executor) -> Self {
        Self { executor, own: Outcome::Ok, other: None, difference: None, signatures: BTreeMap::new() }
    }
}

impl Beside for AgainstExecutor {
    fn observation(&self) -> Observation<'_> {
        let Executor { target, instance, .. } = &self.executor;
        instance.observation(target)
    }

    fn counts(&self) -> bool {
        matches!(self.other, Some(Outcome::Ok | Outcome::Rejected))
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
    pub fn watched(target: &Arc<Target>, mut watch: impl FnMut(Interrupter)) -> Result<Self> {
        Self::watched_by(target, &mut watch)
    }

    fn watched_by(target: &Arc<Target>, watch: &mut dyn FnMut(Interrupter)) -> Result<Self> {
        let gate = Arc::default();
        watch(Interrupter::new(&gate));
        let against = target.against.as_ref().map(|against| Self::watched_by(&against.target, watch)).transpose()?;
        let instance = with_room(target.variant.stack_bytes(), || KeptInstance::new(target, &gate))?;
        Ok(Self {
            instance,
            other: None,
            target: target.clone(),
            gate,
            closing: Arc::default(),
            dirty: false,
            fuel_max: target.candidate.settings.fuel_max,
            against: against.map(|executor| Box::new(AgainstExecutor::new(executor))),
        })
    }

    /// A handle to interrupt executions with, from any thread; of use for as long as the executor lives. What another
    /// build executes has [a handle of its own](Executor::interrupters).
    pub fn interrupter(&self) -> Interrupter {
        Interrupter::new(&self.gate)
    }

    /// All handles to interrupt executions with.
    pub fn interrupters(&self) -> impl Iterator<Item = Interrupter> {
        let other = self.against.as_ref().map(|against| against.executor.interrupter());
        std::iter::once(self.interrupter()).chain(other)
    }

    /// Executes `input` from the initial state.
    ///
    /// # Errors
    ///
    /// If `input` is longer than the limit, or the host fails; never for what the guest does.
    pub fn run(&mut self, input: &[u8]) -> Result<Outcome> {
        self.execute(input, &Rule::default(), Way::Restored)
    }

    /// As [`Executor::run`], but the guest is told that what it reports is read: its feature `fuzzbox:report` is
    /// enabled.
    ///
    /// It is free to draw or to end otherwise then. So what it does without being told is what counts, and this is for
    /// people to read.
    ///
    /// # Errors
    ///
    /// As for [`Executor::run`].
    pub fn run_reporting(&mut self, input: &[u8]) -> Result<Outcome> {
        self.execute(input, &Rule::default(), Way::Reporting)
    }

    /// As [`Executor::run`] for a guest that draws: `input` is a choice stream (of any bytes), read by `rule`. For
    /// other guests the rule means nothing.
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

    /// From now on an execution may take so many units of fuel, if the settings don't say fewer. It has no meaning in
    /// variants without fuel.
    pub fn set_fuel_max(&mut self, fuel_max: u64) {
        self.fuel_max = fuel_max.min(self.target.candidate.settings.fuel_max);
        // Where it is compared which of them has enough, it is with all of the fuel.
        if self.against.is_some() && !self.target().compares(Observable::Limits) {
            self.against.iter_mut().for_each(|against| against.executor.set_fuel_max(fuel_max));
        }
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
        let outcome = self.execute_alone(input, rule, way)?;
        if self.against.is_some() { self.compared(input, way, outcome) } else { Ok(outcome) }
    }

    /// Executes in this build.
    pub(super) fn execute_alone(&mut self, input: &[u8], rule: &Rule, way: Way) -> Result<Outcome> {
        let limit = self.target.candidate.settings.input_bytes_max as usize;
        ensure!(
            input.len() <= limit,
            "the input has {} bytes, the limit is {limit}\nhelp: raise it with --input-bytes-max",
            input.len()
        );
        self.leave_other();
        let outcome = self.execute_once(input, rule, way)?;
        if !self.is_undecided(&outcome) {
            return Ok(outcome);
        }
        let decided = self.decide((input, rule), way, outcome);
        decided.or_else(|error| if error.is::<Unprepared>() { Ok(Outcome::Interrupted) } else { Err(error) })
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
            self.instance.run(&self.target, &self.gate, input, self.fuel_max)
        })
    }

    /// The guest's calls that were live when the last execution was interrupted, innermost first; none where the
    /// variant doesn't tell, or the guest had returned.
    pub fn interrupted_in(&self) -> &[Frame] {
        self.instance.interrupted_in()
    }

    /// If the last execution failed: a number that tells where, the same for each failure of this executor's target
    /// with the same calls and the same kind. `None` if that isn't known, and for what did not fail.
    pub fn stack_key(&self) -> Option<NonZeroU64> {
        match self.difference() {
            Some((_, class)) => self.difference_key(class),
            None => self.instance.stack_key(),
        }
    }

    /// What differs between the last execution and that of the other build, and its class.
    pub(super) fn difference(&self) -> Option<(Observable, &str)> {
        let (observable, class) = self.against.as_ref()?.difference.as_ref()?;
        Some((*observable, class))
    }

    /// What the last execution says of growths, if the target has fuel.
    pub(crate) fn growth(&self) -> Growths {
        let grown = u64::from(self.grown_bytes() > 0);
        Growths { execs: 1, grown, steps: self.instance.growth_steps() as u64, fuel: self.observation().fuel() }
    }

    /// Whether the entry returned from the last execution: it can also end the program, or fail.
    pub(super) fn has_returned(&self) -> bool {
        self.instance.has_returned()
    }

    /// By how many bytes the last execution grew memories, in an instance that is restored.
    pub(crate) fn grown_bytes(&self) -> u64 {
        if self.target.restores { self.instance.grown_bytes() as u64 } else { 0 }
    }

    /// What the last execution wrote for the host, if that is what the entry does.
    pub(super) fn written(&self) -> Option<Vec<u8>> {
        self.instance.written()
    }

    /// What the last execution showed.
    pub fn observation(&self) -> Observation<'_> {
        let beside = self.against.as_deref().map(|against| -> &dyn Beside { against });
        Observation { beside, ..self.instance.observation(&self.target) }
    }

    /// What the guest said in the last execution, which ended with `outcome`, for people. What else that execution
    /// showed is to be asked before: the guest may be called for it, to make a text of its message.
    ///
    /// # Errors
    ///
    /// If the host fails; never for what the guest does.
    pub fn said(&mut self, outcome: &Outcome) -> Result<Said> {
        let Some(text) = self.difference_message()? else { return self.said_alone(outcome) };
        // The guest's own words are part of it.
        Ok(Said { message: Some(Message { text, ..Message::default() }), ..self.said_alone(&Outcome::Ok)? })
    }

    /// What the guest said in an execution of this build that ended so.
    pub(super) fn said_alone(&mut self, outcome: &Outcome) -> Result<Said> {
        with_room(self.target.variant.stack_bytes(), || Ok(self.instance.said(&self.target, outcome)))
    }

    /// What is in a file of the guest's, by its absolute path, as the last execution left it; `None` if there is no
    /// such file.
    pub fn file(&self, path: &str) -> Option<Vec<u8>> {
        self.instance.file(path)
    }

    /// A hash over the guest's state as the last execution left it: contents and sizes of its memories, values of its
    /// mutable globals, sizes of its tables.
    pub fn state_hash(&mut self) -> blake3::Hash {
        self.instance.state_hash()
    }

    /// Goes back to the initial state, by a new instance where it can't be restored.
    fn restore(&mut self) -> Result<()> {
        if !self.dirty {
            return Ok(());
        }
        let restores = self.target.restores && self.target.rewritten.state.irreversible.is_none();
        let reversible = restores && self.instance.restore(self.target.throws())?;
        if !reversible {
            self.instance = KeptInstance::new(&self.target, &self.gate)?;
        }
        self.dirty = false;
        Ok(())
    }
}
