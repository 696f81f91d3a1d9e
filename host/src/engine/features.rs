//! Features that guests ask for, and which of them are on.
//!
//! What needs what others make comes to nothing without these. A feature whose name has `:=` in it is a rule of a
//! grammar, `made := needed needed`, and by that choices are completed until nothing more has to be added (as Groce's
//! TSTL does).

use super::rng::Rng;
use crate::stream::{Choice, Rule, Tail};

/// What a rule makes stands before this, what it needs behind it.
const MAKES: &str = ":=";

/// How a choice is completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Completion {
    /// Not at all.
    None,
    /// By what is needed, and by somebody who needs what needs nothing.
    Needs,
    /// By somebody who needs what each makes, too.
    Parents,
}

/// What each feature needs, and who needs it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Features {
    count: usize,
    /// By feature, for each thing that it needs: the features that make it.
    makers: Vec<Vec<Vec<usize>>>,
    /// By feature: those that need what it makes.
    users: Vec<Vec<usize>>,
}

impl Features {
    /// Those with these names, in the order in which they are asked for.
    pub(super) fn of(names: &[String]) -> Self {
        let rules: Vec<_> = names.iter().map(|name| name.split_once(MAKES).unwrap_or((name, ""))).collect();
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let made: Vec<_> = rules.iter().map(|(made, _)| made.trim()).collect();
        let needed: Vec<_> = rules.iter().map(|(_, needed)| words(needed)).collect();
        let makers_of = |thing: &String| (0..names.len()).filter(|&rule| made[rule] == thing).collect::<Vec<_>>();
        // What nobody makes is no thing but what is written.
        let makers = |things: &Vec<String>| things.iter().map(makers_of).filter(|makers| !makers.is_empty()).collect();
        let users_of =
            |made: &&str| (0..names.len()).filter(|&rule| needed[rule].iter().any(|it| it == made)).collect();
        Self {
            count: names.len(),
            makers: needed.iter().map(makers).collect(),
            users: made.iter().map(users_of).collect(),
        }
    }

    /// The choices with which streams begin, of those that would begin otherwise; always the same of the same stream.
    pub(super) fn begin(&self, completion: Completion, seed: u64, input: &[u8], rule: &Rule) -> Vec<Choice> {
        let hash = blake3::hash(input);
        let hash = u64::from_le_bytes(*hash.as_bytes().first_chunk().expect("a hash is longer"));
        let tail = if let Tail::Random { seed, .. } = rule.tail { seed } else { 0 };
        let on = self.choose(completion, &mut Rng::of_task(seed, tail, hash));
        // The simplest choice is on.
        on.into_iter().map(|on| Choice::Index(u64::from(!on))).collect()
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Which are on: each with a probability of a half, and what that takes.
    fn choose(&self, completion: Completion, rng: &mut Rng) -> Vec<bool> {
        let mut on: Vec<_> = (0..self.count).map(|_| rng.one_in(2)).collect();
        if self.count > 0 && !on.contains(&true) {
            on[rng.below(self.count)] = true;
        }
        if completion == Completion::None {
            return on;
        }
        loop {
            let before = on.clone();
            self.complete(completion, &mut on, rng);
            if on == before {
                return on;
            }
        }
    }

    /// Switches on what those need that are on.
    fn complete(&self, completion: Completion, on: &mut [bool], rng: &mut Rng) {
        for feature in 0..self.count {
            if !on[feature] {
                continue;
            }
            for makers in &self.makers[feature] {
                one_of(makers, on, rng);
            }
            if completion == Completion::Parents || self.makers[feature].is_empty() {
                one_of(&self.users[feature], on, rng);
            }
        }
    }
}

/// Switches one of these on, unless one is or there are none.
fn one_of(features: &[usize], on: &mut [bool], rng: &mut Rng) {
    if !features.is_empty() && !features.iter().any(|&feature| on[feature]) {
        on[*rng.pick(features)] = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(names: &[&str]) -> Features {
        Features::of(&names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn rules_say_who_makes_what_others_need() {
        let features = rules(&["print := a", "a := A", "a := b c", "b := B", "c := C", "plain"]);
        assert_eq!(features.makers[0], [vec![1, 2]]);
        assert_eq!(features.makers[2], [vec![3], vec![4]]);
        assert!(features.makers[1].is_empty() && features.makers[5].is_empty());
        assert_eq!(features.users, [vec![], vec![0], vec![0], vec![2], vec![2], vec![]]);
    }

    #[test]
    fn choices_are_completed() {
        let features = rules(&["print := a", "a := A", "a := b", "b := B"]);
        let mut rng = Rng::of_task(1, 0, 0);
        for _ in 0..200 {
            let on = features.choose(Completion::Needs, &mut rng);
            assert!(!on[0] || on[1] || on[2], "{on:?}");
            assert!((!on[2] || on[3]) && (!on[1] || on[0]) && (!on[3] || on[2]), "{on:?}");
            let on = features.choose(Completion::Parents, &mut rng);
            assert!(on[0], "all leads there: {on:?}");
        }
        let plain = (0..200).filter(|_| features.choose(Completion::None, &mut rng)[3]).count();
        assert!((70..130).contains(&plain), "{plain}");
    }
}
