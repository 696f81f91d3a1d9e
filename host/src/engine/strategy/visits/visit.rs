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
    pieces: usize,
    rounds: u64,
    execs: u64,
    overruns: u64,
    is_over: bool,
}

/// Part of a visit, for one worker.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) visit: Arc<Visit>,
    /// Executions that each piece before had.
    pub(super) before: Arc<[u64]>,
    /// As many as it makes.
    pub(super) execs: u64,
}

/// What became of a visit in a piece.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct Stage {
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

    /// Executes so many, round by round, until something fails.
    fn piece(&self, search: &mut Search, execs: u64, place: Place<'_>) -> Result<()> {
        let Place { variants, worker, report } = place;
        let end = search.execs + execs;
        while !search.is_over && search.execs < end {
            let left = end - search.execs;
            self.round(search, left, Place { variants, worker, report })?;
        }
        search.pieces += 1;
        Ok(())
    }

    /// The search behind pieces of so many executions each.
    fn behind(&self, before: &[u64], variants: &Variants, worker: &mut Worker) -> Result<Search> {
        let search = self.search.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(search) = search.filter(|search| search.pieces == before.len()) {
            return Ok(search);
        }
        // The piece is executed again, or was aborted: then so is all before it.
        let blank = Blank::new((self.make)(), self.nothing.clone());
        let mut search = Search { blank, pieces: 0, rounds: 0, execs: 0, overruns: 0, is_over: false };
        for &execs in before {
            self.piece(&mut search, execs, Place { variants, worker, report: &mut Report::default() })?;
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
    /// Goes on with the visit.
    pub(super) fn run(&self, variants: &Variants, worker: &mut Worker, report: &mut Report) -> Result<Stage> {
        let visit = &*self.visit;
        let mut search = visit.behind(&self.before, variants, worker)?;
        let sampled = report.sample.growths;
        visit.piece(&mut search, self.execs, Place { variants, worker, report })?;
        let now = report.sample.growths;
        let sampled = [now.execs - sampled.execs, now.fuel - sampled.fuel];
        let stage = Stage { is_over: search.is_over, sampled };
        *visit.search.lock().unwrap_or_else(PoisonError::into_inner) = Some(search);
        Ok(stage)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::named::Search;
    use super::*;
    use crate::engine::corpus::Corpus;
    use crate::engine::dictionary::Dictionary;
    use crate::engine::workers::pool::Workers;
    use crate::engine::workers::report::Baseline;
    use crate::sandbox::Target;
    use crate::settings::Settings;

    /// Keys that lead on, the others back to the beginning.
    const GUEST: &str = r#"(module
        (import "fuzzbox_v1" "draw_choice" (func $choice (param i32 i32) (result i32)))
        (import "fuzzbox_v1" "draw_more" (func $more (param i32 i32 i32) (result i32)))
        (memory (export "memory") 1)
        (func (export "fbx_lock") (local $state i32)
            (loop $again
                (if (i32.eqz (call $more (i32.const 0) (i32.const 64) (i32.const 0))) (then (return)))
                (if (i32.eq (call $choice (i32.const 8) (i32.const 0)) (i32.rem_u (local.get $state) (i32.const 7)))
                    (then (local.set $state (i32.add (local.get $state) (i32.const 1)))
                        (if (i32.eq (local.get $state) (i32.const 40)) (then unreachable))
                        (br $again)))
                (local.set $state (i32.const 0))
                (br $again))))"#;

    /// What the pieces of a visit find by each strategy that visits. `forgets` is executed before each piece.
    fn found(forgets: impl Fn(&Piece, &dyn Fn(&Piece))) -> Vec<Vec<Vec<u8>>> {
        let target = Arc::new(Target::load(GUEST.as_bytes(), Settings::default()).unwrap());
        let (workers, variants) = (Workers::new(1, Arc::default()).unwrap(), Variants::of(target.clone()));
        let (corpus, mutator) = (Corpus::of(Seen::nothing_of(&target)), Mutator::new(Dictionary::default()));
        let (failures, closing, hangs) = (Arc::default(), Arc::default(), Arc::default());
        let (seen, targets) = (corpus.shared_seen(), corpus.targets());
        let fuel_max = target.candidate.settings.fuel_max;
        let view = View {
            corpus: &corpus,
            mutator: &mutator,
            variants: &variants,
            known: Baseline { seen, targets, failures: &failures, closing: &closing, fuel_max, hangs: &hangs },
            seed: 1,
            round: 0,
            round_execs: ROUND_EXECS,
            execs: 0,
            overruns: 0,
            fuel: 0,
            fuel_mean: 100,
            len_min: 0,
            len_max: 64,
            pursuit: None,
            steps: None,
            is_apart: false,
            tally: false,
        };
        let run = |piece: &Piece| {
            let execute = |_, worker: &mut Worker| {
                let mut report = Report::default();
                let stage = piece.run(&variants, worker, &mut report)?;
                Ok((stage, report.testcases.into_iter().map(|testcase| testcase.input).collect::<Vec<_>>()))
            };
            workers.run(&variants, 1, execute).unwrap().expect("nobody aborts").remove(0)
        };
        let visit = |visitor: &super::super::Visitor| {
            let visit = Arc::new(Visit::new(visitor.make.clone(), &view, 7, 5_000));
            let (mut before, mut found, mut is_over) = (Vec::new(), Vec::new(), false);
            while !is_over {
                let piece = Piece { visit: visit.clone(), before: before.clone().into(), execs: 600 };
                forgets(&piece, &|piece| drop(run(piece)));
                let (stage, mut new) = run(&piece);
                is_over = stage.is_over;
                before.push(piece.execs);
                found.append(&mut new);
            }
            assert!(before.len() > 2, "it has pieces");
            found
        };
        Search::default().visits().0.iter().map(visit).collect()
    }

    #[test]
    fn a_piece_that_was_aborted_or_executed_before_finds_the_same() {
        let undisturbed = found(|_, _| ());
        assert!(undisturbed.iter().any(|found| found.len() > 5), "{undisturbed:?}");
        let forget = |piece: &Piece| drop(piece.visit.search.lock().unwrap().take());
        assert_eq!(found(|piece, _| forget(piece)), undisturbed);
        assert_eq!(found(|piece, run| run(piece)), undisturbed);
    }
}
