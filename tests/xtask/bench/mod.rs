//! How fast we are beside others: the same programs, from the same sources, on the same inputs, in one run.
//!
//! ```text
//! Debian's sources + harness.c --- clang -----------------> native, libFuzzer, edges only, AFL++    target/bench/<guest>/
//!                              \-- clang for wasm --+-----> fuzzbox, plain module
//!                                                   \-- wasm2c -- clang -> translated, edges only
//!
//! round 1                            round 2
//! native | libFuzzer | ... | fuzzbox  native | libFuzzer | ...       the same inputs, so much CPU time each
//! ```
//!
//! All figures are executions per second of CPU time, on one thread. Replaying, everybody runs all inputs equally often
//! (libFuzzer's engine too, whose mutator hands them out); a ratio is the median over the rounds of the ratios *within* a
//! round, so that a machine that slows down for a while slows down both. Fuzzing, everybody begins with those inputs and
//! does as it likes; executions are counted in the guest, CPU time is that of all the fuzzer's processes.
//!
//! Who is not installed, or fails, is left out with a word why.

pub(crate) mod build;
mod fresh;
pub(crate) mod fuzz;
pub(crate) mod fuzzbox;
pub(crate) mod meter;
pub mod model;
pub(crate) mod native;
mod replay;
mod report;
pub mod scale;
mod table;
pub(crate) mod tools;
mod wasm2c;

pub use fuzz::Fuzzed;
pub use report::{Guest, LeftOut, Report, Row, json};
pub use table::table;
pub use tools::{Missing, install_line};

use crate::cost::{self, GUESTS};
use crate::guests::{self, Sources};
use anyhow::{Context as _, Result, ensure};
use fresh::Fresh;
use fuzz::{Campaign, Fuzzer};
use meter::Meter;
use native::Build;
use replay::{Contender, Work, plain_machine, replay};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;
use tools::Tools;

/// What to measure and for how long.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which guests; of [`GUESTS`].
    pub guests: Vec<String>,
    /// Turns of each row.
    pub rounds: usize,
    /// CPU time of a row in a round.
    pub round_time: Duration,
    /// CPU time of a campaign; zero for none.
    pub fuzz_time: Duration,
    /// Campaigns of each fuzzer.
    pub fuzz_rounds: usize,
    /// The native compiler.
    pub clang: String,
}

/// Builds what has to be built, and measures.
///
/// # Errors
///
/// If a guest is unknown or can't be built. What goes wrong with a peer is in the report.
pub fn run(settings: &Settings) -> Result<Report> {
    for guest in &settings.guests {
        ensure!(
            GUESTS.contains(&guest.as_str()),
            "no inputs for guest `{guest}`; there are some for {}",
            GUESTS.join(", ")
        );
    }
    ensure!(settings.rounds > 0, "nothing is measured in 0 rounds");
    let tools = Tools::find(&settings.clang)?;
    if let Some(line) = install_line(&tools.missing) {
        eprintln!("some rows will be left out; to have them all: {line}");
    }
    let mut bench = Bench { settings, tools, report: Report::default() };
    bench.report.rounds = (settings.rounds, settings.round_time.as_millis() as u64);
    bench.report.fuzz_seconds = settings.fuzz_time.as_secs();
    bench.report.versions = [vec![tools::machine()], bench.tools.versions.clone()].concat();
    bench.report.missing = bench.tools.missing.clone();
    for name in &settings.guests {
        let guest = bench.guest(name).with_context(|| format!("failed to measure `{name}`"))?;
        bench.report.guests.push(guest);
    }
    bench.report.empty = Some(bench.empty().context("failed to measure the empty guest")?);
    Ok(bench.report)
}

struct Bench<'a> {
    settings: &'a Settings,
    tools: Tools,
    report: Report,
}

