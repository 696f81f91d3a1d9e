//! Programs that Go's own compiler made for JavaScript: what they call is there, with its parameters on their stack, and
//! they go on as long as something is left to happen.

use crate::entry::settings;
use anyhow::{Context as _, Result};
use fuzzbox::outcome::Outcome;
use fuzzbox::sandbox::{Executor, Summary, Target, completed};
use fuzzbox::settings::Settings;
use std::sync::Arc;

/// What Go makes of a program that reads standard input by `fs.read` with a callback, as far as the host sees it. The
/// stack pointer is always 16384. What it does then, the first byte says.
const PROGRAM: &str = r#"(module
    (import "gojs" "runtime.wasmExit" (func $exit (param i32)))
    (import "gojs" "runtime.wasmWrite" (func $write (param i32)))
    (import "gojs" "runtime.nanotime1" (func $nanotime (param i32)))
    (import "gojs" "runtime.scheduleTimeoutEvent" (func $schedule (param i32)))
    (import "gojs" "runtime.clearTimeoutEvent" (func $clear (param i32)))
    (import "gojs" "runtime.getRandomData" (func $random (param i32)))
    (import "gojs" "syscall/js.finalizeRef" (func $finalize (param i32)))
    (import "gojs" "syscall/js.stringVal" (func $string_val (param i32)))
    (import "gojs" "syscall/js.valueGet" (func $value_get (param i32)))
    (import "gojs" "syscall/js.valueSet" (func $value_set (param i32)))
    (import "gojs" "syscall/js.valueIndex" (func $value_index (param i32)))
    (import "gojs" "syscall/js.valueCall" (func $value_call (param i32)))
    (import "gojs" "syscall/js.valueInvoke" (func $value_invoke (param i32)))
    (import "gojs" "syscall/js.valueNew" (func $value_new (param i32)))
    (import "gojs" "syscall/js.valuePrepareString" (func $prepare (param i32)))
    (import "gojs" "syscall/js.copyBytesToGo" (func $copy_to_go (param i32)))
    (memory (export "mem") 2)
    (data (i32.const 20000) "fs\00Uint8Array\00read\00_makeFuncWrapper\00_pendingEvent\00args\00noSuch\00message\00id\00result\00/gone\00stat\00code")
    (global $bytes (mut i64) (i64.const 0)) (global $callback (mut i64) (i64.const 0))
    (global $fs (mut i64) (i64.const 0)) (global $timer (mut i32) (i32.const 0))
    (func (export "getsp") (result i32) (i32.const 16384))
    (func $set (param $at i32) (param $value i64)
        (i64.store (i32.add (i32.const 16384) (local.get $at)) (local.get $value)))
    (func $get (param $of i64) (param $name i64) (param $len i64) (result i64)
        (call $set (i32.const 8) (local.get $of)) (call $set (i32.const 16) (local.get $name))
        (call $set (i32.const 24) (local.get $len)) (call $value_get (i32.const 16384)) (i64.load (i32.const 16416)))
    ;; Arguments are at 30000.
    (func $arg (param $n i32) (param $value i64)
        (i64.store (i32.add (i32.const 30000) (i32.mul (local.get $n) (i32.const 8))) (local.get $value)))
    (func $call (param $of i64) (param $name i64) (param $len i64) (param $args i64) (result i64)
        (call $set (i32.const 8) (local.get $of)) (call $set (i32.const 16) (local.get $name))
        (call $set (i32.const 24) (local.get $len)) (call $set (i32.const 32) (i64.const 30000))
        (call $set (i32.const 40) (local.get $args)) (call $value_call (i32.const 16384))
        (i64.load (i32.const 16440)))
    (func $number (param f64) (result i64)
        (if (result i64) (f64.eq (local.get 0) (f64.const 0)) (then (i64.const 0x7ff8000000000001))
            (else (i64.reinterpret_f64 (local.get 0)))))
    (func $leave (param i32) (i32.store (i32.const 16392) (local.get 0)) (call $exit (i32.const 16384)))
    (func (export "run") (param $argc i32) (param $argv i32)
        ;; `program`, and an argument that the settings have.
        (if (i32.ne (local.get $argc) (i32.const 2)) (then unreachable))
        (if (i32.ne (i32.load8_u (i32.load (local.get $argv))) (i32.const 112)) (then unreachable))
        (if (i32.ne (i32.load8_u (i32.load offset=8 (local.get $argv))) (i32.const 45)) (then unreachable))
        (global.set $fs (call $get (i64.const 0x7ff8000100000005) (i64.const 20000) (i64.const 2)))
        (call $set (i32.const 8) (call $get (i64.const 0x7ff8000100000005) (i64.const 20003) (i64.const 10)))
        (call $arg (i32.const 0) (call $number (f64.const 16)))
        (call $set (i32.const 16) (i64.const 30000)) (call $set (i32.const 24) (i64.const 1))
        (call $value_new (i32.const 16384)) (global.set $bytes (i64.load (i32.const 16424)))
        (call $arg (i32.const 0) (call $number (f64.const 7)))
        (global.set $callback
            (call $call (i64.const 0x7ff8000100000006) (i64.const 20019) (i64.const 16) (i64.const 1)))
        (call $read))
    (func $read
        (call $arg (i32.const 0) (call $number (f64.const 0))) (call $arg (i32.const 1) (global.get $bytes))
        (call $arg (i32.const 2) (call $number (f64.const 0))) (call $arg (i32.const 3) (call $number (f64.const 16)))
        (call $arg (i32.const 4) (i64.const 0x7ff8000000000002)) (call $arg (i32.const 5) (global.get $callback))
        (drop (call $call (global.get $fs) (i64.const 20014) (i64.const 4) (i64.const 6))))
    (func (export "resume") (local $event i64) (local $args i64) (local $first i32)
        (local.set $event (call $get (i64.const 0x7ff8000100000006) (i64.const 20036) (i64.const 13)))
        (if (global.get $timer) (then
            ;; It says that it knows, and time has passed.
            (i32.store (i32.const 16392) (global.get $timer)) (call $clear (i32.const 16384))
            (call $nanotime (i32.const 16384))
            (if (i64.lt_u (i64.load (i32.const 16392)) (i64.const 1577836805000000000)) (then unreachable))
            (call $leave (i32.const 5))))
        ;; Nothing is left: as Go does, it ends with 2.
        (if (i64.eq (call $get (local.get $event) (i64.const 20070) (i64.const 2)) (i64.const 0x7ff8000000000001))
            (then (call $leave (i32.const 2))))
        (local.set $args (call $get (local.get $event) (i64.const 20050) (i64.const 4)))
        (call $set (i32.const 8) (local.get $args)) (call $set (i32.const 16) (i64.const 0))
        (call $value_index (i32.const 16384))
        ;; What `stat` told of a file that is not there: an error, whose code is a text.
        (if (i64.ne (i64.load (i32.const 16408)) (i64.const 0x7ff8000000000002)) (then
            (call $set (i32.const 8) (call $get (i64.load (i32.const 16408)) (i64.const 20091) (i64.const 4)))
            (call $prepare (i32.const 16384))
            (call $leave (i32.wrap_i64 (i64.load (i32.const 16408))))))
        (call $set (i32.const 8) (i64.const 31000)) (call $set (i32.const 16) (i64.const 16))
        (call $set (i32.const 24) (i64.const 16)) (call $set (i32.const 32) (global.get $bytes))
        (call $copy_to_go (i32.const 16384))
        (if (i32.ne (i32.load8_u (i32.const 16432)) (i32.const 1)) (then unreachable))
        (call $set (i32.const 8) (i64.const 2)) (call $set (i32.const 16) (i64.const 31000))
        (call $set (i32.const 24) (i64.const 4)) (call $write (i32.const 16384))
        (local.set $first (i32.load8_u (i32.const 31000)))
        (if (i32.eq (local.get $first) (i32.const 99)) (then unreachable))
        (if (i32.eq (local.get $first) (i32.const 120)) (then (call $leave (i32.const 3))))
        ;; t: wait for five seconds.
        (if (i32.eq (local.get $first) (i32.const 116)) (then
            (call $set (i32.const 8) (i64.const 5000)) (call $schedule (i32.const 16384))
            (global.set $timer (i32.load (i32.const 16400)))))
        ;; u: what is no function throws, and is caught.
        (if (i32.eq (local.get $first) (i32.const 117)) (then
            (drop (call $call (global.get $fs) (i64.const 20055) (i64.const 6) (i64.const 0)))
            (if (i32.eqz (i32.load8_u (i32.const 16448))) (then (call $leave (i32.const 6))))))
        ;; s: a file that is not there.
        (if (i32.eq (local.get $first) (i32.const 115)) (then
            (call $set (i32.const 8) (i64.const 20080)) (call $set (i32.const 16) (i64.const 5))
            (call $string_val (i32.const 16384))
            (call $arg (i32.const 0) (i64.load (i32.const 16408))) (call $arg (i32.const 1) (global.get $callback))
            (drop (call $call (global.get $fs) (i64.const 20086) (i64.const 4) (i64.const 2)))))
        ;; l: for ever.
        (if (i32.eq (local.get $first) (i32.const 108)) (then (call $read)))))"#;

