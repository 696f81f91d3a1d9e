//! The classes of beginnings that are told apart, each by its simplest member.
//!
//! ```text
//! exemplars  []  [1]  [1 0]          experiments      way [0]
//!                                                    0 /     \ 1
//!                                              way [1 1]      [1]
//!                                               0 /   \ 1
//!                                              []     [1 0]
//! ```
//!
//! No two exemplars are equal, since the way at which they part shows it; so there are never more than classes.

use super::WAY_MAX;
use super::steps::Steps;
use crate::engine::rng::Rng;
use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet};

/// States at most, and beginnings that are remembered exactly: about 100 bytes each.
const STATES_MAX: usize = 1 << 14;
const SEEN_MAX: usize = 1 << 18;
/// Bits of a Bloom filter, and of those each beginning has.
const BLOOM_BITS: usize = 1 << 20;
const BLOOM_HASHES: usize = 7;
/// Ways of one choice that are tried before random ones.
const SHORT_MAX: u64 = 8;
/// Ends of streams that are tried.
const TAILS_MAX: usize = 64;
/// Alternatives that a way on chooses from, at most.
const SYMBOLS_MAX: u64 = 256;

/// Says what executions show.
pub(super) trait Classes {
    /// How many there were.
    fn executions(&self) -> u64;

    /// What is drawn if a beginning is gone on from at random; `None` if that can't be given again, or nothing may be
    /// executed any more.
    fn walk(&mut self, beginning: &[u64], rng: &mut Rng) -> Result<Option<Vec<u64>>>;

    /// What a beginning with a way behind it shows; `None` if nothing may be executed any more.
    fn class(&mut self, beginning: &[u64], way: &[u64]) -> Result<Option<u64>>;
}

/// Beginnings that were looked at.
#[derive(Clone, Debug)]
pub(super) enum Seen {
    Exact(BTreeSet<Vec<u64>>),
    /// Bits, as a Bloom filter has them.
    Bloom(Vec<u64>),
}

impl Seen {
    pub(super) fn exact() -> Self {
        Self::Exact(BTreeSet::new())
    }

    pub(super) fn bloom() -> Self {
        Self::Bloom(vec![0; BLOOM_BITS / 64])
    }

    /// Adds a beginning; whether it may be new.
    fn insert(&mut self, beginning: &[u64]) -> bool {
        match self {
            // What is forgotten is looked at again, and found to be known.
            Self::Exact(seen) if seen.len() >= SEEN_MAX => !seen.contains(beginning),
            Self::Exact(seen) => seen.insert(beginning.to_vec()),
            Self::Bloom(bits) => {
                let mut hasher = blake3::Hasher::new();
                beginning.iter().for_each(|index| _ = hasher.update(&index.to_le_bytes()));
                let hash = *hasher.finalize().as_bytes();
                let mut is_new = false;
                for bytes in hash.as_chunks::<4>().0.iter().take(BLOOM_HASHES) {
                    let bit = u32::from_le_bytes(*bytes) as usize % BLOOM_BITS;
                    is_new |= bits[bit / 64] >> (bit % 64) & 1 == 0;
                    bits[bit / 64] |= 1 << (bit % 64);
                }
                is_new
            }
        }
    }
}

/// A node of the tree of experiments.
#[derive(Clone, Debug)]
enum Node {
    /// An exemplar, by its place.
    Leaf(usize),
    /// What comes behind beginnings, and by what that shows: where it goes on.
    Branch(Vec<u64>, BTreeMap<u64, usize>),
}

/// The classes that are known.
#[derive(Clone, Debug)]
pub(super) struct States {
    exemplars: Vec<Vec<u64>>,
    tree: Vec<Node>,
    seen: Seen,
    /// Ways that are tried until two beginnings are taken for equal.
    tries: usize,
    /// Alternatives that were drawn: one more than the largest index, of those that are small.
    symbols: u64,
    /// Ends of streams that the guest takes, as far as these were shown, and of ways that told beginnings apart.
    tails: BTreeSet<Vec<u64>>,
    /// What was looked at next to exemplars, and what that took.
    pub(super) steps: Steps,
}

/// What became of a beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// It was looked at before.
    Before,
    /// It belongs to the class of an exemplar, by place.
    State(usize),
}

/// A node of the tree by which states are told apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Experiment {
    /// A state, by its place.
    State(usize),
    /// What is put behind streams, and by what that shows the node (by its place) where it goes on.
    Way(Vec<u64>, BTreeMap<u64, usize>),
}

