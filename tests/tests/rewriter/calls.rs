//! The number of live calls that can be part of a recursion, exact however they are left, and the limit on it.

use crate::execution::calls::Recursive;
use crate::execution::engine;
use fuzzbox_instrument::layout::Flag;
use fuzzbox_instrument::{Instrumented, Options, instrument, layout};
use std::sync::Arc;
use wasmtime::*;

/// How many calls may be live here.
const LIMIT: u32 = 10;

/// What makes a function one from which `f` can be reached, so that calls of it by `f` count.
const BACK: &str = "(if (i32.const 0) (then (call $f (i32.const 0))))";

/// A module whose imported function `see` says how many calls are live.
struct Run {
    new: Instrumented,
    recursive: Arc<Recursive>,
    store: Store<Vec<u32>>,
    instance: Instance,
}

impl Run {
    fn new(text: &str, opt_level: OptLevel) -> Run {
        let text = format!("(module (import \"\" \"see\" (func $see)) {text})");
        let mut options = Options::default();
        options.calls = Some(LIMIT);
        let wasm = wat::parse_str(text).unwrap();
        let new = instrument(&wasm, &options).unwrap();
        let recursive = Arc::new(Recursive::of(&wasm));
        let (known, offsets) = (recursive.clone(), new.offsets.clone());
        let engine = engine(opt_level, |_| {});
        let module = Module::new(&engine, &new.wasm).unwrap();
        let mut store = Store::new(&engine, Vec::new());
        let export = new.injected.memory_export.clone();
        let see = Func::wrap(&mut store, move |mut caller: Caller<'_, Vec<u32>>| {
            let memory = caller.get_export(&export).and_then(Extern::into_memory).unwrap();
            let live = calls(memory.data(&caller));
            // The engine knows them too.
            assert_eq!(known.live(&WasmBacktrace::force_capture(&caller), &offsets), Some(live as usize));
            caller.data_mut().push(live);
        });
        let instance = Instance::new(&mut store, &module, &[see.into()]).unwrap();
        Run { new, recursive, store, instance }
    }

    /// Calls `f`, and gives how many calls were live each time that was looked at, and at the end.
    fn seen(&mut self, argument: i32) -> (Result<()>, Vec<u32>) {
        let function = self.instance.get_func(&mut self.store, "f").unwrap();
        let mut results = vec![Val::I32(0); function.ty(&self.store).results().len()];
        let result = function.call(&mut self.store, &[Val::I32(argument)], &mut results);
        let mut seen = std::mem::take(self.store.data_mut());
        seen.push(calls(self.injected()));
        (result, seen)
    }

    fn injected(&mut self) -> &mut [u8] {
        let memory = self.instance.get_memory(&mut self.store, &self.new.injected.memory_export).unwrap();
        memory.data_mut(&mut self.store)
    }

    /// Whether too many calls were live. Forgets it, as hosts do.
    fn take_overflow(&mut self) -> bool {
        let injected = self.injected();
        injected[layout::CALLS as usize..][..4].fill(0);
        std::mem::take(&mut injected[Flag::StackOverflow.offset() as usize]) == 1
    }
}

fn calls(injected: &[u8]) -> u32 {
    u32::from_le_bytes(injected[layout::CALLS as usize..][..4].try_into().unwrap())
}

const LEVELS: [OptLevel; 2] = [OptLevel::None, OptLevel::Speed];

