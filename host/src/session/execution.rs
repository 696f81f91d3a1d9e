//! What targets draw and say: for people, and for the store.

use crate::failure::Said;
use crate::outcome::Outcome;
use crate::sandbox::{Executor, Target};
use crate::store::{Drawn, Store, StoredValue};
use crate::stream::Decoded;
use crate::stream::{GuestReport, Trace, decode};
use crate::symbols::Symbols;
use anyhow::{Context, Result};
use std::ops::Range;

/// An execution in the variant that decides. Of a target that doesn't draw its input, only the outcome says anything.
#[derive(Debug)]
pub(crate) struct Execution {
    pub(crate) outcome: Outcome,
    pub(crate) trace: Trace,
    pub(crate) told: GuestReport,
    /// What the target said, if it said something.
    pub(crate) said: Option<Said>,
    /// How it ends when the guest is told that its reports are read, if that is otherwise: it must not be.
    pub(crate) reporting: Option<Outcome>,
}

impl Execution {
    /// What the last execution shows, which ended with `outcome`. Nothing else is to be asked about it afterwards.
    pub(crate) fn of(outcome: Outcome, executor: &mut Executor) -> Result<Self> {
        let observation = executor.observation();
        let (trace, told) = (observation.draws(), observation.told());
        let said = Said::new(&executor.said(&outcome)?);
        Ok(Self { outcome, trace, told, said, reporting: None })
    }

    /// Executes an input.
    pub(crate) fn new(executor: &mut Executor, input: &[u8]) -> Result<Self> {
        let outcome = executor.run(input)?;
        Self::of(outcome, executor)
    }

    /// Executes an input, then again with the guest being told that what it reports is read: the outcome is that of the
    /// first, all else is what the guest shows when somebody looks. It may spare itself that trouble otherwise.
    pub(crate) fn reported(executor: &mut Executor, input: &[u8]) -> Result<Self> {
        let outcome = executor.run(input)?;
        if !executor.target().takes_choices() {
            return Self::of(outcome, executor);
        }
        let reporting = executor.run_reporting(input)?;
        let reporting = (reporting != outcome).then_some(reporting);
        Ok(Self { reporting, ..Self::of(outcome, executor)? })
    }

    /// One of which nothing but the outcome is known.
    pub(crate) fn unseen(outcome: Outcome) -> Self {
        Self { outcome, trace: Trace::default(), told: GuestReport::default(), said: None, reporting: None }
    }

    /// What the target drew, for people; `None` if it doesn't draw. `free` are the ranges of choices that don't matter.
    pub(crate) fn decoded(&self, target: &Target, symbols: &Symbols, free: &[Range<usize>]) -> Option<Decoded> {
        if !target.takes_choices() {
            return None;
        }
        let names = self.told.names.iter().chain(target.names());
        let function = |index| symbols.name(index).into_owned();
        Some(Decoded::new(&self.trace, &self.told, names, free, function))
    }

    /// What is kept with a finding; the value goes to the store's objects. `None` if the target doesn't draw.
    pub(crate) fn stored(&self, store: &Store, target: &Target) -> Result<Option<Drawn>> {
        if !target.takes_choices() {
            return Ok(None);
        }
        let value = self.told.values.last().map(|value| {
            let object = store.put(&value.bytes).context("failed to store the finding's value")?;
            anyhow::Ok(StoredValue { type_id: value.type_id, encoding: value.encoding, object })
        });
        Ok(Some(Drawn { value: value.transpose()? }))
    }
}

/// How many choices an input has, if the target draws them; else how many bytes.
pub(crate) fn parts(target: &Target, input: &[u8]) -> (usize, &'static str) {
    if target.takes_choices() { (decode(input).len(), "choice") } else { (input.len(), "byte") }
}
