//! What functions of components give is lifted: what is no value of its type is the component's failure.

use super::{OPTIONS, core, executor, load, settings};
use fuzzbox::outcome::{Outcome, TrapKind};
use fuzzbox::sandbox::{Executor, Variant};
use fuzzbox::settings::Settings;
use fuzzbox_tests::command::Fuzzbox;
use std::fmt::Write as _;
use std::sync::Arc;

/// The end of memory.
const END: u32 = 65_536;

/// Definitions of types that have to have names.
const TYPES: &str = r#"
    (type $color' (enum "red" "green" "blue")) (export $color "color" (type $color'))
    (type $set' (flags "a" "b" "c")) (export $set "set" (type $set'))
    (type $shape' (variant (case "none") (case "text" string) (case "points" (list u16)))) (export $shape "shape" (type $shape'))
    (type $pair' (record (field "small" u8) (field "char" char))) (export $pair "pair" (type $pair'))
    (type $thing' (resource (rep i32))) (export $thing "thing" (type $thing'))"#;

/// A component whose function gives a number, and has these words in memory from address 64 on.
fn giving(ty: &str, number: u32, words: &[u32]) -> String {
    let mut data = String::new();
    for byte in words.iter().flat_map(|word| word.to_le_bytes()) {
        let _ = write!(data, "\\{byte:02x}");
    }
    let function = format!(
        r#"(data (i32.const 64) "{data}") (data (i32.const 512) "text\c3\a4\ff")
        (func (export "parse") (param i32 i32) (result i32) (i32.const {}))"#,
        number.cast_signed()
    );
    let core = core(&function);
    format!(
        r#"(component {core} {TYPES}
            (func (export "parse") (param "x" (list u8)) (result {ty})
                (canon lift (core func $i "parse") {OPTIONS})))"#
    )
}

/// Type, number, words; and what is wrong with that.
const RESULTS: &[(&str, u32, &[u32], Option<&str>)] = &[
    // A text of four characters at 512, and what isn't one.
    ("string", 64, &[512, 4], None),
    ("string", 64, &[512, 6], None),
    ("string", 64, &[END, 0], None),
    ("string", 64, &[512, 5], Some("string that is not UTF-8")),
    ("string", 64, &[512, 7], Some("string that is not UTF-8")),
    ("string", 64, &[END, 1], Some("out of bounds")),
    ("string", 64, &[u32::MAX, u32::MAX], Some("out of bounds")),
    ("string", 64, &[512, END], Some("out of bounds")),
    ("string", 62, &[512, 4], Some("unaligned address")),
    ("string", END - 4, &[], Some("out of bounds")),
    ("string", END, &[], Some("out of bounds")),
    ("(list u8)", 64, &[1, 10], None),
    ("(list u8)", 64, &[1, END], Some("out of bounds")),
    ("(list u16)", 64, &[2, 10], None),
    ("(list u16)", 64, &[1, 10], Some("unaligned address")),
    ("(list u64)", 64, &[4, 0], Some("unaligned address")),
    ("(list u64)", 64, &[8, 0x2000_0000], Some("out of bounds")),
    ("(list f64)", 64, &[8, 8191], None),
    ("(list f64)", 64, &[8, 8192], Some("out of bounds")),
    ("(list char)", 64, &[72, 2, 0x10_ffff, 0xe000], None),
    ("(list char)", 64, &[72, 2, 0x20, 0xdfff], Some("char that is no scalar value")),
    ("(list string)", 64, &[72, 2, 512, 4, 512, 0], None),
    ("(list string)", 64, &[72, 2, 512, 4, 512, 5], Some("string that is not UTF-8")),
    ("char", 0xd7ff, &[], None),
    ("char", 0xd800, &[], Some("char that is no scalar value")),
    ("char", 0x11_0000, &[], Some("char that is no scalar value")),
    ("bool", 77, &[], None),
    ("u8", 0xffff, &[], None),
    ("$color", 2, &[], None),
    ("$color", 3, &[], Some("discriminant out of range")),
    ("$set", 0xffff, &[], None),
    ("(result)", 1, &[], None),
    ("(result)", 77, &[], Some("discriminant out of range")),
    ("(option char)", 64, &[0, 0xd800], None),
    ("(option char)", 64, &[1, 0xd800], Some("char that is no scalar value")),
    ("(option char)", 64, &[0x0102, 0], Some("discriminant out of range")),
    ("(result u32 (error string))", 64, &[0, u32::MAX, u32::MAX], None),
    ("(result u32 (error string))", 64, &[1, u32::MAX, u32::MAX], Some("out of bounds")),
    ("$shape", 64, &[0, u32::MAX, u32::MAX], None),
    ("$shape", 64, &[2, 2, 3], None),
    ("$shape", 64, &[2, 3, 3], Some("unaligned address")),
    ("$shape", 64, &[3], Some("discriminant out of range")),
    ("$pair", 64, &[0xff, 0x41], None),
    ("$pair", 64, &[0xff, 0xd801], Some("char that is no scalar value")),
    ("(tuple u8 $color)", 64, &[0x0200], None),
    ("(tuple u8 $color)", 64, &[0x0300], Some("discriminant out of range")),
    ("(list (tuple u8 $color))", 64, &[72, 2, 0x0001_0200], None),
    ("(list (tuple u8 $color))", 64, &[72, 2, 0x0401_0200], Some("discriminant out of range")),
    ("(list (option (list string)))", 64, &[72, 1, 1, 84, 1, 512, 5], Some("string that is not UTF-8")),
];

