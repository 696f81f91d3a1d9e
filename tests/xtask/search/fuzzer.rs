//! Campaigns, as people start them.

use super::programs::dictionary;
use crate::bench::fuzz::{end, unasked};
use crate::bench::meter::{Meter, Metered};
use crate::guests::tool;
use anyhow::{Context as _, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A fuzzer, with what it fuzzes.
#[expect(clippy::enum_variant_names, reason = "it is called so")]
pub(super) enum Fuzzer {
    Fuzzbox {
        binary: PathBuf,
        strategy: Option<String>,
    },
    LibFuzzer {
        program: PathBuf,
        value_profile: bool,
    },
    /// `compared` is the program that tells what it compares.
    Afl {
        tools: PathBuf,
        program: PathBuf,
        compared: Option<PathBuf>,
    },
    LibAfl {
        program: PathBuf,
    },
}

/// Where, from what, and how long.
pub(super) struct Campaign<'a> {
    pub(super) wasm: &'a Path,
    /// The folder of the inputs to begin with.
    pub(super) seeds: &'a Path,
    /// An empty folder to work in.
    pub(super) home: &'a Path,
    pub(super) time: Duration,
    pub(super) seed: u64,
    /// It ends at the first crash.
    pub(super) until_crash: bool,
    pub(super) meter: &'a Meter,
}

/// What a campaign did.
pub(super) struct Outcome {
    /// CPU time of all its processes.
    pub(super) cpu: Duration,
    /// The folder of the inputs that it kept.
    pub(super) kept: PathBuf,
    pub(super) crashed: bool,
}

impl Fuzzer {
    /// Fuzzes until the time is used, or something crashes.
    pub(super) fn run(&self, campaign: &Campaign<'_>) -> Result<Outcome> {
        let (mut command, kept, crashes) = match self {
            Self::Fuzzbox { binary, strategy } => ours(binary, strategy.as_deref(), campaign),
            Self::LibFuzzer { program, value_profile } => libfuzzer(program, *value_profile, campaign)?,
            Self::Afl { tools, program, compared } => afl(tools, program, compared.as_deref(), campaign),
            Self::LibAfl { program } => libafl(program, campaign),
        };
        command.current_dir(campaign.home);
        let meter = campaign.meter;
        let mut metered = match campaign.until_crash {
            true => meter.run_once(&command, campaign.time)?,
            false => meter.run(&command, campaign.time)?,
        };
        // What hangs ends our campaigns too, and is counted by nobody: then the search goes on.
        let goes_on = matches!(self, Self::Fuzzbox { .. }) && campaign.until_crash;
        while goes_on && metered.status == 1 && metered.cpu < campaign.time && !metered.stdout.lines().any(is_crash) {
            let more = meter.run_once(&command, campaign.time - metered.cpu)?;
            metered = Metered { cpu: metered.cpu + more.cpu, ..more };
        }
        let crashed = match self {
            Self::Fuzzbox { binary, .. } => {
                let complaint = &metered.stderr;
                ensure!(matches!(metered.status, 0 | 1), "`fuzzbox run` failed ({})\n{complaint}", metered.status);
                let mut export = Command::new(binary);
                tool::run(export.arg("export").arg(&kept).arg("--store").arg(&crashes))?;
                metered.stdout.lines().any(is_crash)
            }
            Self::LibFuzzer { .. } => is_there(&crashes, "crash-"),
            Self::Afl { .. } => is_there(&crashes, "id"),
            Self::LibAfl { .. } => is_there(&crashes, ""),
        };
        // Whoever ends much earlier without a crash was not fuzzing.
        ensure!(
            crashed || metered.cpu * 2 >= campaign.time,
            "ended with status {} after {:.1} s of CPU time: {}{}",
            metered.status,
            metered.cpu.as_secs_f64(),
            end(&metered.stdout),
            end(&metered.stderr)
        );
        Ok(Outcome { cpu: metered.cpu, kept, crashed })
    }
}

/// The command, where it keeps inputs, and where crashes (of ours all is in one store).
type Called = (Command, PathBuf, PathBuf);

