//! Replays inputs and takes the time.

use crate::coverage::{Added, Judge, Profile, Seen};
use crate::outcome::Outcome;
use crate::sandbox::{Executor, Plain, Target, Variant};
use anyhow::Result;
use cpu_time::ThreadTime;
use fuzzbox_instrument::EdgeSet;
use std::sync::Arc;
use std::time::Duration;

/// The time is asked for about so often.
const ASK_EVERY: Duration = Duration::from_millis(1);

/// What is done beside executing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mode {
    pub(super) restore: bool,
    pub(super) judge: bool,
}

impl Mode {
    pub(super) const KEPT: Self = Self { restore: false, judge: false };
    pub(super) const RESTORED: Self = Self { restore: true, judge: false };
    pub(super) const JUDGED: Self = Self { restore: true, judge: true };
}

/// The inputs, and what they do in new instances of the metered variant.
pub(super) struct Subject<'a> {
    pub(super) inputs: &'a [Vec<u8>],
    outcomes: Vec<Outcome>,
    edges: Vec<Vec<(u32, u32)>>,
    seen: Seen,
}

/// One row: an executor, and how fast it was.
pub(super) struct Turn<'a> {
    subject: &'a Subject<'a>,
    runner: Runner,
    judge: Judge,
    mode: Mode,
    /// Executions per second of CPU time.
    rates: Vec<f64>,
}

/// What executes: an executor, or the module as it is.
enum Runner {
    Rewritten(Box<Executor>),
    Plain(Box<Plain>),
}

/// A median, the lowest and the highest.
pub(super) struct Rate {
    pub(super) median: f64,
    pub(super) range: [f64; 2],
}

impl<'a> Subject<'a> {
    /// Executes each input in an instance of its own.
    pub(super) fn new(metered: &Arc<Target>, inputs: &'a [Vec<u8>]) -> Result<Self> {
        let mut subject =
            Self { inputs, outcomes: Vec::new(), edges: Vec::new(), seen: Seen::nothing(metered.edges.edges.len()) };
        for input in inputs {
            let mut executor = Executor::new(metered)?;
            subject.outcomes.push(executor.run(input)?);
            subject.edges.push(edges(&executor));
            subject.seen.add(&Profile::of(executor.observation()));
        }
        Ok(subject)
    }

    /// The first input that does not end within the limit on fuel, which other variants than this don't have.
    pub(super) fn hang(&self) -> Option<usize> {
        self.outcomes.iter().position(|outcome| outcome.is_hang())
    }

    /// The edges that some input executes.
    pub(super) fn executed(&self) -> EdgeSet {
        self.edges.iter().flatten().map(|&(edge, _)| edge).collect()
    }
}

impl<'a> Turn<'a> {
    /// Executes all inputs once, untimed.
    pub(super) fn new(subject: &'a Subject<'a>, target: &Arc<Target>, mode: Mode) -> Result<Self> {
        let runner = Runner::Rewritten(Box::new(Executor::new(target)?));
        let mut turn = Self { subject, runner, judge: Judge::new(), mode, rates: Vec::new() };
        for _ in 0..4 {
            turn.pass()?;
        }
        Ok(turn)
    }

    /// The same with the plain module; `None` if that can't be, or one of the inputs fails in it.
    pub(super) fn plain(subject: &'a Subject<'a>, target: &Target) -> Result<Option<Self>> {
        let Some(mut plain) = Plain::new(target)? else { return Ok(None) };
        for input in subject.inputs.iter().cycle().take(4 * subject.inputs.len()) {
            if !plain.run(input)? {
                return Ok(None);
            }
        }
        let runner = Runner::Plain(Box::new(plain));
        Ok(Some(Self { subject, runner, judge: Judge::new(), mode: Mode::KEPT, rates: Vec::new() }))
    }

    /// Executes all inputs again and again for about `time` of CPU time.
    pub(super) fn take(&mut self, time: Duration) -> Result<()> {
        // Asking for the time is a system call. While it comes too often, it comes half as often.
        let (mut execs, mut passes, start) = (0, 1, ThreadTime::now());
        let mut last = Duration::ZERO;
        loop {
            for _ in 0..passes {
                self.pass()?;
            }
            execs += passes * self.subject.inputs.len();
            let elapsed = start.elapsed();
            if elapsed - last < ASK_EVERY {
                passes *= 2;
            }
            last = elapsed;
            if elapsed >= time {
                self.rates.push(execs as f64 / elapsed.as_secs_f64());
                return Ok(());
            }
        }
    }

    fn pass(&mut self) -> Result<()> {
        let added = Added::default();
        for input in self.subject.inputs {
            let executor = match &mut self.runner {
                Runner::Rewritten(executor) => executor,
                Runner::Plain(plain) => {
                    plain.run(input)?;
                    continue;
                }
            };
            let outcome = if self.mode.restore { executor.run(input)? } else { executor.run_unrestored(input)? };
            if self.mode.judge && outcome == Outcome::Ok {
                std::hint::black_box(self.judge.is_news(executor.observation(), &self.subject.seen, &added));
            }
        }
        Ok(())
    }

    /// Whether each input still does what it does in a new instance, as far as the variant can tell: failures have
    /// frames in the metered variant only, and edges that are not asked for have no counts.
    pub(super) fn equals_fresh(&mut self) -> Result<bool> {
        let Subject { inputs, outcomes, edges: expected, .. } = self.subject;
        // The plain module says nothing.
        let Runner::Rewritten(executor) = &mut self.runner else { return Ok(true) };
        for ((input, expected_outcome), expected) in inputs.iter().zip(outcomes).zip(expected) {
            let outcome = executor.run(input)?;
            let kind = |outcome: &Outcome| (outcome.name(), outcome.trap().map(|trap| trap.kind));
            let mut expected = expected.clone();
            let counted = |&(edge, _): &(u32, u32)| match &executor.target().variant {
                Variant::Fast(interesting) => interesting.contains(edge),
                _ => true,
            };
            let mut found = edges(executor);
            found.retain(counted);
            expected.retain(counted);
            let exact = executor.observation().is_exact();
            if kind(&outcome) != kind(expected_outcome) || exact && found != expected {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(super) fn rate(mut self) -> Rate {
        self.rates.sort_by(f64::total_cmp);
        let (low, high) = (self.rates[0], self.rates[self.rates.len() - 1]);
        Rate { median: self.rates[self.rates.len() / 2], range: [low, high] }
    }
}

fn edges(executor: &Executor) -> Vec<(u32, u32)> {
    let mut edges = Vec::new();
    executor.observation().edges(|edge, count| edges.push((edge, count)));
    edges.sort_unstable();
    edges
}
