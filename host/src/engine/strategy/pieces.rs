//! Goes on from the testcases that came furthest on traces.
//!
//! # Traces are searched piece by piece
//!
//! Frames that each come with a small probability are never met together by chance. So what comes further on a trace is
//! a testcase, as it has a feature that is new, and from it the search for the next frame goes on: the choices before
//! the last frame stay, and behind them others are drawn or those that were there are changed. A native frame can't be
//! copied, so what is kept is drawn again. Now and then a piece begins at an earlier frame, because there may be no way
//! from where the furthest one led. Of inputs that are bytes nobody knows where a frame is; they are changed anywhere.
//!
//! No more than half of all executions are such, and none once every trace was reached.

use super::havoc::{Parent, give_mutant, random_tail_after};
use super::{Cost, Spent, Strategy, View};
use crate::engine::corpus::Corpus;
use crate::engine::mutate::Steps;
use crate::engine::rng::Rng;
use crate::engine::scheduler::PICK_EXECS;
use crate::engine::suspects::Origin;
use crate::engine::testcase::Testcase;
use crate::engine::workers::report::Report;
use crate::engine::workers::worker::Worker;
use crate::stream::{Node, Rule, Tail, encode};
use anyhow::Result;

/// Number of the first task that goes on.
const TASKS: u64 = 11 << 33;
/// Tasks in a round, at most.
const TASKS_MAX: u64 = 64;
/// Executions of a task: that of the testcase, and of what is made of it.
const TASK_EXECS: u64 = PICK_EXECS as u64;
/// One piece in so many begins at some frame that any testcase reached, and not at the furthest.
const EARLIER: usize = 4;

/// One mutant in so many goes on as its testcase did, with changes, and not at random.
const CHANGED: usize = 4;

/// Goes on from testcases that came far on traces.
#[derive(Debug, Default)]
pub(in crate::engine) struct Pieces {
    /// Executions that were spent.
    execs: u64,
}

/// The search for a trace's next frame.
#[derive(Debug)]
pub(in crate::engine) struct Piece {
    number: u64,
    trace: usize,
    /// The testcase to go on from; `None` if no frame was reached.
    testcase: Option<usize>,
}

impl Strategy for Pieces {
    type Task = Piece;
    type Learned = ();

    fn plan(&self, view: &View<'_>, execs: u64) -> Vec<Piece> {
        let open = open(view);
        if open.is_empty() {
            return Vec::new();
        }
        let budget = view.execs.saturating_sub(self.execs.saturating_mul(2)).min(execs);
        let piece = |number: u64| {
            let trace = open[((view.round + number) % open.len() as u64) as usize];
            let mut rng = Rng::of_task(view.seed, view.round, TASKS + number);
            Piece { number, trace, testcase: begin(view, trace, &mut rng) }
        };
        (0..(budget / TASK_EXECS).min(TASKS_MAX)).map(piece).collect()
    }

    fn cost(&self, _: &Piece, view: &View<'_>) -> Cost {
        Cost { execs: TASK_EXECS, fuel: TASK_EXECS.saturating_mul(view.fuel_mean) }
    }

    fn run(&self, task: &Piece, view: &View<'_>, worker: &mut Worker, report: &mut Report) -> Result<()> {
        let mut rng = Rng::of_task(view.seed, view.round, TASKS + task.number + TASKS_MAX);
        let testcase = task.testcase.map(|index| &view.corpus.testcases()[index]);
        let mut left = TASK_EXECS;
        let mut kept = 0;
        if let Some(testcase) = testcase.filter(|testcase| testcase.sample.is_some()) {
            // Where its last frame is.
            worker.input.clear();
            worker.input.extend_from_slice(&testcase.bytes);
            worker.rule = Rule::default();
            let (_, observation) = worker.execute_shown(view.variants, view.known, report)?;
            kept = observation.reached().get(task.trace).map_or(0, |reached| reached.draws as usize);
            left -= 1;
        }
        for _ in 0..left {
            give(view, testcase, kept, &mut rng, worker);
            worker.execute(view.variants, view.known, report)?;
            report.suspect_is(|| Origin::Given(worker.input.clone()));
        }
        Ok(())
    }

    fn learn(&mut self, _: Piece, (): (), spent: Spent, _: &mut Corpus) {
        self.execs += spent.execs;
    }
}

/// The traces that were not reached to their ends.
fn open(view: &View<'_>) -> Vec<usize> {
    let Some(traces) = &view.variants.metered.candidate.traces else { return Vec::new() };
    let seen = view.corpus.seen();
    let open = traces.all().iter().enumerate().filter(|(trace, its)| seen.frames(*trace) < its.patterns.len());
    open.map(|(trace, _)| trace).collect()
}

/// The testcase to go on from.
fn begin(view: &View<'_>, trace: usize, rng: &mut Rng) -> Option<usize> {
    let edges_total = view.corpus.seen().edges_total();
    let reached = view.corpus.testcases().iter().map(|testcase| testcase.profile.frames(edges_total, trace));
    let reached: Vec<_> = reached.enumerate().filter(|(_, frames)| *frames > 0).collect();
    let furthest = reached.iter().map(|(_, frames)| *frames).max()?;
    let least = if rng.one_in(EARLIER) { 1 } else { furthest };
    let some: Vec<_> = reached.into_iter().filter(|(_, frames)| *frames >= least).collect();
    Some(rng.pick(&some).0)
}

/// Gives a worker an input that begins as a testcase does, by so many of its choices.
fn give(view: &View<'_>, testcase: Option<&Testcase>, kept: usize, rng: &mut Rng, worker: &mut Worker) {
    let sample = testcase.and_then(|testcase| testcase.sample.as_ref());
    if !view.variants.metered.takes_choices() {
        let parent = testcase.map_or_else(Parent::default, Parent::of);
        return give_mutant(view, view.steps.unwrap_or_default(), parent, rng, worker);
    }
    let choices = sample.map_or_else(Vec::new, Node::choices);
    let (begin, rest) = choices.split_at(kept.min(choices.len()));
    worker.input = encode(begin);
    let len_max = view.len_max.max(testcase.map_or(0, |testcase| testcase.bytes.len()));
    let tail = if rng.one_in(CHANGED) {
        // The stream's own way on, changed: any bytes are choices.
        let mut rest = encode(rest);
        view.mutator.mutate_in(
            (Steps::Usual, &[]),
            &mut rest,
            len_max.saturating_sub(worker.input.len()),
            view.corpus,
            rng,
            None,
        );
        worker.input.append(&mut rest);
        if rng.one_in(2) { Tail::Zero } else { random_tail_after(choices.len(), rng) }
    } else {
        random_tail_after(begin.len(), rng)
    };
    worker.rule = Rule { tail, wrap: true, close: true };
}
