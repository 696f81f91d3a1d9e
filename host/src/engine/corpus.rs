//! The inputs that are worth keeping.

use super::checks::Check;
use super::lengths::{self, Length};
use super::rarity::Weights;
use super::results::ExecutionResult;
use super::rng::Rng;
use super::scores::Targets;
use super::span_pool::Pool;
use super::testcase::{NewTestcase, Scores, Testcase};
use crate::coverage::{Profile, Seen};
use crate::grammar::Grammar;
use crate::id::InputId;
use fuzzbox_instrument::EdgeSet;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The testcases of a campaign in the order in which they were added, and what all of them showed.
#[derive(Clone, Debug)]
pub struct Corpus {
    testcases: Vec<Testcase>,
    /// By testcase: how often it was chosen to be mutated.
    picks: Vec<u64>,
    ids: BTreeSet<InputId>,
    seen: Arc<Seen>,
    weights: Weights,
    /// Fuel that the slowest testcase takes.
    slowest: u64,
    /// Spans of testcases, if the guest draws.
    pool: Pool,
    targets: Arc<Targets>,
    retired: EdgeSet,
    /// What testcases were compared with, each once.
    tokens: Vec<Vec<u8>>,
    /// The sites where that was seen first.
    token_sites: Vec<u32>,
    /// What is checked in testcases, by the site of the comparison.
    checks: BTreeMap<u32, Check>,
    /// What testcases are parsed by.
    grammar: Option<Arc<Grammar>>,
}

/// Tokens that are kept at most.
const TOKENS_MAX: usize = 512;
/// Checks that are kept at most.
const CHECKS_MAX: usize = 64;
/// Of picks before this campaign, no more count.
const PICKS_MAX: u64 = 1 << 32;

/// What was new when an input was admitted.
#[derive(Clone, Debug)]
pub(super) struct Admission {
    /// The testcase's index.
    pub(super) index: usize,
    /// Edges that nobody reached before it, ascending.
    pub(super) new_edges: Vec<u32>,
    /// Features that nobody showed before it, ascending: what it is kept for.
    pub(super) news: Profile,
}

impl Admission {
    /// How many edges nobody reached before it.
    pub(super) fn edges(&self) -> u64 {
        self.new_edges.len() as u64
    }
}

impl Corpus {
    /// An empty corpus for a module with `edges_total` edges.
    pub fn new(edges_total: usize) -> Self {
        Self::of(Seen::nothing(edges_total))
    }

    /// An empty corpus, where nothing was seen.
    pub(super) fn of(nothing: Seen) -> Self {
        Self {
            testcases: Vec::new(),
            picks: Vec::new(),
            ids: BTreeSet::new(),
            weights: Weights::new(nothing.edges_total()),
            seen: Arc::new(nothing),
            slowest: 0,
            pool: Pool::default(),
            targets: Arc::default(),
            retired: EdgeSet::default(),
            tokens: Vec::new(),
            token_sites: Vec::new(),
            checks: BTreeMap::new(),
            grammar: None,
        }
    }

    /// The same, whose testcases are parsed.
    pub(super) fn parsed_by(mut self, grammar: Option<Arc<Grammar>>) -> Self {
        self.grammar = grammar;
        self
    }

    /// Takes an input if its profile shows something new, or it has a better score. It counts for the scheduler once it
    /// is [settled](Corpus::settle).
    pub(super) fn admit(&mut self, new: NewTestcase) -> Option<Admission> {
        let NewTestcase { input, profile, unseen, fuel, sample, scores } = new;
        let id = InputId::of(&input);
        if !(self.seen.is_new(&unseen) || self.targets.is_new(&scores)) || !self.ids.insert(id) {
            return None;
        }
        let news = self.seen.news(&unseen);
        let new_edges = self.sees(&news);
        let index = self.testcases.len();
        self.scored(index, &scores);
        self.push(Testcase {
            id,
            bytes: input.into(),
            profile,
            fuel,
            sample,
            derivation: None,
            lengths: Vec::new(),
            scores,
        });
        Some(Admission { index, new_edges, news })
    }

