//! Threads with executors, and what each does with an input.

mod comparing;
mod trimming;

use super::climb::{self, Limits, Shown};
use super::closing::Probed;
use super::ender::Ender;
use super::report::{Hung, Known, NewTestcase, Report, new_edges};
use super::rng::Rng;
use super::targets::{Climb, Scores};
use crate::coverage::{Judge, Profile};
use crate::sandbox::{Executor, Outcome, THREAD_STACK_BYTES, Target, Variant, Watchdog};
use crate::stream::{Choice, Node, Rule, Tail, Trace, encode};
use anyhow::{Context, Result, ensure};
use fuzzbox_instrument::CountsBuffer;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The variants of one target that executions go through.
///
/// All say the same about an input. What the quick one can't say for certain (that it fails, that it takes too long), or
/// what is worth keeping, is executed again in the one that decides. So which of the quick ones is in use, and since when, changes nothing but speed.
#[derive(Clone, Debug)]
pub(super) struct Variants {
    /// Decides: it has fuel, and its failures have frames.
    pub(super) metered: Arc<Target>,
    /// Executes everything first; may be the same.
    pub(super) quick: Arc<Target>,
    /// Ends what takes too long in a quick variant without fuel.
    pub(super) watchdog: Option<Arc<Watchdog>>,
    /// Says what is compared, once somebody wants to know.
    pub(super) traced: Option<Arc<Target>>,
}

/// Threads with executors.
#[derive(Debug)]
pub struct Workers {
    pool: rayon::ThreadPool,
    /// One per thread of the pool, made when the thread first needs it. A task holds its worker and calls nothing of rayon, so
    /// a lock is never waited for.
    workers: Vec<Mutex<Option<Worker>>>,
    /// Set to end a round early; its results are dropped.
    abort: Arc<AtomicBool>,
    /// Ends executions then.
    ender: Arc<Ender>,
}

/// What one thread has. Everything is used again from one execution to the next.
#[derive(Debug)]
pub(super) struct Worker {
    life: Life,
    quick: Executor,
    /// Made when it is first needed, unless `quick` is one.
    metered: Option<Executor>,
    /// Made when it is first needed.
    traced: Option<Executor>,
    judge: Judge,
    /// Room to compute counts in.
    counts: CountsBuffer,
    /// The input to execute.
    pub(super) input: Vec<u8>,
    /// How it is read, if it is a choice stream.
    pub(super) rule: Rule,
}

/// What ends executions when nobody wants their results any more.
#[derive(Clone, Debug)]
struct Life {
    abort: Arc<AtomicBool>,
    ender: Arc<Ender>,
}

impl Variants {
    /// One variant for all.
    pub(super) fn of(metered: Arc<Target>) -> Self {
        Self { quick: metered.clone(), metered, watchdog: None, traced: None }
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
        Ok(Self { pool, workers: (0..jobs).map(|_| Mutex::new(None)).collect(), abort, ender })
    }

    /// Runs the tasks `0..count`, beginning with them in this order, and returns their results in it; `None` if the round was aborted.
    pub(super) fn run<T: Send>(
        &self,
        variants: &Variants,
        count: u64,
        task: impl Fn(u64, &mut Worker) -> Result<T> + Sync,
    ) -> Result<Option<Vec<T>>> {
        let run = |index| {
            if self.aborted() {
                return Ok(None);
            }
            let thread = rayon::current_thread_index().expect("tasks run on the pool");
            let mut slot = self.workers[thread].lock().expect("a panic ends the process");
            let mut result = || {
                let worker = match slot.take() {
                    Some(worker) if worker.fits(variants) => worker,
                    old => Worker::new(variants, old, self.life())?,
                };
                let worker = slot.insert(worker);
                worker.set_fuel_max(u64::MAX);
                task(index, worker)
            };
            // What was interrupted says nothing, nor why it could not be executed.
            let result = result();
            if self.aborted() { Ok(None) } else { result.map(Some) }
        };
        if count <= 1 {
            return self.install(|| (0..count).map(run).collect());
        }
        // Whoever has nothing to do takes the next one, so that they are begun in order. (Parallel iterators hand them out by halves.)
        let next = AtomicU64::new(0);
        let turns = || {
            let indices =
                std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed)).take_while(|&index| index < count);
            let results: Result<Vec<_>> = indices.map(|index| Ok((index, run(index)?))).collect();
            // After an error nobody needs the others.
            results.inspect_err(|_| next.store(count, Ordering::Relaxed))
        };
        let results: Result<Vec<_>> = self.pool.broadcast(|_| turns()).into_iter().collect();
        let mut results: Vec<_> = results?.into_iter().flatten().collect();
        results.sort_unstable_by_key(|&(index, _)| index);
        Ok(results.into_iter().map(|(_, result)| result).collect())
    }

    /// Runs `job` on one of the threads. A single execution that it asks for is made there, where there is room for it, and handed
    /// to no other thread.
    pub(super) fn install<T: Send>(&self, job: impl FnOnce() -> T + Send) -> T {
        self.pool.install(job)
    }

    /// Executes `inputs` in the variant that decides, with `fuel_max` units of fuel if the settings don't say fewer, and returns how each ended, in order; `None` if that was aborted.
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

    /// As [`Workers::outcomes`] for a target that draws its input: executes streams by their rules, and gives the canonical traces as well.
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

