//! What a thread does with an input.

use super::ender::{self, Ender, Overlong};
use super::report::{Baseline, Hung, Report, new_edges};
use super::variants::Variants;
use crate::coverage::Judge;
use crate::engine::features::{Completion, Features};
use crate::engine::results::ExecutionResult;
use crate::outcome::{Outcome, Verdict};
use crate::sandbox::{CustomMutator, CustomTargets, Executor, Observation, Target, Variant};
use crate::stream::{Rule, decode, encode};
use anyhow::{Result, ensure};
use fuzzbox_instrument::CountsBuffer;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What one thread has. Everything is used again from one execution to the next.
#[derive(Debug)]
pub(in crate::engine) struct Worker {
    pub(in crate::engine) life: Life,
    pub(in crate::engine) quick: Executor,
    /// Made when it is first needed, unless `quick` is one.
    pub(in crate::engine) metered: Option<Executor>,
    /// Made when it is first needed, if the others are warm.
    cold: Option<Executor>,
    /// Made when it is first needed, with what it did.
    pub(in crate::engine) traced: Option<(Executor, Judge)>,
    pub(in crate::engine) judge: Judge,
    /// Whose executions it remembers.
    campaign: Arc<()>,
    /// Made when it is first needed.
    pub(in crate::engine) custom: Option<CustomMutator>,
    /// Numbers of executions that are worth a look, with the keys of those that failed.
    noted: Vec<(usize, Option<NonZeroU64>)>,
    /// Room to compute counts in.
    pub(in crate::engine) counts: CountsBuffer,
    /// The input to execute.
    pub(in crate::engine) input: Vec<u8>,
    /// How it is read, if it is a choice stream.
    pub(in crate::engine) rule: Rule,
    /// Features that are on and off by turns, how they are completed, and the seed by which they are chosen: what takes
    /// the place of the first choices of each stream, while there are some.
    pub(in crate::engine) swarm: Option<(Arc<Features>, Completion, u64)>,
}

/// How an execution ended, and by what key its failure is known, if it failed.
type Undecided = (Outcome, Option<NonZeroU64>);

/// What ends executions when nobody wants their results any more.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Life {
    pub(super) abort: Arc<AtomicBool>,
    pub(super) ender: Arc<Ender>,
    /// Set when nobody wants those of one task any more.
    pub(super) dropped: Option<Arc<AtomicBool>>,
}

impl Life {
    /// An executor that can be ended.
    pub(in crate::engine) fn executor(&self, target: &Arc<Target>) -> Result<Executor> {
        Executor::watched(target, |interrupter| self.ender.watch(interrupter, ender::longest(target)))
    }

    /// Executes, unless nobody wants that any more.
    pub(in crate::engine) fn run(&self, executor: &mut Executor, input: &[u8], rule: &Rule) -> Result<Outcome> {
        self.check()?;
        let outcome = executor.run_stream(input, rule)?;
        if outcome == Outcome::Interrupted {
            self.check()?;
            ensure!(!executor.target().has_fuel(), Overlong::of(executor));
        }
        Ok(outcome)
    }

    /// What an input shows with all of the fuel.
    fn result(
        &self,
        executor: &mut Executor,
        known: Baseline<'_>,
        (input, rule): (&[u8], &Rule),
    ) -> Result<ExecutionResult> {
        executor.set_closing(known.closing);
        executor.set_fuel_max(u64::MAX);
        let outcome = self.run(executor, input, rule)?;
        Ok(ExecutionResult::of(outcome, executor.target(), executor.observation()))
    }

    /// Fails if nobody wants anything to be executed any more.
    fn check(&self) -> Result<()> {
        ensure!(!self.abort.load(Ordering::Relaxed), "the round was aborted");
        let is_dropped = self.dropped.as_ref().is_some_and(|dropped| dropped.load(Ordering::Relaxed));
        ensure!(!is_dropped, "the task was dropped");
        Ok(())
    }
}

impl Worker {
    pub(in crate::engine) fn fits(&self, variants: &Variants) -> bool {
        let went_over = || variants.quick.optimised_by_now().is_some_and(|new| Arc::ptr_eq(self.quick.target(), new));
        self.is_of(variants) && (Arc::ptr_eq(self.quick.target(), &variants.quick) || went_over())
    }

    /// Whether it has, or makes, what a task of the same campaign needs that was begun in an earlier round.
    pub(in crate::engine) fn is_of(&self, variants: &Variants) -> bool {
        Arc::ptr_eq(&self.campaign, &variants.campaign)
    }

