//! What tasks execute, and what is learned of it.

use super::explorer::explore;
use super::inside::{self, Opened, Outer};
use super::seen::calls::calls;
use super::{Compares, Due, Facts, Learned, Subject, TracedExecution};
use crate::coverage::Seen;
use crate::engine::aim::Aim;
use crate::engine::corpus::Corpus;
use crate::engine::mutate::Mutator;
use crate::engine::rng::Rng;
use crate::engine::strategy::traced::{self, SLOWNESS};
use crate::engine::strategy::{Aside, Cost, Gains, Spent, Strategy, View};
use crate::engine::workers::report::{Known, Report};
use crate::engine::workers::variants::Variants;
use crate::engine::workers::worker::Worker;
use crate::outcome::Outcome;
use crate::sandbox::CustomMutator;
use crate::stream::Rule;
use anyhow::Result;
use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Testcases that mutants have parts of.
const OTHERS_MAX: usize = 64;

/// What all tasks that are planned together have to know.
#[derive(Debug)]
struct Situation {
    variants: Variants,
    known: Known,
    facts: Arc<Facts>,
    /// Makes mutants, of these testcases and tokens.
    mutator: Mutator,
    others: Vec<Arc<[u8]>>,
    tokens: Vec<Vec<u8>>,
    /// Where the campaign is to get.
    aim: Option<Arc<Aim>>,
    /// Mutants have so many bytes at most, and candidates.
    len_max: usize,
    candidate_len_max: usize,
}

/// A task.
#[derive(Debug)]
pub(in crate::engine) struct Comparing {
    subject: Subject,
    input: Arc<[u8]>,
    /// What may be spent.
    cost: Cost,
}

impl Strategy for Compares {
    type Task = Comparing;
    type Learned = Learned;

    fn plan(&self, view: &View<'_>, execs: u64) -> Vec<Comparing> {
        if view.variants.traced.is_none() {
            return Vec::new();
        }
        let goals = view.pursuit.filter(|pursuit| pursuit.share() > 0);
        let task = |Due { subject, cost }: Due| {
            let input = match &subject {
                Subject::Testcase(index, _) | Subject::Again(index, _) => &view.corpus.testcases()[*index].bytes,
                Subject::Reached(reached) => &reached.input,
                Subject::Hard(hard) => &hard.input,
            };
            Comparing { input: input.clone(), subject, cost }
        };
        self.due((view.fuel, view.fuel_mean), execs, goals).into_iter().map(task).collect()
    }

    fn cost(&self, task: &Comparing, _: &View<'_>) -> Cost {
        Cost { fuel: task.cost.fuel.saturating_mul(SLOWNESS), ..task.cost }
    }

    fn run(&self, task: &Comparing, view: &View<'_>, worker: &mut Worker, report: &mut Report) -> Result<Learned> {
        self.situation(view).compare(task, worker, report)
    }

    fn aside(&self, view: &View<'_>) -> Option<Aside<Self>> {
        let situation = self.situation(view);
        Some(Box::new(move |task, worker, report| situation.compare(task, worker, report)))
    }

    fn learn(&mut self, task: Comparing, mut learned: Learned, spent: Spent, corpus: &mut Corpus) {
        self.execs += spent.execs;
        self.take(&task.subject, &mut learned);
        corpus.add_tokens(learned.tokens);
        corpus.add_checks(learned.checks);
    }

    fn gained(&mut self, own: Gains, mutants: Gains) {
        self.budget.brought(mutants, own.edges);
        self.begin_again();
    }

    fn settled(&mut self, testcase: usize, has_edges: bool) {
        self.offer(testcase, has_edges);
    }
}

/// What solvers begin with.
struct Given<'a> {
    bytes: &'a [u8],
    /// The testcase that they are inside of.
    outer: Option<&'a Outer>,
    /// Candidates have so many bytes at most.
    len_max: usize,
}

impl Given<'_> {
    /// The input that these bytes stand for; `None` if the guest makes none of them.
    fn input<'b>(&self, custom: &mut Option<CustomMutator>, bytes: &'b [u8]) -> Result<Option<Cow<'b, [u8]>>> {
        match self.outer.zip(custom.as_mut()) {
            Some((outer, custom)) => Ok(outer.input(custom, bytes, self.len_max)?.map(Cow::Owned)),
            None => Ok(Some(Cow::Borrowed(bytes))),
        }
    }
}

