//! Mutants of testcases that the scheduler picks.

use super::nearby::Nearby;
use super::{Cost, Strategy, View, shown};
use crate::engine::lengths::Length;
use crate::engine::mutate::{Steps, custom};
use crate::engine::rng::Rng;
use crate::engine::scheduler::{EXECUTION_FUEL, PICK_EXECS, Scheduler};
use crate::engine::suspects::Origin;
use crate::engine::testcase::Testcase;
use crate::engine::used::Used;
use crate::engine::workers::report::Report;
use crate::engine::workers::worker::Worker;
use crate::stream::{Node, Rule, Tail};
use anyhow::Result;
use std::sync::Arc;

/// A round's mutants are shared out so that workers end together, however many there are up to this: so many tasks have
/// half of them, as many half of the rest, and so on (Hummel, Schonberg and Flynn, "Factoring", CACM 1992). One thread
/// makes the tasks and merges what they found, so there are no more of them than that takes.
const WORKERS: u64 = 64;
/// Fuel of the smallest tasks, with what restoring takes: a fifth of a millisecond, beside which the set-up is little.
const TASK_FUEL: u64 = 1 << 18;
/// But of the mutants of a small round each task has one part in so many.
const TASKS_MIN: u64 = 128;
/// Of so many tasks one says what executions take, by its first mutant.
pub(super) const TASKS_PER_SAMPLE: u64 = 4;

/// Where random choices follow a mutant of a stream, it has at least so many in all, or twice as many, and so on.
const RANDOM_CHOICES_MIN: u32 = 8;
/// With a grammar one mutant in so many is a new text.
const FRESH: usize = 8;
/// How often that can be doubled, and 1.
const RANDOM_CHOICES_STEPS: usize = 8;

/// The youngest of the testcases, one in so many, weigh so many times as much: what was found last leads on.
const YOUNG_PART: usize = 4;
const YOUNG_WEIGHT: f64 = 4.0;

/// Executes mutants.
#[derive(Debug, Default)]
pub(in crate::engine) struct Havoc;

/// A task that executes mutants.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Mutating {
    /// Its number, among such.
    number: u64,
    /// Mutants.
    execs: u64,
    /// Says which testcases are mutated, and how often each.
    picker: Arc<Picker>,
}

/// Picks testcases, by index.
#[derive(Debug)]
pub(super) struct Picker {
    pub(super) scheduler: Scheduler,
    /// Those that have their turn sometimes, if there is something to be near.
    pub(super) nearby: Option<Nearby>,
}

impl Picker {
    fn pick(&self, rng: &mut Rng) -> usize {
        let near = self.nearby.as_ref().and_then(|nearby| nearby.pick(rng));
        near.unwrap_or_else(|| self.scheduler.pick(rng))
    }
}

/// What testcases weigh more by their age, of a guest that takes bytes: of others that was not measured.
fn ages(view: &View<'_>) -> Vec<f64> {
    if view.variants.metered.takes_choices() {
        return Vec::new();
    }
    let count = view.corpus.testcases().len();
    let young = count.div_ceil(YOUNG_PART);
    [vec![1.0; count - young], vec![YOUNG_WEIGHT; young]].concat()
}

impl Strategy for Havoc {
    type Task = Mutating;
    type Learned = ();

    /// The tasks for `execs` mutants in a round.
    fn plan(&self, view: &View<'_>, execs: u64) -> Vec<Mutating> {
        let picker = Picker { scheduler: Scheduler::scaled(view.corpus, &ages(view)), nearby: Nearby::new(view) };
        Self::tasks(view, execs, picker)
    }

    fn cost(&self, task: &Mutating, view: &View<'_>) -> Cost {
        Cost { execs: task.execs, fuel: task.execs.saturating_mul(view.fuel_mean) }
    }

