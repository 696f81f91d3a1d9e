//! Executions that may hang: those that take far more than any testcase does.
//!
//! To see that an execution takes more than `--fuel-max` costs as much as thousands of others. So executions have a
//! lower limit, from what the testcases take. What exceeds that is *suspected*, and executed with all of the fuel only
//! where that can matter: where the guest was somewhere that no hang is known to be, or has reached what nobody has;
//! and a few of the others, whose number costs no more than they do.
//!
//! Which executions are suspected depends on the variant: one without fuel finishes what a clock lets it. So nothing
//! may depend on a suspect but by way of its confirmation, which says the same of what a quick variant finished: if it
//! is no news it leaves nothing behind. Therefore hangs are known only by confirmed ones, suspects are confirmed in
//! order until one of them hangs, and what all of that may cost is counted in confirmed hangs.
//!
//! # A hang is suspected first
//!
//! In a campaign executions may take 50 times what the slowest testcase takes. What takes more is executed with all
//! of the fuel at the end of the round only if no hang is known with its signature, or it reached an edge that
//! neither a testcase nor a hang has; beside these a few that their hash chooses. A quick variant finishes what a
//! clock lets it, so nothing may depend on a suspect but through its confirmation (`engine/suspects`). What draws
//! has no such limit: an overrun takes more than testcases do. Of every fourth task one mutant is executed in
//! `metered`; these say what executions take.

use super::rng::Rng;
use crate::outcome::Outcome;
use std::collections::BTreeSet;

/// How many times as much as the slowest testcase an execution may take.
const FACTOR: u64 = 50;
/// Fuel that each may take, in units: less takes no time.
const FUEL_MIN: u64 = 250_000;
/// Hangs that a round confirms at most.
const ROUND_HANGS: u64 = 2;
/// Hangs that are confirmed however little else was executed.
const FREE_HANGS: u64 = 4;
/// The part of all fuel that confirming hangs may take beside.
const SHARE: u64 = 4;
/// How many outcomes of suspects are known by heart.
const OUTCOMES_MAX: usize = 4096;

/// An execution that was ended before it had all of its fuel.
#[derive(Clone, Debug)]
pub(super) struct Suspect {
    /// How it ended.
    pub(super) outcome: Outcome,
    /// Edges that it reached and no testcase has.
    pub(super) edges: Vec<u32>,
    /// It is confirmed whatever else is known.
    pub(super) chosen: bool,
    /// How its input is made again.
    pub(super) origin: Option<Origin>,
}

/// What makes an input again: it can be large, and most are not needed.
#[derive(Clone, Debug)]
pub(super) enum Origin {
    /// The testcase that it is a mutant of, and what it was made with.
    Mutant(usize, Rng),
    /// What no random numbers make, which is rare.
    Given(Vec<u8>),
}

/// What is known of hangs. A function of those that were confirmed.
#[derive(Clone, Debug, Default)]
pub(super) struct Hangs {
    /// Their signatures.
    signatures: BTreeSet<String>,
    /// Suspects whose signatures are among them: these need not be looked at again.
    outcomes: BTreeSet<Outcome>,
    /// Edges that they reached.
    edges: BTreeSet<u32>,
    /// How many were confirmed.
    pub(super) confirmed: u64,
}

impl Hangs {
    /// Whether an execution that was ended with this outcome is a hang as others are, so that it is nothing to look at.
    pub(super) fn is_known(&self, outcome: &Outcome) -> bool {
        self.outcomes.contains(outcome)
    }

    /// Whether a confirmed hang reached this edge.
    pub(super) fn has_edge(&self, edge: u32) -> bool {
        self.edges.contains(&edge)
    }

    /// Whether it has to be found out whether a suspect with this signature hangs.
    pub(super) fn wants(&self, suspect: &Suspect, signature: &str) -> bool {
        suspect.chosen || suspect.edges.iter().any(|edge| !self.has_edge(*edge)) || !self.signatures.contains(signature)
    }

    /// A suspect was confirmed: it hangs, with these signatures at both limits, and reached these edges.
    pub(super) fn add(&mut self, signatures: [String; 2], edges: Vec<u32>) {
        self.signatures.extend(signatures);
        self.edges.extend(edges);
        self.confirmed += 1;
    }

    /// A suspect has this signature.
    pub(super) fn met(&mut self, outcome: Outcome, signature: &str) {
        if self.outcomes.len() < OUTCOMES_MAX && self.signatures.contains(signature) {
            self.outcomes.insert(outcome);
        }
    }

    /// How many may be confirmed now, at `fuel_max` units each, if all executions took `fuel`.
    pub(super) fn affordable(&self, fuel: u64, fuel_max: u64) -> u64 {
        (FREE_HANGS + fuel / SHARE / fuel_max.max(1)).saturating_sub(self.confirmed).min(ROUND_HANGS)
    }
}

/// Fuel that executions may take if the slowest testcase takes `slowest` and the limit is `fuel_max`, in units.
pub(super) fn limit(slowest: u64, fuel_max: u64) -> u64 {
    let limit = slowest.saturating_mul(FACTOR).max(FUEL_MIN);
    // What is suspected is executed once more: that must be worth it.
    if limit > fuel_max / 2 { fuel_max } else { limit }
}

/// Whether an input is among those that are confirmed in any case: of as many as take `fuel_max` at `limit` each, every
/// second one.
pub(super) fn is_chosen(input: &[u8], limit: u64, fuel_max: u64) -> bool {
    let hash = blake3::hash(input);
    let number = u64::from_le_bytes(*hash.as_bytes().first_chunk().expect("a hash has 32 bytes"));
    number.is_multiple_of((2 * fuel_max / limit.max(1)).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_follows_the_slowest_testcase_between_its_bounds() {
        assert_eq!(limit(0, 2_000_000_000), FUEL_MIN);
        assert_eq!(limit(1_000_000, 2_000_000_000), 50_000_000);
        assert_eq!(limit(30_000_000, 2_000_000_000), 2_000_000_000);
        assert_eq!(limit(u64::MAX, 1_000), 1_000);
    }

    #[test]
    fn what_confirmations_cost_is_a_share_of_all() {
        let mut hangs = Hangs::default();
        assert_eq!(hangs.affordable(0, 1_000), ROUND_HANGS);
        (0..FREE_HANGS).for_each(|_| hangs.add([String::new(), String::new()], Vec::new()));
        assert_eq!(hangs.affordable(3_999, 1_000), 0);
        assert_eq!(hangs.affordable(4_000, 1_000), 1);
        assert_eq!(hangs.affordable(u64::MAX, 1_000), ROUND_HANGS);
    }

    #[test]
    fn few_inputs_are_chosen_and_always_the_same() {
        let chosen = || (0..100_000_u32).filter(|number| is_chosen(&number.to_le_bytes(), 1_000, 100_000)).count();
        assert!((250..1000).contains(&chosen()), "{}", chosen());
        assert_eq!(chosen(), chosen());
    }
}
