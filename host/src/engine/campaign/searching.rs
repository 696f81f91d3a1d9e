//! By which strategy a campaign searches, how often it executed what, and how far it came on traces.

use super::Campaign;
use crate::engine::strategy::exemplar::automaton::Automaton;
use crate::engine::strategy::exemplar::states::Experiment;
use crate::engine::strategy::named::Search;
use crate::engine::testcase::Testcase;
use std::collections::BTreeMap;

/// Inputs that are counted at most; what comes later is not.
const TALLY_MAX: usize = 1 << 16;

impl Campaign {
    /// Searches by a strategy that was asked for by its name. To be called before anything is executed.
    #[must_use]
    pub fn with_search(mut self, search: &Search) -> Self {
        self.strategies.mutants = search.method();
        self.strategies.visits = search.visits();
        self
    }

    /// Counts from now on how often each input is executed, of those that the guest takes and that are no seeds. That
    /// takes time.
    #[must_use]
    pub fn with_tally(mut self) -> Self {
        self.tally = Some(BTreeMap::new());
        self
    }

    /// How often each input was executed, by its canonical form, for the first 65,536 different ones; empty unless that
    /// is [counted](Campaign::with_tally).
    pub fn tally(&self) -> impl ExactSizeIterator<Item = (&[u8], u64)> {
        static NOTHING: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
        self.tally.as_ref().unwrap_or(&NOTHING).iter().map(|(input, &count)| (&input[..], count))
    }

    /// Whether there is nothing left that its strategy could execute.
    pub fn is_exhausted(&self) -> bool {
        !self.has_seeds() && self.strategies.are_exhausted()
    }

    /// Streams that stand for states of the guest, if its strategy tells these apart: no two are in the same.
    pub fn states(&self) -> Vec<Vec<u8>> {
        self.strategies.states()
    }

    /// The tree of what tells these states apart, its root first.
    pub fn experiments(&self) -> Vec<Experiment> {
        self.strategies.experiments()
    }

    /// The automaton of what the guest takes, if its strategy makes one, with how many random words that was tried.
    pub fn automaton(&self) -> Option<(Automaton, u64)> {
        self.strategies.automaton()
    }

    /// How many testcases its grammar does not derive, if it has one: they are changed as bytes.
    pub fn underived(&self) -> usize {
        let testcases = self.corpus.testcases().iter().filter(|testcase| testcase.derivation.is_none());
        if self.mutator.grammar().is_some() { testcases.count() } else { 0 }
    }

    /// How many frames of each trace that it follows were reached in one execution, in the order of the traces.
    pub fn frames_reached(&self) -> Vec<usize> {
        let count = self.target().candidate.traces.as_ref().map_or(0, |traces| traces.all().len());
        (0..count).map(|trace| self.corpus.seen().frames(trace)).collect()
    }

    /// Whether all traces that it follows were reached to their ends.
    pub fn has_reached_traces(&self) -> bool {
        let Some(traces) = &self.target().candidate.traces else { return true };
        traces.all().iter().zip(self.frames_reached()).all(|(trace, reached)| reached == trace.patterns.len())
    }

    /// The first testcase that came as far on a trace as any.
    pub fn furthest(&self, trace: usize) -> Option<&Testcase> {
        let (furthest, edges_total) = (self.corpus.seen().frames(trace), self.corpus.seen().edges_total());
        self.corpus.testcases().iter().find(|testcase| testcase.profile.frames(edges_total, trace) == furthest)
    }

    /// Counts what a task executed.
    pub(super) fn count(&mut self, executed: BTreeMap<Vec<u8>, u64>) {
        let Some(tally) = &mut self.tally else { return };
        for (input, count) in executed {
            if tally.len() < TALLY_MAX || tally.contains_key(&input) {
                *tally.entry(input).or_default() += count;
            }
        }
    }
}
