//! Strategies: ways to spend a campaign's executions.
//!
//! # How to write one
//!
//! A strategy is a file here with a type that is a [`Strategy`], and a line of the table below: nobody else has to know
//! of it. It keeps what it knows in its own fields, plans tasks from a [`View`] of the campaign, executes them on any
//! worker, and learns from them in their order. Some rules that are cheaper to read than to find out:
//!
//! - **Plan from what is shown.** `plan` is a function of the view and of the strategy's own state: no clock, no number
//!   of workers. What it returns is executed as one batch, and nothing that one task finds is known to another.
//! - **What takes long goes on aside.** A task that may take longer than a round does with many workers is for
//!   [`Phase::Aside`]: it is merged with a later round, and until then the strategy is asked for no others.
//! - **Say what a task costs, as an upper bound.** The executions are taken from what is left for strategies behind it
//!   in the table; those that take the most fuel begin first, so that workers end together.
//! - **Have random numbers of your own**: `Rng::of_task` with the view's seed and round, and numbers that no other
//!   strategy has (`17 << 33` and on are free).
//! - **Let the worker judge.** Put an input into `worker.input` (and `worker.rule` if guests draw), and call
//!   `Worker::execute`: it decides in the right variant, and what is new, fails or may hang goes into the report.
//!   Follow it by `Report::suspect_is`, which says how the input is made again. Only what looks at executions itself
//!   (operands, scores) takes an executor, as `climb` does.
//! - **A report is no success yet.** Other tasks may have found the same. What counts is known when reports are merged:
//!   [`Strategy::learn`] says it by task, [`Strategy::gained`] by round.
//! - **Spend by what it brings.** The strategy alone knows what it is good for: `compares`, `swaps`,
//!   `nearing`, `visits` and `checksums` have an [`allowance`], `climb` half of all executions, `closing` one in fifty.
//! - **End.** A task that goes on until something succeeds holds up the round; count executions.
//!
//! | strategy | executes | when |
//! | --- | --- | --- |
//! | [`trim`] | new testcases without some of their bytes | in the round |
//! | [`visits`] | what other strategies do that begin with nothing | beside rounds |
//! | [`compares`] | inputs that let a comparison turn out otherwise | beside rounds |
//! | [`swaps`](compares::Swaps) | testcases with operands swapped for what they were compared with | in the round |
//! | [`nearing`](compares::Nearing) | mutants of what comes near to what nobody has seen | in the round |
//! | [`lengths`] | testcases with larger numbers, to see which of these count bytes | in the round |
//! | [`pieces`] | streams that begin as those that came furthest on traces | in the round |
//! | [`checksums`] | mutants whose checksums are written anew | in the round |
//! | [`named`] | mutants of testcases, or what `--strategy` says, as many as a round has | in the round |
//! | [`climb`] | streams near one with a score, to make that larger | after it |
//! | [`closing`] | streams that overran, to learn how they end | after it |
//!
//! # Strategies with names
//!
//! What makes a round's mutants has a name, by which `--strategy` asks for it: [`named`] has the table, a line for
//! each. [`havoc`] is called `fuzz`, and with [`visits`] of others `auto`, which is what executes if nobody asks. All
//! others execute alone: nobody trims, looks at comparisons or climbs beside them, so that what they find is theirs.
//! They are shown more than that: what executions drew and which features they showed ([`shown`]). So they execute
//! where draws are recorded, which is slower, and may plan less than a round could have, so that they learn sooner.

mod allowance;
mod anneal;
mod approach;
mod blank;
mod bytes;
mod cases;
mod checksums;
pub(super) mod climb;
pub(super) mod closing;
pub(super) mod compares;
mod directed;
mod enumerate;
pub(super) mod exemplar;
mod generations;
pub(super) mod havoc;
mod lengths;
mod literal;
mod mcmc;
pub(super) mod member;
pub(super) mod named;
mod nearby;
pub(super) mod pieces;
mod pqcorpus;
mod qcorpus;
mod quickcheck;
mod restarts;
mod shown;
mod swarm;
pub(super) mod tasks;
mod traced;
mod tree;
pub(super) mod trim;
pub(super) mod visits;
mod walkers;

use super::aim::Pursuit;
use super::corpus::Corpus;
use super::mutate::{Mutator, Steps};
use super::workers::report::{Baseline, Report};
use super::workers::variants::Variants;
use super::workers::worker::Worker;
use anyhow::Result;
use exemplar::automaton::Automaton;
use exemplar::states::Experiment;
use member::Member;
use std::fmt::Debug;

