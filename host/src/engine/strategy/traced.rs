//! Executes where it is recorded what is compared.

use crate::coverage::Judge;
use crate::engine::suspects::Origin;
use crate::engine::workers::report::{Baseline, Report};
use crate::engine::workers::variants::Variants;
use crate::engine::workers::worker::{Life, Worker, deciding, fits};
use crate::outcome::Outcome;
use crate::sandbox::{Executor, Observation, Target};
use crate::stream::Rule;
use anyhow::{Context, Result};
use fuzzbox_instrument::trace::Trace;
use std::sync::Arc;

/// An execution in the traced variant takes so many times as long as its fuel and what else is counted here say: of
/// eight parsers' seeds 2 to 3 times.
pub(super) const SLOWNESS: u64 = 3;
/// Fuel that one execution in the traced variant takes beside its own: to restore, and to judge all of what it did.
pub(super) const EXECUTION_FUEL: u64 = 8_000;
/// Fuel that each thing takes that it recorded: to write it, read it, and look what it is good for.
const RECORD_FUEL: u64 = 64;

/// What an execution took that recorded this, beside [`EXECUTION_FUEL`].
pub(super) fn fuel(fuel: u64, trace: &Trace) -> u64 {
    fuel + RECORD_FUEL * trace.records.len() as u64
}

/// The executor of a traced variant, with what it did: the last one, or a new one.
fn executor_of<'s>(
    traced: &Arc<Target>,
    slot: &'s mut Option<(Executor, Judge)>,
    life: &Life,
) -> Result<&'s mut (Executor, Judge)> {
    let kept = slot.take().filter(|(executor, _)| fits(executor, traced));
    Ok(match kept {
        Some(kept) => slot.insert(kept),
        None => slot.insert((life.executor(traced)?, Judge::new())),
    })
}

impl Worker {
    /// Executes an input in the traced variant, reports it, and tells how it ended and what it showed.
    pub(super) fn execute_traced(
        &mut self,
        variants: &Variants,
        known: Baseline<'_>,
        (input, rule): (&[u8], &Rule),
        report: &mut Report,
    ) -> Result<(Outcome, Observation<'_>)> {
        let traced = variants.traced.as_ref().context("nothing is compared before the traced variant is there")?;
        let Self { quick, metered, traced: slot, life, .. } = self;
        let (executor, judge) = executor_of(traced, slot, life)?;
        executor.set_fuel_max(known.fuel_max);
        executor.set_closing(known.closing);
        let outcome = life.run(executor, input, rule)?;
        report.counts(input, &variants.metered);
        let observation = executor.observation();
        // As for mutants: most show nothing new, which is seen at once.
        let is_dull = outcome == Outcome::Ok
            && observation.is_exact()
            && !judge.is_news(observation, known.seen, &report.added)
            && !known.targets.is_news(observation, &report.scores);
        if outcome.trap().is_some() && !outcome.is_hang() && !known.failures.has(&outcome) {
            // Compilers put some instructions together in this variant alone, of which the place isn't told then.
            let metered = deciding(quick, metered, variants, life)?;
            metered.set_fuel_max(known.fuel_max);
            metered.set_closing(known.closing);
            let outcome = life.run(metered, input, rule)?;
            report.decided(metered, input, (outcome, None), known);
        } else if !is_dull {
            report.decided(executor, input, (outcome.clone(), None), known);
        }
        report.suspect_is(|| Origin::Given(input.to_vec()));
        Ok((outcome, executor.observation()))
    }
}
