//! What we find beside others: the same programs, from the same sources, in the same CPU time.
//!
//! ```text
//! sources --- for wasm ------------------------------> fuzzbox     -+                      edges: all that each kept,
//!         \-- clang -fsanitize=fuzzer --------------> libFuzzer    -+-- a campaign of ----> run by one native program
//!          \- afl-clang-fast, again with CmpLog ----> AFL++        -+   each, by turns      with libFuzzer's counters
//!           \ clang, guards and comparisons --------> LibAFL       -+                      bugs: CPU time to the first crash
//! ```
//!
//! CPU time is that of all processes of a fuzzer, so ours has what compiling takes in it. The judge is built without
//! unrolled loops: copies of one branch of the source would count for native fuzzers alone. AFL++ and LibAFL are built
//! from crates.io, in versions that stand in `peers`.
//!
//! Who can't be built, or gives up, is left out with a word why.

mod fuzzer;
mod judge;
mod peers;
mod programs;
mod report;
mod subject;

pub use report::{Report, json, table};

use crate::bench::fuzzbox;
use crate::bench::meter::Meter;
use crate::bench::native::cpu_meter;
use crate::bench::tools;
use crate::cost::GUESTS;
use crate::guests::CRASHES;
use anyhow::{Context as _, Result, ensure};
use fuzzer::{Campaign, Fuzzer};
use peers::Peers;
use programs::{Kind, built};
use report::{Cell, Measured};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use subject::Subject;

/// What is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// How many edges of the judge are reached in the time.
    Edges,
    /// CPU time until something crashes, which is then the end.
    Crash,
}

/// What a campaign begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// The program's own inputs.
    Seeds,
    /// One newline.
    Nothing,
}

/// What to measure and for how long.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which programs: guests, C files, or descriptions in JSON. Those with seeds, or those with a crash, if none is
    /// named.
    pub programs: Vec<String>,
    /// What is looked at.
    pub goal: Goal,
    /// What campaigns begin with, each in turn.
    pub starts: Vec<Start>,
    /// CPU time of a campaign, each in turn.
    pub times: Vec<Duration>,
    /// Campaigns of each, with seeds from 1 on.
    pub rounds: u64,
    /// Who fuzzes: `fuzzbox`, `fuzzbox:STRATEGY`, `libfuzzer`, `libfuzzer:value-profile`, `afl`, `libafl`. The first is
    /// compared with the best of the others.
    pub rows: Vec<String>,
    /// Campaigns at the same time.
    pub at_once: usize,
    /// The native compiler.
    pub clang: String,
}

/// Builds what has to be built, and fuzzes each program by each.
///
/// # Errors
///
/// If a program or a row is unknown, the judge can't be built, or the machine has no room.
pub fn run(settings: &Settings) -> Result<Report> {
    ensure!(settings.at_once > 0 && settings.rounds > 0, "nothing is measured by 0 campaigns");
    let rows = settings.rows.iter().map(|row| row.parse()).collect::<Result<Vec<Row>>>()?;
    let names = match (settings.programs.as_slice(), settings.goal) {
        ([], Goal::Edges) => GUESTS.iter().map(|&name| name.to_owned()).collect(),
        ([], Goal::Crash) => CRASHES.iter().map(|&name| name.to_owned()).collect(),
        (named, _) => named.to_vec(),
    };
    let subjects = names.iter().map(|name| Subject::find(name)).collect::<Result<Vec<_>>>()?;
    let meter = Meter(cpu_meter(&settings.clang)?);
    let mut report = Report::new(settings, tools::machine());
    let peers = Peers::build(&rows, &settings.clang, &mut report);
    for subject in &subjects {
        measure(subject, settings, &rows, &peers, &meter, &mut report)
            .with_context(|| format!("failed to measure `{}`", subject.name))?;
    }
    Ok(report)
}

/// Who fuzzes.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Row {
    /// With a strategy, or the usual one.
    Fuzzbox(Option<String>),
    LibFuzzer {
        value_profile: bool,
    },
    Afl,
    LibAfl,
}

impl std::str::FromStr for Row {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        Ok(match text.split_once(':').map_or((text, None), |(name, rest)| (name, Some(rest))) {
            ("fuzzbox", strategy) => Self::Fuzzbox(strategy.map(str::to_owned)),
            ("libfuzzer", None) => Self::LibFuzzer { value_profile: false },
            ("libfuzzer", Some("value-profile")) => Self::LibFuzzer { value_profile: true },
            ("afl", None) => Self::Afl,
            ("libafl", None) => Self::LibAfl,
            _ => anyhow::bail!(
                "no fuzzer is called `{text}`; there are fuzzbox, fuzzbox:STRATEGY, libfuzzer, libfuzzer:value-profile, \
                 afl and libafl"
            ),
        })
    }
}