fn target(args: &[&str], crash_on_exit: bool) -> Result<Arc<Target>> {
    let module = wat::parse_str(PROGRAM)?;
    let module = completed(&module, "")?.context("it is started")?;
    assert_eq!(completed(&module, "")?, None, "it is a command already");
    let args = args.iter().map(|arg| (*arg).to_owned()).collect();
    Ok(Arc::new(Target::load(&module, Settings { args, crash_on_exit, ..settings() })?))
}

#[test]
fn programs_of_go_read_their_input_and_end_as_under_node() -> Result<()> {
    let target = target(&["-"], false)?;
    assert!(target.candidate.described().ends_with("for the host of Go (js/wasm)"), "{}", target.candidate.described());
    let mut executor = Executor::new(&target)?;
    for _ in 0..2 {
        for (input, code) in [("x", 3), ("time", 5), ("uuu", 6), ("stat", 6), ("a", 2), ("", 2)] {
            assert_eq!(executor.run(input.as_bytes())?, Outcome::Ok, "{input}");
            assert_eq!(executor.observation().exit_code(), Some(code), "{input}");
            let written = [input.as_bytes(), &[0; 4]].concat();
            assert_eq!(executor.observation().stderr(), &written[..4], "{input}");
        }
        assert_eq!(executor.run(b"crash")?.failure().context("it fails")?.1.kind.name(), "unreachable");
        assert_eq!(executor.run(b"loop")?.failure().context("it ends")?.1.kind.name(), "out-of-fuel");
    }
    Ok(())
}

#[test]
fn a_panic_of_go_is_a_crash_where_exit_codes_are() -> Result<()> {
    let mut executor = Executor::new(&target(&["-"], true)?)?;
    assert_eq!(executor.run(b"x")?.failure().context("it fails")?.1.kind.name(), "exit");
    Ok(())
}

#[test]
fn inspect_names_the_host_of_go_and_what_it_has_not() -> Result<()> {
    let more = PROGRAM.replace(r#"(memory (export"#, r#"(memory $m (export"#);
    let more = more.replacen("(module", r#"(module (import "gojs" "own.function" (func (param i32)))"#, 1);
    let module = completed(&wat::parse_str(more)?, "")?.context("it is started")?;
    let summary = Summary::of(&module, &Settings::default(), "")?;
    assert_eq!(summary.kind.as_deref(), Some("Go (js/wasm)"));
    assert_eq!(summary.obstacles, Vec::<String>::new());
    let host = "Go (js/wasm); a call ends the execution as rejected of gojs.own.function";
    assert_eq!(summary.personalities, [host]);
    Ok(())
}
