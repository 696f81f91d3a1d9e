//! Guests that accept the words of a language: as many states are found as the minimal automaton has.

use super::figures::{Section, figure, promised};
use super::{guest, searched_by};
use fuzzbox::engine::Workers;
use fuzzbox::sandbox::Target;
use std::sync::Arc;

/// An automaton: for each state where each symbol leads, of 7 at most, and whether words may end there. The first state
/// is where words begin.
type Automaton = Vec<(Vec<u8>, bool)>;

/// Reads as many symbols as there are.
fn accepting(automaton: &Automaton) -> Arc<Target> {
    let symbols = automaton[0].0.len();
    let row = |(next, end): &(Vec<u8>, bool)| [&next[..], &vec![0; 7 - symbols], &[u8::from(*end)]].concat();
    let data: String = automaton.iter().flat_map(row).map(|byte| format!("\\{byte:02x}")).collect();
    guest(&format!(
        r#"(data (i32.const 0) "{data}")
        (func (export "fbx_words") (local $state i32)
            (block $end
                (loop $again
                    (br_if $end (i32.eqz (call $remaining)))
                    (local.set $state (i32.load8_u
                        (i32.add (i32.shl (local.get $state) (i32.const 3)) (call $choice (i32.const {symbols}) (i32.const 0)))))
                    (br $again)))
            (call $assume (i32.load8_u offset=7 (i32.shl (local.get $state) (i32.const 3)))))"#
    ))
}

/// Numbers in binary that n divides.
fn multiples(n: u8) -> Automaton {
    (0..n).map(|state| (vec![2 * state % n, (2 * state + 1) % n], state == 0)).collect()
}

/// Words that end with a one and two others.
fn third_from_the_end() -> Automaton {
    (0..8).map(|state: u8| (vec![state << 1 & 7, (state << 1 | 1) & 7], state & 4 != 0)).collect()
}

/// Evenly many of both.
fn even() -> Automaton {
    (0..4).map(|state| (vec![state ^ 1, state ^ 2], state == 0)).collect()
}

/// Brackets, at most so deep, and a state that nothing leads out of.
fn brackets(depth: u8) -> Automaton {
    let dead = depth + 1;
    let next = |open: u8| vec![if open < depth { open + 1 } else { dead }, open.checked_sub(1).unwrap_or(dead)];
    (0..=depth).map(|open| (next(open), open == 0)).chain([(vec![dead; 2], false)]).collect()
}

/// Ten symbols.
fn ten() -> Automaton {
    (0..12).map(|state: u8| (vec![(state + 1).min(11); 2], state == 10)).collect()
}

/// Words that end with a one and so many symbols.
fn from_the_end(symbols: u32) -> Automaton {
    let mask = (1_u16 << symbols) - 1;
    let next = |state: u16, symbol: u16| ((state << 1 | symbol) & mask) as u8;
    (0..=mask).map(|state| (vec![next(state, 0), next(state, 1)], state >> (symbols - 1) & 1 == 1)).collect()
}

/// Words with this in them.
fn containing(part: &[u8]) -> Automaton {
    let state = |found: usize, symbol: u8| {
        let seen: Vec<u8> = part[..found].iter().copied().chain([symbol]).collect();
        (0..=seen.len()).rev().find(|&len| seen.ends_with(&part[..len])).expect("nothing is an end of all") as u8
    };
    let step = |found: usize| match found == part.len() {
        true => (vec![found as u8; 2], true),
        false => (vec![state(found, 0), state(found, 1)], false),
    };
    (0..=part.len()).map(step).collect()
}

/// 0 and 1 in turns, as often as there is both.
fn turns() -> Automaton {
    vec![(vec![1, 2], true), (vec![2, 0], false), (vec![2, 2], false)]
}

/// These words, of so many symbols, by the beginnings that they have; the last state is that of all others.
fn words(words: &[&[u8]], symbols: u8) -> Automaton {
    let mut beginnings: Vec<Vec<u8>> = vec![Vec::new()];
    for word in words {
        for len in 1..=word.len() {
            if !beginnings.iter().any(|beginning| beginning[..] == word[..len]) {
                beginnings.push(word[..len].to_vec());
            }
        }
    }
    let state = |word: &[u8]| beginnings.iter().position(|its| its[..] == *word).unwrap_or(beginnings.len()) as u8;
    let next = |its: &Vec<u8>| (0..symbols).map(|symbol| state(&[&its[..], &[symbol]].concat())).collect();
    let states = beginnings.iter().map(|its| (next(its), words.contains(&&its[..])));
    states.chain([(vec![beginnings.len() as u8; symbols.into()], false)]).collect()
}

