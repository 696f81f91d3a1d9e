//! Visits: now and then another strategy searches from the beginning, for a while, and what it finds is kept.
//!
//! No strategy is the best one for every guest: who looks for what is rare opens a lock in a fraction of the
//! executions, and who only rolls dice is never led away. So beside the campaign's mutants, which have most of its
//! time, others are tried: each visit begins with nothing ([`blank`](super::blank)), and is executed in pieces beside
//! the others' rounds, so that nobody waits for it. Every second visit of a strategy is twice as long as the one
//! before: so it gets as far as it would alone in four times the time, and who was led away begins again. How much
//! each may spend follows from what it brought ([`allowance`](super::allowance)): a bandit whose arms are strategies,
//! so that a campaign takes no more than a constant times what any of them takes, begun afresh.
//!
//! Only guests that draw are visited: what takes bytes would have to be understood first each time, and of the others
//! none brings more there than mutants.

mod visit;

use super::allowance::{Allowance, Terms};
use super::blank::Make;
use super::{Aside, Cost, Gains, Spent, Strategy, View};
use crate::engine::corpus::Corpus;
use crate::engine::rng::Rng;
use crate::engine::scheduler::EXECUTION_FUEL;
use crate::engine::workers::report::Report;
use crate::engine::workers::worker::Worker;
use anyhow::Result;
use std::sync::Arc;
use visit::{Piece, ROUND_EXECS, Stage, Visit};

/// Fuel of a strategy's first two visits: some hundredths of a second.
const UNIT_FUEL: u64 = 1 << 25;
/// How often the length is doubled: some seconds at most.
const DOUBLINGS_MAX: u64 = 8;
/// Each visitor has some visits whatever they bring, as early as it may; all of them together have one part in eight of
/// a campaign, or in four where mutants bring nothing, and half where they bring more than these.
const TERMS: Terms = Terms { free: 8 * UNIT_FUEL, share_min: 24, share_max: 6, share_stuck: 24 };
/// A piece of a visit takes one part in so many of the fuel of a round,
const PIECE_PART: u64 = 8;
/// but some milliseconds at least.
const PIECE_FUEL_MIN: u64 = 1 << 23;
/// Executions of which it is not known what they take are believed to take what the campaign's do, until so many are.
const TAKEN_EXECS: u64 = 2;
/// Number of the random numbers of visits, among those of tasks.
const SEEDS: u64 = 14 << 33;

/// Visits a campaign.
#[derive(Debug, Default)]
pub(in crate::engine) struct Visits(Vec<Visitor>);

/// A strategy that visits.
struct Visitor {
    make: Make,
    /// Visits that it made, and what they took.
    visits: u64,
    spent: u64,
    allowance: Allowance,
    /// The visit that it makes, and the executions that each piece had so far.
    begun: Option<(Arc<Visit>, Vec<u64>)>,
    /// Executions of its visits of which it is known what they take, and that fuel.
    taken: [u64; 2],
    /// New edges that it brought and the executions of that since it was last asked.
    brought: [u64; 2],
}

impl std::fmt::Debug for Visitor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { visits, spent, allowance, .. } = self;
        f.debug_tuple("Visitor").field(visits).field(spent).field(allowance).finish()
    }
}

impl Visitor {
    fn new(make: Make) -> Self {
        let allowance = Allowance::default();
        Self { make, visits: 0, spent: 0, allowance, begun: None, taken: [0; 2], brought: [0; 2] }
    }

    /// Fuel of its next visit.
    fn length(&self) -> u64 {
        UNIT_FUEL << (self.visits / 2).min(DOUBLINGS_MAX)
    }

    /// Whether its next visit comes whatever the others bring.
    fn is_free(&self) -> bool {
        self.spent < TERMS.free
    }

    /// What it may spend now, in a campaign whose executions took so much fuel.
    fn left(&self, fuel: u64) -> u64 {
        let soonest = UNIT_FUEL.saturating_add(fuel / TERMS.share_max);
        self.allowance.total(&TERMS, fuel).min(soonest).saturating_sub(self.spent)
    }

    /// Fuel that one of its executions takes on average, with what restoring takes.
    fn fuel_mean(&self, view: &View<'_>) -> u64 {
        let [execs, fuel] = self.taken;
        let fuel = fuel.saturating_add(TAKEN_EXECS * view.fuel_mean) / (execs + TAKEN_EXECS);
        fuel.saturating_add(EXECUTION_FUEL)
    }

    /// Executions of its next piece, of the visit that it makes or of the next one.
    fn piece_execs(&self, view: &View<'_>) -> u64 {
        let visit = self.begun.as_ref().map_or_else(|| self.visit_execs(view), |(visit, _)| visit.execs);
        let round_fuel = view.round_execs.saturating_mul(view.fuel_mean.saturating_add(EXECUTION_FUEL));
        let affordable = (round_fuel / PIECE_PART).max(PIECE_FUEL_MIN) / self.fuel_mean(view);
        affordable.max(ROUND_EXECS).next_multiple_of(ROUND_EXECS).min(visit)
    }