    /// Takes what is still of use from `old`, and drops the rest before it takes more: a store keeps all code that it
    /// ever ran.
    pub(in crate::engine) fn new(variants: &Variants, old: Option<Self>, life: Life) -> Result<Self> {
        let (mut metered, mut traced, mut custom, mut cold) = (None, None, None, None);
        if let Some(old) = old {
            (custom, cold) = (old.custom, old.cold);
            let mut executors = [Some(old.quick), old.metered].into_iter().flatten();
            metered = executors.find(|executor| Arc::ptr_eq(executor.target(), &variants.metered));
            let is_own = Arc::ptr_eq(&old.campaign, &variants.campaign);
            traced = old.traced.filter(|(old, _)| {
                is_own && variants.traced.as_ref().is_some_and(|new| Arc::ptr_eq(old.target(), new))
            });
        }
        let (quick, metered) = match metered {
            Some(executor) if Arc::ptr_eq(&variants.quick, &variants.metered) => (executor, None),
            metered => (life.executor(&variants.quick)?, metered),
        };
        if let Some(watchdog) = &variants.watchdog {
            quick.interrupters().for_each(|interrupter| watchdog.watch(interrupter));
        }
        let (judge, campaign) = (Judge::new(), variants.campaign.clone());
        let (noted, counts) = (Vec::new(), CountsBuffer::default());
        let (input, rule) = (Vec::new(), Rule::default());
        Ok(Self {
            life,
            quick,
            metered,
            cold,
            traced,
            judge,
            campaign,
            custom,
            noted,
            counts,
            input,
            rule,
            swarm: None,
        })
    }

    /// The guest's own mutators.
    pub(in crate::engine) fn custom(&mut self, targets: &CustomTargets) -> Result<&mut CustomMutator> {
        let custom = self.custom.take().map_or_else(|| CustomMutator::new(targets), Ok)?;
        Ok(self.custom.insert(custom))
    }

    /// Forgets what a task that was aborted noted. Executions may take all of the fuel again.
    pub(in crate::engine) fn begin(&mut self, life: Life) {
        self.life = life;
        self.noted.clear();
        self.judge.forget_earlier();
        self.set_fuel_max(u64::MAX);
    }

    /// From now on executions may take so much fuel.
    pub(in crate::engine) fn set_fuel_max(&mut self, fuel_max: u64) {
        self.quick.set_fuel_max(fuel_max);
        if let Some(metered) = &mut self.metered {
            metered.set_fuel_max(fuel_max);
        }
    }

    /// As [`Worker::execute`], where fuel is counted: says what executions take.
    pub(in crate::engine) fn execute_sample(
        &mut self,
        variants: &Variants,
        known: Baseline<'_>,
        report: &mut Report,
    ) -> Result<()> {
        self.execute_shown(variants, known, report).map(|_| ())
    }

    /// As [`Worker::execute_sample`], and tells how it ended and what it showed.
    pub(in crate::engine) fn execute_shown(
        &mut self,
        variants: &Variants,
        known: Baseline<'_>,
        report: &mut Report,
    ) -> Result<(Outcome, Observation<'_>)> {
        self.dress();
        let executor = deciding(&mut self.quick, &mut self.metered, variants, &self.life)?;
        executor.set_closing(known.closing);
        executor.set_fuel_max(known.fuel_max);
        let outcome = self.life.run(executor, &self.input, &self.rule)?;
        report.counts(&self.input, &variants.metered);
        report.sample.growths.add(&executor.growth());
        report.sample.hangs += u64::from(outcome.is_hang());
        if executor.grown_bytes() > 0 && outcome.failure().is_none() {
            report.grew = Some((executor.grown_bytes(), self.input.clone()));
        }
        report.witness(&outcome, &self.input, self.rule);
        report.decided(executor, &self.input, (outcome.clone(), None), known);
        Ok((outcome, executor.observation()))
    }

    /// Executes an input where that decides, with all of the fuel, and returns what it showed.
    pub(in crate::engine) fn result(
        &mut self,
        variants: &Variants,
        known: Baseline<'_>,
        (input, rule): (&[u8], &Rule),
    ) -> Result<ExecutionResult> {
        let executor = deciding(&mut self.quick, &mut self.metered, variants, &self.life)?;
        self.life.result(executor, known, (input, rule))
    }

    /// Executes an input where that decides and nothing was executed before, with all of the fuel, and returns what it
    /// showed.
    pub(in crate::engine) fn cold_result(
        &mut self,
        variants: &Variants,
        known: Baseline<'_>,
        input: &[u8],
    ) -> Result<ExecutionResult> {
        let executor = executor_of(&mut self.cold, variants.metered.cold(), &self.life)?;
        self.life.result(executor, known, (input, &Rule::default()))
    }

