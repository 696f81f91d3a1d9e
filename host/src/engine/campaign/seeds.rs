//! What a campaign begins with: inputs that somebody has chosen, executed once each unless it is known what they show.

use super::{Campaign, ROUND_FUEL, witnesses};
use crate::engine::results::{Carry, Inherited, Results};
use crate::engine::round::{Discovery, Round};
use crate::engine::strategy::Phase;
use crate::engine::workers::pool::Workers;
use crate::engine::workers::report::{Report, Witness};
use crate::id::InputId;
use crate::outcome::Outcome;
use crate::stream::Rule;
use anyhow::Result;

/// How many times as many seeds are executed together as before.
const SEEDS_GROWTH: usize = 16;
/// Seeds that are executed together, at most.
const SEEDS_MAX: usize = 1 << 14;
/// One part in so many of what another build is said to show is executed.
const CHECKED_PART: u8 = 16;
/// The longest mutant in the beginning, in bytes, unless a seed is longer.
const LEN_MAX_START: usize = 128;

/// Inputs that a campaign begins with.
#[derive(Debug, Default)]
pub(super) struct Seeds {
    /// Those that were not executed, the last one first.
    left: Vec<Vec<u8>>,
    /// How many are executed next.
    next: usize,
    /// How many were executed, or known.
    done: u64,
    /// Fuel that was used for them.
    fuel: u64,
    /// Those that overran.
    witnesses: Vec<Witness>,
}

/// What came of a seed.
struct Seeded {
    report: Report,
    /// Fuel that it took, now or when it was executed.
    fuel: u64,
    input: InputId,
    /// What it shows as bytes, if that was not known.
    result: Option<Vec<u8>>,
}

impl Campaign {
    /// Takes what first inputs show from `results`, as far as they are there, and executes the others alone. What is
    /// found is the same, to the number of executions. To be called before anything is executed.
    #[must_use]
    pub fn with_results(mut self, results: Results) -> Self {
        self.results = results.of_earlier();
        self
    }

    /// Takes what `seeds` show from what they showed on another build, where `carry` says that they do the same here. A
    /// share of them is executed; if one of these shows anything else, nothing is taken but what was executed. To be
    /// called before [`Campaign::start`].
    ///
    /// # Errors
    ///
    /// If the host fails.
    pub fn inherit(&mut self, workers: &Workers, seeds: &[Vec<u8>], old: &Results, carry: &Carry) -> Result<Inherited> {
        let (known, variants, results) = (self.all_known(), &self.variants, &self.results);
        let unknown = seeds.iter().filter(|seed| results.get(InputId::of(seed)).is_none());
        // As bytes, since there may be many.
        let guess = |seed| results.packed(&old.inherited(InputId::of(seed), carry)?);
        let guesses: Vec<_> = unknown.filter_map(|seed| Some((seed, guess(seed)?))).collect();
        let is_checked = |seed: &Vec<u8>| InputId::of(seed).0[0].is_multiple_of(CHECKED_PART);
        let (mut checked, mut rest): (Vec<_>, Vec<_>) = guesses.into_iter().partition(|(seed, _)| is_checked(seed));
        if checked.is_empty() {
            checked.extend(rest.pop());
        }
        let rule = Rule { close: true, ..Rule::default() };
        let executed = workers.run(variants, checked.len() as u64, |task, worker| {
            let (seed, _) = &checked[usize::try_from(task)?];
            Ok(results.packed(&worker.result(variants, known, (seed, &rule))?))
        })?;
        let Some(executed) = executed.filter(|_| !workers.aborted()) else { return Ok(Inherited::default()) };
        let is_right = checked.iter().zip(&executed).all(|((_, guess), shown)| Some(guess) == shown.as_ref());
        let inherited = Inherited { executed: executed.len() as u64, taken: 0, is_right };
        let shown: Vec<_> = checked.iter().zip(executed).map(|((seed, _), shown)| (InputId::of(seed), shown)).collect();
        let taken: Vec<_> = rest.into_iter().map(|(seed, guess)| (InputId::of(seed), guess)).collect();
        shown.into_iter().for_each(|(input, shown)| self.results.take(input, shown));
        if !is_right {
            return Ok(inherited);
        }
        let count = taken.len() as u64;
        taken.into_iter().for_each(|(input, guess)| self.results.take(input, Some(guess)));
        Ok(Inherited { taken: count, ..inherited })
    }

    /// What inputs show: those that the campaign was given and those that it found.
    pub fn results(&mut self) -> &mut Results {
        &mut self.results
    }