impl Bench<'_> {
    fn guest(&mut self, name: &str) -> Result<Guest> {
        let (wasm, sources) = (crate::guest(name)?, guests::sources(name)?);
        self.report.versions.push(format!("{name}: Debian's {}", sources.package));
        let inputs = cost::seeds(name)?;
        let folder = copied(&inputs, name)?;
        let work = Work { guest: name.into(), wasm, folder, inputs, time: self.settings.round_time };
        let contenders = self.contenders(&work, &sources)?;
        let mut guest = replay(&work, contenders, self.settings.rounds, &mut self.report.left_out);
        if !self.settings.fuzz_time.is_zero() {
            guest.fuzzed = self.fuzz(&work, &sources)?;
        }
        Ok(guest)
    }

    fn contenders(&mut self, work: &Work, sources: &Sources) -> Result<Vec<Contender>> {
        let (guest, folder) = (&work.guest, build::folder(&work.guest)?);
        let (clang, libfuzzer) = (self.tools.clang.clone(), self.tools.libfuzzer);
        let mut all = Vec::new();
        for (row, build, possible) in [
            ("native", Build::Plain, true),
            ("libfuzzer_code", Build::LibFuzzerCode, libfuzzer),
            ("libfuzzer_engine", Build::LibFuzzerEngine, libfuzzer),
            ("libfuzzer_edges", Build::Edges, true),
        ] {
            let path = possible.then(|| build.make(sources, &clang, &folder));
            let path = path.and_then(|path| self.or_left_out(guest, row, path));
            all.extend(path.map(|path| match build {
                Build::LibFuzzerEngine => Contender::Engine(path),
                _ => Contender::Program(row, path),
            }));
        }
        for (row, edges) in [("wasm2c", false), ("wasm2c_edges", true)] {
            let path =
                self.tools.wasm2c.as_ref().map(|runtime| wasm2c::make(&work.wasm, runtime, edges, &clang, &folder));
            all.extend(
                path.and_then(|path| self.or_left_out(guest, row, path)).map(|path| Contender::Program(row, path)),
            );
        }
        let wasm = fs::read(&work.wasm).with_context(|| format!("failed to read `{}`", work.wasm.display()))?;
        all.push(Contender::Plain(plain_machine(&wasm)?));
        all.extend(self.or_left_out(guest, "fuzzbox", fuzzbox::binary()).map(Contender::Fuzzbox));
        Ok(all)
    }

    /// The guest that does nothing, by us and by new instances.
    fn empty(&mut self) -> Result<Guest> {
        let wasm = build::drivers().join("empty.wat");
        let inputs = vec![b"an input".to_vec()];
        let folder = copied(&inputs, "empty")?;
        let text = fs::read_to_string(&wasm).with_context(|| format!("failed to read `{}`", wasm.display()))?;
        let module = wat::parse_str(&text)?;
        let mut all = vec![Contender::Plain(plain_machine(&module)?)];
        for (row, resident) in [("plain_fresh", false), ("plain_fresh_resident", true)] {
            all.push(Contender::Fresh(row, Fresh::new(&module, resident)?));
        }
        all.extend(self.or_left_out("empty", "fuzzbox", fuzzbox::binary()).map(Contender::Fuzzbox));
        let work = Work { guest: "empty".into(), wasm, folder, inputs, time: self.settings.round_time };
        Ok(replay(&work, all, self.settings.rounds, &mut self.report.left_out))
    }

    fn fuzz(&mut self, work: &Work, sources: &Sources) -> Result<Vec<(&'static str, Vec<Fuzzed>)>> {
        let Some(meter) = self.or_left_out(&work.guest, "fuzzing", native::cpu_meter(&self.tools.clang)) else {
            return Ok(Vec::new());
        };
        let meter = Meter(meter);
        let campaign =
            Campaign { wasm: &work.wasm, inputs: &work.folder, time: self.settings.fuzz_time, meter: &meter };
        let mut fuzzers = self.fuzzers(&work.guest, sources)?;
        let mut all: Vec<_> = fuzzers.iter().map(|fuzzer| (fuzzer.name(), Vec::new())).collect();
        for round in 1..=self.settings.fuzz_rounds {
            fuzzers.retain(|fuzzer| {
                eprintln!("fuzzing {} with {}: {round} of {}", work.guest, fuzzer.name(), self.settings.fuzz_rounds);
                let fuzzed = self.or_left_out(&work.guest, fuzzer.name(), fuzzer.run(&campaign));
                let kept = fuzzed.is_some();
                all.iter_mut()
                    .filter(|(name, _)| *name == fuzzer.name())
                    .for_each(|(_, all)| all.extend(fuzzed.clone()));
                kept
            });
        }
        Ok(all)
    }

    fn fuzzers(&mut self, guest: &str, sources: &Sources) -> Result<Vec<Fuzzer>> {
        let folder = build::folder(guest)?;
        let make = |build: Build, clang: &str, possible: bool| -> Option<Result<PathBuf>> {
            possible.then(|| build.make(sources, clang, &folder))
        };
        let libfuzzer = make(Build::LibFuzzer, &self.tools.clang, self.tools.libfuzzer);
        let afl = make(Build::Afl, &self.tools.clang, self.tools.afl);
        let libfuzzer = libfuzzer.and_then(|path| self.or_left_out(guest, "libfuzzer", path)).map(Fuzzer::LibFuzzer);
        let afl = afl.and_then(|path| self.or_left_out(guest, "afl", path)).map(Fuzzer::Afl);
        // That it isn't there was said when it was to replay.
        let ours = fuzzbox::binary().ok().map(Fuzzer::Fuzzbox);
        Ok([libfuzzer, afl, ours].into_iter().flatten().collect())
    }

    /// A value, or `None` and a word in the report.
    fn or_left_out<T>(&mut self, guest: &str, what: &str, value: Result<T>) -> Option<T> {
        value
            .inspect_err(|error| {
                self.report.left_out.push(LeftOut { guest: guest.into(), what: what.into(), why: shown(error) });
            })
            .ok()
    }
}

