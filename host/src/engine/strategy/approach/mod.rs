//! Inputs that lack the fewest branches to a goal are made better, step by step.
//!
//! Gopinath's search (after Wegener, Baresel and Sthamer, "Evolutionary test environment for automatic structural
//! testing", 2001): of all inputs the best are kept, by approach level, then by how far the branch there was from
//! turning out well ([`score`]), then the shorter; mutants of them are made, and it goes on. Here what is made of one
//! is what the alternating variable method finds ([`climb`]), on what the guest draws or on words of its bytes
//! ([`variables`]). Where no variable leads nearer, it goes on from a mutant.
//!
//! One task of a round goes on from the best input that is not stuck, another from a mutant or from a random input.

mod climb;
mod score;
mod variables;

use self::climb::{Climber, End, Point};
use self::score::Score;
use super::havoc::{Parent, give_mutant};
use super::quickcheck;
use super::{Cost, Spent, Strategy, View};
use crate::engine::aim::Pursuit;
use crate::engine::corpus::Corpus;
use crate::engine::rng::Rng;
use crate::engine::workers::report::Report;
use crate::engine::workers::worker::Worker;
use crate::stream::Rule;
use anyhow::Result;

/// Number of its first task.
const TASKS: u64 = 8 << 33;
/// Inputs that are kept.
const KEPT: usize = 16;
/// Executions of the tasks of a round: of the first one, which goes on from the best, and of the other.
const FIRST_EXECS: u64 = 384;
const OTHER_EXECS: u64 = 128;

/// Makes inputs come nearer to goals.
#[derive(Debug, Default)]
pub(super) struct Approach {
    /// The best, the nearest first.
    kept: Vec<Kept>,
    /// Of which goals: see [`Pursuit::epoch`].
    epoch: u64,
}

/// An input that is kept.
#[derive(Clone, Debug)]
struct Kept {
    input: Vec<u8>,
    score: Score,
    /// No variable of it leads nearer.
    is_stuck: bool,
}

/// A task: where it begins, and how many executions it has.
#[derive(Debug)]
pub(super) struct Climb {
    number: u64,
    start: Start,
    execs: u64,
}

/// Where a climb begins.
#[derive(Debug)]
enum Start {
    Input(Vec<u8>),
    /// A mutant of an input.
    Mutant(Vec<u8>),
    Random,
}

/// Inputs that a task found, and of which goals.
#[derive(Debug)]
pub(super) struct Climbed {
    found: Vec<Kept>,
    epoch: u64,
}

impl Strategy for Approach {
    type Task = Climb;
    type Learned = Climbed;

    fn plan(&self, view: &View<'_>, execs: u64) -> Vec<Climb> {
        let Some(pursuit) = view.pursuit.filter(|_| view.variants.traced.is_some()) else { return Vec::new() };
        let mut rng = Rng::of_task(view.seed, view.round, TASKS);
        let bytes = |index: usize| &*view.corpus.testcases()[index].bytes;
        let is_stale = pursuit.epoch != self.epoch;
        let known: Vec<&[u8]> = if is_stale || self.kept.is_empty() {
            view.near().map_or_else(Vec::new, Pursuit::frontier).iter().map(|&index| bytes(index)).collect()
        } else {
            self.kept.iter().map(|kept| &*kept.input).collect()
        };
        let any = |rng: &mut Rng| rng.pick(&known).to_vec();
        let best = if is_stale { None } else { self.kept.iter().find(|kept| !kept.is_stuck) };
        let first = match best {
            Some(best) => Start::Input(best.input.clone()),
            None if known.is_empty() => Start::Random,
            None if is_stale || self.kept.is_empty() => Start::Input(known[0].to_vec()),
            None => Start::Mutant(any(&mut rng)),
        };
        let other = if known.is_empty() || rng.one_in(4) { Start::Random } else { Start::Mutant(any(&mut rng)) };
        let first_execs = FIRST_EXECS.min(execs);
        let other_execs = OTHER_EXECS.min(execs - first_execs);
        let climbs = [(first, first_execs), (other, other_execs)].into_iter().filter(|(_, execs)| *execs > 0);
        (1..).zip(climbs).map(|(number, (start, execs))| Climb { number, start, execs }).collect()
    }

    fn cost(&self, task: &Climb, view: &View<'_>) -> Cost {
        Cost { execs: task.execs, fuel: task.execs.saturating_mul(view.fuel_mean) }
    }

    fn run(&self, task: &Climb, view: &View<'_>, worker: &mut Worker, report: &mut Report) -> Result<Climbed> {
        let Some(pursuit) = view.pursuit else { return Ok(Climbed { found: Vec::new(), epoch: 0 }) };
        let rng = Rng::of_task(view.seed, view.round, TASKS + task.number);
        let marks = vec![false; pursuit.aim.program().blocks()];
        let mut climber = Climber { view, pursuit, worker, report, rng, left: task.execs, marks };
        let mut found: Vec<Kept> = Vec::new();
        let mut point = climber.begin(&task.start)?;
        while let Some(mut best) = point {
            let end = climber.climb(&mut best)?;
            found.push(Kept { input: best.input.clone(), score: best.score, is_stuck: end == End::Stuck });
            if end != End::Stuck {
                break;
            }
            point = climber.begin(&Start::Mutant(best.input))?;
        }
        Ok(Climbed { found, epoch: pursuit.epoch })
    }

    fn learn(&mut self, _: Climb, climbed: Climbed, _: Spent, _: &mut Corpus) {
        if climbed.epoch != self.epoch {
            (self.epoch, self.kept) = (climbed.epoch, Vec::new());
        }
        for new in climbed.found {
            match self.kept.iter_mut().find(|kept| kept.input == new.input) {
                Some(kept) => kept.is_stuck |= new.is_stuck,
                None => self.kept.push(new),
            }
        }
        self.kept.sort_by(|a, b| (a.score, a.input.len(), &a.input).cmp(&(b.score, b.input.len(), &b.input)));
        self.kept.truncate(KEPT);
    }

    fn needs_traces(&self) -> bool {
        true
    }
}

impl Climber<'_, '_> {
    /// Executes where a climb begins; `None` if no executions are left.
    fn begin(&mut self, start: &Start) -> Result<Option<Point>> {
        match start {
            Start::Input(input) => self.execute(input, &Rule { close: true, ..Rule::default() }),
            Start::Mutant(_) | Start::Random => {
                match start {
                    Start::Mutant(input) => {
                        let steps = self.view.steps.unwrap_or_default();
                        give_mutant(self.view, steps, Parent::new(input, None), &mut self.rng, self.worker);
                    }
                    _ => quickcheck::give(self.view, &mut self.rng, self.worker),
                }
                let (input, rule) = (std::mem::take(&mut self.worker.input), self.worker.rule);
                self.execute(&input, &rule)
            }
        }
    }
}