/// One program by all fuzzers.
fn measure(
    subject: &Subject,
    settings: &Settings,
    rows: &[Row],
    peers: &Peers,
    meter: &Meter,
    report: &mut Report,
) -> Result<()> {
    let judge = match settings.goal {
        Goal::Edges => Some(built(Kind::Judge, subject, &settings.clang, peers)?),
        Goal::Crash => None,
    };
    let mut fuzzers = Vec::new();
    for (row, name) in rows.iter().zip(&settings.rows) {
        match fuzzer(row, subject, peers, &settings.clang) {
            Ok(fuzzer) => fuzzers.push((name.as_str(), fuzzer)),
            Err(error) => report.leave_out(&subject.name, name, &error),
        }
    }
    for &start in settings.starts.iter().filter(|&&start| start == Start::Nothing || subject.inputs.is_some()) {
        let folder = tempfile::tempdir().context("failed to create a folder for seeds")?;
        let seeds = folder.path().join("seeds");
        subject.write_seeds(start, &seeds)?;
        for &time in &settings.times {
            let plan: Vec<_> =
                (1..=settings.rounds).flat_map(|seed| (0..fuzzers.len()).map(move |fuzzer| (seed, fuzzer))).collect();
            let told = |index: usize| -> Result<Measured> {
                let (seed, (name, fuzzer)) = (plan[index].0, &fuzzers[plan[index].1]);
                eprintln!("{}: campaign {} of {}, {name}", subject.name, index + 1, plan.len());
                let home = tempfile::tempdir().context("failed to create a folder to fuzz in")?;
                let until_crash = settings.goal == Goal::Crash;
                let (wasm, seeds, home) = (subject.wasm.as_path(), seeds.as_path(), home.path());
                let campaign = Campaign { wasm, seeds, home, time, seed, until_crash, meter };
                one(fuzzer, &campaign, judge.as_deref())
            };
            let measured = all(plan.len(), settings.at_once, told);
            for (number, (name, _)) in fuzzers.iter().enumerate() {
                let own = plan.iter().zip(&measured).filter(|((_, fuzzer), _)| *fuzzer == number);
                let mut values = Vec::new();
                for (_, result) in own {
                    match result {
                        Ok(value) => values.push(*value),
                        Err(error) => report.leave_out(&subject.name, name, error),
                    }
                }
                let (program, row) = (subject.name.clone(), (*name).to_owned());
                report.cells.push(Cell { program, start, time, row, values });
            }
        }
    }
    Ok(())
}

/// Runs one campaign, and judges it.
fn one(fuzzer: &Fuzzer, campaign: &Campaign<'_>, judge: Option<&Path>) -> Result<Measured> {
    let outcome = fuzzer.run(campaign)?;
    Ok(match judge {
        Some(judge) => Measured::Edges(judge::edges(judge, &[&outcome.kept, campaign.seeds])?),
        None => Measured::Crash(outcome.crashed.then_some(outcome.cpu)),
    })
}

/// What a program is fuzzed by, built for it.
fn fuzzer(row: &Row, subject: &Subject, peers: &Peers, clang: &str) -> Result<Fuzzer> {
    let built = |kind| built(kind, subject, clang, peers);
    Ok(match row {
        Row::Fuzzbox(strategy) => Fuzzer::Fuzzbox { binary: fuzzbox::binary()?, strategy: strategy.clone() },
        Row::LibFuzzer { value_profile } => {
            Fuzzer::LibFuzzer { program: built(Kind::LibFuzzer)?, value_profile: *value_profile }
        }
        Row::Afl => {
            let program = built(Kind::Afl)?;
            // Of Rust only a compiler of its own would record comparisons.
            let compared = if subject.is_rust() { None } else { Some(built(Kind::AflCompared)?) };
            Fuzzer::Afl { tools: peers.afl()?.to_owned(), program, compared }
        }
        Row::LibAfl => Fuzzer::LibAfl { program: built(Kind::LibAfl)? },
    })
}

/// The results of so many pieces of work, so many of them at the same time.
fn all<T: Send>(count: usize, at_once: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..at_once.min(count) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count {
                        break;
                    }
                    let result = work(index);
                    done.lock().expect("nobody panics with it").push((index, result));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("nobody panics with it");
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_work_whoever_does_it() {
        for at_once in [1, 3, 20] {
            assert_eq!(all(7, at_once, |index| index * index), [0, 1, 4, 9, 16, 25, 36]);
        }
    }

    #[test]
    fn rows_are_told_by_their_names() {
        assert_eq!("fuzzbox:tree:explore".parse::<Row>().unwrap(), Row::Fuzzbox(Some("tree:explore".into())));
        assert_eq!("libfuzzer:value-profile".parse::<Row>().unwrap(), Row::LibFuzzer { value_profile: true });
        let error = "afl:fast".parse::<Row>().unwrap_err().to_string();
        assert!(error.contains("`afl:fast`") && error.contains("libafl"), "{error}");
    }
}
