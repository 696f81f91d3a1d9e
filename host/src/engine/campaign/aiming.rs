//! Where the campaign is to get, and how far it has come.

use super::Campaign;
use crate::engine::aim::{Aim, Pursuit};
use std::sync::Arc;

impl Campaign {
    /// Searches for ways to some places. To be called before anything is executed.
    #[must_use]
    pub fn with_aim(mut self, aim: Arc<Aim>) -> Self {
        self.pursuit = Some(Pursuit::new(aim));
        self
    }

    /// Where it is to get, and by what is aimed at whether that was reached, by what passed or by what failed.
    pub fn reached_goals(&self) -> Option<(&Aim, &[bool])> {
        self.pursuit.as_ref().map(|pursuit| (&*pursuit.aim, pursuit.reached()))
    }

    /// Whether it got everywhere where it is to get.
    pub fn has_arrived(&self) -> bool {
        self.pursuit.as_ref().is_some_and(Pursuit::is_done)
    }

    /// Whether a goal that mutants are for was not reached.
    pub(super) fn is_under_way(&self) -> bool {
        self.pursuit.as_ref().is_some_and(|pursuit| pursuit.share() > 0 && !pursuit.is_done())
    }

    /// Looks where it is by now.
    pub(super) fn look_where(&mut self) {
        let (corpus, failing, calls) = (&self.corpus, &self.failing_edges, self.strategies.compares.calls());
        if let Some(pursuit) = &mut self.pursuit {
            pursuit.look(|edge| corpus.seen().has_edge(edge) || failing.contains(&edge), corpus.testcases(), calls);
        }
    }
}