/// Makes [`Strategies`] of a line for each, in the order in which what they found is merged.
macro_rules! strategies {
    ($($name:ident: $strategy:ty, $phase:ident;)*) => {
        /// All strategies of a campaign.
        #[derive(Debug, Default)]
        pub(super) struct Strategies { $(pub(super) $name: $strategy,)* }

        impl Strategies {
            /// When each has its turn.
            const PHASES: &[Phase] = &[$(Phase::$phase),*];

            /// All of them, each by its place in the table.
            fn members(&self) -> [&dyn Member; Self::PHASES.len()] {
                [$(&self.$name),*]
            }

            fn members_mut(&mut self) -> [&mut dyn Member; Self::PHASES.len()] {
                [$(&mut self.$name),*]
            }
        }
    };
}

strategies! {
    trim: trim::Trimming, Beside;
    visits: visits::Visits, Aside;
    compares: compares::Compares, Aside;
    pieces: pieces::Pieces, Beside;
    swaps: compares::Swaps, Beside;
    nearing: compares::Nearing, Beside;
    lengths: lengths::Lengths, Beside;
    checksums: checksums::Checksums, Beside;
    mutants: named::Method, Mutants;
    climb: climb::Climbing, AfterRound;
    closing: closing::Lessons, AfterAll;
}

/// When a strategy has its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// In the round, beside its mutants: alone its tasks are too few for all workers.
    Beside,
    /// In the round, with as many executions as that has.
    Mutants,
    /// Beside this round and, where that is too short to wait for them, later ones: its tasks take long.
    Aside,
    /// After the round, with what that has found.
    AfterRound,
    /// After the round, and after the seeds.
    AfterAll,
}

/// What strategies are shown, all of it as it is when their tasks are planned.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a> {
    pub(super) corpus: &'a Corpus,
    pub(super) mutator: &'a Mutator,
    pub(super) variants: &'a Variants,
    pub(super) known: Baseline<'a>,
    /// The campaign's seed, and the round's number.
    pub(super) seed: u64,
    pub(super) round: u64,
    /// Executions that the round has for mutants.
    pub(super) round_execs: u64,
    /// Executions of the campaign, and how many of them overran.
    pub(super) execs: u64,
    pub(super) overruns: u64,
    /// Fuel that these took, with what restoring takes, and that one takes on average.
    pub(super) fuel: u64,
    pub(super) fuel_mean: u64,
    /// The shortest mutant of bytes, and the longest mutant, in bytes.
    pub(super) len_min: usize,
    pub(super) len_max: usize,
    /// How far the campaign is from where it is to get, if it is to get somewhere.
    pub(super) pursuit: Option<&'a Pursuit>,
    /// How many changes mutants have, if that is not for the strategy to say.
    pub(super) steps: Option<Steps>,
    /// What is known is less than what executors remember, so that nothing may depend on that.
    pub(super) is_apart: bool,
    /// Count what is executed.
    pub(super) tally: bool,
}

impl View<'_> {
    /// How near the testcases are that are shown; `None` if they are others than the campaign's.
    fn near(&self) -> Option<&Pursuit> {
        self.pursuit.filter(|_| !self.is_apart)
    }
}

/// What a task may take, at most.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost {
    pub(super) execs: u64,
    pub(super) fuel: u64,
}

/// What a task and the campaign have spent when something is learned of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spent {
    /// Executions of the task.
    pub(super) execs: u64,
    /// Executions of the campaign that overran, those of the task too.
    pub(super) overruns: u64,
    /// New edges that the task brought.
    pub(super) edges: u64,
}

/// What a strategy took and brought in a round.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Gains {
    pub(super) execs: u64,
    /// Fuel that these took, about, with what restoring takes.
    pub(super) fuel: u64,
    /// New edges.
    pub(super) edges: u64,
}

/// Executes tasks of a strategy without that.
pub(super) type Aside<S> =
    Box<dyn Fn(&<S as Strategy>::Task, &mut Worker, &mut Report) -> Result<<S as Strategy>::Learned> + Send + Sync>;

/// A way to spend executions.
pub(super) trait Strategy: Debug + Send + Sync {
    /// One piece of work, for one worker.
    type Task: Send + Sync + 'static;
    /// What a task learns beside what it reports.
    type Learned: Send + 'static;

