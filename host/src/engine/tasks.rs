//! What a round executes: mutants of testcases, what makes new testcases shorter, and what looks at their comparisons.

use super::compares::{Comparing, Facts, Subject};
use super::corpus::{Admitted, Corpus, Testcase};
use super::mutate::Mutator;
use super::report::{Known, Report};
use super::rng::Rng;
use super::scheduler::Scheduler;
use super::suspects::Origin;
use super::worker::{Variants, Worker};
use crate::stream::{Rule, Tail};
use anyhow::Result;
use std::cmp::Reverse;

/// Tasks that a round's mutants are shared out to, or more if they are many. Many more than workers, so that they end together; few enough that a
/// task is worth its set-up.
pub(super) const TASKS: u64 = 128;
/// Mutants of a task at most: at its end a round waits for what the last one still executes.
pub(super) const TASK_EXECS_MAX: u64 = 64;
/// Of so many tasks one says what executions take, by its first mutant.
const TASKS_PER_SAMPLE: u64 = 4;
/// Mutants of a testcase before another is chosen.
pub(super) const PICK_EXECS: usize = 16;

/// Where random choices follow a mutant of a stream, it has at least so many in all, or twice as many, and so on.
const RANDOM_CHOICES_MIN: u32 = 8;
/// How often that can be doubled, and 1.
const RANDOM_CHOICES_STEPS: usize = 8;

/// The tasks of a round: a function of the corpus, the seed, and the round's number.
///
/// Those that may take long come first, so that workers end together: before all others those that look at comparisons, and those that make a
/// testcase shorter. (These are no round of their own because they are few, and would leave workers without any.)
#[derive(Clone, Debug)]
pub(super) struct Tasks<'a> {
    /// Testcases to be made shorter.
    pub(super) untrimmed: &'a [Admitted],
    /// Executions that are spent on each of them, at most.
    pub(super) trim_execs: u64,
    /// Testcases whose comparisons are looked at, and what is known of these.
    pub(super) comparing: Vec<Comparing>,
    pub(super) facts: &'a Facts,
    pub(super) mutating: Vec<Mutating>,
    pub(super) corpus: &'a Corpus,
    pub(super) mutator: &'a Mutator,
    /// The shortest mutant of bytes, in bytes.
    pub(super) len_min: usize,
    /// The longest mutant, in bytes.
    pub(super) len_max: usize,
    pub(super) variants: &'a Variants,
    pub(super) known: Known<'a>,
}

/// A task that executes mutants.
#[derive(Clone, Debug)]
pub(super) struct Mutating {
    /// Its number, among such.
    number: u64,
    /// Mutants.
    execs: u64,
    /// Testcases to be mutated, by index, each [`PICK_EXECS`] times.
    picks: Vec<usize>,
    /// Fuel that these testcases take, together.
    fuel: u64,
    rng: Rng,
}

impl Mutating {
    /// The tasks for `execs` mutants in a round: those first whose testcases take the most.
    pub(super) fn plan(execs: u64, (seed, round): (u64, u64), corpus: &Corpus) -> Vec<Self> {
        let scheduler = Scheduler::new(corpus);
        let count = execs.div_ceil(TASK_EXECS_MAX).max(TASKS).min(execs);
        let plan = |number| {
            let mut rng = Rng::of_task(seed, round, number);
            // Mutant `i` of the round belongs to task `i` modulo the number of tasks.
            let execs = (execs - number).div_ceil(count);
            let picks: Vec<_> = (0..execs.div_ceil(PICK_EXECS as u64)).map(|_| scheduler.pick(&mut rng)).collect();
            let fuel = picks.iter().map(|&pick| corpus.testcases()[pick].fuel).fold(0, u64::saturating_add);
            Self { number, execs, picks, fuel, rng }
        };
        let mut tasks: Vec<_> = (0..count).map(plan).collect();
        tasks.sort_by_key(|task| Reverse(task.fuel));
        tasks
    }
}

/// The reports of a round, in the order in which they are merged.
#[derive(Debug)]
pub(super) struct Sorted {
    pub(super) compared: Vec<Report>,
    pub(super) trimmed: Vec<Report>,
    pub(super) mutated: Vec<Report>,
}

