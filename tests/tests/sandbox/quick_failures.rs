//! What fails in quick code: decided by excerpts in optimised code, and said as optimised code says it.

use fuzzbox::outcome::Outcome;
use fuzzbox::sandbox::{Candidate, Code, CodeCache, Executor, Target};
use fuzzbox::settings::Settings;
use std::sync::Arc;

/// Ways to fail, each in a function of its own.
const FAILURES: u32 = 24;

/// The first byte of the input chooses a function, the second how deep a recursion with large frames is that calls it.
fn module() -> Vec<u8> {
    let ways = [
        "(unreachable)",
        "(drop (i32.div_u (i32.const 1) (local.get 0)))",
        "(drop (i32.load (i32.const 0x7fffffff)))",
        "(loop (br 0))",
        "(call_indirect (type $other) (f64.const 0) (i32.const 0))",
        "(drop (memory.grow (i32.const 1))) (i64.store (i32.sub (i32.const -8) (local.get 0)) (i64.const 1))",
    ];
    let function = |n: u32| {
        let way = ways[n as usize % ways.len()];
        format!(
            "(func $f{n} (param i32) (if (i32.eqz (global.get $before)) (then {way})) (global.set $before (i32.const 1)))"
        )
    };
    let functions: String = (0..FAILURES).map(function).collect();
    let names: String = (0..FAILURES).map(|n| format!(" $f{n}")).collect();
    let loads: String =
        (1..=96).map(|n| format!("(local.set {} (i64.load (i32.const {})))", n + 1, 2048 + 8 * n)).collect();
    let uses: String =
        (1..=96).map(|n| format!("(i64.store (i32.const {}) (local.get {}))", 4096 + 8 * n, n + 1)).collect();
    let text = format!(
        r#"(module (memory (export "memory") 2) (global $before (mut i32) (i32.const 0))
        (type $f (func (param i32))) (type $other (func (param f64)))
        (table funcref (elem{names} $fine))
        {functions}
        (func $fine (param i32))
        (func $deeper (param i32 i32) (local {locals})
            (if (i32.eqz (local.get 0))
                (then (call_indirect (type $f) (i32.const 0) (local.get 1)) (return)))
            {loads} (call $deeper (i32.sub (local.get 0) (i32.const 1)) (local.get 1)) {uses})
        (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32)
            (if (i32.lt_u (local.get 1) (i32.const 2)) (then (return (i32.const 0))))
            (call $deeper
                (i32.mul (i32.load8_u offset=1 (local.get 0)) (i32.const 10000))
                (i32.rem_u (i32.load8_u (local.get 0)) (i32.const {all})))
            (i32.const 0)))"#,
        locals = "i64 ".repeat(96),
        all = FAILURES + 1,
    );
    wat::parse_str(text).unwrap()
}

fn target(code: Code) -> Arc<Target> {
    let settings = Settings { fuel_max: 20_000_000, ..Settings::default() };
    let candidate = Candidate::new(&module(), settings).unwrap();
    Arc::new(Target::compiled(candidate, &CodeCache::default(), code).unwrap())
}

/// How an input ends, and the edges that it reaches, with their counts.
fn see(executor: &mut Executor, input: &[u8]) -> (Outcome, Vec<(u32, u32)>) {
    let outcome = executor.run(input).unwrap();
    let mut edges = Vec::new();
    executor.observation().edges(|edge, count| edges.push((edge, count)));
    (outcome, edges)
}

#[test]
fn failures_of_quick_code_are_those_of_optimised_code() {
    let mut optimised = Executor::new(&target(Code::Optimised)).unwrap();
    let quick = target(Code::Quick);
    let mut executor = Executor::new(&quick).unwrap();
    let fine = u8::try_from(FAILURES).unwrap();
    let mut failures = 0;
    for round in 0..3 {
        for way in 0..fine {
            // The last ones of a round end too early in quick code, whose frames are larger: an excerpt can't know what they call.
            for input in [[way, 0], [fine, 0], [way, round], [fine, 6 * u8::from(way + 2 > fine)]] {
                let expected = see(&mut optimised, &input);
                assert_eq!(see(&mut executor, &input), expected, "{input:?}, round {round}");
                failures += u32::from(expected.0.trap().is_some());
            }
            if (round, way) == (0, 3) {
                assert!(quick.optimised_by_now().is_none(), "the whole module was waited for");
                assert!(Arc::ptr_eq(executor.target(), &quick), "the executor goes on in quick code");
            }
        }
    }
    assert!(failures > 3 * FAILURES, "{failures}");
    assert!(quick.optimised_by_now().is_some(), "excerpts are made for ever");
}

#[test]
fn an_excerpt_serves_all_workers() {
    let quick = target(Code::Quick);
    let mut optimised = Executor::new(&target(Code::Optimised)).unwrap();
    let expected: Vec<_> = (0..4).map(|way| see(&mut optimised, &[way, 0])).collect();
    std::thread::scope(|scope| {
        for turn in 0..4 {
            let (quick, expected) = (&quick, &expected);
            scope.spawn(move || {
                let mut executor = Executor::new(quick).unwrap();
                for way in 0..20 {
                    let way = (way + turn) % 4;
                    assert_eq!(see(&mut executor, &[way as u8, 0]), expected[way]);
                }
            });
        }
    });
    assert!(quick.optimised_by_now().is_none(), "four functions are one excerpt, or four");
}
