//! One campaign as each reporter shows it, compared with the files beside this one. `BLESS=1 cargo test` rewrites them.

use super::lines::Lines;
use super::quiet::Quiet;
use super::*;
use crate::failure::Said;
use crate::id::{FindingId, InputId, ModuleId};
use crate::outcome::FailureKind;
use crate::store::Store;
use crate::stream::Decoded;
use crate::symbols::{ResolvedFrame, simplify};
use crate::text::{self, PREVIEW_COLUMNS};
use indicatif::ProgressDrawTarget;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;
use std::rc::Rc;

fn frame(function: &str, index: u32, offset: u32, source: Option<(&str, u32, u32)>) -> ResolvedFrame {
    ResolvedFrame {
        function: function.to_owned(),
        index,
        offset,
        file: source.map(|(file, ..)| file.to_owned()),
        line: source.map(|(_, line, _)| line),
        column: source.map(|(.., column)| column),
    }
}

fn crash() -> Finding {
    let input = b"[[[[\x00\"deep\"";
    Finding {
        target: "json".to_owned(),
        id: FindingId::of(b"crash"),
        kind: FailureKind::Crash,
        signature: "unreachable: parse_value:+14 < parse_array < LLVMFuzzerTestOneInput".to_owned(),
        input: InputId::of(input),
        input_bytes: input.len() as u64,
        frames: vec![
            frame("abort", 9, 4711, None),
            frame("parse_value", 3, 1043, Some(("src/json.c", 57, 9))),
            frame("parse_array", 4, 1200, Some(("src/json.c", 91, 12))),
            frame("LLVMFuzzerTestOneInput", 2, 900, Some(("fuzz.c", 7, 3))),
        ],
        at: Some("parse_value at src/json.c:57:9".to_owned()),
        preview: preview(input, PREVIEW_COLUMNS),
        drawn: None,
        said: Some(Said {
            stderr: "reading\nparse: fatal error: \u{1b}[2Jtoo deep, and a message that is rather long for a line of a terminal\n".to_owned(),
            ..Said::default()
        }),
        known: false,
    }
}

/// A property's.
fn drawn() -> Finding {
    let input = [2, 6, 0];
    let drawn = Decoded {
        notes: vec!["list = [\u{1b}[2J, 3]".to_owned()],
        frames: vec!["4 (con\u{1b}firm), argument 7".to_owned()],
        choices: (0..20).map(|number| format!("{:1$}list: more, {number}", "", number)).collect(),
    };
    Finding {
        target: "json".to_owned(),
        id: FindingId::of(b"drawn"),
        kind: FailureKind::Crash,
        signature: "failed: not sorted".to_owned(),
        input: InputId::of(&input),
        input_bytes: input.len() as u64,
        frames: vec![frame("fbx_sorted", 3, 1043, None)],
        at: Some("fbx_sorted".to_owned()),
        preview: drawn.preview(),
        drawn: Some(drawn),
        said: None,
        known: false,
    }
}

/// Everything in it is too long, foreign or hostile.
fn hang() -> Finding {
    let input = [0x7f; 2000];
    let name = "std::__2::map<int, std::__2::vector<int>>::a_function_with_a_name_that_nobody_can_read(int) const";
    Finding {
        target: "json".to_owned(),
        id: FindingId::of(b"hang"),
        kind: FailureKind::Hang,
        signature: format!("hang: {} < main", simplify(name)),
        input: InputId::of(&input),
        input_bytes: input.len() as u64,
        frames: vec![
            frame(name, 3, 1043, Some(("a/rather/long/path/to/a/header/that/is/somewhere/map.h", 1057, 19))),
            frame("\u{1b}[2Jevil\n", 4, 1200, None),
        ],
        at: None,
        preview: preview(&input, PREVIEW_COLUMNS),
        drawn: None,
        said: None,
        known: false,
    }
}

