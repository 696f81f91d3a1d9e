//! Campaigns of one or more targets, in turns: what `run` and `cargo` have in common.

use super::against::AgainstArgs;
use super::debug_info::symbols;
use super::debug_info::{DebugInfoArgs, ModuleDebugInfo};
use super::exit::{Exit, Fault, UserError, Verdict};
use super::goals::GoalArgs;
use super::input::{read_at_most, read_dir, read_found_dir};
use super::naming::{NameArgs, folders};
use super::output::Output;
use super::store_args::StoreArgs;
use super::target_args::{TargetArgs, compile, duration};
use super::traces;
use super::write::{shown, warn, warning};
use crate::engine::{Aim, Dictionary, Search, Workers};
use crate::grammar::Grammar;
use crate::report::{Done, Event, Flags, Reporter};
use crate::sandbox::{Candidate, CodeCache, CustomTargets, Target};
use crate::session::checking::check;
use crate::session::ending::Ending;
use crate::session::setup::{Limits, Session};
use crate::session::turns::{take_turns, turn};
use crate::settings::Settings;
use crate::store::{Dir, State, Store};
use crate::stream::Traces;
use crate::symbols::Symbols;
use anyhow::{Context, bail};
use clap::ValueEnum;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long a gate is held if nobody says how long.
const GATE_TIME: Duration = Duration::from_mins(5);
/// What initialisers may take beyond the campaign's time.
const INITIALISERS_GRACE: Duration = Duration::from_secs(1);

/// How campaigns are run.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct CampaignArgs {
    /// Stop after this time: 30s, 10m, 8h; several targets share it
    #[arg(short, long, alias = "budget", value_name = "TIME", value_parser = duration)]
    time: Option<Duration>,
    /// Stop after this many executions of each target
    #[arg(short = 'n', long, value_name = "N")]
    execs: Option<u64>,
    /// Worker threads [default: all cores]
    #[arg(short, long, value_name = "N")]
    jobs: Option<usize>,
    /// Seed of all random choices [default: random, and printed]
    #[arg(short, long, value_name = "N")]
    seed: Option<u64>,
    /// How to search: a strategy's name, as `quickcheck`
    #[arg(long, value_name = "STRATEGY", default_value = "auto", hide_default_value = true, long_help = strategies())]
    strategy: Search,
    /// More inputs to begin with, read only
    #[arg(long, value_name = "DIR")]
    corpus: Vec<PathBuf>,
    /// Tokens to insert, in AFL's or libFuzzer's format
    #[arg(long, value_name = "FILE")]
    dict: Option<PathBuf>,
    /// Don't look at what executions compare
    #[arg(long)]
    no_compares: bool,
    /// Never begin executions after others, which is done where executions grow the memory again and again
    #[arg(long)]
    no_warm_up: bool,
    /// When to stop early
    #[arg(long, value_enum, default_value_t = StopOn::Never)]
    stop_on: StopOn,
    /// Which findings make the exit code 1
    #[arg(long, value_enum, default_value_t = FailOn::Open)]
    fail_on: FailOn,
    /// Keep the inputs of findings as they were found, and don't look for smaller ones
    #[arg(long)]
    no_shrink: bool,
    /// It ends when all goals are reached.
    #[arg(skip)]
    hunts: bool,
    #[command(flatten)]
    debug_info: DebugInfoArgs,
    #[command(flatten)]
    pub(super) store: StoreArgs,
    #[command(flatten)]
    pub(super) output: Output,
}

