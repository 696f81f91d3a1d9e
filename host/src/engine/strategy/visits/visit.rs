//! A visit: a search that begins with nothing, one piece after the other.

use crate::coverage::Seen;
use crate::engine::mutate::Mutator;
use crate::engine::scheduler::EXECUTION_FUEL;
use crate::engine::strategy::blank::{Blank, Make};
use crate::engine::strategy::{Gains, Spent, View};
use crate::engine::workers::report::{Known, Report};
use crate::engine::workers::variants::Variants;
use crate::engine::workers::worker::Worker;
use anyhow::Result;
use std::sync::{Arc, Mutex, PoisonError};

/// Executions of a visitor's round: what they showed is known to the next one.
pub(super) const ROUND_EXECS: u64 = 256;

/// A visit, with all that it is shown: what the campaign finds meanwhile is none of its business.
pub(super) struct Visit {
    make: Make,
    mutator: Mutator,
    known: Known,
    /// What is seen of the target before anything is executed.
    nothing: Seen,
    /// Its own, among the visits of a campaign with a seed.
    seed: u64,
    /// As many as it makes.
    pub(super) execs: u64,
    fuel_mean: u64,
    lens: [usize; 2],
    /// How far it has come; `None` until it is begun, and when a piece was aborted.
    search: Mutex<Option<Search>>,
}

/// How far a visit has come.
struct Search {
    blank: Blank,
    rounds: u64,
    execs: u64,
    overruns: u64,
    is_over: bool,
}

/// Part of a visit, for one worker.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) visit: Arc<Visit>,
    /// The rounds of the visit that were over at the end of each piece before.
    pub(super) before: Arc<[u64]>,
    /// As many as it makes.
    pub(super) execs: u64,
}

/// How far a visit has come with a piece.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct Stage {
    pub(super) rounds: u64,
    pub(super) is_over: bool,
    /// Executions of the piece of which it is known what they take, and that fuel.
    pub(super) sampled: [u64; 2],
}

impl std::fmt::Debug for Visit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Visit").field("seed", &self.seed).field("execs", &self.execs).finish_non_exhaustive()
    }
}

impl Visit {
    /// One that begins with what is shown, and makes so many executions.
    pub(super) fn new(make: Make, view: &View<'_>, seed: u64, execs: u64) -> Self {
        Self {
            make,
            mutator: view.mutator.clone(),
            known: Known::now(view.known),
            nothing: view.corpus.seen().to_nothing(),
            seed,
            execs,
            fuel_mean: view.fuel_mean,
            lens: [view.len_min, view.len_max],
            search: Mutex::new(None),
        }
    }

    /// Executes a round.
    fn round(&self, search: &mut Search, execs: u64, place: Place<'_>) -> Result<()> {
        let Place { variants, worker, report } = place;
        let (execs_before, overruns_before) = (report.execs, report.overruns);
        let view = View {
            // What it has found is its own, and takes the place of these.
            corpus: search.blank.corpus(),
            mutator: &self.mutator,
            variants,
            known: self.known.then(),
            seed: self.seed,
            round: search.rounds,
            round_execs: ROUND_EXECS,
            execs: search.execs,
            overruns: search.overruns,
            fuel: search.execs.saturating_mul(self.fuel_mean.saturating_add(EXECUTION_FUEL)),
            fuel_mean: self.fuel_mean,
            len_min: self.lens[0],
            len_max: self.lens[1],
            pursuit: None,
            steps: None,
            is_apart: true,
            tally: false,
        };
        let planned = search.blank.plan(&view, execs.min(ROUND_EXECS));
        let mut done = Vec::with_capacity(planned.len());
        for (task, _) in planned {
            let before = report.execs;
            let learned = search.blank.run(&*task, &view, worker, report)?;
            let overruns = search.overruns + report.overruns - overruns_before;
            done.push((task, learned, Spent { execs: report.execs - before, overruns, edges: 0 }));
        }
        search.rounds += 1;
        search.execs += report.execs - execs_before;
        search.overruns += report.overruns - overruns_before;
        // Who looks for a bug is told of it now.
        search.is_over = done.is_empty() || !report.failures.is_empty() || search.execs >= self.execs;
        done.into_iter().for_each(|(task, learned, spent)| search.blank.learn(task, learned, spent));
        search.blank.member.gained(Gains::default(), Gains::default());
        search.is_over |= search.blank.member.is_exhausted();
        Ok(())
    }

    /// The search where earlier pieces ended.
    fn behind(&self, before: &[u64], variants: &Variants, worker: &mut Worker) -> Result<Search> {
        let rounds = before.last().copied().unwrap_or(0);
        let search = self.search.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(search) = search.filter(|search| search.rounds == rounds) {
            return Ok(search);
        }
        // The piece is executed again, or was aborted: then so is all before it.
        let blank = Blank::new((self.make)(), self.nothing.clone());
        let mut search = Search { blank, rounds: 0, execs: 0, overruns: 0, is_over: false };
        for &end in before {
            let report = &mut Report::default();
            while search.rounds < end {
                let left = self.execs.saturating_sub(search.execs);
                self.round(&mut search, left, Place { variants, worker, report })?;
            }
        }
        Ok(search)
    }
}

/// Where a visit's inputs are executed, and what they showed.
struct Place<'a> {
    variants: &'a Variants,
    worker: &'a mut Worker,
    report: &'a mut Report,
}

impl Piece {
    /// Goes on with the visit, round by round, until something fails.
    pub(super) fn run(&self, variants: &Variants, worker: &mut Worker, report: &mut Report) -> Result<Stage> {
        let visit = &*self.visit;
        let mut search = visit.behind(&self.before, variants, worker)?;
        let (end, sampled) = (search.execs + self.execs, report.sample.growths);
        while !search.is_over && search.execs < end {
            let left = end - search.execs;
            visit.round(&mut search, left, Place { variants, worker, report })?;
        }
        let now = report.sample.growths;
        let sampled = [now.execs - sampled.execs, now.fuel - sampled.fuel];
        let stage = Stage { rounds: search.rounds, is_over: search.is_over, sampled };
        *visit.search.lock().unwrap_or_else(PoisonError::into_inner) = Some(search);
        Ok(stage)
    }
}