fn campaign() -> Vec<Event> {
    let target = || "json".to_owned();
    let status = |elapsed_ms: u64, execs: u64| {
        Event::Status(Status {
            target: target(),
            execs,
            execs_per_sec: execs as f64 * 1000.0 / elapsed_ms as f64,
            elapsed_ms,
            edges: 812,
            edges_total: 2401,
            corpus: 340,
            findings: 1,
            rounds: elapsed_ms / 100,
        })
    };
    vec![
        Event::Start(Start {
            target: target(),
            module: ModuleId::of(b"module"),
            entry: "LLVMFuzzerTestOneInput(ptr, len)".to_owned(),
            edges_total: 2401,
            seeds: 1,
            seed: 42,
            strategy: "fuzz".to_owned(),
            is_default: true,
            jobs: 2,
        }),
        Event::Retraced(Retraced {
            target: target(),
            older: ModuleId::of(b"older"),
            functions: Some(430),
            unchanged: Some(412),
            inputs: 3_120,
            executed: 3_120,
            elapsed_ms: 230,
            findings: [
                (Now::Fixed, "unreachable: f:+3 < \u{1b}[2Jmain"),
                (Now::Still, "hang: g"),
                (Now::Back, "oom: h"),
            ]
            .map(|(now, signature)| {
                let kind = FailureKind::Crash;
                KnownFinding { id: FindingId::of(signature.as_bytes()), kind, signature: signature.to_owned(), now }
            })
            .into(),
        }),
        Event::Warmed(Warmed { target: target(), inputs: vec![InputId::of(b"warm")] }),
        Event::Arrived(Arrived {
            target: target(),
            goal: "parse_string".to_owned(),
            execs: 1234,
            input: Some(InputId::of(b"\"a")),
            input_bytes: Some(2),
            preview: "\"a".to_owned(),
        }),
        Event::NewEdge(NewEdge {
            target: target(),
            input: InputId::of(b"{}"),
            input_bytes: 2,
            execs: 1,
            new: 800,
            edges: 800,
            function: "parse_object".to_owned(),
        }),
        Event::NewEdge(NewEdge {
            target: target(),
            input: InputId::of(b"["),
            input_bytes: 1,
            execs: 10_234,
            new: 12,
            edges: 812,
            function: "parse_array".to_owned(),
        }),
        status(500, 21_000),
        status(1_100, 47_000),
        status(1_600, 68_000),
        Event::Finding(crash()),
        status(6_000, 251_000),
        Event::Advice(Advice {
            target: target(),
            message: "the harness rejects 95 % of all inputs; give it valid ones to start from with --corpus DIR, or \
                      the format's words with --dict FILE"
                .to_owned(),
        }),
        status(27_900, 1_202_490),
        Event::Finding(hang()),
        Event::Finding(drawn()),
        Event::Keyframe(Keyframe {
            target: target(),
            trace: "login".to_owned(),
            reached: 3,
            frames: 5,
            frame: "3 (sent)".to_owned(),
            draws: 12,
            input: InputId::of(b"login"),
            execs: 1_203_000,
        }),
        Event::Done(done()),
        Event::Checked(super::checked::example()),
    ]
}

fn done() -> Done {
    Done {
        target: "json".to_owned(),
        module: ModuleId::of(b"module"),
        execs: 1_204_224,
        recalled: 340,
        execs_per_sec: 43_118.4,
        elapsed_ms: 27_928,
        rejected: 120_400,
        overruns: 7,
        input_bytes_mean: 61.5,
        edges: 812,
        edges_total: 2401,
        corpus: 340,
        findings: vec![crash(), hang()],
        seed: 42,
        strategy: "fuzz".to_owned(),
        rounds: 279,
        corpus_hash: InputId::of(b"corpus").to_string(),
        not_reached: [
            "print_value",
            "print_string",
            "std::__2::map<int, int>::erase(int)",
            "utf16_to_utf8",
            "compare",
            "minify",
        ]
        .map(str::to_owned)
        .to_vec(),
        nameless_not_reached: 3,
        not_arrived: Vec::new(),
        traces: [("login", 3, Some("4 (con\u{1b}firm)")), ("quit", 5, None)]
            .map(|(name, reached, missing)| TraceReached {
                name: name.to_owned(),
                reached,
                frames: 5,
                missing: missing.map(str::to_owned),
            })
            .into(),
        stopped: "--execs 1200000 reached".to_owned(),
    }
}

/// What a reporter writes about the campaign.
fn render<R: Reporter>(make: impl FnOnce(Shared) -> R) -> String {
    let out = Shared::default();
    let mut reporter = make(out.clone());
    for event in campaign() {
        reporter.report(&event).unwrap();
    }
    String::from_utf8(out.0.take()).unwrap()
}