impl States {
    /// Knows the empty beginning.
    pub(super) fn new(seen: Seen, tries: usize) -> Self {
        let (exemplars, tree) = (vec![Vec::new()], vec![Node::Leaf(0)]);
        Self { exemplars, tree, seen, tries, symbols: 2, tails: BTreeSet::new(), steps: Steps::default() }
    }

    /// The simplest beginning of each class.
    pub(super) fn exemplars(&self) -> impl ExactSizeIterator<Item = &[u64]> {
        self.exemplars.iter().map(Vec::as_slice)
    }

    /// The tree by which they are told apart, its root first.
    pub(super) fn experiments(&self) -> Vec<Experiment> {
        let experiment = |node: &Node| match node {
            Node::Leaf(state) => Experiment::State(*state),
            Node::Branch(way, children) => Experiment::Way(way.clone(), children.clone()),
        };
        self.tree.iter().map(experiment).collect()
    }

    /// How many alternatives there are, as far as that is known.
    pub(super) fn symbols(&self) -> u64 {
        self.symbols
    }

    /// Tries the ends of a stream, from now on, to tell beginnings apart.
    pub(super) fn add_tails(&mut self, stream: &[u64]) {
        self.add_symbols(stream);
        self.add_ends(stream);
    }

    /// Chooses among these alternatives, too, from now on.
    pub(super) fn add_symbols(&mut self, stream: &[u64]) {
        let small = stream.iter().filter(|&&index| index < SYMBOLS_MAX).map(|index| index + 1);
        self.symbols = small.max().unwrap_or(0).max(self.symbols);
    }

    fn add_ends(&mut self, stream: &[u64]) {
        for start in stream.len().saturating_sub(WAY_MAX)..stream.len() {
            if self.tails.len() < TAILS_MAX {
                self.tails.insert(stream[start..].to_vec());
            }
        }
    }

    /// The exemplar of a stream's class, by place, as far as experiments tell; the stream itself if it is none of those
    /// that are known. `None` if nothing may be executed any more, or there are too many.
    pub(super) fn state(&mut self, stream: &[u64], guest: &mut impl Classes) -> Result<Option<usize>> {
        let mut at = 0;
        loop {
            match &self.tree[at] {
                Node::Leaf(exemplar) => return Ok(Some(*exemplar)),
                Node::Branch(way, children) => {
                    let Some(class) = guest.class(stream, way)? else { return Ok(None) };
                    let Some(&child) = children.get(&class) else {
                        let new = self.exemplars.len();
                        self.add(at, class, stream);
                        return Ok(Some(new).filter(|&new| new < self.exemplars.len()));
                    };
                    at = child;
                }
            }
        }
    }

    /// A beginning is no member of an exemplar's class: by a way they show something else, the exemplar first.
    pub(super) fn split(&mut self, exemplar: usize, beginning: &[u64], way: Vec<u64>, (old, new): (u64, u64)) {
        let leaf = self.tree.iter().position(|node| matches!(node, Node::Leaf(its) if *its == exemplar));
        let at = leaf.expect("each exemplar has its leaf");
        self.tree.push(Node::Leaf(exemplar));
        self.tree[at] = Node::Branch(way, BTreeMap::from([(old, self.tree.len() - 1)]));
        self.add(at, new, beginning);
    }

    /// One of them.
    pub(super) fn any(&self, rng: &mut Rng) -> &[u64] {
        &self.exemplars[rng.below(self.exemplars.len())]
    }

    /// Finds out to which class a beginning belongs, if it was not looked at before. `None` if nothing may be executed
    /// any more.
    pub(super) fn incorporate(
        &mut self,
        beginning: &[u64],
        guest: &mut impl Classes,
        rng: &mut Rng,
    ) -> Result<Option<Found>> {
        if !self.seen.insert(beginning) {
            return Ok(Some(Found::Before));
        }
        self.look(beginning, guest, rng)
    }

