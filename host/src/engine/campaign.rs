//! Rounds: the same seed finds the same corpus, however many workers there are.

mod after_round;
mod aiming;
mod aside;
mod comparing;
mod learning;
mod rounds;
mod searching;
mod seeds;
mod warming;

use super::aim::Pursuit;
use super::corpus::{Admission, Corpus};
use super::learned::Learned;
use super::mutate::{Mutator, custom};
use super::results::Results;
use super::retirement::Progress;
use super::round::{Discovery, Failure, Round, Totals};
use super::strategy::havoc;
use super::strategy::tasks::{self, Tasks};
use super::strategy::{Gains, Phase, Strategies, View};
use super::suspects::{self, Hangs, Suspect};
use super::testcase::Testcase;
use super::workers::pool::Workers;
use super::workers::report::{Baseline, BoxedReport, KnownFailures, NewFailure, Report, Witness};
use super::workers::variants::Variants;
use crate::coverage::Seen;
use crate::outcome::Outcome;
use crate::sandbox::{Candidate, CustomTargets, Target};
use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Fuel that a round should take at most, all tasks together: slow targets get short rounds, of a few seconds on one
/// worker. (Fuel that pays for bulk operators is used up a hundred times as fast. With half as much, SQLite's rounds
/// are so short that their ends cost two workers 8 % of the time.)
const ROUND_FUEL: u64 = 4_000_000_000;

/// A deterministic search: call [`Campaign::step`] until enough is found.
#[derive(Debug)]
pub struct Campaign {
    variants: Variants,
    /// Makes variants that are faster, and says which edges nobody needs to look at any more.
    progress: Progress,
    seed: u64,
    mutator: Mutator,
    corpus: Corpus,
    known: Arc<KnownFailures>,
    hangs: Arc<Hangs>,
    /// Edges that failing executions reached.
    failing_edges: BTreeSet<u32>,
    /// By signature: the first failure of each, in the order of signatures.
    failures: BTreeMap<String, Failure>,
    /// What is executed before anything is mutated.
    seeds: seeds::Seeds,
    totals: Totals,
    /// Rounds since one had a new testcase.
    rounds_without_news: u32,
    /// The longest mutant at present, in bytes.
    len_max: usize,
    /// Executions when it was set.
    execs_at_len_max: u64,
    /// What executions are spent on.
    strategies: Strategies,
    /// What goes on beside rounds.
    aside: aside::Aside,
    /// Who makes the variant that says what is compared.
    tracing: comparing::Tracing,
    /// What is known of guests that begin where others ended.
    warming: warming::Warming,
    /// What inputs show, as far as that is known.
    results: Results,
    /// How far it is from where it is to get, if it is to get somewhere.
    pursuit: Option<Pursuit>,
    /// What was learned before it.
    earlier: Learned,
    /// How often each input was executed, if that is counted.
    tally: Option<BTreeMap<Vec<u8>, u64>>,
}

/// All reports.
fn reports(results: &mut [tasks::Results]) -> impl Iterator<Item = &mut Report> {
    results.iter_mut().flat_map(|results| &mut results.reports).map(|report| &mut **report)
}

/// Executions that overran.
fn witnesses<'a>(reports: impl Iterator<Item = &'a mut Report>) -> Vec<Witness> {
    reports.filter_map(|report| report.witness.take()).collect()
}

impl Campaign {
    /// A campaign against `target` that has not executed anything.
    pub fn new(target: Arc<Target>, seed: u64, mutator: Mutator) -> Self {
        // What draws its input has choices of its own.
        let mutator = if target.takes_choices() { mutator.with_grammar(None) } else { mutator };
        let corpus = Corpus::of(Seen::nothing_of(&target)).parsed_by(mutator.grammar().cloned());
        let (strategies, code) = (Strategies::new(), target.asked_code());
        Self {
            variants: Variants::of(target.clone()),
            progress: Progress::new(target),
            seed,
            mutator,
            corpus,
            known: Arc::default(),
            hangs: Arc::default(),
            failing_edges: BTreeSet::new(),
            failures: BTreeMap::new(),
            seeds: seeds::Seeds::default(),
            totals: Totals::default(),
            rounds_without_news: 0,
            len_max: 0,
            execs_at_len_max: 0,
            strategies,
            aside: aside::Aside::default(),
            tracing: comparing::Tracing::new(code),
            warming: warming::Warming::default(),
            results: Results::default(),
            pursuit: None,
            earlier: Learned::default(),
            tally: None,
        }
    }

