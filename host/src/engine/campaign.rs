//! Rounds: the same seed finds the same corpus, however many workers there are.

use super::corpus::{Corpus, Testcase};
use super::mutate::Mutator;
use super::rng::Rng;
use super::scheduler::Scheduler;
use crate::coverage::{Profile, Seen};
use crate::sandbox::{Executor, Outcome, THREAD_STACK_BYTES, Target};
use anyhow::{Context, Result};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Tasks of a round. Many more than workers, so that they end together; few enough that a task is worth its set-up.
const TASKS: u64 = 128;
/// Executions of a task in the first round; doubles every round while the corpus is young and stale quickly.
const TASK_EXECS_MIN: u64 = 1;
/// Executions of a task at most.
const TASK_EXECS_MAX: u64 = 64;
/// Mutants of a testcase before another is chosen.
const PICK_EXECS: u64 = 16;
/// Fuel that a round should take at most, all tasks together; slow targets get short rounds.
const ROUND_FUEL: u64 = 4_000_000_000;
/// The longest mutant in the beginning, in bytes, unless a seed is longer.
const LEN_MAX_START: usize = 128;
/// Executions without a new edge after which mutants may be twice as long. Short inputs are executed faster, and what they
/// can reach should be reached by them.
const LEN_PATIENCE: u64 = 20_000;
/// Inputs with different failures that a task reports at most.
const TASK_FAILURES_MAX: usize = 16;

/// A deterministic search: call [`Campaign::step`] until enough is found.
#[derive(Debug)]
pub struct Campaign {
    target: Arc<Target>,
    seed: u64,
    mutator: Mutator,
    corpus: Corpus,
    /// By signature: the first failure of each, in the order of signatures.
    failures: BTreeMap<String, Failure>,
    totals: Totals,
    /// The longest mutant at present, in bytes.
    len_max: usize,
    /// Executions when it was set.
    execs_at_len_max: u64,
}

/// Sums over all executions of a campaign.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Executions.
    pub execs: u64,
    /// Rounds that were finished.
    pub rounds: u64,
    /// Executions whose input the harness rejected.
    pub rejected: u64,
    /// Executions that ran out of fuel.
    pub hangs: u64,
    /// Fuel used.
    pub fuel: u64,
    /// Executions whose input was as long as the limit allows.
    pub at_len_max: u64,
    /// The number of executions at which the last new edge was found.
    pub execs_at_new_edge: u64,
}

/// A failure with a signature that this campaign had not seen.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The input that shows it.
    pub input: Arc<[u8]>,
    /// How it ended.
    pub outcome: Outcome,
    /// Trap kind and normalised frames.
    pub signature: String,
    /// Executions up to the end of the round that found it.
    pub execs: u64,
}

/// A testcase that was added.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its index in the corpus.
    pub index: usize,
    /// Edges that nobody reached before it.
    pub new_edges: Vec<u32>,
    /// Edges reached by all testcases up to it.
    pub edges: usize,
}

/// What a round brought.
#[derive(Clone, Debug, Default)]
pub struct Round {
    /// New testcases, in the order in which they were added.
    pub found: Vec<Found>,
    /// New failures.
    pub failures: Vec<Failure>,
}

/// Threads with an executor each.
#[derive(Debug)]
pub struct Workers {
    pool: rayon::ThreadPool,
    /// One per thread of the pool, made when the thread first needs it. A task holds its worker and calls nothing of rayon, so
    /// a lock is never waited for.
    workers: Vec<Mutex<Option<Worker>>>,
    /// Set to end a round early; its results are dropped.
    abort: Arc<AtomicBool>,
}

#[derive(Debug)]
struct Worker {
    executor: Executor,
    /// What the corpus showed, and what the task at hand added.
    seen: Seen,
    input: Vec<u8>,
}

impl Workers {
    /// Starts `jobs` threads. Setting `abort` ends a round early.
    ///
    /// # Errors
    ///
    /// If threads can't be started.
    pub fn new(jobs: usize, abort: Arc<AtomicBool>) -> Result<Self> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(jobs)
            .stack_size(THREAD_STACK_BYTES)
            .thread_name(|index| format!("worker-{index}"))
            .build()
            .context("failed to start worker threads")?;
        Ok(Self { pool, workers: (0..jobs).map(|_| Mutex::new(None)).collect(), abort })
    }

    /// Runs the tasks `0..count` and returns their results in order; `None` if the round was aborted.
    fn run<T: Send>(
        &self,
        target: &Arc<Target>,
        count: u64,
        task: impl Fn(u64, &mut Worker) -> Result<T> + Sync,
    ) -> Result<Option<Vec<T>>> {
        let run = |index| {
            if self.abort.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let thread = rayon::current_thread_index().expect("tasks run on the pool");
            let mut slot = self.workers[thread].lock().expect("a panic ends the process");
            if slot.as_ref().is_none_or(|worker| !Arc::ptr_eq(worker.executor.target(), target)) {
                *slot = Some(Worker { executor: Executor::new(target)?, seen: Seen::default(), input: Vec::new() });
            }
            task(index, slot.as_mut().expect("made above")).map(Some)
        };
        self.pool.install(|| (0..count).into_par_iter().map(run).collect())
    }

    /// Whether `abort` was set.
    pub fn aborted(&self) -> bool {
        self.abort.load(Ordering::Relaxed)
    }
}

