//! A campaign that has begun: reads the clock, and writes what it finds while it goes on.

use super::events::{Outlet, View, now_s};
use super::learned;
use super::queue::Queue;
use super::results;
use super::retrace::Past;
use super::setup::{Limits, Session};
use super::writer::write_testcases;
use crate::engine::{Campaign, Mutator, Round, Workers};
use crate::failure::signature_of;
use crate::outcome::Outcome;
use crate::report::{Done, Event, Reporter, Retraced};
use anyhow::Result;
use std::time::{Duration, Instant};

/// A campaign that has begun, and goes on in turns. What it finds depends on its rounds alone, not on where turns end.
pub(crate) struct Running<'a> {
    session: &'a Session<'a>,
    campaign: Campaign,
    /// What the first round executes, until it did.
    seeds: Option<Vec<Vec<u8>>>,
    /// What these show is kept.
    seeds_kept: bool,
    view: View<'a>,
    /// Why it ended.
    stopped: Option<String>,
}

impl<'a> Running<'a> {
    /// Begins a campaign with `seeds` and the stored corpus; executes nothing yet.
    pub(crate) fn begin(session: &'a Session<'a>, mut seeds: Vec<Vec<u8>>) -> Result<Self> {
        seeds.extend(stored_corpus(session)?);
        // One order, wherever the inputs came from and however they were called.
        seeds.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
        seeds.dedup();
        let past = Past::of(session)?;
        let seeds = past.first(seeds);
        let mutator = Mutator::new(session.dictionary.clone()).with_grammar(session.grammar.clone());
        let campaign = Campaign::new(session.target.clone(), session.seed, mutator);
        let campaign = campaign.with_search(&session.search).with_custom_mutators(session.mutator)?;
        let campaign = campaign.with_results(results::load(&session.target)).with_learned(past.learned().clone());
        let campaign = match &session.aim {
            Some(aim) => campaign.with_aim(aim.clone()),
            None => campaign,
        };
        let campaign = if session.compares { campaign } else { campaign.without_compares() };
        let campaign = if session.warms { campaign } else { campaign.without_warming() };
        let view = View::new(session, past)?;
        Ok(Self { session, campaign, seeds: Some(seeds), seeds_kept: false, view, stopped: None })
    }
}