/// What is fuzzed.
pub(super) struct Job<'a> {
    /// The modules' files.
    pub(super) targets: &'a [PathBuf],
    /// What they are called.
    pub(super) names: &'a NameArgs,
    /// How they are executed.
    pub(super) flags: &'a TargetArgs,
    /// What the only one of them is compared with.
    pub(super) against: &'a AgainstArgs,
    /// Where to get in them.
    pub(super) goals: &'a GoalArgs,
    /// What makes the mutants of all of them, if that is another module.
    pub(super) mutator: Option<Candidate>,
    /// What inputs are texts of, if somebody says so.
    pub(super) grammar: Option<Arc<Grammar>>,
    /// What their executions are to tell, if that is looked for.
    pub(super) traces: Option<Arc<Traces>>,
    /// It is done when they did, and has failed if they did not.
    pub(super) is_gate: bool,
    /// Inputs of its own that each of them begins with.
    pub(super) seeds: Vec<Vec<Vec<u8>>>,
    /// What is executed when.
    pub(super) order: Order,
    /// Is told what happens, too, with the store where the input of a finding, and at the end the corpus, is by then.
    pub(super) watch: Watch<'a>,
}

/// What is executed when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Each target has its part of the time, in turns.
    InTurns,
    /// What is known of all targets first; then all have the time together.
    KnownFirst,
}

/// Is told what happens.
pub(super) type Watch<'a> = &'a dyn Fn(&Store, &Event) -> anyhow::Result<()>;

/// What ends a campaign early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum StopOn {
    /// The first finding
    First,
    /// Nothing
    Never,
}

/// Which findings make the exit code 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FailOn {
    /// Those that this campaign found, and that were not open when it began
    New,
    /// All that are open, whoever found them
    Open,
    /// Those that are ignored, too
    Any,
}

