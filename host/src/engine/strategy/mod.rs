//! Strategies: ways to spend a campaign's executions.
//!
//! | strategy | executes | when |
//! | --- | --- | --- |
//! | [`havoc`] | mutants of testcases, as many as a round has | in the round |
//! | [`trim`] | new testcases without some of their bytes | in the round |
//! | [`compares`] | inputs that let a comparison turn out otherwise | in the round |
//! | [`climb`] | streams near one with a score, to make that larger | after it |
//! | [`closing`] | streams that overran, to learn how they end | after it |
//!
//! How to write one: a file with a type that is a [`Strategy`], and here a field of [`Strategies`] and a line where its
//! tasks are executed: in [`Strategies::after_round`], or in [`Tasks`](tasks::Tasks) if workers would wait for them
//! otherwise. All tasks of a kind are planned from what is shown when they begin, executed on any worker, and learned
//! from in their order: nothing depends on how many workers there are.

pub(super) mod climb;
pub(super) mod closing;
pub(super) mod compares;
pub(super) mod havoc;
pub(super) mod tasks;
pub(super) mod trim;

use super::corpus::Corpus;
use super::mutate::Mutator;
use super::workers::report::{Known, Report};
use super::workers::variants::Variants;
use super::workers::worker::Worker;
use anyhow::Result;

/// What strategies are shown, all of it as it is when their tasks are planned.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a> {
    pub(super) corpus: &'a Corpus,
    pub(super) mutator: &'a Mutator,
    pub(super) variants: &'a Variants,
    pub(super) known: Known<'a>,
    /// The campaign's seed, and the round's number.
    pub(super) seed: u64,
    pub(super) round: u64,
    /// Executions of the campaign, and how many of them overran.
    pub(super) execs: u64,
    pub(super) overruns: u64,
    /// Fuel that these took, with what restoring takes, and that one takes on average.
    pub(super) fuel: u64,
    pub(super) fuel_mean: u64,
    /// The shortest mutant of bytes, and the longest mutant, in bytes.
    pub(super) len_min: usize,
    pub(super) len_max: usize,
}

/// What a task and the campaign have spent when something is learned of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spent {
    /// Executions of the task.
    pub(super) execs: u64,
    /// Executions of the campaign that overran, those of the task too.
    pub(super) overruns: u64,
}

/// A way to spend executions.
pub(super) trait Strategy: Sync {
    /// One piece of work, for one worker.
    type Task: Sync;
    /// What a task learns beside what it reports.
    type Learned: Send;

    /// What may be executed now in at most `execs` executions: a function of what is shown alone.
    fn plan(&self, view: &View<'_>, execs: u64) -> Vec<Self::Task>;

    /// Executes a task, and reports what that showed.
    ///
    /// # Errors
    ///
    /// If the host fails, or the round is aborted.
    fn run(
        &self,
        task: &Self::Task,
        view: &View<'_>,
        worker: &mut Worker,
        report: &mut Report,
    ) -> Result<Self::Learned>;

    /// Takes what a task learned, when its report is merged. Called in the order of tasks.
    fn learn(&mut self, _task: Self::Task, _learned: Self::Learned, _spent: Spent, _corpus: &mut Corpus) {}
}

/// All strategies of a campaign.
#[derive(Debug)]
pub(super) struct Strategies {
    pub(super) havoc: havoc::Havoc,
    pub(super) trim: trim::Trimming,
    pub(super) compares: compares::Compares,
    pub(super) climb: climb::Climbing,
    pub(super) closing: closing::Lessons,
}

/// Executes all tasks of a strategy and lets it learn from them.
pub(super) trait Runner {
    /// Does so for the strategy that the functions give.
    ///
    /// # Errors
    ///
    /// If the host fails.
    fn run<S: Strategy>(
        &mut self,
        strategy: fn(&Strategies) -> &S,
        strategy_mut: fn(&mut Strategies) -> &mut S,
    ) -> Result<()>;
}

impl Strategies {
    /// Those of a campaign that looks at what is `compared`, or not.
    pub(super) fn new(compared: bool) -> Self {
        Self {
            havoc: havoc::Havoc,
            trim: trim::Trimming::default(),
            compares: compares::Compares::new(compared),
            climb: climb::Climbing::default(),
            closing: closing::Lessons::default(),
        }
    }

    /// Runs those whose tasks come after the round's.
    ///
    /// # Errors
    ///
    /// If the host fails.
    pub(super) fn after_round(runner: &mut impl Runner) -> Result<()> {
        runner.run(|all| &all.climb, |all| &mut all.climb)?;
        Self::after_overruns(runner)
    }

    /// Runs those that learn from executions that overran.
    ///
    /// # Errors
    ///
    /// If the host fails.
    pub(super) fn after_overruns(runner: &mut impl Runner) -> Result<()> {
        runner.run(|all| &all.closing, |all| &mut all.closing)
    }
}
