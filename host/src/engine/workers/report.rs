//! What a task is told before it begins, and what it reports.

use crate::coverage::{Added, Profile, Seen};
use crate::engine::results::ExecutionResult;
use crate::engine::scores::Targets;
use crate::engine::suspects::{self, Hangs, Origin, Suspect};
use crate::engine::testcase::{NewTestcase, Scores};
use crate::engine::used::Used;
use crate::outcome::{FailureKind, Outcome, Verdict};
use crate::sandbox::{Executor, Growths, Target};
use crate::stream::{Closing, Node, Rule, encode};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;
use std::sync::Arc;

/// Different failures that a task reports at most.
const TASK_FAILURES_MAX: usize = 16;
/// Failures that are known not to be worth a report, at most.
const KNOWN_MAX: usize = 4096;

/// What is known at the beginning of a round, to all of its tasks.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct Baseline<'a> {
    pub(in crate::engine) seen: &'a Arc<Seen>,
    pub(in crate::engine) targets: &'a Arc<Targets>,
    pub(in crate::engine) failures: &'a Arc<KnownFailures>,
    /// What call sites close with.
    pub(in crate::engine) closing: &'a Arc<Closing>,
    /// Fuel after which an execution is suspected to hang, in units.
    pub(in crate::engine) fuel_max: u64,
    pub(in crate::engine) hangs: &'a Arc<Hangs>,
}

/// The same, kept for tasks that go on beside later rounds: shared with the campaign until that learns more.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Known {
    seen: Arc<Seen>,
    targets: Arc<Targets>,
    failures: Arc<KnownFailures>,
    closing: Arc<Closing>,
    fuel_max: u64,
    hangs: Arc<Hangs>,
}

impl Known {
    /// What is known now.
    pub(in crate::engine) fn now(known: Baseline<'_>) -> Self {
        let Baseline { seen, targets, failures, closing, fuel_max, hangs } = known;
        let (seen, targets, failures) = (seen.clone(), targets.clone(), failures.clone());
        Self { seen, targets, failures, closing: closing.clone(), fuel_max, hangs: hangs.clone() }
    }

    /// What was known then.
    pub(in crate::engine) fn then(&self) -> Baseline<'_> {
        let Self { seen, targets, failures, closing, fuel_max, hangs } = self;
        Baseline { seen, targets, failures, closing, fuel_max: *fuel_max, hangs }
    }
}

/// Failures of earlier rounds: another input that fails so is no news.
#[derive(Clone, Debug, Default)]
pub(in crate::engine) struct KnownFailures {
    outcomes: BTreeSet<Outcome>,
    /// By [`Executor::stack_key`] of the quick variant. They save an execution, and change nothing else.
    pub(in crate::engine) keys: BTreeSet<NonZeroU64>,
}

/// What a task found, to be judged again when it is merged: other tasks may have found the same.
#[derive(Debug, Default)]
pub(in crate::engine) struct Report {
    pub(in crate::engine) testcases: Vec<NewTestcase>,
    /// What they were made with, if that is known.
    pub(in crate::engine) used: Vec<Used>,
    pub(in crate::engine) failures: Vec<NewFailure>,
    /// Where the quick variant showed failures that are known, but not there.
    keys: BTreeSet<NonZeroU64>,
    /// Testcases that were mutated, by index.
    pub(in crate::engine) picks: Vec<usize>,
    pub(in crate::engine) execs: u64,
    /// Those of them that were known, and not made.
    pub(in crate::engine) recalled: u64,
    /// Bytes of the inputs that were executed.
    pub(in crate::engine) input_bytes: u64,
    pub(in crate::engine) rejected: u64,
    pub(in crate::engine) overruns: u64,
    /// The first execution that overran although call sites were closed.
    pub(in crate::engine) witness: Option<Witness>,
    pub(in crate::engine) hangs: u64,
    pub(in crate::engine) suspects: Vec<Suspect>,
    /// Executions of which it is known what they take, that fuel, and how many of them may hang.
    pub(in crate::engine) sample: Sample,
    /// Of these the last that passed and grew a memory, and by how many bytes.
    pub(in crate::engine) grew: Option<(u64, Vec<u8>)>,
    pub(in crate::engine) at_len_max: u64,
    /// What the task showed that was not known, and its scores that were better.
    pub(in crate::engine) added: Added,
    pub(in crate::engine) scores: Scores,
    /// How often each input was executed that was no error, if that is counted.
    pub(in crate::engine) tally: BTreeMap<Vec<u8>, u64>,
}

/// A report where many are kept and passed on.
pub(in crate::engine) type BoxedReport = Box<Report>;