    /// The same, whose mutants are made by functions of `module`; or, if that is `None`, by the guest's own, if it is a
    /// libFuzzer harness that has some.
    ///
    /// # Errors
    ///
    /// If they can't be made ready.
    pub fn with_custom_mutators(mut self, module: Option<&Candidate>) -> Result<Self> {
        let (target, mutate) = (self.target(), custom::mutate_bytes(&self.mutator, self.seed));
        let custom = match module {
            Some(module) => CustomTargets::of_module(module, target, &mutate)?,
            None => CustomTargets::of(target, &mutate)?,
        };
        self.variants.custom = custom.map(Arc::new);
        Ok(self)
    }

    /// Runs one round of at most `execs_max` executions.
    ///
    /// # Errors
    ///
    /// If the host fails. `None` if the round was aborted: nothing happened then.
    pub fn step(
        &mut self,
        workers: &Workers,
        execs_max: u64,
        signature: &dyn Fn(&Outcome) -> String,
    ) -> Result<Option<Round>> {
        if self.has_seeds() {
            return self.execute_seeds(workers, execs_max, signature);
        }
        if !self.warm_up(workers)? {
            return Ok(None);
        }
        self.next_variant()?;
        if !self.trace(workers)? {
            return Ok(None);
        }
        let before = self.totals.execs;
        self.grow_inputs();
        let Some(mut results) = self.execute_round(workers, execs_max)? else {
            self.aside.abort()?;
            return Ok(None);
        };
        let met: Vec<_> = reports(&mut results).flat_map(|report| std::mem::take(&mut report.suspects)).collect();
        let witnesses = witnesses(reports(&mut results));
        let Some((confirmed, hangs)) = self.confirm(workers, met, signature)? else { return Ok(None) };
        results.last_mut().expect("mutants are planned").reports.extend(confirmed);
        self.hangs = hangs;
        self.strategies.closing.witnesses = witnesses;
        let mut round = Round::default();
        self.totals.rounds += 1;
        let admitted = self.merge_all(results, signature, &mut round);
        self.rounds_without_news = if admitted.is_empty() { self.rounds_without_news + 1 } else { 0 };
        for admitted in admitted {
            if self.is_trimmed(&admitted) {
                self.strategies.trim.untrimmed.push(admitted);
            } else {
                self.settle(admitted, &mut round);
            }
        }
        let execs_max = before.saturating_add(execs_max);
        self.run_phase(Phase::AfterRound, workers, execs_max, signature, &mut round)?;
        self.run_phase(Phase::AfterAll, workers, execs_max, signature, &mut round)?;
        self.decide_cold(workers, signature, &mut round)?;
        for edge in self.progress.retire(&self.corpus, self.totals.execs) {
            self.corpus.retire(edge);
        }
        self.look_where();
        Ok(Some(round))
    }

    /// Executes what a round has, and waits for what was begun in earlier ones if that is due. `None` if that was
    /// aborted.
    fn execute_round(&mut self, workers: &Workers, execs_max: u64) -> Result<Option<Vec<tasks::Results>>> {
        let mut aside = std::mem::take(&mut self.aside);
        let left = execs_max.saturating_sub(aside.execs());
        let execs = self.round_execs().min(left);
        let tasks = Tasks::new(&self.strategies, self.view())
            .plan(self.strategies.of(Phase::Beside), left - execs)
            .plan(self.strategies.of(Phase::Mutants), execs);
        aside.begin(self, workers, left.saturating_sub(tasks.execs()));
        let results = workers.run(&self.variants, tasks.count(), |task, worker| tasks.run(task, worker))?;
        let results = results.filter(|_| !workers.aborted()).map(|results| tasks.results(results));
        let due = aside.due(self, execs, execs_max);
        self.aside = aside;
        let Some(mut results) = results else { return Ok(None) };
        let Some(ended) = self.aside.end(&due)? else { return Ok(None) };
        results.extend(ended);
        let others = self.strategies.of(Phase::Aside).into_iter().filter(|place| !due.contains(place));
        results.extend(others.map(tasks::Results::none));
        results.sort_by_key(|results| results.place);
        Ok(Some(results))
    }

