//! What is told about a campaign, and kept of it in the store.

use super::execution::Execution;
use super::queue::End;
use super::records::{new_record, renamed};
use super::retrace::Past;
use super::setup::Session;
use super::shrinking::{Shrinking, limits_in_campaign};
use super::unreached::unreached;
use crate::engine::{Campaign, Discovery, Failure, Round, Testcase};
use crate::failure::{Headline, signature_of};
use crate::id::{FindingId, InputId};
use crate::outcome::FailureKind;
use crate::report::{self, AdviceFacts, Advisor, Event, Reporter, StatsFiles};
use crate::sandbox::Target;
use crate::store::{FindingRecord, Life, State};
use crate::stream::Decoded;
use crate::symbols::{is_allocator, simplify};
use crate::text::{PREVIEW_COLUMNS, printable};
use anyhow::{Context, Result, ensure};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A status event is sent no more often.
const STATUS_EVERY: Duration = Duration::from_millis(500);

/// Where a turn's news go.
pub(super) struct Outlet<'a> {
    pub(super) reporter: &'a mut dyn Reporter,
    /// To where new testcases are stored.
    pub(super) testcases: End<'a>,
    /// When the turn began.
    pub(super) began: Instant,
}

/// What is told about a campaign, and written to the store.
pub(super) struct View<'a> {
    session: &'a Session<'a>,
    /// AFL's files in the target's folder of the store.
    pub(super) stats: StatsFiles,
    advisor: Advisor,
    findings: BTreeMap<String, report::Finding>,
    /// What other builds left.
    past: Past,
    /// What became of what these know, once that was told.
    pub(super) retraced: Option<report::Retraced>,
    /// Executions that checked what was taken from the build before.
    checked: u64,
    /// Signatures of findings that were open when the campaign began.
    open: BTreeSet<String>,
    /// Signatures of those that a user closed, knowing that they fail on this build.
    closed: BTreeSet<String>,
    /// Failures that are no findings.
    dismissed: usize,
    /// By goal: whether it was told that it was reached.
    told_goals: Vec<bool>,
    /// Failures that are findings of other builds.
    still_there: usize,
    /// Time in turns before this one.
    pub(super) spent: Duration,
    last_status: Option<Duration>,
}

