//! Makes new inputs of known ones.

mod blocks;
mod bytes;
pub(super) mod choices;
mod counted;
pub(super) mod custom;
mod favour;
mod lexemes;
mod records;
mod scan;

use super::corpus::Corpus;
use super::dictionary::Dictionary;
use super::lengths::{self, Length};
use super::rng::Rng;
use super::used::Used;
use crate::grammar::Grammar;
use crate::stream::{Node, encode_into};
use favour::Favours;
use std::sync::Arc;

/// The mutations of AFL's havoc stage: a random number of random small changes, one after the other. Half of them are
/// chosen by what they weigh, half among those that testcases were made with lately.
#[derive(Clone, Debug)]
pub struct Mutator {
    dictionary: Dictionary,
    grammar: Option<Arc<Grammar>>,
    /// By the bytes that there are, [`BYTES_MAX`] standing for more, then by what [`Had`] says: the changes that can be
    /// made, each as often as it weighs. To choose among all, and again if that can't be made, has the same odds and
    /// takes longer.
    changes: [[Box<[usize]>; Had::COUNT]; BYTES_MAX + 1],
    /// What brought testcases.
    favours: Favours,
}

/// How many changes a mutant has.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Steps {
    /// Mostly few: one in half of all mutants.
    #[default]
    Usual,
    /// So many on average, each further one as likely as the one before.
    Mean(f64),
}

/// Random choices behind those of a derivation, at most.
const RANDOM_CHOICES: u32 = 64;
/// One mutant in so many is changed as if nothing of it were a length.
const UNTRUE: usize = 8;
/// Of the others one change in so many is one of what a length counts.
const COUNTED: usize = 4;
/// More changes no mutant has whose steps are not the usual ones.
const STEPS_MAX: usize = 64;

impl Steps {
    /// Whether a change was the last one.
    fn end(self, rng: &mut Rng) -> bool {
        const UNIT: usize = 1 << 24;
        match self {
            Self::Usual => rng.one_in(2),
            Self::Mean(mean) => rng.below(UNIT) as f64 * mean < UNIT as f64,
        }
    }
}

/// One change in place. Returns `false` if it can't be made on this input, which is then left as it was.
type Change = fn(&mut Context<'_>) -> bool;

/// What a change works on.
struct Context<'a> {
    input: &'a mut Vec<u8>,
    rng: &'a mut Rng,
    corpus: &'a Corpus,
    dictionary: &'a Dictionary,
    len_max: usize,
    favours: &'a Favours,
    /// Where it is said what is used, if somebody asks.
    used: Option<&'a mut Used>,
}

/// Where changes take bytes from that need not be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// The input, or random numbers.
    Anything,
    Testcases,
    Tokens,
    Fields,
    Compared,
}

/// What a corpus has for changes to take, as a number: whether some testcase has bytes, and whether testcases were
/// compared with something.
#[derive(Clone, Copy, Debug)]
struct Had(usize);

impl Had {
    /// So many there are.
    const COUNT: usize = 4;

    fn by(corpus: &Corpus) -> Self {
        // Of all inputs one alone has none.
        let bytes = corpus.testcases().iter().any(|testcase| !testcase.bytes.is_empty());
        Self(usize::from(bytes) << 1 | usize::from(!corpus.tokens().is_empty()))
    }

    fn bytes(self) -> bool {
        self.0 & 2 != 0
    }

    fn compared(self) -> bool {
        self.0 & 1 != 0
    }
}

/// What made a testcase with new edges is remembered so many times.
const NEW_EDGES_COUNT: usize = 8;
/// More bytes no change needs.
const BYTES_MAX: usize = 2;

