//! A strategy that begins again, with a corpus of its own: it is shown nothing that others found.

use super::member::{AnyLearned, AnyTask, Member};
use super::{Cost, Spent, View};
use crate::coverage::Seen;
use crate::engine::corpus::Corpus;
use crate::engine::testcase::NewTestcase;
use crate::engine::workers::report::{Baseline, Report};
use crate::engine::workers::worker::Worker;
use anyhow::Result;
use std::any::Any;
use std::sync::Arc;

/// Makes a strategy that knows nothing yet.
pub(super) type Make = Arc<dyn Fn() -> Box<dyn Member> + Send + Sync>;

/// A strategy with a corpus of its own.
#[derive(Debug)]
pub(super) struct Blank {
    pub(super) member: Box<dyn Member>,
    corpus: Corpus,
}

/// What a task learned, and what the corpus has to know of it.
pub(super) struct Learned {
    inner: AnyLearned,
    testcases: Vec<NewTestcase>,
    picks: Vec<usize>,
}

impl Blank {
    /// Begins with the empty input. `nothing` is what is seen of the target before anything is executed.
    pub(super) fn new(member: Box<dyn Member>, nothing: Seen) -> Self {
        let mut corpus = Corpus::of(nothing);
        corpus.keep_empty();
        Self { member, corpus }
    }

    /// What it has found.
    pub(super) fn corpus(&self) -> &Corpus {
        &self.corpus
    }

    fn view<'a>(&'a self, view: &View<'a>) -> View<'a> {
        let known = Baseline { seen: self.corpus.shared_seen(), targets: self.corpus.targets(), ..view.known };
        View { corpus: &self.corpus, known, is_apart: true, ..*view }
    }

    /// As [`Member::plan`].
    pub(super) fn plan(&self, view: &View<'_>, execs: u64) -> Vec<(AnyTask, Cost)> {
        self.member.plan(&self.view(view), execs)
    }

    /// As [`Member::run`]. What is new to it goes into the report, whoever else knows it.
    pub(super) fn run(
        &self,
        task: &(dyn Any + Send + Sync),
        view: &View<'_>,
        worker: &mut Worker,
        report: &mut Report,
    ) -> Result<Learned> {
        let reported = report.testcases.len();
        let inner = self.member.run(task, &self.view(view), worker, report)?;
        // Whose testcases these are nobody else knows by these numbers.
        let picks = std::mem::take(&mut report.picks);
        Ok(Learned { inner, testcases: report.testcases[reported..].to_vec(), picks })
    }

    /// As [`Member::learn`], for its own corpus.
    pub(super) fn learn(&mut self, task: AnyTask, learned: Learned, spent: Spent) {
        let Self { member, corpus } = self;
        let Learned { inner, testcases, picks } = learned;
        picks.into_iter().for_each(|index| corpus.picked(index));
        for testcase in testcases {
            if let Some(admitted) = corpus.admit(testcase) {
                corpus.settle(admitted.index);
                member.settled(admitted.index, !admitted.new_edges.is_empty());
            }
        }
        member.learn(task, inner, spent, corpus);
    }
}