impl<'a> View<'a> {
    pub(super) fn new(session: &'a Session<'a>, past: Past) -> Result<Self> {
        let folder = session.store.target_folder(&session.name)?;
        renamed(session.store, &session.name, &session.target, &session.symbols)?;
        let known = session.store.findings(Some(&session.name))?;
        let lives = session.store.lives(&session.name, &known)?;
        let named = |is: &dyn Fn(&Life) -> bool| -> BTreeSet<String> {
            let named = known.iter().zip(&lives).filter(|(_, life)| is(life));
            named.map(|(finding, _)| finding.signature.clone()).collect()
        };
        let module = session.target.candidate.id;
        // Whoever goes back to a build knows what had not been fixed there.
        let open = named(&|life| life.is_open() || life.state == State::Fixed && life.failed_on.contains(&module));
        let closed = named(&|life| life.is_closed_on(module));
        let known = known.into_iter().map(|finding| (finding.kind == FailureKind::Hang, finding.signature)).collect();
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
            past,
            retraced: None,
            checked: 0,
            open,
            closed,
            dismissed: 0,
            told_goals: session.aim.iter().flat_map(|aim| aim.aimed()).map(|_| false).collect(),
            still_there: 0,
            spent: Duration::ZERO,
            last_status: None,
        })
    }

    pub(super) fn tell(&mut self, reporter: &mut dyn Reporter, events: &[Event]) -> Result<()> {
        reporter.report_all(events)?;
        self.stats.report_all(events).context("failed to write statistics")
    }

    /// Time in turns.
    pub(super) fn elapsed(&self, out: &Outlet<'_>) -> Duration {
        self.spent + out.began.elapsed()
    }

    pub(super) fn start(&mut self, out: &mut Outlet<'_>, seeds: usize) -> Result<()> {
        let Session { name, target, seed, search, jobs, mutator, .. } = self.session;
        let mut entry = target.candidate.described();
        for function in mutator.iter().flat_map(|module| module.mutators()) {
            entry.push_str(&format!("; mutants by {function} of another module"));
        }
        let start = report::Start {
            target: name.clone(),
            module: target.candidate.id,
            entry,
            edges_total: target.edges.edges.len() as u64,
            seeds: seeds as u64,
            seed: *seed,
            strategy: search.to_string(),
            is_default: search.is_default(),
            jobs: *jobs as u64,
        };
        self.tell(out.reporter, &[Event::Start(start)])
    }

    pub(super) fn round(&mut self, out: &mut Outlet<'_>, campaign: &Campaign, round: &Round) -> Result<()> {
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
        if round.is_warmer {
            let inputs = campaign.warm_up_inputs().collect();
            let warmed = report::Warmed { target: self.session.name.clone(), inputs };
            self.tell(out.reporter, &[Event::Warmed(warmed)])?;
        }
        self.arrivals(out, campaign, round)?;
        for failure in &round.failures {
            // A round may have several; who wants the first one wants one.
            if self.session.limits.stop_on_first && self.findings.len() > self.still_there {
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

    /// Tells which goals were reached, once what reached them counts.
    fn arrivals(&mut self, out: &mut Outlet<'_>, campaign: &Campaign, round: &Round) -> Result<()> {
        let Some((aim, reached)) = campaign.reached_goals() else { return Ok(()) };
        for (place, aimed) in aim.aimed().iter().enumerate().filter(|(place, _)| reached[*place]) {
            let is_by = |testcase: &&Testcase| aimed.is_reached_by(&testcase.profile);
            let found = round.found.iter().map(|found| campaign.testcase(found)).find(is_by).map(|found| &found.bytes);
            // What nobody keeps can have failed.
            let failed = || round.failures.first().map(|failure| &failure.input);
            let is_kept = found.is_some() || campaign.corpus().testcases().iter().any(|testcase| is_by(&testcase));
            let input = if is_kept { found } else { failed() };
            if self.told_goals[place] || input.is_none() && (is_kept || !campaign.failures().any(|_| true)) {
                continue;
            }
            self.told_goals[place] = true;
            let arrived = report::Arrived {
                target: self.session.name.clone(),
                goal: aimed.name.clone(),
                execs: campaign.totals().execs,
                input: input.map(|input| InputId::of(input)),
                input_bytes: input.map(|input| input.len() as u64),
                preview: input.map_or_else(|| Ok(String::new()), |input| self.preview(campaign.target(), input))?,
            };
            self.tell(out.reporter, &[Event::Arrived(arrived)])?;
        }
        Ok(())
    }

    /// What is drawn of an input, or what it begins with.
    fn preview(&self, target: &Arc<Target>, input: &[u8]) -> Result<String> {
        let Session { workers, symbols, .. } = self.session;
        let shrinking = Shrinking { target, symbols, workers };
        let execution = if target.takes_choices() { shrinking.execute(input)? } else { None };
        let drawn = execution.and_then(|execution| execution.decoded(target, symbols, &[]));
        Ok(drawn.map_or_else(|| report::preview(input, PREVIEW_COLUMNS), |drawn| drawn.preview()))
    }

    /// Tells where the campaign stands.
    pub(super) fn status_now(&mut self, out: &mut Outlet<'_>, campaign: &Campaign) -> Result<()> {
        let elapsed = self.elapsed(out);
        self.last_status = Some(elapsed);
        let status = self.status(campaign, elapsed);
        self.tell(out.reporter, &[Event::Status(status)])
    }

    /// What is told of a testcase, if it reached new edges.
    fn new_edge(&self, campaign: &Campaign, found: &Discovery, testcase: &Testcase) -> Option<Event> {
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
        if self.is_known_elsewhere(failure)? {
            return Ok(());
        }
        let Session { name, store, seed, search, workers, shrink, limits, .. } = self.session;
        let shrinking = Shrinking { target, symbols: &self.session.symbols, workers };
        let execution = shrinking.execute(&failure.input)?;
        let execution = execution.unwrap_or_else(|| Execution::unseen(failure.outcome.clone()));
        let record = FindingRecord {
            found_at_execs: failure.execs,
            seed: *seed,
            strategy: search.to_string(),
            ..new_record(store, name, target, &self.session.symbols, &execution, &failure.input)?
                .renamed(signature_of(&failure.outcome, &self.session.symbols))
        };
        let mut kept = store.add_finding(&record, &failure.input).context("failed to store a finding")?;
        if self.is_unwanted(&record)? {
            self.dismissed += 1;
            return Ok(());
        }
        let mut others = Vec::new();
        // What an earlier campaign found and left smaller was shrunk by that.
        if *shrink && kept == record.id {
            let executions = limits_in_campaign(&failure.outcome);
            let shrunk = if failure.outcome.is_hang() && !target.takes_choices() {
                shrinking.shrink_below(fuel_max, &failure.input, &failure.signature, executions)?
            } else {
                shrinking.shrink(&failure.input, &failure.signature, executions)?
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

    /// Whether nobody wants to hear of it: it is ignored, or was closed where it fails.
    fn is_unwanted(&self, record: &FindingRecord) -> Result<bool> {
        let Session { store, name, .. } = self.session;
        Ok(self.closed.contains(&record.signature) || store.ignores(name, &record.signature())?)
    }

    /// Whether a failure is a finding of another build, whose input fails here, too: that one stays what it is called.
    fn is_known_elsewhere(&mut self, failure: &Failure) -> Result<bool> {
        let Some(older) = self.past.finding(self.session, &failure.outcome, &failure.input)? else { return Ok(false) };
        let (record, bytes) = (older.record.clone(), report::preview(&older.input, PREVIEW_COLUMNS));
        if self.is_unwanted(&record)? {
            self.dismissed += 1;
            return Ok(true);
        }
        let finding = report::Finding { known: self.open.contains(&record.signature), ..told(record, None, bytes) };
        if self.findings.insert(finding.signature.clone(), finding).is_none() {
            self.still_there += 1;
        }
        Ok(true)
    }

    /// Lets a campaign take what first inputs show from the build before.
    pub(super) fn inherit(&mut self, campaign: &mut Campaign, seeds: &[Vec<u8>]) -> Result<()> {
        self.checked = self.past.inherit(self.session, campaign, seeds)?;
        Ok(())
    }

    /// Tells what became of what other builds left, once all first inputs were executed.
    pub(super) fn retraced(&mut self, out: &mut Outlet<'_>, campaign: &mut Campaign) -> Result<()> {
        let (session, totals) = (self.session, campaign.totals());
        let (id, file) = (session.target.candidate.id, session.target.candidate.file());
        let elapsed = self.elapsed(out);
        let counts = (campaign.seeds_done(), campaign.seeds_done() - totals.recalled + self.checked, elapsed);
        self.retraced = self.past.retraced(session, campaign, counts)?;
        // Whoever is killed before has no verdicts, and is a new build the next time.
        session.store.add_module(&session.name, id, file).context("failed to store the module")?;
        let told = self.retraced.clone().map(Event::Retraced);
        self.tell(out.reporter, told.as_slice())
    }

    /// Failures that are no reason to stop.
    pub(super) fn no_news(&self) -> usize {
        self.dismissed + self.still_there
    }

    /// What to say of a failure that is hardly an input's: of the empty one, where the guest takes memory or gives it
    /// back.
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
        let known = self.open.contains(&record.signature);
        Ok(report::Finding { known, ..told(record, drawn, bytes) })
    }

    fn advise(&mut self, out: &mut Outlet<'_>, campaign: &Campaign) -> Result<()> {
        let totals = campaign.totals();
        let facts = AdviceFacts {
            target: self.session.name.clone(),
            execs: totals.execs,
            rejected: totals.rejected,
            overruns: totals.overruns,
            at_size_limit: totals.at_len_max,
            input_bytes_max: self.session.target.candidate.settings.input_bytes_max.into(),
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

    pub(super) fn done(&self, campaign: &Campaign, stopped: String) -> report::Done {
        let status = self.status(campaign, self.spent);
        let (not_reached, nameless_not_reached) = unreached(self.session, campaign);
        let goals = campaign.reached_goals().into_iter().flat_map(|(aim, reached)| aim.aimed().iter().zip(reached));
        let not_arrived = goals.filter(|(_, reached)| !**reached).map(|(aimed, _)| aimed.name.clone()).collect();
        report::Done {
            target: status.target,
            module: self.session.target.candidate.id,
            execs: status.execs,
            recalled: campaign.totals().recalled,
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
            strategy: self.session.search.to_string(),
            rounds: status.rounds,
            corpus_hash: campaign.corpus().hash().to_hex().to_string(),
            not_reached,
            nameless_not_reached,
            not_arrived,
            stopped,
        }
    }
}

/// A finding as it is told; `bytes` are its input for a person to see, if it is not `drawn`.
fn told(record: FindingRecord, drawn: Option<Decoded>, bytes: String) -> report::Finding {
    report::Finding {
        target: record.target,
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
        known: false,
    }
}

/// Seconds since 1970.
pub(super) fn now_s() -> u64 {
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
