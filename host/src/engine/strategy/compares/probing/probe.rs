//! Executes inputs for a task, and says how a comparison turns out.

use super::super::input::form::Form;
use super::super::input::places::Dependence;
use super::super::seen::observed::{Observed, Place, observe};
use super::repair::Guard;
use crate::engine::strategy::Cost;
use crate::stream;
use anyhow::{Error, Result};
use fuzzbox_instrument::trace::Trace;
use std::borrow::Cow;
use std::sync::Arc;

/// What an execution showed.
#[derive(Debug)]
pub(in crate::engine) struct TracedExecution {
    pub(in crate::engine) trace: Trace,
    /// What the guest drew, if it draws.
    pub(in crate::engine) drawn: Option<stream::Trace>,
    /// It is no failure, so that one may go on from it.
    pub(in crate::engine) ended_well: bool,
    /// It is kept as a testcase.
    pub(in crate::engine) is_news: bool,
    /// Fuel that it took.
    pub(in crate::engine) fuel: u64,
    /// Fuel that may still be spent.
    pub(in crate::engine) fuel_left: u64,
}

impl TracedExecution {
    /// Of what could not be executed, when so much fuel was spent.
    pub(in crate::engine::strategy::compares) fn nothing(cost: &Cost, spent: u64) -> Self {
        let fuel_left = cost.fuel.saturating_sub(spent);
        Self { trace: Trace::default(), drawn: None, ended_well: false, is_news: false, fuel: 0, fuel_left }
    }
}

/// Why a task ends early.
#[derive(Debug)]
pub(in crate::engine::strategy::compares) enum End {
    /// All that it may spend is spent.
    Spent,
    /// The host failed.
    Failed(Error),
}

impl From<Error> for End {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// A result that may be cut off.
pub(in crate::engine::strategy::compares) type Step<T> = Result<T, End>;

/// A way to let a comparison turn out otherwise.
pub(in crate::engine::strategy::compares) type Solver = fn(&mut Probe<'_, '_>, Problem<'_>) -> Step<Option<Solution>>;

/// Executes an input; `None` if no more may be spent.
pub(in crate::engine) type Run<'a> = dyn FnMut(&[u8]) -> Result<Option<TracedExecution>> + 'a;

/// Executes inputs with one goal.
pub(in crate::engine::strategy::compares) struct Probe<'r, 'a> {
    pub(in crate::engine::strategy::compares) run: &'r mut Run<'a>,
    /// What the bytes are that solvers change.
    pub(in crate::engine::strategy::compares) form: Arc<Form>,
    /// The longest input, in bytes: those that are executed.
    pub(in crate::engine::strategy::compares) len_max: usize,
    /// What must stay as it is, in the order of executions.
    pub(in crate::engine::strategy::compares) guards: Vec<Guard>,
    /// What else was equal to a number in the input: it may have to stay so where lengths change.
    pub(in crate::engine::strategy::compares) constants: Vec<Guard>,
    /// The first inputs that did not get to their goal, unless somebody took them.
    pub(in crate::engine::strategy::compares) lost: Vec<Vec<u8>>,
    /// Fuel that may still be spent.
    pub(in crate::engine::strategy::compares) fuel_left: u64,
    /// Whether all is spent.
    pub(in crate::engine::strategy::compares) is_spent: bool,
    /// Whether boundaries of comparisons are goals.
    pub(in crate::engine::strategy::compares) boundaries: bool,
}

/// Inputs that got lost are kept up to this many for a goal, and up to this length.
const LOST_MAX: usize = 64;
const LOST_BYTES_MAX: usize = 1024;
/// Repairs of an input, one after the other.
const REPAIRS_MAX: usize = 4;

/// What solvers are given.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine::strategy::compares) struct Problem<'a> {
    /// In the form that the probe has.
    pub(in crate::engine::strategy::compares) input: &'a [u8],
    /// A comparison in its execution that is to turn out otherwise.
    pub(in crate::engine::strategy::compares) goal: &'a Observed,
    /// On which bytes of the input that depends.
    pub(in crate::engine::strategy::compares) dependence: &'a Dependence,
}

/// An input that reached a goal.
#[derive(Debug)]
pub(in crate::engine::strategy::compares) struct Solution {
    /// In the form of the problem; `None` if it has got another one, with other places.
    pub(in crate::engine::strategy::compares) input: Option<Vec<u8>>,
    /// As it was executed.
    pub(in crate::engine::strategy::compares) executed: Vec<u8>,
    pub(in crate::engine::strategy::compares) shown: TracedExecution,
}

impl Probe<'_, '_> {
    /// The comparisons of a trace, see [`observe`].
    pub(in crate::engine::strategy::compares) fn observe(
        &self,
        trace: &Trace,
        keeps: impl Fn(u32) -> bool,
    ) -> Vec<Observed> {
        observe(trace, self.boundaries, keeps)
    }

