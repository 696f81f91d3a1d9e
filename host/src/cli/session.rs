//! One campaign as a user sees it: reads the clock, stores what is found, and tells reporters.

use super::debug_info;
use super::drawn::Execution;
use super::ending::Ending;
use super::exit::Fault;
use super::findings::{new_record, renamed};
use super::queue::{self, Queue};
use super::shrinking::{Shrinking, limits_in_campaign, signature_of};
use super::write::warning;
use crate::engine::{Campaign, Dictionary, Failure, Found, Mutator, Round, Testcase, Workers};
use crate::failure::Headline;
use crate::id::FindingId;
use crate::outcome::{Frame, Outcome};
use crate::report::{self, AdviceFacts, Advisor, Event, Given, Reporter, StatsFiles};
use crate::sandbox::Target;
use crate::store::{FindingRecord, Store};
use crate::stream::Decoded;
use crate::symbols::{Source, Symbols, is_allocator, is_library, simplify};
use crate::text::{PREVIEW_COLUMNS, printable};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A status event is sent no more often.
const STATUS_EVERY: Duration = Duration::from_millis(500);
/// New testcases are written no more often: each time costs a look at the whole corpus.
const WRITE_EVERY: Duration = Duration::from_millis(200);
/// Writing takes one part in so many of the time, as long as that makes nobody wait for more than [`WRITE_EVERY_MAX`].
const WRITE_PART: u32 = 16;
/// A kill loses no more than what was found in this time.
const WRITE_EVERY_MAX: Duration = Duration::from_secs(2);
/// Functions of which nothing was reached that the final table names.
const NOT_REACHED_MAX: usize = 5;
/// Functions whose file is looked up for that.
const LOOKED_UP_MAX: usize = 200;

/// When to stop.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Limits {
    pub(super) time: Option<Duration>,
    pub(super) execs: Option<u64>,
    /// Stop when the first inputs were executed.
    pub(super) seeds_only: bool,
    pub(super) stop_on_first: bool,
}

/// What a campaign needs, and everything around it.
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
    /// What need not be advised.
    pub(super) given: Given,
    /// Look at what executions compare.
    pub(super) compares: bool,
    /// Look for a smaller input of each finding.
    pub(super) shrink: bool,
    /// Where lines are looked up.
    pub(super) symbols: Symbols,
}

/// A campaign that has begun, and goes on in turns. What it finds depends on its rounds alone, not on where turns end.
pub(super) struct Running<'a> {
    session: &'a Session<'a>,
    campaign: Campaign,
    /// What the first round executes, until it did.
    seeds: Option<Vec<Vec<u8>>>,
    view: View<'a>,
    /// Why it ended.
    stopped: Option<String>,
}

