//! How well a campaign would use many cores: a model, with measured inputs.
//!
//! A campaign with one worker says what each task of its rounds takes, and what the thread takes that all workers wait for between them. Tasks do not
//! depend on the number of workers, nor does what is between them. So with more workers, who each take the next task when they have
//! none, a round takes as long as the last of them works, and what is between rounds as long as before; what goes on beside rounds keeps the workers busy
//! that took it, and is waited for where the campaign does. What caches and memory that cores share take is not in it.

use crate::cost::Program;
use anyhow::{Context as _, Result, ensure};
use cpu_time::ThreadTime;
use fuzzbox::engine::{Campaign, Dictionary, Mutator, Times, Workers};
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
    /// Of tasks, in the order in which they were waited for.
    tasks: Vec<Times>,
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
        self.tasks.iter().flat_map(times).sum()
    }

    /// Wall time with so many workers.
    fn time(&self, workers: usize) -> Duration {
        let rounds = self.tasks.iter().filter(|times| matches!(times, Times::Together(_))).count();
        let between = self.serial / u32::try_from(rounds.max(1)).expect("rounds are not that many");
        let mut shift = Shift::new(workers);
        // What was begun before the first of them.
        let first = self.tasks.iter().position(|times| !matches!(times, Times::Together(_)));
        if let Some(Times::Awaited(tasks)) = first.map(|at| &self.tasks[at]) {
            shift.begin(tasks);
        }
        for (at, event) in self.tasks.iter().enumerate() {
            match event {
                Times::Together(tasks) => {
                    shift.now += between;
                    shift.now = shift.begin(tasks);
                }
                Times::Begun => {
                    let awaited = self.tasks[at..].iter().find(|times| matches!(times, Times::Awaited(_)));
                    shift.beside = awaited.map_or(Duration::ZERO, |awaited| shift.begin(times(awaited)));
                }
                Times::Awaited(_) => shift.now = shift.now.max(shift.beside),
            }
        }
        shift.now
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

/// What tasks took.
fn times(times: &Times) -> &[Duration] {
    match times {
        Times::Together(tasks) | Times::Awaited(tasks) => tasks,
        Times::Begun => &[],
    }
}

/// Workers at work.
struct Shift {
    now: Duration,
    /// When each has nothing to do.
    free: BinaryHeap<Reverse<Duration>>,
    /// When what was begun beside rounds has ended.
    beside: Duration,
}

impl Shift {
    fn new(workers: usize) -> Self {
        let free = (0..workers).map(|_| Reverse(Duration::ZERO)).collect();
        Self { now: Duration::ZERO, free, beside: Duration::ZERO }
    }

    /// Begins with tasks, in their order, each by the worker who is free first; returns when the last of them has ended.
    fn begin(&mut self, tasks: &[Duration]) -> Duration {
        let mut last = self.now;
        for task in tasks {
            let Some(Reverse(free)) = self.free.pop() else { break };
            let end = free.max(self.now) + *task;
            self.free.push(Reverse(end));
            last = last.max(end);
        }
        last
    }
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
            "tasks": modelled.tasks.iter().map(|tasks| times(tasks).len()).sum::<usize>(),
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
        let makespan = |tasks: &[Duration], workers| Shift::new(workers).begin(tasks);
        assert_eq!(makespan(&[ms(4), ms(3), ms(2), ms(1)], 2), ms(5));
        assert_eq!(makespan(&[ms(1), ms(1), ms(4)], 2), ms(5));
        assert_eq!(makespan(&[], 3), ms(0));
        let tasks = vec![Times::Together(vec![ms(10); 64]), Times::Together(vec![ms(5)])];
        let modelled = Modelled { serial: ms(5), tasks, ..Modelled::default() };
        assert_eq!((modelled.time(1), modelled.time(64)), (ms(650), ms(20)));
        assert!((modelled.utilisation(64) - 645.0 / (64.0 * 20.0)).abs() < 1e-9);
    }

    #[test]
    fn what_goes_on_beside_rounds_keeps_a_worker_and_is_waited_for_later() {
        let ms = Duration::from_millis;
        let round = || Times::Together(vec![ms(2); 3]);
        let tasks = vec![Times::Begun, round(), round(), Times::Awaited(vec![ms(7)]), round()];
        let modelled = Modelled { tasks, ..Modelled::default() };
        assert_eq!((modelled.time(1), modelled.time(2), modelled.time(4)), (ms(25), ms(14), ms(9)));
    }
}