fn ours(binary: &Path, strategy: Option<&str>, campaign: &Campaign<'_>) -> Called {
    let store = campaign.home.join("store");
    let mut command = Command::new(binary);
    command.arg("run").arg(campaign.wasm).arg("--corpus").arg(campaign.seeds).arg("--store").arg(&store);
    command.args(["--jobs", "1", "--no-shrink", "--reporter", "json", "--seed", &campaign.seed.to_string()]);
    command.arg("--stop-on").arg(if campaign.until_crash { "first" } else { "never" });
    command.arg("--time").arg(format!("{}s", campaign.time.as_secs() * 10 + 10));
    if let Some(strategy) = strategy {
        command.args(["--strategy", strategy]);
    }
    // What compiling takes is part of it, each time.
    command.env("XDG_CACHE_HOME", campaign.home.join("cache"));
    (command, campaign.home.join("kept"), store)
}

/// Whether an event of ours tells of a crash.
fn is_crash(event: &str) -> bool {
    let event: serde_json::Value = serde_json::from_str(event).unwrap_or_default();
    event["event"] == "finding" && event["kind"] != "hang"
}

fn libfuzzer(program: &Path, value_profile: bool, campaign: &Campaign<'_>) -> Result<Called> {
    let (corpus, crashes) = (campaign.home.join("corpus"), campaign.home.join("crashes"));
    for folder in [&corpus, &crashes] {
        fs::create_dir(folder).with_context(|| format!("failed to create `{}`", folder.display()))?;
    }
    let mut command = Command::new(program);
    // What harnesses print is nobody's: we would have to read it all.
    command.args(["-verbosity=0", "-close_fd_mask=3", "-rss_limit_mb=4096"]).arg(format!("-seed={}", campaign.seed));
    command.arg(format!("-use_value_profile={}", u8::from(value_profile)));
    command.arg(format!("-artifact_prefix={}/", crashes.display())).arg(&corpus).arg(campaign.seeds);
    Ok((command, corpus, crashes))
}

fn afl(tools: &Path, program: &Path, compared: Option<&Path>, campaign: &Campaign<'_>) -> Called {
    let out = campaign.home.join("out");
    let mut command = Command::new(tools.join("afl-fuzz"));
    command.arg("-i").arg(campaign.seeds).arg("-o").arg(&out).arg("-s").arg(campaign.seed.to_string());
    if let Some(compared) = compared {
        command.arg("-c").arg(compared);
    }
    with_dictionary(&mut command, "-x", program);
    command.args(["-m", "none", "-t", "1000", "--"]).arg(program);
    unasked(&mut command);
    if campaign.until_crash {
        command.env("AFL_BENCH_UNTIL_CRASH", "1");
    }
    (command, out.join("default/queue"), out.join("default/crashes"))
}

fn libafl(program: &Path, campaign: &Campaign<'_>) -> Called {
    let out = campaign.home.join("out");
    let mut command = Command::new(program);
    command.arg(&out).arg(campaign.seeds);
    // It is told the same strings as AFL++, if that was built.
    with_dictionary(&mut command, "", &program.with_file_name("search-afl"));
    if campaign.until_crash {
        command.env("UNTIL_CRASH", "1");
    }
    (command, out.join("queue"), out.join("crashes"))
}

/// Names the dictionary that was made with a program, if there is something in it.
fn with_dictionary(command: &mut Command, flag: &str, program: &Path) {
    let file = dictionary(program);
    if fs::metadata(&file).is_ok_and(|file| file.len() > 0) {
        command.args((!flag.is_empty()).then_some(flag)).arg(file);
    }
}

/// Whether a folder has a file whose name begins so.
fn is_there(folder: &Path, prefix: &str) -> bool {
    let Ok(files) = fs::read_dir(folder) else { return false };
    files.flatten().any(|file| file.file_name().to_string_lossy().starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hang_is_no_crash() {
        assert!(is_crash(r#"{"event":"finding","kind":"trap"}"#));
        assert!(!is_crash(r#"{"event":"finding","kind":"hang"}"#));
        assert!(!is_crash(r#"{"event":"done","kind":"trap"}"#) && !is_crash("words"));
    }

    #[test]
    fn files_are_told_by_how_their_names_begin() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!is_there(folder.path(), "") && !is_there(&folder.path().join("none"), ""));
        fs::write(folder.path().join("README.txt"), "").unwrap();
        assert!(is_there(folder.path(), "") && !is_there(folder.path(), "id"));
    }
}