/// Text that can still be read when a reporter has taken its writer.
#[derive(Clone, Default)]
struct Shared(Rc<RefCell<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn compare(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/report/golden").join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap();
    assert!(text == expected, "{name} differs; BLESS=1 rewrites it. This is what was written:\n{text}");
}

fn terminal(out: Shared, color: bool, columns: Option<u16>) -> Terminal<Shared> {
    Terminal::new(out, ProgressDrawTarget::hidden(), TerminalOptions { color, columns, ..TerminalOptions::default() })
}

#[test]
fn each_reporter_tells_the_campaign_in_its_way() {
    compare("campaign.jsonl", &render(Json::new));
    compare("lines.txt", &render(|out| Lines::new(out, false)));
    compare("lines-verbose.txt", &render(|out| Lines::new(out, true)));
    compare("quiet.txt", &render(Quiet::new));
    compare("terminal.txt", &render(|out| terminal(out, false, None)));
    compare("terminal-color.txt", &render(|out| terminal(out, true, Some(80))));
    compare("terminal-narrow.txt", &render(|out| terminal(out, false, Some(1))));
}

#[test]
fn text_for_people_fits_and_drives_nothing() {
    for columns in [40, 60, 67, 80, 120] {
        for line in render(|out| terminal(out, false, Some(columns))).lines() {
            assert!(text::columns(line) <= usize::from(columns), "{line}");
        }
    }
    let lines = render(|out| Lines::new(out, true)) + &render(Quiet::new);
    let colored = render(|out| terminal(out, true, Some(80)));
    assert!(!lines.contains('\x1b'));
    assert!(!colored.contains("\x1b[2J"));
}

#[test]
fn live_lines_fit() {
    let terminal_of = |columns| terminal(Shared::default(), false, Some(columns));
    let terminal = terminal_of(80);
    let Some(Event::Status(status)) = campaign().into_iter().rfind(|event| matches!(event, Event::Status(_))) else {
        panic!("the campaign has a status");
    };
    let lines = terminal.live_text(&status);
    assert_eq!(lines[0], "    Running json: 1.20 M executions, 43.1 k/s, 27.9 s");
    assert_eq!(lines[1], "            edges 812/2,401, 1 finding, corpus 340, last new 1.20 M execs ago");
    let narrow = |columns| terminal_of(columns).live_text(&status)[1].trim_start().to_owned();
    assert_eq!(narrow(60), "edges 812/2,401, 1 finding, corpus 340");
    assert_eq!(narrow(40), "edges 812/2,401, 1 finding");
    let huge = Status { target: "é".repeat(200), execs: u64::MAX, edges: u64::MAX, execs_per_sec: f64::NAN, ..status };
    assert!(terminal.live_text(&huge).iter().all(|line| text::columns(line) <= 80));
}

#[test]
fn stats_files_are_those_of_afl() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open_or_create(dir.path()).unwrap();
    let folder = |target: &str| store.target_folder(target).unwrap();
    let campaign_of = |target: &str| Campaign {
        target: target.to_owned(),
        start_time_s: 1_700_000_000,
        known: [(false, "unreachable: known".to_owned())].into(),
        peak_rss_mb: || Some(42),
        pid: 4711,
        command_line: "fuzzbox run json.wasm\n--execs 1200000".to_owned(),
    };
    let mut stats = StatsFiles::create(folder("json"), campaign_of("json")).unwrap();
    for event in campaign() {
        stats.report(&event).unwrap();
    }
    let read = |name: &str| std::fs::read_to_string(folder("json").path(name)).unwrap();
    compare("fuzzer_stats", &read("fuzzer_stats"));
    compare("plot_data", &read("plot_data"));
    compare("events.jsonl", &read("events.jsonl"));
    let mut files: Vec<_> =
        std::fs::read_dir(folder("json").path("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    files.sort();
    assert_eq!(files, ["events.jsonl", "fuzzer_stats", "plot_data"], "nothing else is left");

    let mut stats = StatsFiles::create(folder("other"), campaign_of("other")).unwrap();
    campaign().iter().for_each(|event| stats.report(event).unwrap());
    let events = std::fs::read(folder("other").path("events.jsonl")).unwrap();
    assert_eq!(events, b"", "events of another target are ignored");
}

/// A line of `fuzzer_stats`.
fn stat(stats: &str, key: &str) -> String {
    let line = stats.lines().find(|line| line.split(':').next().is_some_and(|name| name.trim() == key));
    line.and_then(|line| line.split_once(':')).unwrap_or_else(|| panic!("no {key} in {stats}")).1.trim().to_owned()
}

#[test]
fn a_resumed_campaign_counts_on_and_two_at_once_count_apart() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open_or_create(dir.path()).unwrap();
    let target = store.target_folder("json").unwrap();
    let folder = target.path("plot_data").parent().unwrap().to_owned();
    let start = |start_time_s, known: BTreeSet<(bool, String)>| {
        let campaign = Campaign {
            target: "json".to_owned(),
            start_time_s,
            known,
            peak_rss_mb: || None,
            pid: 1,
            command_line: String::new(),
        };
        StatsFiles::create(target.clone(), campaign).unwrap()
    };
    let read = |folder: &Path, name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let mut first = start(1_000_000, BTreeSet::new());
    campaign().iter().for_each(|event| first.report(event).unwrap());
    drop(first);
    let plotted = read(&folder, "plot_data");
    let known: BTreeSet<_> =
        [crash(), hang(), drawn()].map(|finding| (finding.kind == FailureKind::Hang, finding.signature)).into();
    let mut second = start(2_000_000, known.clone());
    let mut other = start(2_000_000, known);
    campaign().iter().for_each(|event| second.report(event).unwrap());
    campaign()[..7].iter().for_each(|event| other.report(event).unwrap());

    let stats = read(&folder, "fuzzer_stats");
    let of = |key| stat(&stats, key);
    assert_eq!([of("execs_done"), of("run_time"), of("cycles_done")], ["2408448", "54", "558"]);
    assert_eq!([of("start_time"), of("last_update")], ["1999973", "2000027"]);
    assert_eq!([of("saved_crashes"), of("saved_hangs")], ["2", "1"], "those of the first are found again");
    let lines = read(&folder, "plot_data");
    assert!(lines.starts_with(&plotted) && lines.matches("relative_time").count() == 1, "{lines}");
    let times: Vec<u64> = lines.lines().skip(1).map(|line| line.split(',').next().unwrap().parse().unwrap()).collect();
    assert!(times.len() > 4 && times.is_sorted() && times.last() == Some(&54), "{times:?}");

    let of_other = folder.with_file_name("json~2");
    assert_eq!(stat(&read(&of_other, "fuzzer_stats"), "execs_done"), "21000");
    let names: Vec<_> = store.targets().unwrap().into_iter().map(|target| target.name).collect();
    assert_eq!(names, ["json"], "the folder of a second process is no target");
    std::fs::write(folder.join("fuzzer_stats"), "execs_done : 18446744073709551615\nrun_time : -1\nx\n\0").unwrap();
    drop(second);
    let mut absurd = start(5, BTreeSet::new());
    campaign().iter().for_each(|event| absurd.report(event).unwrap());
    assert_eq!(stat(&read(&folder, "fuzzer_stats"), "execs_done"), u64::MAX.to_string());
}

#[test]
fn stats_files_that_cannot_be_written_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let folder = Store::open_or_create(dir.path()).unwrap().target_folder("json").unwrap();
    std::fs::create_dir_all(folder.path("events.jsonl")).unwrap();
    let path = folder.path("events.jsonl");
    let campaign = Campaign {
        target: "json".to_owned(),
        start_time_s: 0,
        known: BTreeSet::new(),
        peak_rss_mb: || None,
        pid: 1,
        command_line: String::new(),
    };
    let error = StatsFiles::create(folder, campaign).unwrap_err().to_string();
    assert_eq!(error, format!("`{}` is damaged: it is a directory", path.display()));
}

