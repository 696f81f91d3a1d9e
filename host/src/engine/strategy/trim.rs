//! Makes a new testcase shorter while it shows what it is kept for.
//!
//! Short testcases are executed faster, and a mutation of one is more likely to touch what matters. As AFL's trimming
//! stage (Zalewski, "Technical whitepaper for afl-fuzz", section 5), but what must remain are the new features alone,
//! not the whole path. It is no shrinker: it spends a few dozen executions, on many testcases.

use super::{Cost, Strategy, View};
use crate::coverage::Profile;
use crate::engine::corpus::Admission;
use crate::engine::testcase::{NewTestcase, Scores};
use crate::engine::workers::report::{Baseline, Report};
use crate::engine::workers::variants::Variants;
use crate::engine::workers::worker::{Worker, deciding};
use crate::outcome::{FailureKind, Verdict};
use crate::sandbox::Variant;
use crate::stream::Rule;
use anyhow::Result;

/// Executions spent on making one testcase with new edges shorter, at most. (Those that only show other counts are too
/// many: trimming expat's took a third of all executions, and found no more. What more than these would leave out
/// mutants hardly miss.)
const EXECS_MAX: u64 = 24;

/// Makes new testcases shorter, in the round after the one that found them.
#[derive(Debug, Default)]
pub(in crate::engine) struct Trimming {
    /// They count when that is done. Ascending.
    pub(in crate::engine) untrimmed: Vec<Admission>,
}

/// A testcase to be made shorter.
#[derive(Debug)]
pub(in crate::engine) struct Trim {
    /// Which of those that are untrimmed.
    number: usize,
    /// Executions that are spent on it, at most.
    execs: u64,
}

impl Strategy for Trimming {
    type Task = Trim;
    type Learned = ();

    fn plan(&self, _: &View<'_>, execs: u64) -> Vec<Trim> {
        let execs = (execs / (self.untrimmed.len() as u64).max(1)).min(EXECS_MAX);
        (0..self.untrimmed.len()).map(|number| Trim { number, execs }).collect()
    }

    fn cost(&self, task: &Trim, view: &View<'_>) -> Cost {
        let testcase = &view.corpus.testcases()[self.untrimmed[task.number].index];
        Cost { execs: task.execs, fuel: task.execs.saturating_mul(testcase.fuel) }
    }

    fn run(&self, task: &Trim, view: &View<'_>, worker: &mut Worker, report: &mut Report) -> Result<()> {
        let Admission { index, news, .. } = &self.untrimmed[task.number];
        let input = &view.corpus.testcases()[*index].bytes;
        let shorter = worker.shorten(view.variants, view.known, (input, news), task.execs, report)?;
        report.testcases.extend(shorter);
        Ok(())
    }

    fn shortens(&self) -> bool {
        true
    }
}

impl Worker {
    /// Makes `input` shorter as long as it shows all of `news`, in at most `execs_max` executions. `None` if it can't
    /// be. What shows them, or fails, is executed again where that decides; most does neither.
    fn shorten(
        &mut self,
        variants: &Variants,
        known: Baseline<'_>,
        (input, news): (&[u8], &Profile),
        execs_max: u64,
        report: &mut Report,
    ) -> Result<Option<NewTestcase>> {
        let Self { quick, metered, life, counts, .. } = self;
        let mut best = None;
        let suspected = known.fuel_max < variants.metered.candidate.settings.fuel_max;
        trim(input, execs_max, |candidate| {
            report.execs += 1;
            report.input_bytes += candidate.len() as u64;
            quick.set_fuel_max(known.fuel_max);
            let mut outcome = life.run(quick, candidate, &Rule::default())?;
            let observation = quick.observation();
            let shows = match outcome.verdict() {
                Verdict::Passed if observation.is_exact() => news.is_part_of(observation, counts),
                Verdict::NoCase => false,
                Verdict::Passed | Verdict::Failed(..) | Verdict::Unknown => true,
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
            match outcome.verdict() {
                Verdict::Passed if news.is_part_of(observation, counts) => {
                    best = Some((Profile::of(observation), observation.fuel(), Scores::of(observation)));
                    return Ok(Trimmed::Still);
                }
                // What is worth a look is met again.
                Verdict::Failed(FailureKind::Hang, _) if suspected => {}
                Verdict::Failed(..) => {
                    report.fail(candidate, (outcome, None), executor, known);
                }
                Verdict::Passed | Verdict::NoCase | Verdict::Unknown => {}
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

/// Whether a shorter input still shows what it must.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trimmed {
    /// It does.
    Still,
    /// It does not.
    NoMore,
}

/// Deletes blocks of `input`: halves, then quarters, and so on, the last first, since most programs read from the
/// front.
///
/// Each candidate is given to `show`, at most `execs_max`; where it still shows what it must, the block stays deleted.
fn trim(input: &[u8], execs_max: u64, mut show: impl FnMut(&[u8]) -> Result<Trimmed>) -> Result<Vec<u8>> {
    let mut best = input.to_vec();
    let mut candidate = Vec::with_capacity(input.len());
    let mut execs = 0;
    let mut block = best.len().div_ceil(2);
    while block > 0 {
        let mut end = best.len();
        while end > 0 {
            if execs == execs_max {
                return Ok(best);
            }
            execs += 1;
            let start = end.saturating_sub(block);
            candidate.clear();
            candidate.extend_from_slice(&best[..start]);
            candidate.extend_from_slice(&best[end..]);
            if show(&candidate)? == Trimmed::Still {
                std::mem::swap(&mut best, &mut candidate);
            }
            end = start;
        }
        block /= 2;
    }
    Ok(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keeps(needed: &[u8], input: &[u8], execs_max: u64) -> (Vec<u8>, u64) {
        let mut execs = 0;
        let trimmed = trim(input, execs_max, |candidate| {
            execs += 1;
            let shows = needed.iter().all(|byte| candidate.contains(byte));
            Ok(if shows { Trimmed::Still } else { Trimmed::NoMore })
        });
        (trimmed.unwrap(), execs)
    }

    #[test]
    fn what_is_not_needed_goes_and_the_rest_keeps_its_order() {
        let input: Vec<u8> = (0..200).collect();
        assert_eq!(keeps(&[17, 150, 151], &input, 1_000).0, [17, 150, 151]);
        assert_eq!(keeps(&[], &input, 1_000), (vec![], 2));
        assert_eq!(keeps(&[7], &[], 1_000), (vec![], 0));
    }

    #[test]
    fn executions_are_limited() {
        let input: Vec<u8> = (0..200).collect();
        let (trimmed, execs) = keeps(&[3, 199], &input, 20);
        assert_eq!(execs, 20);
        assert!(trimmed.len() < 40 && trimmed.contains(&3) && trimmed.contains(&199));
    }
}
