//! Inputs that fail, made smaller: what `shrink` does, and `run` with each finding.

use crate::engine::Workers;
use crate::engine::shrink::{
    self, Attempt, Limits, Order, PlainSubject, Shrunk, ShrunkInput, Subject, Verdict, shrink_input,
};
use crate::report::{self, ResolvedFrame, Symbols};
use crate::sandbox::{Outcome, Target};
use crate::store::{FindingId, FindingRecord, Former, InputId, Store};
use crate::stream::{Rule, Tail, decode, encode};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Executions for a finding of a campaign.
const CAMPAIGN_EXECS_MAX: u64 = 20_000;
/// Executions for a hang: each takes as long as all the fuel lasts.
const HANG_EXECS_MAX: u64 = 2_000;
/// Executions for a hang in a campaign.
const CAMPAIGN_HANG_EXECS_MAX: u64 = 100;

/// Choices of an execution that draws at random, at most.
const RANDOM_CHOICES_MAX: u32 = 8192;

/// A target whose inputs are shrunk, and the threads that execute them.
pub(super) struct Shrinking<'a> {
    pub(super) target: &'a Arc<Target>,
    pub(super) symbols: &'a Symbols,
    pub(super) workers: &'a Workers,
}

/// Limits for hangs, of which each execution is a long one.
pub(super) fn limits_of_hangs() -> Limits {
    Limits { execs_max: HANG_EXECS_MAX, exhaustive_max: 0, explain_max: 0, ..Limits::default() }
}

/// Limits in a campaign, which wants to go on.
pub(super) fn limits_in_campaign(outcome: &Outcome) -> Limits {
    match outcome {
        Outcome::Hang(_) => Limits { execs_max: CAMPAIGN_HANG_EXECS_MAX, ..limits_of_hangs() },
        _ => Limits { execs_max: CAMPAIGN_EXECS_MAX, exhaustive_max: 5_000, explain_max: 0, ..Limits::default() },
    }
}

/// One failure of a target.
struct Failing<'a> {
    shrinking: &'a Shrinking<'a>,
    signature: &'a str,
}

impl Failing<'_> {
    fn verdict(&self, outcome: &Outcome) -> Verdict {
        match outcome {
            Outcome::Ok | Outcome::Interrupted => Verdict::Valid,
            Outcome::Rejected => Verdict::Invalid,
            Outcome::Overrun => Verdict::Overrun,
            Outcome::Crash(trap) | Outcome::Hang(trap) | Outcome::OutOfMemory(trap) => {
                let signature = report::signature(outcome.name(), trap, self.shrinking.symbols);
                if signature == self.signature { Verdict::Same } else { Verdict::Slip(signature) }
            }
        }
    }
}

impl PlainSubject for Failing<'_> {
    fn attempt_all(&self, inputs: &[Vec<u8>]) -> Result<Vec<Verdict>> {
        let Shrinking { target, workers, .. } = self.shrinking;
        // Without outcomes it was aborted, and ends early.
        let outcomes = workers.outcomes(target, inputs)?.unwrap_or_default();
        Ok(outcomes.iter().map(|outcome| self.verdict(outcome)).collect())
    }

    fn jobs(&self) -> usize {
        self.shrinking.workers.jobs()
    }
}

impl Subject for Failing<'_> {
    fn attempt_all(&self, orders: &[Order]) -> Result<Vec<Attempt>> {
        let Shrinking { target, workers, .. } = self.shrinking;
        let input_bytes_max = target.settings.input_bytes_max as usize;
        let stream = |order: &Order| {
            let tail = match order.tail {
                shrink::Tail::Zero => Tail::Zero,
                shrink::Tail::Random(seed) => Tail::Random { seed, choices: RANDOM_CHOICES_MAX },
            };
            let mut bytes = encode(&order.choices);
            // What was drawn at random may be longer than an input; any bytes are a stream.
            bytes.truncate(input_bytes_max);
            (bytes, Rule { tail, wrap: false })
        };
        let streams: Vec<_> = orders.iter().map(stream).collect();
        let drawn = workers.drawn(target, &streams)?.unwrap_or_default();
        Ok(drawn.into_iter().map(|(outcome, trace)| Attempt { verdict: self.verdict(&outcome), trace }).collect())
    }

    fn jobs(&self) -> usize {
        self.shrinking.workers.jobs()
    }
}