#[test]
fn calls_are_counted_however_they_end() {
    // Each `f` calls `g`, which is left in some way, and then looks: no call is live.
    let ways: &[(&str, &str)] = &[
        ("end", "(func $g (param i32) call $see)"),
        ("end, with results", "(func $g (param i32) (result i32 i64) call $see i32.const 1 i64.const 2)"),
        ("return", "(func $g (param i32) call $see (return))"),
        (
            "return from within",
            "(func $g (param i32) (result i32) call $see (block (loop (if (local.get 0) (then (return (i32.const 1)))))) i32.const 2)",
        ),
        ("return of several", "(func $g (param i32) (result i32 f64) call $see (return (i32.const 1) (f64.const 2)))"),
        ("br", "(func $g (param i32) call $see (block (br 1)))"),
        (
            "br with results",
            "(func $g (param i32) (result i32 i64) call $see (block (br 1 (i32.const 1) (i64.const 2))) unreachable)",
        ),
        ("br_if", "(func $g (param i32) call $see (br_if 0 (local.get 0)) (call $see))"),
        (
            "br_if with a result",
            "(func $g (param i32) (result i32) call $see (br_if 0 (i32.const 1) (local.get 0)) call $see)",
        ),
        ("br_table", "(func $g (param i32) call $see (block (br_table 0 1 0 (local.get 0))) (call $see))"),
        ("br_on_null", "(func $g (param i32) call $see (drop (br_on_null 0 (ref.null func))) (call $see))"),
        (
            "br_on_cast",
            "(func $g (param i32) (result i31ref) call $see (br_on_cast 0 anyref i31ref (ref.i31 (i32.const 1))) unreachable)",
        ),
        ("dead code", "(func $g (param i32) call $see (return) (call $see) (br 0))"),
    ];
    for (way, g) in ways {
        let results = g.matches("i32 i64").count() * 2 + g.matches("i32 f64").count() * 2;
        let results = if results > 0 { results } else { g.matches("(result").count() };
        let drops = "drop ".repeat(results);
        let g = g.replacen("call $see", &format!("{BACK} call $see"), 1);
        let text = format!("{g} (func $f (export \"f\") (param i32) (call $g (local.get 0)) {drops} (call $see))");
        for level in LEVELS {
            let mut run = Run::new(&text, level);
            let (result, seen) = run.seen(1);
            result.unwrap();
            assert_eq!(seen, [1, 0, 0], "{way}");
        }
    }
}

#[test]
fn a_tail_call_takes_the_place_of_a_call() {
    let ways = [
        "(return_call $h (local.get 0))",
        "(return_call_indirect (type $t) (local.get 0) (i32.const 0))",
        "(return_call_ref $t (local.get 0) (ref.func $h))",
    ];
    for way in ways {
        let text = format!(
            "(type $t (func (param i32))) (table funcref (elem $h))
             (func $h (type $t) {BACK} call $see)
             (func $g (type $t) {BACK} call $see {way})
             (func $only (type $t) {BACK} {way})
             (func $f (export \"f\") (type $t)
                (call $g (local.get 0)) (call $see) (call $only (local.get 0)) (return_call $g (local.get 0)))"
        );
        for level in LEVELS {
            let mut run = Run::new(&text, level);
            let (result, seen) = run.seen(1);
            result.unwrap();
            assert_eq!(seen, [1, 1, 0, 1, 0, 0, 0], "{way}");
        }
    }
    // As many of them as there may be: none is live.
    let text = "(func $f (export \"f\") (param i32)
        (if (i32.eqz (local.get 0)) (then (return (call $see))))
        (return_call $g (i32.sub (local.get 0) (i32.const 1))))
      (func $g (param i32) (return_call $f (local.get 0)))";
    let (result, seen) = Run::new(text, OptLevel::Speed).seen(1_000_000);
    result.unwrap();
    assert_eq!(seen, [0, 0]);
}