impl FailOn {
    /// Whether there is such a finding; `done` is how the campaigns ended.
    fn has_one(self, sessions: &[Session<'_>], done: &[Done]) -> Result<bool, Fault> {
        if done.iter().any(|done| done.findings.iter().any(|finding| !finding.known)) {
            return Ok(true);
        }
        if self == Self::New {
            return Ok(false);
        }
        for Session { store, name, .. } in sessions {
            let mut lives = store.lives(name, &store.findings(Some(name))?)?.into_iter();
            if lives.any(|life| life.is_open() || self == Self::Any && life.state == State::Ignored) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Executions of a hunt that has no other end.
const HUNT_EXECS: u64 = 1_000_000;

/// A larger dictionary is refused, in bytes.
const DICTIONARY_BYTES_MAX: u64 = 16 << 20;
/// More threads than this are refused.
const JOBS_MAX: usize = 1024;

impl CampaignArgs {
    /// Ends after this time if nothing else was said.
    pub(super) fn end_after(&mut self, time: Duration) {
        if self.time.is_none() && self.execs.is_none() {
            self.time = Some(time);
        }
    }

    /// Fuzzes all targets of `job` in turns.
    pub(super) fn run(&self, job: Job<'_>) -> Verdict {
        let jobs = jobs(self.jobs)?;
        let dictionary = self.dictionary()?;
        // Everything that can be refused is refused before anything is written.
        let names = job.names.names(job.targets, job.flags.entry().as_deref())?;
        let candidates = self.candidates(&job, &names)?;
        let built: Vec<_> = job.targets.iter().map(PathBuf::as_path).zip(&candidates).collect();
        job.names.tell_older(&self.store, &names, &built)?;
        check_mutator(&job, &candidates).blame_user()?;
        let debug_infos = self.debug_infos(&job, &candidates)?;
        let seeds = self.seeds(&job)?;
        job.goals.check(job.targets.len())?;
        let mut reporter = self.output.reporter()?;
        for candidate in &candidates {
            self.strategy.check(candidate.entry.takes_choices()).blame_user()?;
        }
        let targets = self.compile(&job, candidates, &mut *reporter)?;
        if let (Some(mutator), Some(target)) = (&job.mutator, targets.first()) {
            CustomTargets::check(mutator, target).context("the mutator can't be called").blame_user()?;
        }
        let symbols: Vec<_> =
            targets.iter().zip(debug_infos).map(|(target, debug_info)| symbols(target, debug_info)).collect();
        let aims = self.aims(&job, &names, &targets, &symbols)?;
        let store = self.store.open_or_create()?;
        for ((name, path), target) in names.iter().zip(job.targets).zip(&targets) {
            job.names.claim(&store, name, path, target)?;
        }
        let ending = Ending::by_signals()?;
        let workers = Workers::new(jobs, ending.abort())?;
        let seed = self.seed.unwrap_or_else(random_seed);
        let limits = self.limits(&job);
        let mut sessions = Vec::new();
        for (((target, symbols), aim), name) in targets.into_iter().zip(symbols).zip(aims).zip(names) {
            sessions.push(Session {
                name,
                dictionary: with_constants(&dictionary, &target),
                grammar: job.grammar.clone(),
                target: Arc::new(target),
                store: &store,
                workers: &workers,
                ending: &ending,
                jobs,
                seed,
                limits,
                given: self.given(),
                search: self.strategy.clone(),
                aim,
                mutator: job.mutator.as_ref(),
                compares: !self.no_compares,
                warms: !self.no_warm_up,
                shrink: !self.no_shrink,
                warn: &warn,
                symbols,
            });
        }
        let watched = &mut Watched { reporter: &mut *reporter, watch: job.watch, store: &store };
        self.fuzz(&sessions, (&seeds, job.order), watched)
    }

    /// What was read of each target.
    fn candidates(&self, job: &Job<'_>, names: &[String]) -> Result<Vec<Candidate>, Fault> {
        if job.against.is_given() && job.targets.len() > 1 {
            return Err(anyhow::anyhow!("--against is for one target, there are {}", job.targets.len())).blame_user();
        }
        let candidate = |path: &PathBuf| job.against.compared(job.flags.candidate(path)?);
        let mut candidates: Vec<_> = job.targets.iter().map(candidate).collect::<Result<_, _>>()?;
        if let Some(traces) = &job.traces {
            traces::follow(&mut candidates, traces, job.targets)?;
        }
        let named = names.iter().zip(job.targets).zip(&candidates);
        job.names.check(&self.store, named.map(|((name, path), candidate)| (&**name, &**path, candidate)))?;
        Ok(candidates)
    }

    /// The same, which ends when all goals are reached, or after a million executions if nothing else is said.
    pub(super) fn hunting(&self) -> Result<Self, Fault> {
        let strategy = if self.strategy.is_default() { "approach".parse()? } else { self.strategy.clone() };
        let execs = self.execs.or(self.time.is_none().then_some(HUNT_EXECS));
        Ok(Self { strategy, execs, hunts: true, ..self.clone() })
    }

    /// Where to get in each target.
    fn aims(
        &self,
        job: &Job<'_>,
        names: &[String],
        targets: &[Target],
        symbols: &[Symbols],
    ) -> Result<Vec<Option<Arc<Aim>>>, Fault> {
        let store = self.store.open_existing().ok();
        let mut aims = Vec::new();
        for (((path, name), target), symbols) in job.targets.iter().zip(names).zip(targets).zip(symbols) {
            let known = store.as_ref().map(|store| (store, name.as_str()));
            let aim = job.goals.find(path, (target, symbols), known)?;
            if aim.is_none() && (self.strategy.needs_goals() || self.hunts) {
                let strategy = &self.strategy;
                let none = "searches for goals, and there is none\nhelp: --goal says where to get";
                return Err(anyhow::anyhow!("strategy `{strategy}` {none}")).blame_user();
            }
            aims.push(aim);
        }
        Ok(aims)
    }

    /// What each target begins with: its own inputs, and those of `--corpus`.
    fn seeds(&self, job: &Job<'_>) -> Result<Vec<Vec<Vec<u8>>>, Fault> {
        let mut common = Vec::new();
        for dir in &self.corpus {
            common.extend(inputs_of(dir, &job.flags.settings()?)?);
        }
        Ok(job.seeds.iter().map(|own| [&own[..], &common].concat()).collect())
    }

    fn compile(
        &self,
        job: &Job<'_>,
        candidates: Vec<Candidate>,
        reporter: &mut dyn Reporter,
    ) -> Result<Vec<Target>, Fault> {
        let cache = CodeCache::of_user();
        // What is executed before any input belongs to no campaign, but takes no longer than one.
        let limit = self.time.map(|time| time + INITIALISERS_GRACE);
        let code = (&cache, job.flags.quick_code(), limit);
        let targets = job.targets.iter().zip(candidates);
        targets.map(|(path, candidate)| compile(path, candidate, code, reporter)).collect()
    }

    /// When the campaign of each of some targets stops.
    fn limits(&self, job: &Job<'_>) -> Limits {
        // A gate is closed some time, and what several targets share is shared elsewhere.
        let time = self.time.or((job.is_gate && self.execs.is_none()).then_some(GATE_TIME));
        let time = time.filter(|_| job.order == Order::InTurns);
        Limits {
            time: time.map(|time| time / u32::try_from(job.targets.len()).expect("arguments are few")),
            execs: self.execs,
            seeds_only: false,
            stop_on_first: self.stop_on == StopOn::First,
            hunts: self.hunts,
            stop_on_traces: job.is_gate,
        }
    }

    /// What need not be advised.
    fn given(&self) -> Flags {
        Flags {
            corpus: !self.corpus.is_empty(),
            dictionary: self.dict.is_some(),
            end: self.time.is_some() || self.execs.is_some(),
        }
    }

    /// Fuzzes all targets in their order; `seeds` has what each of them begins with.
    fn fuzz(
        &self,
        sessions: &[Session<'_>],
        (seeds, order): (&[Vec<Vec<u8>>], Order),
        reporter: &mut dyn Reporter,
    ) -> Verdict {
        let Some(Session { store, ending, .. }) = sessions.first() else { return Ok(Exit::NothingExecuted) };
        let first_inputs = |session: &Session<'_>| -> Result<_, Fault> {
            let own = sessions.iter().zip(seeds).find(|(other, _)| other.name == session.name);
            let mut seeds = own.map_or_else(Vec::new, |(_, seeds)| seeds.clone());
            seeds.extend(repository_seeds(store, &session.name, &session.target.candidate.settings)?);
            Ok(seeds)
        };
        let aborted = || ending.is_signalled();
        let done = match order {
            Order::InTurns => {
                take_turns(sessions, &first_inputs, &|session| turn(session.limits.time), &aborted, reporter)?
            }
            Order::KnownFirst => check(sessions, &first_inputs, self.time, &aborted, reporter)?,
        };
        let executed = done.iter().any(|done| done.execs > 0);
        if self.hunts && executed && done.iter().all(|done| done.not_arrived.is_empty()) {
            return Ok(Exit::Clean);
        }
        let is_gate = order == Order::KnownFirst || sessions.iter().any(|session| session.limits.stop_on_traces);
        let found = self.fail_on.has_one(sessions, &done)? || is_gate && executed && is_closed(&done);
        Ok(match (found, executed) {
            (true, _) => Exit::Findings,
            (false, false) => Exit::NothingExecuted,
            (false, true) if self.hunts => Exit::NotReached,
            (false, true) => Exit::Clean,
        })
    }

    fn debug_infos(&self, job: &Job<'_>, candidates: &[Candidate]) -> Result<Vec<ModuleDebugInfo>, Fault> {
        if self.debug_info.is_given() && candidates.len() > 1 {
            return Err(anyhow::anyhow!("--debug-info is for one target, there are {}", candidates.len())).blame_user();
        }
        let find = |(candidate, path): (&Candidate, &PathBuf)| self.debug_info.find(candidate.bytes(), Some(path));
        candidates.iter().zip(job.targets).map(find).collect()
    }

    fn dictionary(&self) -> Result<Dictionary, Fault> {
        let Some(path) = &self.dict else { return Ok(Dictionary::default()) };
        let read = || Dictionary::parse(&String::from_utf8(read_at_most(path, DICTIONARY_BYTES_MAX, "")?)?);
        read().with_context(|| format!("failed to read dictionary `{}`", shown(path))).blame_user()
    }
}

/// Whether there is a trace that no target reached.
fn is_closed(done: &[Done]) -> bool {
    let traces = || done.iter().flat_map(|done| &done.traces);
    let is_reached = |name: &str| traces().any(|trace| trace.name == name && trace.missing.is_none());
    traces().any(|trace| !is_reached(&trace.name))
}

/// The dictionary, with constants of the target and of what it is compared with.
fn with_constants(dictionary: &Dictionary, target: &Target) -> Dictionary {
    let dictionary = dictionary.clone().with_constants_of(target.candidate.bytes());
    match target.candidate.against() {
        Some(other) => dictionary.with_constants_of(other.bytes()),
        None => dictionary,
    }
}

/// Refuses a mutator, or a grammar, where there is nothing for it to do.
fn check_mutator(job: &Job<'_>, candidates: &[Candidate]) -> anyhow::Result<()> {
    let draws = candidates.iter().zip(job.targets).find(|(target, _)| target.entry.takes_choices());
    match draws {
        Some((_, path)) if job.mutator.is_some() => {
            bail!("`{}` draws what it needs: no mutator can change that", shown(path))
        }
        Some((_, path)) if job.grammar.is_some() => bail!("`{}` draws what it needs: it takes no texts", shown(path)),
        _ => Ok(()),
    }
}

/// A reporter, and who is told afterwards.
struct Watched<'a> {
    reporter: &'a mut dyn Reporter,
    watch: Watch<'a>,
    store: &'a Store,
}

impl Reporter for Watched<'_> {
    fn report(&mut self, event: &Event) -> io::Result<()> {
        self.report_all(std::slice::from_ref(event))
    }

    fn report_all(&mut self, events: &[Event]) -> io::Result<()> {
        self.reporter.report_all(events)?;
        let told = events.iter().try_for_each(|event| (self.watch)(self.store, event));
        told.map_err(|error| io::Error::other(format!("{error:#}")))
    }
}

/// What `--strategy` can be.
fn strategies() -> String {
    format!("How to search:\n{}", Search::help().trim_end())
}

/// The number of threads that `--jobs` means.
pub(super) fn jobs(typed: Option<usize>) -> Result<usize, Fault> {
    let all = || std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = typed.unwrap_or_else(all);
    if (1..=JOBS_MAX).contains(&jobs) {
        Ok(jobs)
    } else {
        Err(anyhow::anyhow!("--jobs can be 1 to {JOBS_MAX}")).blame_user()
    }
}

/// The bytes of all inputs below `dir`.
fn inputs_of(dir: &Path, settings: &Settings) -> Result<Vec<Vec<u8>>, Fault> {
    Ok(read_dir(dir, settings).blame_user()?.into_iter().map(|(_, bytes)| bytes).collect())
}

/// Inputs that the user keeps in the repository that the store is in: `seeds/<name>/` and `regressions/<name>/`.
fn repository_seeds(store: &Store, name: &str, settings: &Settings) -> Result<Vec<Vec<u8>>, Fault> {
    let mut seeds = Vec::new();
    let repository = store.root().parent().unwrap_or(Path::new("."));
    let names = folders(store, name)?;
    for below in
        ["seeds", "regressions"].iter().flat_map(|folder| names.iter().map(|name| Path::new(folder).join(name)))
    {
        match Dir::open(repository)?.dir(&below) {
            Ok(None) => {}
            Ok(Some(dir)) => {
                let inputs = read_found_dir(dir.path(), settings).blame_user()?;
                seeds.extend(inputs.into_iter().map(|(_, bytes)| bytes));
            }
            // Nobody named it, so it may be anything.
            Err(error) => warning!("skipped `{}`: {error:#}", shown(&repository.join(below))),
        }
    }
    Ok(seeds)
}

/// A seed that differs from run to run. It is printed, so that the run can be repeated.
fn random_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    // Small enough to be typed.
    std::hash::RandomState::new().build_hasher().finish() >> 32
}
