//! Places of the input that operands depend on.

use std::ops::Range;

/// What the operands of a goal depend on.
#[derive(Clone, Debug, Default)]
pub(super) struct Dependence {
    /// By side: places in the input, ascending.
    pub(super) sides: [Vec<usize>; 2],
    /// By side and byte of it, where it has [`Operands::bytes`](super::observed::Operands::bytes): places in the input,
    /// ascending.
    pub(super) content: [Vec<Vec<usize>>; 2],
    /// By way to make the input longer, and by side: how a number changes when it is longer by one.
    pub(super) by_length: Vec<[i64; 2]>,
    /// Places in the input, ascending, with each change of which the goal is not come to.
    pub(super) away: Vec<usize>,
}

impl Dependence {
    /// Whether nothing in the input changes the operands.
    pub(super) fn is_none(&self) -> bool {
        self.sides.iter().all(Vec::is_empty) && self.by_length.iter().all(|slopes| *slopes == [0; 2])
    }

    /// A side's places that follow each other, as ranges.
    pub(super) fn runs(&self, side: usize) -> Vec<Range<usize>> {
        let mut runs: Vec<Range<usize>> = Vec::new();
        for &at in &self.sides[side] {
            match runs.last_mut() {
                Some(run) if run.end == at => run.end += 1,
                _ => runs.push(at..at + 1),
            }
        }
        runs
    }
}
