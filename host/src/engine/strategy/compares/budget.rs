//! How much of a campaign may be spent on comparisons: by what that brings.
//!
//! A small part always, so that it is noticed when there is something to be found; beside that an allowance, so that
//! short campaigns see something. Each new edge that comparisons bring earns what mutants take for one at that time: so
//! where comparisons bring edges for less fuel than mutants do they go on, up to the largest part, and where they bring
//! nothing they end. Where mutants have brought nothing for long, more is left for comparisons: what holds a campaign
//! up is most often one of these. All of it is counted in fuel, so it is the same on every machine.

use crate::engine::strategy::Gains;

/// An execution in the traced variant takes so many times as long as fuel says.
pub(super) const SLOWNESS: u64 = 4;
/// One part in so many of all fuel is for this whatever it brings.
const SHARE_MIN: u64 = 24;
/// And one in so many at most.
const SHARE_MAX: u64 = 6;
/// And of what mutants take without a new edge, after so much of it.
const SHARE_STUCK: u64 = 16;
const STUCK_FUEL: u64 = 1 << 32;
/// Fuel that may be spent beside, once: about a second.
const FREE_FUEL: u64 = 3 << 29;
/// What mutants take for an edge is told by about so much fuel: some ten seconds.
const WINDOW_FUEL: u64 = 1 << 34;

/// Fuel that one execution in the traced variant takes beside its own: to restore, and to judge all of what it did.
pub(super) const EXECUTION_FUEL: u64 = 8_000;
/// Fuel that each thing takes that it recorded: to write it, read it, and look what it is good for.
pub(super) const RECORD_FUEL: u64 = 64;
/// Executions of a task, at most.
pub(super) const TASK_EXECS_MAX: u64 = 8192;
/// Testcases that a round looks at.
pub(super) const TASKS_MAX: usize = 16;
/// The same while a goal was not reached: of twenty parsers one is reached in 0.22 of the executions that it takes
/// without a goal; with as many tasks as else in 0.57, nearly all of them made by comparisons of what is far.
pub(super) const TASKS_UNDER_WAY_MAX: usize = 2;
/// Less fuel than for so many executions is not worth a task; and less than so much, if that is enough for some
/// hundreds: what an input's goals depend on takes as many.
pub(super) const TASK_EXECS_MIN: u64 = 64;
pub(super) const TASK_FUEL_MIN: u64 = 1 << 24;
pub(super) const TASK_EXECS_ENOUGH: u64 = 512;
/// The campaign has spent so much fuel for each byte of code when the traced variant is compiled, which takes about as
/// long.
pub(super) const COMPILE_FUEL: u64 = 2_000;

/// What was spent and earned, in units of fuel of plain executions.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Budget {
    spent: u64,
    earned: u64,
    /// By mutants, lately.
    mutants: Gains,
    /// What mutants took since the last new edge, and what they took in vain after [`STUCK_FUEL`] of that.
    idle: u64,
    stuck: u64,
}

impl Budget {
    /// What may be spent now, in units of the traced variant, in a campaign whose executions took so much fuel.
    pub(super) fn left(&self, fuel: u64) -> u64 {
        let brought = (fuel / SHARE_MIN).saturating_add(self.earned).saturating_add(self.stuck / SHARE_STUCK);
        (FREE_FUEL.saturating_add(brought.min(fuel / SHARE_MAX)).saturating_sub(self.spent)) / SLOWNESS
    }

    /// What was spent, in units of the traced variant.
    pub(super) fn spent(&self) -> u64 {
        self.spent / SLOWNESS
    }

    /// So much fuel was spent in the traced variant.
    pub(super) fn spend(&mut self, fuel: u64) {
        self.spent = self.spent.saturating_add(fuel.saturating_mul(SLOWNESS));
    }

    /// What mutants brought, and how many new edges comparisons did.
    pub(super) fn brought(&mut self, mutants: Gains, compared_edges: u64) {
        self.mutants.fuel = self.mutants.fuel.saturating_add(mutants.fuel);
        self.mutants.edges += mutants.edges;
        if mutants.edges + compared_edges > 0 {
            self.idle = 0;
        } else if self.idle < STUCK_FUEL {
            self.idle = self.idle.saturating_add(mutants.fuel);
        } else {
            self.stuck = self.stuck.saturating_add(mutants.fuel);
        }
        let edge = self.mutants.fuel / self.mutants.edges.max(1);
        self.earned = self.earned.saturating_add(edge.saturating_mul(compared_edges));
        while self.mutants.fuel > WINDOW_FUEL {
            self.mutants.fuel /= 2;
            self.mutants.edges /= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds in which mutants find an edge each, and comparisons spend what they may and find so many edges by each
    /// `fuel` that they spend. Returns the part of all fuel that they spent.
    fn part(edge_fuel: u64) -> f64 {
        const ROUND_FUEL: u64 = 1 << 30;
        let (mut budget, mut left_over) = (Budget::default(), 0);
        let rounds = 1_000;
        for round in 1..=rounds {
            budget.brought(Gains { execs: 0, fuel: ROUND_FUEL, edges: 1 }, 0);
            let spent = budget.left(round * ROUND_FUEL);
            budget.spend(spent);
            left_over += spent * SLOWNESS;
            budget.brought(Gains::default(), left_over / edge_fuel);
            left_over %= edge_fuel;
        }
        budget.spent as f64 / (rounds * ROUND_FUEL) as f64
    }

    #[test]
    fn what_brings_nothing_gets_little_and_what_brings_more_than_mutants_do_much() {
        let part = [u64::MAX, 4 << 30, 1 << 29].map(part);
        assert!(part[0] < 1.1 / SHARE_MIN as f64, "{part:?}");
        assert!(part[1] > part[0] && part[1] < 2.0 * part[0], "{part:?}");
        assert!(part[2] > 0.9 / SHARE_MAX as f64 && part[2] < 1.1 / SHARE_MAX as f64, "{part:?}");
    }
}
