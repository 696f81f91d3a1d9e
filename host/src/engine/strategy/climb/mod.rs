//! Makes scores larger that became better.
//!
//! # Scores are climbed after a round
//!
//! Scores are climbed after a round, one task for each that became better: numbers are moved one by one and in pairs,
//! in steps that double. No more than half of all executions are such.

mod ascent;

use super::{Cost, Spent, Strategy, View};
use crate::coverage::Profile;
use crate::engine::corpus::Corpus;
use crate::engine::rng::Rng;
use crate::engine::scores::Climb;
use crate::engine::testcase::{NewTestcase, Scores};
use crate::engine::workers::report::{Baseline, Report};
use crate::engine::workers::variants::Variants;
use crate::engine::workers::worker::{Worker, deciding};
use crate::outcome::Verdict;
use crate::stream::{Choice, Node, Rule, Tail, encode};
use anyhow::Result;
use ascent::{Evaluation, Limits, ascend};

/// Number of the first task that climbs: the round's others have smaller ones.
const TASKS: u64 = 1 << 32;
/// Executions spent on one score in a round, at most.
const EXECS_MAX: u64 = 1000;

/// Climbs from the testcases that have the best scores.
#[derive(Debug, Default)]
pub(in crate::engine) struct Climbing {
    /// Executions that were spent.
    execs: u64,
}

/// A score to be made larger.
#[derive(Debug)]
pub(in crate::engine) struct Start {
    number: u64,
    /// What its testcase drew.
    choices: Vec<Choice>,
    climb: Climb,
    execs: u64,
}

impl Strategy for Climbing {
    type Task = Start;
    /// Whether a limit cut it off.
    type Learned = bool;

    fn plan(&self, view: &View<'_>, execs: u64) -> Vec<Start> {
        // What is not drawn has no numbers.
        let sample = |climb: &Climb| view.corpus.testcases()[climb.testcase].sample.as_ref().map(Node::choices);
        let climbs = view.corpus.targets().climbs().into_iter();
        let climbs: Vec<_> = climbs.filter_map(|climb| sample(&climb).map(|choices| (choices, climb))).collect();
        // Half of all executions may be such.
        let budget = (view.execs - self.execs).saturating_sub(self.execs).min(execs);
        let execs = (budget / (climbs.len() as u64).max(1)).min(EXECS_MAX);
        let starts = (0..).zip(climbs).filter(|_| execs > 0);
        starts.map(|(number, (choices, climb))| Start { number, choices, climb, execs }).collect()
    }

    fn cost(&self, task: &Start, view: &View<'_>) -> Cost {
        Cost { execs: task.execs, fuel: task.execs.saturating_mul(view.fuel_mean) }
    }

    fn run(&self, task: &Start, view: &View<'_>, worker: &mut Worker, report: &mut Report) -> Result<bool> {
        let rng = Rng::of_task(view.seed, view.round, TASKS + task.number);
        let start = (&task.choices[..], &task.climb);
        worker.climb(view.variants, view.known, start, (task.execs, rng), report)
    }

    fn learn(&mut self, task: Start, cut: bool, spent: Spent, corpus: &mut Corpus) {
        self.execs += spent.execs;
        corpus.climbed(&task.climb.label, cut);
    }
}

impl Worker {
    /// Makes a score larger that the stream `start` has, and reports what had the best, and what else was new. Returns
    /// whether a limit cut that off. What streams lack is random, by `rng`.
    pub(in crate::engine) fn climb(
        &mut self,
        variants: &Variants,
        known: Baseline<'_>,
        (start, climb): (&[Choice], &Climb),
        (execs, mut rng): (u64, Rng),
        report: &mut Report,
    ) -> Result<bool> {
        let executor = deciding(&mut self.quick, &mut self.metered, variants, &self.life)?;
        let input_bytes_max = variants.metered.candidate.settings.input_bytes_max as usize;
        let mut best = None;
        let limits = Limits { execs, improvements: climb.improvements_max };
        let cut = ascend(start, limits, &mut |choices| {
            let input = encode(choices);
            let tail = Tail::Random { seed: rng.word(), choices: u32::MAX };
            if input.len() > input_bytes_max {
                return Ok(None);
            }
            report.execs += 1;
            report.input_bytes += input.len() as u64;
            let outcome = self.life.run(executor, &input, &Rule { tail, ..Rule::default() })?;
            let observation = executor.observation();
            if matches!(outcome.verdict(), Verdict::NoCase | Verdict::Unknown) {
                report.no_case(&outcome);
                return Ok(None);
            }
            // The draws say where to move next; what is kept has the length that the guest was told.
            let trace = observation.draws();
            let canonical = trace.clone().canonical();
            let input = encode(&canonical.choices);
            if outcome.trap().is_some() {
                report.fail(&input, (outcome, None), executor, known);
                return Ok(None);
            }
            let (profile, scores) = (Profile::of(observation), Scores::of(observation));
            let (score, before) = (scores.get(&climb.label), report.scores.get(&climb.label));
            let unseen = known.seen.news(&profile);
            let news = report.added.add(&unseen);
            if (known.targets.improve(&mut report.scores, &scores) || news) && input.len() <= input_bytes_max {
                let better = report.scores.get(&climb.label) != before;
                let sample = Some(Node::of(&canonical));
                let new = NewTestcase { input, profile, unseen, fuel: observation.fuel(), sample, scores };
                // Of those that are only a step on the way the last is enough.
                let old = if better { best.replace(new) } else { Some(new) };
                report.testcases.extend(old.filter(|_| news));
            }
            Ok(Some(Evaluation { trace, score }))
        })?;
        report.testcases.extend(best);
        Ok(cut)
    }
}