/// An executor in each variant.
fn executors(component: &str) -> Vec<Executor> {
    // Memory ends where the module says.
    let metered = load(component, Settings { grow_heap_bytes: 0, ..settings() });
    let edges = metered.edges.edges.len() as u32;
    let others = [Variant::Full, Variant::Fast((0..edges).collect())];
    let others = others.map(|variant| Arc::new(metered.in_variant(variant).unwrap()));
    [metered].into_iter().chain(others).map(|target| Executor::new(&target).unwrap()).collect()
}

fn why(outcome: &Outcome) -> Option<String> {
    outcome.trap().map(|trap| format!("{}: {}", trap.kind.name(), trap.class.as_deref().unwrap_or_default()))
}

#[test]
fn what_is_no_value_of_its_type_is_a_failure() {
    for &(ty, number, words, wrong) in RESULTS {
        for mut executor in executors(&giving(ty, number, words)) {
            for _ in 0..2 {
                let outcome = executor.run(b"x").unwrap();
                let expected = wrong.map(|wrong| format!("bad-result: {wrong}"));
                assert_eq!(why(&outcome), expected, "{ty} {number:#x} {words:?} in {:?}", executor.target().variant);
            }
        }
    }
}

#[test]
fn memory_that_grew_and_was_not_written_is_read_as_zeros() {
    let grown = r#"(func (export "parse") (param i32 i32) (result i32)
        (drop (memory.grow (i32.const 16)))
        (i32.store8 (i32.const 300000) (i32.const 65))
        (i32.store (i32.const 64) (i32.const 65530))
        (i32.store (i32.const 68) (i32.const 900000))
        (i32.const 64))"#;
    let component = |ty: &str| {
        let core = core(grown);
        format!(
            r#"(component {core} (func (export "parse") (param "x" (list u8)) (result {ty})
                (canon lift (core func $i "parse") {OPTIONS})))"#
        )
    };
    for mut executor in executors(&component("string")) {
        assert_eq!((0..3).map(|_| executor.run(b"x").unwrap()).collect::<Vec<_>>(), vec![Outcome::Ok; 3]);
    }
}

#[test]
fn handles_that_are_given_away_have_to_be_there() {
    let component = |code: &str| {
        format!(
            r#"(component
                (type $thing' (resource (rep i32))) (export $thing "thing" (type $thing'))
                (core func $new (canon resource.new $thing'))
                (core module $m
                    (import "" "new" (func $new (param i32) (result i32)))
                    (func (export "parse") (result i32) {code}))
                (core instance $i (instantiate $m (with "" (instance (export "new" (func $new))))))
                (func (export "parse") (result (own $thing)) (canon lift (core func $i "parse"))))"#
        )
    };
    let named = Settings { entry: Some("parse".to_owned()), ..settings() };
    let run = |code| executor(component(code), named.clone()).run(b"").unwrap();
    assert_eq!(run("(call $new (i32.const 7))"), Outcome::Ok);
    let outcome = run("(drop (call $new (i32.const 7))) (i32.const 9)");
    assert_eq!(outcome.trap().map(|trap| trap.kind), Some(TrapKind::UnknownHandle), "{outcome:?}");
}

