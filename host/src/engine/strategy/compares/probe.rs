//! Executes inputs for a task, and says how a comparison turns out.

use super::observed::{Observed, Place, observe};
use super::places::Dependence;
use super::repair::Guard;
use anyhow::{Error, Result};
use fuzzbox_instrument::trace::Trace;
use std::borrow::Cow;

/// What an execution showed.
#[derive(Debug)]
pub(in crate::engine) struct TracedExecution {
    pub(in crate::engine) trace: Trace,
    /// It is no failure, so that one may go on from it.
    pub(in crate::engine) ended_well: bool,
    /// It is kept as a testcase.
    pub(in crate::engine) is_news: bool,
    /// Fuel that may still be spent.
    pub(in crate::engine) fuel_left: u64,
}

/// Why a task ends early.
#[derive(Debug)]
pub(super) enum End {
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
pub(super) type Step<T> = Result<T, End>;

/// Executes an input; `None` if no more may be spent.
pub(in crate::engine) type Run<'a> = dyn FnMut(&[u8]) -> Result<Option<TracedExecution>> + 'a;

/// Executes inputs with one goal.
pub(super) struct Probe<'r, 'a> {
    pub(super) run: &'r mut Run<'a>,
    /// The longest input, in bytes.
    pub(super) len_max: usize,
    /// What must stay as it is, in the order of executions.
    pub(super) guards: Vec<Guard>,
    /// The first inputs that did not get to their goal, unless somebody took them.
    pub(super) lost: Vec<Vec<u8>>,
    /// Fuel that may still be spent.
    pub(super) fuel_left: u64,
}

/// Inputs that got lost are kept up to this many for a goal, and up to this length.
const LOST_MAX: usize = 64;
const LOST_BYTES_MAX: usize = 1024;
/// Repairs of an input, one after the other.
const REPAIRS_MAX: usize = 4;

/// What solvers are given.
#[derive(Clone, Copy, Debug)]
pub(super) struct Problem<'a> {
    pub(super) input: &'a [u8],
    /// A comparison in its execution that is to turn out otherwise.
    pub(super) goal: &'a Observed,
    /// On which bytes of the input that depends.
    pub(super) dependence: &'a Dependence,
}

/// An input that reached a goal.
#[derive(Debug)]
pub(super) struct Solution {
    pub(super) input: Vec<u8>,
    pub(super) shown: TracedExecution,
}

impl Probe<'_, '_> {
    pub(super) fn show(&mut self, input: &[u8]) -> Step<TracedExecution> {
        let shown = (self.run)(input)?.ok_or(End::Spent)?;
        self.fuel_left = shown.fuel_left;
        Ok(shown)
    }

    /// Repairs an input that was shown so, and executes that; `None` if no guard turned out otherwise.
    pub(super) fn repaired(&mut self, input: &[u8], trace: &Trace) -> Step<Option<(Vec<u8>, TracedExecution)>> {
        let mut repaired: Option<(Vec<u8>, TracedExecution)> = None;
        for _ in 0..if self.guards.is_empty() { 0 } else { REPAIRS_MAX } {
            let (input, trace) = repaired.as_ref().map_or((input, trace), |(input, shown)| (input, &shown.trace));
            let observed = observe(trace, |site| self.guards.iter().any(|guard| guard.place.site == site));
            let repair = |observed: &Observed| self.guards.iter().find_map(|guard| guard.repair(input, observed));
            let Some(next) = observed.iter().find_map(repair).filter(|next| next != input) else { break };
            let shown = self.show(&next)?;
            repaired = Some((next, shown));
        }
        Ok(repaired)
    }

    /// Executes an input, and returns the comparison at a place, if there was one, and what was shown.
    pub(super) fn compared(&mut self, input: &[u8], place: Place) -> Step<(Option<Observed>, TracedExecution)> {
        let shown = self.show(input)?;
        let observed = observe(&shown.trace, |site| site == place.site);
        Ok((observed.into_iter().find(|observed| observed.place == place), shown))
    }

    /// Executes an input, repaired if it doesn't get there, to let a comparison turn out otherwise than it did: the
    /// solution if it does, else how it is then.
    pub(super) fn attempt(&mut self, input: &[u8], goal: &Observed) -> Step<Result<Solution, Option<Observed>>> {
        if input.len() > self.len_max {
            return Ok(Err(None));
        }
        let (mut observed, mut shown) = self.compared(input, goal.place)?;
        let mut input = Cow::Borrowed(input);
        if observed.is_none()
            && let Some((repaired, shown_then)) = self.repaired(&input, &shown.trace)?
        {
            let then = observe(&shown_then.trace, |site| site == goal.place.site);
            observed = then.into_iter().find(|observed| observed.place == goal.place);
            (input, shown) = (Cow::Owned(repaired), shown_then);
        }
        if observed.is_none() && input.len() <= LOST_BYTES_MAX && self.lost.len() < LOST_MAX {
            self.lost.push(input.to_vec());
        }
        let outcome = observed.as_ref().map(|observed| observed.operands.outcome());
        if outcome.is_some_and(|outcome| outcome != goal.operands.outcome()) {
            return Ok(Ok(Solution { input: input.into_owned(), shown }));
        }
        Ok(Err(observed))
    }

    /// As [`Probe::attempt`], of several inputs the first that does.
    pub(super) fn first(
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
