//! What is compared on the way to a goal: of what no longer gets there it shows what keeps it from that.

use super::super::seen::observed::{Observed, Place, observe};
use super::probe::{Probe, Step};
use std::collections::BTreeMap;

/// How comparisons turn out on the way to a goal, and in which order they are made.
#[derive(Debug)]
pub(in crate::engine::strategy::compares) struct Way(BTreeMap<Place, (bool, usize)>);

impl Way {
    /// That of an input that gets there.
    pub(in crate::engine::strategy::compares) fn of(
        probe: &mut Probe<'_, '_>,
        input: &[u8],
        goal: &Observed,
    ) -> Step<Self> {
        let observed = observe(&probe.show(input)?.trace, false, |_| true);
        let before = observed.iter().take_while(|observed| observed.place != goal.place.own());
        let turns = before.enumerate().map(|(at, observed)| (observed.place, (observed.operands.outcome(), at)));
        Ok(Self(turns.collect()))
    }

    /// How far along the way a comparison is made: the larger, the nearer to the goal.
    pub(in crate::engine::strategy::compares) fn progress(&self, observed: &Observed) -> usize {
        self.0.get(&observed.place).map_or(0, |&(_, at)| at)
    }

    /// The comparisons of a candidate that turn out otherwise than on the way, in their order.
    pub(in crate::engine::strategy::compares) fn turned(
        &self,
        probe: &mut Probe<'_, '_>,
        candidate: &[u8],
    ) -> Step<Vec<Observed>> {
        let mut observed = observe(&probe.show(candidate)?.trace, false, |_| true);
        let turns = |observed: &Observed, outcome: bool| outcome != observed.operands.outcome();
        observed.retain(|observed| self.0.get(&observed.place).is_some_and(|&(outcome, _)| turns(observed, outcome)));
        Ok(observed)
    }
}
