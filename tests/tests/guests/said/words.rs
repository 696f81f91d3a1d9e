//! What is kept of what guests say, whatever they say: as much as there may be, and the same on any instance.

use fuzzbox::outcome::{FailureKind, Outcome, TrapKind};
use fuzzbox::said::{Message, Said};
use fuzzbox::sandbox::{Executor, Target};
use fuzzbox::settings::{Settings, Stub};
use fuzzbox_tests::show;
use std::sync::Arc;

fn target(wat: &str, stub_imports: Option<Stub>) -> Arc<Target> {
    let settings = Settings { input_bytes_max: 64, stub_imports, ..Settings::default() };
    Arc::new(Target::load(wat.as_bytes(), settings).unwrap())
}

fn said(executor: &mut Executor, input: &[u8]) -> (Outcome, Said) {
    let outcome = executor.run(input).unwrap();
    let said = executor.said(&outcome).unwrap();
    (outcome, said)
}

/// Writes its input as often as its first number says, to standard error, and fails.
const LOUD: &str = r#"(module
    (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 1)
    (func (export "LLVMFuzzerTestOneInput") (param $data i32) (param $size i32) (result i32)
        (local $left i32)
        (if (i32.lt_u (local.get $size) (i32.const 4)) (then (return (i32.const 0))))
        (i32.store (i32.const 2048) (local.get $data))
        (i32.store (i32.const 2052) (local.get $size))
        (local.set $left (i32.load (local.get $data)))
        (loop $again
            (if (local.get $left) (then
                (drop (call $write (i32.const 2) (i32.const 2048) (i32.const 1) (i32.const 2056)))
                (local.set $left (i32.sub (local.get $left) (i32.const 1)))
                (br $again))))
        unreachable))"#;

#[test]
fn the_end_of_what_is_written_is_kept_however_much_it_is() {
    let target = target(LOUD, None);
    let mut kept = Executor::new(&target).unwrap();
    for times in [1_u32, 70_000, 0, 63, 64, 65, 200_000, 1] {
        let input: Vec<u8> = times.to_le_bytes().into_iter().chain(b'a'..=b'z').cycle().take(60).collect();
        let (outcome, heard) = said(&mut kept, &input);
        assert!(
            matches!(outcome.failure(), Some((FailureKind::Crash, trap)) if trap.kind == TrapKind::Unreachable),
            "{outcome:?}"
        );
        let whole = input.repeat(times as usize);
        assert_eq!(heard.stderr.bytes, &whole[whole.len().saturating_sub(4096)..], "{times}");
        assert_eq!(heard.stderr.cut, whole.len() > 4096, "{times}");
        let mut fresh = Executor::new(&target).unwrap();
        assert_eq!((outcome, heard), said(&mut fresh, &input), "{times}");
    }
}

/// Its input is what the host's `abort` is given: two pointers, line, column. At 1032 there is a string.
const ABORTS: &str = r#"(module
    (import "env" "abort" (func $abort (param i32 i32 i32 i32)))
    (memory (export "memory") 1)
    (data (i32.const 1028) "\06\00\00\00n\00\f6\00!\00")
    (func (export "LLVMFuzzerTestOneInput") (param $data i32) (param $size i32) (result i32)
        (if (i32.lt_u (local.get $size) (i32.const 16)) (then (return (i32.const 0))))
        (call $abort (i32.load (local.get $data)) (i32.load offset=4 (local.get $data))
            (i32.load offset=8 (local.get $data)) (i32.load offset=12 (local.get $data)))
        (i32.const 0)))"#;

#[test]
fn env_abort_is_provided_and_its_strings_are_read_wherever_they_point() {
    let words = |numbers: [u32; 4]| numbers.map(u32::to_le_bytes).concat();
    let message = |text: &str, file: Option<&str>, line, column| Message {
        text: text.into(),
        file: file.map(str::to_owned),
        line,
        column,
    };
    let cases = [
        ([1032, 1032, 7, 9], Some(message("nö!", Some("nö!"), Some(7), Some(9)))),
        ([1032, 0, 0, 0], Some(message("nö!", None, None, None))),
        ([0, 1032, 1, 0], Some(message("", Some("nö!"), Some(1), None))),
        ([0, 0, 0, 0], None),
        ([u32::MAX, 3, 0, 0], None),
        ([65_535, 65_536, 0, 0], None),
    ];
    for (stub, kind) in [(None, TrapKind::Abort), (Some(Stub::Trap), TrapKind::StubbedImport)] {
        let target = target(ABORTS, stub);
        let mut executor = Executor::new(&target).unwrap();
        for (numbers, expected) in &cases {
            let (outcome, heard) = said(&mut executor, &words(*numbers));
            assert_eq!(outcome.trap().map(|trap| trap.kind), Some(kind), "{numbers:?}");
            assert_eq!(heard.message, *expected, "{numbers:?}");
            let (outcome, heard) = said(&mut executor, b"");
            assert_eq!((outcome, heard), (Outcome::Ok, Said::default()), "nothing of it stays");
        }
    }
}

#[test]
fn env_abort_of_another_type_is_missing() {
    let other = ABORTS
        .replace("(param i32 i32 i32 i32)", "(param i32 i32 i32 i64)")
        .replace("(i32.load offset=12 (local.get $data))", "(i64.const 0)");
    let error = Target::load(other.as_bytes(), Settings::default()).unwrap_err();
    assert!(format!("{error:#}").contains("nobody provides the imports env.abort"), "{error:#}");
}

