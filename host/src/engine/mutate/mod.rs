//! Makes new inputs of known ones.

mod blocks;
mod bytes;
pub(super) mod choices;

use super::corpus::Corpus;
use super::dictionary::Dictionary;
use super::rng::Rng;
use crate::stream::{Node, encode_into};

/// The mutations of AFL's havoc stage: a random number of random small changes, one after the other.
#[derive(Clone, Debug)]
pub struct Mutator {
    dictionary: Dictionary,
    /// Each change as often as it weighs.
    changes: Vec<Change>,
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
}

/// All changes with their weights.
const CHANGES: &[(u32, Change)] = &[
    (4, bytes::flip_bit),
    (4, bytes::set_random),
    (2, bytes::add_small),
    (3, bytes::set_interesting),
    (2, bytes::change_decimal),
    (3, bytes::copy_neighbour),
    (6, blocks::delete),
    (4, blocks::duplicate),
    (3, blocks::overwrite_from_self),
    (4, blocks::insert_random),
    (2, blocks::insert_run),
    (1, blocks::swap),
    (6, blocks::insert_token),
    (3, blocks::overwrite_with_token),
    (4, blocks::overwrite_with_field),
    (1, blocks::insert_field),
    (3, blocks::overwrite_with_compared),
    (2, blocks::insert_compared),
    (3, blocks::insert_from_other),
    (2, blocks::overwrite_from_other),
    (1, blocks::cross_over),
    (1, blocks::truncate),
];

impl Mutator {
    /// Mutates with tokens from `dictionary`.
    pub fn new(dictionary: Dictionary) -> Self {
        let repeat = |&(weight, change): &(u32, Change)| std::iter::repeat_n(change, weight as usize);
        Self { dictionary, changes: CHANGES.iter().flat_map(repeat).collect() }
    }

    /// Changes `input` in place, to at most `len_max` bytes. The result is a function of `input`, `corpus` and `rng`; it may be equal to `input`.
    pub fn mutate(&self, input: &mut Vec<u8>, len_max: usize, corpus: &Corpus, rng: &mut Rng) {
        // Half of all mutants have one change, a quarter has 2, then 4, 8 and 16: small steps reach the next check, large ones leave local
        // optima, but rarely get as far as their parent.
        let changes = 1_usize << rng.word().trailing_zeros().min(4);
        let mut context = Context { input, rng, corpus, dictionary: &self.dictionary, len_max };
        for _ in 0..changes {
            // Some change always applies (inserting into what is short, deleting from what is long); a few tries find one.
            for _ in 0..8 {
                let change = context.rng.pick(&self.changes);
                if change(&mut context) {
                    break;
                }
            }
        }
        input.truncate(len_max);
    }

    /// Writes a mutant of a choice stream to `input`, which is empty, in at most `len_max` bytes. As [`Mutator::mutate`], it is a function of the
    /// sample, the corpus and `rng`.
    pub(super) fn mutate_sample(
        &self,
        sample: &Node,
        input: &mut Vec<u8>,
        len_max: usize,
        corpus: &Corpus,
        rng: &mut Rng,
    ) {
        let other = rng.pick(corpus.testcases()).sample.as_ref();
        let change_bytes =
            &mut |bytes: &mut Vec<u8>, len_max: usize, rng: &mut Rng| self.mutate(bytes, len_max, corpus, rng);
        let numbers = self.dictionary.numbers();
        let mut context = choices::Context { rng, pool: corpus.pool(), other, numbers, change_bytes };
        let mutant = choices::mutate(sample, &mut context);
        encode_into(input, &mutant.choices());
        // What is cut off is a stream too, and what it lacks is made up.
        input.truncate(len_max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coverage::Profile;
    use crate::engine::report::NewTestcase;

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
