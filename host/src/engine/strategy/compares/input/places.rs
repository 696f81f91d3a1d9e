//! Places of the input that operands depend on.

use std::cmp::Reverse;
use std::ops::Range;

/// Places that checks hold are looked at in so many runs.
const HELD_MAX: usize = 4;

/// What the operands of a goal depend on.
#[derive(Clone, Debug, Default)]
pub(in crate::engine::strategy::compares) struct Dependence {
    /// By side: places in the input, ascending.
    pub(in crate::engine::strategy::compares) sides: [Vec<usize>; 2],
    /// By side and byte of it, where it has [`Operands::bytes`](super::super::seen::observed::Operands::bytes): places
    /// in the input, ascending.
    pub(in crate::engine::strategy::compares) content: [Vec<Vec<usize>>; 2],
    /// By way to make the input longer, and by side: how a number changes when it is longer by one.
    pub(in crate::engine::strategy::compares) by_length: Vec<[i64; 2]>,
    /// Places in the input, ascending, with each change of which the goal is not come to.
    pub(in crate::engine::strategy::compares) away: Vec<usize>,
    /// Where nothing was seen to change a goal: places that checks on the way to it hold, the last check's first.
    pub(in crate::engine::strategy::compares) held: Vec<Range<usize>>,
}

/// Places that follow each other, as ranges.
fn runs(places: &[usize]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for &at in places {
        match runs.last_mut() {
            Some(run) if run.end == at => run.end += 1,
            _ => runs.push(at..at + 1),
        }
    }
    runs
}

impl Dependence {
    /// Whether nothing in the input changes the operands.
    pub(in crate::engine::strategy::compares) fn is_none(&self) -> bool {
        self.sides.iter().all(Vec::is_empty) && self.by_length.iter().all(|slopes| *slopes == [0; 2])
    }

    /// Takes what changes the checks of an execution, if nothing was seen to change the goal: where each change of what
    /// a check is about leads elsewhere, that check is on the way to it.
    pub(in crate::engine::strategy::compares) fn hold(&mut self, checks: &[Self]) {
        let is_held = |run: &Range<usize>| run.clone().all(|at| self.away.binary_search(&at).is_ok());
        let mut held: Vec<_> =
            checks.iter().flat_map(|check| (0..2).flat_map(|side| check.runs(side))).filter(is_held).collect();
        held.sort_by_key(|run| (Reverse(run.start), run.end));
        held.dedup();
        held.truncate(HELD_MAX);
        self.held = held;
    }

    /// A side's places that follow each other, as ranges.
    pub(in crate::engine::strategy::compares) fn runs(&self, side: usize) -> Vec<Range<usize>> {
        runs(&self.sides[side])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_leads_elsewhere_wherever_it_is_changed_is_held() {
        let check = |places: &[usize]| Dependence { sides: [places.to_vec(), Vec::new()], ..Dependence::default() };
        let mut goal = Dependence { away: vec![0, 1, 4, 5, 6, 7], ..Dependence::default() };
        goal.hold(&[check(&[0, 1]), check(&[2, 3]), check(&[4, 5, 6, 7]), check(&[4, 5, 6, 7]), check(&[7, 8])]);
        assert_eq!(goal.held, [4..8, 0..2]);
    }
}