    /// Puts an input that shows the same news at less cost in the place of a testcase that is not settled. Returns the
    /// edges that nobody reached before it. If it is a testcase already nothing changes.
    pub(super) fn shorten(&mut self, index: usize, shorter: NewTestcase) -> Vec<u32> {
        let NewTestcase { input, profile, unseen, fuel, sample, scores } = shorter;
        let id = InputId::of(&input);
        if !self.ids.insert(id) {
            return Vec::new();
        }
        self.ids.remove(&self.testcases[index].id);
        let new_edges = self.sees(&unseen);
        self.scored(index, &scores);
        let bytes: Arc<[u8]> = input.into();
        let lengths = lengths::kept(&self.testcases[index].lengths, &self.testcases[index].bytes, &bytes);
        let shorter = Testcase { id, bytes, profile, fuel, sample, derivation: None, lengths, scores };
        self.picks[index] = 0;
        let replaced = std::mem::replace(&mut self.testcases[index], shorter);
        if replaced.fuel == self.slowest {
            self.slowest = self.testcases.iter().map(|testcase| testcase.fuel).max().unwrap_or_default();
        }
        self.slowest = self.slowest.max(fuel);
        new_edges
    }

    /// Enters a testcase, once, for the features that it shows.
    pub(super) fn settle(&mut self, index: usize) {
        self.weights.enter(index, &self.testcases);
        if !self.testcases[index].scores.0.is_empty() {
            Arc::make_mut(&mut self.targets).enter(index, &self.testcases);
        }
        let testcase = &mut self.testcases[index];
        testcase.derivation = self.grammar.as_ref().and_then(|grammar| grammar.derivation(&testcase.bytes));
        let Testcase { id, sample, derivation, .. } = testcase;
        if let Some(sample) = sample.as_ref().or(derivation.as_ref()) {
            let (seed, _) = id.0.split_first_chunk().expect("an id is longer");
            self.pool.offer(sample, &mut Rng::of_task(u64::from_le_bytes(*seed), 0, 0));
        }
    }

    /// Takes what the testcases show from now on, by testcase; those of which it is not said show what they did.
    pub(super) fn show(&mut self, shown: Vec<Option<ExecutionResult>>) {
        for (index, result) in shown.into_iter().enumerate() {
            let Some(ExecutionResult { profile, fuel, scores, .. }) = result else { continue };
            self.shows(&profile);
            self.scored(index, &scores);
            let testcase = &mut self.testcases[index];
            (testcase.profile, testcase.fuel, testcase.scores) = (profile, fuel, scores);
        }
        self.slowest = self.testcases.iter().map(|testcase| testcase.fuel).max().unwrap_or_default();
        self.weights.enter_again(&self.testcases);
    }

    /// Adds what an execution showed. Returns the edges that nobody reached before it.
    pub(super) fn shows(&mut self, profile: &Profile) -> Vec<u32> {
        let news = self.seen.news(profile);
        self.sees(&news)
    }

    /// Adds features. Returns the edges that nobody reached before them. What is shared is left to those who share it.
    fn sees(&mut self, news: &Profile) -> Vec<u32> {
        if self.seen.is_new(news) { Arc::make_mut(&mut self.seen).add(news) } else { Vec::new() }
    }

    /// A testcase has these scores.
    fn scored(&mut self, index: usize, scores: &Scores) {
        if self.targets.is_new(scores) {
            Arc::make_mut(&mut self.targets).add(index, scores);
        }
    }

    /// Says which of a testcase's numbers count others of its bytes.
    pub(super) fn set_lengths(&mut self, index: usize, lengths: Vec<Length>) {
        self.testcases[index].lengths = lengths;
    }

    /// Takes bytes that mutants have parts of, whatever they show.
    pub(super) fn lend(&mut self, bytes: Arc<[u8]>) {
        let (id, profile, scores) = (InputId::of(&bytes), Profile::default(), Scores::default());
        self.push(Testcase {
            id,
            bytes,
            profile,
            fuel: 0,
            sample: None,
            derivation: None,
            lengths: Vec::new(),
            scores,
        });
    }

