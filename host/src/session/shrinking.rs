//! Inputs that fail, made smaller: what `shrink` does, and `run` with each finding.

use super::execution::Execution;
use super::records::Address;
use crate::engine::Workers;
use crate::engine::shrink::{Failing, Limits, ShrunkInput};
use crate::failure::signature_of;
use crate::id::{FindingId, InputId};
use crate::outcome::Outcome;
use crate::sandbox::Target;
use crate::store::{Drawn, FindingRecord, Former, Store};
use crate::symbols::{ResolvedFrame, Symbols};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Executions for a finding of a campaign.
const CAMPAIGN_EXECS_MAX: u64 = 20_000;
/// Executions for a hang: each takes as long as all the fuel lasts.
const HANG_EXECS_MAX: u64 = 2_000;
/// Executions for a hang in a campaign.
const CAMPAIGN_HANG_EXECS_MAX: u64 = 100;

/// A target whose inputs are shrunk, and the threads that execute them.
pub(crate) struct Shrinking<'a> {
    pub(crate) target: &'a Arc<Target>,
    pub(crate) symbols: &'a Symbols,
    pub(crate) workers: &'a Workers,
}

/// Limits for hangs, of which each execution is a long one.
pub(crate) fn limits_of_hangs() -> Limits {
    Limits { execs_max: HANG_EXECS_MAX, exhaustive_max: 0, explain_max: 0, ..Limits::default() }
}

/// Limits in a campaign, which wants to go on.
pub(crate) fn limits_in_campaign(outcome: &Outcome) -> Limits {
    if outcome.is_hang() {
        return Limits { execs_max: CAMPAIGN_HANG_EXECS_MAX, ..limits_of_hangs() };
    }
    Limits { execs_max: CAMPAIGN_EXECS_MAX, exhaustive_max: 5_000, explain_max: 0, ..Limits::default() }
}

impl Shrinking<'_> {
    /// Executes `input`, for people; `None` if that was aborted.
    pub(crate) fn execute(&self, input: &[u8]) -> Result<Option<Execution>> {
        self.workers.run_one(self.target, |executor| Execution::reported(executor, input))
    }

    /// The smallest input with `signature` that is found from `input`; `None` if that has another one, or if it was
    /// aborted before it began.
    pub(crate) fn shrink(&self, input: &[u8], signature: &str, limits: Limits) -> Result<Option<ShrunkInput>> {
        self.shrink_with(u64::MAX, input, signature, limits)
    }

    /// As [`Shrinking::shrink`], but each execution may take no more than `fuel_max` units. What comes of it fails with
    /// all of the fuel as well.
    pub(crate) fn shrink_below(
        &self,
        fuel_max: u64,
        input: &[u8],
        signature: &str,
        limits: Limits,
    ) -> Result<Option<ShrunkInput>> {
        let Some(mut shrunk) = self.shrink_with(fuel_max, input, signature, limits)? else { return Ok(None) };
        let slips = std::mem::take(&mut shrunk.slips);
        let inputs: Vec<_> = std::iter::once(shrunk.input.clone()).chain(slips.values().cloned()).collect();
        let Some(outcomes) = self.workers.outcomes(self.target, &inputs, u64::MAX)? else { return Ok(None) };
        let mut same = outcomes.iter().map(|outcome| signature_of(outcome, self.symbols).name);
        if same.next().is_none_or(|shown| shown != signature) {
            return Ok(None);
        }
        shrunk.slips =
            slips.into_iter().zip(same).filter(|((slip, _), shown)| slip == shown).map(|(slip, _)| slip).collect();
        Ok(Some(shrunk))
    }

    fn shrink_with(&self, fuel_max: u64, input: &[u8], signature: &str, limits: Limits) -> Result<Option<ShrunkInput>> {
        let Self { target, symbols, workers } = *self;
        let signature_of = |outcome: &Outcome| signature_of(outcome, symbols).name;
        Failing { target, workers, signature, fuel_max, signature_of: &signature_of }.shrink(input, limits)
    }

    /// Stores `input` as what shows the finding `first`, which `larger` showed. Returns the id of the finding that is
    /// kept.
    pub(crate) fn store(&self, store: &Store, first: &FindingRecord, larger: &[u8], input: &[u8]) -> Result<FindingId> {
        let id = InputId::of(input);
        if id == first.input {
            return Ok(first.id);
        }
        let (frames, drawn, said) = match self.execute(input)? {
            Some(execution) => {
                let drawn = execution.stored(store, self.target)?;
                (self.frames(first, &execution.outcome), drawn, execution.said)
            }
            // The user did not want to wait: the calls are about those of the larger one. The value is none of its, and
            // what it says may be of the input.
            None => (first.frames.clone(), first.drawn.as_ref().map(|_| Drawn::default()), None),
        };
        let Address { id: finding, settings, against_object } = Address::new(store, self.target, first.kind, id)?;
        let former = Former { id: first.id, input: first.input, input_bytes: larger.len() as u64 };
        let record = FindingRecord {
            id: finding,
            settings,
            against_object,
            input: id,
            input_bytes: input.len() as u64,
            frames,
            drawn,
            said,
            former: first.former.iter().cloned().chain([former]).collect(),
            ..first.clone()
        };
        store.add_finding(&record, input).context("failed to store the shrunk finding")
    }

    /// The calls of `outcome`. A stored module has lost the files beside it; the finding has what they said.
    fn frames(&self, first: &FindingRecord, outcome: &Outcome) -> Vec<ResolvedFrame> {
        match outcome.trap() {
            Some(trap) if crate::symbols::unresolved(&first.frames) == trap.frames => first.frames.clone(),
            Some(trap) => self.symbols.resolve(&trap.frames),
            None => Vec::new(),
        }
    }

    /// Stores other failures that were seen as findings beside `first`, and returns them.
    pub(crate) fn store_slips(
        &self,
        store: &Store,
        first: &FindingRecord,
        slips: &BTreeMap<String, Vec<u8>>,
    ) -> Result<Vec<FindingId>> {
        let mut stored = Vec::new();
        for (signature, input) in slips {
            let Some(execution) = self.execute(input)? else { break };
            let outcome = &execution.outcome;
            let Some((kind, _)) = outcome.failure() else { continue };
            let id = InputId::of(input);
            let Address { id: finding, settings, against_object } = Address::new(store, self.target, kind, id)?;
            let record = FindingRecord {
                id: finding,
                settings,
                against_object,
                input: id,
                input_bytes: input.len() as u64,
                kind,
                signature: signature.clone(),
                lineless: signature_of(outcome, self.symbols).lineless,
                frames: self.frames(first, outcome),
                former: Vec::new(),
                drawn: execution.stored(store, self.target)?,
                said: execution.said,
                ..first.clone()
            };
            stored.push(store.add_finding(&record, input).context("failed to store a finding")?);
        }
        Ok(stored)
    }
}
