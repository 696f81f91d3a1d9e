//! Sums that wrap: hashes of words, as of djb2 or of Java, where what the first letters count for is larger than the
//! number is, so that no digit is nearer to the goal than another.
//!
//! The sums that half of the places can make are listed, and for each that the other half can make what then lacks is
//! looked for (meet in the middle; Horowitz and Sahni, Journal of the ACM 21, 1974). So much is done only if the places
//! make such a sum: what all of them together do is foretold once, and has to come true. A word that is too short to
//! become each number gets more letters before.

use super::super::input::encodings::turning;
use super::super::probing::probe::{Probe, Problem, Solution, Step};
use super::super::seen::number::Number;
use super::super::seen::observed::{Observed, Operands};
use super::sums::{Weight, Weights, add_from_least, allowed, weights};

/// Places of a sum; what has fewer may become a word with more letters.
const PLACES_MIN: usize = 4;
const PLACES_MAX: usize = 16;
/// Sums of a half of them.
const SUMS_MAX: usize = 1 << 20;
/// Bits that the number of all sums may have less than the numbers that they are to become.
const BITS_LACKING_MAX: u32 = 1;
/// Letters that a word gets more. With each of these a sum that doesn't wrap may be what it is to become.
const LETTERS_MAX: usize = 8;
/// What is attempted of what is found.
const FOUND_MAX: usize = 4;

/// How many executions [`solve`] may make.
pub(super) fn execs(problem: Problem<'_>) -> u64 {
    let of_words =
        |letters: usize| (letters..=letters + LETTERS_MAX).map(|letters| letters + 2 + FOUND_MAX).sum::<usize>();
    words(problem).map(|side| of_words(problem.dependence.sides[side].len()) as u64).sum()
}

/// Sides that may be such a sum.
fn words(Problem { goal, dependence, .. }: Problem<'_>) -> impl Iterator<Item = usize> {
    (0..2).filter(move |&side| {
        let Operands::Numbers { ty, .. } = goal.operands else { return false };
        let places = dependence.sides[side].len();
        !ty.is_float() && dependence.sides[1 - side].is_empty() && (1..=PLACES_MAX).contains(&places)
    })
}

pub(super) fn solve(probe: &mut Probe<'_, '_>, problem: Problem<'_>) -> Step<Option<Solution>> {
    let Problem { input, goal, dependence } = problem;
    for side in words(problem) {
        let Some(wanted) = turning(&goal.operands, side) else { continue };
        let places = &dependence.sides[side];
        for letters in PLACES_MIN.saturating_sub(places.len())..=LETTERS_MAX {
            let (word, places) = with_more(input, places, letters);
            match reach(probe, goal, (&word, &places), (side, wanted))? {
                Reached::Solution(solution) => return Ok(Some(*solution)),
                Reached::Nothing => {}
                Reached::NoSum => break,
            }
        }
    }
    Ok(None)
}

/// What came of a word.
enum Reached {
    Solution(Box<Solution>),
    /// It is a sum, but not one that is found.
    Nothing,
    /// It is none, or nothing is compared any more.
    NoSum,
}

/// A word with more letters, in its middle, and where it is then.
fn with_more(input: &[u8], places: &[usize], letters: usize) -> (Vec<u8>, Vec<usize>) {
    let middle = places[places.len() / 2];
    let mut word = input.to_vec();
    word.splice(middle..middle, std::iter::repeat_n(input[middle], letters));
    let before = places.iter().copied().take_while(|&place| place < middle);
    let behind = places.iter().filter(|&&place| place >= middle).map(|place| place + letters);
    (word, before.chain(middle..middle + letters).chain(behind).collect())
}

/// Finds values for all places with which a side is what is wanted.
fn reach(
    probe: &mut Probe<'_, '_>,
    goal: &Observed,
    (word, places): (&[u8], &[usize]),
    (side, wanted): (usize, u64),
) -> Step<Reached> {
    let number = |observed: &Option<Observed>| match observed.as_ref()?.operands {
        Operands::Numbers { ty, sides, .. } => Some((ty, sides[side])),
        _ => None,
    };
    let (ty, own) = match probe.attempt(word, goal)? {
        Ok(solution) => return Ok(Reached::Solution(Box::new(solution))),
        Err(observed) => match number(&observed) {
            Some(number) => number,
            None => return Ok(Reached::NoSum),
        },
    };
    let mut weights = match weights(probe, goal, (word, places), (side, own))? {
        Weights::Solution(solution) => return Ok(Reached::Solution(solution)),
        Weights::Of(weights) => weights,
    };
    weights.retain(|&(_, weight)| weight != 0);
    if weights.len() < PLACES_MIN {
        return Ok(Reached::NoSum);
    }
    let places: Vec<Place> = weights.iter().map(|weight| Place::new(word, weight)).collect();
    let (other, foretold) = other(word, &places, own);
    match probe.attempt(&other, goal)? {
        Ok(solution) => return Ok(Reached::Solution(Box::new(solution))),
        Err(observed) if number(&observed).is_none_or(|(_, own)| (own ^ foretold) & ty.mask() != 0) => {
            return Ok(Reached::NoSum);
        }
        Err(_) => {}
    }
    let lacks = wanted.wrapping_sub(own) & ty.mask();
    let as_digits = add_from_least(word, &weights, ty.change(own, wanted).into());
    for candidate in as_digits.into_iter().chain(met(word, &places, ty, lacks)) {
        if let Ok(solution) = probe.attempt(&candidate, goal)? {
            return Ok(Reached::Solution(Box::new(solution)));
        }
    }
    Ok(Reached::Nothing)
}

/// A place of the sum.
struct Place {
    at: usize,
    /// What the sum changes by when it is one more.
    weight: u64,
    old: u8,
    /// What it may be.
    values: Vec<u8>,
}

