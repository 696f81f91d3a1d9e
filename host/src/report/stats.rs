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

use super::json::json_line;
use super::sparse::Sparse;
use super::{Done, Event, Finding, NewEdge, Reporter, Status};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Between two lines of `plot_data`, and two versions of `fuzzer_stats`: as in AFL++.
const UPDATE_MS: u64 = 5000;
/// `events.jsonl` ends here but for the last event; a campaign writes a few MB.
const EVENTS_BYTES_MAX: usize = 64 << 20;

const PLOT_COLUMNS: &str = "# relative_time, cycles_done, cur_item, corpus_count, pending_total, pending_favs, \
                            map_size, saved_crashes, saved_hangs, max_depth, execs_per_sec, total_execs, edges_found, \
                            total_crashes, servers_count";

/// What the files say about the process that writes them.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// The target's name; events of other targets are ignored.
    pub target: String,
    /// When the campaign began, in seconds since 1970. Times in the files are this plus the events' elapsed time.
    pub start_time_s: u64,
    /// Id of this process.
    pub pid: u32,
    /// What was typed.
    pub command_line: String,
}

/// Writes the files of one target's latest campaign into a directory.
#[derive(Debug)]
pub struct StatsFiles {
    dir: PathBuf,
    campaign: Campaign,
    plot: File,
    events: File,
    events_left: usize,
    statuses: Sparse,
    next_update_ms: u64,
    state: State,
}

/// What is known so far, in this room's terms.
#[derive(Clone, Debug, Default)]
struct State {
    elapsed_ms: u64,
    execs: u64,
    execs_per_sec: f64,
    edges: u64,
    edges_total: u64,
    corpus: u64,
    first_inputs: u64,
    rounds: u64,
    crashes: u64,
    hangs: u64,
    last_find: Option<Moment>,
    last_crash: Option<Moment>,
    last_hang: Option<Moment>,
    /// Where the last minute began, and the rate in the one before it.
    minute: Moment,
    execs_per_sec_last_minute: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Moment {
    elapsed_ms: u64,
    execs: u64,
    rounds: u64,
}

impl StatsFiles {
    /// Starts the files in `dir`, which exists; those of the campaign before are replaced.
    ///
    /// # Errors
    ///
    /// Fails if a file can't be written; the error names it.
    pub fn create(dir: &Path, campaign: Campaign) -> io::Result<Self> {
        remove_leftovers(dir);
        let mut plot = start_file(&dir.join("plot_data"))?;
        writeln!(plot, "{PLOT_COLUMNS}").map_err(|error| naming(&dir.join("plot_data"), error))?;
        let events = start_file(&dir.join("events.jsonl"))?;
        Ok(Self {
            dir: dir.to_owned(),
            campaign,
            plot,
            events,
            events_left: EVENTS_BYTES_MAX,
            statuses: Sparse::default(),
            next_update_ms: 0,
            state: State::default(),
        })
    }

    fn update(&mut self) -> io::Result<()> {
        let path = self.dir.join("plot_data");
        self.plot.write_all(self.state.plot_line().as_bytes()).map_err(|error| naming(&path, error))?;
        let path = self.dir.join("fuzzer_stats");
        replace(&path, self.campaign.pid, self.state.stats(&self.campaign).as_bytes())
            .map_err(|error| naming(&path, error))
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
            Event::Compiling(_) | Event::Advice(_) | Event::Imported(_) | Event::NotStarted(_) => {}
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
            written.map_err(|error| naming(&self.dir.join("events.jsonl"), error))?;
        }
        noted
    }
}

impl State {
    fn now(&self) -> Moment {
        Moment { elapsed_ms: self.elapsed_ms, execs: self.execs, rounds: self.rounds }
    }

    fn new_edge(&mut self, new: &NewEdge) {
        self.execs = new.execs;
        self.edges = new.edges;
        self.last_find = Some(self.now());
    }

