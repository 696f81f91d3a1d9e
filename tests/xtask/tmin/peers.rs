//! Shrinks one input by each tool, as people call it.

use crate::bench::build::folder;
use crate::bench::tools;
use crate::guests::{tool, write_whole};
use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder to work in, with the input.
pub(super) struct Work {
    home: tempfile::TempDir,
    pub(super) input: PathBuf,
    /// Executions and bytes, which the native programs count.
    counts: PathBuf,
}

impl Work {
    pub(super) fn new(input: &[u8]) -> Result<Self> {
        let home = tempfile::tempdir_in(folder("tools")?).context("failed to create a folder to shrink in")?;
        let work = Self { input: home.path().join("input"), counts: home.path().join("counts"), home };
        write_whole(&work.input, input)?;
        Ok(work)
    }

    /// A command that works here.
    pub(super) fn command(&self, program: &Path) -> Result<Command> {
        write_whole(&self.counts, &[0; 16])?;
        let mut command = Command::new(program);
        command.current_dir(self.home.path()).env("BENCH_COUNTS", &self.counts);
        Ok(command)
    }

    fn output(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }
}

/// What is left, and the executions it took.
pub(super) fn fuzzbox(binary: &Path, wasm: &Path, work: &Work) -> Result<(Vec<u8>, u64)> {
    let small = work.output("small");
    let mut command = work.command(binary)?;
    command.arg("shrink").arg(wasm).arg(&work.input).args(["--json", "--output"]).arg(&small);
    let output = tool::run(&mut command)?;
    let summary: Value = serde_json::from_slice(&output.stdout).context("`fuzzbox shrink` printed something else")?;
    let number = |name: &str| summary[name].as_u64().with_context(|| format!("no `{name}` in `{summary}`"));
    Ok((read(&small)?, number("executions")? + number("exhaustive")?))
}

/// The same, by afl-tmin.
pub(super) fn afl(program: &Path, work: &Work) -> Result<(Vec<u8>, u64)> {
    let small = work.output("small-afl");
    let mut command = work.command(Path::new("afl-tmin"))?;
    command.arg("-i").arg(&work.input).arg("-o").arg(&small).arg("--").arg(program);
    let output = tool::run(&mut command)?;
    Ok((read(&small)?, afl_executions(&text(&output))?))
}

/// Reads `     Number of execs done : 412`, in colours.
fn afl_executions(text: &str) -> Result<u64> {
    let line = text.lines().map(tools::plain).find(|line| line.contains("Number of execs done"));
    let number = line.and_then(|line| line.rsplit(':').next()?.trim().parse().ok());
    number.with_context(|| format!("afl-tmin does not say how often it executed\n{text}"))
}

/// The same, by libFuzzer, which gives up after `runs` in vain.
pub(super) fn libfuzzer(program: &Path, runs: u64, work: &Work) -> Result<(Vec<u8>, u64)> {
    let small = work.output("small-libfuzzer");
    let mut command = work.command(program)?;
    command.args(["-minimize_crash=1", "-seed=1"]).arg(format!("-runs={runs}"));
    command.arg(format!("-exact_artifact_path={}", small.display())).arg(&work.input);
    let output = tool::try_run(&mut command)?;
    ensure!(small.is_file(), "libFuzzer has written nothing ({})\n{}", output.status, text(&output));
    let counts = read(&work.counts)?;
    let executions = counts.first_chunk().copied().map(u64::from_le_bytes).context("the counts are cut off")?;
    Ok((read(&small)?, executions))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("failed to read `{}`", path.display()))
}

/// All that a command printed.
pub(super) fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[&*output.stdout, &*output.stderr].concat()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executions_are_read_from_what_afl_tmin_says() {
        let text =
            "\x1b[1;90m    Characters simplified : \x1b[0m13.67%\n\x1b[1;90m     Number of execs done : \x1b[0m63\n";
        assert_eq!(afl_executions(text).unwrap(), 63);
        assert!(afl_executions("[-] PROGRAM ABORT : Unable to open\n").is_err());
    }
}
