//! What a campaign begins with that earlier ones learned, and what it leaves to the next.

use super::Campaign;
use crate::engine::learned::Learned;

impl Campaign {
    /// The same, beginning with what was learned before. To be called before anything is executed.
    #[must_use]
    pub fn with_learned(mut self, learned: Learned) -> Self {
        self.earlier = learned;
        self
    }

    /// What was learned, with what there was before this campaign as far as this one does not know better: it may have
    /// been short, or have looked at nothing that is compared.
    pub fn learned(&self) -> Learned {
        let testcases = self.corpus.testcases().iter().zip(self.corpus.picks()).filter(|(_, picks)| **picks > 0);
        let edges = 0..u32::try_from(self.target().edges.edges.len()).expect("edges have 32-bit indices");
        let mut learned = Learned {
            retired: edges.filter(|&edge| self.corpus.is_retired(edge)).collect(),
            tokens: self.corpus.tokens_by_site().map(|(site, token)| (site, token.clone())).collect(),
            checks: self.corpus.checks().clone(),
            picks: testcases.map(|(testcase, picks)| (testcase.id, *picks)).collect(),
            ..Learned::default()
        };
        self.strategies.compares.tell(&mut learned);
        learned.after(&self.earlier, |edge| self.progress.has_news_of(edge));
        learned
    }

    /// Begins with what was learned before, now that it is known what the testcases show.
    pub(super) fn go_on(&mut self) {
        let Self { earlier, progress, strategies, corpus, .. } = self;
        progress.go_on(&earlier.retired);
        strategies.compares.go_on(earlier);
        corpus.were_picked(&earlier.picks, &earlier.changed);
        corpus.add_tokens(earlier.tokens.iter().cloned());
        corpus.add_checks(earlier.checks.iter().map(|(site, check)| (*site, *check)));
    }
}
