//! How much of a campaign may be spent on comparisons: see [`allowance`](super::super::allowance).

use super::super::allowance::{Allowance, Terms};
use super::super::traced::SLOWNESS;
use crate::engine::strategy::Gains;

/// What is free is about a second. Where mutants bring nothing for long, what holds a campaign up is most often a
/// comparison.
const TERMS: Terms = Terms { free: 3 << 29, share_min: 24, share_max: 6, share_stuck: 16 };

/// Executions of a task, at most.
pub(super) const TASK_EXECS_MAX: u64 = 8192;
/// Testcases that a round looks at.
pub(super) const TASKS_MAX: usize = 16;
/// One part in so many of what is spent is for goals that need much effort, while testcases wait.
pub(super) const HARD_PART: u64 = 6;
/// One part in so many of what is left is for the tasks of a round.
pub(super) const ROUND_PART: u64 = 2;
/// The same while a goal was not reached: of twenty parsers one is reached in 0.22 of the executions that it takes
/// without a goal; with as many tasks as else in 0.57, nearly all of them made by comparisons of what is far.
pub(super) const TASKS_UNDER_WAY_MAX: usize = 2;
/// Less fuel than for so many executions is not worth a task; and less than so much, if that is enough for some
/// hundreds: what an input's goals depend on takes as many.
pub(super) const TASK_EXECS_MIN: u64 = 192;
pub(super) const TASK_FUEL_MIN: u64 = 1 << 24;
pub(super) const TASK_EXECS_ENOUGH: u64 = 512;
/// What is left when goals that need much effort have theirs makes of each task no more than one part in so many of
/// what the campaign has spent: 64 workers would have nothing else to do where one takes much longer than a round. (On
/// md4c single tasks took a hundredth of a campaign. Where the tasks of inputs are kept as short, libtiff loses a sixth
/// of the edges that it has after half a minute from nothing: their goals follow from each other.)
const CAMPAIGN_PART: u64 = 512;
/// But it may make them so long, a tenth of a second, in a young campaign.
const TASK_FUEL_FREE: u64 = 1 << 27;
/// The campaign has spent so much fuel for each byte of code when the traced variant is compiled, which takes about as
/// long.
pub(super) const COMPILE_FUEL: u64 = 2_000;

/// What the task of a goal that needs much effort may take, in units of the traced variant, if it needs no more itself,
/// in a campaign whose executions took so much fuel.
pub(super) fn task_fuel_max(fuel: u64) -> u64 {
    (fuel / CAMPAIGN_PART).max(TASK_FUEL_FREE) / SLOWNESS
}

/// What was spent and earned.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Budget {
    /// Fuel, in the traced variant.
    spent: u64,
    allowance: Allowance,
}

impl Budget {
    /// What may be spent now, in units of the traced variant, in a campaign whose executions took so much fuel.
    pub(super) fn left(&self, fuel: u64) -> u64 {
        (self.allowance.total(&TERMS, fuel) / SLOWNESS).saturating_sub(self.spent)
    }

    /// What was spent, in units of the traced variant.
    pub(super) fn spent(&self) -> u64 {
        self.spent
    }

    /// So much fuel was spent in the traced variant.
    pub(super) fn spend(&mut self, fuel: u64) {
        self.spent = self.spent.saturating_add(fuel);
    }

    /// What mutants brought, and how many new edges comparisons did.
    pub(super) fn brought(&mut self, mutants: Gains, compared_edges: u64) {
        self.allowance.brought(mutants, compared_edges);
    }
}
