//! Visits: now and then another strategy searches from the beginning, for a while, and what it finds is kept.
//!
//! No strategy is the best one for every guest: who looks for what is rare opens a lock in a fraction of the
//! executions, and who only rolls dice is never led away. So beside the campaign's mutants, which have most of its
//! time, others are tried: each visit begins with nothing ([`blank`](super::blank)), and is a task of one worker beside
//! the others' rounds, so they cost no more where there are many. Every second visit of a strategy is twice as long as
//! the one before: so it gets as far as it would alone in four times the time, and who was led away begins again. How
//! much each may spend follows from what it brought ([`allowance`](super::allowance)): a bandit whose arms are
//! strategies, so that a campaign takes no more than a constant times what any of them takes, begun afresh.
//!
//! Only guests that draw are visited: what takes bytes would have to be understood first each time, and of the others
//! none brings more there than mutants.

use super::allowance::{Allowance, Terms};
use super::blank::{Blank, Make};
use super::{Aside, Cost, Gains, Spent, Strategy, View};
use crate::coverage::Seen;
use crate::engine::corpus::Corpus;
use crate::engine::mutate::Mutator;
use crate::engine::rng::Rng;
use crate::engine::scheduler::EXECUTION_FUEL;
use crate::engine::workers::report::{Known, Report};
use crate::engine::workers::variants::Variants;
use crate::engine::workers::worker::Worker;
use anyhow::Result;

/// Fuel of a strategy's first two visits: some hundredths of a second.
const UNIT_FUEL: u64 = 1 << 25;
/// How often the length is doubled: a worker is away for some seconds at most.
const DOUBLINGS_MAX: u64 = 8;
/// Each visitor has some visits whatever they bring, as early as it may; all of them together have one part in eight of
/// a campaign, or in four where mutants bring nothing, and half where they bring more than these.
const TERMS: Terms = Terms { free: 8 * UNIT_FUEL, share_min: 24, share_max: 6, share_stuck: 24 };
/// Executions of a visitor's round: what they showed is known to the next one.
const ROUND_EXECS: u64 = 256;
/// Number of the random numbers of visits, among those of tasks.
const SEEDS: u64 = 14 << 33;

/// Visits a campaign.
#[derive(Debug, Default)]
pub(in crate::engine) struct Visits {
    visitors: Vec<Visitor>,
    /// Who made the visit that was merged in this round.
    last: Option<usize>,
}

/// A strategy that visits.
struct Visitor {
    make: Make,
    /// Visits that it made, and what they took.
    visits: u64,
    spent: u64,
    allowance: Allowance,
}

impl std::fmt::Debug for Visitor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { visits, spent, allowance, .. } = self;
        f.debug_tuple("Visitor").field(visits).field(spent).field(allowance).finish()
    }
}

impl Visitor {
    /// Fuel of its next visit.
    fn length(&self) -> u64 {
        UNIT_FUEL << (self.visits / 2).min(DOUBLINGS_MAX)
    }

    /// What it may spend now, in a campaign whose executions took so much fuel.
    fn left(&self, fuel: u64) -> u64 {
        let soonest = UNIT_FUEL.saturating_add(fuel / TERMS.share_max);
        self.allowance.total(&TERMS, fuel).min(soonest).saturating_sub(self.spent)
    }
}

/// A visit.
#[derive(Debug)]
pub(in crate::engine) struct Visit {
    visitor: usize,
    /// Its own, among the visits of a campaign with a seed.
    seed: u64,
    execs: u64,
}

/// What visits have to know.
struct Situation {
    makes: Vec<Make>,
    mutator: Mutator,
    variants: Variants,
    known: Known,
    /// What is seen of the target before anything is executed.
    nothing: Seen,
    fuel_mean: u64,
    lens: [usize; 2],
}

impl Visits {
    /// By these strategies.
    pub(super) fn of(makes: impl IntoIterator<Item = Make>) -> Self {
        let visitor = |make| Visitor { make, visits: 0, spent: 0, allowance: Allowance::default() };
        Self { visitors: makes.into_iter().map(visitor).collect(), last: None }
    }
}

impl Strategy for Visits {
    type Task = Visit;
    type Learned = ();