#[test]
fn a_function_that_catches_knows_how_many_are_live() {
    let clauses = [
        "(block (result i32) (try_table (catch $e 0) (call $deep (i32.const 5))) unreachable) drop",
        "(block (result i32 exnref) (try_table (catch_ref $e 0) (call $deep (i32.const 5))) unreachable) drop drop",
        "(block (try_table (catch_all 0) (call $deep (i32.const 5))) unreachable)",
        "(block (result exnref) (try_table (catch_all_ref 0) (call $deep (i32.const 5))) unreachable) drop",
        "(block (result i32) (try_table (catch $other 0) (call $passes)) unreachable) drop",
        // The module has either these or those above.
        "try (call $deep (i32.const 5)) catch $e drop end",
        "try (call $deep (i32.const 5)) catch_all end",
        "try try (call $deep (i32.const 5)) delegate 0 catch_all end",
        "try try (call $deep (i32.const 5)) catch_all (call $see) rethrow 0 end catch_all end",
    ];
    for clause in clauses {
        let passes = if clause.starts_with("try ") {
            "(func $passes unreachable)"
        } else {
            // Catches, throws again, and something else in a frame below.
            "(func $passes (local $caught exnref)
                (block (result exnref) (try_table (catch_all_ref 0) (call $deep (i32.const 3))) unreachable)
                local.set $caught
                call $see
                (block (result i32) (try_table (catch $e 0) (throw_ref (local.get $caught))) unreachable)
                (throw $other))"
        };
        let text = format!(
            "(tag $e (param i32)) (tag $other (param i32))
             (func $deep (param i32)
                (if (i32.eqz (local.get 0)) (then (call $see) (throw $e (i32.const 7))))
                (call $deep (i32.sub (local.get 0) (i32.const 1))))
             {passes}
             (func $g {BACK} call $see {clause} call $see)
             (func $f (export \"f\") (param i32)
                (loop
                    (call $g) (call $see)
                    (br_if 0 (local.tee 0 (i32.sub (local.get 0) (i32.const 1))))))"
        );
        for level in LEVELS {
            let mut run = Run::new(&text, level);
            let (result, seen) = run.seen(3);
            result.unwrap();
            let once: &[u32] = match clause {
                _ if clause.contains("$passes") => &[1, 4, 1, 1, 0],
                _ if clause.contains("rethrow") => &[1, 6, 1, 1, 0],
                _ => &[1, 6, 1, 0],
            };
            assert_eq!(seen, [once, once, once, &[0]].concat(), "{clause}");
        }
    }
}

#[test]
fn more_calls_than_the_limit_end_an_execution_and_no_fewer() {
    let recursion = |last: &str| {
        format!(
            "(type $t (func (param i32))) (table funcref (elem $f))
             (func $nothing (param i32))
             (func $in_its_place (param i32) (return_call $nothing (local.get 0)))
             (func $f (export \"f\") (type $t)
                (if (i32.eqz (local.get 0)) (then {last} (return)))
                (call_indirect (type $t) (i32.sub (local.get 0) (i32.const 1)) (i32.const 0)))"
        )
    };
    // A call that is no part of a recursion isn't counted.
    for last in ["nop", "(call $nothing (i32.const 0))", "(call $in_its_place (i32.const 0))"] {
        for level in LEVELS {
            let mut run = Run::new(&recursion(last), level);
            for argument in [0, LIMIT, LIMIT + 1, 1_000_000, LIMIT] {
                let (result, _) = run.seen(argument as i32);
                let overflow = argument > LIMIT;
                assert_eq!(run.take_overflow(), overflow, "{last} {argument}");
                let Err(error) = result else {
                    assert!(!overflow);
                    continue;
                };
                assert!(overflow);
                assert_eq!(error.downcast_ref(), Some(&Trap::UnreachableCodeReached));
                // The call that is too many was not made.
                let backtrace = error.downcast_ref::<WasmBacktrace>().unwrap();
                assert_eq!(backtrace.frames().len() as u32, LIMIT + 1);
                assert_eq!(run.recursive.live(backtrace, &run.new.offsets), Some(LIMIT as usize + 1));
            }
        }
    }
}

#[test]
fn a_trap_leaves_what_was_counted() {
    let text = "(func $g (if (i32.const 0) (then (call $f (i32.const 0)))) call $see unreachable)
        (func $f (export \"f\") (param i32) call $g)";
    let mut run = Run::new(text, OptLevel::Speed);
    let (result, seen) = run.seen(0);
    assert!(result.is_err());
    assert_eq!(seen, [1, 1]);
    assert!(!run.take_overflow());
    assert_eq!(run.seen(0).1, [1, 1]);
}