impl Running<'_> {
    /// Goes on until `time` has passed or a limit is reached, for a round at least.
    pub(crate) fn turn(&mut self, time: Option<Duration>, reporter: &mut dyn Reporter) -> Result<()> {
        self.with_writer(reporter, |running, out| {
            if let Some(seeds) = running.seeds.take() {
                running.view.start(out, seeds.len())?;
                running.view.inherit(&mut running.campaign, &seeds)?;
                running.round(out, |campaign, workers, execs, signature| {
                    campaign.start(workers, &seeds, execs, signature)
                })?;
            } else {
                running.step(out)?;
            }
            while !running.has_ended() && time.is_none_or(|time| out.began.elapsed() < time) {
                running.step(out)?;
            }
            if running.has_ended() { Ok(()) } else { running.view.status_now(out, &running.campaign) }
        })
    }

    /// Executes the first inputs, and nothing else.
    pub(crate) fn retrace(&mut self, reporter: &mut dyn Reporter) -> Result<()> {
        while !self.seeds_kept && !self.has_ended() {
            self.turn(Some(Duration::ZERO), reporter)?;
        }
        Ok(())
    }

    /// What became of what was known of an older build, if this one is new.
    pub(crate) fn retraced(&self) -> Option<&Retraced> {
        self.view.retraced.as_ref()
    }

    /// First inputs that were executed, or known.
    pub(crate) fn inputs(&self) -> u64 {
        self.campaign.seeds_done()
    }

    /// Edges reached.
    pub(crate) fn edges(&self) -> u64 {
        self.campaign.reached() as u64
    }

    /// What it brought: edges and failures.
    pub(crate) fn news(&self) -> u64 {
        self.edges() + self.campaign.failures().len() as u64
    }

    /// Says why it ends, unless it ended by itself.
    pub(crate) fn stop(&mut self, why: &str) {
        self.stopped.get_or_insert_with(|| why.to_owned());
    }

    /// Whether a limit was reached, or the campaign was interrupted.
    pub(crate) fn has_ended(&self) -> bool {
        self.stopped.is_some()
    }

    /// Ends the campaign, and tells how it did.
    pub(crate) fn end(mut self, reporter: &mut dyn Reporter) -> Result<Done> {
        self.with_writer(reporter, |running, out| {
            let rest = running.campaign.finish();
            running.view.round(out, &running.campaign, &rest)
        })?;
        results::keep(&self.session.target, self.campaign.results());
        learned::keep(self.session, &self.campaign);
        // The corpus is safe before the end is told.
        let stopped = self.stopped.take().unwrap_or_else(|| "interrupted".to_owned());
        let done = self.view.done(&self.campaign, stopped)?;
        self.view.tell(reporter, &[Event::Done(done.clone())])?;
        Ok(done)
    }

    fn step(&mut self, out: &mut Outlet<'_>) -> Result<()> {
        self.round(out, |campaign, workers, execs, signature| campaign.step(workers, execs, signature))
    }

    /// Executes a round and tells of it.
    fn round(
        &mut self,
        out: &mut Outlet<'_>,
        execute: impl FnOnce(&mut Campaign, &Workers, u64, &dyn Fn(&Outcome) -> String) -> Result<Option<Round>>,
    ) -> Result<()> {
        let Session { workers, limits, symbols, .. } = self.session;
        let execs_max = limits.execs.unwrap_or(u64::MAX);
        let left = execs_max.saturating_sub(self.campaign.totals().execs);
        let signature = |outcome: &Outcome| signature_of(outcome, symbols).name;
        let round = execute(&mut self.campaign, workers, left, &signature)?;
        if let Some(round) = &round {
            self.view.round(out, &self.campaign, round)?;
        }
        if !self.seeds_kept && !self.campaign.has_seeds() {
            self.seeds_kept = true;
            // What took long is kept before anything else can happen.
            results::keep(&self.session.target, self.campaign.results());
            self.view.retraced(out, &mut self.campaign)?;
            let (underived, all) = (self.campaign.underived(), self.campaign.corpus().testcases().len());
            if underived > 0 && all > 1 {
                (self.session.warn)(&format!(
                    "{underived} of the {all} inputs that the campaign begins with are no texts of the grammar, and changed as bytes"
                ));
            }
        }
        self.stopped = self.limit(out).or_else(|| round.is_none().then(|| "interrupted".to_owned()));
        Ok(())
    }

    /// The limit that was reached.
    fn limit(&self, out: &Outlet<'_>) -> Option<String> {
        let Limits { time, execs, stop_on_first, hunts, seeds_only, stop_on_traces } = self.session.limits;
        match execs {
            _ if self.session.ending.is_signalled() => Some("interrupted".to_owned()),
            _ if hunts && self.campaign.has_arrived() => Some("all goals reached".to_owned()),
            _ if stop_on_traces && !self.campaign.has_seeds() && self.campaign.has_reached_traces() => {
                Some("every trace was reached".to_owned())
            }
            Some(execs) if self.campaign.totals().execs >= execs => Some(format!("--execs {execs} reached")),
            _ if time.is_some_and(|time| self.view.elapsed(out) >= time) => Some("--time reached".to_owned()),
            _ if self.campaign.is_exhausted() => Some("every input executed that the strategy has".to_owned()),
            _ if seeds_only && !self.campaign.has_seeds() => Some("all inputs executed".to_owned()),
            _ if stop_on_first && self.campaign.failures().len() > self.view.no_news() => {
                Some("first finding".to_owned())
            }
            _ => None,
        }
    }

    /// Does `job` while another thread writes the testcases that it finds; these are safe when it returns.
    fn with_writer(
        &mut self,
        reporter: &mut dyn Reporter,
        job: impl FnOnce(&mut Self, &mut Outlet<'_>) -> Result<()>,
    ) -> Result<()> {
        let (queue, began, session) = (Queue::default(), Instant::now(), self.session);
        self.view.stats.resume(now_s());
        session.ending.limit(session.limits.time.map(|time| began + time.saturating_sub(self.view.spent)));
        let result = std::thread::scope(|scope| {
            let (testcases, receiver) = queue.ends();
            let writer = scope.spawn(|| write_testcases(session, receiver));
            let result = job(self, &mut Outlet { reporter, testcases, began });
            let written = writer.join().expect("the writer doesn't panic");
            // Without its writer a campaign ends at once, and why the writer ended is the reason.
            written.and(result)
        });
        session.ending.limit(None);
        self.view.spent += began.elapsed();
        result
    }
}

/// The inputs of the stored corpus, without those that are damaged.
fn stored_corpus(session: &Session<'_>) -> Result<Vec<Vec<u8>>> {
    let loaded = session.store.load_corpus(&session.name, session.target.candidate.settings.input_bytes_max.into())?;
    for (_, error) in &loaded.damaged {
        (session.warn)(&format!("left out of the corpus of `{}` for good: {error:#}", session.name));
    }
    session.store.remove_from_corpus(&session.name, &loaded.damaged.iter().map(|(input, _)| *input).collect())?;
    Ok(loaded.inputs.into_iter().map(|(_, bytes)| bytes).collect())
}