    /// Executions of its next visit.
    fn visit_execs(&self, view: &View<'_>) -> u64 {
        (self.length() / view.fuel_mean.saturating_add(EXECUTION_FUEL)).max(1)
    }

    /// The next piece of the visit that it makes, or the first one of a visit with this seed.
    fn piece(&self, view: &View<'_>, seed: u64) -> Piece {
        let begin = || (Arc::new(Visit::new(self.make.clone(), view, seed, self.visit_execs(view))), Vec::new());
        let (visit, before) = self.begun.clone().unwrap_or_else(begin);
        Piece { visit, before: before.into(), execs: self.piece_execs(view) }
    }

    /// Takes how far a visit has come with a piece.
    fn learn(&mut self, piece: Piece, stage: Stage, spent: Spent) {
        let Stage { is_over, sampled } = stage;
        self.taken.iter_mut().zip(sampled).for_each(|(taken, more)| *taken = taken.saturating_add(more));
        self.brought = [self.brought[0] + spent.edges, self.brought[1] + spent.execs];
        if is_over {
            self.visits += 1;
            self.begun = None;
        } else {
            self.begun.get_or_insert_with(|| (piece.visit, Vec::new())).1.push(piece.execs);
        }
    }
}

/// A piece of somebody's visit.
#[derive(Debug)]
pub(in crate::engine) struct Task {
    visitor: usize,
    piece: Piece,
}

impl Visits {
    /// By these strategies.
    pub(super) fn of(makes: impl IntoIterator<Item = Make>) -> Self {
        Self(makes.into_iter().map(Visitor::new).collect())
    }
}

impl Strategy for Visits {
    type Task = Task;
    type Learned = Stage;

    /// A piece of each visit that is under way or due; but of those that come whatever they bring one after the other:
    /// who opens a lock opens it sooner if the others' visits aren't spread over its own.
    fn plan(&self, view: &View<'_>, execs: u64) -> Vec<Task> {
        if !view.variants.metered.takes_choices() {
            return Vec::new();
        }
        let is_due = |its: &Visitor| its.begun.is_some() || its.left(view.fuel) >= its.length();
        let mut due: Vec<_> = self.0.iter().enumerate().filter(|(_, its)| is_due(its)).collect();
        due.sort_by_key(|(_, its)| its.begun.is_none());
        let first_free = due.iter().position(|(_, its)| its.is_free());
        let is_next = |&(at, (_, its)): &(usize, (usize, &Visitor))| !its.is_free() || Some(at) == first_free;
        let mut left = execs;
        let task = |(_, (visitor, its)): (usize, (usize, &Visitor))| {
            let seed = Rng::of_task(view.seed, its.visits, SEEDS + visitor as u64).word();
            // A shorter one would be none.
            left = left.checked_sub(its.piece_execs(view))?;
            Some(Task { visitor, piece: its.piece(view, seed) })
        };
        due.into_iter().enumerate().filter(is_next).map_while(task).collect()
    }

    fn cost(&self, task: &Task, view: &View<'_>) -> Cost {
        let execs = task.piece.execs;
        Cost { execs, fuel: execs.saturating_mul(self.0[task.visitor].fuel_mean(view)) }
    }

    fn run(&self, task: &Task, view: &View<'_>, worker: &mut Worker, report: &mut Report) -> Result<Stage> {
        task.piece.run(view.variants, worker, report)
    }

    fn aside(&self, view: &View<'_>) -> Option<Aside<Self>> {
        let variants = view.variants.clone();
        Some(Box::new(move |task, worker, report| task.piece.run(&variants, worker, report)))
    }

    /// A visit takes no larger part of the campaign, while it is under way, than its visitor may have in all: what it
    /// may have is spent evenly, and as many workers don't wait for it.
    fn patience(&self, view: &View<'_>) -> u64 {
        let total = self.0.iter().map(|visitor| visitor.allowance.total(&TERMS, view.fuel)).max().unwrap_or(0);
        (view.fuel / total.max(1)).clamp(TERMS.share_max, TERMS.share_min)
    }

    fn learn(&mut self, task: Task, stage: Stage, spent: Spent, _: &mut Corpus) {
        self.0[task.visitor].learn(task.piece, stage, spent);
    }

    fn gained(&mut self, own: Gains, mutants: Gains) {
        for visitor in &mut self.0 {
            let [edges, execs] = std::mem::take(&mut visitor.brought);
            visitor.spent = visitor.spent.saturating_add(own.fuel.saturating_mul(execs) / own.execs.max(1));
            visitor.allowance.brought(mutants, edges);
        }
    }
}
