//! Learns with what index each call site of a guest ends what it draws.
//!
//! Behind the end of a stream follow zeros, the first alternative of each choice. The SDK has the smallest one first; a guest that draws by hand
//! may have a recursive one there, and then no stream ends that does not say so itself: of the executions with a random tail, those overrun that have something left to draw at its end.
//! Crowbar's authors order alternatives by what they make of zeros; without seeing the generator, executions have to tell ([`costs`]).
//!
//! Only who overruns pays for that. After a round in which executions did, some are executed again:
//!
//! 1. Sites that draw behind the end of such a stream are those to close. Testcases of the corpus tell which of their alternatives ended.
//! 2. A site that nobody saw ending is tried with each of its alternatives, for all of its draws alike, where it first drew, together with others and
//!    alone. If that ends nothing, streams end at random, which finds what several sites need of one another.
//! 3. All alternatives of the sites are executed where little is left to draw, followed by the table so far, until it stays as it is. So an
//!    alternative that no testcase has is found too, and the table has the shortest.
//!
//! A table changes what mutants are like, and never what a stream means: [`Closing`].

mod costs;

use super::rng::Rng;
use crate::stream::{Choice, Closing, Node, Rule, Tail, Trace, encode};
use anyhow::Result;
use costs::{Costs, can_close};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Executions that learning may take in any campaign.
const EXECS_MIN: u64 = 256;
/// And one in so many of all.
const EXECS_SHARE: u64 = 50;
/// Executions that overran of which one round is learned, at most.
const WITNESSES_MAX: usize = 4;
/// Times that a witness is executed, and the table changed, before it is given up.
const ATTEMPTS: usize = 8;
/// Sites of one witness that nobody saw ending and that are tried.
const UNKNOWN_MAX: usize = 16;
/// Random choices of an execution that looks for ends.
const RANDOM_CHOICES: u32 = 1024;
/// Streams that are ended at random, for each length.
const RANDOM_STREAMS: u32 = 4;

/// An execution that overran: its stream, and how that was read.
#[derive(Clone, Debug)]
pub(super) struct Witness {
    pub(super) input: Vec<u8>,
    pub(super) rule: Rule,
}

/// What an execution of the learner's did.
#[derive(Debug)]
pub(super) enum Probed {
    /// It ended well.
    Ended(Trace),
    /// It overran.
    Overran(Trace),
    /// It says nothing: it was rejected, or failed, and might have drawn more otherwise.
    Other,
}

/// Executes a stream by a rule, where call sites close with a table.
pub(super) type Run<'a> = dyn FnMut(&[u8], &Rule, &Arc<Closing>) -> Result<Probed> + 'a;

/// What a campaign knows about how its guest ends.
#[derive(Clone, Debug, Default)]
pub(super) struct Closings {
    /// What mutants end with.
    table: Arc<Closing>,
    costs: Costs,
    /// Sites that drew in executions which overran, behind the end of their streams.
    involved: BTreeSet<u32>,
    /// Sites of these whose alternatives were executed with the table as it is, and how many.
    explored: BTreeMap<u32, u64>,
    /// Testcases that were noted.
    noted: usize,
    /// Executions that were spent.
    execs: u64,
    /// Learns no more before so many executions overran.
    patience: u64,
}

impl Closings {
    /// What mutants end with.
    pub(super) fn table(&self) -> &Arc<Closing> {
        &self.table
    }

    /// How many executions may be spent when there were `execs` so far, of which `overruns` overran.
    pub(super) fn budget(&self, execs: u64, overruns: u64) -> u64 {
        if overruns < self.patience { 0 } else { (EXECS_MIN + execs / EXECS_SHARE).saturating_sub(self.execs) }
    }

    /// So many executions were spent, after `overruns` that overran. Where nothing was learned, that is not to be tried again soon.
    pub(super) fn spent(&mut self, execs: u64, overruns: u64, changed: bool) {
        self.execs += execs;
        self.patience = if changed { 0 } else { 2 * overruns };
    }