/// Writes a guest's inputs into a folder that holds nothing else, and where no fuzzer can do harm.
fn copied(inputs: &[Vec<u8>], guest: &str) -> Result<PathBuf> {
    let folder = build::folder(guest)?.join("inputs");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("failed to remove `{}`", folder.display()))?;
    }
    fs::create_dir(&folder).with_context(|| format!("failed to create `{}`", folder.display()))?;
    for (index, input) in inputs.iter().enumerate() {
        let path = folder.join(format!("{index:03}"));
        fs::write(&path, input).with_context(|| format!("failed to write `{}`", path.display()))?;
    }
    Ok(folder)
}

/// An error in a line: its beginning, which says what failed, and its end, which says why.
pub(crate) fn shown(error: &anyhow::Error) -> String {
    const BEGINNING: usize = 100;
    const END: usize = 200;
    let words: Vec<_> = format!("{error:#}").split_whitespace().map(str::to_owned).collect();
    let line: Vec<char> = words.join(" ").chars().collect();
    if line.len() <= BEGINNING + END {
        return line.into_iter().collect();
    }
    let beginning: String = line[..BEGINNING].iter().collect();
    let end: String = line[line.len() - END..].iter().collect();
    format!("{beginning} ... {end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_shown_in_a_short_line() {
        assert_eq!(shown(&anyhow::anyhow!("one\ntwo\n").context("three")), "three: one two");
        let long = shown(&anyhow::anyhow!("what {} why", "ä".repeat(1000)));
        assert!(long.chars().count() < 320 && long.starts_with("what ") && long.ends_with(" why"), "{long}");
    }

    #[test]
    fn an_unknown_guest_is_refused_with_the_list() {
        let settings = Settings {
            guests: vec!["nothing".into()],
            rounds: 1,
            round_time: Duration::ZERO,
            fuzz_time: Duration::ZERO,
            fuzz_rounds: 1,
            clang: "clang".into(),
        };
        let error = run(&settings).unwrap_err().to_string();
        assert!(error.contains("`nothing`") && error.contains("cjson"), "{error}");
    }
}