/// An execution that overran: its stream, and how that was read.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Witness {
    pub(in crate::engine) input: Vec<u8>,
    pub(in crate::engine) rule: Rule,
}

/// How a confirmed hang ended, and the edges that it reached and no testcase has.
pub(in crate::engine) type Hung = (Outcome, Vec<u32>);

/// Executions that were all made where fuel is counted: the same ones in whatever variant the others were.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::engine) struct Sample {
    pub(in crate::engine) growths: Growths,
    pub(in crate::engine) hangs: u64,
}

#[derive(Debug)]
pub(in crate::engine) struct NewFailure {
    pub(in crate::engine) input: Vec<u8>,
    pub(in crate::engine) outcome: Outcome,
    /// Edges that it reached and no testcase had.
    pub(in crate::engine) edges: Vec<u32>,
    key: Option<NonZeroU64>,
}

impl NewFailure {
    /// Of an input that was executed where that decides. `edges` are those that it reached and no testcase has.
    pub(in crate::engine) fn new(input: &[u8], outcome: Outcome, edges: Vec<u32>) -> Self {
        Self { input: input.to_vec(), outcome, edges, key: None }
    }
}

impl Report {
    /// Notes what an execution showed; returns whether some of it was new.
    fn shows(&mut self, unseen: &Profile, scores: &Scores, known: Baseline<'_>) -> bool {
        let news = self.added.add(unseen);
        known.targets.improve(&mut self.scores, scores) || news
    }

    /// Notes what the execution of an input showed where that decides.
    pub(in crate::engine) fn decided(
        &mut self,
        executor: &Executor,
        input: &[u8],
        (outcome, key): (Outcome, Option<NonZeroU64>),
        known: Baseline<'_>,
    ) {
        let (target, observation) = (executor.target(), executor.observation());
        let (mut input, mut drawn) = (Cow::Borrowed(input), None);
        if target.takes_choices() && outcome.verdict() != Verdict::NoCase {
            let draws = observation.draws().canonical();
            input = encode(&draws.choices).into();
            drawn = Some(draws);
            if input.len() > target.candidate.settings.input_bytes_max as usize {
                return;
            }
        }
        match outcome.verdict() {
            Verdict::Passed => {
                let (profile, scores) = (Profile::of(observation), Scores::of(observation));
                let sample = || drawn.as_ref().map(Node::of);
                self.passed(input, (profile, scores, observation.fuel()), sample, known);
            }
            Verdict::NoCase => self.no_case(&outcome),
            // Who interrupts what has fuel ends the round.
            Verdict::Unknown => {}
            Verdict::Failed(FailureKind::Hang, _) if known.fuel_max < target.candidate.settings.fuel_max => {
                self.suspect(executor, &input, outcome, known);
            }
            Verdict::Failed(..) => self.fail(&input, (outcome, key), executor, known),
        }
    }

    /// Notes what is known of an input that a campaign begins with, as if it had been executed where that decides.
    pub(in crate::engine) fn shown(
        &mut self,
        result: ExecutionResult,
        input: &[u8],
        rule: Rule,
        target: &Target,
        known: Baseline<'_>,
    ) {
        self.witness(&result.outcome, input, rule);
        let ExecutionResult { outcome, fuel, profile, drawn, scores } = result;
        let input = drawn.as_ref().map_or(Cow::Borrowed(input), |drawn| encode(&drawn.choices()).into());
        if drawn.is_some() && input.len() > target.candidate.settings.input_bytes_max as usize {
            return;
        }
        match outcome.verdict() {
            Verdict::Passed => self.passed(input, (profile, scores, fuel), || drawn, known),
            Verdict::NoCase => self.no_case(&outcome),
            Verdict::Unknown => {}
            Verdict::Failed(..) => {
                let edges = profile.0.iter().map(|&(edge, _)| edge).filter(|&edge| known.seen.is_edge(edge));
                let new = || edges.filter(|&edge| !known.seen.has_edge(edge)).collect();
                self.fail_with(&input, (outcome, None), new, known);
            }
        }
    }

    /// Notes what an input showed that passed.
    fn passed(
        &mut self,
        input: Cow<'_, [u8]>,
        (profile, scores, fuel): (Profile, Scores, u64),
        sample: impl FnOnce() -> Option<Node>,
        known: Baseline<'_>,
    ) {
        let unseen = known.seen.news(&profile);
        if self.shows(&unseen, &scores, known) {
            let (input, sample) = (input.into_owned(), sample());
            self.testcases.push(NewTestcase { input, profile, unseen, fuel, sample, scores });
        }
    }