    /// Keeps what testcases were compared with, and at which sites.
    pub(super) fn add_tokens(&mut self, tokens: impl IntoIterator<Item = (u32, Vec<u8>)>) {
        for (site, token) in tokens {
            if self.tokens.len() < TOKENS_MAX && !self.tokens.contains(&token) {
                self.tokens.push(token);
                self.token_sites.push(site);
            }
        }
    }

    /// Tokens and their sites.
    pub(super) fn tokens_by_site(&self) -> impl Iterator<Item = (u32, &Vec<u8>)> {
        self.token_sites.iter().copied().zip(&self.tokens)
    }

    /// Keeps how what is checked in testcases is written, the first way of each site.
    pub(super) fn add_checks(&mut self, checks: impl IntoIterator<Item = (u32, Check)>) {
        for (site, check) in checks {
            if self.checks.len() < CHECKS_MAX {
                self.checks.entry(site).or_insert(check);
            }
        }
    }

    /// What is checked in testcases, by the site of the comparison.
    pub(super) fn checks(&self) -> &BTreeMap<u32, Check> {
        &self.checks
    }

    /// Testcases were picked so often before this campaign, but for those that execute one of these edges.
    pub(super) fn were_picked(&mut self, picks: &BTreeMap<InputId, u64>, changed: &BTreeSet<u32>) {
        for (testcase, own) in self.testcases.iter().zip(&mut self.picks) {
            let is_as_it_was = !testcase.profile.0.iter().any(|(edge, _)| changed.contains(edge));
            if let Some(&picks) = picks.get(&testcase.id).filter(|_| is_as_it_was) {
                *own = picks.min(PICKS_MAX);
            }
        }
    }

    /// What testcases were compared with.
    pub(super) fn tokens(&self) -> &[Vec<u8>] {
        &self.tokens
    }

    /// Spans of the testcases.
    pub(super) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Whose scores are best.
    pub(super) fn targets(&self) -> &Arc<Targets> {
        &self.targets
    }

    /// See [`Targets::climbed`].
    pub(super) fn climbed(&mut self, label: &[u8], cut: bool) {
        Arc::make_mut(&mut self.targets).climbed(label, cut);
    }

    /// See [`Weights::by_testcase`].
    pub(super) fn weights(&self) -> &[u64] {
        self.weights.by_testcase()
    }

    /// How many testcases execute an edge.
    pub(super) fn testcases_with(&self, edge: u32) -> u32 {
        self.weights.testcases_with(edge)
    }

    /// From now on nothing that this edge shows is new.
    pub(super) fn retire(&mut self, edge: u32) {
        Arc::make_mut(&mut self.seen).retire(edge);
        self.retired.insert(edge);
    }

    /// Whether an edge has retired.
    pub(super) fn is_retired(&self, edge: u32) -> bool {
        self.retired.contains(edge)
    }

    /// Adds the empty input although it shows nothing that may be kept.
    pub(super) fn keep_empty(&mut self) {
        self.ids.insert(InputId::of(&[]));
        self.lend(Arc::from([]));
    }

    fn push(&mut self, testcase: Testcase) {
        self.slowest = self.slowest.max(testcase.fuel);
        self.testcases.push(testcase);
        self.picks.push(0);
        self.weights.add();
    }

    /// The testcases in the order in which they were added.
    pub fn testcases(&self) -> &[Testcase] {
        &self.testcases
    }

    /// Fuel that the slowest testcase takes, in units.
    pub(super) fn slowest(&self) -> u64 {
        self.slowest
    }

    pub(super) fn picked(&mut self, index: usize) {
        self.picks[index] += 1;
    }

    /// By testcase: how often it was chosen to be mutated.
    pub(super) fn picks(&self) -> &[u64] {
        &self.picks
    }

    /// What all testcases showed.
    pub fn seen(&self) -> &Seen {
        &self.seen
    }

    /// The same, to be shared until it changes.
    pub(super) fn shared_seen(&self) -> &Arc<Seen> {
        &self.seen
    }

    /// blake3 over the sorted input ids: equal for equal sets of inputs.
    pub fn hash(&self) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new();
        for id in &self.ids {
            hasher.update(&id.0);
        }
        hasher.finalize()
    }
}