    /// One visit, by who may spend the most.
    fn plan(&self, view: &View<'_>, execs: u64) -> Vec<Visit> {
        if !view.variants.metered.takes_choices() {
            return Vec::new();
        }
        let left = |visitor: &Visitor| visitor.left(view.fuel);
        let due = self.visitors.iter().enumerate().rev().filter(|(_, visitor)| left(visitor) >= visitor.length());
        let Some((number, visitor)) = due.max_by_key(|(_, visitor)| left(visitor)) else { return Vec::new() };
        let length = (visitor.length() / view.fuel_mean.saturating_add(EXECUTION_FUEL)).max(1);
        let seed = Rng::of_task(view.seed, visitor.visits, SEEDS + number as u64).word();
        // A shorter one would be none.
        if length > execs { Vec::new() } else { vec![Visit { visitor: number, seed, execs: length }] }
    }

    fn cost(&self, task: &Visit, view: &View<'_>) -> Cost {
        Cost { execs: task.execs, fuel: task.execs.saturating_mul(view.fuel_mean) }
    }

    fn run(&self, task: &Visit, view: &View<'_>, worker: &mut Worker, report: &mut Report) -> Result<()> {
        self.situation(view).visit(task, worker, report)
    }

    fn aside(&self, view: &View<'_>) -> Option<Aside<Self>> {
        let situation = self.situation(view);
        Some(Box::new(move |task, worker, report| situation.visit(task, worker, report)))
    }

    fn learn(&mut self, task: Visit, (): (), _: Spent, _: &mut Corpus) {
        self.visitors[task.visitor].visits += 1;
        self.last = Some(task.visitor);
    }

    fn gained(&mut self, own: Gains, mutants: Gains) {
        let last = self.last.take();
        for (number, visitor) in self.visitors.iter_mut().enumerate() {
            let is_last = last == Some(number);
            visitor.spent += if is_last { own.fuel } else { 0 };
            visitor.allowance.brought(mutants, if is_last { own.edges } else { 0 });
        }
    }
}

impl Visits {
    /// What a visit has to know that is planned now.
    fn situation(&self, view: &View<'_>) -> Situation {
        Situation {
            makes: self.visitors.iter().map(|visitor| visitor.make.clone()).collect(),
            mutator: view.mutator.clone(),
            variants: view.variants.clone(),
            known: Known::now(view.known),
            nothing: view.corpus.seen().to_nothing(),
            fuel_mean: view.fuel_mean,
            lens: [view.len_min, view.len_max],
        }
    }
}

impl Situation {
    /// Searches from the beginning, round by round, until something fails.
    fn visit(&self, task: &Visit, worker: &mut Worker, report: &mut Report) -> Result<()> {
        let mut blank = Blank::new((self.makes[task.visitor])(), self.nothing.clone());
        let (before, overruns) = (report.execs, report.overruns);
        for round in 0.. {
            let execs = report.execs - before;
            let view = View {
                // What it has found is its own, and takes the place of these.
                corpus: blank.corpus(),
                mutator: &self.mutator,
                variants: &self.variants,
                known: self.known.then(),
                seed: task.seed,
                round,
                execs,
                overruns: report.overruns - overruns,
                fuel: execs.saturating_mul(self.fuel_mean.saturating_add(EXECUTION_FUEL)),
                fuel_mean: self.fuel_mean,
                len_min: self.lens[0],
                len_max: self.lens[1],
                pursuit: None,
                steps: None,
                is_apart: true,
                tally: false,
            };
            let planned = blank.plan(&view, task.execs.saturating_sub(execs).min(ROUND_EXECS));
            if planned.is_empty() {
                break;
            }
            let mut done = Vec::with_capacity(planned.len());
            for (task, _) in planned {
                let execs = report.execs;
                let learned = blank.run(&*task, &view, worker, report)?;
                done.push((task, learned, Spent { execs: report.execs - execs, overruns: report.overruns - overruns }));
            }
            done.into_iter().for_each(|(task, learned, spent)| blank.learn(task, learned, spent));
            blank.member.gained(Gains::default(), Gains::default());
            // Who looks for a bug is told of it now.
            if blank.member.is_exhausted() || !report.failures.is_empty() {
                break;
            }
        }
        Ok(())
    }
}