impl Tasks<'_> {
    /// How many there are.
    pub(super) fn count(&self) -> u64 {
        (self.comparing.len() + self.untrimmed.len() + self.mutating.len()) as u64
    }

    /// Runs task `task`.
    pub(super) fn run(&self, task: u64, worker: &mut Worker) -> Result<Report> {
        let task = usize::try_from(task)?;
        if let Some(task) = self.comparing.get(task) {
            return self.compare(task, worker);
        }
        let task = task - self.comparing.len();
        match self.untrimmed.get(task) {
            Some(new) => self.trim(new, worker),
            None => self.execute(&self.mutating[task - self.untrimmed.len()], worker),
        }
    }

    /// Of all reports those about comparisons, those about testcases to be made shorter, and those about mutants, in the order of the tasks' numbers.
    pub(super) fn sorted(&self, mut reports: Vec<Report>) -> Sorted {
        let mutating = reports.split_off(self.comparing.len() + self.untrimmed.len());
        let trimmed = reports.split_off(self.comparing.len());
        let mut numbered: Vec<_> = self.mutating.iter().map(|task| task.number).zip(mutating).collect();
        numbered.sort_unstable_by_key(|&(number, _)| number);
        Sorted { compared: reports, trimmed, mutated: numbered.into_iter().map(|(_, report)| report).collect() }
    }

    /// Looks at what a testcase compares.
    fn compare(&self, task: &Comparing, worker: &mut Worker) -> Result<Report> {
        let mut report = Report::default();
        let input = match &task.subject {
            Subject::Testcase(index, _) => &self.corpus.testcases()[*index].bytes,
            Subject::Hard(input) => input,
        };
        let known = (self.known, self.facts);
        worker.compare(self.variants, known, (input, self.len_max), task, &mut report)?;
        Ok(report)
    }

    /// Makes a testcase shorter.
    fn trim(&self, Admitted { index, news, .. }: &Admitted, worker: &mut Worker) -> Result<Report> {
        let mut report = Report::default();
        let input = &self.corpus.testcases()[*index].bytes;
        let shorter = worker.trim(self.variants, self.known, (input, news), self.trim_execs, &mut report)?;
        report.testcases.extend(shorter);
        Ok(report)
    }

    /// Executes mutants.
    fn execute(&self, task: &Mutating, worker: &mut Worker) -> Result<Report> {
        let mut report = Report::default();
        report.picks.clone_from(&task.picks);
        let mut rng = task.rng.clone();
        let mut is_sample = task.number.is_multiple_of(TASKS_PER_SAMPLE);
        let mut left = usize::try_from(task.execs)?;
        for &parent in &task.picks {
            let mut before = Vec::with_capacity(PICK_EXECS);
            for number in 0..left.min(PICK_EXECS) {
                before.push(rng.clone());
                self.give(parent, &mut rng, worker);
                if std::mem::take(&mut is_sample) {
                    worker.execute_sample(self.variants, self.known, &mut report)?;
                } else {
                    worker.execute_and_note(self.variants, self.known, &mut report, number)?;
                }
                report.suspect_is(|| Origin::Mutant(parent, before[number].clone()));
            }
            left -= before.len();
            // What some of them showed is found out for all of them together.
            for (number, key) in worker.noted(self.known, &report) {
                self.give(parent, &mut before[number].clone(), worker);
                worker.execute_noted(self.variants, key, self.known, &mut report)?;
                report.suspect_is(|| Origin::Mutant(parent, before[number].clone()));
            }
        }
        Ok(report)
    }

    /// Gives a worker a mutant of a testcase.
    fn give(&self, parent: usize, rng: &mut Rng, worker: &mut Worker) {
        self.mutate(&self.corpus.testcases()[parent], &mut worker.input, rng);
        if self.variants.metered.takes_choices() {
            worker.rule = rule(rng);
        }
    }

    /// Makes an input again.
    pub(super) fn again(&self, origin: &Origin) -> Vec<u8> {
        match origin {
            Origin::Given(input) => input.clone(),
            Origin::Mutant(parent, rng) => {
                let mut input = Vec::new();
                self.mutate(&self.corpus.testcases()[*parent], &mut input, &mut rng.clone());
                input
            }
        }
    }

    /// Puts a mutant of a testcase into `input`.
    fn mutate(&self, Testcase { bytes, sample, .. }: &Testcase, input: &mut Vec<u8>, rng: &mut Rng) {
        input.clear();
        match sample {
            // Now and then as plain bytes: what the tree doesn't show can be changed too.
            Some(sample) if !rng.one_in(16) => {
                self.mutator.mutate_sample(sample, input, self.len_max.max(bytes.len()), self.corpus, rng);
            }
            _ => {
                input.extend_from_slice(bytes);
                self.mutator.mutate(input, self.len_max, self.corpus, rng);
                input.resize(input.len().max(self.len_min), 0);
            }
        }
    }
}

/// How a mutant of a choice stream is read: half of them go on with random choices.
fn rule(rng: &mut Rng) -> Rule {
    let tail = match rng.below(2) {
        0 => Tail::Zero,
        _ => Tail::Random { seed: rng.word(), choices: RANDOM_CHOICES_MIN << rng.below(RANDOM_CHOICES_STEPS) },
    };
    Rule { tail, wrap: true, close: true }
}
