//! What is printed by a grammar whose rules are applied bottom-up, with all rules or some of them, beside what TSTL's
//! author published for the same grammar.

use super::figures::{Section, figure, promised};
use super::{guest, searched};
use fuzzbox::sandbox::{Executor, Target};
use fuzzbox::stream::Rule;
use std::fmt::Write as _;
use std::sync::Arc;

/// Rules, in the order in which they are asked for: letters, links and print.
const RULES: [&str; 12] = [
    "a := A",
    "b := B",
    "c := C",
    "d := D",
    "e := E",
    "f := F",
    "a := b",
    "b := c",
    "c := d",
    "d := e",
    "e := f",
    "print := a",
];

/// A hundred steps, each by any rule that can be applied: what a rule makes replaces what was there when that was used,
/// and what it needs has to be there. A letter that is printed is an event.
fn lopsided(asks: bool) -> Arc<Target> {
    let (mut names, mut ask) = (String::new(), String::new());
    for (rule, name) in RULES.iter().enumerate() {
        let _ = write!(names, "(data (i32.const {}) \"{name}\")", 16 * rule);
        let on = format!("(call $feature (i32.const {}) (i32.const {}))", 16 * rule, name.len());
        let on = if asks { on } else { "(i32.const 1)".to_owned() };
        let _ = write!(ask, "(i32.store8 offset=512 (i32.const {rule}) {on})");
    }
    // At 256 what each thing is, 0 if nothing, and at 272 whether it was used.
    guest(&format!(
        r#"{names} (data (i32.const 240) "ABCDEF")
        (func $can (param $rule i32) (result i32) (local $thing i32)
            (if (i32.eqz (i32.load8_u offset=512 (local.get $rule))) (then (return (i32.const 0))))
            (if (i32.eq (local.get $rule) (i32.const 11)) (then (return (i32.ne (i32.load8_u offset=256 (i32.const 0)) (i32.const 0)))))
            (local.set $thing (i32.rem_u (local.get $rule) (i32.const 6)))
            (if (i32.and (i32.ne (i32.load8_u offset=256 (local.get $thing)) (i32.const 0))
                         (i32.eqz (i32.load8_u offset=272 (local.get $thing))))
                (then (return (i32.const 0))))
            (i32.or (i32.lt_u (local.get $rule) (i32.const 6))
                    (i32.ne (i32.load8_u offset=257 (local.get $thing)) (i32.const 0))))
        (func $apply (param $rule i32) (local $thing i32)
            (if (i32.eq (local.get $rule) (i32.const 11))
                (then
                    (call $event (i32.add (i32.const 239) (i32.load8_u offset=256 (i32.const 0))) (i32.const 1) (i64.const 1))
                    (i32.store8 offset=272 (i32.const 0) (i32.const 1))
                    (return)))
            (local.set $thing (i32.rem_u (local.get $rule) (i32.const 6)))
            (i32.store8 offset=272 (local.get $thing) (i32.const 0))
            (if (i32.lt_u (local.get $rule) (i32.const 6))
                (then (i32.store8 offset=256 (local.get $thing) (i32.add (local.get $rule) (i32.const 1))))
                (else
                    (i32.store8 offset=256 (local.get $thing) (i32.load8_u offset=257 (local.get $thing)))
                    (i32.store8 offset=273 (local.get $thing) (i32.const 1)))))
        (func (export "fbx_lopsided") (local $step i32) (local $rule i32) (local $count i32) (local $left i32)
            {ask}
            (loop $next
                (local.set $count (i32.const 0))
                (local.set $rule (i32.const 0))
                (loop $look
                    (local.set $count (i32.add (local.get $count) (call $can (local.get $rule))))
                    (local.set $rule (i32.add (local.get $rule) (i32.const 1)))
                    (br_if $look (i32.lt_u (local.get $rule) (i32.const 12))))
                (if (i32.eqz (local.get $count)) (then (return)))
                (local.set $left (call $choice (local.get $count) (i32.const 0)))
                (local.set $rule (i32.const -1))
                (loop $find
                    (local.set $rule (i32.add (local.get $rule) (i32.const 1)))
                    (br_if $find (i32.eqz (call $can (local.get $rule))))
                    (local.set $left (i32.sub (local.get $left) (i32.const 1)))
                    (br_if $find (i32.ge_s (local.get $left) (i32.const 0))))
                (call $apply (local.get $rule))
                (local.set $step (i32.add (local.get $step) (i32.const 1)))
                (br_if $next (i32.lt_u (local.get $step) (i32.const 100)))))"#
    ))
}

/// The percentage of each letter among what is printed, of `prints` or a few more.
fn printed(target: &Arc<Target>, strategy: &str, prints: u64) -> [f64; 6] {
    let mut counts = [0_u64; 6];
    let mut executor = Executor::new(target).unwrap();
    // A test prints about 40; with some rules only half of all print nothing.
    let tests = if strategy.contains("swarm") { prints / 12 } else { prints / 36 };
    let campaign = searched(target, strategy, 1, 1, tests, false);
    for (input, count) in campaign.tally() {
        executor.run_stream(input, &Rule::default()).unwrap();
        for (letter, _) in executor.observation().told().events {
            counts[usize::from(letter.as_bytes()[0] - b'A')] += count;
        }
    }
    let total: u64 = counts.iter().sum();
    println!("{strategy}: {total} letters");
    assert!(total >= prints, "{strategy}: {total}");
    counts.map(|count| 100.0 * count as f64 / total as f64)
}

#[test]
fn letters_are_printed_as_often_as_published() {
    let published = [
        ("quickcheck:whole", [51.43, 25.44, 12.68, 6.20, 2.96, 1.29]),
        ("quickcheck:whole+swarm", [70.05, 20.47, 6.52, 1.98, 0.70, 0.29]),
        ("quickcheck:whole+swarm:deps", [53.54, 22.84, 11.57, 5.99, 3.04, 3.02]),
        ("quickcheck:whole+swarm:parents", [28.12, 21.84, 15.93, 10.93, 9.51, 13.68]),
    ];
    let prints = promised(30_000, 100_000);
    for (strategy, expected) in published {
        let target = lopsided(strategy.contains("swarm"));
        let letters = printed(&target, strategy, prints);
        println!("{strategy}: {letters:.2?}, published {expected:.2?}");
        let listed = |letters: [f64; 6]| letters.map(|letter| format!("{letter:.2}")).join(" ");
        figure(Section::Swarm, &format!("A to F, `{strategy}`"), &listed(expected), &listed(letters));
        let off = letters.iter().zip(expected).map(|(letter, expected)| (letter - expected).abs());
        assert!(off.clone().all(|off| off <= 2.5), "{strategy}: {letters:?}");
        let ratio = letters.iter().copied().fold(0.0, f64::max) / letters.iter().copied().fold(100.0, f64::min);
        match strategy {
            "quickcheck:whole" => assert!(ratio >= 35.0, "{ratio}"),
            "quickcheck:whole+swarm:parents" => assert!(ratio <= 3.2, "{ratio}"),
            _ => {}
        }
    }
}