    /// Lets the testcases count that the next round would have made shorter. For when there is none: without this they
    /// would be told to nobody.
    pub fn finish(&mut self) -> Round {
        let mut round = Round::default();
        self.trimmed(Vec::new(), &|_| String::new(), &mut round);
        round
    }

    /// Takes what was made shorter, by testcase, and lets these testcases count from now on.
    fn trimmed(&mut self, reports: Vec<BoxedReport>, signature: &dyn Fn(&Outcome) -> String, round: &mut Round) {
        let untrimmed = std::mem::take(&mut self.strategies.trim.untrimmed);
        let mut reports = reports.into_iter();
        for mut new in untrimmed {
            if let Some(mut report) = reports.next() {
                for shorter in std::mem::take(&mut report.testcases) {
                    self.progress.shown(&shorter.unseen, self.corpus.seen(), self.totals.execs);
                    new.new_edges.extend(self.corpus.shorten(new.index, shorter));
                }
                self.merge(*report, signature, round);
            }
            self.settle(new, round);
        }
    }

    /// Whether a testcase is worth being made shorter, and has nothing that might be lost then.
    fn is_trimmed(&self, admitted: &Admission) -> bool {
        // Fewer bytes are no simpler in choice streams, nor in records of numbers, whose missing bytes are 0 and hard
        // to put back.
        let is_text = !self.target().takes_choices() && !self.target().candidate.entry.takes_numbers();
        // What a grammar derives would be no such text any more.
        let is_text = is_text && self.strategies.is_trimming() && self.mutator.grammar().is_none();
        is_text && !admitted.new_edges.is_empty() && !self.corpus.targets().is_best(admitted.index)
    }

    /// From now on a testcase counts.
    fn settle(&mut self, admitted: Admission, round: &mut Round) {
        let Admission { index, new_edges, .. } = admitted;
        self.corpus.settle(index);
        self.strategies.settled(index, !new_edges.is_empty());
        if !self.is_warm() {
            self.results.found(&self.corpus.testcases()[index]);
        }
        round.found.push(Discovery { index, new_edges, edges: self.corpus.seen().edges() });
    }