impl Place {
    fn new(word: &[u8], &(at, weight): &Weight) -> Self {
        let old = word[at];
        // The sum is known modulo the number's size only.
        Self { at, weight: weight as u64, old, values: allowed(old).collect() }
    }

    /// What the sum changes by with a value.
    fn by(&self, value: u8) -> u64 {
        self.weight.wrapping_mul(u64::from(value).wrapping_sub(self.old.into()))
    }
}

/// Each place with another value, and the sum then.
fn other(word: &[u8], places: &[Place], own: u64) -> (Vec<u8>, u64) {
    let mut other = word.to_vec();
    let mut sum = own;
    for (number, place) in places.iter().enumerate() {
        let count = place.values.len();
        let own = place.values.iter().position(|&value| value == place.old).unwrap_or_default();
        let value = place.values[(own + 1 + 5 * number % (count - 1)) % count];
        other[place.at] = value;
        sum = sum.wrapping_add(place.by(value));
    }
    (other, sum)
}

/// Words of which the sum is so much larger, modulo the number's size; none if there are not enough of them that one is
/// likely.
fn met(word: &[u8], places: &[Place], ty: Number, lacks: u64) -> Vec<Vec<u8>> {
    let (own, rest) = half(places);
    let (other, _) = half(rest);
    let count = own.sums() as u128 * other.sums() as u128;
    if count << BITS_LACKING_MAX < 1 << ty.bits() {
        return Vec::new();
    }
    let (own_sums, other_sums) = (own.listed(ty), other.listed(ty));
    let mut found = Vec::new();
    // Both ascend, so what lacks descends; those that are too large wrap.
    let start = other_sums.partition_point(|&(sum, _)| sum <= lacks);
    let (before, behind) = other_sums.split_at(start);
    let mut own_sums = own_sums.iter().peekable();
    for (sum, number) in before.iter().rev().chain(behind.iter().rev()) {
        let wanted = lacks.wrapping_sub(*sum) & ty.mask();
        while own_sums.next_if(|(own, _)| *own < wanted).is_some() {}
        if let Some((_, own_number)) = own_sums.peek().filter(|(own, _)| *own == wanted) {
            let mut candidate = word.to_vec();
            own.write(&mut candidate, *own_number);
            other.write(&mut candidate, *number);
            found.push(candidate);
            if found.len() == FOUND_MAX {
                break;
            }
        }
    }
    found
}

/// Some places, of all values of which the sums are listed.
struct Half<'p> {
    places: &'p [Place],
}

/// The last places of which there are not too many sums, and those before.
fn half(places: &[Place]) -> (Half<'_>, &[Place]) {
    let mut sums = 1;
    let fits = |place: &&Place| {
        sums *= place.values.len();
        sums <= SUMS_MAX
    };
    let (rest, own) = places.split_at(places.len() - places.iter().rev().take_while(fits).count());
    (Half { places: own }, rest)
}

impl Half<'_> {
    fn sums(&self) -> usize {
        self.places.iter().map(|place| place.values.len()).product()
    }

    /// All sums, each with a number that says which values make it, ascending.
    fn listed(&self, ty: Number) -> Vec<(u64, u32)> {
        let mut listed = vec![(0_u64, 0)];
        for place in self.places {
            let with = |&(sum, number): &(u64, u32)| {
                let values = (0..).zip(&place.values);
                values.map(move |(index, &value)| {
                    (sum.wrapping_add(place.by(value)) & ty.mask(), number * place.values.len() as u32 + index)
                })
            };
            listed = listed.iter().flat_map(with).collect();
        }
        listed.sort_unstable();
        listed
    }

    /// Gives the places the values that a number stands for.
    fn write(&self, word: &mut [u8], mut number: u32) {
        for place in self.places.iter().rev() {
            let count = place.values.len() as u32;
            word[place.at] = place.values[(number % count) as usize];
            number /= count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn djb2(word: &[u8]) -> u64 {
        word.iter().fold(5381, |hash: u64, &byte| hash.wrapping_mul(33).wrapping_add(byte.into()) & 0xffff_ffff)
    }

    fn places(word: &[u8]) -> Vec<Place> {
        let weight = |at: usize| (at, 33_i128.pow((word.len() - 1 - at) as u32) & 0xffff_ffff);
        (0..word.len()).map(|at| Place::new(word, &weight(at))).collect()
    }

    #[test]
    fn words_with_a_hash_are_found() {
        let word = b"aaaaaaaa";
        for wanted in [0x10a7_e35f, 0x7c9e_690a, 0] {
            let lacks = (wanted - djb2(word).cast_signed()).cast_unsigned() & 0xffff_ffff;
            let found = met(word, &places(word), Number::I32, lacks);
            assert!(!found.is_empty());
            for found in found {
                assert_eq!(djb2(&found), wanted.cast_unsigned());
                assert!(found.iter().all(u8::is_ascii_lowercase));
            }
        }
    }

    #[test]
    fn what_all_places_do_is_foretold() {
        let word = b"fuzzboxes";
        let (other, sum) = other(word, &places(word), djb2(word));
        assert!(other.iter().zip(word).all(|(other, own)| other.is_ascii_lowercase() && other != own));
        assert_eq!(sum & 0xffff_ffff, djb2(&other));
    }

    #[test]
    fn words_get_letters_in_the_middle() {
        let (word, places) = with_more(b"<abcd>", &[1, 2, 3, 4], 2);
        assert_eq!((&word[..], &places[..]), (&b"<abcccd>"[..], &[1, 2, 3, 4, 5, 6][..]));
    }

    #[test]
    fn too_few_letters_are_not_enumerated() {
        assert!(met(b"abcdef", &places(b"abcdef"), Number::I32, 12345).is_empty());
    }
}
