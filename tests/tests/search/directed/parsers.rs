//! Twenty parsers in one module, of which one changed.

use super::{aim, median, pursue, target, times, workers};
use fuzzbox::sandbox::Target;
use std::fmt::Write as _;
use std::sync::Arc;

/// The first parser that changes, and the last.
const PARSERS: u32 = 20;

/// A module with twenty parsers, chosen by the first byte: each reads a number of digits, then a list of items of three kinds, of which
/// the sum decides. The one that `changed` is executes the constant 77777 where it has read four items in a row that ascend.
pub(super) fn parsers(changed: u32) -> String {
    let (mut functions, mut cases, mut labels) = (String::new(), String::new(), String::new());
    for number in 0..PARSERS {
        let special = if number == changed {
            "(if (i32.eq (local.get $run) (i32.const 4)) (then (global.set $out (i32.const 77777))))"
        } else {
            "(if (i32.eq (local.get $run) (i32.const 9)) (then (global.set $out (i32.const 3))))"
        };
        let key = 33 + number * 3;
        let _ = write!(
            functions,
            r#"(func $parser{number} (param $at i32) (param $end i32)
                (local $last i32) (local $run i32) (local $byte i32) (local $sum i32)
                (loop $next
                    (if (i32.ge_u (local.get $at) (local.get $end)) (then (return)))
                    (local.set $byte (i32.load8_u (local.get $at)))
                    (local.set $at (i32.add (local.get $at) (i32.const 1)))
                    (if (i32.eq (local.get $byte) (i32.const {key}))
                        (then (local.set $sum (i32.add (local.get $sum) (i32.const 2))) (br $next)))
                    (if (i32.lt_u (local.get $byte) (i32.const {key}))
                        (then (local.set $run (i32.const 0)) (local.set $last (i32.const 0)) (br $next)))
                    (if (i32.and (i32.gt_u (local.get $byte) (local.get $last)) (i32.gt_u (local.get $sum) (i32.const 3)))
                        (then (local.set $run (i32.add (local.get $run) (i32.const 1))))
                        (else (local.set $run (i32.const 0))))
                    (local.set $last (local.get $byte))
                    {special}
                    (br $next)))"#
        );
        labels.push_str(&format!("(block $case{number} "));
        let _ = write!(
            cases,
            ") (call $parser{} (local.get $from) (local.get $to)) (return (i32.const 0))",
            PARSERS - 1 - number
        );
    }
    let table: String = (0..PARSERS).rev().map(|number| format!("$case{number} ")).collect();
    format!(
        r#"(module
            (memory (export "memory") 1)
            (global $out (mut i32) (i32.const 0))
            {functions}
            (func (export "LLVMFuzzerTestOneInput") (param $data i32) (param $size i32) (result i32)
                (local $from i32) (local $to i32)
                (if (i32.lt_u (local.get $size) (i32.const 2)) (then (return (i32.const 0))))
                (local.set $from (i32.add (local.get $data) (i32.const 1)))
                (local.set $to (i32.add (local.get $data) (local.get $size)))
                (block $none
                    {labels}
                    (br_table {table} $none (i32.sub (i32.load8_u (local.get $data)) (i32.const 48)))
                    {cases}
                )
                (i32.const 0)))"#
    )
}

fn changed() -> Arc<Target> {
    target(parsers(13).as_bytes())
}

/// Executions until the changed block is reached, by seed.
fn executions(strategy: &str, share: usize, seeds: u64) -> Vec<u64> {
    const EXECS: u64 = 400_000;
    let (workers, target) = (workers(1), changed());
    let aim = aim(&target, 77_777, share);
    (0..seeds).map(|seed| pursue(&workers, &target, strategy, &aim, (seed, EXECS)).0.totals().execs).collect()
}

#[test]
fn one_of_twenty_parsers_is_reached_in_half_of_the_executions() {
    let seeds = times(20);
    let mut medians = Vec::new();
    for (strategy, share) in [("fuzz", 0), ("fuzz", 1), ("fuzz", 2), ("directed", 2), ("approach", 2)] {
        let took = executions(strategy, share, seeds);
        println!("{strategy}, {share} of 4 mutants: {took:?}");
        medians.push(median(took));
    }
    println!("medians: {medians:?}");
    let [undirected, _, directed, ..] = medians[..] else { panic!() };
    assert!(2 * directed <= undirected, "{medians:?}");
}
