//! Files that tools made for AFL++ read: `fuzzer_stats`, `plot_data`; and `events.jsonl` beside them.
//!
//! The keys of `fuzzer_stats` and the columns of `plot_data` are those of AFL++ 4.3x, in its order. What has no
//! counterpart here is 0 (a wasm guest is always 100 % stable), so that `afl-whatsup`, `afl-plot` and dashboards find
//! every line they look for:
//!
//! | AFL++ | here |
//! | --- | --- |
//! | cycle | round |
//! | corpus_found | corpus entries beyond the first inputs |
//! | saved_crashes | findings that are not hangs |
//! | bitmap_cvg | edges reached of all edges |
//!
//! What it doesn't know at all (how many testcases are favoured, how long the slowest takes) is left out. As with AFL++
//! a campaign that is resumed counts on, and `plot_data` goes on. A second process at the same target has a folder of
//! its own, `<name>~2`, as AFL++'s instances have.

use super::json::json_line;
use super::sparse::Sparse;
use super::{Done, Event, Finding, NewEdge, Reporter, Status};
use crate::outcome::FailureKind;
use crate::store::TargetFolder;
use anyhow::{Context, bail};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};

/// Between two lines of `plot_data`, and two versions of `fuzzer_stats`: as in AFL++.
const UPDATE_MS: u64 = 5000;
/// `events.jsonl` ends here but for the last event; a campaign writes a few MB.
const EVENTS_BYTES_MAX: usize = 64 << 20;

/// A longer `fuzzer_stats` is none of ours.
const STATS_BYTES_MAX: u64 = 64 << 10;
/// Processes that fuzz one target at the same time, at most.
const PROCESSES_MAX: u32 = 256;

const PLOT_COLUMNS: &str = "# relative_time, cycles_done, cur_item, corpus_count, pending_total, pending_favs, \
                            map_size, saved_crashes, saved_hangs, max_depth, execs_per_sec, total_execs, edges_found, \
                            total_crashes, servers_count";

/// What the files say about the process that writes them.
#[derive(Clone, Debug)]
pub(crate) struct Campaign {
    /// The target's name; events of other targets are ignored.
    pub target: String,
    /// When the campaign began, in seconds since 1970. Times in the files are this plus the events' elapsed time.
    pub start_time_s: u64,
    /// Findings that were known then: whether they are hangs, and their signatures.
    pub known: BTreeSet<(bool, String)>,
    /// Memory that this process had at most until now, in MiB, if that is known.
    pub peak_rss_mb: fn() -> Option<u64>,
    /// Id of this process.
    pub pid: u32,
    /// What was typed.
    pub command_line: String,
}

/// Writes the files of one target's latest campaign into a directory.
#[derive(Debug)]
pub(crate) struct StatsFiles {
    folder: TargetFolder,
    campaign: Campaign,
    plot: File,
    events: File,
    events_left: usize,
    statuses: Sparse,
    next_update_ms: u64,
    state: State,
    /// What earlier campaigns of this target left.
    past: EarlierStats,
}

/// What `fuzzer_stats` of an earlier campaign says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct EarlierStats {
    run_time_s: u64,
    execs: u64,
    rounds: u64,
    rounds_wo_finds: u64,
    time_wo_finds_s: u64,
    execs_since_crash: u64,
    corpus_found: u64,
    last_find_s: u64,
    last_crash_s: u64,
    last_hang_s: u64,
}

impl EarlierStats {
    /// Reads what [`State::stats`] wrote. What isn't there or is no number is 0.
    fn parse(stats: &str) -> Self {
        let value = |key: &str| {
            let mut values = stats.lines().filter_map(|line| line.split_once(':'));
            let value = values.find(|(name, _)| name.trim() == key);
            value.and_then(|(_, value)| value.trim().parse().ok()).unwrap_or(0)
        };
        Self {
            run_time_s: value("run_time"),
            execs: value("execs_done"),
            rounds: value("cycles_done"),
            rounds_wo_finds: value("cycles_wo_finds"),
            time_wo_finds_s: value("time_wo_finds"),
            execs_since_crash: value("execs_since_crash"),
            corpus_found: value("corpus_found"),
            last_find_s: value("last_find"),
            last_crash_s: value("last_crash"),
            last_hang_s: value("last_hang"),
        }
    }
}

