//! Threads, each with a worker.

use super::ender::Ender;
use super::variants::Variants;
use super::worker::{Life, Worker};
use crate::outcome::Outcome;
use crate::sandbox::{Executor, THREAD_STACK_BYTES, Target};
use crate::stream::{Rule, Trace};
use anyhow::{Context, Result};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Threads with executors.
#[derive(Debug)]
pub struct Workers {
    pool: rayon::ThreadPool,
    crew: Arc<Crew>,
}

/// What the threads share.
#[derive(Debug)]
struct Crew {
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
    times: Mutex<Vec<Times>>,
}

/// What tasks took, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Times {
    /// Of those that could be executed at the same time, and were waited for before anything else was begun.
    Together(Vec<Duration>),
    /// Here others were begun, which go on beside what follows.
    Begun,
    /// Of those that were begun last, and are waited for here.
    Awaited(Vec<Duration>),
}

/// Tasks that go on beside what else is run. They are dropped with this.
#[derive(Debug)]
pub(in crate::engine) struct Begun<T> {
    count: u64,
    results: Receiver<Done<T>>,
    dropped: Arc<AtomicBool>,
    crew: Arc<Crew>,
}

/// What came of a task, and what it took.
#[derive(Debug)]
struct Done<T> {
    index: u64,
    /// `None` if nobody wants it any more.
    result: Result<Option<T>>,
    time: Duration,
}

impl Crew {
    /// Runs a task with the worker of this thread, or a new one if that is none that `suits`.
    fn turn<T>(
        &self,
        index: u64,
        (variants, suits): (&Variants, impl Fn(&Worker) -> bool),
        dropped: Option<&Arc<AtomicBool>>,
        task: impl FnOnce(&mut Worker) -> Result<T>,
    ) -> Done<T> {
        let is_over = || self.aborted() || dropped.is_some_and(|dropped| dropped.load(Ordering::Relaxed));
        if is_over() {
            return Done { index, result: Ok(None), time: Duration::ZERO };
        }
        let now = || self.meter.as_ref().map(|meter| (meter.clock)());
        let before = now();
        let thread = rayon::current_thread_index().expect("tasks run on the pool");
        let mut slot = self.workers[thread].lock().expect("a panic ends the process");
        let life = Life { abort: self.abort.clone(), ender: self.ender.clone(), dropped: dropped.cloned() };
        let result = move || {
            let worker = match slot.take() {
                Some(worker) if suits(&worker) => worker,
                old => Worker::new(variants, old, life.clone())?,
            };
            let worker = slot.insert(worker);
            worker.begin(life);
            task(worker)
        };
        let result = result();
        let time = before.zip(now()).map_or(Duration::ZERO, |(before, after)| after.saturating_sub(before));
        // What was interrupted says nothing, nor why it could not be executed.
        Done { index, result: if is_over() { Ok(None) } else { result.map(Some) }, time }
    }

    fn aborted(&self) -> bool {
        self.abort.load(Ordering::Relaxed)
    }

    /// The results of tasks, by their numbers; `None` if that was aborted. Notes what they took.
    fn results<T>(&self, mut done: Vec<Done<T>>, times: fn(Vec<Duration>) -> Times) -> Result<Option<Vec<T>>> {
        done.sort_unstable_by_key(|done| done.index);
        self.note(|| times(done.iter().map(|done| done.time).collect()));
        done.into_iter().map(|done| done.result).collect()
    }

    fn note(&self, times: impl FnOnce() -> Times) {
        if let Some(meter) = &self.meter {
            meter.times.lock().expect("a panic ends the process").push(times());
        }
    }
}

impl<T> Begun<T> {
    /// Waits for all of them, and returns their results by their numbers; `None` if they were aborted.
    pub(in crate::engine) fn wait(self) -> Result<Option<Vec<T>>> {
        let done: Vec<_> = self.results.iter().take(usize::try_from(self.count)?).collect();
        self.crew.results(done, Times::Awaited)
    }
}

