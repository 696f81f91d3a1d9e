//! One campaign as a user sees it: reads the clock, stores what is found, and tells reporters.

use super::debug_info;
use super::drawn::Execution;
use super::ending::Ending;
use super::exit::Fault;
use super::findings::new_record;
use super::queue::{self, Queue};
use super::shrinking::{Shrinking, limits_in_campaign, signature_of};
use crate::engine::{Campaign, Dictionary, Failure, Found, Mutator, Round, Testcase, Workers};
use crate::report::{self, AdviceFacts, Advisor, Event, Reporter, StatsFiles, Symbols};
use crate::sandbox::{Outcome, Target};
use crate::store::{FindingId, FindingRecord, Store};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A status event is sent no more often.
const STATUS_EVERY: Duration = Duration::from_millis(500);
/// New testcases are written no more often: each time costs a look at the whole corpus.
const WRITE_EVERY: Duration = Duration::from_millis(200);
/// Functions of which nothing was reached that the final table names.
const NOT_REACHED_MAX: usize = 5;

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) time: Option<Duration>,
    pub(super) execs: Option<u64>,
    /// Stop when the first inputs were executed.
    pub(super) seeds_only: bool,
    pub(super) stop_on_first: bool,
}

/// A campaign with everything around it.
pub(super) struct Session<'a> {
    pub(super) name: String,
    pub(super) target: Arc<Target>,
    pub(super) store: &'a Store,
    pub(super) workers: &'a Workers,
    /// Ends what `workers` do.
    pub(super) ending: &'a Ending,
    pub(super) jobs: usize,
    pub(super) seed: u64,
    pub(super) dictionary: Dictionary,
    pub(super) limits: Limits,
    /// Look for a smaller input of each finding.
    pub(super) shrink: bool,
    /// Where lines are looked up.
    pub(super) symbols: Symbols,
}

impl Session<'_> {
    /// Fuzzes from `seeds` and the stored corpus until a limit is reached.
    pub(super) fn run(&self, seeds: &[Vec<u8>], reporter: &mut dyn Reporter) -> Result<report::Done, Fault> {
        let queue = Queue::default();
        std::thread::scope(|scope| {
            let (sender, receiver) = queue.ends();
            let writer = scope.spawn(|| self.write_testcases(receiver));
            let mut view = View::new(self, reporter, sender)?;
            let result = self.campaign(seeds, &mut view);
            // The corpus is safe before the end is told.
            view.testcases = None;
            let written = writer.join().expect("the writer doesn't panic");
            // Without its writer a campaign ends at once, and why the writer ended is the reason.
            written?;
            let (campaign, started, stopped) = result?;
            let done = view.done(&campaign, started.elapsed(), stopped);
            view.tell(&[Event::Done(done.clone())])?;
            Ok(done)
        })
    }

    /// Returns the campaign, when it began, and why it ended.
    fn campaign(&self, seeds: &[Vec<u8>], view: &mut View<'_>) -> Result<(Campaign, Instant, String), Fault> {
        let mut seeds = seeds.to_vec();
        seeds.extend(self.stored_corpus()?);
        // One order, wherever the inputs came from and however they were called.
        seeds.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
        seeds.dedup();
        view.start(seeds.len())?;
        let mutator = Mutator::new(self.dictionary.clone());
        let mut campaign = Campaign::new(self.target.clone(), self.seed, mutator);
        let started = Instant::now();
        let limit = self.limits.time.map(|time| started + time);
        self.ending.limit(limit);
        let signature = |outcome: &Outcome| signature_of(outcome, &self.symbols);
        let execs_max = self.limits.execs.unwrap_or(u64::MAX);

        let mut round = campaign.start(self.workers, &seeds, execs_max, &signature)?;
        let stopped = loop {
            if let Some(finished) = &round {
                view.round(&campaign, finished, started.elapsed())?;
            }
            let left = execs_max.saturating_sub(campaign.totals().execs);
            if self.ending.is_signalled() {
                break "interrupted".to_owned();
            }
            if left == 0 {
                break format!("--execs {execs_max} reached");
            }
            if limit.is_some_and(|limit| Instant::now() >= limit) {
                break "--time reached".to_owned();
            }
            if self.limits.seeds_only && !campaign.has_seeds() {
                break "all inputs executed".to_owned();
            }
            if self.limits.stop_on_first && campaign.failures().len() > 0 {
                break "first finding".to_owned();
            }
            if round.is_none() {
                break "interrupted".to_owned();
            }
            round = campaign.step(self.workers, left, &signature)?;
        };
        self.ending.limit(None);
        let rest = campaign.finish();
        view.round(&campaign, &rest, started.elapsed())?;
        Ok((campaign, started, stopped))
    }

    fn stored_corpus(&self) -> Result<Vec<Vec<u8>>> {
        let loaded = self.store.load_corpus(&self.name, self.target.settings.input_bytes_max.into())?;
        for (_, error) in &loaded.damaged {
            eprintln!("warning: left out of the corpus of `{}` for good: {error:#}", self.name);
        }
        self.store.remove_from_corpus(&self.name, &loaded.damaged.iter().map(|(input, _)| *input).collect())?;
        Ok(loaded.inputs.into_iter().map(|(_, bytes)| bytes).collect())
    }

    /// Writes testcases while the campaign goes on: a file that is safe on disk takes milliseconds.
    fn write_testcases(&self, queue: queue::End<'_>) -> Result<()> {
        while let Some(batch) = queue.take(WRITE_EVERY) {
            let inputs: Vec<_> = batch.iter().map(|(id, bytes)| (*id, &**bytes)).collect();
            self.store.add_to_corpus(&self.name, self.target.id, &inputs)?;
        }
        Ok(())
    }
}

