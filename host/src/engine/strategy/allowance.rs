//! How much of a campaign a strategy may spend beside its mutants: by what it brings.
//!
//! A small part always, so that it is noticed when there is something to be found; beside that an allowance, so that
//! short campaigns see something. Each new edge that the strategy brings earns what mutants take for one at that time:
//! so where it brings edges for less fuel than mutants do it goes on, up to the largest part, and where it brings
//! nothing it ends. Where mutants have brought nothing for long, more is left for it. All of it is counted in fuel, so
//! it is the same on every machine.

use super::Gains;

/// Of what mutants take without a new edge, nothing more is left before so much.
const STUCK_FUEL: u64 = 1 << 32;
/// What mutants take for an edge is told by about so much fuel: some ten seconds.
const WINDOW_FUEL: u64 = 1 << 34;

/// What a strategy may spend.
#[derive(Debug)]
pub(super) struct Terms {
    /// Fuel that may be spent whatever it brings, once.
    pub(super) free: u64,
    /// One part in so many of all fuel is for it whatever it brings,
    pub(super) share_min: u64,
    /// and one in so many at most;
    pub(super) share_max: u64,
    /// and, in between, of what mutants take without a new edge.
    pub(super) share_stuck: u64,
}

/// What a strategy earned, in fuel.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Allowance {
    earned: u64,
    /// By mutants, lately.
    mutants: Gains,
    /// What mutants took since the last new edge, and what they took in vain after [`STUCK_FUEL`] of that.
    idle: u64,
    stuck: u64,
}

impl Allowance {
    /// What it may spend in all, in a campaign whose executions took so much fuel.
    pub(super) fn total(&self, terms: &Terms, fuel: u64) -> u64 {
        let least = fuel / terms.share_min;
        let brought = least.saturating_add(self.earned).saturating_add(self.stuck / terms.share_stuck);
        terms.free.saturating_add(brought.min(fuel / terms.share_max))
    }

    /// What mutants brought, and how many new edges the strategy did.
    pub(super) fn brought(&mut self, mutants: Gains, own_edges: u64) {
        self.mutants.fuel = self.mutants.fuel.saturating_add(mutants.fuel);
        self.mutants.edges += mutants.edges;
        if mutants.edges + own_edges > 0 {
            self.idle = 0;
        } else if self.idle < STUCK_FUEL {
            self.idle = self.idle.saturating_add(mutants.fuel);
        } else {
            self.stuck = self.stuck.saturating_add(mutants.fuel);
        }
        let edge = self.mutants.fuel / self.mutants.edges.max(1);
        self.earned = self.earned.saturating_add(edge.saturating_mul(own_edges));
        while self.mutants.fuel > WINDOW_FUEL {
            self.mutants.fuel /= 2;
            self.mutants.edges /= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMS: Terms = Terms { free: 1 << 30, share_min: 24, share_max: 6, share_stuck: 16 };

    /// Rounds in which mutants find an edge each, and a strategy spends what it may and finds so many edges by each
    /// `fuel` that it spends. Returns the part of all fuel that it spent.
    fn part(edge_fuel: u64) -> f64 {
        const ROUND_FUEL: u64 = 1 << 30;
        let (mut allowance, mut spent, mut left_over) = (Allowance::default(), 0, 0);
        let rounds = 1_000;
        for round in 1..=rounds {
            allowance.brought(Gains { execs: 0, fuel: ROUND_FUEL, edges: 1 }, 0);
            let left = allowance.total(&TERMS, round * ROUND_FUEL) - spent;
            spent += left;
            left_over += left;
            allowance.brought(Gains::default(), left_over / edge_fuel);
            left_over %= edge_fuel;
        }
        spent as f64 / (rounds * ROUND_FUEL) as f64
    }

    #[test]
    fn what_brings_nothing_gets_little_and_what_brings_more_than_mutants_do_much() {
        let part = [u64::MAX, 4 << 30, 1 << 29].map(part);
        assert!(part[0] < 1.1 / TERMS.share_min as f64, "{part:?}");
        assert!(part[1] > part[0] && part[1] < 2.0 * part[0], "{part:?}");
        assert!(part[2] > 0.9 / TERMS.share_max as f64 && part[2] < 1.1 / TERMS.share_max as f64, "{part:?}");
    }

    #[test]
    fn where_mutants_bring_nothing_for_long_more_is_left() {
        let mut allowance = Allowance::default();
        allowance.brought(Gains { execs: 0, fuel: STUCK_FUEL, edges: 0 }, 0);
        let before = allowance.total(&TERMS, 1 << 40);
        allowance.brought(Gains { execs: 0, fuel: 16 << 30, edges: 0 }, 0);
        assert_eq!(allowance.total(&TERMS, 1 << 40), before + (1 << 30));
    }
}
