//! The automaton of what a guest takes, made of the classes that are known.
//!
//! Angluin's L* ("Learning regular sets from queries and counterexamples", 1987) with the tree of experiments in the
//! place of its table (Kearns and Vazirani): a state is an exemplar, and an alternative leads from it to the class of
//! what the exemplar and that are together. Whether it is the guest's is tried with random words; where both part on a
//! word, the place is found at which the automaton went wrong, and what follows it there is a new experiment (Rivest
//! and Schapire, "Inference of finite automata using homing sequences", 1993).

use super::states::{Classes, States};
use crate::engine::rng::Rng;
use anyhow::Result;
use std::fmt::Write as _;

/// What is shown by a stream that the guest takes whole.
const TAKEN: u64 = 1;

/// A finite automaton; it begins in its first state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Automaton {
    /// Whether a stream may end in a state, by state.
    pub accepting: Vec<bool>,
    /// Where each alternative leads, by state.
    pub next: Vec<Vec<usize>>,
}

impl Automaton {
    /// The state that a stream leads to.
    fn state(&self, stream: &[u64]) -> usize {
        stream.iter().fold(0, |state, &symbol| self.next[state][symbol as usize])
    }

    /// As a graph for Graphviz: states in which streams may end have two circles.
    pub fn dot(&self) -> String {
        let mut dot = "digraph automaton {\n  rankdir=LR;\n  start [shape=point];\n  start -> 0;\n".to_owned();
        for (state, (accepting, next)) in self.accepting.iter().zip(&self.next).enumerate() {
            let shape = if *accepting { "doublecircle" } else { "circle" };
            let _ = writeln!(dot, "  {state} [shape={shape}];");
            let mut targets: Vec<usize> = next.clone();
            targets.sort_unstable();
            targets.dedup();
            for target in targets {
                let symbols = next.iter().enumerate().filter(|(_, its)| **its == target);
                let label: Vec<_> = symbols.map(|(symbol, _)| symbol.to_string()).collect();
                let _ = writeln!(dot, "  {state} -> {target} [label=\"{}\"];", label.join(","));
            }
        }
        dot + "}\n"
    }
}

impl States {
    /// The automaton, when all that leads on from each exemplar is known. `None` if nothing may be executed any more.
    pub(super) fn automaton(&mut self, guest: &mut impl Classes, rng: &mut Rng) -> Result<Option<Automaton>> {
        'again: loop {
            let exemplars: Vec<_> = self.exemplars().map(<[u64]>::to_vec).collect();
            let mut automaton = Automaton { accepting: Vec::new(), next: Vec::new() };
            for exemplar in &exemplars {
                let Some(class) = guest.class(exemplar, &[])? else { return Ok(None) };
                automaton.accepting.push(class == TAKEN);
                let mut next = Vec::new();
                for symbol in 0..self.symbols() {
                    let word = [&exemplar[..], &[symbol]].concat();
                    if self.incorporate(&word, guest, rng)?.is_none() {
                        return Ok(None);
                    }
                    let Some(state) = self.state(&word, guest)? else { return Ok(None) };
                    // More are known by now, or simpler ones: what was noted is no longer true.
                    if !self.exemplars().eq(exemplars.iter().map(Vec::as_slice)) {
                        continue 'again;
                    }
                    next.push(state);
                }
                automaton.next.push(next);
            }
            return Ok(Some(automaton));
        }
    }

    /// Learns from a word what its automaton has wrong; whether there was something. `None` if nothing may be executed
    /// any more.
    pub(super) fn correct(
        &mut self,
        automaton: &Automaton,
        word: &[u64],
        guest: &mut impl Classes,
    ) -> Result<Option<bool>> {
        let exemplars: Vec<_> = self.exemplars().map(<[u64]>::to_vec).collect();
        let Some(whole) = guest.class(word, &[])? else { return Ok(None) };
        if (whole == TAKEN) == automaton.accepting[automaton.state(word)] {
            return Ok(Some(false));
        }
        let mut before = whole;
        for len in 1..=word.len() {
            let (state, rest) = (automaton.state(&word[..len]), &word[len..]);
            let Some(class) = guest.class(&exemplars[state], rest)? else { return Ok(None) };
            if class != before {
                // What leads here and its exemplar part by the rest.
                let beginning = [&exemplars[automaton.state(&word[..len - 1])][..], &word[len - 1..len]].concat();
                self.split(state, &beginning, rest.to_vec(), (class, before));
                return Ok(Some(true));
            }
            before = class;
        }
        Ok(Some(false))
    }
}