#[test]
fn handles_that_are_given_away_are_of_the_right_resource() {
    // Two resources, of which the component gives one; and one whose instance is inside.
    let component = |given: &str, code: &str| {
        format!(
            r#"(component
                (component $inner
                    (type $other' (resource (rep i32))) (export $other "other" (type $other'))
                    (core func $new (canon resource.new $other'))
                    (core module $m (import "" "new" (func $new (param i32) (result i32)))
                        (func (export "make") (result i32) (call $new (i32.const 1))))
                    (core instance $i (instantiate $m (with "" (instance (export "new" (func $new))))))
                    (func (export "make") (result (own $other)) (canon lift (core func $i "make"))))
                (instance $inside (instantiate $inner))
                (alias export $inside "other" (type $other'))
                (type $thing' (resource (rep i32)))
                (core func $thing (canon resource.new $thing'))
                (core func $drop (canon resource.drop $other'))
                (core module $m
                    (import "" "thing" (func $thing (param i32) (result i32)))
                    (func (export "parse") (result i32) {code}))
                (core instance $i (instantiate $m (with "" (instance (export "thing" (func $thing))))))
                (export $thing "thing" (type $thing')) (export $other "other" (type $other'))
                (func (export "parse") (result (own ${given})) (canon lift (core func $i "parse"))))"#
        )
    };
    let named = Settings { entry: Some("parse".to_owned()), ..settings() };
    let run = |given, code| executor(component(given, code), named.clone()).run(b"").unwrap();
    assert_eq!(run("thing", "(call $thing (i32.const 7))"), Outcome::Ok);
    let outcome = run("other", "(call $thing (i32.const 7))");
    assert_eq!(outcome.trap().map(|trap| trap.kind), Some(TrapKind::UnknownHandle), "{outcome:?}");
}

#[test]
fn values_without_end_take_fuel() {
    let ty = (0..8).fold("string".to_owned(), |ty, _| format!("(list {ty})"));
    // Each of a list's elements is the list itself, as often as there is room.
    let words: Vec<u32> = (0..50).flat_map(|_| [64, 50]).collect();
    let outcome = executor(giving(&ty, 64, &words), settings()).run(b"x").unwrap();
    assert!(outcome.is_hang(), "{outcome:?}");
}

#[test]
fn types_without_end_are_refused() {
    let core = core(r#"(func (export "parse") (param i32 i32) (result i32) (i32.const 64))"#);
    let component = |depth: u32| {
        let mut types = "(type $t0 (list u8))".to_owned();
        for depth in 1..=depth {
            let _ = write!(types, "(type $t{depth} (list $t{}))", depth - 1);
        }
        format!(
            r#"(component {core} {types} (func (export "parse") (param "x" (list u8)) (result $t{depth})
                (canon lift (core func $i "parse") {OPTIONS})))"#
        )
    };
    assert_eq!(executor(component(20), settings()).run(b"x").unwrap(), Outcome::Ok);
    let error = super::refusal(component(299), Settings { entry: Some("parse".to_owned()), ..settings() });
    assert!(error.contains("too deep"), "{error}");
}

#[test]
fn bad_results_are_found_and_told_by_what_is_wrong() {
    let fuzzbox = Fuzzbox::new();
    std::fs::write(fuzzbox.dir().join("guest.wat"), giving("string", 64, &[512, 5])).unwrap();
    let ran = fuzzbox.run("run", &["guest.wat"], &["--execs", "1000", "--seed", "1", "--reporter", "json"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    let finding = ran.json_lines().into_iter().find(|line| line["event"] == "finding").unwrap();
    assert!(finding.to_string().contains("bad-result: string that is not UTF-8"), "{finding}");
}