    fn finding(&mut self, finding: &Finding) {
        if finding.kind == "hang" {
            self.hangs += 1;
            self.last_hang = Some(self.now());
        } else {
            self.crashes += 1;
            self.last_crash = Some(self.now());
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

    fn plot_line(&self) -> String {
        format!(
            "{}, {}, 0, {}, 0, 0, {:.2}%, {}, {}, 0, {:.2}, {}, {}, {}, 0\n",
            self.elapsed_ms / 1000,
            self.rounds,
            self.corpus,
            self.edges_percent(),
            self.crashes,
            self.hangs,
            finite(self.execs_per_sec),
            self.execs,
            self.edges,
            self.crashes,
        )
    }

    fn stats(&self, campaign: &Campaign) -> String {
        let time =
            |moment: Option<Moment>| moment.map_or(0, |at| campaign.start_time_s.saturating_add(at.elapsed_ms / 1000));
        let find = self.last_find.unwrap_or_default();
        let crash = self.last_crash.unwrap_or_default();
        let run_time = self.elapsed_ms / 1000;
        let zero = || "0".to_owned();
        let lines: [(&str, String); 49] = [
            ("start_time", campaign.start_time_s.to_string()),
            ("last_update", time(Some(self.now())).to_string()),
            ("run_time", run_time.to_string()),
            ("fuzzer_pid", campaign.pid.to_string()),
            ("cycles_done", self.rounds.to_string()),
            ("cycles_wo_finds", self.rounds.saturating_sub(find.rounds).to_string()),
            ("time_wo_finds", (self.elapsed_ms.saturating_sub(find.elapsed_ms) / 1000).to_string()),
            ("fuzz_time", run_time.to_string()),
            ("calibration_time", zero()),
            ("cmplog_time", zero()),
            ("sync_time", zero()),
            ("trim_time", zero()),
            ("execs_done", self.execs.to_string()),
            ("execs_per_sec", format!("{:.2}", finite(self.execs_per_sec))),
            ("execs_ps_last_min", format!("{:.2}", finite(self.execs_per_sec_last_minute))),
            ("corpus_count", self.corpus.to_string()),
            ("corpus_favored", zero()),
            ("corpus_found", self.corpus.saturating_sub(self.first_inputs).to_string()),
            ("corpus_imported", zero()),
            ("corpus_variable", zero()),
            ("max_depth", zero()),
            ("cur_item", zero()),
            ("pending_favs", zero()),
            ("pending_total", zero()),
            ("stability", "100.00%".to_owned()),
            ("bitmap_cvg", format!("{:.2}%", self.edges_percent())),
            ("saved_crashes", self.crashes.to_string()),
            ("saved_hangs", self.hangs.to_string()),
            ("total_tmout", self.hangs.to_string()),
            ("last_find", time(self.last_find).to_string()),
            ("last_crash", time(self.last_crash).to_string()),
            ("last_hang", time(self.last_hang).to_string()),
            ("execs_since_crash", self.execs.saturating_sub(crash.execs).to_string()),
            ("exec_timeout", zero()),
            ("slowest_exec_ms", zero()),
            ("peak_rss_mb", zero()),
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
        ];
        lines.iter().fold(String::new(), |mut text, (key, value)| {
            let _ = writeln!(text, "{key:<18}: {value}");
            text
        })
    }
}

fn finite(n: f64) -> f64 {
    if n.is_finite() { n.max(0.0) } else { 0.0 }
}

fn one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}

fn start_file(path: &Path) -> io::Result<File> {
    File::options()
        .create(true)
        .write(true)
        .truncate(true)
        .open(path)
        .and_then(|_| File::options().append(true).open(path))
        .map_err(|error| naming(path, error))
}

/// Replaces a file by one with the given content, or leaves it as it was: readers never see half of it.
fn replace(path: &Path, pid: u32, content: &[u8]) -> io::Result<()> {
    let temporary = path.with_file_name(format!("{TEMPORARY}{pid}"));
    let written = fs::write(&temporary, content).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Name of an unfinished `fuzzer_stats`; the writing process' id follows.
const TEMPORARY: &str = ".fuzzer_stats.tmp-";

/// Removes unfinished files of processes that were killed. Nothing depends on it, so that it fails is no error.
fn remove_leftovers(dir: &Path) {
    let proc = Path::new("/proc");
    let Ok(entries) = fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix(TEMPORARY)).and_then(|pid| pid.parse::<u32>().ok());
        if pid.is_some_and(|pid| proc.join("self").exists() && !proc.join(pid.to_string()).exists()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn naming(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("failed to write `{}`: {error}", path.display()))
}
