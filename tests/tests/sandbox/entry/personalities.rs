//! Modules for hosts in JavaScript: what they import is there, the same for every execution, and what JavaScript would
//! throw is no failure.

use crate::entry::{executor, load, settings};
use fuzzbox::outcome::Outcome;
use fuzzbox::sandbox::{Executor, Target, Variant};
use fuzzbox::settings::{Settings, Stub};
use fuzzbox_tests::show;
use std::sync::Arc;

fn called(call: &str) -> Settings {
    Settings { call: Some(call.to_owned()), ..settings() }
}

/// What wasm-bindgen makes of a function over a string that may fail: it makes an error of JavaScript's, looks at it,
/// gives it back, and throws.
const BINDGEN: &str = r#"
    (import "wbg" "__wbindgen_string_new" (func $string_new (param i32 i32) (result i32)))
    (import "wbg" "__wbg_new_693216e109162396" (func $error (result i32)))
    (import "wbg" "__wbg_stack_0ddaca5d1abfb52f" (func $stack (param i32 i32)))
    (import "wbg" "__wbindgen_is_string" (func $is_string (param i32) (result i32)))
    (import "wbg" "__wbindgen_string_get" (func $string_get (param i32 i32)))
    (import "wbg" "__wbindgen_object_drop_ref" (func $drop (param i32)))
    (import "wbg" "__wbindgen_throw" (func $throw (param i32 i32)))
    (import "wbg" "__wbg_fetch_0123456789abcdef" (func $fetch (param i32) (result i32)))
    (memory (export "memory") 1)
    (global $stack_pointer (mut i32) (i32.const 8192))
    (global $next (mut i32) (i32.const 16384))
    (global $first (mut i32) (i32.const 0))
    (func (export "__wbindgen_malloc") (param i32 i32) (result i32)
        (global.get $next) (global.set $next (i32.add (global.get $next) (local.get 0))))
    (func (export "__wbindgen_add_to_stack_pointer") (param i32) (result i32)
        (global.set $stack_pointer (i32.add (global.get $stack_pointer) (local.get 0))) (global.get $stack_pointer))
    (func (export "format") (param $ret i32) (param $p i32) (param $n i32)
        (local $object i32)
        (local.set $object (call $string_new (local.get $p) (local.get $n)))
        ;; Whatever was executed before, numbers of objects are the same.
        (if (global.get $first) (then (if (i32.ne (global.get $first) (local.get $object)) (then unreachable))))
        (if (i32.eqz (call $is_string (local.get $object))) (then unreachable))
        (call $string_get (local.get $ret) (local.get $object))
        (if (i32.ne (i32.load offset=4 (local.get $ret)) (local.get $n)) (then unreachable))
        (if (i32.ne (i32.load8_u (i32.load (local.get $ret))) (i32.load8_u (local.get $p))) (then unreachable))
        (call $drop (local.get $object))
        (if (call $is_string (local.get $object)) (then unreachable))
        (call $stack (local.get $ret) (call $error))
        (if (i32.eq (i32.load8_u (local.get $p)) (i32.const 116)) (then (call $throw (local.get $p) (local.get $n))))
        (if (i32.eq (i32.load8_u (local.get $p)) (i32.const 102)) (then (drop (call $fetch (i32.const 0)))))
        (if (i32.eq (i32.load8_u (local.get $p)) (i32.const 99)) (then unreachable)))"#;

#[test]
fn modules_of_wasm_bindgen_are_called_by_their_names() {
    for call in ["format", "wasm-bindgen:format"] {
        let mut executor = executor(BINDGEN, called(call));
        for (input, ends) in [(&b"thrown"[..], Outcome::Ok), (b"fetch", Outcome::Rejected), (b"okay", Outcome::Ok)] {
            for _ in 0..3 {
                let shown = show(&mut executor, input);
                assert_eq!(shown.outcome, ends, "{call}: {input:?}");
            }
        }
        let crash = executor.run(b"crash").unwrap();
        assert_eq!(crash.failure().unwrap().1.kind.name(), "unreachable");
    }
    // What is not known is left to stubs, if there are to be some.
    let stubbed = Settings { stub_imports: Some(Stub::Zero), ..called("format") };
    assert_eq!(executor(BINDGEN, stubbed).run(b"fetch").unwrap(), Outcome::Ok);
    let shown = show(&mut executor(BINDGEN, called("format")), b"thrown");
    assert!(String::from_utf8_lossy(&shown.stderr).contains("throw: thrown"), "{:?}", shown.stderr);
}