    /// What may be executed now in at most `execs` executions: a function of what is shown alone.
    fn plan(&self, view: &View<'_>, execs: u64) -> Vec<Self::Task>;

    /// What a task may take.
    fn cost(&self, task: &Self::Task, view: &View<'_>) -> Cost;

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

    /// What executes tasks that go on beside later rounds, with all that they are shown: the campaign has something
    /// else by then. For those that have their turn [`Phase::Aside`].
    fn aside(&self, _view: &View<'_>) -> Option<Aside<Self>> {
        None
    }

    /// For tasks that have their turn [`Phase::Aside`]: so many times as long as the longest takes may pass until they
    /// are merged, that is, so many workers don't wait for it. By default as many as are seen on large machines, and
    /// with a reserve: what looks at comparisons may take longer than its cost says, which knows already that recording
    /// is slow. On cJSON tasks of 25 ms were due when 64 workers had spent 12.
    fn patience(&self, _view: &View<'_>) -> u64 {
        3 * 64
    }

    /// Takes what a task learned, when its report was merged. Called in the order of tasks.
    fn learn(&mut self, _task: Self::Task, _learned: Self::Learned, _spent: Spent, _corpus: &mut Corpus) {}

    /// Takes what its tasks brought in a round, beside what mutants did.
    fn gained(&mut self, _own: Gains, _mutants: Gains) {}

    /// A testcase counts from now on. It may have reached new edges.
    fn settled(&mut self, _testcase: usize, _has_edges: bool) {}

    /// Whether what its tasks report are testcases that are already there, made shorter: those that wait in
    /// [`Trimming::untrimmed`](trim::Trimming::untrimmed), in their order.
    fn shortens(&self) -> bool {
        false
    }

    /// Whether everything was executed that it could ever plan.
    fn is_exhausted(&self) -> bool {
        false
    }

    /// Streams that stand for states of the guest, if it tells these apart.
    fn states(&self) -> Vec<Vec<u8>> {
        Vec::new()
    }

    /// The tree of what tells these states apart.
    fn experiments(&self) -> Vec<Experiment> {
        Vec::new()
    }

    /// The automaton of what the guest takes, if it makes one, with how many random words that was tried.
    fn automaton(&self) -> Option<(Automaton, u64)> {
        None
    }

    /// Whether it executes where it is recorded what is compared.
    fn needs_traces(&self) -> bool {
        false
    }
}

impl Strategies {
    /// Those of a campaign that has not begun.
    pub(super) fn new() -> Self {
        let visits = named::Search::default().visits();
        Self { compares: compares::Compares::new(true), visits, ..Self::default() }
    }

    /// The places in the table of those that have their turn in a phase.
    pub(super) fn of(&self, phase: Phase) -> Vec<usize> {
        let has_turn =
            |its| its == phase && (!self.mutants.is_alone() || matches!(its, Phase::Mutants | Phase::AfterAll));
        (0..).zip(Self::PHASES).filter(|(_, its)| has_turn(**its)).map(|(place, _)| place).collect()
    }

    /// Whether new testcases are made shorter.
    pub(super) fn is_trimming(&self) -> bool {
        !self.mutants.is_alone()
    }

    /// See [`Strategy::states`].
    pub(super) fn states(&self) -> Vec<Vec<u8>> {
        self.mutants.states()
    }

    /// See [`Strategy::experiments`].
    pub(super) fn experiments(&self) -> Vec<Experiment> {
        self.mutants.experiments()
    }

    /// See [`Strategy::automaton`].
    pub(super) fn automaton(&self) -> Option<(Automaton, u64)> {
        self.mutants.automaton()
    }

    /// See [`Strategy::needs_traces`].
    pub(super) fn need_traces(&self) -> bool {
        self.mutants.needs_traces()
    }

    /// Whether everything was executed that makes mutants.
    pub(super) fn are_exhausted(&self) -> bool {
        self.mutants.is_exhausted()
    }

    /// A testcase counts from now on. It may have reached new edges.
    pub(super) fn settled(&mut self, testcase: usize, has_edges: bool) {
        self.members_mut().into_iter().for_each(|member| member.settled(testcase, has_edges));
    }

    /// Tells them what they brought in a round, each by its place in the table.
    pub(super) fn gained(&mut self, gains: &[(usize, Gains)], mutants: Gains) {
        let mut members = self.members_mut();
        gains.iter().for_each(|&(place, own)| members[place].gained(own, mutants));
    }
}
