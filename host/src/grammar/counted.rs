//! How many derivations there are of each size, so that each of them can be as likely.
//!
//! A derivation's size is how many choices it takes. That is at least one for each rule, so there are finitely many of
//! each size, whatever the grammar: of `a = | a a`, too. They are counted by rule and size, and by what is left of an
//! alternative and size; where a derivation can go on in several ways, each is as likely as it has derivations (Hickey
//! and Cohen, "Uniform random generation of strings in a context-free language", 1983).

use super::big::Big;
use super::{Grammar, Rule, Symbol, size};

/// Sizes that are counted, at most.
const SIZE_MAX: usize = 64;
/// As few as that are counted where the grammar is large.
const SIZE_MIN: usize = 8;
/// Products of counts that counting may take, about.
const PRODUCTS: usize = 1 << 20;

/// Numbers of derivations.
#[derive(Clone, Debug)]
pub(super) struct Counts {
    /// By rule, alternative and place in it: of what is left from there on, by size.
    rests: Vec<Vec<Vec<Vec<Big>>>>,
    /// By rule and size.
    rules: Vec<Vec<Big>>,
}

impl Counts {
    pub(super) fn of(rules: &[Rule]) -> Self {
        let symbols: usize = rules.iter().flat_map(|rule| &rule.alternatives).map(|it| it.len() + 1).sum();
        let mut size_max = SIZE_MAX;
        while size_max > SIZE_MIN && symbols * size_max * size_max / 2 > PRODUCTS {
            size_max -= 1;
        }
        let empty = |rule: &Rule| rule.alternatives.iter().map(|it| vec![Vec::new(); it.len() + 1]).collect();
        let mut counts = Self {
            rests: rules.iter().map(empty).collect(),
            rules: vec![Vec::with_capacity(size_max + 1); rules.len()],
        };
        for size in 0..=size_max {
            for (rule, its) in rules.iter().enumerate() {
                let mut sum = Big::default();
                for alternative in 0..its.alternatives.len() {
                    // The choice itself is one.
                    if let Some(rest) = size.checked_sub(1) {
                        sum.add(&counts.rests[rule][alternative][0][rest]);
                    }
                }
                counts.rules[rule].push(sum);
            }
            for (rule, its) in rules.iter().enumerate() {
                for (alternative, symbols) in its.alternatives.iter().enumerate() {
                    for place in (0..=symbols.len()).rev() {
                        let count = counts.rest(symbols.get(place), (rule, alternative, place), size);
                        counts.rests[rule][alternative][place].push(count);
                    }
                }
            }
        }
        counts
    }

    /// How many ways there are for an alternative from a symbol on, which takes all of `size` with what follows.
    fn rest(&self, symbol: Option<&Symbol>, (rule, alternative, place): (usize, usize, usize), size: usize) -> Big {
        let Some(symbol) = symbol else { return Big::of(u64::from(size == 0)) };
        let behind = &self.rests[rule][alternative][place + 1];
        let mut sum = Big::default();
        for taken in 0..=size {
            let ways = self.symbol(symbol, taken);
            if !ways.is_zero() && !behind[size - taken].is_zero() {
                sum.add(&ways.times(&behind[size - taken]));
            }
        }
        sum
    }

    /// How many derivations of a size a symbol has.
    fn symbol(&self, symbol: &Symbol, size: usize) -> Big {
        match symbol {
            Symbol::Text(_) => Big::of(u64::from(size == 0)),
            Symbol::Range(first, last) => {
                if size == 1 {
                    Big::of(self::size(*first, *last))
                } else {
                    Big::default()
                }
            }
            Symbol::Rule(rule) => self.rules[*rule][size].clone(),
        }
    }
}

impl Grammar {
    /// The choices of a derivation of one of the sizes that are counted, each size that there is as likely, and each
    /// derivation of it; nothing if there are none so small. `word` gives random numbers.
    pub fn sample(&self, word: &mut dyn FnMut() -> u64) -> Vec<u64> {
        let sizes: Vec<_> = self.counts.rules[0].iter().enumerate().filter(|(_, count)| !count.is_zero()).collect();
        let Some(index) = Big::of(sizes.len() as u64).small().filter(|&count| count > 0) else { return Vec::new() };
        let index = Big::of(index).below(word).small().expect("they are few");
        self.sample_of(sizes[index as usize].0, word)
    }

    /// The choices of a derivation of this size, each as likely; nothing if there is none, or the size is not counted.
    pub fn sample_of(&self, size: usize, word: &mut dyn FnMut() -> u64) -> Vec<u64> {
        let mut choices = Vec::new();
        if self.counts.rules[0].get(size).is_some_and(|count| !count.is_zero()) {
            self.derive(0, size, word, &mut choices);
        }
        choices
    }

    /// How many derivations of a size there are, if that is less than 2^64 and the size is counted.
    pub fn count(&self, size: usize) -> Option<u64> {
        self.counts.rules[0].get(size)?.small()
    }

    /// Adds the choices of one of the derivations of a rule that have this size, of which there are some.
    fn derive(&self, rule: usize, size: usize, word: &mut dyn FnMut() -> u64, choices: &mut Vec<u64>) {
        let rests = &self.counts.rests[rule];
        let mut index = self.counts.rules[rule][size].below(word);
        let mut chosen = 0;
        while index >= rests[chosen][0][size - 1] {
            index.subtract(&rests[chosen][0][size - 1]);
            chosen += 1;
        }
        choices.push(chosen as u64);
        let mut left = size - 1;
        for (place, symbol) in self.rules[rule].alternatives[chosen].iter().enumerate() {
            let taken = match symbol {
                Symbol::Text(_) => 0,
                Symbol::Range(first, last) => {
                    let count = Big::of(self::size(*first, *last));
                    choices.push(count.below(word).small().expect("characters are few"));
                    1
                }
                Symbol::Rule(below) => {
                    let taken = self.taken((rule, chosen, place), *below, left, word);
                    // No deeper than the size.
                    self.derive(*below, taken, word, choices);
                    taken
                }
            };
            left -= taken;
        }
    }

    /// How much of `left` a rule has that stands at a place: each of the derivations that there are of both, the rule
    /// and what is behind it, is as likely.
    fn taken(
        &self,
        (rule, alternative, place): (usize, usize, usize),
        below: usize,
        left: usize,
        word: &mut dyn FnMut() -> u64,
    ) -> usize {
        let (ways, behind) = (&self.counts.rules[below], &self.counts.rests[rule][alternative][place + 1]);
        let mut index = self.counts.rests[rule][alternative][place][left].below(word);
        let mut taken = 0;
        loop {
            let both = ways[taken].times(&behind[left - taken]);
            if index < both {
                return taken;
            }
            index.subtract(&both);
            taken += 1;
        }
    }
}