/// What is known so far, in this room's terms.
#[derive(Clone, Debug, Default)]
struct State {
    /// When it would have begun without a pause, in seconds since 1970.
    start_time_s: u64,
    elapsed_ms: u64,
    execs: u64,
    execs_per_sec: f64,
    edges: u64,
    edges_total: u64,
    corpus: u64,
    first_inputs: u64,
    rounds: u64,
    /// Whether they are hangs, and their signatures.
    failures: BTreeSet<(bool, String)>,
    last_find: Option<Moment>,
    last_crash: Option<Moment>,
    last_hang: Option<Moment>,
    /// Where the last minute began, and the rate in the one before it.
    minute: Moment,
    execs_per_sec_last_minute: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Moment {
    /// Seconds since 1970.
    time_s: u64,
    elapsed_ms: u64,
    execs: u64,
    rounds: u64,
}

impl StatsFiles {
    /// Starts the files in `folder`, or goes on with them.
    ///
    /// # Errors
    ///
    /// Fails if a file can't be written; the error names it.
    pub(crate) fn create(folder: TargetFolder, mut campaign: Campaign) -> anyhow::Result<Self> {
        let (folder, mut plot) = own(&folder)?;
        let failed = || format!("failed to write `{}`", folder.path("plot_data").display());
        let begin = match last_byte(&mut plot).with_context(failed)? {
            None => format!("{PLOT_COLUMNS}\n"),
            Some(b'\n') => String::new(),
            // A power failure tore the last line.
            Some(_) => "\n".to_owned(),
        };
        // It is written later; what stands in its way is known now.
        folder.check("fuzzer_stats")?;
        plot.write_all(begin.as_bytes()).with_context(failed)?;
        let events = folder.start("events.jsonl")?;
        let state = State {
            start_time_s: campaign.start_time_s,
            failures: std::mem::take(&mut campaign.known),
            ..State::default()
        };
        Ok(Self {
            past: EarlierStats::parse(&read_stats(&folder)),
            folder,
            campaign,
            plot,
            events,
            events_left: EVENTS_BYTES_MAX,
            statuses: Sparse::default(),
            next_update_ms: 0,
            state,
        })
    }

    /// Goes on after a pause, at `now_s` seconds since 1970.
    pub(crate) fn resume(&mut self, now_s: u64) {
        self.state.start_time_s = now_s.saturating_sub(self.state.elapsed_ms / 1000);
    }

    fn update(&mut self) -> io::Result<()> {
        let written = self.plot.write_all(self.state.plot_line(&self.past).as_bytes());
        written.map_err(|error| self.naming("plot_data", error))?;
        let replaced = self.folder.replace("fuzzer_stats", self.state.stats(&self.campaign, &self.past).as_bytes());
        replaced.map_err(|error| io::Error::other(format!("{error:#}")))
    }

    fn naming(&self, name: &str, error: io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("failed to write `{}`: {error}", self.folder.path(name).display()))
    }

    /// Takes note of an event, and appends what `events.jsonl` gets of it to `lines`.
    fn note(&mut self, event: &Event, lines: &mut Vec<u8>) -> io::Result<()> {
        if event.target() != self.campaign.target {
            return Ok(());
        }
        match event {
            Event::Start(start) => {
                self.state.first_inputs = start.seeds;
                self.state.edges_total = start.edges_total;
            }
            Event::NewEdge(new) => self.state.new_edge(new),
            Event::Finding(finding) => self.state.finding(finding),
            Event::Status(status) => {
                self.state.status(status);
                if status.elapsed_ms >= self.next_update_ms {
                    self.next_update_ms = status.elapsed_ms.saturating_add(UPDATE_MS);
                    self.update()?;
                }
                if !self.statuses.is_due(status.elapsed_ms) {
                    return Ok(());
                }
            }
            Event::Compiling(_)
            | Event::Retraced(_)
            | Event::Warmed(_)
            | Event::Arrived(_)
            | Event::Advice(_)
            | Event::Imported(_)
            | Event::NotStarted(_)
            | Event::Checked(_) => {}
            Event::Done(done) => {
                self.state.done(done);
                self.update()?;
            }
        }
        self.log(event, lines)
    }

    fn log(&mut self, event: &Event, lines: &mut Vec<u8>) -> io::Result<()> {
        let line = json_line(event)?;
        let is_last = matches!(event, Event::Done(_));
        match self.events_left.checked_sub(line.len()) {
            Some(left) => self.events_left = left,
            None if is_last => {}
            None => {
                // A shorter line after this one would leave a gap that nobody sees.
                self.events_left = 0;
                return Ok(());
            }
        }
        lines.extend(line);
        Ok(())
    }
}

impl Reporter for StatsFiles {
    fn report(&mut self, event: &Event) -> io::Result<()> {
        self.report_all(std::slice::from_ref(event))
    }

    fn report_all(&mut self, events: &[Event]) -> io::Result<()> {
        let mut lines = Vec::new();
        let noted = events.iter().try_for_each(|event| self.note(event, &mut lines));
        if !lines.is_empty() {
            let written = self.events.write_all(&lines);
            written.map_err(|error| self.naming("events.jsonl", error))?;
        }
        noted
    }
}