impl<'a> Session<'a> {
    /// Begins a campaign with `seeds` and the stored corpus; executes nothing yet.
    pub(super) fn begin(&'a self, mut seeds: Vec<Vec<u8>>) -> Result<Running<'a>, Fault> {
        seeds.extend(self.stored_corpus()?);
        // One order, wherever the inputs came from and however they were called.
        seeds.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
        seeds.dedup();
        let campaign = Campaign::new(self.target.clone(), self.seed, Mutator::new(self.dictionary.clone()));
        let campaign = if self.compares { campaign } else { campaign.without_compares() };
        Ok(Running { session: self, campaign, seeds: Some(seeds), view: View::new(self)?, stopped: None })
    }

    fn stored_corpus(&self) -> Result<Vec<Vec<u8>>> {
        let loaded = self.store.load_corpus(&self.name, self.target.settings.input_bytes_max.into())?;
        for (_, error) in &loaded.damaged {
            warning!("left out of the corpus of `{}` for good: {error:#}", self.name);
        }
        self.store.remove_from_corpus(&self.name, &loaded.damaged.iter().map(|(input, _)| *input).collect())?;
        Ok(loaded.inputs.into_iter().map(|(_, bytes)| bytes).collect())
    }

    /// Writes testcases while the campaign goes on: a file that is safe on disk takes milliseconds.
    fn write_testcases(&self, queue: queue::End<'_>) -> Result<()> {
        let mut gather = WRITE_EVERY;
        while let Some(batch) = queue.take(gather) {
            let began = Instant::now();
            let inputs: Vec<_> = batch.iter().map(|(id, bytes)| (*id, &**bytes)).collect();
            self.store.add_to_corpus(&self.name, self.target.id, &inputs)?;
            gather = (began.elapsed() * WRITE_PART).clamp(WRITE_EVERY, WRITE_EVERY_MAX);
        }
        Ok(())
    }
}

impl Running<'_> {
    /// Goes on until `time` has passed or a limit is reached, for a round at least.
    pub(super) fn turn(&mut self, time: Option<Duration>, reporter: &mut dyn Reporter) -> Result<(), Fault> {
        self.with_writer(reporter, |running, out| {
            if let Some(seeds) = running.seeds.take() {
                running.view.start(out, seeds.len())?;
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

    /// Whether a limit was reached, or the campaign was interrupted.
    pub(super) fn has_ended(&self) -> bool {
        self.stopped.is_some()
    }

    /// Ends the campaign, and tells how it did.
    pub(super) fn end(mut self, reporter: &mut dyn Reporter) -> Result<report::Done, Fault> {
        self.with_writer(reporter, |running, out| {
            let rest = running.campaign.finish();
            running.view.round(out, &running.campaign, &rest)
        })?;
        // The corpus is safe before the end is told.
        let stopped = self.stopped.take().unwrap_or_else(|| "interrupted".to_owned());
        let done = self.view.done(&self.campaign, stopped);
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
        self.stopped = self.limit(out).or_else(|| round.is_none().then(|| "interrupted".to_owned()));
        Ok(())
    }

    /// The limit that was reached.
    fn limit(&self, out: &Outlet<'_>) -> Option<String> {
        let Limits { time, execs, stop_on_first, seeds_only } = self.session.limits;
        match execs {
            _ if self.session.ending.is_signalled() => Some("interrupted".to_owned()),
            Some(execs) if self.campaign.totals().execs >= execs => Some(format!("--execs {execs} reached")),
            _ if time.is_some_and(|time| self.view.elapsed(out) >= time) => Some("--time reached".to_owned()),
            _ if seeds_only && !self.campaign.has_seeds() => Some("all inputs executed".to_owned()),
            _ if stop_on_first && self.campaign.failures().len() > self.view.dismissed => {
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
    ) -> Result<(), Fault> {
        let (queue, began, session) = (Queue::default(), Instant::now(), self.session);
        self.view.stats.resume(now_s());
        session.ending.limit(session.limits.time.map(|time| began + time.saturating_sub(self.view.spent)));
        let result = std::thread::scope(|scope| {
            let (testcases, receiver) = queue.ends();
            let writer = scope.spawn(|| session.write_testcases(receiver));
            let result = job(self, &mut Outlet { reporter, testcases, began });
            let written = writer.join().expect("the writer doesn't panic");
            // Without its writer a campaign ends at once, and why the writer ended is the reason.
            written.and(result)
        });
        session.ending.limit(None);
        self.view.spent += began.elapsed();
        Ok(result?)
    }
}

/// Where a turn's news go.
struct Outlet<'a> {
    reporter: &'a mut dyn Reporter,
    /// To where new testcases are stored.
    testcases: queue::End<'a>,
    /// When the turn began.
    began: Instant,
}

/// What is told about a campaign, and written to the store.
struct View<'a> {
    session: &'a Session<'a>,
    /// AFL's files in the target's folder of the store.
    stats: StatsFiles,
    advisor: Advisor,
    findings: BTreeMap<String, report::Finding>,
    /// Failures that are no findings.
    dismissed: usize,
    /// Time in turns before this one.
    spent: Duration,
    last_status: Option<Duration>,
}

impl<'a> View<'a> {
    fn new(session: &'a Session<'a>) -> Result<Self> {
        let folder = session.store.target_folder(&session.name)?;
        renamed(session.store, &session.name, &session.target, &session.symbols)?;
        let known = session.store.findings(Some(&session.name))?;
        let known = known.into_iter().map(|finding| (finding.kind == "hang", finding.signature)).collect();
        let about = report::Campaign {
            target: session.name.clone(),
            start_time_s: now_s(),
            known,
            peak_rss_mb,
            pid: std::process::id(),
            command_line: std::env::args().collect::<Vec<_>>().join(" "),
        };
        Ok(Self {
            session,
            stats: StatsFiles::create(folder, about)?,
            advisor: Advisor::new(),
            findings: BTreeMap::new(),
            dismissed: 0,
            spent: Duration::ZERO,
            last_status: None,
        })
    }

    fn tell(&mut self, reporter: &mut dyn Reporter, events: &[Event]) -> Result<()> {
        reporter.report_all(events)?;
        self.stats.report_all(events).context("failed to write statistics")
    }

    /// Time in turns.
    fn elapsed(&self, out: &Outlet<'_>) -> Duration {
        self.spent + out.began.elapsed()
    }

    fn start(&mut self, out: &mut Outlet<'_>, seeds: usize) -> Result<()> {
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
        self.tell(out.reporter, &[Event::Start(start)])
    }

    fn round(&mut self, out: &mut Outlet<'_>, campaign: &Campaign, round: &Round) -> Result<()> {
        // A round's are sent and told together: it may have hundreds, and each time somebody is woken up.
        let testcases: Vec<_> = round.found.iter().map(|found| campaign.testcase(found)).collect();
        let sent = out.testcases.send(testcases.iter().map(|testcase| (testcase.id, testcase.bytes.clone())));
        ensure!(sent, "the corpus can't be written any more");
        let new_edges: Vec<_> = round
            .found
            .iter()
            .zip(testcases)
            .filter_map(|(found, testcase)| self.new_edge(campaign, found, testcase))
            .collect();
        self.tell(out.reporter, &new_edges)?;
        for failure in &round.failures {
            // A round may have several; who wants the first one wants one.
            if self.session.limits.stop_on_first && !self.findings.is_empty() {
                break;
            }
            self.failure(out, campaign.target(), (failure, campaign.fuel_limit()))?;
        }
        let elapsed = self.elapsed(out);
        if self.last_status.is_none_or(|last| elapsed.saturating_sub(last) >= STATUS_EVERY) {
            self.status_now(out, campaign)?;
            self.advise(out, campaign)?;
        }
        Ok(())
    }

    /// Tells where the campaign stands.
    fn status_now(&mut self, out: &mut Outlet<'_>, campaign: &Campaign) -> Result<()> {
        let elapsed = self.elapsed(out);
        self.last_status = Some(elapsed);
        let status = self.status(campaign, elapsed);
        self.tell(out.reporter, &[Event::Status(status)])
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
            function: self.session.symbols.name(campaign.target().edges.edges[first as usize].function).into_owned(),
        }))
    }

    /// Stores a failure and what is seen while it is shrunk, and tells it.
    fn failure(
        &mut self,
        out: &mut Outlet<'_>,
        target: &Arc<Target>,
        (failure, fuel_max): (&Failure, u64),
    ) -> Result<()> {
        if let Some(advice) = self.fails_without_input(target, failure) {
            self.dismissed += 1;
            return self.tell(out.reporter, &[Event::Advice(advice)]);
        }
        let Session { name, store, seed, workers, shrink, limits, .. } = self.session;
        let shrinking = Shrinking { target, symbols: &self.session.symbols, workers };
        let execution = shrinking.execute(&failure.input)?;
        let execution = execution.unwrap_or_else(|| Execution::unseen(failure.outcome.clone()));
        let record = FindingRecord {
            found_at_execs: failure.execs,
            seed: *seed,
            ..new_record(store, name, target, &self.session.symbols, &execution, &failure.input)?
                .renamed(signature_of(&failure.outcome, &self.session.symbols))
        };
        let mut kept = store.add_finding(&record, &failure.input).context("failed to store a finding")?;
        let mut others = Vec::new();
        // What an earlier campaign found and left smaller was shrunk by that.
        if *shrink && kept == record.id {
            let executions = limits_in_campaign(&failure.outcome);
            let shrunk = match failure.outcome {
                Outcome::Hang(_) if !target.takes_choices() => {
                    shrinking.shrink_below(fuel_max, &failure.input, &failure.signature, executions)?
                }
                _ => shrinking.shrink(&failure.input, &failure.signature, executions)?,
            };
            if let Some(shrunk) = shrunk {
                kept = shrinking.store(store, &record, &failure.input, &shrunk.input)?;
                if !limits.stop_on_first {
                    others = shrinking.store_slips(store, &record, &shrunk.slips)?;
                }
            }
        }
        for id in std::iter::once(kept).chain(others) {
            let finding = self.stored(target, id)?;
            // A failure that was seen while another was shrunk may be found again.
            let is_new = !self.findings.contains_key(&finding.signature);
            self.findings.insert(finding.signature.clone(), finding.clone());
            if is_new {
                self.tell(out.reporter, &[Event::Finding(finding)])?;
            }
        }
        Ok(())
    }

    /// What to say of a failure that is hardly an input's: of the empty one, where the guest takes memory or gives it back.
    fn fails_without_input(&self, target: &Target, failure: &Failure) -> Option<report::Advice> {
        let Session { name, symbols, .. } = self.session;
        let is_empty = failure.input.is_empty() && !target.takes_choices();
        let trap = failure.outcome.trap().filter(|_| is_empty)?;
        let function = symbols.name(trap.frames.first()?.function);
        let message = format!(
            "the empty input fails in the allocator, in `{}` ({}): that is more likely the fault of the module's build or of fuzzbox \
             than a bug that inputs show, and is not kept as a finding",
            printable(&simplify(&function)),
            trap.kind.name()
        );
        is_allocator(&function).then(|| report::Advice { target: name.clone(), message })
    }

    /// A finding in the store, as it is told.
    fn stored(&self, target: &Arc<Target>, id: FindingId) -> Result<report::Finding> {
        let Session { name, store, workers, .. } = self.session;
        let record = store.finding(name, id)?;
        let bytes = store.finding_input(&record)?;
        let shrinking = Shrinking { target, symbols: &self.session.symbols, workers };
        let execution = if target.takes_choices() { shrinking.execute(&bytes)? } else { None };
        let drawn = execution.and_then(|execution| execution.decoded(target, &self.session.symbols, &[]));
        let bytes = report::preview(&bytes, PREVIEW_COLUMNS);
        Ok(report::Finding {
            target: name.clone(),
            id: record.id,
            kind: record.kind,
            signature: record.signature,
            input: record.input,
            input_bytes: record.input_bytes,
            at: Headline::new(&record.frames, record.said.as_ref()).map(|headline| headline.place()),
            frames: record.frames,
            preview: drawn.as_ref().map_or(bytes, Decoded::preview),
            drawn,
            said: record.said,
        })
    }

    fn advise(&mut self, out: &mut Outlet<'_>, campaign: &Campaign) -> Result<()> {
        let totals = campaign.totals();
        let facts = AdviceFacts {
            target: self.session.name.clone(),
            execs: totals.execs,
            rejected: totals.rejected,
            overruns: totals.overruns,
            at_size_limit: totals.at_len_max,
            input_bytes_max: self.session.target.settings.input_bytes_max.into(),
            edges: campaign.reached() as u64,
            failures: campaign.failures().len() as u64,
            last_new_edge_execs: totals.execs_at_new_edge,
            corpus: campaign.corpus().testcases().len() as u64,
            hangs: totals.sampled_hangs,
            sampled: totals.sampled,
            fuel: 0,
            hottest: None,
            given: self.session.given,
        };
        self.advisor.observe(&facts).map_or(Ok(()), |advice| self.tell(out.reporter, &[Event::Advice(advice)]))
    }

    fn status(&self, campaign: &Campaign, elapsed: Duration) -> report::Status {
        let totals = campaign.totals();
        report::Status {
            target: self.session.name.clone(),
            execs: totals.execs,
            execs_per_sec: per_sec(totals.execs, elapsed),
            elapsed_ms: u64::try_from(elapsed.as_millis()).expect("a campaign is shorter than that"),
            edges: campaign.reached() as u64,
            edges_total: self.session.target.edges.edges.len() as u64,
            corpus: campaign.corpus().testcases().len() as u64,
            findings: (campaign.failures().len() - self.dismissed) as u64,
            rounds: totals.rounds,
        }
    }

    fn done(&self, campaign: &Campaign, stopped: String) -> report::Done {
        let status = self.status(campaign, self.spent);
        let (not_reached, nameless_not_reached) = self.not_reached(campaign);
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
            not_reached,
            nameless_not_reached,
            stopped,
        }
    }