impl Life {
    /// An executor that can be ended.
    fn executor(&self, target: &Arc<Target>) -> Result<Executor> {
        Executor::watched(target, |interrupter| self.ender.watch(interrupter))
    }

    /// Executes, unless nobody wants that any more.
    fn run(&self, executor: &mut Executor, input: &[u8], rule: &Rule) -> Result<Outcome> {
        self.check()?;
        let outcome = executor.run_stream(input, rule)?;
        if outcome == Outcome::Interrupted {
            self.check()?;
        }
        Ok(outcome)
    }

    /// Fails if nobody wants anything to be executed any more.
    fn check(&self) -> Result<()> {
        ensure!(!self.abort.load(Ordering::Relaxed), "the round was aborted");
        Ok(())
    }
}

impl Worker {
    fn fits(&self, variants: &Variants) -> bool {
        let went_over = || variants.quick.optimised_by_now().is_some_and(|new| Arc::ptr_eq(self.quick.target(), new));
        Arc::ptr_eq(self.quick.target(), &variants.quick) || went_over()
    }

    /// Takes what is still of use from `old`, and drops the rest before it takes more: a store keeps all code that it ever ran.
    fn new(variants: &Variants, old: Option<Self>, life: Life) -> Result<Self> {
        let (mut metered, mut traced) = (None, None);
        if let Some(old) = old {
            let mut executors = [Some(old.quick), old.metered].into_iter().flatten();
            metered = executors.find(|executor| Arc::ptr_eq(executor.target(), &variants.metered));
            traced =
                old.traced.filter(|old| variants.traced.as_ref().is_some_and(|new| Arc::ptr_eq(old.target(), new)));
        }
        let (quick, metered) = match metered {
            Some(executor) if Arc::ptr_eq(&variants.quick, &variants.metered) => (executor, None),
            metered => (life.executor(&variants.quick)?, metered),
        };
        if let Some(watchdog) = &variants.watchdog {
            watchdog.watch(quick.interrupter());
        }
        let (judge, counts) = (Judge::new(), CountsBuffer::default());
        Ok(Self { life, quick, metered, traced, judge, counts, input: Vec::new(), rule: Rule::default() })
    }

    /// From now on executions may take so much fuel.
    fn set_fuel_max(&mut self, fuel_max: u64) {
        self.quick.set_fuel_max(fuel_max);
        if let Some(metered) = &mut self.metered {
            metered.set_fuel_max(fuel_max);
        }
    }

    /// As [`Worker::execute`], where fuel is counted: says what executions take.
    pub(super) fn execute_sample(&mut self, variants: &Variants, known: Known<'_>, report: &mut Report) -> Result<()> {
        let executor = deciding(&mut self.quick, &mut self.metered, variants, &self.life)?;
        executor.set_closing(known.closing);
        executor.set_fuel_max(known.fuel_max);
        let outcome = self.life.run(executor, &self.input, &self.rule)?;
        report.counts(&self.input, &variants.metered);
        report.sample.execs += 1;
        report.sample.fuel += executor.observation().fuel();
        report.sample.hangs += u64::from(matches!(outcome, Outcome::Hang(_)));
        report.sample.grown += u64::from(executor.has_grown());
        report.witness(&outcome, &self.input, self.rule);
        report.decided(executor, &self.input, (outcome, None), known);
        Ok(())
    }