#[test]
fn a_closed_pipe_is_told_apart() {
    struct Closed;
    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    for format in FORMATS {
        let reporter = (format.make)(Box::new(Closed), TerminalOptions::default());
        let error = Reporters(vec![reporter]).report(&Event::Finding(crash())).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
}

#[test]
fn an_error_of_one_reporter_does_not_silence_the_others() {
    struct Failing;
    impl Reporter for Failing {
        fn report(&mut self, _: &Event) -> io::Result<()> {
            Err(io::Error::other("full"))
        }
    }
    struct Counting(Rc<Cell<usize>>);
    impl Reporter for Counting {
        fn report(&mut self, _: &Event) -> io::Result<()> {
            self.0.set(self.0.get() + 1);
            Ok(())
        }
    }
    let seen = Rc::new(Cell::new(0));
    let mut reporters = Reporters(vec![Box::new(Failing), Box::new(Counting(Rc::clone(&seen)))]);
    assert_eq!(reporters.report(&Event::Finding(crash())).unwrap_err().to_string(), "full");
    assert_eq!(seen.get(), 1);
}

#[test]
fn done_has_the_keys_that_are_promised() {
    let jsonl = render(Json::new);
    let lines: Vec<serde_json::Value> = jsonl.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().all(|line| line["v"] == 1 && (line["target"] == "json" || line["event"] == "checked")));
    let done = lines.iter().rfind(|line| line["event"] == "done").unwrap().as_object().unwrap();
    let promised = [
        "event",
        "target",
        "module",
        "execs",
        "execs_per_sec",
        "elapsed_ms",
        "edges",
        "edges_total",
        "corpus",
        "findings",
        "seed",
        "strategy",
        "rounds",
        "corpus_hash",
    ];
    assert!(promised.iter().all(|key| done.contains_key(*key)));
    let finding = done["findings"][0].as_object().unwrap();
    assert!(["id", "kind", "signature", "input", "input_bytes", "frames"].iter().all(|key| finding.contains_key(*key)));
}
