//! Random inputs, each made afresh, whatever earlier ones showed.
//!
//! Claessen and Hughes, "QuickCheck: a lightweight tool for random testing of Haskell programs", ICFP 2000. Guests that
//! draw are given an empty stream with random choices behind it: 8 of them, or twice as many, and so on up to 1,024,
//! each as likely, and then what ends soonest. So a generator that would go on for ever with some probability ends
//! (Crowbar's notes: a finite supply of entropy, and zeros behind it). With the option `whole` all are random up to
//! 8,192.

use super::havoc::{TASKS_PER_SAMPLE, random_tail, shares};
use super::{Cost, Strategy, View, shown};
use crate::engine::rng::Rng;
use crate::engine::suspects::Origin;
use crate::engine::workers::report::Report;
use crate::engine::workers::worker::Worker;
use crate::stream::{Rule, Tail};
use anyhow::Result;

/// Number of the first task.
const TASKS: u64 = 1 << 33;

/// Random choices of an execution at most, if it has as many as it wants.
const WHOLE_CHOICES: u32 = 8192;

/// Executes random inputs.
#[derive(Debug, Default)]
pub(super) struct Quickcheck {
    /// What guests draw is random to its end.
    is_whole: bool,
}

impl Quickcheck {
    /// The options' names.
    pub(super) const OPTIONS: &[&str] = &["whole"];

    pub(super) fn new(options: &[String]) -> Self {
        Self { is_whole: !options.is_empty() }
    }
}

/// A task that executes some.
#[derive(Debug)]
pub(super) struct Fresh {
    /// Its number, among such.
    number: u64,
    execs: u64,
}

impl Strategy for Quickcheck {
    type Task = Fresh;
    type Learned = ();

    fn plan(&self, view: &View<'_>, execs: u64) -> Vec<Fresh> {
        shares(execs, view).map(|(number, execs)| Fresh { number, execs }).collect()
    }

    fn cost(&self, task: &Fresh, view: &View<'_>) -> Cost {
        Cost { execs: task.execs, fuel: task.execs.saturating_mul(view.fuel_mean) }
    }

    fn run(&self, task: &Fresh, view: &View<'_>, worker: &mut Worker, report: &mut Report) -> Result<()> {
        let mut rng = Rng::of_task(view.seed, view.round, TASKS + task.number);
        for number in 0..task.execs {
            give(view, &mut rng, worker);
            if let (true, Tail::Random { choices, .. }) = (self.is_whole, &mut worker.rule.tail) {
                *choices = WHOLE_CHOICES;
            }
            if view.tally || view.is_apart || number == 0 && task.number.is_multiple_of(TASKS_PER_SAMPLE) {
                shown::execute(view, worker, report)?;
            } else {
                worker.execute(view.variants, view.known, report)?;
            }
            report.suspect_is(|| Origin::Given(worker.input.clone()));
        }
        Ok(())
    }
}

/// Gives a worker a random input.
pub(super) fn give(view: &View<'_>, rng: &mut Rng, worker: &mut Worker) {
    worker.input.clear();
    if view.variants.metered.takes_choices() {
        worker.rule = Rule { tail: random_tail(rng), wrap: false, close: true };
        return;
    }
    // Short ones are as likely as long ones.
    let widths = view.len_max.max(1).ilog2() as usize + 1;
    let longest = (2_usize << rng.below(widths)).min(view.len_max + 1);
    let len = rng.below(longest).max(view.len_min);
    worker.input.extend((0..len).map(|_| rng.byte()));
}