impl Learned {
    /// After so much fuel and so many executions, with what solvers changed inside of a testcase or not.
    fn after(mut self, spent: u64, execs: u64, outer: Option<&Outer>) -> Self {
        self.spent = spent;
        for hard in &mut self.left {
            hard.fuel = hard.fuel.max(spent / execs.max(1));
            hard.outer = outer.cloned();
        }
        self.outer = outer.cloned();
        self
    }
}

impl Compares {
    /// What tasks have to know that are planned now.
    fn situation(&self, view: &View<'_>) -> Situation {
        let metered = &view.variants.metered;
        // Large values make a stream longer, which is no other size of what is drawn.
        let limit = metered.candidate.settings.input_bytes_max as usize;
        Situation {
            variants: view.variants.clone(),
            known: Known::now(view.known),
            facts: self.facts.clone(),
            mutator: view.mutator.clone(),
            others: view.corpus.testcases().iter().rev().take(OTHERS_MAX).map(|other| other.bytes.clone()).collect(),
            tokens: view.corpus.tokens().to_vec(),
            aim: view.pursuit.map(|pursuit| pursuit.aim.clone()),
            len_max: view.len_max,
            candidate_len_max: if metered.takes_choices() { limit } else { view.len_max },
        }
    }
}

impl Situation {
    /// What mutants are made of beside their parent.
    fn others(&self) -> Corpus {
        let mut others = Corpus::of(Seen::nothing_of(&self.variants.metered));
        self.others.iter().for_each(|bytes| others.lend(bytes.clone()));
        others.add_tokens(self.tokens.iter().map(|token| (0, token.clone())));
        others
    }

    /// Looks at what an input compares, and executes what may let that turn out otherwise.
    fn compare(&self, task: &Comparing, worker: &mut Worker, report: &mut Report) -> Result<Learned> {
        let Self { variants, known, facts, aim, len_max, candidate_len_max, .. } = self;
        let (input, known, len_max) = (&*task.input, known.then(), *len_max);
        let opened = inside::open((&task.subject, input), (variants, len_max, facts), worker)?;
        let given = match &opened {
            Opened::Closed => Given { bytes: input, outer: None, len_max: *candidate_len_max },
            Opened::Open(outer, bytes) => Given { bytes, outer: Some(outer), len_max: *candidate_len_max },
            Opened::Unable => return Ok(Learned::default()),
        };
        // What a candidate leaves open is made up, and is to end.
        let rule = Rule { close: true, ..Rule::default() };
        let (mut spent, mut execs, mut seen) = (0_u64, 0, BTreeSet::new());
        let run = &mut |input: &[u8]| {
            if spent >= task.cost.fuel || execs >= task.cost.execs {
                return Ok(None);
            }
            execs += 1;
            spent += traced::EXECUTION_FUEL;
            let made = given.input(&mut worker.custom, input)?;
            let Some(input) = made.as_deref() else { return Ok(Some(TracedExecution::nothing(&task.cost, spent))) };
            let testcases = report.testcases.len();
            let (outcome, observation) = worker.execute_traced(variants, known, (input, &rule), report)?;
            let trace = observation.trace();
            let fuel = traced::fuel(observation.fuel(), &trace);
            spent += fuel;
            if let Some(aim) = aim.as_ref().filter(|_| execs == 1) {
                seen = calls(&trace, aim.program());
            }
            let takes_choices = variants.metered.takes_choices();
            Ok(Some(TracedExecution {
                trace,
                drawn: takes_choices.then(|| observation.draws().canonical()),
                ended_well: matches!(outcome, Outcome::Ok | Outcome::Rejected),
                is_news: report.testcases.len() > testcases,
                fuel: traced::EXECUTION_FUEL + fuel,
                fuel_left: task.cost.fuel.saturating_sub(spent),
            }))
        };
        let others = OnceCell::new();
        let mutate = |input: &mut Vec<u8>, len_max: usize, rng: &mut Rng| {
            self.mutator.mutate(input, len_max, others.get_or_init(|| self.others()), rng);
        };
        let what = (facts.as_ref(), variants.metered.against.is_some());
        let mut learned = explore(run, (given.bytes, given.len_max), &task.subject, what, &mutate)?;
        learned.calls = seen;
        Ok(learned.after(spent, execs, given.outer))
    }
}