    fn run(&self, task: &Mutating, view: &View<'_>, worker: &mut Worker, report: &mut Report) -> Result<()> {
        let mut rng = Rng::of_task(view.seed, view.round, task.number);
        let mut is_sample = task.number.is_multiple_of(TASKS_PER_SAMPLE);
        let mut left = usize::try_from(task.execs)?;
        let mut before = Vec::with_capacity(PICK_EXECS);
        while left > 0 {
            let parent = task.picker.pick(&mut rng);
            report.picks.push(parent);
            before.clear();
            let mutants = task.picker.scheduler.mutants(&view.corpus.testcases()[parent]);
            for number in 0..left.min(mutants) {
                before.push(rng.clone());
                give(view, parent, &mut rng, worker)?;
                if view.tally || view.is_apart {
                    shown::execute(view, worker, report)?;
                } else if std::mem::take(&mut is_sample) {
                    worker.execute_sample(view.variants, view.known, report)?;
                } else {
                    worker.execute_and_note(view.variants, view.known, report, number)?;
                }
                report.suspect_is(|| origin(view, parent, &before[number], worker));
                report.made_with(|| used(view, parent, &before[number]));
            }
            left -= before.len();
            // What some of them showed is found out for all of them together.
            for (number, key) in worker.noted(view.known, report) {
                give(view, parent, &mut before[number].clone(), worker)?;
                worker.execute_noted(view.variants, key, view.known, report)?;
                report.suspect_is(|| origin(view, parent, &before[number], worker));
                report.made_with(|| used(view, parent, &before[number]));
            }
        }
        Ok(())
    }
}

impl Havoc {
    /// The tasks for `execs` mutants of testcases that are picked so.
    pub(super) fn tasks(view: &View<'_>, execs: u64, picker: Picker) -> Vec<Mutating> {
        let picker = Arc::new(picker);
        let plan = |(number, execs)| Mutating { number, execs, picker: picker.clone() };
        shares(execs, view).map(plan).collect()
    }
}

/// How the input that a worker was given is made again.
fn origin(view: &View<'_>, parent: usize, rng: &Rng, worker: &Worker) -> Origin {
    // Who asks has the campaign's corpus, the usual steps, and no instance of the guest's own mutators.
    if view.is_apart || view.steps.is_some() || view.variants.custom.is_some() || worker.swarm.is_some() {
        return Origin::Given(worker.input.clone());
    }
    Origin::Mutant(parent, rng.clone())
}

/// What a mutant was made with.
fn used(view: &View<'_>, parent: usize, rng: &Rng) -> Used {
    let mut used = Used::default();
    if view.steps.is_none() && view.variants.custom.is_none() {
        let parent = &view.corpus.testcases()[parent];
        mutate(view, Steps::Usual, Parent::of(parent), &mut Vec::new(), &mut rng.clone(), Some(&mut used));
    }
    used
}

/// The numbers of the tasks that so many executions are shared out to, and how many each has.
pub(super) fn shares(execs: u64, view: &View<'_>) -> impl Iterator<Item = (u64, u64)> + use<> {
    let least = TASK_FUEL / view.fuel_mean.saturating_add(EXECUTION_FUEL);
    let least = least.min(execs.div_ceil(TASKS_MIN)).max(1);
    let (mut left, mut share) = (execs, 0);
    (0..).map_while(move |number: u64| {
        if number.is_multiple_of(WORKERS) {
            share = (left / (2 * WORKERS)).max(least);
            // What a testcase's mutants do is looked at together.
            share = if share < PICK_EXECS as u64 { share } else { share.next_multiple_of(PICK_EXECS as u64) };
        }
        let own = share.min(left);
        left -= own;
        (own > 0).then_some((number, own))
    })
}