/// All changes: what each weighs, the bytes that it needs in the input, and where it takes others from.
const CHANGES: &[(u32, usize, Source, Change)] = &[
    (4, 1, Source::Anything, bytes::flip_bit),
    (4, 1, Source::Anything, bytes::set_random),
    (2, 1, Source::Anything, bytes::add_small),
    (3, 1, Source::Anything, bytes::set_interesting),
    (2, 1, Source::Anything, bytes::change_decimal),
    (3, 1, Source::Anything, bytes::copy_neighbour),
    (6, 2, Source::Anything, blocks::delete),
    (4, 1, Source::Anything, blocks::duplicate),
    (3, 2, Source::Anything, blocks::overwrite_from_self),
    (4, 0, Source::Anything, blocks::insert_random),
    (2, 0, Source::Anything, blocks::insert_run),
    (1, 2, Source::Anything, blocks::swap),
    (6, 0, Source::Tokens, blocks::insert_token),
    (3, 1, Source::Tokens, blocks::overwrite_with_token),
    (4, 1, Source::Fields, blocks::overwrite_with_field),
    (1, 0, Source::Fields, blocks::insert_field),
    (3, 1, Source::Compared, blocks::overwrite_with_compared),
    (2, 0, Source::Compared, blocks::insert_compared),
    (3, 0, Source::Testcases, blocks::insert_from_other),
    (2, 1, Source::Testcases, blocks::overwrite_from_other),
    (1, 1, Source::Anything, blocks::cross_over),
    (2, 1, Source::Testcases, blocks::join),
    (1, 2, Source::Anything, blocks::truncate),
    (3, 1, Source::Testcases, lexemes::replace_lexeme),
    (2, 1, Source::Anything, lexemes::replace_with_token),
    (2, 1, Source::Anything, lexemes::delete_lexemes),
    (3, 1, Source::Testcases, lexemes::insert_lexemes),
    (1, 1, Source::Anything, lexemes::repeat_lexemes),
    (2, 1, Source::Testcases, lexemes::replace_group),
    (1, 1, Source::Anything, lexemes::nest_group),
    (1, 1, Source::Anything, lexemes::flatten_group),
    (2, 1, Source::Anything, lexemes::change_line),
    (3, 2, Source::Anything, records::resize),
    (3, 2, Source::Anything, records::change_record),
    (2, 2, Source::Anything, records::name_record),
];

impl Mutator {
    /// Mutates with tokens from `dictionary`.
    pub fn new(dictionary: Dictionary) -> Self {
        let changes = std::array::from_fn(|bytes| {
            std::array::from_fn(|had| {
                let is_there = |source| match source {
                    Source::Anything => true,
                    Source::Testcases => Had(had).bytes(),
                    Source::Tokens => !dictionary.tokens().is_empty(),
                    Source::Fields => !dictionary.fields().is_empty(),
                    Source::Compared => Had(had).compared(),
                };
                let possible = CHANGES
                    .iter()
                    .enumerate()
                    .filter(|(_, (_, needed, source, _))| *needed <= bytes && is_there(*source));
                possible.flat_map(|(number, &(weight, ..))| std::iter::repeat_n(number, weight as usize)).collect()
            })
        });
        Self { dictionary, grammar: None, changes, favours: Favours::default() }
    }

    /// What the dictionary has.
    pub(super) fn dictionary(&self) -> &Dictionary {
        &self.dictionary
    }

    /// The same, with texts of a grammar where inputs are bytes.
    #[must_use]
    pub fn with_grammar(mut self, grammar: Option<Arc<Grammar>>) -> Self {
        self.grammar = grammar;
        self
    }

    /// A testcase was kept that was made so, and reaches edges that nobody reached, or none.
    pub(super) fn brought(&mut self, used: &Used, new_edges: bool) {
        self.favours.add(used, if new_edges { NEW_EDGES_COUNT } else { 1 });
    }

    /// What texts are of.
    pub(super) fn grammar(&self) -> Option<&Arc<Grammar>> {
        self.grammar.as_ref()
    }

    /// Changes `input` in place, to at most `len_max` bytes. The result is a function of `input`, `corpus` and `rng`;
    /// it may be equal to `input`.
    pub fn mutate(&self, input: &mut Vec<u8>, len_max: usize, corpus: &Corpus, rng: &mut Rng) {
        self.mutate_in((Steps::Usual, &[]), input, len_max, corpus, rng, None);
    }

