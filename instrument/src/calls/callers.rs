//! Calls, seen from who is called.

use super::bodies::BodyCalls;
use crate::module::survey::Survey;

/// Who calls whom.
pub(super) struct Callers {
    /// Pairs (callee, caller), in order.
    pairs: Vec<(u32, u32)>,
}

impl Callers {
    pub(super) fn new(survey: &Survey<'_>, calls: &[BodyCalls]) -> Callers {
        let mut pairs = Vec::new();
        for (function, calls) in (survey.imported..).zip(calls) {
            pairs.extend(calls.callees.iter().map(|&callee| (callee, function)));
        }
        pairs.sort_unstable();
        Callers { pairs }
    }

    /// Those who call a function.
    pub(super) fn of(&self, callee: u32) -> impl Iterator<Item = u32> {
        let first = self.pairs.partition_point(|&(other, _)| other < callee);
        self.pairs[first..].iter().take_while(move |&&(other, _)| other == callee).map(|&(_, caller)| caller)
    }
}
