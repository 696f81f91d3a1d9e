//! An overlay: now and then the strategy begins again, blank, and what that finds is kept.
//!
//! A search that went where nothing is may never come back. So it is let alone for some executions, then a blank one is
//! for as many; what that shows which is new joins the campaign's corpus. How many these are, in units of 16,384, are
//! Luby's numbers 1 1 2 1 1 2 4 1 1 2 1 1 2 4 8 ... (Luby, Sinclair and Zuckerman, "Optimal speedup of Las Vegas
//! algorithms", 1993): within a logarithmic factor of the best time to begin again, whatever that is, and never more
//! than half of all executions.

use super::member::{AnyLearned, AnyTask, Member};
use super::{Cost, Gains, Spent, View};
use crate::coverage::Seen;
use crate::engine::corpus::Corpus;
use crate::engine::testcase::NewTestcase;
use crate::engine::workers::report::{Baseline, Report};
use crate::engine::workers::worker::Worker;
use anyhow::Result;
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// Executions that Luby's numbers count.
const UNIT_EXECS: u64 = 1 << 14;

/// Makes a blank strategy.
pub(super) type Make = Arc<dyn Fn() -> Box<dyn Member> + Send + Sync>;

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

/// A blank strategy with a corpus of its own.
#[derive(Debug)]
struct Blank {
    member: Box<dyn Member>,
    corpus: Corpus,
}

impl fmt::Debug for Restarts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { main, blank, restarts, left, .. } = self;
        f.debug_tuple("Restarts").field(main).field(blank).field(restarts).field(left).finish()
    }
}

/// What a task learned, and what the blank corpus has to know of it.
struct Learned {
    inner: AnyLearned,
    testcases: Vec<NewTestcase>,
    picks: Vec<usize>,
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

/// A corpus that begins with the empty input.
fn blank_corpus(nothing: Seen) -> Corpus {
    let mut corpus = Corpus::of(nothing);
    corpus.keep_empty();
    corpus
}

impl Blank {
    /// What it is shown: nothing that others found.
    fn view<'a>(&'a self, view: &View<'a>) -> View<'a> {
        let known = Baseline { seen: self.corpus.shared_seen(), targets: self.corpus.targets(), ..view.known };
        View { corpus: &self.corpus, known, is_apart: true, ..*view }
    }
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
            Some(blank) => blank.member.plan(&blank.view(view), execs),
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
        let Some(blank) = &self.blank else { return self.main.run(task, view, worker, report) };
        let inner = blank.member.run(task, &blank.view(view), worker, report)?;
        // Whose testcases these are nobody else knows by these numbers.
        let picks = std::mem::take(&mut report.picks);
        Ok(Box::new(Learned { inner, testcases: report.testcases.clone(), picks }))
    }

    fn learn(&mut self, task: AnyTask, learned: AnyLearned, spent: Spent, corpus: &mut Corpus) {
        self.left = self.left.saturating_sub(spent.execs);
        self.nothing = corpus.seen().to_nothing();
        let Some(Blank { member, corpus }) = &mut self.blank else {
            return self.main.learn(task, learned, spent, corpus);
        };
        let Learned { inner, testcases, picks } = *learned.downcast().expect("it is what its task learned");
        picks.into_iter().for_each(|index| corpus.picked(index));
        for testcase in testcases {
            if let Some(admitted) = corpus.admit(testcase) {
                corpus.settle(admitted.index);
                member.settled(admitted.index, !admitted.new_edges.is_empty());
            }
        }
        member.learn(task, inner, spent, corpus);
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
            None => Some(Blank { member: (self.make)(), corpus: blank_corpus(self.nothing.clone()) }),
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