    /// As [`Mutator::mutate`], in so many steps, of an input with these lengths, which mostly stay true; says what they
    /// used if it is asked.
    pub(super) fn mutate_in(
        &self,
        (steps, lengths): (Steps, &[Length]),
        input: &mut Vec<u8>,
        len_max: usize,
        corpus: &Corpus,
        rng: &mut Rng,
        used: Option<&mut Used>,
    ) {
        // Half of all mutants have one change, a quarter has 2, then 4, 8 and 16: small steps reach the next check,
        // large ones leave local optima, but rarely get as far as their parent.
        let changes = match steps {
            Steps::Usual => 1_usize << rng.word().trailing_zeros().min(4),
            Steps::Mean(_) => (1..STEPS_MAX).find(|_| steps.end(rng)).unwrap_or(STEPS_MAX),
        };
        let had = Had::by(corpus);
        let favours = &self.favours;
        let mut lengths = if lengths.is_empty() || rng.one_in(UNTRUE) { Vec::new() } else { lengths.to_vec() };
        let mut before = Vec::new();
        let mut context = Context { input, rng, corpus, dictionary: &self.dictionary, len_max, favours, used };
        for _ in 0..changes {
            if lengths.is_empty() {
                self.change(&mut context, had);
            } else {
                before.clone_from(context.input);
                if !(context.rng.one_in(COUNTED) && counted::change(&mut context, &lengths)) {
                    self.change(&mut context, had);
                }
                lengths::follow(&mut lengths, &before, context.input, context.rng);
            }
        }
        let Context { input, used, .. } = context;
        input.truncate(len_max);
        if let Some(used) = used {
            lengths.retain(|length| length.is_true(input));
            used.lengths = lengths;
        }
    }

    /// Makes a change that is usual where a corpus has this.
    fn change(&self, context: &mut Context<'_>, had: Had) {
        // What is too long for some change can be made shorter; a few tries find one that applies.
        for _ in 0..8 {
            let usual = &self.changes[context.input.len().min(BYTES_MAX)][had.0];
            let number = self.favours.change(context.rng).unwrap_or_else(|| *context.rng.pick(usual));
            if CHANGES[number].3(context) {
                if let Some(used) = &mut context.used {
                    used.changes.push(number);
                }
                break;
            }
        }
    }

    /// A text of the grammar, if there is one: of all that are so small each derivation is as likely.
    pub(super) fn fresh(&self, len_max: usize, rng: &mut Rng) -> Option<Vec<u8>> {
        let grammar = self.grammar.as_ref()?;
        let mut choices = grammar.sample(&mut || rng.word()).into_iter();
        Some(grammar.produce(len_max, |_| choices.next().unwrap_or(0)))
    }

    /// Writes a mutant of a choice stream, or of a text's derivation, to `input`, which is empty, in at most `len_max`
    /// bytes. As [`Mutator::mutate`], it is a function of the sample, the corpus and `rng`.
    pub(super) fn mutate_sample(
        &self,
        steps: Steps,
        sample: &Node,
        input: &mut Vec<u8>,
        len_max: usize,
        corpus: &Corpus,
        rng: &mut Rng,
    ) {
        let other = rng.pick(corpus.testcases());
        let other = other.sample.as_ref().or(other.derivation.as_ref());
        let change_bytes =
            &mut |bytes: &mut Vec<u8>, len_max: usize, rng: &mut Rng| self.mutate(bytes, len_max, corpus, rng);
        let numbers = self.dictionary.numbers();
        let mut context = choices::Context { steps, rng, pool: corpus.pool(), other, numbers, change_bytes };
        let mutant = choices::mutate(sample, &mut context);
        if let Some(grammar) = &self.grammar {
            let mut choices = mutant.choices().into_iter().map(|choice| choice.index().unwrap_or(0));
            // Half of what is lacking is random, as far as it goes, and then the simplest.
            let mut random = if rng.one_in(2) { 0 } else { RANDOM_CHOICES };
            *input = grammar.produce(len_max, |count| match choices.next() {
                Some(index) => index % count,
                None if random > 0 => {
                    random -= 1;
                    rng.word() % count
                }
                None => 0,
            });
            return;
        }
        encode_into(input, &mutant.choices());
        // What is cut off is a stream too, and what it lacks is made up.
        input.truncate(len_max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coverage::Profile;
    use crate::engine::testcase::NewTestcase;

    #[test]
    fn mutants_stay_in_bounds_differ_and_are_reproducible() {
        let mut corpus = Corpus::new(2);
        let profile = Profile(vec![(0, 1)]);
        let other = NewTestcase { input: b"other testcase".to_vec(), unseen: profile, ..NewTestcase::default() };
        corpus.admit(other);
        let mutator = Mutator::new(Dictionary::parse("\"token\"").unwrap());
        let mut different = 0;
        for seed in 0..5_000 {
            let parent: Vec<u8> = (0..seed as u8 % 41).collect();
            let run = || {
                let mut input = parent.clone();
                mutator.mutate(&mut input, 40, &corpus, &mut Rng::of_task(seed, 0, 0));
                input
            };
            let mutant = run();
            assert!(mutant.len() <= 40);
            assert_eq!(mutant, run());
            different += usize::from(mutant != parent);
        }
        assert!(different > 4_500, "{different}");
    }
}
