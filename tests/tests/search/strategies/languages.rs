//! Guests that accept the words of a language: as many states are found as the minimal automaton has.

use super::{guest, searched_by};
use fuzzbox::engine::Workers;
use fuzzbox::sandbox::Target;
use std::sync::Arc;

/// An automaton: for each state where 0 and 1 lead, and whether words may end there. The first state is where words
/// begin.
type Automaton = Vec<(u8, u8, bool)>;

/// Reads as many symbols as there are, one of two each.
fn accepting(automaton: &Automaton) -> Arc<Target> {
    let bytes = automaton.iter().flat_map(|&(zero, one, end)| [zero, one, u8::from(end), 0]);
    let data: String = bytes.map(|byte| format!("\\{byte:02x}")).collect();
    guest(&format!(
        r#"(data (i32.const 0) "{data}")
        (func (export "fbx_words") (local $state i32)
            (block $end
                (loop $again
                    (br_if $end (i32.eqz (call $remaining)))
                    (local.set $state (i32.load8_u
                        (i32.add (i32.shl (local.get $state) (i32.const 2)) (call $choice (i32.const 2) (i32.const 0)))))
                    (br $again)))
            (call $assume (i32.load8_u offset=2 (i32.shl (local.get $state) (i32.const 2)))))"#
    ))
}

/// Numbers in binary that n divides.
fn multiples(n: u8) -> Automaton {
    (0..n).map(|state| (2 * state % n, (2 * state + 1) % n, state == 0)).collect()
}

/// Words that end with a one and two others.
fn third_from_the_end() -> Automaton {
    (0..8).map(|state: u8| (state << 1 & 7, (state << 1 | 1) & 7, state & 4 != 0)).collect()
}

/// Evenly many of both.
fn even() -> Automaton {
    (0..4).map(|state| (state ^ 1, state ^ 2, state == 0)).collect()
}

/// Brackets, at most so deep, and a state that nothing leads out of.
fn brackets(depth: u8) -> Automaton {
    let dead = depth + 1;
    let state = |open: u8| (if open < depth { open + 1 } else { dead }, open.checked_sub(1).unwrap_or(dead), open == 0);
    (0..=depth).map(state).chain([(dead, dead, false)]).collect()
}

/// Ten symbols.
fn ten() -> Automaton {
    (0..12).map(|state: u8| ((state + 1).min(11), (state + 1).min(11), state == 10)).collect()
}

/// The automata, their states after minimising, and four times the words that a model of this asked at most.
fn languages() -> Vec<(&'static str, Automaton, usize, u64)> {
    vec![
        ("multiples of 3", multiples(3), 3, 4 * 717),
        ("multiples of 7", multiples(7), 7, 4 * 1191),
        ("multiples of 16", multiples(16), 5, 4 * 2000),
        ("third from the end", third_from_the_end(), 8, 4 * 1400),
        ("even", even(), 4, 4 * 443),
        ("brackets 3 deep", brackets(3), 5, 4 * 3200),
        ("brackets 5 deep", brackets(5), 7, 4 * 7300),
        ("length 10", ten(), 12, 4 * 931),
    ]
}

/// How many of 20 seeds have this many states after so many executions, and whether one had more.
fn found(strategy: &str, (_, automaton, states, execs): &(&str, Automaton, usize, u64)) -> (usize, bool) {
    let (target, workers) = (accepting(automaton), Workers::new(1, Arc::default()).unwrap());
    let found = (1..=20).map(|seed| searched_by(&workers, &target, strategy, seed, *execs, true).states().len());
    let found: Vec<_> = found.collect();
    println!("{strategy}: {found:?} of {states}");
    (found.iter().filter(|found| *found == states).count(), found.iter().any(|found| found > states))
}

#[test]
fn there_are_as_many_exemplars_as_states() {
    for language in languages() {
        assert_eq!(found("exemplar", &language), (20, false), "{}", language.0);
    }
}

#[test]
fn a_bloom_filter_loses_one_of_twenty_at_most() {
    for language in languages() {
        let (same, more) = found("exemplar:bloom", &language);
        assert!(same >= 19 && !more, "{}: {same}", language.0);
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
