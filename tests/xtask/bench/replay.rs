//! Replays the same inputs in turns, by everybody who can.

use super::fresh::Fresh;
use super::report::{Guest, LeftOut, Row};
use super::{fuzzbox, shown};
use crate::cost::machine::{self, Machine};
use crate::guests::tool;
use anyhow::{Context as _, Result, ensure};
use cpu_time::ThreadTime;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// How fast one of the rows was in one round.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rate {
    /// The row's id; [`super::report::label`] says it in words.
    pub(super) row: String,
    /// Executions per second of CPU time.
    pub(super) per_second: f64,
}

/// Somebody who runs the inputs.
pub(super) enum Contender {
    /// A program of ours, for the row named: `program <inputs> <milliseconds>`.
    Program(&'static str, PathBuf),
    /// libFuzzer with our mutator.
    Engine(PathBuf),
    /// The module as it is, in one instance.
    Plain(Machine),
    /// The module as it is, in a new instance each time, for the row named.
    Fresh(&'static str, Fresh),
    /// The `fuzzbox` binary, for several rows.
    Fuzzbox(PathBuf),
}

/// What everybody has to run.
pub(super) struct Work {
    pub(super) guest: String,
    /// The guest's module.
    pub(super) wasm: PathBuf,
    /// The folder of the inputs, and the inputs in the order of their names.
    pub(super) folder: PathBuf,
    pub(super) inputs: Vec<Vec<u8>>,
    /// CPU time of each row in a round, at least.
    pub(super) time: Duration,
}

impl Contender {
    fn round(&self, work: &Work) -> Result<Vec<Rate>> {
        let one = |row: &str, per_second| vec![Rate { row: row.to_owned(), per_second }];
        Ok(match self {
            Self::Program(row, path) => {
                let mut command = Command::new(path);
                one(row, counted(command.arg(&work.folder).arg(work.time.as_millis().to_string()))?)
            }
            Self::Engine(path) => {
                let corpus = tempfile::tempdir().context("failed to create a corpus")?;
                one("libfuzzer_engine", counted(&mut engine(path, work, corpus.path()))?)
            }
            Self::Plain(machine) => one("plain_kept", plain(machine, work)?),
            Self::Fresh(row, fresh) => one(row, rate(work, || fresh.run(&work.inputs))?),
            Self::Fuzzbox(binary) => fuzzbox::fuzzbox_rows(binary, &work.wasm, &work.folder, work.time)?,
        })
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Program(row, _) | Self::Fresh(row, _) => row,
            Self::Engine(_) => "libfuzzer_engine",
            Self::Plain(_) => "plain_kept",
            Self::Fuzzbox(_) => "fuzzbox",
        }
    }
}

/// Lets all have their turn in each round. Who fails is left out from then on.
pub(super) fn replay(work: &Work, mut all: Vec<Contender>, rounds: usize, left_out: &mut Vec<LeftOut>) -> Guest {
    let mut rows: Vec<Row> = Vec::new();
    for round in 1..=rounds {
        eprintln!("replaying {}: round {round} of {rounds}", work.guest);
        all.retain(|contender| match contender.round(work) {
            Ok(rates) => {
                rates.into_iter().for_each(|rate| add(&mut rows, rate));
                true
            }
            Err(error) => {
                left_out.push(LeftOut { guest: work.guest.clone(), what: contender.name().into(), why: shown(&error) });
                false
            }
        });
    }
    // Rows are compared round by round.
    rows.retain(|row| row.rates.len() == rounds);
    Guest::new(&work.guest, &work.inputs, rows)
}

fn add(rows: &mut Vec<Row>, rate: Rate) {
    match rows.iter_mut().find(|row| row.id == rate.row) {
        Some(row) => row.rates.push(rate.per_second),
        None => rows.push(Row { id: rate.row, rates: vec![rate.per_second] }),
    }
}

/// libFuzzer's engine on the inputs alone: none is dropped or replaced by a smaller one, and all are short enough. What it
/// takes for new, as state is left behind by earlier executions, it writes to `corpus`, its first folder.
fn engine(path: &Path, work: &Work, corpus: &Path) -> Command {
    let bytes_max = work.inputs.iter().map(Vec::len).max().unwrap_or_default().max(1);
    let mut command = Command::new(path);
    command.args(["-keep_seed=1", "-reduce_inputs=0", "-len_control=0", "-seed=1", "-verbosity=0"]);
    command.arg(format!("-max_len={bytes_max}")).arg(corpus).arg(&work.folder);
    command.env("BENCH_INPUTS", &work.folder).env("BENCH_MS", work.time.as_millis().to_string());
    command
}

/// Runs a program that prints how many executions took how much CPU time; gives executions per second.
fn counted(command: &mut Command) -> Result<f64> {
    let output = tool::run(command)?;
    parse(&String::from_utf8_lossy(&output.stdout))
}

fn parse(stdout: &str) -> Result<f64> {
    let line = stdout.lines().last().context("the program printed nothing")?;
    let value: Value = serde_json::from_str(line).with_context(|| format!("the program printed `{line}`"))?;
    let number = |name: &str| value[name].as_f64().with_context(|| format!("no `{name}` in `{line}`"));
    let (executions, cpu_ns) = (number("executions")?, number("cpu_ns")?);
    ensure!(executions > 0.0 && cpu_ns > 0.0, "nothing was executed: `{line}`");
    Ok(executions * 1e9 / cpu_ns)
}

fn plain(machine: &Machine, work: &Work) -> Result<f64> {
    let mut kept = machine.start(work.inputs.iter().map(Vec::len).max().unwrap_or_default())?;
    kept.refuel()?;
    rate(work, || kept.run(&work.inputs))
}

/// Executions per second of a function that runs all inputs.
fn rate(work: &Work, mut run_all: impl FnMut() -> Result<()>) -> Result<f64> {
    run_all()?;
    // Twice as many passes each time, so that the clock is hardly ever read.
    let (mut passes, mut next, start) = (0, 1, ThreadTime::now());
    loop {
        for _ in 0..next {
            run_all()?;
        }
        (passes, next) = (passes + next, next * 2);
        let elapsed = start.elapsed();
        if elapsed >= work.time && !elapsed.is_zero() {
            return Ok((passes * work.inputs.len()) as f64 / elapsed.as_secs_f64());
        }
    }
}

/// The module as it is, compiled as the host compiles it.
pub(super) fn plain_machine(wasm: &[u8]) -> Result<Machine> {
    Machine::compile(&machine::engine()?, wasm, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_has_executions_and_their_time() {
        assert_eq!(parse("hello\n{\"executions\":3000,\"cpu_ns\":1500000000}\n").unwrap(), 2000.0);
        for bad in ["", "no", "{}", "{\"executions\":0,\"cpu_ns\":1}", "{\"executions\":1,\"cpu_ns\":0}"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    fn work(inputs: Vec<Vec<u8>>) -> Work {
        let nowhere = PathBuf::from("nowhere");
        Work { guest: "empty".into(), wasm: nowhere.clone(), folder: nowhere, inputs, time: Duration::from_millis(1) }
    }

    #[test]
    fn who_fails_is_left_out_and_the_others_go_on() {
        let wasm = wat::parse_file(super::super::build::drivers().join("empty.wat")).unwrap();
        let all = vec![
            Contender::Program("native", "there-is-no-such-program".into()),
            Contender::Plain(plain_machine(&wasm).unwrap()),
            Contender::Fresh("plain_fresh", Fresh::new(&wasm, false).unwrap()),
        ];
        let mut left_out = Vec::new();
        let guest = replay(&work(vec![b"input".to_vec()]), all, 2, &mut left_out);
        let ids: Vec<_> = guest.rows.iter().map(|row| (row.id.as_str(), row.rates.len())).collect();
        assert_eq!(ids, [("plain_kept", 2), ("plain_fresh", 2)]);
        assert_eq!((left_out.len(), left_out[0].what.as_str()), (1, "native"));
        assert!(left_out[0].why.contains("there-is-no-such-program"), "{left_out:?}");
    }
}
