//! A failure of a target, as something that can be shrunk.

use super::limits::Limits;
use super::plain::{PlainSubject, ShrunkInput, shrink_input};
use super::report::Shrunk;
use super::subject::{self, Attempt, Order, Subject, Verdict};
use crate::engine::Workers;
use crate::outcome::{self, Outcome};
use crate::sandbox::Target;
use crate::stream::{Choice, Rule, Tail, decode, encode};
use anyhow::Result;
use std::fmt;
use std::sync::Arc;

/// Choices of an execution that draws at random, at most.
const RANDOM_CHOICES_MAX: u32 = 8192;

/// One failure of a target, and the threads that execute what may show it.
#[derive(Clone, Copy)]
pub struct Failing<'a> {
    /// Executed in the variant that it is.
    pub target: &'a Arc<Target>,
    /// Execute it. If they are aborted, shrinking ends with what was found until then.
    pub workers: &'a Workers,
    /// Which failure it is.
    pub signature: &'a str,
    /// Fuel that an execution of plain bytes may take, in units, if the settings don't say less.
    pub fuel_max: u64,
    /// The signature of an outcome that is a failure.
    pub signature_of: &'a (dyn Fn(&Outcome) -> String + Sync),
}

impl fmt::Debug for Failing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Failing").field("signature", &self.signature).finish_non_exhaustive()
    }
}

impl Failing<'_> {
    /// Makes `input`, a choice stream if the target draws its input, as simple as it can be while it fails so. `None`
    /// if it fails in another way or not at all, or if the workers were aborted before it began.
    ///
    /// # Errors
    ///
    /// If the host fails.
    pub fn shrink(&self, input: &[u8], limits: Limits) -> Result<Option<ShrunkInput>> {
        // Mostly one execution is needed to know what to execute next: between threads it would go to and fro.
        self.workers.install(|| match self.target.takes_choices() {
            true => self.shrink_choices(&decode(input), limits),
            false => shrink_input(self, input, limits),
        })
    }

    fn shrink_choices(&self, first: &[Choice], limits: Limits) -> Result<Option<ShrunkInput>> {
        let shrunk = super::shrink(self, first, limits)?;
        Ok(shrunk.map(|Shrunk { trace, report, slips }| {
            let slips = slips.into_iter().map(|(signature, choices)| (signature, encode(&choices))).collect();
            ShrunkInput { input: encode(&trace.choices), report, slips }
        }))
    }

    fn verdict(&self, outcome: &Outcome) -> Verdict {
        match outcome.verdict() {
            outcome::Verdict::NoCase if *outcome == Outcome::Overrun => Verdict::Overrun,
            outcome::Verdict::NoCase => Verdict::Invalid,
            outcome::Verdict::Passed | outcome::Verdict::Unknown => Verdict::Valid,
            outcome::Verdict::Failed(..) => {
                let signature = (self.signature_of)(outcome);
                if signature == self.signature { Verdict::Same } else { Verdict::Slip(signature) }
            }
        }
    }
}

impl PlainSubject for Failing<'_> {
    fn attempt_all(&self, inputs: &[Vec<u8>]) -> Result<Vec<Verdict>> {
        // Without outcomes it was aborted, and ends early.
        let outcomes = self.workers.outcomes(self.target, inputs, self.fuel_max)?.unwrap_or_default();
        Ok(outcomes.iter().map(|outcome| self.verdict(outcome)).collect())
    }

    fn jobs(&self) -> usize {
        self.workers.jobs()
    }
}

impl Subject for Failing<'_> {
    fn attempt_all(&self, orders: &[Order]) -> Result<Vec<Attempt>> {
        let input_bytes_max = self.target.candidate.settings.input_bytes_max as usize;
        let stream = |order: &Order| {
            let tail = match order.tail {
                subject::Tail::Zero => Tail::Zero,
                subject::Tail::Random(seed) => Tail::Random { seed, choices: RANDOM_CHOICES_MAX },
            };
            let mut bytes = encode(&order.choices);
            // What was drawn at random may be longer than an input; any bytes are a stream.
            bytes.truncate(input_bytes_max);
            (bytes, Rule { tail, ..Rule::default() })
        };
        let streams: Vec<_> = orders.iter().map(stream).collect();
        let drawn = self.workers.drawn(self.target, &streams)?.unwrap_or_default();
        Ok(drawn.into_iter().map(|(outcome, trace)| Attempt { verdict: self.verdict(&outcome), trace }).collect())
    }

    fn jobs(&self) -> usize {
        self.workers.jobs()
    }
}