#[cfg(test)]
mod tests {
    use super::super::states::Seen;
    use super::super::states::tests::{LANGUAGES, Language, Words, number};
    use super::*;

    /// The automaton that is learned in so many words, with these examples.
    fn learned(language: Language, symbols: u64, examples: &[&[u64]], seed: u64) -> Automaton {
        let (mut known, mut guest) = (States::new(Seen::exact(), 30), Words::of(language, 2));
        let mut rng = Rng::of_task(seed, 0, 0);
        known.add_tails(&[symbols - 1]);
        for example in examples {
            known.add_tails(example);
            for len in 1..=example.len() {
                known.incorporate(&example[..len], &mut guest, &mut rng).unwrap();
            }
        }
        'learn: loop {
            let automaton = known.automaton(&mut guest, &mut rng).unwrap().unwrap();
            for _ in 0..2000 {
                let word: Vec<_> = (0..rng.below(17)).map(|_| rng.below(symbols as usize) as u64).collect();
                if known.correct(&automaton, &word, &mut guest).unwrap().unwrap() {
                    continue 'learn;
                }
            }
            return automaton;
        }
    }

    /// Whether a word of brackets is balanced and at most five deep.
    fn brackets(word: &[u64]) -> bool {
        let depth = word.iter().try_fold(0_u64, |depth, symbol| {
            if *symbol == 0 { Some(depth + 1).filter(|&depth| depth <= 5) } else { depth.checked_sub(1) }
        });
        depth == Some(0)
    }

    /// deed, dead, bead and abba, of four letters.
    fn words(word: &[u64]) -> bool {
        [[3, 4, 4, 3], [3, 4, 0, 3], [1, 4, 0, 3], [0, 1, 1, 0]].iter().any(|its| its == word)
    }

    #[test]
    fn what_is_learned_is_the_minimal_automaton() {
        let deed: [&[u64]; 4] = [&[3, 4, 4, 3], &[3, 4, 0, 3], &[1, 4, 0, 3], &[0, 1, 1, 0]];
        let others: [(&str, Language, usize, u64); 5] = [
            ("multiples of 31", |word| number(word).is_multiple_of(31), 31, 2),
            ("sixth from the end is 1", |word| word.len() > 5 && word[word.len() - 6] == 1, 64, 2),
            ("contains 0101", |word| word.windows(4).any(|part| part == [0, 1, 0, 1]), 5, 2),
            ("brackets 5 deep", brackets, 7, 2),
            ("four words", words, 11, 5),
        ];
        let all = LANGUAGES.iter().map(|&(name, language, states, _)| (name, language, states, 2)).chain(others);
        for (name, language, states, symbols) in all {
            let examples = if states == 11 { &deed[..] } else { &[] };
            let automaton = learned(language, symbols, examples, 1);
            // As many states as the minimal one has, and the same language: it is that.
            assert_eq!(automaton.accepting.len(), states, "{name}");
            let mut rng = Rng::of_task(2, 0, 0);
            for _ in 0..20_000 {
                let word: Vec<_> = (0..rng.below(25)).map(|_| rng.below(symbols as usize) as u64).collect();
                let state = word.iter().fold(0, |state, &symbol| automaton.next[state][symbol as usize]);
                assert_eq!(automaton.accepting[state], language(&word), "{name}: {word:?}");
            }
        }
    }
}
