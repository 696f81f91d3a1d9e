//! Which alternatives were tried behind which exemplars.

use std::collections::BTreeSet;

/// Which steps were looked at.
#[derive(Clone, Debug, Default)]
pub(super) struct Steps {
    /// By exemplar: how many alternatives were tried, and how many of these led back to it.
    pub(super) tried: Vec<(u64, u64)>,
    /// Exemplars that have others: how many led back, the length, and the place.
    pub(super) open: BTreeSet<(u64, usize, usize)>,
    /// Alternatives there were when `open` was made.
    pub(super) symbols: u64,
    /// They were looked at before.
    pub(super) again: bool,
    /// Walks since they were begun.
    pub(super) walks: u32,
    /// Executions of steps, and all.
    pub(super) spent: (u64, u64),
}

impl Steps {
    /// Has all exemplars stepped on from by so many alternatives, as far as that was not done. They have these lengths.
    pub(super) fn reopen(&mut self, exemplars: &[usize], symbols: u64) {
        self.symbols = symbols;
        self.open.clear();
        for (place, &len) in exemplars.iter().enumerate() {
            if place == self.tried.len() {
                self.tried.push((0, 0));
            }
            let (tried, back) = self.tried[place];
            if tried < symbols {
                self.open.insert((back, len, place));
            }
        }
    }

    /// Begins anew.
    pub(super) fn begin_again(&mut self) {
        self.tried.clear();
        self.open.clear();
        (self.again, self.walks) = (true, 0);
    }
}