impl State {
    fn now(&self) -> Moment {
        let time_s = self.start_time_s.saturating_add(self.elapsed_ms / 1000);
        Moment { time_s, elapsed_ms: self.elapsed_ms, execs: self.execs, rounds: self.rounds }
    }

    fn new_edge(&mut self, new: &NewEdge) {
        self.execs = new.execs;
        self.edges = new.edges;
        self.last_find = Some(self.now());
    }

    fn finding(&mut self, finding: &Finding) {
        let now = self.now();
        let is_hang = finding.kind == FailureKind::Hang;
        let last = if is_hang { &mut self.last_hang } else { &mut self.last_crash };
        // What an earlier campaign found is found again by its input.
        if self.failures.insert((is_hang, finding.signature.clone())) {
            *last = Some(now);
        }
    }

    fn status(&mut self, status: &Status) {
        self.elapsed_ms = status.elapsed_ms;
        self.execs = status.execs;
        self.execs_per_sec = status.execs_per_sec;
        self.edges = status.edges;
        self.edges_total = status.edges_total;
        self.corpus = status.corpus;
        self.rounds = status.rounds;
        let passed_ms = self.elapsed_ms.saturating_sub(self.minute.elapsed_ms);
        if passed_ms >= 60_000 {
            let execs = self.execs.saturating_sub(self.minute.execs);
            self.execs_per_sec_last_minute = execs as f64 * 1000.0 / passed_ms as f64;
            self.minute = self.now();
        } else if self.minute.elapsed_ms == 0 {
            self.execs_per_sec_last_minute = self.execs_per_sec;
        }
    }

    fn done(&mut self, done: &Done) {
        self.elapsed_ms = done.elapsed_ms;
        self.execs = done.execs;
        self.execs_per_sec = done.execs_per_sec;
        self.edges = done.edges;
        self.edges_total = done.edges_total;
        self.corpus = done.corpus;
        self.rounds = done.rounds;
    }

    fn edges_percent(&self) -> f64 {
        if self.edges_total == 0 { 0.0 } else { self.edges as f64 * 100.0 / self.edges_total as f64 }
    }

    fn hangs(&self) -> usize {
        self.failures.iter().filter(|(is_hang, _)| *is_hang).count()
    }

    fn crashes(&self) -> usize {
        self.failures.len() - self.hangs()
    }

    /// Seconds that all campaigns took until now.
    fn run_time_s(&self, past: &EarlierStats) -> u64 {
        past.run_time_s.saturating_add(self.elapsed_ms / 1000)
    }

    fn execs_per_sec(&self, past: &EarlierStats) -> f64 {
        if past.execs == 0 {
            return finite(self.execs_per_sec);
        }
        let seconds = past.run_time_s as f64 + self.elapsed_ms as f64 / 1000.0;
        finite((past.execs as f64 + self.execs as f64) / seconds.max(1.0))
    }

    fn plot_line(&self, past: &EarlierStats) -> String {
        format!(
            "{}, {}, 0, {}, 0, 0, {:.2}%, {}, {}, 0, {:.2}, {}, {}, {}, 0\n",
            self.run_time_s(past),
            past.rounds.saturating_add(self.rounds),
            self.corpus,
            self.edges_percent(),
            self.crashes(),
            self.hangs(),
            finite(self.execs_per_sec),
            past.execs.saturating_add(self.execs),
            self.edges,
            self.crashes(),
        )
    }

    fn stats(&self, campaign: &Campaign, past: &EarlierStats) -> String {
        let lines = [self.progress(campaign, past), self.finds(past), self.setting(campaign)];
        lines.iter().flatten().fold(String::new(), |mut text, (key, value)| {
            let _ = writeln!(text, "{key:<18}: {value}");
            text
        })
    }

    /// How long it went on, and how far.
    fn progress(&self, campaign: &Campaign, past: &EarlierStats) -> Vec<(&'static str, String)> {
        let rounds_wo_finds = since(self.rounds, self.last_find.map(|find| find.rounds), past.rounds_wo_finds);
        let time_wo_finds_ms = since(
            self.elapsed_ms,
            self.last_find.map(|find| find.elapsed_ms),
            past.time_wo_finds_s.saturating_mul(1000),
        );
        let run_time = self.run_time_s(past);
        vec![
            ("start_time", self.start_time_s.saturating_sub(past.run_time_s).to_string()),
            ("last_update", self.now().time_s.to_string()),
            ("run_time", run_time.to_string()),
            ("fuzzer_pid", campaign.pid.to_string()),
            ("cycles_done", past.rounds.saturating_add(self.rounds).to_string()),
            ("cycles_wo_finds", rounds_wo_finds.to_string()),
            ("time_wo_finds", (time_wo_finds_ms / 1000).to_string()),
            ("fuzz_time", run_time.to_string()),
            ("calibration_time", zero()),
            ("cmplog_time", zero()),
            ("sync_time", zero()),
            ("trim_time", zero()),
            ("execs_done", past.execs.saturating_add(self.execs).to_string()),
            ("execs_per_sec", format!("{:.2}", self.execs_per_sec(past))),
            ("execs_ps_last_min", format!("{:.2}", finite(self.execs_per_sec_last_minute))),
        ]
    }

