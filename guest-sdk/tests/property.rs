//! What `property!` makes: a function, a test, files that are replayed.

use fuzzbox_guest::native::{self, Choice, Outcome, Property, Search, encode};
use fuzzbox_guest::value::to_bytes;
use fuzzbox_guest::{Source, property};
use std::cell::RefCell;
use std::fs;
use std::panic::catch_unwind;

property! {
    /// Holds.
    fn reversing_twice(source: &mut Source) {
        let list: Vec<u8> = source.draw();
        let twice: Vec<u8> = list.iter().rev().rev().copied().collect();
        assert_eq!(list, twice);
    }
}

property! {
    /// Drawn by types.
    #[should_panic(expected = "property `no_large_sums` fails: ")]
    fn no_large_sums(a: u32, numbers: Vec<u16>) {
        assert!(u64::from(a) + numbers.iter().map(|&n| u64::from(n)).sum::<u64>() < 5000);
    }
}

property! {
    /// In two parts.
    #[should_panic(expected = "two in a row")]
    fn never_twice(source) -> Vec<u8> {
        source.vec(0..=20, |source| source.int(0..=9))
    }
    check(digits) {
        assert!(digits.windows(2).all(|pair| pair[0] != pair[1]), "two in a row");
    }
}

#[test]
fn arguments_are_drawn_in_order_and_noted() {
    // A number, a list of one element: one more, its value, no more.
    let stream = [4999, 1, 1, 0].map(Choice::Index);
    let run = native::run(stream.to_vec().into(), no_large_sums);
    assert_eq!(run.notes, ["a = 4999", "numbers = [1]"]);
    assert!(matches!(&run.outcome, Outcome::Failed(why) if why.contains("at ") && why.contains("property.rs")));
    assert_eq!(encode(&run.choices), [0x8e, 0x4e, 2, 2, 0]);
}

#[test]
fn the_first_part_gives_its_value_away() {
    let run = native::run(vec![Choice::Index(1), Choice::Index(7)].into(), never_twice);
    let value = run.value.expect("a value");
    assert_eq!(value.bytes, to_bytes(&vec![7_u8]));
    assert_eq!((value.encoding, run.outcome), (fuzzbox_guest::value::ENCODING, Outcome::Passed));
}

#[test]
fn rejected_executions_are_no_failures() {
    let search = Search { runs: 100, ..Search::default() };
    assert!(search.find("rejecting", |source| source.reject("never")).is_none());
    assert!(search.find("assuming", |source| source.assume(false)).is_none());
    assert!(search.find("endless", |source| while source.int(0..=9) < 10 {}).is_none());
    let failure = search.find("failing", |source| source.fail("a class")).expect("it fails");
    assert_eq!(failure.run.outcome, Outcome::Failed("a class".into()));
}

#[test]
fn remaining_says_when_nothing_random_is_left() {
    let run = native::run(native::Seed::new(8, 3).into(), |source| {
        let mut draws = 0;
        while source.remaining() > 0 {
            source.int(0..=9);
            draws += 1;
        }
        assert_eq!(draws, 8);
        assert_eq!(source.int::<u64>(..), 0);
    });
    assert_eq!(run.outcome, Outcome::Passed);
}

#[test]
fn a_stream_of_a_guest_that_asks_what_remains_gives_the_same_answers() {
    // Draws of one byte or several, some of them behind the end of the entropy, and answers in between.
    let asking = |source: &mut Source| {
        let mut answers = Vec::new();
        for at in 0..source.int(0..=20_u32) {
            if at % 3 == 0 {
                answers.push(source.remaining() > 0);
            }
            if at % 2 == 0 {
                source.bool()
            } else {
                source.int::<u64>(..) > 9
            };
        }
        answers.push(source.remaining() > 0);
        source.note(format_args!("{answers:?}"));
    };
    let (mut longer, mut shorter) = (0, 0);
    for state in 1..=500_u32 {
        let run = native::run(native::Seed::new(state % 50, state.wrapping_mul(0x9e37_79b9)).into(), asking);
        let drawn = 1 + match run.choices.first() {
            Some(Choice::Index(index)) => *index as usize,
            _ => 0,
        };
        longer += usize::from(run.choices.len() > drawn);
        shorter += usize::from(run.choices.len() < drawn);
        let again = native::run(run.choices.clone().into(), asking);
        assert_eq!((&again.notes, &again.choices), (&run.notes, &run.choices), "{state}");
    }
    assert!(longer > 50 && shorter > 50, "{longer} {shorter}");
}

/// What the test of a property says when it fails.
fn complaint(property: &Property<'_>) -> String {
    let error = catch_unwind(std::panic::AssertUnwindSafe(|| native::check(property))).expect_err("it fails");
    error.downcast_ref::<String>().expect("a message").clone()
}

#[test]
fn a_failure_says_how_to_see_it_again() {
    let property = Property { name: "no_large_sums", folder: "nowhere", run: &no_large_sums, check: None };
    let text = complaint(&property);
    let line =
        |start: &str| text.lines().find_map(|line| line.trim().strip_prefix(start)).unwrap_or_else(|| panic!("{text}"));
    assert!(text.starts_with("property `no_large_sums` fails: "), "{text}");
    line("a = ");
    let seed = native::Seed::parse(line("again: FUZZBOX_SEED=").split(' ').next().unwrap()).unwrap();
    assert!(native::run(seed.into(), no_large_sums).outcome.is_failure());
    let hex = line("stream: FUZZBOX_STREAM=hex:");
    let stream: Vec<u8> = (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[2 * at..][..2], 16).unwrap()).collect();
    assert!(native::run(native::decode(&stream).into(), no_large_sums).outcome.is_failure());
}

#[test]
fn files_in_cases_are_tested_first() {
    let folder = std::env::temp_dir().join(format!("fuzzbox-cases-{}", std::process::id()));
    let cases = folder.join("cases/digits");
    fs::create_dir_all(&cases).unwrap();
    fs::write(cases.join("1-stream"), encode(&[Choice::Index(5)])).unwrap();
    fs::write(cases.join("2.seed"), "0x0000000100000001\n").unwrap();
    fs::write(cases.join("3.value"), to_bytes(&[4_u8].to_vec())).unwrap();
    let seen = RefCell::new(Vec::new());
    let run = |source: &mut Source| seen.borrow_mut().push(source.int::<u32>(0..=9));
    let check = |bytes: &[u8]| {
        let value = fuzzbox_guest::value::from_bytes::<Vec<u8>>(bytes);
        value.map(|value| assert_eq!(value, [9], "wrong digit")).is_some()
    };
    let property = Property { name: "digits", folder: folder.to_str().unwrap(), run: &run, check: Some(&check) };
    let text = complaint(&property);
    assert!(text.contains("3.value` of property `digits` fails: ") && text.contains("wrong digit"), "{text}");
    assert_eq!(seen.borrow()[0], 5);
    assert_eq!(seen.borrow().len(), 2, "no search before all cases pass");
    fs::write(cases.join("3.value"), b"").unwrap();
    assert!(complaint(&property).contains("is no value"));
    fs::remove_dir_all(&folder).unwrap();
}