    /// As [`States::incorporate`], also of what was looked at before: other ways are known now, and random ones are
    /// others.
    pub(super) fn look(&mut self, beginning: &[u64], guest: &mut impl Classes, rng: &mut Rng) -> Result<Option<Found>> {
        self.add_symbols(beginning);
        let (mut at, mut path) = (0, BTreeSet::new());
        while let Node::Branch(way, children) = &self.tree[at] {
            let Some(class) = guest.class(beginning, way)? else { return Ok(None) };
            path.insert(at);
            match children.get(&class) {
                Some(&child) => at = child,
                None => {
                    self.add(at, class, beginning);
                    return Ok(Some(Found::State(self.exemplars.len() - 1)));
                }
            }
        }
        let Node::Leaf(exemplar) = self.tree[at] else { unreachable!("the loop ends at a leaf") };
        let Some(parting) = self.part(beginning, exemplar, &path, guest, rng)? else { return Ok(None) };
        if let Some((way, old, new)) = parting {
            self.add_ends(way.get(1..).unwrap_or_default());
            self.split(exemplar, beginning, way, (old, new));
            return Ok(Some(Found::State(self.exemplars.len() - 1)));
        }
        if (beginning.len(), beginning) < (self.exemplars[exemplar].len(), &self.exemplars[exemplar][..]) {
            self.exemplars[exemplar] = beginning.to_vec();
        }
        Ok(Some(Found::State(exemplar)))
    }

    /// A way on that tells a beginning from an exemplar, with what the exemplar and what the beginning shows then. The
    /// way of no choices first, then those of the tree that are not on the path to both, then ends of streams that are
    /// taken, then those of one choice, then random ones.
    #[expect(clippy::type_complexity, reason = "three of one kind")]
    fn part(
        &self,
        beginning: &[u64],
        exemplar: usize,
        path: &BTreeSet<usize>,
        guest: &mut impl Classes,
        rng: &mut Rng,
    ) -> Result<Option<Option<(Vec<u64>, u64, u64)>>> {
        let branches = self.tree.iter().enumerate().filter(|(at, _)| !path.contains(at));
        let known: BTreeSet<_> = branches
            .filter_map(|(_, node)| if let Node::Branch(way, _) = node { Some(way.clone()) } else { None })
            .collect();
        // Short ones are few, and where a length counts the only ones.
        let short = self.symbols.min(SHORT_MAX);
        let random = (short as usize..self.tries).map(|_| {
            let len = 1 + rng.below(WAY_MAX);
            (0..len).map(|_| rng.below(self.symbols as usize) as u64).collect()
        });
        let short = (0..short).map(|symbol| vec![symbol]);
        let tails: Vec<_> = self.tails.iter().cloned().collect();
        for way in std::iter::once(Vec::new()).chain(known).chain(tails).chain(short).chain(random) {
            let Some(old) = guest.class(&self.exemplars[exemplar], &way)? else { return Ok(None) };
            let Some(new) = guest.class(beginning, &way)? else { return Ok(None) };
            if old != new {
                return Ok(Some(Some((way, old, new))));
            }
        }
        Ok(Some(None))
    }