/// Gives a worker a mutant of a testcase.
fn give(view: &View<'_>, parent: usize, rng: &mut Rng, worker: &mut Worker) -> Result<()> {
    if let Some(targets) = &view.variants.custom
        && let Some(made) = custom::make(worker.custom(targets)?, (view.corpus, parent), view.len_max, rng)?
    {
        worker.input = made;
        return Ok(());
    }
    let parent = &view.corpus.testcases()[parent];
    give_mutant(view, view.steps.unwrap_or_default(), Parent::of(parent), rng, worker);
    Ok(())
}

/// What a mutant is made of.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Parent<'a> {
    bytes: &'a [u8],
    /// What it drew, or how a grammar derives it.
    tree: Option<&'a Node>,
    lengths: &'a [Length],
}

impl<'a> Parent<'a> {
    /// A testcase, with all that is known of it.
    pub(super) fn of(testcase: &'a Testcase) -> Self {
        let tree = testcase.sample.as_ref().or(testcase.derivation.as_ref());
        Self { bytes: &testcase.bytes, tree, lengths: &testcase.lengths }
    }

    /// An input with what it drew.
    pub(super) fn new(bytes: &'a [u8], tree: Option<&'a Node>) -> Self {
        Self { bytes, tree, lengths: &[] }
    }
}

/// Gives a worker a mutant, in so many steps.
pub(super) fn give_mutant(view: &View<'_>, steps: Steps, parent: Parent<'_>, rng: &mut Rng, worker: &mut Worker) {
    mutate(view, steps, parent, &mut worker.input, rng, None);
    if view.variants.metered.takes_choices() {
        worker.rule = rule(rng);
    }
}

/// Makes an input again.
pub(in crate::engine) fn again(view: &View<'_>, origin: &Origin) -> Vec<u8> {
    match origin {
        Origin::Given(input) => input.clone(),
        Origin::Mutant(parent, rng) => {
            let mut input = Vec::new();
            let parent = &view.corpus.testcases()[*parent];
            mutate(view, Steps::Usual, Parent::of(parent), &mut input, &mut rng.clone(), None);
            input
        }
    }
}

/// Puts a mutant into `input`.
fn mutate(
    view: &View<'_>,
    steps: Steps,
    Parent { bytes, tree, lengths }: Parent<'_>,
    input: &mut Vec<u8>,
    rng: &mut Rng,
    used: Option<&mut Used>,
) {
    input.clear();
    // With a grammar some texts are made afresh; all that there are while nothing is known that it derives.
    if view.mutator.grammar().is_some()
        && (rng.one_in(FRESH) || tree.is_none() && rng.one_in(2))
        && let Some(text) = view.mutator.fresh(view.len_max, rng)
    {
        *input = text;
        return;
    }
    match tree {
        // Now and then as plain bytes: what the tree doesn't show can be changed too.
        Some(sample) if !rng.one_in(16) => {
            view.mutator.mutate_sample(steps, sample, input, view.len_max.max(bytes.len()), view.corpus, rng);
        }
        _ => {
            input.extend_from_slice(bytes);
            view.mutator.mutate_in((steps, lengths), input, view.len_max, view.corpus, rng, used);
            input.resize(input.len().max(view.len_min), 0);
        }
    }
}

/// How a mutant of a choice stream is read: half of them go on with random choices.
pub(super) fn rule(rng: &mut Rng) -> Rule {
    let tail = match rng.below(2) {
        0 => Tail::Zero,
        _ => random_tail(rng),
    };
    Rule { tail, wrap: true, close: true }
}

/// Random choices up to 8 in all, or twice as many, and so on, each as likely.
pub(super) fn random_tail(rng: &mut Rng) -> Tail {
    random_tail_after(0, rng)
}

/// As [`random_tail`], so many more than there are.
pub(super) fn random_tail_after(choices: usize, rng: &mut Rng) -> Tail {
    let more = RANDOM_CHOICES_MIN << rng.below(RANDOM_CHOICES_STEPS);
    Tail::Random { seed: rng.word(), choices: u32::try_from(choices).unwrap_or(u32::MAX).saturating_add(more) }
}