    /// Keeps the first execution that overran.
    pub(in crate::engine) fn witness(&mut self, outcome: &Outcome, input: &[u8], rule: Rule) {
        if *outcome == Outcome::Overrun && rule.close && self.witness.is_none() {
            self.witness = Some(Witness { input: input.to_vec(), rule });
        }
    }

    /// Counts an execution that tested nothing.
    pub(in crate::engine) fn no_case(&mut self, outcome: &Outcome) {
        let overrun = *outcome == Outcome::Overrun;
        self.overruns += u64::from(overrun);
        self.rejected += u64::from(!overrun);
    }

    /// Counts the execution of an input.
    pub(in crate::engine) fn counts(&mut self, input: &[u8], target: &Target) {
        self.execs += 1;
        self.input_bytes += input.len() as u64;
        self.at_len_max += u64::from(input.len() == target.candidate.settings.input_bytes_max as usize);
    }

    /// Reports that an execution may hang, unless there is no use in finding that out.
    fn suspect(&mut self, executor: &Executor, input: &[u8], outcome: Outcome, known: Baseline<'_>) {
        let mut edges = new_edges(executor, known.seen);
        edges.retain(|&edge| !known.hangs.has_edge(edge));
        let chosen = suspects::is_chosen(input, known.fuel_max, executor.target().candidate.settings.fuel_max);
        if chosen || !edges.is_empty() || !known.hangs.is_known(&outcome) {
            self.suspects.push(Suspect { outcome, edges, chosen, origin: None });
        }
    }

    /// Says where the last suspect's input comes from, if it is new.
    pub(in crate::engine) fn suspect_is(&mut self, origin: impl FnOnce() -> Origin) {
        if let Some(suspect) = self.suspects.last_mut() {
            suspect.origin.get_or_insert_with(origin);
        }
    }

    /// Says what the last testcase was made with, if it is new.
    pub(in crate::engine) fn made_with(&mut self, used: impl FnOnce() -> Used) {
        if self.testcases.len() > self.used.len() {
            self.used.resize_with(self.testcases.len() - 1, Used::default);
            self.used.push(used());
        }
    }

    /// Reports a failure unless it is known.
    pub(in crate::engine) fn fail(
        &mut self,
        input: &[u8],
        failure: (Outcome, Option<NonZeroU64>),
        executor: &Executor,
        known: Baseline<'_>,
    ) {
        self.fail_with(input, failure, || new_edges(executor, known.seen), known);
    }

    /// As [`Report::fail`]; `edges` are those that it reached and no testcase has.
    fn fail_with(
        &mut self,
        input: &[u8],
        (outcome, key): (Outcome, Option<NonZeroU64>),
        edges: impl FnOnce() -> Vec<u32>,
        known: Baseline<'_>,
    ) {
        self.hangs += u64::from(outcome.is_hang());
        let is_known = known.failures.has(&outcome) || self.failures.iter().any(|failure| failure.outcome == outcome);
        if is_known {
            // Of hangs the key says only where they were interrupted.
            self.keys.extend(key.filter(|_| !outcome.is_hang()));
        } else if self.failures.len() < TASK_FAILURES_MAX {
            let edges = edges();
            self.failures.push(NewFailure { input: input.to_vec(), outcome, edges, key });
        }
    }
}

/// Edges that the last execution reached and no testcase has.
pub(in crate::engine) fn new_edges(executor: &Executor, seen: &Seen) -> Vec<u32> {
    let mut edges = Vec::new();
    executor.observation().edges(|edge, _| {
        if !seen.has_edge(edge) {
            edges.push(edge);
        }
    });
    edges
}

impl KnownFailures {
    /// Whether it is one of them.
    pub(in crate::engine) fn has(&self, outcome: &Outcome) -> bool {
        self.outcomes.contains(outcome)
    }

    /// From the next round on, `failure` is no news.
    pub(in crate::engine) fn add(self: &mut Arc<Self>, failure: &NewFailure) {
        if self.outcomes.len() < KNOWN_MAX {
            let known = Arc::make_mut(self);
            known.outcomes.insert(failure.outcome.clone());
            // Of hangs the key says only where they were interrupted.
            known.keys.extend(failure.key.filter(|_| !failure.outcome.is_hang()));
        }
    }

    /// From the next round on, what the quick variant showed so is no news, as its outcome was none.
    pub(in crate::engine) fn learn_keys(self: &mut Arc<Self>, report: &Report) {
        if self.keys.len() < KNOWN_MAX && !report.keys.is_empty() {
            Arc::make_mut(self).keys.extend(&report.keys);
        }
    }

    /// Forgets what depends on the quick variant.
    pub(in crate::engine) fn forget_keys(self: &mut Arc<Self>) {
        if !self.keys.is_empty() {
            Arc::make_mut(self).keys.clear();
        }
    }
}
