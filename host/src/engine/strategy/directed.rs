//! Mutants of testcases that are near goals.
//!
//! AFLGo (Böhme, Pham, Nguyen and Roychoudhury, "Directed greybox fuzzing", CCS 2017): a testcase's distance is the mean
//! of its blocks' distances, normalised between the least and the largest of all testcases: d. While it is hot all have
//! the same energy, and when it is cold what is near has: p = (1 - d)(1 - T) + T / 2, and the factor is 2^(10 p - 5),
//! between 1/32 and 32. AFLGo cools by the clock; here it is by executions.

use super::anneal::temperature;
use super::havoc::{Havoc, Mutating, Picker};
use super::{Cost, Strategy, View};
use crate::engine::aim::{Pursuit, SHARE_OF};
use crate::engine::rng::Rng;
use crate::engine::scheduler::Scheduler;
use crate::engine::workers::report::Report;
use crate::engine::workers::worker::Worker;
use anyhow::Result;

/// Steps of the exponent in which 2^x is known, from -5 to 5: multiplied step by step, which all machines do alike.
const STEPS: usize = 640;
/// 2^(1/64).
const STEP: f64 = 1.010_889_286_051_700_5;
/// The least factor: 2^-5.
const LEAST: f64 = 1.0 / 32.0;

/// Executes mutants of what is near.
#[derive(Debug, Default)]
pub(super) struct Directed;

impl Strategy for Directed {
    type Task = Mutating;
    type Learned = ();

    fn plan(&self, view: &View<'_>, execs: u64) -> Vec<Mutating> {
        let near = view.near().map(|pursuit| Scheduler::scaled(view.corpus, &energies(pursuit, view.execs)));
        let scheduler = near.unwrap_or_else(|| Scheduler::new(view.corpus));
        Havoc::tasks(view, execs, Picker { scheduler, nearby: None })
    }

    fn cost(&self, task: &Mutating, view: &View<'_>) -> Cost {
        Havoc.cost(task, view)
    }

    fn run(&self, task: &Mutating, view: &View<'_>, worker: &mut Worker, report: &mut Report) -> Result<()> {
        Havoc.run(task, view, worker, report)
    }
}

/// Who is mutated where a part of all mutants is for goals.
#[derive(Debug)]
pub(super) struct Nearby {
    by_distance: Scheduler,
    frontier: Vec<usize>,
    share: usize,
}

impl Nearby {
    /// `None` if there is nothing to be near.
    pub(super) fn new(view: &View<'_>) -> Option<Self> {
        let pursuit = view.near().filter(|pursuit| pursuit.share() > 0)?;
        let by_distance = Scheduler::scaled(view.corpus, &energies(pursuit, view.execs));
        Some(Self { by_distance, frontier: pursuit.frontier(), share: pursuit.share() })
    }

    /// A testcase that is near, if it is the turn of one: of these half lack the fewest branches.
    pub(super) fn pick(&self, rng: &mut Rng) -> Option<usize> {
        if rng.below(SHARE_OF) >= self.share {
            return None;
        }
        let is_frontier = !self.frontier.is_empty() && rng.one_in(2);
        Some(if is_frontier { *rng.pick(&self.frontier) } else { self.by_distance.pick(rng) })
    }
}

/// The factor of each testcase's energy after so many executions; 1 for those that are neither near nor far.
fn energies(pursuit: &Pursuit, execs: u64) -> Vec<f64> {
    let distances = || pursuit.testcases().iter().filter_map(|near| near.distance);
    let (least, most) = (distances().fold(f64::INFINITY, f64::min), distances().fold(0.0, f64::max));
    let factors: Vec<f64> = std::iter::successors(Some(LEAST), |factor| Some(factor * STEP)).take(STEPS + 1).collect();
    let cold = 1.0 - temperature(execs);
    let factor = |distance: f64| {
        let normal = if most > least { (distance - least) / (most - least) } else { 0.0 };
        factors[exponent(normal, cold)]
    };
    pursuit.testcases().iter().map(|near| near.distance.map_or(1.0, factor)).collect()
}

/// 10 p - 5, in steps from -5: for a distance from 0 to 1, where `cold` is 1 - T.
fn exponent(distance: f64, cold: f64) -> usize {
    let p = (1.0 - distance) * cold + 0.5 * (1.0 - cold);
    ((p * STEPS as f64).round() as usize).min(STEPS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn energy_is_alike_while_it_is_hot_and_what_is_near_has_it_when_it_is_cold() {
        let factor = |distance, cold| LEAST * STEP.powi(exponent(distance, cold) as i32);
        for distance in [0.0, 0.3, 1.0] {
            assert!((factor(distance, 0.0) - 1.0).abs() < 1e-9);
        }
        assert!((factor(0.0, 1.0) - 32.0).abs() < 1e-9 && (factor(1.0, 1.0) - 1.0 / 32.0).abs() < 1e-12);
        // At t_x, T is 1/20: p = 0.95 (1 - d) + 0.025.
        let expected = 2_f64.powf(10.0 * (0.95 * 0.75 + 0.025) - 5.0);
        assert!((factor(0.25, 0.95) / expected - 1.0).abs() < 0.01);
    }
}