/// Its input is what a function is given that has the name of the one by which Rust panics; and `core::fmt::write` is one that
/// writes some of memory to the writer it is given, by its table of functions, and then does what the first argument says.
const PANICS: &str = r#"(module
    (type $write_str (func (param i32 i32 i32) (result i32)))
    (type $write_char (func (param i32 i32) (result i32)))
    (memory (export "memory") 1)
    (table 3 3 funcref)
    (elem (i32.const 1) $drops $drops)
    (data (i32.const 1024) "src/lib.rs\00words of a panic")
    (data (i32.const 2048) "\00\04\00\00\0a\00\00\00\07\00\00\00\09\00\00\00")
    (func $drops (param i32))
    (func $"core::fmt::write" (param $self i32) (param $functions i32) (param $template i32) (param $arguments i32) (result i32)
        (drop (call_indirect (type $write_str) (local.get $self) (i32.const 1035) (i32.const 5) (i32.load offset=12 (local.get $functions))))
        (drop (call_indirect (type $write_char) (local.get $self) (i32.const 0x1f600) (i32.load offset=16 (local.get $functions))))
        (if (i32.eq (local.get $template) (i32.const 1)) (then unreachable))
        (if (i32.eq (local.get $template) (i32.const 2)) (then (loop $ever (br $ever))))
        (loop $much
            (br_if $much (i32.and (i32.eq (local.get $template) (i32.const 3))
                (i32.eqz (call_indirect (type $write_str) (local.get $self) (i32.const 1035) (i32.const 5) (i32.load offset=12 (local.get $functions)))))))
        (drop (memory.grow (i32.const 1)))
        (i32.store (i32.const 4096) (i32.const -1))
        (i32.const 0))
    (func $"core::panicking::panic_fmt" (param i32 i32 i32) unreachable)
    (func (export "LLVMFuzzerTestOneInput") (param $data i32) (param $size i32) (result i32)
        (if (i32.load (i32.const 4096)) (then (return (i32.const 0))))
        (if (i32.lt_u (local.get $size) (i32.const 12)) (then (return (i32.const 0))))
        (call $"core::panicking::panic_fmt" (i32.load (local.get $data)) (i32.load offset=4 (local.get $data))
            (i32.load offset=8 (local.get $data)))
        (i32.const 0)))"#;

#[test]
fn panics_are_formatted_by_the_guest_and_leave_no_trace() {
    let words = |numbers: [u32; 3]| numbers.map(u32::to_le_bytes).concat();
    let at =
        |text: &str| Message { text: text.into(), file: Some("src/lib.rs".into()), line: Some(7), column: Some(9) };
    let cases = [
        ([0, 0, 2048], Some(at("words😀words"))),
        ([1, 0, 2048], Some(at("words😀"))),
        ([2, 0, 2048], Some(at("words😀"))),
        ([0, 0, 0], Some(Message { text: "words😀words".into(), ..Message::default() })),
        ([0, 0, 65_530], Some(Message { text: "words😀words".into(), ..Message::default() })),
    ];
    let target = target(PANICS, None);
    let mut executor = Executor::new(&target).unwrap();
    for (numbers, expected) in &cases {
        let input = words(*numbers);
        let (outcome, heard) = said(&mut executor, &input);
        assert_eq!(heard.message, *expected, "{numbers:?}");
        let mut fresh = Executor::new(&target).unwrap();
        assert_eq!(outcome, fresh.run(&input).unwrap());
        // What formatting did to memory and tables is gone.
        for input in [&input[..], b"", &words([5, 5, 5])] {
            let mut fresh = Executor::new(&target).unwrap();
            assert_eq!(show(&mut executor, input), show(&mut fresh, input), "{numbers:?}");
        }
    }
    let (_, heard) = said(&mut executor, &words([3, 0, 2048]));
    let text = heard.message.unwrap().text;
    assert!(text.len() <= 4096 && text.starts_with("words😀wordswords"), "{}", text.len());
}

#[test]
fn without_the_code_that_formats_the_literals_of_a_panic_are_told() {
    let other = PANICS.replace("core::fmt::write", "writes");
    let target = target(&other, None);
    let mut executor = Executor::new(&target).unwrap();
    let literal = [1035, 16 << 1 | 1, 2048].map(u32::to_le_bytes).concat();
    assert_eq!(said(&mut executor, &literal).1.message.unwrap().text, "words of a panic");
    let nothing = [u32::MAX, 0x7fff_ffff, 2048].map(u32::to_le_bytes).concat();
    let message = said(&mut executor, &nothing).1.message.unwrap();
    assert_eq!((&*message.text, message.line), ("", Some(7)));
}

#[test]
fn a_panic_of_zig_is_a_text_whatever_stands_before_it() {
    let wat = |types: &str, before: &str| {
        format!(
            r#"(module (memory (export "memory") 1) (data (i32.const 1024) "words")
                (func $"debug.defaultPanic" (param {types} i32 i32 i32) unreachable)
                (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32)
                    (call $"debug.defaultPanic" {before} (i32.const 1024) (i32.const 5) (i32.const 1))
                    (i32.const 0)))"#
        )
    };
    for (types, before) in [("", ""), ("i32", "(i32.const 1048560)")] {
        let target = target(&wat(types, before), None);
        let heard = said(&mut Executor::new(&target).unwrap(), b"").1;
        assert_eq!(heard.message, Some(Message { text: "words".into(), ..Message::default() }), "{types}");
    }
}