    /// Executes a suspect with all of the fuel. Returns what it brought; and if it hangs how, and what it reached.
    pub(super) fn confirm(
        &mut self,
        variants: &Variants,
        known: Known<'_>,
        input: &[u8],
    ) -> Result<(Report, Option<Hung>)> {
        let mut report = Report::default();
        let executor = deciding(&mut self.quick, &mut self.metered, variants, &self.life)?;
        executor.set_fuel_max(u64::MAX);
        let outcome = self.life.run(executor, input, &Rule::default())?;
        let hang = matches!(outcome, Outcome::Hang(_)).then(|| (outcome.clone(), new_edges(executor, known.seen)));
        let known = Known { fuel_max: variants.metered.settings.fuel_max, ..known };
        report.decided(executor, input, (outcome, None), known);
        Ok((report, hang))
    }

    /// Executes `self.input` by `self.rule` and reports what is new. Of a choice stream the canonical form is reported, which needs no rule.
    ///
    /// Returns the fuel that it took, in variants that have fuel.
    pub(super) fn execute(&mut self, variants: &Variants, known: Known<'_>, report: &mut Report) -> Result<u64> {
        self.quick.set_closing(known.closing);
        self.quick.set_fuel_max(known.fuel_max);
        let outcome = self.life.run(&mut self.quick, &self.input, &self.rule)?;
        report.counts(&self.input, &variants.metered);
        let observation = self.quick.observation();
        let fuel = observation.fuel();
        let mut key = None;
        match &outcome {
            Outcome::Ok if observation.is_exact() => {
                let better = known.targets.is_news(observation, &report.scores);
                if !self.judge.is_news(observation, known.seen, &report.added) && !better {
                    return Ok(fuel);
                }
            }
            Outcome::Rejected | Outcome::Overrun => {
                report.no_case(&outcome);
                report.witness(&outcome, &self.input, self.rule);
                return Ok(fuel);
            }
            _ => {
                // Of what was interrupted the key says only where it was by then.
                key = if outcome == Outcome::Interrupted { None } else { self.quick.stack_key() };
                if key.is_some_and(|key| known.failures.keys.contains(&key)) {
                    return Ok(fuel);
                }
            }
        }
        self.decide(variants, outcome, key, known, report)?;
        Ok(fuel)
    }

    /// Executes the input again where that decides, and reports it.
    fn decide(
        &mut self,
        variants: &Variants,
        outcome: Outcome,
        key: Option<NonZeroU64>,
        known: Known<'_>,
        report: &mut Report,
    ) -> Result<()> {
        let (outcome, executor) = if variants.quick.variant == Variant::Metered {
            (outcome, &self.quick)
        } else {
            let metered = deciding(&mut self.quick, &mut self.metered, variants, &self.life)?;
            metered.set_closing(known.closing);
            metered.set_fuel_max(known.fuel_max);
            (self.life.run(metered, &self.input, &self.rule)?, &*metered)
        };
        report.witness(&outcome, &self.input, self.rule);
        report.decided(executor, &self.input, (outcome, key), known);
        Ok(())
    }

    /// Executes a stream where that decides, and reports it.
    pub(super) fn probe(
        &mut self,
        variants: &Variants,
        known: Known<'_>,
        (input, rule): (&[u8], &Rule),
        report: &mut Report,
    ) -> Result<Probed> {
        let executor = deciding(&mut self.quick, &mut self.metered, variants, &self.life)?;
        if input.len() > variants.metered.settings.input_bytes_max as usize {
            return Ok(Probed::Other);
        }
        report.execs += 1;
        report.input_bytes += input.len() as u64;
        executor.set_closing(known.closing);
        let outcome = self.life.run(executor, input, rule)?;
        let probed = match outcome {
            Outcome::Ok => Probed::Ended(executor.observation().draws()),
            Outcome::Overrun => Probed::Overran(executor.observation().draws()),
            _ => Probed::Other,
        };
        report.decided(executor, input, (outcome, None), known);
        Ok(probed)
    }