/// What Emscripten makes: memory that is grown by the host, a copy by the host, a call through the host.
const EMSCRIPTEN: &str = r#"
    (import "env" "emscripten_resize_heap" (func $resize (param i32) (result i32)))
    (import "env" "_emscripten_memcpy_js" (func $copy (param i32 i32 i32)))
    (import "env" "emscripten_date_now" (func $now (result f64)))
    (import "env" "invoke_iii" (func $invoke (param i32 i32 i32) (result i32)))
    (import "env" "__syscall_openat" (func $open (param i32 i32 i32 i32) (result i32)))
    (import "env" "_abort_js" (func $abort))
    (import "env" "__cxa_throw" (func $throw (param i32 i32 i32)))
    (import "env" "exit" (func $exit (param i32)))
    (import "wasi_snapshot_preview1" "fd_seek" (func $seek (param i32 i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 1 64)
    (table (export "__indirect_function_table") 2 funcref)
    (elem (i32.const 1) $add)
    (func $add (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1)))
    (func (export "malloc") (param i32) (result i32)
        ;; Behind all that there is, which is grown for it.
        (if (i32.eqz (call $resize (i32.const 196608))) (then unreachable))
        (if (i32.ne (memory.size) (i32.const 3)) (then unreachable))
        (i32.const 131072))
    (func (export "free") (param i32))
    (func (export "parse") (param $p i32) (param $n i32) (result i32)
        (local $c i32)
        (local.set $c (i32.load8_u (local.get $p)))
        (call $copy (i32.const 190000) (local.get $p) (local.get $n))
        (if (i32.ne (i32.load8_u (i32.const 190000)) (local.get $c)) (then unreachable))
        (if (i32.ne (call $invoke (i32.const 1) (local.get $c) (i32.const 5)) (i32.add (local.get $c) (i32.const 5)))
            (then unreachable))
        (if (f64.lt (call $now) (f64.const 1577836800000)) (then unreachable))
        (if (i32.ne (call $open (i32.const -100) (local.get $p) (i32.const 0) (i32.const 0)) (i32.const -44))
            (then unreachable))
        (if (i32.ne (call $seek (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)) (i32.const 70))
            (then unreachable))
        (if (call $resize (i32.const 0x10000000)) (then unreachable))
        (if (i32.eq (local.get $c) (i32.const 97)) (then (call $abort)))
        (if (i32.eq (local.get $c) (i32.const 116)) (then (call $throw (i32.const 0) (i32.const 0) (i32.const 0))))
        (if (i32.eq (local.get $c) (i32.const 101)) (then (call $exit (i32.const 0))))
        (i32.const 0))"#;

#[test]
fn modules_of_emscripten_have_their_host() {
    let mut executor = executor(EMSCRIPTEN, called("parse"));
    for _ in 0..3 {
        assert_eq!(executor.run(b"okay").unwrap(), Outcome::Ok);
        assert_eq!(executor.run(b"exit").unwrap(), Outcome::Ok);
        // An error that is returned in the only way that there is.
        assert_eq!(executor.run(b"throws").unwrap(), Outcome::Ok);
        let abort = executor.run(b"abort").unwrap();
        assert_eq!(abort.failure().unwrap().1.kind.name(), "abort");
    }
}

/// Calls of a table through the host, of functions that have the type, or another; that call the host again, as often
/// as the input says, and then end in some way.
const INVOKED: &str = r#"
    (import "env" "invoke_ii" (func $invoke (param i32 i32) (result i32)))
    (import "env" "invoke_vd" (func $invoke_vd (param i32 f64)))
    (memory (export "memory") 1)
    (table (export "__indirect_function_table") 6 funcref)
    (elem (i32.const 1) $add $float $down $none)
    (func $add (param i32) (result i32) (i32.add (local.get 0) (i32.const 1)))
    (func $float (param f32 i64) (result f64)
        (if (f32.ne (local.get 0) (f32.const 0)) (then unreachable))
        (f64.const 7))
    (func $down (param $n i32) (result i32)
        (if (i32.lt_s (local.get $n) (i32.const 0)) (then (return (i32.div_u (i32.const 1) (i32.const 0)))))
        (if (i32.eqz (local.get $n)) (then (return (i32.const 5))))
        (if (i32.eq (local.get $n) (i32.const 1000000)) (then unreachable))
        (i32.add (i32.const 1) (call $invoke (i32.const 3) (i32.sub (local.get $n) (i32.const 1)))))
    (func $none)
    (func (export "run") (param $f i32) (param $n i32) (result i32)
        (call $invoke_vd (i32.const 1) (f64.const 3))
        (call $invoke (local.get $f) (local.get $n)))"#;

#[test]
fn calls_through_the_host_are_those_of_javascript() {
    let settings =
        || Settings { fuel_max: 1_000_000_000, ..called("r = run(draw(i32), draw(i32)); if r != draw(i32) reject") };
    let metered = load(INVOKED, settings());
    let full = Arc::new(metered.in_variant(Variant::Full).unwrap());
    let mut executors = [&metered, &full].map(|target| Executor::new(target).unwrap());
    let trap = |executor: &mut Executor, numbers: [i32; 3]| {
        let input: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        let shown = show(executor, &input);
        let ends = shown
            .outcome
            .failure()
            .map_or_else(|| shown.outcome.name().to_owned(), |(_, trap)| trap.kind.name().to_owned());
        (ends, shown.edges)
    };
    let mut compared = 0;
    for (numbers, ends) in [
        ([1, 41, 42], "ok"),
        // A float for an integer: nothing is converted to it, and what it returns is no integer.
        ([2, 41, 0], "ok"),
        ([4, 41, 0], "ok"),
        ([0, 1, 0], "indirect-call-to-null"),
        ([77, 1, 0], "indirect-call-to-null"),
        ([3, 0, 5], "ok"),
        ([3, 100, 105], "ok"),
        ([3, 100, 1], "rejected"),
        ([3, 9000, 9005], "ok"),
        ([3, 9000, 1], "rejected"),
        ([3, -1, 0], "integer-division-by-zero"),
        ([3, 1_000_000, 0], "unreachable"),
        ([3, 999_999, 0], "stack-overflow"),
        ([3, 20_000, 20_005], "stack-overflow"),
        ([3, 2, 7], "ok"),
    ] {
        let [seen, same] = executors.each_mut().map(|executor| trap(executor, numbers));
        assert_eq!(seen.0, ends, "{numbers:?}");
        // Where the stack ends depends on the variant, and only the first one decides; nor is all told of many frames.
        if same.0 == "stack-overflow" {
            continue;
        }
        assert_eq!(seen.0, same.0, "{numbers:?}");
        if executors[1].observation().is_exact() {
            compared += 1;
            assert_eq!(seen.1, same.1, "{numbers:?}");
        }
        let fresh = trap(&mut Executor::new(&metered).unwrap(), numbers);
        assert_eq!(seen, fresh, "{numbers:?}");
    }
    assert!(compared >= 7, "{compared}");
}

#[test]
fn what_nobody_provides_rejects_if_that_is_asked_for() {
    const LIBRARY: &str = r#"
        (import "x" "unknown" (func $unknown (param i32) (result i32)))
        (import "env" "abort" (func $abort))
        (func (export "_initialize") (if (call $unknown (i32.const 1)) (then unreachable)))
        (memory (export "memory") 1)
        (func (export "parse") (param $p i32) (param $n i32)
            (if (i32.eqz (local.get $n)) (then return))
            (if (i32.eq (i32.load8_u (local.get $p)) (i32.const 97)) (then (call $abort)))
            (if (i32.eq (call $unknown (local.get $n)) (i32.const 0)) (then unreachable)))"#;
    let with = |stub| Settings { stub_imports: Some(stub), ..called("parse(input, len)") };
    let metered = load(LIBRARY, with(Stub::Reject));
    let full = Arc::new(metered.in_variant(Variant::Full).unwrap());
    let mut executors = [&metered, &full].map(|target| Executor::new(target).unwrap());
    for (input, rejected) in [(&b""[..], false), (b"b", true), (b"", false), (b"b", true)] {
        let [seen, same] = executors.each_mut().map(|executor| show(executor, input));
        assert_eq!((&seen.outcome, &seen.edges), (&same.outcome, &same.edges));
        assert_eq!(seen.outcome, if rejected { Outcome::Rejected } else { Outcome::Ok });
    }
    // What is known to be a failure stays one.
    assert_eq!(executors[0].run(b"a").unwrap().failure().unwrap().1.kind.name(), "abort");
    assert_eq!(executor(LIBRARY, with(Stub::Zero)).run(b"b").unwrap().failure().unwrap().1.kind.name(), "unreachable");
}

#[test]
fn hosts_that_can_not_be_had_are_refused_by_name() {
    let refused = |wat: &str| format!("{:#}", Target::load(wat.as_bytes(), called("run(input, len)")).unwrap_err());
    let napi = r#"(module (import "env" "napi_create_function" (func (param i32) (result i32))) (memory 1)
        (func (export "run") (param i32 i32)))"#;
    assert!(refused(napi).contains("napi-rs"));
    let side = r#"(module (import "env" "__memory_base" (global i32)) (import "env" "memory" (memory 1))
        (func (export "run") (param i32 i32)))"#;
    assert!(refused(side).contains("dynamic linking"));
    // Whoever asks for stubs has them.
    let stubbed = Settings { stub_imports: Some(Stub::Trap), ..called("run(input, len)") };
    let target = Arc::new(Target::load(napi.as_bytes(), stubbed).unwrap());
    assert_eq!(Executor::new(&target).unwrap().run(b"a").unwrap(), Outcome::Ok);
}