impl Shrinking<'_> {
    /// How `input` ends.
    pub(super) fn outcome(&self, input: &[u8]) -> Result<Outcome> {
        let outcomes = self.workers.outcomes(self.target, &[input.to_vec()])?;
        outcomes.and_then(|mut outcomes| outcomes.pop()).context("interrupted")
    }

    /// The smallest input with `signature` that is found from `input`; `None` if that has another one, or if it was
    /// aborted before it began.
    pub(super) fn shrink(&self, input: &[u8], signature: &str, limits: Limits) -> Result<Option<ShrunkInput>> {
        let failing = Failing { shrinking: self, signature };
        if !self.target.takes_choices() {
            return shrink_input(&failing, input, limits);
        }
        let shrunk = shrink::shrink(&failing, &decode(input), limits)?;
        Ok(shrunk.map(|Shrunk { trace, report, slips }| {
            let slips = slips.into_iter().map(|(signature, choices)| (signature, encode(&choices))).collect();
            ShrunkInput { input: encode(&trace.choices), report, slips }
        }))
    }

    /// Stores `input` as what shows the finding `first`, which `larger` showed. Returns the id of the finding that is
    /// kept.
    pub(super) fn store(&self, store: &Store, first: &FindingRecord, larger: &[u8], input: &[u8]) -> Result<FindingId> {
        let id = InputId::of(input);
        if id == first.input {
            return Ok(first.id);
        }
        let frames = match self.outcome(input) {
            Ok(outcome) => self.frames(first, &outcome),
            // The user did not want to wait: the calls are about those of the larger one.
            Err(_) if self.workers.aborted() => first.frames.clone(),
            Err(error) => return Err(error),
        };
        let former = Former { id: first.id, input: first.input, input_bytes: larger.len() as u64 };
        let record = FindingRecord {
            id: self.target.result_id(id),
            input: id,
            input_bytes: input.len() as u64,
            frames,
            former: first.former.iter().cloned().chain([former]).collect(),
            ..first.clone()
        };
        store.add_finding(&record, input).context("failed to store the shrunk finding")
    }

    /// The calls of `outcome`. A stored module has lost the files beside it; the finding has what they said.
    fn frames(&self, first: &FindingRecord, outcome: &Outcome) -> Vec<ResolvedFrame> {
        match outcome.trap() {
            Some(trap) if report::unresolved(&first.frames) == trap.frames => first.frames.clone(),
            Some(trap) => self.symbols.resolve(&trap.frames),
            None => Vec::new(),
        }
    }

    /// Stores other failures that were seen as findings beside `first`, and returns them.
    pub(super) fn store_slips(
        &self,
        store: &Store,
        first: &FindingRecord,
        slips: &BTreeMap<String, Vec<u8>>,
    ) -> Result<Vec<FindingId>> {
        let mut stored = Vec::new();
        for (signature, input) in slips.iter().filter(|_| !self.workers.aborted()) {
            let outcome = self.outcome(input)?;
            let id = InputId::of(input);
            let record = FindingRecord {
                id: self.target.result_id(id),
                input: id,
                input_bytes: input.len() as u64,
                kind: outcome.name().to_owned(),
                signature: signature.clone(),
                frames: self.frames(first, &outcome),
                former: Vec::new(),
                ..first.clone()
            };
            stored.push(store.add_finding(&record, input).context("failed to store a finding")?);
        }
        Ok(stored)
    }
}
