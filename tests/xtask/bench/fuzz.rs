//! Fuzzing instead of replaying: each fuzzer as people use it, from the same inputs, for the same CPU time.

use super::fuzzbox;
use super::meter::{Meter, Metered};
use crate::guests::write_whole;
use anyhow::{Context as _, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A fuzzer, ready to run on a guest.
#[expect(clippy::enum_variant_names, reason = "it is called so")]
pub(super) enum Fuzzer {
    /// The instrumented program.
    LibFuzzer(PathBuf),
    /// The instrumented program.
    Afl(PathBuf),
    /// The binary.
    Fuzzbox(PathBuf),
}

/// What a campaign did.
#[derive(Clone, Debug, PartialEq)]
pub struct Fuzzed {
    /// How often the guest ran.
    pub executions: u64,
    /// CPU time of all processes of the fuzzer.
    pub cpu: Duration,
    /// Mean length of the inputs, if it is known.
    pub input_bytes_mean: Option<f64>,
    /// How often the fuzzer was started: libFuzzer stops at each crash.
    pub starts: u32,
}

impl Fuzzed {
    /// Executions per second of CPU time.
    pub fn per_second(&self) -> f64 {
        self.executions as f64 / self.cpu.as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

/// Where and how long.
pub(super) struct Campaign<'a> {
    pub(super) wasm: &'a Path,
    /// The folder of the inputs to begin with.
    pub(super) inputs: &'a Path,
    pub(super) time: Duration,
    pub(super) meter: &'a Meter,
}

impl Fuzzer {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::LibFuzzer(_) => "libfuzzer",
            Self::Afl(_) => "afl",
            Self::Fuzzbox(_) => "fuzzbox",
        }
    }

    /// Fuzzes from the inputs alone; what is found is thrown away.
    pub(super) fn run(&self, campaign: &Campaign<'_>) -> Result<Fuzzed> {
        match self {
            Self::LibFuzzer(program) => counted(campaign, |folder| libfuzzer(program, campaign.inputs, folder)),
            Self::Afl(program) => counted(campaign, |folder| Ok(afl(program, campaign.inputs, folder))),
            Self::Fuzzbox(binary) => {
                let Campaign { wasm, inputs, time, meter } = campaign;
                fuzzbox::fuzz(binary, wasm, inputs, meter, *time)
            }
        }
    }
}

fn libfuzzer(program: &Path, inputs: &Path, folder: &Path) -> Result<Command> {
    let corpus = folder.join("corpus");
    fs::create_dir(&corpus).context("failed to create a corpus")?;
    let mut command = Command::new(program);
    command.arg("-verbosity=0").arg(format!("-artifact_prefix={}/", folder.display())).arg(corpus).arg(inputs);
    Ok(command)
}

fn afl(program: &Path, inputs: &Path, folder: &Path) -> Command {
    let mut command = Command::new("afl-fuzz");
    command.arg("-i").arg(inputs).arg("-o").arg(folder.join("out")).arg("--").arg(program);
    unasked(&mut command);
    command
}

/// AFL++ won't ask for a quiet terminal, for settings of the kernel's, or for a core that nobody uses. It is bound to a core
/// if it can be, as it is by default: its processes wait for each other all the time, and wake up three times as fast on one
/// core.
pub(crate) fn unasked(command: &mut Command) {
    for variable in ["AFL_NO_UI", "AFL_TRY_AFFINITY", "AFL_SKIP_CPUFREQ", "AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES"] {
        command.env(variable, "1");
    }
}

/// Runs a program that counts its executions in a file, in a folder of its own.
fn counted(campaign: &Campaign<'_>, command: impl FnOnce(&Path) -> Result<Command>) -> Result<Fuzzed> {
    let home = tempfile::tempdir_in(super::build::folder("tools")?).context("failed to create a folder to fuzz in")?;
    let counts = home.path().join("counts");
    write_whole(&counts, &[0; 16])?;
    let mut command = command(home.path())?;
    let metered = campaign.meter.run(command.env("BENCH_COUNTS", &counts).current_dir(home.path()), campaign.time)?;
    let counts = fs::read(&counts).context("failed to read the counts")?;
    judge(&metered, &counts, campaign.time)
}

fn judge(metered: &Metered, counts: &[u8], time: Duration) -> Result<Fuzzed> {
    let number = |at| counts.get(at..at + 8).map(|bytes| u64::from_le_bytes(bytes.try_into().expect("8 bytes")));
    let (executions, bytes) = number(0).zip(number(8)).context("the counts are cut off")?;
    let Metered { cpu, starts, .. } = *metered;
    // Whoever ends much earlier was not fuzzing.
    ensure!(
        cpu * 2 >= time && executions > 0,
        "ended with status {} after {:.1} s of CPU time and {executions} executions: {}{}",
        metered.status,
        cpu.as_secs_f64(),
        end(&metered.stdout),
        end(&metered.stderr)
    );
    let input_bytes_mean = Some(bytes as f64 / executions as f64);
    Ok(Fuzzed { executions, cpu, input_bytes_mean, starts })
}

/// The last few lines.
pub(crate) fn end(text: &str) -> String {
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(5)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metered(cpu: Duration) -> Metered {
        Metered { status: 77, starts: 3, cpu, stdout: String::new(), stderr: "why\n".into() }
    }

    fn counts(executions: u64, bytes: u64) -> Vec<u8> {
        [executions.to_le_bytes(), bytes.to_le_bytes()].concat()
    }

    #[test]
    fn rates_and_lengths_come_from_the_counts() {
        let second = Duration::from_secs(1);
        let fuzzed = judge(&metered(2 * second), &counts(1000, 50_000), 2 * second).unwrap();
        assert_eq!((fuzzed.per_second(), fuzzed.input_bytes_mean, fuzzed.starts), (500.0, Some(50.0), 3));
    }

    #[test]
    fn a_fuzzer_that_gave_up_is_no_row() {
        let second = Duration::from_secs(1);
        for (cpu, executions) in [(second / 10, 1000), (second, 0)] {
            let error = judge(&metered(cpu), &counts(executions, 0), second).unwrap_err().to_string();
            assert!(error.contains("status 77") && error.contains("why"), "{error}");
        }
        assert!(judge(&metered(second), &[0; 12], second).is_err());
    }
}
