//! Changes and tokens that brought testcases are chosen more often.
//!
//! What the last testcases were made with is remembered, and half of all choices are among these. A change whose
//! mutants are kept r times as often as the mean one's is then made 1 / (2 - r) times as often as it would be, for r
//! below 2 (the fixed point of p = w / 2 + p r / 2): what never succeeds is left half of its odds, and what no longer
//! does is forgotten. It is a bandit without numbers to set, in the place of MOPT's particles (Lyu et al., USENIX
//! Security 2019).

use crate::engine::rng::Rng;
use crate::engine::used::{List, Used};

/// Changes that are remembered.
const CHANGES_MAX: usize = 1024;
/// Tokens of each list that are remembered.
const TOKENS_MAX: usize = 256;
/// Fewer say nothing.
const LEAST: usize = 16;

/// What brought testcases.
#[derive(Clone, Debug, Default)]
pub(super) struct Favours {
    changes: Last,
    /// By [`List`].
    tokens: [Last; 3],
}

impl Favours {
    /// A change that brought something, in half of all cases if there are some.
    pub(super) fn change(&self, rng: &mut Rng) -> Option<usize> {
        self.changes.pick(rng)
    }

    /// A token of a list that brought something, in half of all cases if there are some.
    pub(super) fn token(&self, list: List, rng: &mut Rng) -> Option<usize> {
        self.tokens[list as usize].pick(rng)
    }

    /// Remembers what a testcase was made with, so many times.
    pub(super) fn add(&mut self, used: &Used, times: usize) {
        for _ in 0..times {
            used.changes.iter().for_each(|&change| self.changes.add(change, CHANGES_MAX));
            used.tokens.iter().for_each(|&(list, token)| self.tokens[list as usize].add(token, TOKENS_MAX));
        }
    }
}

/// The last ones that brought something.
#[derive(Clone, Debug, Default)]
struct Last {
    numbers: Vec<usize>,
    /// The oldest, once there are as many as may be.
    oldest: usize,
}

impl Last {
    fn add(&mut self, number: usize, max: usize) {
        if self.numbers.len() < max {
            self.numbers.push(number);
        } else {
            self.numbers[self.oldest] = number;
            self.oldest = (self.oldest + 1) % max;
        }
    }

    fn pick(&self, rng: &mut Rng) -> Option<usize> {
        (self.numbers.len() >= LEAST && rng.one_in(2)).then(|| *rng.pick(&self.numbers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_brought_something_is_chosen_more_often_until_it_is_forgotten() {
        let (mut favours, rng) = (Favours::default(), &mut Rng::of_task(1, 0, 0));
        let mut chosen = |favours: &Favours, change| (0..1_000).filter(|_| favours.change(rng) == Some(change)).count();
        let used = |change, tokens| Used { changes: vec![change], tokens, ..Used::default() };
        (0..LEAST).for_each(|_| favours.add(&used(3, vec![(List::Fields, 7)]), 1));
        assert!((400..600).contains(&chosen(&favours, 3)));
        let rng = &mut Rng::of_task(2, 0, 0);
        assert!((0..100).any(|_| favours.token(List::Fields, rng) == Some(7)));
        assert!((0..100).all(|_| favours.token(List::Compared, rng).is_none()));
        (0..CHANGES_MAX).for_each(|_| favours.add(&used(4, Vec::new()), 1));
        assert_eq!(chosen(&favours, 3), 0);
    }

    #[test]
    fn few_successes_say_nothing() {
        let (mut favours, rng) = (Favours::default(), &mut Rng::of_task(1, 0, 0));
        favours.add(&Used { changes: vec![1], tokens: vec![(List::Tokens, 1)], ..Used::default() }, LEAST - 1);
        assert!((0..100).all(|_| favours.change(rng).is_none() && favours.token(List::Tokens, rng).is_none()));
    }
}
