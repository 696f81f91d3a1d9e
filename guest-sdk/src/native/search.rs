//! Looking for a failure, and for a smaller one.

use super::catch::{Run, run};
use super::entropy::Seed;
use crate::{Source, label64};

/// A search for a seed for which a property fails.
///
/// Sizes are numbers of bytes of entropy. The search begins with small ones, three seeds of each, and makes them larger by a
/// quarter until the largest; then it begins anew. When a seed fails, seeds of half its size are tried; when a fifth of
/// the executions went by without success, nine tenths; at last one byte less. This is how the crate arbtest searches; but
/// it counts executions where arbtest looks at the clock, and the seeds follow from the property's name, so that
/// a search is the same every time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search {
    /// Executions before the search ends without a failure; as many again make a failure smaller.
    pub runs: u32,
    /// The smallest size, in bytes.
    pub size_min: u32,
    /// The largest size, in bytes.
    pub size_max: u32,
    /// Another number, another search.
    pub number: u64,
}

impl Default for Search {
    fn default() -> Self {
        Self { runs: 1000, size_min: 32, size_max: 65_536, number: 0 }
    }
}

/// A seed for which a property fails.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The smallest seed that was found.
    pub seed: Seed,
    /// What the property does with it.
    pub run: Run,
    /// Executions until the first failure.
    pub runs: u32,
}

impl Search {
    /// Looks for a failure of the property with this name, and makes it smaller.
    pub fn find(&self, name: &str, property: impl FnMut(&mut Source)) -> Option<Failure> {
        let mut attempts =
            Attempts { states: States(label64(name) ^ self.number.wrapping_mul(GOLDEN)), property, done: 0 };
        let failure = self.first(&mut attempts)?;
        Some(self.smaller(failure, &mut attempts))
    }

    fn first(&self, attempts: &mut Attempts<impl FnMut(&mut Source)>) -> Option<Failure> {
        let mut size = self.size_min;
        loop {
            for _ in 0..3 {
                if attempts.done == self.runs {
                    return None;
                }
                if let Some(failure) = attempts.failure(size) {
                    return Some(failure);
                }
            }
            let larger = (u64::from(size) * 5 / 4).max(u64::from(size) + 1);
            size = if size >= self.size_max { self.size_min } else { larger.min(self.size_max.into()) as u32 };
        }
    }

    fn smaller(&self, mut best: Failure, attempts: &mut Attempts<impl FnMut(&mut Source)>) -> Failure {
        let rules: [fn(u32) -> u32; 3] = [|size| size / 2, |size| (u64::from(size) * 9 / 10) as u32, |size| size - 1];
        let (found, mut rule, mut failed) = (attempts.done, 0, 0);
        while attempts.done - found < self.runs && !best.seed.is_empty() {
            if let Some(failure) = attempts.failure(rules[rule](best.seed.len())) {
                (best, failed) = (Failure { runs: best.runs, ..failure }, 0);
                continue;
            }
            failed += 1;
            if failed > self.runs / 5 && rule + 1 < rules.len() {
                (rule, failed) = (rule + 1, 0);
            }
        }
        best
    }
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Executions with one seed after the other.
struct Attempts<P> {
    states: States,
    property: P,
    done: u32,
}

impl<P: FnMut(&mut Source)> Attempts<P> {
    fn failure(&mut self, size: u32) -> Option<Failure> {
        let seed = Seed::new(size, self.states.next());
        self.done += 1;
        let run = run(seed.into(), &mut self.property);
        run.outcome.is_failure().then_some(Failure { seed, run, runs: self.done })
    }
}

/// States for seeds, from a counter by the mixing function of splitmix64; never 0.
struct States(u64);

impl States {
    fn next(&mut self) -> u32 {
        loop {
            self.0 = self.0.wrapping_add(GOLDEN);
            let mut mixed = self.0;
            mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^= mixed >> 31;
            if mixed >> 32 != 0 {
                return (mixed >> 32) as u32;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn sum_is_small(source: &mut Source) {
        let numbers: Vec<u32> = source.vec(0..=100, |source| source.int(0..=1000));
        assert!(numbers.iter().sum::<u32>() < 3000);
    }

    #[test]
    fn a_search_is_the_same_every_time() {
        let find = || Search::default().find("sum", sum_is_small).expect("a failure");
        let (one, two) = (find(), find());
        assert_eq!((one.seed, one.runs), (two.seed, two.runs));
        assert_ne!(Search { number: 1, ..Search::default() }.find("sum", sum_is_small).unwrap().seed, one.seed);
    }

    #[test]
    fn what_is_found_becomes_small() {
        let failure = Search::default().find("sum", sum_is_small).expect("a failure");
        // Four numbers take twenty bytes, if all of them are luckily large.
        assert!(failure.seed.len() < 64, "{}", failure.seed);
        assert!(failure.run.outcome.is_failure());
    }

    #[test]
    fn a_search_ends_after_as_many_runs_as_it_was_given() {
        let mut runs = 0;
        assert!(Search { runs: 777, ..Search::default() }.find("fine", |_| runs += 1).is_none());
        assert_eq!(runs, 777);
    }
}
