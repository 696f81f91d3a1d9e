//! Threads, each with a worker.

use super::ender::Ender;
use super::variants::Variants;
use super::worker::{Life, Worker};
use crate::outcome::Outcome;
use crate::sandbox::{Executor, THREAD_STACK_BYTES, Target};
use crate::stream::{Rule, Trace};
use anyhow::{Context, Result};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Threads with executors.
#[derive(Debug)]
pub struct Workers {
    pool: rayon::ThreadPool,
    /// One per thread of the pool, made when the thread first needs it. A task holds its worker and calls nothing of
    /// rayon, so a lock is never waited for.
    workers: Vec<Mutex<Option<Worker>>>,
    /// Set to end a round early; its results are dropped.
    abort: Arc<AtomicBool>,
    /// Ends executions then.
    ender: Arc<Ender>,
    meter: Option<Meter>,
}

/// Says what tasks take, for who measures; nothing else depends on it.
#[derive(Debug)]
struct Meter {
    /// The CPU time of the thread that asks.
    clock: fn() -> Duration,
    /// By call of [`Workers::run`]: the time of each task, in their order.
    times: Mutex<Vec<Vec<Duration>>>,
}

impl Workers {
    /// Starts `jobs` threads. Setting `abort` ends a round early.
    ///
    /// # Errors
    ///
    /// If threads can't be started.
    pub fn new(jobs: usize, abort: Arc<AtomicBool>) -> Result<Self> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(jobs)
            .stack_size(THREAD_STACK_BYTES)
            .thread_name(|index| format!("worker-{index}"))
            .build()
            .context("failed to start worker threads")?;
        let ender = Arc::new(Ender::new(abort.clone())?);
        Ok(Self { pool, workers: (0..jobs).map(|_| Mutex::new(None)).collect(), abort, ender, meter: None })
    }

    /// The same, and they take the time of each task by `clock`, which says the CPU time of the thread that asks.
    #[must_use]
    pub fn with_meter(self, clock: fn() -> Duration) -> Self {
        Self { meter: Some(Meter { clock, times: Mutex::default() }), ..self }
    }

    /// What tasks took since this was last asked: those of one list could be executed at the same time, in this order,
    /// and before those of the next. Nothing without a meter.
    pub fn take_times(&self) -> Vec<Vec<Duration>> {
        let take = |meter: &Meter| std::mem::take(&mut *meter.times.lock().expect("a panic ends the process"));
        self.meter.as_ref().map(take).unwrap_or_default()
    }

    /// Runs the tasks `0..count`, beginning with them in this order, and returns their results in it; `None` if the
    /// round was aborted.
    pub(in crate::engine) fn run<T: Send>(
        &self,
        variants: &Variants,
        count: u64,
        task: impl Fn(u64, &mut Worker) -> Result<T> + Sync,
    ) -> Result<Option<Vec<T>>> {
        let now = || self.meter.as_ref().map(|meter| (meter.clock)());
        let times = Mutex::new(Vec::new());
        let run = |index| {
            if self.aborted() {
                return Ok(None);
            }
            let before = now();
            let thread = rayon::current_thread_index().expect("tasks run on the pool");
            let mut slot = self.workers[thread].lock().expect("a panic ends the process");
            let mut result = || {
                let worker = match slot.take() {
                    Some(worker) if worker.fits(variants) => worker,
                    old => Worker::new(variants, old, self.life())?,
                };
                let worker = slot.insert(worker);
                worker.begin();
                task(index, worker)
            };
            // What was interrupted says nothing, nor why it could not be executed.
            let result = result();
            if let Some((before, after)) = before.zip(now()) {
                times.lock().expect("a panic ends the process").push((index, after.saturating_sub(before)));
            }
            if self.aborted() { Ok(None) } else { result.map(Some) }
        };
        if count <= 1 {
            let results = self.install(|| (0..count).map(run).collect());
            self.note_times(times);
            return results;
        }
        // Whoever has nothing to do takes the next one, so that they are begun in order. (Parallel iterators hand them
        // out by halves.)
        let next = AtomicU64::new(0);
        let turns = || {
            let indices =
                std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed)).take_while(|&index| index < count);
            let results: Result<Vec<_>> = indices.map(|index| Ok((index, run(index)?))).collect();
            // After an error nobody needs the others.
            results.inspect_err(|_| next.store(count, Ordering::Relaxed))
        };
        let results: Result<Vec<_>> = self.pool.broadcast(|_| turns()).into_iter().collect();
        self.note_times(times);
        let mut results: Vec<_> = results?.into_iter().flatten().collect();
        results.sort_unstable_by_key(|&(index, _)| index);
        Ok(results.into_iter().map(|(_, result)| result).collect())
    }

    /// Keeps what tasks took, by their numbers.
    fn note_times(&self, times: Mutex<Vec<(u64, Duration)>>) {
        let Some(meter) = &self.meter else { return };
        let mut times = times.into_inner().expect("a panic ends the process");
        times.sort_unstable_by_key(|&(index, _)| index);
        let times = times.into_iter().map(|(_, time)| time).collect();
        meter.times.lock().expect("a panic ends the process").push(times);
    }

    /// Runs `job` on one of the threads. A single execution that it asks for is made there, where there is room for it,
    /// and handed to no other thread.
    pub(in crate::engine) fn install<T: Send>(&self, job: impl FnOnce() -> T + Send) -> T {
        self.pool.install(job)
    }

    /// Executes `inputs` in the variant that decides, with `fuel_max` units of fuel if the settings don't say fewer,
    /// and returns how each ended, in order; `None` if that was aborted.
    ///
    /// # Errors
    ///
    /// If the host fails.
    pub fn outcomes(&self, target: &Arc<Target>, inputs: &[Vec<u8>], fuel_max: u64) -> Result<Option<Vec<Outcome>>> {
        let variants = Variants::of(target.clone());
        self.run(&variants, inputs.len() as u64, |task, worker| {
            worker.set_fuel_max(fuel_max);
            worker.quick.run(&inputs[usize::try_from(task)?])
        })
    }

    /// As [`Workers::outcomes`] for a target that draws its input: executes streams by their rules, and gives the
    /// canonical traces as well.
    ///
    /// # Errors
    ///
    /// If the host fails.
    pub fn drawn(&self, target: &Arc<Target>, streams: &[(Vec<u8>, Rule)]) -> Result<Option<Vec<(Outcome, Trace)>>> {
        let variants = Variants::of(target.clone());
        self.run(&variants, streams.len() as u64, |task, worker| {
            let (stream, rule) = &streams[usize::try_from(task)?];
            let outcome = worker.quick.run_stream(stream, rule)?;
            Ok((outcome, worker.quick.observation().draws().canonical()))
        })
    }

    /// Runs `task` on one of the threads, with an executor of the target.
    ///
    /// # Errors
    ///
    /// If the host fails, or the task does. `None` if it was aborted.
    pub fn run_one<T: Send>(
        &self,
        target: &Arc<Target>,
        task: impl Fn(&mut Executor) -> Result<T> + Sync,
    ) -> Result<Option<T>> {
        let results = self.run(&Variants::of(target.clone()), 1, |_, worker| task(&mut worker.quick))?;
        Ok(results.and_then(|mut results| results.pop()))
    }

    fn life(&self) -> Life {
        Life { abort: self.abort.clone(), ender: self.ender.clone() }
    }

    /// How many threads there are.
    pub fn jobs(&self) -> usize {
        self.workers.len()
    }

    /// Whether `abort` was set.
    pub fn aborted(&self) -> bool {
        self.abort.load(Ordering::Relaxed)
    }
}