impl<T> Drop for Begun<T> {
    fn drop(&mut self) {
        self.dropped.store(true, Ordering::Relaxed);
    }
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
        let workers = (0..jobs).map(|_| Mutex::new(None)).collect();
        Ok(Self { pool, crew: Arc::new(Crew { workers, abort, ender, meter: None }) })
    }

    /// The same, and they take the time of each task by `clock`, which says the CPU time of the thread that asks.
    #[must_use]
    pub fn with_meter(mut self, clock: fn() -> Duration) -> Self {
        let crew = Arc::get_mut(&mut self.crew).expect("nothing was begun");
        crew.meter = Some(Meter { clock, times: Mutex::default() });
        self
    }

    /// What tasks took since this was last asked, in the order in which they were waited for. Nothing without a meter.
    pub fn take_times(&self) -> Vec<Times> {
        let take = |meter: &Meter| std::mem::take(&mut *meter.times.lock().expect("a panic ends the process"));
        self.crew.meter.as_ref().map(take).unwrap_or_default()
    }

    /// Runs the tasks `0..count`, beginning with them in this order, and returns their results in it; `None` if the
    /// round was aborted.
    pub(in crate::engine) fn run<T: Send>(
        &self,
        variants: &Variants,
        count: u64,
        task: impl Fn(u64, &mut Worker) -> Result<T> + Sync,
    ) -> Result<Option<Vec<T>>> {
        let crew = &*self.crew;
        let suits = |worker: &Worker| worker.fits(variants);
        let run = |index| crew.turn(index, (variants, suits), None, |worker| task(index, worker));
        if count <= 1 {
            let done = self.install(|| (0..count).map(run).collect());
            return crew.results(done, Times::Together);
        }
        // Whoever has nothing to do takes the next one, so that they are begun in order. (Parallel iterators hand them
        // out by halves.) A thread that is busy with what was begun before is not waited for.
        let (next, all) = (AtomicU64::new(0), Mutex::new(Vec::new()));
        let turns = || {
            let indices =
                std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed)).take_while(|&index| index < count);
            // After an error nobody needs the others.
            let run = |index| run(index);
            let stop = |done: &Done<T>| {
                if done.result.is_err() {
                    next.store(count, Ordering::Relaxed);
                }
            };
            let mut done: Vec<_> = indices.map(run).inspect(stop).collect();
            all.lock().expect("a panic ends the process").append(&mut done);
        };
        self.pool.in_place_scope(|scope| (0..self.jobs()).for_each(|_| scope.spawn(|_| turns())));
        crew.results(all.into_inner().expect("a panic ends the process"), Times::Together)
    }

    /// Begins with the tasks `0..count`, in this order, on threads that have nothing else to do, and waits for none of
    /// them.
    pub(in crate::engine) fn begin<T: Send + 'static>(
        &self,
        variants: &Variants,
        count: u64,
        task: impl Fn(u64, &mut Worker) -> Result<T> + Send + Sync + 'static,
    ) -> Begun<T> {
        let (task, (sender, results)) = (Arc::new(task), channel());
        let dropped = Arc::<AtomicBool>::default();
        for index in 0..count {
            let (crew, variants, dropped) = (self.crew.clone(), variants.clone(), dropped.clone());
            let (task, sender) = (task.clone(), sender.clone());
            self.pool.spawn(move || {
                let suits = |worker: &Worker| worker.is_of(&variants);
                let done = crew.turn(index, (&variants, suits), Some(&dropped), |worker| task(index, worker));
                // Who waits may want for itself what the task has.
                drop(task);
                // Nobody may wait.
                let _ = sender.send(done);
            });
        }
        self.crew.note(|| Times::Begun);
        Begun { count, results, dropped, crew: self.crew.clone() }
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

    /// How many threads there are.
    pub fn jobs(&self) -> usize {
        self.crew.workers.len()
    }

    /// Whether `abort` was set.
    pub fn aborted(&self) -> bool {
        self.crew.aborted()
    }
}