/// What a task found, to be judged again when it is merged: other tasks may have found the same.
#[derive(Debug, Default)]
struct Report {
    testcases: Vec<(Vec<u8>, Profile, u64)>,
    failures: Vec<(Vec<u8>, Outcome)>,
    picks: Vec<usize>,
    totals: Totals,
}

impl Campaign {
    /// A campaign against `target` that has not executed anything.
    pub fn new(target: Arc<Target>, seed: u64, mutator: Mutator) -> Self {
        let corpus = Corpus::new(target.edges.edges.len());
        Self {
            target,
            seed,
            mutator,
            corpus,
            failures: BTreeMap::new(),
            totals: Totals::default(),
            len_max: 0,
            execs_at_len_max: 0,
        }
    }

    /// Executes the given inputs once each, in order, and keeps those that show something new. This is round 0.
    ///
    /// The empty input is executed first, and the corpus holds it even if it shows nothing (when it is rejected, say), so that there is
    /// always something to mutate. At most `execs_max` inputs are executed.
    ///
    /// # Errors
    ///
    /// If the host fails. `None` if the round was aborted: nothing happened then.
    pub fn start(
        &mut self,
        workers: &Workers,
        seeds: &[Vec<u8>],
        execs_max: u64,
        signature: &dyn Fn(&Outcome) -> String,
    ) -> Result<Option<Round>> {
        assert_eq!(self.totals.rounds, 0, "seeds are the first round");
        let empty = Vec::new();
        let execs_max = usize::try_from(execs_max).unwrap_or(usize::MAX);
        let inputs: Vec<_> = std::iter::once(&empty).chain(seeds).take(execs_max).collect();
        let nothing = Seen::nothing(self.target.edges.edges.len());
        let reports = workers.run(&self.target, inputs.len() as u64, |task, worker| {
            let mut report = Report::default();
            worker.seen.copy_from(&nothing);
            worker.input.clone_from(inputs[usize::try_from(task)?]);
            worker.execute(&mut report)?;
            Ok(report)
        })?;
        let Some(reports) = reports.filter(|_| !workers.aborted()) else { return Ok(None) };
        let longest = inputs.iter().map(|input| input.len()).max().unwrap_or(0);
        self.len_max = longest.max(LEN_MAX_START).min(self.len_limit());
        let mut round = self.merge(reports, signature);
        if self.corpus.testcases().is_empty() {
            // Every input is rejected or fails: mutate the empty one all the same.
            self.corpus.keep_empty();
            round.found.push(Found { index: 0, new_edges: Vec::new(), edges: 0 });
        }
        Ok(Some(round))
    }

    /// Runs one round of at most `execs_max` executions.
    ///
    /// # Errors
    ///
    /// If the host fails. `None` if the round was aborted: nothing happened then.
    pub fn step(
        &mut self,
        workers: &Workers,
        execs_max: u64,
        signature: &dyn Fn(&Outcome) -> String,
    ) -> Result<Option<Round>> {
        let scheduler = Scheduler::new(&self.corpus);
        let execs = self.round_execs().min(execs_max);
        self.grow_inputs();
        let (seed, number, corpus, mutator) = (self.seed, self.totals.rounds, &self.corpus, &self.mutator);
        let len_max = self.len_max;
        let reports = workers.run(&self.target, TASKS.min(execs), |task, worker| {
            let mut report = Report::default();
            let mut rng = Rng::of_task(seed, number, task);
            worker.seen.copy_from(corpus.seen());
            // Execution `i` of the round belongs to task `i % TASKS`.
            let share = (execs - task).div_ceil(TASKS);
            let mut parent = 0;
            for exec in 0..share {
                if workers.aborted() {
                    break;
                }
                if exec % PICK_EXECS == 0 {
                    parent = scheduler.pick(&mut rng);
                    report.picks.push(parent);
                }
                worker.input.clear();
                worker.input.extend_from_slice(&corpus.testcases()[parent].bytes);
                mutator.mutate(&mut worker.input, len_max, corpus, &mut rng);
                worker.execute(&mut report)?;
            }
            Ok(report)
        })?;
        Ok(reports.filter(|_| !workers.aborted()).map(|reports| self.merge(reports, signature)))
    }

