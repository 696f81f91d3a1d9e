//! What is compared on the way to a goal: of what no longer gets there it shows what keeps it from that.

use super::super::seen::observed::{Observed, Operands, Place, observe};
use super::probe::{Probe, Step};
use std::collections::BTreeMap;

/// What is compared on the way to a goal, and in which order.
#[derive(Debug)]
pub(in crate::engine::strategy::compares) struct Way(BTreeMap<Place, (Operands, usize)>);

impl Way {
    /// That of an input that gets there.
    pub(in crate::engine::strategy::compares) fn of(
        probe: &mut Probe<'_, '_>,
        input: &[u8],
        goal: &Observed,
    ) -> Step<Self> {
        let observed = observe(&probe.show(input)?.trace, false, |_| true);
        let before = observed.into_iter().take_while(|observed| observed.place != goal.place.own());
        Ok(Self(before.enumerate().map(|(at, observed)| (observed.place, (observed.operands, at))).collect()))
    }

    /// How far along the way a comparison is made: the larger, the nearer to the goal.
    pub(in crate::engine::strategy::compares) fn progress(&self, observed: &Observed) -> usize {
        self.0.get(&observed.place).map_or(0, |&(_, at)| at)
    }

    /// What is compared at a place on the way.
    pub(in crate::engine::strategy::compares) fn operands(&self, place: Place) -> Option<&Operands> {
        self.0.get(&place).map(|(operands, _)| operands)
    }

    /// The comparisons of a candidate that turn out otherwise than on the way, in their order.
    pub(in crate::engine::strategy::compares) fn turned(
        &self,
        probe: &mut Probe<'_, '_>,
        candidate: &[u8],
    ) -> Step<Vec<Observed>> {
        let mut observed = observe(&probe.show(candidate)?.trace, false, |_| true);
        let turns = |operands: &Operands, observed: &Observed| operands.outcome() != observed.operands.outcome();
        observed.retain(|observed| self.operands(observed.place).is_some_and(|operands| turns(operands, observed)));
        Ok(observed)
    }
}
