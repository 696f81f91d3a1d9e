//! Makes new testcases shorter.

use super::{Variants, Worker, deciding};
use crate::coverage::Profile;
use crate::engine::report::{Known, NewTestcase, Report};
use crate::engine::targets::Scores;
use crate::engine::trim::{Trimmed, trim};
use crate::outcome::Outcome;
use crate::sandbox::Variant;
use crate::stream::Rule;
use anyhow::Result;

impl Worker {
    /// Makes `input` shorter as long as it shows all of `news`, in at most `execs_max` executions. `None` if it can't be. What shows them, or
    /// fails, is executed again where that decides; most does neither.
    pub(in crate::engine) fn trim(
        &mut self,
        variants: &Variants,
        known: Known<'_>,
        (input, news): (&[u8], &Profile),
        execs_max: u64,
        report: &mut Report,
    ) -> Result<Option<NewTestcase>> {
        let Self { quick, metered, life, counts, .. } = self;
        let mut best = None;
        let suspected = known.fuel_max < variants.metered.settings.fuel_max;
        trim(input, execs_max, |candidate| {
            report.execs += 1;
            report.input_bytes += candidate.len() as u64;
            quick.set_fuel_max(known.fuel_max);
            let mut outcome = life.run(quick, candidate, &Rule::default())?;
            let observation = quick.observation();
            let shows = match outcome {
                Outcome::Ok if observation.is_exact() => news.is_part_of(observation, counts),
                Outcome::Rejected | Outcome::Overrun => false,
                _ => true,
            };
            if !shows {
                return Ok(Trimmed::NoMore);
            }
            let executor = if variants.quick.variant == Variant::Metered {
                &*quick
            } else {
                let executor = deciding(quick, metered, variants, life)?;
                executor.set_fuel_max(known.fuel_max);
                outcome = life.run(executor, candidate, &Rule::default())?;
                &*executor
            };
            let observation = executor.observation();
            match outcome {
                Outcome::Ok if news.is_part_of(observation, counts) => {
                    best = Some((Profile::of(observation), observation.fuel(), Scores::of(observation)));
                    return Ok(Trimmed::Still);
                }
                // What is worth a look is met again.
                Outcome::Hang(_) if suspected => {}
                Outcome::Crash(_) | Outcome::Hang(_) | Outcome::OutOfMemory(_) => {
                    report.fail(candidate, (outcome, None), executor, known);
                }
                Outcome::Ok | Outcome::Rejected | Outcome::Overrun | Outcome::Interrupted => {}
            }
            Ok(Trimmed::NoMore)
        })
        .map(|input| {
            best.map(|(profile, fuel, scores)| {
                let unseen = known.seen.news(&profile);
                NewTestcase { input, profile, unseen, fuel, sample: None, scores }
            })
        })
    }
}