/// What is told about a campaign, and written to the store.
struct View<'a> {
    session: &'a Session<'a>,
    reporter: &'a mut dyn Reporter,
    /// AFL's files in the target's folder of the store.
    stats: StatsFiles,
    /// Where a round's new testcases go to be stored, until the campaign ends.
    testcases: Option<queue::End<'a>>,
    symbols: &'a Symbols,
    advisor: Advisor,
    findings: BTreeMap<String, report::Finding>,
    last_status: Option<Duration>,
}

impl<'a> View<'a> {
    fn new(session: &'a Session<'a>, reporter: &'a mut dyn Reporter, testcases: queue::End<'a>) -> Result<Self> {
        let dir = session.store.target_dir(&session.name)?;
        let about = report::Campaign {
            target: session.name.clone(),
            start_time_s: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs()),
            pid: std::process::id(),
            command_line: std::env::args().collect::<Vec<_>>().join(" "),
        };
        std::fs::create_dir_all(&dir).with_context(|| format!("failed to create `{}`", dir.display()))?;
        Ok(Self {
            session,
            reporter,
            stats: StatsFiles::create(&dir, about).context("failed to write statistics")?,
            testcases: Some(testcases),
            symbols: &session.symbols,
            advisor: Advisor::new(),
            findings: BTreeMap::new(),
            last_status: None,
        })
    }

    fn tell(&mut self, events: &[Event]) -> Result<()> {
        self.reporter.report_all(events)?;
        self.stats.report_all(events).context("failed to write statistics")
    }

    fn start(&mut self, seeds: usize) -> Result<()> {
        let Session { name, target, seed, jobs, .. } = self.session;
        let start = report::Start {
            target: name.clone(),
            module: target.id,
            entry: target.entry.to_string(),
            edges_total: target.edges.edges.len() as u64,
            seeds: seeds as u64,
            seed: *seed,
            jobs: *jobs as u64,
        };
        self.tell(&[Event::Start(start)])
    }

    fn round(&mut self, campaign: &Campaign, round: &Round, elapsed: Duration) -> Result<()> {
        // A round's are sent and told together: it may have hundreds, and each time somebody is woken up.
        let testcases: Vec<_> = round.found.iter().map(|found| campaign.testcase(found)).collect();
        let sender = self.testcases.as_ref().expect("it is taken after the campaign");
        let sent = sender.send(testcases.iter().map(|testcase| (testcase.id, testcase.bytes.clone())));
        ensure!(sent, "the corpus can't be written any more");
        let new_edges: Vec<_> = round
            .found
            .iter()
            .zip(testcases)
            .filter_map(|(found, testcase)| self.new_edge(campaign, found, testcase))
            .collect();
        self.tell(&new_edges)?;
        for failure in &round.failures {
            self.failure(failure)?;
        }
        if self.last_status.is_none_or(|last| elapsed - last >= STATUS_EVERY) {
            self.last_status = Some(elapsed);
            let status = self.status(campaign, elapsed);
            self.tell(&[Event::Status(status)])?;
            self.advise(campaign)?;
        }
        Ok(())
    }

    /// What is told of a testcase, if it reached new edges.
    fn new_edge(&self, campaign: &Campaign, found: &Found, testcase: &Testcase) -> Option<Event> {
        let first = *found.new_edges.first()?;
        Some(Event::NewEdge(report::NewEdge {
            target: self.session.name.clone(),
            input: testcase.id,
            input_bytes: testcase.bytes.len() as u64,
            execs: campaign.totals().execs,
            new: found.new_edges.len() as u64,
            edges: found.edges as u64,
            function: self.symbols.name(campaign.target().edges.edges[first as usize].function).into_owned(),
        }))
    }

    /// Stores a failure and what is seen while it is shrunk, and tells it.
    fn failure(&mut self, failure: &Failure) -> Result<()> {
        let Session { name, target, store, seed, workers, shrink, .. } = self.session;
        let shrinking = Shrinking { target, symbols: self.symbols, workers };
        let execution = if target.takes_choices() { shrinking.execute(&failure.input)? } else { None };
        let execution = execution.unwrap_or_else(|| Execution::unseen(failure.outcome.clone()));
        let record = FindingRecord {
            found_at_execs: failure.execs,
            seed: *seed,
            ..new_record(store, name, target, self.symbols, &execution, &failure.signature, &failure.input)?
        };
        let mut kept = store.add_finding(&record, &failure.input).context("failed to store a finding")?;
        let mut others = Vec::new();
        // What an earlier campaign found and left smaller was shrunk by that.
        if *shrink && kept == record.id {
            let limits = limits_in_campaign(&failure.outcome);
            if let Some(shrunk) = shrinking.shrink(&failure.input, &failure.signature, limits)? {
                kept = shrinking.store(store, &record, &failure.input, &shrunk.input)?;
                others = shrinking.store_slips(store, &record, &shrunk.slips)?;
            }
        }
        for id in std::iter::once(kept).chain(others) {
            let finding = self.stored(id)?;
            // A failure that was seen while another was shrunk may be found again.
            let is_new = !self.findings.contains_key(&finding.signature);
            self.findings.insert(finding.signature.clone(), finding.clone());
            if is_new {
                self.tell(&[Event::Finding(finding)])?;
            }
        }
        Ok(())
    }

    /// A finding in the store, as it is told.
    fn stored(&self, id: FindingId) -> Result<report::Finding> {
        let Session { name, target, store, workers, .. } = self.session;
        let record = store.finding(name, id)?;
        let bytes = store.finding_input(&record)?;
        let shrinking = Shrinking { target, symbols: self.symbols, workers };
        let execution = if target.takes_choices() { shrinking.execute(&bytes)? } else { None };
        let drawn = execution.and_then(|execution| execution.decoded(target, self.symbols, &[]));
        let bytes = report::preview(&bytes, report::PREVIEW_COLUMNS);
        Ok(report::Finding {
            target: name.clone(),
            id: record.id,
            kind: record.kind,
            signature: record.signature,
            input: record.input,
            input_bytes: record.input_bytes,
            frames: record.frames,
            preview: drawn.as_ref().map_or(bytes, report::Decoded::preview),
            drawn,
        })
    }

    fn advise(&mut self, campaign: &Campaign) -> Result<()> {
        let totals = campaign.totals();
        let facts = AdviceFacts {
            target: self.session.name.clone(),
            execs: totals.execs,
            rejected: totals.rejected,
            overruns: totals.overruns,
            at_size_limit: totals.at_len_max,
            input_bytes_max: self.session.target.settings.input_bytes_max.into(),
            edges: campaign.corpus().seen().edges() as u64,
            last_new_edge_execs: totals.execs_at_new_edge,
            corpus: campaign.corpus().testcases().len() as u64,
            hangs: totals.hangs,
            fuel: 0,
            hottest: None,
        };
        self.advisor.observe(&facts).map_or(Ok(()), |advice| self.tell(&[Event::Advice(advice)]))
    }

    fn status(&self, campaign: &Campaign, elapsed: Duration) -> report::Status {
        let totals = campaign.totals();
        report::Status {
            target: self.session.name.clone(),
            execs: totals.execs,
            execs_per_sec: per_sec(totals.execs, elapsed),
            elapsed_ms: u64::try_from(elapsed.as_millis()).expect("a campaign is shorter than that"),
            edges: campaign.corpus().seen().edges() as u64,
            edges_total: self.session.target.edges.edges.len() as u64,
            corpus: campaign.corpus().testcases().len() as u64,
            findings: campaign.failures().len() as u64,
            rounds: totals.rounds,
        }
    }

    fn done(&self, campaign: &Campaign, elapsed: Duration, stopped: String) -> report::Done {
        let status = self.status(campaign, elapsed);
        report::Done {
            target: status.target,
            module: self.session.target.id,
            execs: status.execs,
            execs_per_sec: status.execs_per_sec,
            elapsed_ms: status.elapsed_ms,
            rejected: campaign.totals().rejected,
            overruns: campaign.totals().overruns,
            input_bytes_mean: campaign.totals().input_bytes as f64 / status.execs.max(1) as f64,
            edges: status.edges,
            edges_total: status.edges_total,
            corpus: status.corpus,
            findings: self.findings.values().cloned().collect(),
            seed: self.session.seed,
            rounds: status.rounds,
            corpus_hash: campaign.corpus().hash().to_hex().to_string(),
            not_reached: self.not_reached(campaign),
            stopped,
        }
    }

    /// The functions with the most edges of which none was reached.
    fn not_reached(&self, campaign: &Campaign) -> Vec<String> {
        let mut edges: BTreeMap<u32, (usize, bool)> = BTreeMap::new();
        for (index, edge) in (0..).zip(&self.session.target.edges.edges) {
            let (count, reached) = edges.entry(edge.function).or_default();
            *count += 1;
            *reached |= campaign.corpus().seen().has_edge(index);
        }
        let mut unreached: Vec<_> = edges
            .into_iter()
            .filter(|(function, (_, reached))| !reached && !self.session.target.is_initialiser(*function))
            .map(|(function, (count, _))| (count, function))
            .collect();
        unreached.sort_by_key(|&(count, function)| (std::cmp::Reverse(count), function));
        unreached
            .into_iter()
            .take(NOT_REACHED_MAX)
            .map(|(_, function)| self.symbols.name(function).into_owned())
            .collect()
    }
}

/// Names and source positions of a target.
pub(super) fn symbols(target: &Target, debug_info: debug_info::Found) -> Symbols {
    let names = |index| target.edges.function_name(index).map(ToOwned::to_owned);
    debug_info.apply(Symbols::new(&target.bytes, names))
}

fn per_sec(execs: u64, elapsed: Duration) -> f64 {
    execs as f64 / elapsed.as_secs_f64().max(1e-9)
}
