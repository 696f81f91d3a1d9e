//! How well a campaign would use many cores: a model, with measured inputs.
//!
//! A campaign with one worker says what each task of its rounds takes, and what the thread takes that all workers wait for between them. Tasks do not
//! depend on the number of workers, nor does what is between them. So with more workers, who each take the next task when they have
//! none, a round takes as long as the last of them works, and what is between rounds as long as before. What caches and memory that cores share take
//! is not in it.

use crate::cost::Program;
use anyhow::{Context as _, Result, ensure};
use cpu_time::ThreadTime;
use fuzzbox::engine::{Campaign, Dictionary, Mutator, Workers};
use fuzzbox::outcome::Outcome;
use fuzzbox::sandbox::Target;
use fuzzbox::settings::Settings;
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Numbers of workers that are told about.
const WORKERS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];

/// What a campaign with one guest took.
#[derive(Clone, Debug, Default)]
pub struct Modelled {
    guest: String,
    execs: u64,
    rounds: u64,
    /// CPU time of what is between tasks.
    serial: Duration,
    /// Of tasks that can be executed at the same time, in their order.
    tasks: Vec<Vec<Duration>>,
}

/// Measures guests in turn: each the second half of a campaign that lasts about so long.
///
/// # Errors
///
/// If a guest can't be built, or a campaign fails.
pub fn run(guests: &[String], time: Duration) -> Result<Vec<Modelled>> {
    guests.iter().map(|guest| measured(guest, time)).collect()
}

/// The CPU time of this thread since it first asked.
fn thread_time() -> Duration {
    thread_local! {
        static FIRST: ThreadTime = ThreadTime::now();
    }
    FIRST.with(ThreadTime::elapsed)
}

fn measured(guest: &str, time: Duration) -> Result<Modelled> {
    let Program { name: guest, wasm, seeds } = Program::find(guest)?;
    eprintln!("fuzzing {guest}");
    let wasm = std::fs::read(&wasm).with_context(|| format!("failed to read `{}`", wasm.display()))?;
    let target = Arc::new(Target::load(&wasm, Settings::default())?);
    let mutator = Mutator::new(Dictionary::default().with_constants_of(target.candidate.bytes()));
    let workers = Workers::new(1, Arc::default())?.with_meter(thread_time);
    let mut campaign = Campaign::new(target, 1, mutator);
    let signature = |outcome: &Outcome| format!("{outcome:?}");
    let start = Instant::now();
    campaign.start(&workers, &seeds, u64::MAX, &signature)?;
    while start.elapsed() < time / 2 {
        campaign.step(&workers, u64::MAX, &signature)?;
    }
    workers.take_times();
    let (before, own) = (campaign.totals(), ThreadTime::now());
    while start.elapsed() < time {
        campaign.step(&workers, u64::MAX, &signature)?;
    }
    let after = campaign.totals();
    ensure!(after.rounds > before.rounds, "`{guest}` had no round");
    Ok(Modelled {
        guest,
        execs: after.execs - before.execs,
        rounds: after.rounds - before.rounds,
        serial: own.elapsed(),
        tasks: workers.take_times(),
    })
}

impl Modelled {
    /// CPU time of all tasks.
    fn work(&self) -> Duration {
        self.tasks.iter().flatten().sum()
    }

    /// Wall time with so many workers.
    fn time(&self, workers: usize) -> Duration {
        self.serial + self.tasks.iter().map(|tasks| makespan(tasks, workers)).sum::<Duration>()
    }

    /// Which part of so many cores is used by tasks.
    fn utilisation(&self, workers: usize) -> f64 {
        self.work().as_secs_f64() / (self.time(workers).as_secs_f64() * workers as f64)
    }

    /// What is between tasks, as a part of what tasks take.
    fn serial_part(&self) -> f64 {
        self.serial.as_secs_f64() / self.work().as_secs_f64()
    }
}

/// When the last of so many workers ends, who begin with the tasks in their order.
fn makespan(tasks: &[Duration], workers: usize) -> Duration {
    let mut free: BinaryHeap<_> = (0..workers).map(|_| Reverse(Duration::ZERO)).collect();
    for task in tasks {
        let Some(Reverse(start)) = free.pop() else { break };
        free.push(Reverse(start + *task));
    }
    free.into_iter().map(|Reverse(end)| end).max().unwrap_or_default()
}

/// A line for each guest.
pub fn table(all: &[Modelled]) -> String {
    let mut text = String::from("part of so many cores that tasks use, by a model      serial");
    WORKERS.iter().for_each(|workers| _ = write!(text, " {workers:>5}"));
    text.push('\n');
    for modelled in all {
        let Modelled { guest, execs, rounds, .. } = modelled;
        _ = write!(
            text,
            "{:50} {:>6.2} %",
            format!("{guest} ({execs} in {rounds} rounds)"),
            100.0 * modelled.serial_part()
        );
        WORKERS.iter().for_each(|&workers| _ = write!(text, " {:>5.2}", modelled.utilisation(workers)));
        text.push('\n');
    }
    text
}

/// The same, with what it follows from, in milliseconds.
pub fn json(all: &[Modelled]) -> Value {
    let each = all.iter().map(|modelled| {
        let by_workers = WORKERS.map(|workers| json!({ "workers": workers, "used": modelled.utilisation(workers) }));
        json!({
            "guest": modelled.guest,
            "execs": modelled.execs,
            "rounds": modelled.rounds,
            "serial_ms": modelled.serial.as_secs_f64() * 1000.0,
            "tasks_ms": modelled.work().as_secs_f64() * 1000.0,
            "tasks": modelled.tasks.iter().map(Vec::len).sum::<usize>(),
            "cores": by_workers,
        })
    });
    json!({ "v": 1, "guests": each.collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_is_free_takes_the_next_task_and_all_wait_for_the_last() {
        let ms = Duration::from_millis;
        assert_eq!(makespan(&[ms(4), ms(3), ms(2), ms(1)], 2), ms(5));
        assert_eq!(makespan(&[ms(1), ms(1), ms(4)], 2), ms(5));
        assert_eq!(makespan(&[], 3), ms(0));
        let tasks = vec![vec![ms(10); 64], vec![ms(5)]];
        let modelled = Modelled { serial: ms(5), tasks, ..Modelled::default() };
        assert_eq!((modelled.time(1), modelled.time(64)), (ms(650), ms(20)));
        assert!((modelled.utilisation(64) - 645.0 / (64.0 * 20.0)).abs() < 1e-9);
    }
}