    /// The user's functions with the most edges of which none was reached, and how many there are without a name.
    fn not_reached(&self, campaign: &Campaign) -> (Vec<String>, u64) {
        let mut edges: BTreeMap<u32, (usize, bool)> = BTreeMap::new();
        for (index, edge) in (0..).zip(&self.session.target.edges.edges) {
            let (count, reached) = edges.entry(edge.function).or_default();
            *count += 1;
            *reached |= campaign.has_reached(index);
        }
        let mut unreached: Vec<_> = edges
            .into_iter()
            .filter(|(function, (_, reached))| !reached && !self.session.target.is_initialiser(*function))
            .map(|(function, (count, _))| (count, function))
            .collect();
        unreached.sort_by_key(|&(count, function)| (std::cmp::Reverse(count), function));
        let has_name = |function| self.session.target.edges.function_name(function).is_some();
        let (named, nameless): (Vec<_>, Vec<_>) = unreached.into_iter().partition(|&(_, function)| has_name(function));
        let by_name = |&function: &u32| !is_library(&self.session.symbols.name(function), None);
        let named: Vec<_> =
            named.into_iter().map(|(_, function)| function).filter(by_name).take(LOOKED_UP_MAX).collect();
        // Files say more than names. They are looked up together, because that takes as long as for one.
        let edges = &self.session.target.edges.edges;
        let first = |&function: &u32| {
            let offset =
                edges.get(edges.partition_point(|edge| edge.function < function)).map_or(0, |edge| edge.offset);
            Frame { function, offset }
        };
        let sources = self.session.symbols.sources(&named.iter().map(first).collect::<Vec<_>>());
        let is_own = |source: &Option<Source>| source.as_ref().is_none_or(|source| !is_library("", Some(&source.file)));
        let own = named.iter().zip(&sources).filter(|(_, source)| is_own(source)).take(NOT_REACHED_MAX);
        (own.map(|(&function, _)| self.session.symbols.name(function).into_owned()).collect(), nameless.len() as u64)
    }
}

/// Names and source positions of a target.
pub(super) fn symbols(target: &Target, debug_info: debug_info::Found) -> Symbols {
    let names = |index| target.edges.function_name(index).map(ToOwned::to_owned);
    debug_info.apply(Symbols::new(target.bytes.clone(), names))
}

/// Seconds since 1970.
fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// Memory that this process had at most until now, in MiB; `None` where the kernel doesn't say.
fn peak_rss_mb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? >> 10)
}

fn per_sec(execs: u64, elapsed: Duration) -> f64 {
    execs as f64 / elapsed.as_secs_f64().max(1e-9)
}
