//! An overlay: now and then the strategy begins again, blank, and what that finds is kept.
//!
//! A search that went where nothing is may never come back. So it is let alone for some executions, then a blank one is
//! for as many; what that shows which is new joins the campaign's corpus. How many these are, in units of 16,384, are
//! Luby's numbers 1 1 2 1 1 2 4 1 1 2 1 1 2 4 8 ... (Luby, Sinclair and Zuckerman, "Optimal speedup of Las Vegas
//! algorithms", 1993): within a logarithmic factor of the best time to begin again, whatever that is, and never more
//! than half of all executions.

use super::blank::{Blank, Make};
use super::member::{AnyLearned, AnyTask, Member};
use super::{Cost, Gains, Spent, View};
use crate::coverage::Seen;
use crate::engine::corpus::Corpus;
use crate::engine::workers::report::Report;
use crate::engine::workers::worker::Worker;
use anyhow::Result;
use std::any::Any;
use std::fmt;

/// Executions that Luby's numbers count.
const UNIT_EXECS: u64 = 1 << 14;

/// A strategy that begins again.
pub(super) struct Restarts {
    make: Make,
    main: Box<dyn Member>,
    /// The blank one, while it has its turn.
    blank: Option<Blank>,
    /// How many there were.
    restarts: u64,
    /// Executions that are left of this turn.
    left: u64,
    /// What is seen of the target before anything is executed.
    nothing: Seen,
}

impl fmt::Debug for Restarts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { main, blank, restarts, left, .. } = self;
        f.debug_tuple("Restarts").field(main).field(blank).field(restarts).field(left).finish()
    }
}

impl Restarts {
    pub(super) fn new(make: Make) -> Self {
        Self { main: make(), make, blank: None, restarts: 0, left: UNIT_EXECS, nothing: Seen::default() }
    }
}

/// The number with this place, from 1, in Luby's sequence.
fn luby(place: u64) -> u64 {
    // 2^k - 1 numbers end with 2^(k-1); what follows begins as all did.
    let ends = (place + 1).is_power_of_two();
    if ends { place.div_ceil(2) } else { luby(place + 1 - (1 << place.ilog2())) }
}

impl Member for Restarts {
    fn inner(&self) -> &dyn Member {
        &*self.main
    }

    fn inner_mut(&mut self) -> &mut dyn Member {
        &mut *self.main
    }

    fn plan(&self, view: &View<'_>, execs: u64) -> Vec<(AnyTask, Cost)> {
        let execs = execs.min(self.left);
        match &self.blank {
            Some(blank) => blank.plan(view, execs),
            None => self.main.plan(view, execs),
        }
    }

    fn run(
        &self,
        task: &(dyn Any + Send + Sync),
        view: &View<'_>,
        worker: &mut Worker,
        report: &mut Report,
    ) -> Result<AnyLearned> {
        match &self.blank {
            Some(blank) => Ok(Box::new(blank.run(task, view, worker, report)?)),
            None => self.main.run(task, view, worker, report),
        }
    }

    fn learn(&mut self, task: AnyTask, learned: AnyLearned, spent: Spent, corpus: &mut Corpus) {
        self.left = self.left.saturating_sub(spent.execs);
        self.nothing = corpus.seen().to_nothing();
        match &mut self.blank {
            Some(blank) => blank.learn(task, *learned.downcast().expect("it is what its task learned"), spent),
            None => self.main.learn(task, learned, spent, corpus),
        }
    }

    fn gained(&mut self, own: Gains, mutants: Gains) {
        match &mut self.blank {
            Some(blank) => blank.member.gained(own, mutants),
            None => self.main.gained(own, mutants),
        }
        if self.left > 0 && !self.blank.as_ref().is_some_and(|blank| blank.member.is_exhausted()) {
            return;
        }
        // The blank one has as long as the other one had.
        self.blank = match self.blank.take() {
            None => Some(Blank::new((self.make)(), self.nothing.clone())),
            Some(_) => None,
        };
        self.restarts += u64::from(self.blank.is_none());
        self.left = UNIT_EXECS * luby(self.restarts + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_as_long_as_luby_says() {
        assert_eq!((1..=15).map(luby).collect::<Vec<_>>(), [1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8]);
    }
}