/// The automata, their states after minimising, and the words that a model of this asked at most.
fn languages() -> Vec<(&'static str, Automaton, usize, u64)> {
    let mut languages = quick_languages();
    // Up to 300,000 words each.
    languages.extend([
        ("multiples of 31", multiples(31), 31, 13_800),
        ("sixth from the end", from_the_end(6), 64, 11_600),
        ("eighth from the end", from_the_end(8), 256, 78_000),
        ("brackets 8 deep", brackets(8), 10, 34_000),
    ]);
    languages.truncate(promised(12, 16) as usize);
    languages
}

/// Those of which a test takes no time.
fn quick_languages() -> Vec<(&'static str, Automaton, usize, u64)> {
    vec![
        ("multiples of 3", multiples(3), 3, 717),
        ("multiples of 7", multiples(7), 7, 1191),
        ("multiples of 16", multiples(16), 5, 2000),
        ("third from the end", third_from_the_end(), 8, 1400),
        ("contains 0101", containing(&[0, 1, 0, 1]), 5, 1000),
        ("contains 001001", containing(&[0, 0, 1, 0, 0, 1]), 7, 3100),
        ("in turns", turns(), 3, 937),
        ("even", even(), 4, 443),
        ("brackets 3 deep", brackets(3), 5, 3200),
        ("brackets 5 deep", brackets(5), 7, 7300),
        ("length 10", ten(), 12, 931),
        ("a, ab, abc", words(&[&[0], &[0, 1], &[0, 1, 2]], 3), 5, 146),
    ]
}

/// How many seeds have not found this many states after four times as many words as a model asked, and whether one had
/// more.
fn missed(strategy: &str, (name, automaton, states, asked): &(&str, Automaton, usize, u64)) -> (u64, bool) {
    let (target, workers) = (accepting(automaton), Workers::new(1, Arc::default()).unwrap());
    let tried = promised(3, 20);
    let found = (1..=tried).map(|seed| searched_by(&workers, &target, strategy, seed, 4 * asked, true).states().len());
    let found: Vec<_> = found.collect();
    println!("{strategy}: {found:?} of {states}");
    let missed = found.iter().filter(|found| *found != states).count() as u64;
    let ours = format!("by {} of {tried} seeds in {} words", tried - missed, 4 * asked);
    figure(Section::Languages, &format!("{name}, `{strategy}`"), &format!("{states} states"), &ours);
    (missed, found.iter().any(|found| found > states))
}

#[test]
fn there_are_as_many_exemplars_as_states() {
    for language in languages() {
        assert_eq!(missed("exemplar", &language), (0, false), "{}", language.0);
    }
}

/// Four words are taken of all. With 300 tries a model found 10 or 11 of the 11 states, with 30 tries 6 or 7.
#[test]
fn the_states_of_few_words_are_found() {
    let few = words(&[&[2, 3, 3, 2], &[2, 3, 0, 2], &[1, 3, 0, 2], &[0, 1, 1, 0]], 4);
    for (strategy, execs, least) in [("exemplar:thorough", 300_000, 10), ("exemplar", 50_000, 8)] {
        let (target, workers) = (accepting(&few), Workers::new(1, Arc::default()).unwrap());
        let states = |seed| searched_by(&workers, &target, strategy, seed, execs, true).states().len();
        let found: Vec<_> = (1..=promised(1, 20)).map(states).collect();
        println!("{strategy}: {found:?} of 11");
        let modelled = if least == 10 { "10 or 11 states of 11" } else { "6 or 7 states of 11" };
        let fewest = found.iter().min().expect("some seed is tried");
        figure(
            Section::Languages,
            &format!("four words, `{strategy}`"),
            modelled,
            &format!("at least {fewest} by each of 20 seeds"),
        );
        assert!(found.iter().all(|found| (least..=11).contains(found)), "{strategy}: {found:?}");
    }
}

#[test]
fn a_bloom_filter_loses_one_of_twenty_at_most() {
    for language in languages() {
        let (missed, more) = missed("exemplar:bloom", &language);
        assert!(20 * missed <= promised(3, 20) && !more, "{}: {missed}", language.0);
    }
}

#[test]
fn features_and_outcomes_tell_states_apart_too() {
    for strategy in ["exemplar:outcome", "exemplar:cov"] {
        let target = accepting(&brackets(3));
        let workers = Workers::new(1, Arc::default()).unwrap();
        let states = searched_by(&workers, &target, strategy, 1, 4 * 3200, true).states().len();
        println!("{strategy}: {states}");
        assert!(states >= 5, "{strategy}: {states}");
    }
}