    /// Executes a suspect with all of the fuel. Returns what it brought; and if it hangs how, and what it reached.
    pub(in crate::engine) fn confirm(
        &mut self,
        variants: &Variants,
        known: Baseline<'_>,
        input: &[u8],
    ) -> Result<(Report, Option<Hung>)> {
        let mut report = Report::default();
        let executor = deciding(&mut self.quick, &mut self.metered, variants, &self.life)?;
        executor.set_fuel_max(u64::MAX);
        let outcome = self.life.run(executor, input, &Rule::default())?;
        let hang = outcome.is_hang().then(|| (outcome.clone(), new_edges(executor, known.seen)));
        let known = Baseline { fuel_max: variants.metered.candidate.settings.fuel_max, ..known };
        report.decided(executor, input, (outcome, None), known);
        Ok((report, hang))
    }

    /// Executes `self.input` by `self.rule` and reports what is new. Of a choice stream the canonical form is reported,
    /// which needs no rule.
    ///
    /// Returns the fuel that it took, in variants that have fuel.
    pub(in crate::engine) fn execute(
        &mut self,
        variants: &Variants,
        known: Baseline<'_>,
        report: &mut Report,
    ) -> Result<u64> {
        let (fuel, undecided) = self.execute_quick(variants, known, report, None)?;
        if let Some((outcome, key)) = undecided {
            self.decide(variants, outcome, key, known, report)?;
        }
        Ok(fuel)
    }

    /// As [`Worker::execute`], but what is worth a look is only noted, under this number, until [`Worker::noted`] says
    /// what it is.
    pub(in crate::engine) fn execute_and_note(
        &mut self,
        variants: &Variants,
        known: Baseline<'_>,
        report: &mut Report,
        number: usize,
    ) -> Result<()> {
        // Where that decides all is known at once.
        if variants.quick.variant == Variant::Metered {
            return self.execute(variants, known, report).map(|_| ());
        }
        let (_, undecided) = self.execute_quick(variants, known, report, Some(number))?;
        self.noted.extend(undecided.map(|(_, key)| (number, key)));
        Ok(())
    }

    /// What was noted, in the order of its numbers, each to be executed again by [`Worker::execute_noted`].
    pub(in crate::engine) fn noted(
        &mut self,
        known: Baseline<'_>,
        report: &Report,
    ) -> Vec<(usize, Option<NonZeroU64>)> {
        let mut news = Vec::new();
        self.judge.news_of_earlier(self.quick.observation(), (known.seen, &report.added), &mut news);
        let mut noted = std::mem::take(&mut self.noted);
        noted.extend(news.into_iter().map(|number| (number, None)));
        noted.sort_by_key(|&(number, _)| number);
        noted.dedup_by_key(|(number, _)| *number);
        noted
    }

    /// Executes the input in the quick variant. Returns the fuel that it took, if that has fuel; and, if it is to be
    /// executed where that decides, how it ended and by what key its failure is known. With a number that may turn out
    /// [later](Judge::news_of_earlier).
    fn execute_quick(
        &mut self,
        variants: &Variants,
        known: Baseline<'_>,
        report: &mut Report,
        number: Option<usize>,
    ) -> Result<(u64, Option<Undecided>)> {
        self.dress();
        self.quick.set_closing(known.closing);
        self.quick.set_fuel_max(known.fuel_max);
        let outcome = self.life.run(&mut self.quick, &self.input, &self.rule)?;
        report.counts(&self.input, &variants.metered);
        let observation = self.quick.observation();
        let fuel = observation.fuel();
        let mut key = None;
        match outcome.verdict() {
            Verdict::Passed if observation.is_exact() => {
                let better = known.targets.is_news(observation, &report.scores);
                let is_news = match number {
                    Some(number) => self.judge.is_news_now(observation, known.seen, &report.added, number),
                    None => self.judge.is_news(observation, known.seen, &report.added),
                };
                if !is_news && !better {
                    return Ok((fuel, None));
                }
            }
            Verdict::NoCase => {
                report.no_case(&outcome);
                report.witness(&outcome, &self.input, self.rule);
                return Ok((fuel, None));
            }
            _ => {
                // Of what was interrupted the key says only where it was by then.
                let is_over = outcome != Outcome::Interrupted && !self.quick.target().has_left(&outcome);
                key = self.quick.stack_key().filter(|_| is_over);
                if key.is_some_and(|key| known.failures.keys.contains(&key)) {
                    return Ok((fuel, None));
                }
            }
        }
        Ok((fuel, Some((outcome, key))))
    }