    /// Begins to execute the given inputs once each, in order, and keeps those that show something new. This is round
    /// 0, of which there may be several parts: the others are steps, as long as there [are](Campaign::has_seeds) some
    /// left.
    ///
    /// The empty input is executed first, and the corpus holds it even if it shows nothing (when it is rejected, say),
    /// so that there is always something to mutate. At most `execs_max` inputs are executed.
    ///
    /// # Errors
    ///
    /// If the host fails. `None` if the part was aborted: nothing happened then.
    pub fn start(
        &mut self,
        workers: &Workers,
        seeds: &[Vec<u8>],
        execs_max: u64,
        signature: &dyn Fn(&Outcome) -> String,
    ) -> Result<Option<Round>> {
        assert_eq!(self.totals.execs, 0, "seeds are the first round");
        let execs_max = usize::try_from(execs_max).unwrap_or(usize::MAX);
        let empty = Vec::new();
        let inputs = std::iter::once(&empty).chain(seeds).take(execs_max).cloned();
        self.seeds.left = inputs.collect();
        let longest = self.seeds.left.iter().map(Vec::len).max().unwrap_or(0);
        self.len_max = longest.max(LEN_MAX_START).min(self.len_limit());
        self.seeds.left.reverse();
        self.seeds.next = 1;
        self.execute_seeds(workers, execs_max as u64, signature)
    }

    /// How many of the inputs that the campaign begins with were executed, or known.
    pub fn seeds_done(&self) -> u64 {
        self.seeds.done
    }

    /// Whether inputs that the campaign begins with are left to be executed, by the next step.
    pub fn has_seeds(&self) -> bool {
        !self.seeds.left.is_empty()
    }

    /// Executes the next part of the seeds: the first of them say how many take how long.
    pub(super) fn execute_seeds(
        &mut self,
        workers: &Workers,
        execs_max: u64,
        signature: &dyn Fn(&Outcome) -> String,
    ) -> Result<Option<Round>> {
        let left = self.seeds.left.len();
        let inputs: Vec<_> = self.seeds.left[left - self.seeds.next.min(left)..].iter().rev().collect();
        let Some(seeded) = self.seeded(workers, &inputs)? else { return Ok(None) };
        let executed = inputs.len();
        self.seeds.left.truncate(left - executed);
        self.seeds.done += executed as u64;
        let mut reports = Vec::with_capacity(executed);
        for Seeded { report, fuel, input, result } in seeded {
            self.seeds.fuel += fuel;
            self.results.used(input, result);
            reports.push(report);
        }
        self.seeds.witnesses.append(&mut witnesses(reports.iter_mut()));
        let mut round = Round::default();
        // Seeds stay as they are: somebody has chosen them.
        for report in reports {
            for admitted in self.merge(report, signature, &mut round) {
                self.settle(admitted, &mut round);
            }
        }
        self.totals.sampled = self.totals.execs;
        self.totals.sampled_fuel = self.seeds.fuel;
        let affordable = usize::try_from(ROUND_FUEL / self.fuel_mean()).unwrap_or(usize::MAX).max(1);
        self.seeds.next = (SEEDS_GROWTH * self.seeds.next).min(affordable).min(SEEDS_MAX);
        if self.has_seeds() {
            return Ok(Some(round));
        }
        self.totals.rounds += 1;
        if self.corpus.testcases().is_empty() {
            // Every input is rejected or fails: mutate the empty one all the same.
            self.corpus.keep_empty();
            round.found.push(Discovery { index: 0, new_edges: Vec::new(), edges: 0 });
        }
        self.go_on();
        self.strategies.closing.witnesses = std::mem::take(&mut self.seeds.witnesses);
        let execs_max = self.totals.execs + execs_max.saturating_sub(executed as u64);
        self.run_phase(Phase::AfterAll, workers, execs_max, signature, &mut round)?;
        self.look_where();
        Ok(Some(round))
    }

    /// What inputs show: taken from the results that are known, else by executing. `None` if that was aborted.
    fn seeded(&self, workers: &Workers, inputs: &[&Vec<u8>]) -> Result<Option<Vec<Seeded>>> {
        let (known, variants, results) = (self.all_known(), &self.variants, &self.results);
        let rule = Rule { close: true, ..Rule::default() };
        let seeded = workers.run(variants, inputs.len() as u64, |task, worker| {
            let input = inputs[usize::try_from(task)?];
            let id = InputId::of(input);
            let mut report = Report::default();
            report.counts(input, &variants.metered);
            let recalled = results.get(id);
            report.recalled = u64::from(recalled.is_some() && results.is_recalled(id));
            let (result, packed) = match recalled {
                Some(result) => (result, None),
                None => {
                    let result = worker.result(variants, known, (input, &rule))?;
                    let packed = results.packed(&result);
                    (result, packed)
                }
            };
            let fuel = result.fuel;
            report.shown(result, input, rule, &variants.metered, known);
            Ok(Seeded { report, fuel, input: id, result: packed })
        })?;
        Ok(seeded.filter(|_| !workers.aborted()))
    }
}