    /// Notes testcases of the corpus, of which this is given all each time.
    fn note_corpus<'a>(&mut self, samples: impl Iterator<Item = Option<&'a Node>>) {
        for sample in samples.skip(std::mem::take(&mut self.noted)) {
            self.noted += 1;
            let (mut draws, mut choices) = (Vec::new(), Vec::new());
            if let Some(sample) = sample {
                sample.visit_draws(&mut |draw, choice| {
                    draws.push(*draw);
                    choices.push(choice.clone());
                });
            }
            self.costs.note(&draws, &choices);
        }
    }
}

/// Learns from executions that overran, in at most `execs` others.
#[derive(Debug)]
pub(super) struct Learner {
    pub(super) closings: Closings,
    execs: u64,
    rng: Rng,
}

impl Learner {
    pub(super) fn new(closings: Closings, execs: u64, rng: Rng) -> Self {
        Self { closings, execs, rng }
    }

    /// Returns what is known then.
    pub(super) fn learn<'a>(
        mut self,
        samples: impl Iterator<Item = Option<&'a Node>>,
        witnesses: &[Witness],
        run: &mut Run<'_>,
    ) -> Result<Closings> {
        self.closings.note_corpus(samples);
        for witness in witnesses.iter().take(WITNESSES_MAX) {
            for _ in 0..ATTEMPTS {
                let Some(trace) = self.overrun(witness, run)? else { break };
                let before = self.closings.table.clone();
                self.look(&trace, given(&trace, &witness.rule), run)?;
                if self.closings.table == before {
                    break;
                }
            }
        }
        Ok(self.closings)
    }

    /// Executes a witness; what it drew if it still overruns.
    fn overrun(&mut self, witness: &Witness, run: &mut Run<'_>) -> Result<Option<Trace>> {
        let rule = Rule { close: true, ..witness.rule };
        let table = self.closings.table.clone();
        let probed = self.probe(&witness.input, &rule, &table, run)?;
        Ok(if let Probed::Overran(trace) = probed { Some(trace) } else { None })
    }

    /// Makes the table better for what was drawn without an end, of which the stream and its random part gave the first.
    fn look(&mut self, trace: &Trace, given: usize, run: &mut Run<'_>) -> Result<()> {
        let sites = closers(trace, given);
        self.closings.involved.extend(sites.iter().map(|closer| closer.site));
        self.update();
        self.try_unknown(&sites, trace, run)?;
        if !self.unknown(&sites).is_empty() {
            self.end_at_random(&trace.choices[..given], run)?;
        }
        self.update();
        self.explore(&sites, run)
    }

    /// Those that nobody saw ending.
    fn unknown(&self, sites: &[Closer]) -> Vec<Closer> {
        let unknown = |closer: &&Closer| self.closings.costs.site(closer.site).is_none();
        sites.iter().filter(unknown).take(UNKNOWN_MAX).copied().collect()
    }

    /// Executes alternatives of sites that nobody saw ending: the second of all, the third, and so on, since an author who does not have
    /// the smallest one first may well have it last everywhere; then those of one site.
    fn try_unknown(&mut self, sites: &[Closer], trace: &Trace, run: &mut Run<'_>) -> Result<()> {
        let unknown = self.unknown(sites);
        let Some(first) = unknown.iter().map(|closer| closer.first).min() else { return Ok(()) };
        for index in 1..=unknown.iter().map(|closer| closer.max).max().unwrap_or(0) {
            let indices = unknown.iter().map(|closer| (closer.site, index.min(closer.max)));
            self.try_table(&trace.choices[..first], indices, run)?;
        }
        for closer in unknown {
            for index in 0..=closer.max {
                if self.closings.costs.site(closer.site).is_none() {
                    self.try_table(&trace.choices[..closer.first], [(closer.site, index)].into_iter(), run)?;
                }
            }
            self.update();
        }
        Ok(())
    }

    /// Ends a stream with other indices at some sites.
    fn try_table(
        &mut self,
        choices: &[Choice],
        indices: impl Iterator<Item = (u32, u64)>,
        run: &mut Run<'_>,
    ) -> Result<()> {
        let mut table = Closing::clone(&self.closings.table);
        for (site, index) in indices {
            table.set(site, index);
        }
        self.zeros(choices, &Arc::new(table), run)
    }

    /// Ends a stream at random, cut to half as much again and again: what has little left to draw is likely to end.
    fn end_at_random(&mut self, choices: &[Choice], run: &mut Run<'_>) -> Result<()> {
        let table = self.closings.table.clone();
        let mut len = choices.len();
        loop {
            for _ in 0..RANDOM_STREAMS {
                let tail = Tail::Random { seed: self.rng.word(), choices: len as u32 + RANDOM_CHOICES };
                self.probe(&encode(&choices[..len]), &Rule { tail, wrap: false, close: true }, &table, run)?;
            }
            if len == 0 {
                return Ok(());
            }
            len /= 2;
        }
    }

    /// Executes the alternatives of sites where little is left to draw, until the table stays as it is.
    fn explore(&mut self, sites: &[Closer], run: &mut Run<'_>) -> Result<()> {
        loop {
            let before = self.closings.table.clone();
            for &Closer { site, max, .. } in sites {
                let explored = self.closings.explored.get(&site).map_or(0, |&explored| explored);
                let Some(start) = self.closings.costs.site(site).map(|site| site.before().to_vec()) else { continue };
                for index in explored..=max {
                    self.zeros(&[&start[..], &[Choice::Index(index)]].concat(), &before, run)?;
                }
                self.closings.explored.insert(site, explored.max(max + 1));
            }
            self.update();
            if self.closings.table == before || self.execs == 0 {
                return Ok(());
            }
        }
    }

    /// Executes these choices and what the table makes of their end.
    fn zeros(&mut self, choices: &[Choice], table: &Arc<Closing>, run: &mut Run<'_>) -> Result<()> {
        let rule = Rule { tail: Tail::Zero, wrap: false, close: true };
        self.probe(&encode(choices), &rule, table, run).map(drop)
    }

    fn probe(&mut self, input: &[u8], rule: &Rule, table: &Arc<Closing>, run: &mut Run<'_>) -> Result<Probed> {
        if self.execs == 0 {
            return Ok(Probed::Other);
        }
        self.execs -= 1;
        let probed = run(input, rule, table)?;
        if let Probed::Ended(trace) = &probed {
            self.closings.costs.note(&trace.draws, &trace.choices);
        }
        Ok(probed)
    }

    /// Makes the table of what is known.
    fn update(&mut self) {
        let table = self.closings.costs.closing(self.closings.involved.iter().copied());
        if table != *self.closings.table {
            self.closings.table = Arc::new(table);
            // Alternatives may end sooner now.
            self.closings.explored.clear();
        }
    }
}

/// How many of the draws the stream and its random part gave.
fn given(trace: &Trace, rule: &Rule) -> usize {
    let random = if let Tail::Random { choices, .. } = rule.tail { choices as usize } else { 0 };
    trace.given.max(random).min(trace.draws.len())
}

/// A site that drew behind the end of a stream.
#[derive(Clone, Copy, Debug)]
struct Closer {
    site: u32,
    /// Its first draw there.
    first: usize,
    /// How often it drew there.
    draws: usize,
    /// The largest index that was possible.
    max: u64,
}

/// The sites that drew behind what was given, those that did most often first.
fn closers(trace: &Trace, given: usize) -> Vec<Closer> {
    let mut sites: BTreeMap<u32, Closer> = BTreeMap::new();
    for (first, draw) in trace.draws.iter().enumerate().skip(given).filter(|(_, draw)| can_close(draw)) {
        let closer = sites.entry(draw.site).or_insert(Closer { site: draw.site, first, draws: 0, max: 0 });
        closer.draws += 1;
        closer.max = closer.max.max(draw.max);
    }
    let mut sites: Vec<_> = sites.into_values().collect();
    sites.sort_unstable_by_key(|closer| (std::cmp::Reverse(closer.draws), closer.site));
    sites
}
