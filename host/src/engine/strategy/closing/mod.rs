//! Learns with what index each call site of a guest ends what it draws.
//!
//! Behind the end of a stream follow zeros, the first alternative of each choice. The SDK has the smallest one first; a
//! guest that draws by hand may have a recursive one there, and then no stream ends that does not say so itself:
//! executions with a random tail overrun if there is something left to draw at its end. Crowbar's authors order
//! alternatives by what they make of zeros; without seeing the generator, executions have to tell ([`costs`]).
//!
//! Only who overruns pays for that. After a round in which executions did, some are executed again:
//!
//! 1. Sites that draw behind the end of such a stream are those to close. Testcases of the corpus tell which of their
//!    alternatives ended.
//! 2. The shortest stream that overruns is closed with other alternatives of sites that nobody saw ending, all draws of
//!    a site alike: the same of all sites, those of each, any. What still overruns shows further sites.
//! 3. All alternatives of the sites are executed where little is left to draw, followed by the table so far, until it
//!    stays as it is. So an alternative that no testcase has is found too, and the table has the shortest.
//!
//! A table changes what mutants are like, and never what a stream means: [`Closing`].
//!
//! # What overruns teaches how to end
//!
//! Zeros follow a stream, and a guest may have a recursive alternative first: then each call site whose draws went
//! on for ever gets another index for the end, the one from which on executions drew the least. It is found from
//! testcases and by executing some that overran again, on one worker after a round; a campaign without overruns
//! executes nothing for it. Only mutants are closed so. A stored stream is canonical, so it holds these indices,
//! and zeros follow it as ever. A recursion that draws behind the end of its stream is an overrun, no stack
//! overflow: which limit it meets first says nothing of what is tested.

mod costs;
mod lessons;
#[cfg(test)]
mod tests;

use crate::engine::rng::Rng;
use crate::engine::workers::report::Witness;
use crate::stream::{Choice, Closing, Node, Rule, Tail, Trace, encode};
use anyhow::Result;
pub(in crate::engine) use lessons::Lessons;

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
/// Tables at random that are tried for them.
const RANDOM_TABLES: u32 = 32;

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
pub(in crate::engine) struct Closings {
    /// What mutants end with.
    table: Arc<Closing>,
    costs: Costs,
    /// Sites that drew in executions which overran, behind the end of their streams.
    involved: BTreeSet<u32>,
    /// How many alternatives of each of these were executed with the table as it is.
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
    pub(in crate::engine) fn table(&self) -> &Arc<Closing> {
        &self.table
    }

    /// How many executions may be spent when there were `execs` so far, of which `overruns` overran.
    pub(super) fn budget(&self, execs: u64, overruns: u64) -> u64 {
        if overruns < self.patience { 0 } else { (EXECS_MIN + execs / EXECS_SHARE).saturating_sub(self.execs) }
    }

    /// So many executions were spent, after `overruns` that overran. Where nothing was learned, that is not to be tried
    /// again soon.
    pub(super) fn spent(&mut self, execs: u64, overruns: u64, changed: bool) {
        self.execs += execs;
        self.patience = if changed { 0 } else { 2 * overruns };
    }