    fn len_limit(&self) -> usize {
        self.target.settings.input_bytes_max as usize
    }

    /// Lets mutants become longer when nothing new was found for a while.
    fn grow_inputs(&mut self) {
        let since = self.totals.execs_at_new_edge.max(self.execs_at_len_max);
        if self.len_max < self.len_limit() && self.totals.execs - since >= LEN_PATIENCE {
            self.len_max = self.len_max.saturating_mul(2).min(self.len_limit());
            self.execs_at_len_max = self.totals.execs;
        }
    }

    /// Executions of the next round: few while the corpus is young, and few if an execution is slow.
    fn round_execs(&self) -> u64 {
        let young = TASK_EXECS_MIN << self.totals.rounds.min(16);
        let fuel_mean = (self.totals.fuel / self.totals.execs.max(1)).max(1);
        TASKS * young.min(TASK_EXECS_MAX).min(ROUND_FUEL / TASKS / fuel_mean).max(1)
    }

    /// Merges the reports of a round's tasks, in their order.
    fn merge(&mut self, reports: Vec<Report>, signature: &dyn Fn(&Outcome) -> String) -> Round {
        let mut round = Round::default();
        self.totals.rounds += 1;
        self.totals.execs += reports.iter().map(|report| report.totals.execs).sum::<u64>();
        for report in reports {
            self.totals.rejected += report.totals.rejected;
            self.totals.hangs += report.totals.hangs;
            self.totals.fuel += report.totals.fuel;
            self.totals.at_len_max += report.totals.at_len_max;
            for index in report.picks {
                self.corpus.picked(index);
            }
            for (input, profile, fuel) in report.testcases {
                if let Some(new_edges) = self.corpus.offer(&input, profile, fuel) {
                    if !new_edges.is_empty() {
                        self.totals.execs_at_new_edge = self.totals.execs;
                    }
                    let (index, edges) = (self.corpus.testcases().len() - 1, self.corpus.seen().edges());
                    round.found.push(Found { index, new_edges, edges });
                }
            }
            for (input, outcome) in report.failures {
                let signature = signature(&outcome);
                if !self.failures.contains_key(&signature) {
                    let failure = Failure { input: input.into(), outcome, signature, execs: self.totals.execs };
                    self.failures.insert(failure.signature.clone(), failure.clone());
                    round.failures.push(failure);
                }
            }
        }
        round
    }

    /// The inputs that are worth keeping.
    pub fn corpus(&self) -> &Corpus {
        &self.corpus
    }

    /// The testcase of `found`.
    pub fn testcase(&self, found: &Found) -> &Testcase {
        &self.corpus.testcases()[found.index]
    }

    /// The first failure of each signature, in the order of signatures.
    pub fn failures(&self) -> impl ExactSizeIterator<Item = &Failure> {
        self.failures.values()
    }

    /// Sums over all executions.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// The target that is fuzzed.
    pub fn target(&self) -> &Arc<Target> {
        &self.target
    }
}

impl Worker {
    /// Executes `self.input` and reports what is new.
    fn execute(&mut self, report: &mut Report) -> Result<()> {
        let outcome = self.executor.run(&self.input)?;
        let observation = self.executor.observation();
        let fuel = observation.fuel();
        report.totals.execs += 1;
        report.totals.fuel += fuel;
        report.totals.at_len_max +=
            u64::from(self.input.len() == self.executor.target().settings.input_bytes_max as usize);
        match &outcome {
            Outcome::Ok if self.seen.is_news(observation) => {
                let profile = Profile::of(observation);
                self.seen.add(&profile);
                report.testcases.push((self.input.clone(), profile, fuel));
            }
            // Nobody has an interrupter of this executor.
            Outcome::Ok | Outcome::Interrupted => {}
            Outcome::Rejected => report.totals.rejected += 1,
            Outcome::Crash(trap) | Outcome::Hang(trap) | Outcome::OutOfMemory(trap) => {
                report.totals.hangs += u64::from(matches!(outcome, Outcome::Hang(_)));
                let known = |(_, other): &(Vec<u8>, Outcome)| other.trap() == Some(trap);
                if report.failures.len() < TASK_FAILURES_MAX && !report.failures.iter().any(known) {
                    report.failures.push((self.input.clone(), outcome));
                }
            }
        }
        Ok(())
    }
}