    /// A beginning is another class than all others, by what it shows at a branch.
    fn add(&mut self, branch: usize, class: u64, beginning: &[u64]) {
        if self.exemplars.len() >= STATES_MAX {
            return;
        }
        self.exemplars.push(beginning.to_vec());
        self.tree.push(Node::Leaf(self.exemplars.len() - 1));
        let leaf = self.tree.len() - 1;
        if let Node::Branch(_, children) = &mut self.tree[branch] {
            children.insert(class, leaf);
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Whether a word is in a language.
    pub(in crate::engine::strategy::exemplar) type Language = fn(&[u64]) -> bool;

    /// Asks for words of so many symbols, and counts that.
    pub(in crate::engine::strategy::exemplar) struct Words {
        language: Language,
        symbols: usize,
        asked: u64,
        answers: BTreeMap<Vec<u64>, u64>,
    }

    impl Words {
        pub(in crate::engine::strategy::exemplar) fn of(language: Language, symbols: usize) -> Self {
            Self { language, symbols, asked: 0, answers: BTreeMap::new() }
        }
    }

    impl Classes for Words {
        fn executions(&self) -> u64 {
            self.asked
        }

        fn walk(&mut self, beginning: &[u64], rng: &mut Rng) -> Result<Option<Vec<u64>>> {
            self.asked += 1;
            let more = 1 + rng.below(WAY_MAX);
            let way: Vec<_> = (0..more).map(|_| rng.below(self.symbols) as u64).collect();
            Ok(Some([beginning, &way].concat()))
        }

        fn class(&mut self, beginning: &[u64], way: &[u64]) -> Result<Option<u64>> {
            let word = [beginning, way].concat();
            let (language, asked) = (self.language, &mut self.asked);
            Ok(Some(*self.answers.entry(word).or_insert_with_key(|word| {
                *asked += 1;
                u64::from(language(word))
            })))
        }
    }

    /// The states that are found until there are `states`, and the words that were asked for; at most so many.
    fn found(language: Language, symbols: usize, seen: Seen, (states, words): (usize, u64), seed: u64) -> (usize, u64) {
        let (mut known, mut guest) = (States::new(seen, super::super::TRIES), Words::of(language, symbols));
        let mut rng = Rng::of_task(seed, 0, 0);
        while known.exemplars.len() < states && guest.asked < words {
            known.explore(&mut guest, &mut rng).unwrap();
        }
        // No two are equal, and every way in the tree shows that.
        let different: BTreeSet<_> = known.exemplars.iter().collect();
        assert_eq!(different.len(), known.exemplars.len());
        (known.exemplars.len(), guest.asked)
    }

    pub(in crate::engine::strategy::exemplar) fn number(word: &[u64]) -> u64 {
        word.iter().fold(0, |number, bit| (2 * number + bit) % (3 * 7 * 16 * 31))
    }

    /// Of each language its minimal automaton's states, and four times the words that a model took at most.
    pub(in crate::engine::strategy::exemplar) const LANGUAGES: [(&str, Language, usize, u64); 6] = [
        ("multiples of 3", |word| number(word).is_multiple_of(3), 3, 4 * 717),
        ("multiples of 7", |word| number(word).is_multiple_of(7), 7, 4 * 1191),
        ("multiples of 16", |word| number(word).is_multiple_of(16), 5, 4 * 2000),
        ("third from the end is 1", |word| word.len() > 2 && word[word.len() - 3] == 1, 8, 4 * 1400),
        ("even", |word| word.len() % 2 == 0 && word.iter().sum::<u64>() % 2 == 0, 4, 4 * 443),
        ("length 10", |word| word.len() == 10, 12, 4 * 931),
    ];

    /// The same of more symbols, which number is said, and few words. The last is that of which a model found no more
    /// than 7 states, with ten times as many tries 10 or 11.
    const FINITE: [(&str, Language, usize, usize, u64); 2] = [
        ("a, ab, abc", |word| matches!(word, [0] | [0, 1] | [0, 1, 2]), 3, 5, 4 * 146),
        (
            "deed, dead, bead, abba",
            |word| matches!(word, [2, 3, 3, 2] | [2, 3, 0, 2] | [1, 3, 0, 2] | [0, 1, 1, 0]),
            4,
            11,
            200_000,
        ),
    ];

    #[test]
    fn of_few_words_all_states_are_found_too() {
        for (name, language, symbols, states, words) in FINITE {
            let all = (0..20).map(|seed| found(language, symbols, Seen::exact(), (states, words), seed));
            let all = all.collect::<Vec<_>>();
            println!("{name}: at most {:?} words, {words} are allowed", all.iter().map(|found| found.1).max());
            assert!(all.iter().all(|&(found, _)| (states.min(10)..=states).contains(&found)), "{name}: {all:?}");
            let most = found(language, symbols, Seen::bloom(), (usize::MAX, 30_000), 1).0;
            assert!(most <= states, "{name}: never more");
        }
    }

    #[test]
    fn there_are_as_many_states_as_the_minimal_automaton_has() {
        for (name, language, states, words) in LANGUAGES {
            let most = (0..20).map(|seed| found(language, 2, Seen::exact(), (states, words), seed)).collect::<Vec<_>>();
            println!("{name}: at most {:?} words, {words} are allowed", most.iter().map(|found| found.1).max());
            assert!(most.iter().all(|&(found, _)| found == states), "{name}: {most:?}");
        }
    }

    #[test]
    fn there_are_never_more() {
        for (name, language, states, _) in LANGUAGES {
            assert_eq!(found(language, 2, Seen::exact(), (usize::MAX, 30_000), 1).0, states, "{name}");
        }
    }

    #[test]
    fn a_bloom_filter_finds_as_many() {
        for (name, language, states, words) in LANGUAGES {
            let same = (0..20).filter(|&seed| found(language, 2, Seen::bloom(), (states, words), seed).0 == states);
            assert!(same.count() >= 19, "{name}");
        }
    }
}