    /// Notes testcases of the corpus, of which this is given all each time.
    fn note_corpus<'a>(&mut self, samples: impl Iterator<Item = Option<&'a Node>>) {
        let noted = self.noted;
        for sample in samples.skip(noted) {
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
                let given = given(&trace, &witness.rule);
                self.look(trace, given, run)?;
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

    /// Makes the table better for a stream that overran.
    fn look(&mut self, overran: Trace, given: usize, run: &mut Run<'_>) -> Result<()> {
        let (trace, given) = self.shortest(overran, given, run)?;
        self.involve(&trace, given);
        self.update();
        self.try_unknown(&trace, given, run)?;
        self.update();
        self.explore(run)
    }

    /// The shortest beginning of a stream that overruns if it is closed, as far as bisection tells: little of what it
    /// leaves to draw is of no interest. Those that end tell something as well.
    fn shortest(&mut self, overran: Trace, given: usize, run: &mut Run<'_>) -> Result<(Trace, usize)> {
        let table = self.closings.table.clone();
        let (mut shortest, mut ends, mut len) = (overran, None, given);
        while ends.map_or(0, |ends| ends + 1) < len {
            let middle = ends.map_or(0, |ends| ends + (len - ends) / 2);
            match self.zeros(&shortest.choices[..middle], &table, run)? {
                Probed::Overran(trace) => (shortest, len) = (trace, middle),
                Probed::Ended(_) | Probed::Other => ends = Some(middle),
            }
        }
        Ok((shortest, len))
    }

    /// The sites that close a stream are to be closed.
    fn involve(&mut self, trace: &Trace, given: usize) {
        self.closings.involved.extend(closers(trace, given).into_keys());
    }

    /// Executes alternatives of sites that nobody saw ending: the second of all, the third, and so on, since an author
    /// who does not have the smallest one first may well have it last everywhere; those of one site; any. What overruns
    /// shows what else has to end.
    fn try_unknown(&mut self, trace: &Trace, given: usize, run: &mut Run<'_>) -> Result<()> {
        let stream = &trace.choices[..given];
        let mut unknown = Sites::new();
        self.meet(&mut unknown, trace, given);
        let mut met = 0;
        while unknown.len() > met {
            met = unknown.len();
            for index in 1..=unknown.values().max().copied().unwrap_or(0) {
                let indices: Sites = unknown.iter().map(|(&site, &max)| (site, index.min(max))).collect();
                self.try_table(stream, &indices, &mut unknown, run)?;
            }
        }
        for (site, max) in unknown.clone() {
            for index in 0..=max {
                self.try_table(stream, &Sites::from([(site, index)]), &mut unknown, run)?;
            }
        }
        for _ in 0..RANDOM_TABLES {
            let any = unknown.iter().map(|(&site, &max)| (site, self.rng.below(max as usize + 1) as u64));
            let indices: Sites = any.collect();
            self.try_table(stream, &indices, &mut unknown, run)?;
        }
        Ok(())
    }

    /// Ends a stream with other indices at some sites, unless there are none left of which nobody saw an end.
    fn try_table(&mut self, stream: &[Choice], indices: &Sites, unknown: &mut Sites, run: &mut Run<'_>) -> Result<()> {
        if unknown.is_empty() {
            return Ok(());
        }
        let mut table = Closing::clone(&self.closings.table);
        for (&site, &index) in indices {
            table.set(site, index);
        }
        match self.zeros(stream, &Arc::new(table), run)? {
            Probed::Overran(trace) => self.meet(unknown, &trace, stream.len()),
            Probed::Ended(_) => {
                unknown.retain(|&site, _| self.closings.costs.site(site).is_none());
                self.update();
            }
            Probed::Other => {}
        }
        Ok(())
    }

    /// Adds sites that close a stream and that nobody saw ending, as far as there is room.
    fn meet(&mut self, unknown: &mut Sites, trace: &Trace, given: usize) {
        self.involve(trace, given);
        for (site, new) in closers(trace, given) {
            if self.closings.costs.site(site).is_none() && unknown.len() < UNKNOWN_MAX {
                let max = unknown.entry(site).or_default();
                *max = new.max(*max);
            }
        }
    }

    /// Executes all alternatives of the sites where little is left to draw, until the table stays as it is.
    fn explore(&mut self, run: &mut Run<'_>) -> Result<()> {
        loop {
            let before = self.closings.table.clone();
            for number in self.closings.involved.clone() {
                let Some(site) = self.closings.costs.site(number) else { continue };
                let (start, max) = (site.before().to_vec(), site.max());
                let explored = self.closings.explored.get(&number).map_or(0, |&explored| explored);
                if self.execs <= max {
                    // There may be more next time.
                    return Ok(());
                }
                for index in explored..=max {
                    self.zeros(&[&start[..], &[Choice::Index(index)]].concat(), &before, run)?;
                }
                self.closings.explored.insert(number, explored.max(max + 1));
            }
            self.update();
            if self.closings.table == before {
                return Ok(());
            }
        }
    }

    /// Executes these choices and what the table makes of their end.
    fn zeros(&mut self, choices: &[Choice], table: &Arc<Closing>, run: &mut Run<'_>) -> Result<Probed> {
        let rule = Rule { tail: Tail::Zero, wrap: false, close: true };
        self.probe(&encode(choices), &rule, table, run)
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

/// Sites, and an index of each.
type Sites = BTreeMap<u32, u64>;

/// The sites that drew behind what was given, and the largest index of each.
fn closers(trace: &Trace, given: usize) -> Sites {
    let mut sites = Sites::new();
    for draw in trace.draws.iter().skip(given).filter(|draw| can_close(draw)) {
        let max = sites.entry(draw.site).or_default();
        *max = draw.max.max(*max);
    }
    sites
}