    /// Executes what `input` stands for.
    pub(in crate::engine::strategy::compares) fn show(&mut self, input: &[u8]) -> Step<TracedExecution> {
        let form = self.form.clone();
        self.execute(&form.input(input))
    }

    /// Executes an input as it is.
    pub(in crate::engine::strategy::compares) fn execute(&mut self, input: &[u8]) -> Step<TracedExecution> {
        let Some(shown) = (self.run)(input)? else {
            self.is_spent = true;
            return Err(End::Spent);
        };
        self.fuel_left = shown.fuel_left;
        Ok(shown)
    }

    /// Repairs an input that was shown so, and executes that; `None` if no guard turned out otherwise.
    pub(super) fn repaired(&mut self, input: &[u8], trace: &Trace) -> Step<Option<(Vec<u8>, TracedExecution)>> {
        let mut repaired: Option<(Vec<u8>, TracedExecution)> = None;
        for _ in 0..if self.guards.is_empty() { 0 } else { REPAIRS_MAX } {
            let (input, trace) = repaired.as_ref().map_or((input, trace), |(input, shown)| (input, &shown.trace));
            let observed = observe(trace, false, |site| self.guards.iter().any(|guard| guard.place.site == site));
            let repair = |observed: &Observed| self.guards.iter().find_map(|guard| guard.repair(input, observed));
            let Some(next) = observed.iter().find_map(repair).filter(|next| next != input) else { break };
            let shown = self.show(&next)?;
            repaired = Some((next, shown));
        }
        Ok(repaired)
    }

    /// Executes an input, and returns the comparison at a place, if there was one, and what was shown.
    pub(in crate::engine::strategy::compares) fn compared(
        &mut self,
        input: &[u8],
        place: Place,
    ) -> Step<(Option<Observed>, TracedExecution)> {
        let shown = self.show(input)?;
        Ok((at(&shown, place), shown))
    }

    /// Executes an input, repaired if it doesn't get there, to let a comparison turn out otherwise than it did: the
    /// solution if it does, else how it is then.
    pub(in crate::engine::strategy::compares) fn attempt(
        &mut self,
        input: &[u8],
        goal: &Observed,
    ) -> Step<Result<Solution, Option<Observed>>> {
        let form = self.form.clone();
        self.attempt_executed(Some(input), form.input(input), goal)
    }

    /// As [`Probe::attempt`], for an input that is executed as it is, and has no form that is known.
    pub(in crate::engine::strategy::compares) fn attempt_grown(
        &mut self,
        executed: &[u8],
        goal: &Observed,
    ) -> Step<Option<Solution>> {
        let input = self.form.is_plain().then_some(executed);
        Ok(self.attempt_executed(input, Cow::Borrowed(executed), goal)?.ok())
    }

    fn attempt_executed(
        &mut self,
        input: Option<&[u8]>,
        mut executed: Cow<'_, [u8]>,
        goal: &Observed,
    ) -> Step<Result<Solution, Option<Observed>>> {
        if executed.len() > self.len_max {
            return Ok(Err(None));
        }
        let mut shown = self.execute(&executed)?;
        let mut observed = at(&shown, goal.place);
        let mut input = input.map(Cow::Borrowed);
        if observed.is_none()
            && let Some(own) = &input
            && let Some((repaired, shown_then)) = self.repaired(own, &shown.trace)?
        {
            observed = at(&shown_then, goal.place);
            executed = Cow::Owned(self.form.input(&repaired).into_owned());
            (input, shown) = (Some(Cow::Owned(repaired)), shown_then);
        }
        if observed.is_none()
            && let Some(input) = &input
            && input.len() <= LOST_BYTES_MAX
            && self.lost.len() < LOST_MAX
            && !self.lost.iter().any(|lost| lost[..] == input[..])
        {
            self.lost.push(input.to_vec());
        }
        let outcome = observed.as_ref().map(|observed| observed.operands.outcome());
        if outcome.is_some_and(|outcome| outcome != goal.operands.outcome()) {
            let (input, executed) = (input.map(Cow::into_owned), executed.into_owned());
            return Ok(Ok(Solution { input, executed, shown }));
        }
        Ok(Err(observed))
    }

    /// As [`Probe::attempt`], of several inputs the first that does.
    pub(in crate::engine::strategy::compares) fn first(
        &mut self,
        inputs: impl IntoIterator<Item = Vec<u8>>,
        goal: &Observed,
    ) -> Step<Option<Solution>> {
        for input in inputs {
            if let Ok(solution) = self.attempt(&input, goal)? {
                return Ok(Some(solution));
            }
        }
        Ok(None)
    }
}

/// The comparison at a place, if there was one.
fn at(shown: &TracedExecution, place: Place) -> Option<Observed> {
    let observed = observe(&shown.trace, true, |site| site == place.site);
    observed.into_iter().find(|observed| observed.place == place)
}