    /// What tasks have to know.
    fn all_known(&self) -> Baseline<'_> {
        let (seen, targets) = (self.corpus.shared_seen(), self.corpus.targets());
        let (closing, fuel_max) = (self.strategies.closing.closings.table(), self.fuel_limit());
        Baseline { seen, targets, failures: &self.known, closing, fuel_max, hangs: &self.hangs }
    }

    /// What strategies are shown now.
    fn view(&self) -> View<'_> {
        let target = &self.variants.metered;
        View {
            corpus: &self.corpus,
            mutator: &self.mutator,
            variants: &self.variants,
            known: self.all_known(),
            seed: self.seed,
            round: self.totals.rounds,
            round_execs: self.round_execs(),
            execs: self.totals.execs,
            overruns: self.totals.overruns,
            fuel: self.fuel(),
            fuel_mean: self.fuel_mean(),
            // Of inputs that are numbers, bytes that aren't there are 0, but what is not there can't be changed.
            len_min: target.candidate.entry.numbers_bytes().min(target.candidate.settings.input_bytes_max as usize),
            len_max: self.len_max,
            pursuit: self.pursuit.as_ref(),
            steps: None,
            is_apart: false,
            tally: self.tally.is_some(),
        }
    }

    /// Fuel that an execution may take before it is suspected to hang, in units. Seeds may take all, and so may what
    /// draws: it ends by an overrun, which is what closing is learned from.
    pub fn fuel_limit(&self) -> u64 {
        let fuel_max = self.target().candidate.settings.fuel_max;
        if self.totals.rounds == 0 || self.target().takes_choices() {
            return fuel_max;
        }
        suspects::limit(self.corpus.slowest(), fuel_max)
    }

    /// Fuel that an execution takes on average, in units, at least 1.
    fn fuel_mean(&self) -> u64 {
        (self.totals.sampled_fuel / self.totals.sampled.max(1)).max(1)
    }

    /// Finds out whether suspects hang, as far as that can matter. Returns what that brought, and what is known of
    /// hangs then; `None` if it was aborted.
    fn confirm(
        &self,
        workers: &Workers,
        met: Vec<Suspect>,
        signature: &dyn Fn(&Outcome) -> String,
    ) -> Result<Option<(Vec<BoxedReport>, Arc<Hangs>)>> {
        let fuel = self.fuel_mean().saturating_mul(self.totals.execs);
        let affordable = self.hangs.affordable(fuel, self.target().candidate.settings.fuel_max);
        let (mut hangs, mut reports) = (self.hangs.clone(), Vec::new());
        let (known, variants) = (self.all_known(), &self.variants);
        let met: Vec<_> = met.into_iter().map(|suspect| (signature(&suspect.outcome), suspect)).collect();
        for (suspected, suspect) in &met {
            let Some(origin) = suspect.origin.as_ref().filter(|_| hangs.confirmed < self.hangs.confirmed + affordable)
            else {
                continue;
            };
            if !hangs.wants(suspect, suspected) {
                continue;
            }
            let input = havoc::again(&self.view(), origin);
            let results = workers.run(variants, 1, |_, worker| worker.confirm(variants, known, &input))?;
            let Some((report, hang)) = results.and_then(|mut results| results.pop()) else { return Ok(None) };
            reports.push(Box::new(report));
            if let Some((outcome, edges)) = hang {
                Arc::make_mut(&mut hangs).add([suspected.clone(), signature(&outcome)], edges);
            }
        }
        for (suspected, suspect) in met {
            Arc::make_mut(&mut hangs).met(suspect.outcome, &suspected);
        }
        Ok(Some((reports, hangs)))
    }

    /// Merges what came of a round's tasks, strategy by strategy. Returns the new testcases, which must be settled.
    fn merge_all(
        &mut self,
        results: Vec<tasks::Results>,
        signature: &dyn Fn(&Outcome) -> String,
        round: &mut Round,
    ) -> Vec<Admission> {
        let (mut admitted, mut gains) = (Vec::new(), Vec::new());
        for mut results in results {
            let (place, execs) = (results.place, self.totals.execs);
            if results.are_shorter(&self.strategies) {
                self.trimmed(std::mem::take(&mut results.reports), signature, round);
            }
            let mut new = self.merge_results(results, signature, round);
            let edges = new.iter().map(Admission::edges).sum();
            gains.push((place, Gains { execs: self.totals.execs - execs, fuel: 0, edges }));
            admitted.append(&mut new);
        }
        // What executions take is known better now.
        gains.iter_mut().for_each(|(_, gains)| gains.fuel = self.fuel_of(gains.execs));
        let mutants = gains.last().expect("mutants are planned").1;
        self.strategies.gained(&gains, mutants);
        admitted
    }

    /// Merges what came of a strategy's tasks, and lets it learn. Returns the new testcases, which must be settled.
    fn merge_results(
        &mut self,
        results: tasks::Results,
        signature: &dyn Fn(&Outcome) -> String,
        round: &mut Round,
    ) -> Vec<Admission> {
        let tasks::Results { reports, mut lessons, .. } = results;
        let mut admitted = Vec::new();
        // The last of them may be no task's: what was confirmed of all.
        let mut learns = lessons.iter_mut();
        for report in reports {
            let mut new = self.merge(*report, signature, round);
            learns.next().into_iter().for_each(|lesson| lesson.edges = new.iter().map(Admission::edges).sum());
            admitted.append(&mut new);
        }
        for lesson in lessons {
            lesson.learn(&mut self.strategies, self.totals.overruns, &mut self.corpus);
        }
        admitted
    }

    /// Merges the report of a task. Returns the new testcases, which must be settled.
    fn merge(&mut self, report: Report, signature: &dyn Fn(&Outcome) -> String, round: &mut Round) -> Vec<Admission> {
        let mut admitted = Vec::new();
        self.totals.execs += report.execs;
        self.totals.recalled += report.recalled;
        self.known.learn_keys(&report);
        self.totals.rejected += report.rejected;
        self.totals.overruns += report.overruns;
        self.totals.hangs += report.hangs;
        self.totals.at_len_max += report.at_len_max;
        self.totals.input_bytes += report.input_bytes;
        self.totals.sampled += report.sample.growths.execs;
        self.totals.sampled_fuel += report.sample.growths.fuel;
        self.totals.sampled_hangs += report.sample.hangs;
        self.progress.sampled(&report.sample.growths);
        self.warming.met(report.grew);
        self.count(report.tally);
        report.picks.into_iter().for_each(|index| self.corpus.picked(index));
        let mut used = report.used.into_iter();
        for testcase in report.testcases {
            let used = used.next();
            self.progress.shown(&testcase.unseen, self.corpus.seen(), self.totals.execs);
            if let Some(new) = self.corpus.admit(testcase) {
                if !new.new_edges.is_empty() {
                    self.totals.execs_at_new_edge = self.totals.execs;
                }
                if let Some(used) = used {
                    self.mutator.brought(&used, !new.new_edges.is_empty());
                    self.corpus.set_lengths(new.index, used.lengths);
                }
                admitted.push(new);
            }
        }
        report.failures.into_iter().for_each(|failure| self.fails(failure, signature, round));
        admitted
    }

    /// Takes a failure that was decided.
    fn fail(&mut self, failure: NewFailure, signature: &dyn Fn(&Outcome) -> String, round: &mut Round) {
        self.known.add(&failure);
        let NewFailure { input, outcome, edges, .. } = failure;
        self.failing_edges.extend(edges);
        let signature = signature(&outcome);
        if !self.failures.contains_key(&signature) {
            let failure = Failure { input: input.into(), outcome, signature, execs: self.totals.execs };
            self.failures.insert(failure.signature.clone(), failure.clone());
            round.failures.push(failure);
        }
    }

    /// Goes on with a faster variant if there is one.
    fn next_variant(&mut self) -> Result<()> {
        if let Some(metered) = self.progress.better(self.is_old())? {
            if Arc::ptr_eq(&self.variants.quick, &self.variants.metered) {
                self.known.forget_keys();
                self.variants.quick = metered.clone();
            }
            self.variants.metered = metered;
        }
        if let Some(quick) = self.progress.next_variant(&self.corpus, self.fuel())? {
            self.known.forget_keys();
            self.variants.quick = quick;
            self.variants.watchdog.clone_from(self.progress.watchdog());
        }
        if let Some(watchdog) = &self.variants.watchdog {
            watchdog.expect(self.corpus.slowest());
        }
        Ok(())
    }

    /// The inputs that are worth keeping.
    pub fn corpus(&self) -> &Corpus {
        &self.corpus
    }

    /// The testcase of `found`.
    pub fn testcase(&self, found: &Discovery) -> &Testcase {
        &self.corpus.testcases()[found.index]
    }

    /// The first failure of each signature, in the order of signatures.
    pub fn failures(&self) -> impl ExactSizeIterator<Item = &Failure> {
        self.failures.values()
    }

    /// How many edges were reached, by failing executions too.
    pub fn reached(&self) -> usize {
        let seen = self.corpus.seen();
        seen.edges() + self.failing_edges.iter().filter(|edge| !seen.has_edge(**edge)).count()
    }

    /// Whether an edge was reached, by a failing execution or another.
    pub fn has_reached(&self, edge: u32) -> bool {
        self.corpus.seen().has_edge(edge) || self.failing_edges.contains(&edge)
    }

    /// Sums over all executions.
    pub fn totals(&self) -> Totals {
        Totals { compared: self.strategies.compares.execs, ..self.totals }
    }

    /// The target that is fuzzed, as it is without others before.
    pub fn target(&self) -> &Arc<Target> {
        self.variants.metered.cold()
    }
}