    /// What it found.
    fn finds(&self, past: &EarlierStats) -> Vec<(&'static str, String)> {
        let time = |moment: Option<Moment>, before: u64| moment.map_or(before, |at| at.time_s).to_string();
        let execs_since_crash = since(self.execs, self.last_crash.map(|crash| crash.execs), past.execs_since_crash);
        let found = past.corpus_found.saturating_add(self.corpus.saturating_sub(self.first_inputs));
        vec![
            ("corpus_count", self.corpus.to_string()),
            ("corpus_found", found.to_string()),
            ("corpus_imported", zero()),
            ("corpus_variable", zero()),
            ("max_depth", zero()),
            ("cur_item", zero()),
            ("pending_favs", zero()),
            ("pending_total", zero()),
            ("stability", "100.00%".to_owned()),
            ("bitmap_cvg", format!("{:.2}%", self.edges_percent())),
            ("saved_crashes", self.crashes().to_string()),
            ("saved_hangs", self.hangs().to_string()),
            ("total_tmout", self.hangs().to_string()),
            ("last_find", time(self.last_find, past.last_find_s)),
            ("last_crash", time(self.last_crash, past.last_crash_s)),
            ("last_hang", time(self.last_hang, past.last_hang_s)),
            ("execs_since_crash", execs_since_crash.to_string()),
        ]
    }

    /// Where and of what it is.
    fn setting(&self, campaign: &Campaign) -> Vec<(&'static str, String)> {
        vec![
            ("exec_timeout", zero()),
            ("peak_rss_mb", (campaign.peak_rss_mb)().unwrap_or(0).to_string()),
            ("cpu_affinity", "-1".to_owned()),
            ("edges_found", self.edges.to_string()),
            ("total_edges", self.edges_total.to_string()),
            ("var_byte_count", zero()),
            ("havoc_expansion", zero()),
            ("auto_dict_entries", zero()),
            ("testcache_size", zero()),
            ("testcache_count", zero()),
            ("testcache_evict", zero()),
            ("afl_banner", one_line(&campaign.target)),
            ("afl_version", concat!("fuzzbox-", env!("CARGO_PKG_VERSION")).to_owned()),
            ("target_mode", "default".to_owned()),
            ("command_line", one_line(&campaign.command_line)),
        ]
    }
}

/// How much there was since something happened, which it did `before` this campaign if not `then`.
fn since(now: u64, then: Option<u64>, before: u64) -> u64 {
    match then {
        Some(then) => now.saturating_sub(then),
        None => now.saturating_add(before),
    }
}

/// The value of what AFL++ has and we don't.
fn zero() -> String {
    "0".to_owned()
}

/// The folder of this process, which nobody else writes to as long as it has the file: its `plot_data`.
fn own(folder: &TargetFolder) -> anyhow::Result<(TargetFolder, File)> {
    for number in 1..=PROCESSES_MAX {
        let folder = folder.of_process(number);
        let plot = folder.open_to_append("plot_data")?;
        match plot.try_lock() {
            Err(TryLockError::WouldBlock) => {}
            // Where there are no locks there is nobody to tell.
            Ok(()) | Err(TryLockError::Error(_)) => return Ok((folder, plot)),
        }
    }
    bail!("{PROCESSES_MAX} processes fuzz this target already")
}

/// `fuzzer_stats` of an earlier campaign; nothing if it can't be read. Somebody may have put anything there.
fn read_stats(folder: &TargetFolder) -> String {
    let bytes = folder.read("fuzzer_stats", STATS_BYTES_MAX).ok().flatten().unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The last byte of a file; `None` if it is empty.
fn last_byte(file: &mut File) -> io::Result<Option<u8>> {
    if file.metadata()?.len() == 0 {
        return Ok(None);
    }
    let mut byte = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut byte)?;
    Ok(Some(byte[0]))
}

fn finite(n: f64) -> f64 {
    if n.is_finite() { n.max(0.0) } else { 0.0 }
}

fn one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}