    /// Makes a score larger that the stream `start` has, and reports what had the best, and what else was new. Returns whether a limit
    /// cut that off. What streams lack is random, by `rng`.
    pub(super) fn climb(
        &mut self,
        variants: &Variants,
        known: Known<'_>,
        (start, climb): (&[Choice], &Climb),
        (execs, mut rng): (u64, Rng),
        report: &mut Report,
    ) -> Result<bool> {
        let executor = deciding(&mut self.quick, &mut self.metered, variants, &self.life)?;
        let input_bytes_max = variants.metered.settings.input_bytes_max as usize;
        let mut best = None;
        let limits = Limits { execs, improvements: climb.improvements_max };
        let cut = climb::climb(start, limits, &mut |choices| {
            let input = encode(choices);
            let tail = Tail::Random { seed: rng.word(), choices: u32::MAX };
            if input.len() > input_bytes_max {
                return Ok(None);
            }
            report.execs += 1;
            report.input_bytes += input.len() as u64;
            let outcome = self.life.run(executor, &input, &Rule { tail, ..Rule::default() })?;
            let observation = executor.observation();
            if matches!(outcome, Outcome::Rejected | Outcome::Overrun | Outcome::Interrupted) {
                report.no_case(&outcome);
                return Ok(None);
            }
            // The draws say where to move next; what is kept has the length that the guest was told.
            let trace = observation.draws();
            let canonical = trace.clone().canonical();
            let input = encode(&canonical.choices);
            if outcome != Outcome::Ok {
                report.fail(&input, (outcome, None), executor, known);
                return Ok(None);
            }
            let (profile, scores) = (Profile::of(observation), Scores::of(observation));
            let (score, before) = (scores.get(&climb.label), report.scores.get(&climb.label));
            let unseen = known.seen.news(&profile);
            let news = report.added.add(&unseen);
            if (report.scores.add(&scores, known.targets) || news) && input.len() <= input_bytes_max {
                let better = report.scores.get(&climb.label) != before;
                let sample = Some(Node::of(&canonical));
                let new = NewTestcase { input, profile, unseen, fuel: observation.fuel(), sample, scores };
                // Of those that are only a step on the way the last is enough.
                let old = if better { best.replace(new) } else { Some(new) };
                report.testcases.extend(old.filter(|_| news));
            }
            Ok(Some(Shown { trace, score }))
        })?;
        report.testcases.extend(best);
        Ok(cut)
    }
}

/// The executor whose word counts, of those that a worker has.
fn deciding<'a>(
    quick: &'a mut Executor,
    metered: &'a mut Option<Executor>,
    variants: &Variants,
    life: &Life,
) -> Result<&'a mut Executor> {
    if quick.target().variant == Variant::Metered {
        return Ok(quick);
    }
    // Of the same, or one that went over to optimised code before the campaign does.
    let fits = |executor: &Executor| Arc::ptr_eq(executor.target(), &variants.metered) || !executor.target().is_quick();
    let made = metered.take().filter(fits).map_or_else(|| life.executor(&variants.metered), Ok)?;
    Ok(metered.insert(made))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::Settings;
    use std::thread::current;

    const GUEST: &str = r#"(module
        (memory (export "memory") 1)
        (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32) (i32.const 0)))"#;

    #[test]
    fn what_a_job_executes_singly_is_executed_on_its_thread() {
        let target = Arc::new(Target::load(GUEST.as_bytes(), Settings::default()).unwrap());
        let workers = Workers::new(2, Arc::default()).unwrap();
        let threads = workers.install(|| {
            let thread = || workers.run_one(&target, |_| Ok(current().id())).unwrap().expect("nobody aborts");
            (current().id(), (0..50).map(|_| thread()).collect::<Vec<_>>())
        });
        assert!(threads.1.iter().all(|thread| *thread == threads.0));
        assert_ne!(threads.0, current().id(), "this one has less stack than guests may need");
    }
}
