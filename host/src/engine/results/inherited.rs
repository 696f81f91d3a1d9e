//! What inputs showed on another build, for this one.
//!
//! An execution that entered no function which is another one does the same on both builds, if all else that code can
//! see is the same ([`exact`](fuzzbox_instrument::identity::exact())): same outcome, same fuel, and the same counts of
//! the same edges under other numbers. Failures are executed again all the same, because their places move, and so is
//! what draws, because call sites have numbers. A share of what is said to be the same is executed, too.

use super::{ExecutionResult, Results};
use crate::coverage::Profile;
use crate::id::InputId;
use crate::outcome::Outcome;

/// How features of one build are read as features of another.
#[derive(Clone, Debug, Default)]
pub struct Carry {
    /// By edge of the old build: its number in the new one, if it is of a function that is the same.
    edges: Vec<Option<u32>>,
    /// Edges of the new build; numbers of events follow, in both builds.
    edges_total: u32,
}

/// What came of inheriting results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inherited {
    /// Results that were taken without an execution.
    pub taken: u64,
    /// Those that were executed.
    pub executed: u64,
    /// These showed what was said.
    pub is_right: bool,
}

impl Carry {
    /// `edges` are, by edge of the old build, their numbers in the new one, which has `edges_total`; none for those of
    /// functions that do anything else.
    pub fn new(edges: Vec<Option<u32>>, edges_total: u32) -> Self {
        Self { edges, edges_total }
    }

    /// The same features in the new build; `None` if one is of a function that is another one.
    fn profile(&self, old: &Profile) -> Option<Profile> {
        let old_total = u32::try_from(self.edges.len()).ok()?;
        let feature = |&(edge, bucket): &(u32, u8)| match self.edges.get(edge as usize) {
            Some(new) => Some(((*new)?, bucket)),
            None => Some(((edge - old_total).checked_add(self.edges_total)?, bucket)),
        };
        let mut features: Vec<_> = old.0.iter().map(feature).collect::<Option<_>>()?;
        features.sort_unstable();
        Some(Profile(features))
    }
}

impl Results {
    /// What an input shows on another build than these results are of, if that is certain.
    pub(in crate::engine) fn inherited(&self, input: InputId, carry: &Carry) -> Option<ExecutionResult> {
        let result = self.get(input).filter(|result| result.outcome == Outcome::Ok && result.drawn.is_none())?;
        // Who executed nothing can't have passed.
        let profile = carry.profile(&result.profile).filter(|profile| !profile.0.is_empty())?;
        Some(ExecutionResult { profile, ..result })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_keep_their_functions_and_events_stay_behind_all_edges() {
        let carry = Carry::new(vec![Some(7), None, Some(2), Some(3)], 9);
        let profile = |features: &[(u32, u8)]| carry.profile(&Profile(features.to_vec()));
        assert_eq!(
            profile(&[(0, 4), (2, 1), (4, 8), (4, 16), (6, 1)]).unwrap().0,
            [(2, 1), (7, 4), (9, 8), (9, 16), (11, 1)]
        );
        assert_eq!(profile(&[(0, 4), (1, 1)]), None);
        assert_eq!(profile(&[(u32::MAX, 1)]), None);
    }
}