    /// Executes the input again where that decides, and reports it.
    fn decide(
        &mut self,
        variants: &Variants,
        outcome: Outcome,
        key: Option<NonZeroU64>,
        known: Baseline<'_>,
        report: &mut Report,
    ) -> Result<()> {
        if variants.quick.variant != Variant::Metered {
            return self.execute_noted(variants, key, known, report);
        }
        report.witness(&outcome, &self.input, self.rule);
        report.decided(&self.quick, &self.input, (outcome, key), known);
        Ok(())
    }

    /// Executes an input where that decides, which was executed in a quick variant, and reports it.
    pub(in crate::engine) fn execute_noted(
        &mut self,
        variants: &Variants,
        key: Option<NonZeroU64>,
        known: Baseline<'_>,
        report: &mut Report,
    ) -> Result<()> {
        self.dress();
        let executor = deciding(&mut self.quick, &mut self.metered, variants, &self.life)?;
        executor.set_closing(known.closing);
        executor.set_fuel_max(known.fuel_max);
        let outcome = self.life.run(executor, &self.input, &self.rule)?;
        report.witness(&outcome, &self.input, self.rule);
        report.decided(executor, &self.input, (outcome, key), known);
        Ok(())
    }

    /// Lets a stream begin as all do at present.
    fn dress(&mut self) {
        if let Some((features, completion, seed)) = &self.swarm {
            let first = features.begin(*completion, *seed, &self.input, &self.rule);
            let rest = decode(&self.input).into_iter().skip(first.len());
            self.input = encode(&first.into_iter().chain(rest).collect::<Vec<_>>());
        }
    }
}

/// The executor whose word counts, of those that a worker has.
pub(in crate::engine) fn deciding<'a>(
    quick: &'a mut Executor,
    metered: &'a mut Option<Executor>,
    variants: &Variants,
    life: &Life,
) -> Result<&'a mut Executor> {
    if quick.target().variant == Variant::Metered {
        return Ok(quick);
    }
    executor_of(metered, &variants.metered, life)
}

/// The executor in a slot if it is of this target, else a new one.
fn executor_of<'a>(slot: &'a mut Option<Executor>, target: &Arc<Target>, life: &Life) -> Result<&'a mut Executor> {
    let made = slot.take().filter(|executor| fits(executor, target)).map_or_else(|| life.executor(target), Ok)?;
    Ok(slot.insert(made))
}

/// Whether an executor is of this target, or of one that went over to optimised code before the campaign does.
pub(in crate::engine) fn fits(executor: &Executor, target: &Arc<Target>) -> bool {
    let made_for = executor.target();
    let begins_alike = made_for.warm_up_inputs() == target.warm_up_inputs();
    let compares_alike = made_for.compares_addresses() == target.compares_addresses();
    Arc::ptr_eq(made_for, target) || !made_for.is_quick() && begins_alike && compares_alike
}

#[cfg(test)]
mod tests {
    use super::super::pool::Workers;
    use super::*;
    use crate::settings::Settings;
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

    #[test]
    fn what_is_begun_goes_on_beside_what_is_run_and_comes_back_in_order() {
        let target = Arc::new(Target::load(GUEST.as_bytes(), Settings::default()).unwrap());
        let (workers, variants) = (Workers::new(2, Arc::default()).unwrap(), Variants::of(target));
        let (go, gone) = std::sync::mpsc::channel();
        let gone = std::sync::Mutex::new(gone);
        let begun = workers.begin(&variants, 3, move |task, _| {
            if task == 0 {
                gone.lock().unwrap().recv().unwrap();
            }
            Ok(task)
        });
        // The first one goes on for as long as this does.
        let tasks = workers.run(&variants, 20, |task, _| Ok(task)).unwrap().expect("nobody aborts");
        assert_eq!(tasks, (0..20).collect::<Vec<_>>());
        go.send(()).unwrap();
        assert_eq!(begun.wait().unwrap().expect("nobody aborts"), [0, 1, 2]);
    }

    #[test]
    fn what_is_dropped_ends_with_its_next_execution() {
        let target = Arc::new(Target::load(GUEST.as_bytes(), Settings::default()).unwrap());
        let (workers, variants) = (Workers::new(1, Arc::default()).unwrap(), Variants::of(target));
        let begun = workers.begin(&variants, 1, |_, worker| -> Result<()> {
            loop {
                let (life, rule) = (worker.life.clone(), Rule::default());
                life.run(&mut worker.quick, b"", &rule)?;
            }
        });
        drop(begun);
        let result = workers.run(&variants, 1, |_, worker| {
            let (life, rule) = (worker.life.clone(), Rule::default());
            life.run(&mut worker.quick, b"", &rule)
        });
        assert_eq!(result.unwrap(), Some(vec![Outcome::Ok]), "the thread is free, and others are executed");
    }
}
