//! Call recipes: their function gets what the input says, is restored, and ends as its text does.

use crate::entry::{executor, load, settings};
use fuzzbox::outcome::{FailureKind, Outcome};
use fuzzbox::sandbox::{Executor, Target, Variant};
use fuzzbox::settings::Settings;
use fuzzbox_tests::show;
use std::sync::Arc;

/// An allocator that never gives the same block twice, and `show(p, n)`, which writes memory to standard output.
const LIBRARY: &str = r#"
    (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 1)
    (global $next (mut i32) (i32.const 2048))
    (func (export "malloc") (param $n i32) (result i32)
        (global.get $next)
        (global.set $next (i32.add (global.get $next) (i32.add (local.get $n) (i32.const 8)))))
    (func (export "show") (param $p i32) (param $n i32) (result i32)
        (i32.store (i32.const 1024) (local.get $p))
        (i32.store (i32.const 1028) (local.get $n))
        (drop (call $fd_write (i32.const 1) (i32.const 1024) (i32.const 1) (i32.const 1032)))
        (local.get $n))
    (func (export "twice") (param i64) (result i32 i64)
        (i32.const 7) (i64.mul (local.get 0) (i64.const 2)))"#;

fn called(call: &str) -> Settings {
    Settings { call: Some(call.to_owned()), ..settings() }
}

/// What is shown of inputs, one after the other on one instance, and how they end.
#[track_caller]
fn shown<const N: usize>(call: &str, inputs: [&[u8]; N]) -> [(Outcome, Vec<u8>); N] {
    let mut executor = executor(LIBRARY, called(call));
    inputs.map(|input| {
        let shown = show(&mut executor, input);
        (shown.outcome, shown.stdout)
    })
}

#[test]
fn the_input_is_copied_to_where_the_recipe_says() {
    let call = "p = malloc(len + 1); write(p, input); write8(p + len, 33); show(p, len + 1); write32(p, p); show(p, 4)";
    let first = 2048_u32.to_le_bytes();
    let [empty, short, again] = shown(call, [b"", b"abc", b"abc"]);
    assert_eq!(empty, (Outcome::Ok, [&b"!"[..], &first].concat()));
    // The block is the same each time: the module's state is restored.
    assert_eq!(short, (Outcome::Ok, [&b"abc!"[..], &first].concat()));
    assert_eq!(short, again);
}

#[test]
fn text_is_valid_whatever_the_input_is() {
    let [latin, utf8] = shown("show(string, len)", [b"a\xff", "größe".as_bytes()]);
    assert_eq!(latin.1, "aÿ".as_bytes());
    assert_eq!(utf8.1, "größe".as_bytes());
    let [wide] = shown("show(utf16, len)", ["a𝄞".as_bytes()]);
    assert_eq!(wide.1, [0x61, 0, 0x34, 0xd8, 0x1e, 0xdd]);
    // As long as inputs can be, and every byte becomes two.
    let longest = [0xff_u8; 4096];
    let [text] = shown("show(string, len); if read8(string + len - 1) != 191 fail", [&longest]);
    assert_eq!((text.0, text.1.len()), (Outcome::Ok, 8192));
}

#[test]
fn numbers_are_drawn_from_the_first_bytes() {
    let call = "a = draw(i32); b = draw(-3..4); p = malloc(16); write32(p, a); write32(p + 4, b); write64(p + 8, \
                draw(i64)); show(p, 16); show(input, len)";
    let bytes: Vec<u8> = (1..=20).collect();
    let [all, some] = shown(call, [&bytes, &bytes[..6]]);
    let b = (0x0807_0605_u32 % 7) as i32 - 3;
    assert_eq!(all.1, [&bytes[..4], &b.to_le_bytes(), &bytes[8..16], &bytes[16..]].concat());
    let b = (0x0605_u32 % 7) as i32 - 3;
    assert_eq!(some.1, [&bytes[..4], &b.to_le_bytes(), &[0; 8]].concat());
}

#[test]
fn a_recipe_ends_as_it_says() {
    let call = "c = read8(input); n, m = twice(i64(c)); if n != 7 fail; if m == 194 reject; if m == 196 fail\n\
                if c == 99 { show(input, 1); return }\nif m == 200 free_of(c) else show(input, len)";
    let call = call.replace("free_of(c)", "write8(-1, 0)");
    let [a, b, c, d, e] = shown(&call, [b"a", b"b", b"c", b"d", b"ef"]);
    assert_eq!(a.0, Outcome::Rejected);
    let failure = b.0.failure().unwrap();
    assert_eq!((failure.0, failure.1.kind.name()), (FailureKind::Crash, "unreachable"));
    assert_eq!(c, (Outcome::Ok, b"c".to_vec()));
    assert_eq!(d.0.failure().unwrap().1.kind.name(), "memory-out-of-bounds");
    assert_eq!(e, (Outcome::Ok, b"ef".to_vec()));
}

#[test]
fn loops_end_or_are_hangs() {
    let call =
        "n = 0; s = 0; while n < len { s = s + read8(input + n); n = n + 1 }; if s == 300 fail; while s == 98 { }";
    let [sum, other, hang] = shown(call, [b"\x64\x64\x64", b"\x64\x65\x64", b"b"]);
    assert_eq!(sum.0.failure().unwrap().0, FailureKind::Crash);
    assert_eq!(other.0, Outcome::Ok);
    assert_eq!(hang.0.failure().unwrap().0, FailureKind::Hang);
}

#[test]
fn without_the_input_in_memory_it_is_on_standard_input() {
    const READER: &str = r#"
        (import "wasi_snapshot_preview1" "fd_read" (func $fd_read (param i32 i32 i32 i32) (result i32)))
        (memory (export "memory") 1)
        (func (export "main") (result i32)
            (i32.store (i32.const 1024) (i32.const 2048)) (i32.store (i32.const 1028) (i32.const 64))
            (drop (call $fd_read (i32.const 0) (i32.const 1024) (i32.const 1) (i32.const 1032)))
            (if (i32.eq (i32.load8_u (i32.const 2048)) (i32.const 98)) (then unreachable))
            (i32.load (i32.const 1032)))"#;
    let mut executor = executor(READER, called("if main() == 3 reject"));
    assert_eq!(executor.run(b"ab").unwrap(), Outcome::Ok);
    assert_eq!(executor.run(b"abc").unwrap(), Outcome::Rejected);
    assert!(executor.run(b"b").unwrap().failure().is_some());
}

#[test]
fn reading_past_the_input_itself_is_found() {
    let [inside, outside] =
        shown("n = draw(i32); r = read8(input + n); if r > 300 fail", [b"\x01\0\0\0ab", b"\x02\0\0\0ab"]);
    assert_eq!(inside.0, Outcome::Ok);
    assert_eq!(outside.0.failure().unwrap().1.kind.name(), "memory-out-of-bounds");
}

#[test]
fn restored_equals_fresh_in_every_variant() {
    let call = "p = malloc(len); write(p, string); k = draw(0..3); if k == 0 write8(p, 1) else { q = malloc(k) }\n\
                if read32(4096) != 0 fail; write32(4096, p); n = read8(p); if n > 250 fail; if n > 200 reject; show(p, len)";
    let metered = load(LIBRARY, called(call));
    let variants = [Variant::Full, Variant::Traced].map(|variant| Arc::new(metered.in_variant(variant).unwrap()));
    let inputs: Vec<Vec<u8>> = (0..60_u8).map(|n| vec![n, 0, 0, 0, n.wrapping_mul(37), n, 65, 0xc3]).collect();
    let mut kept = Executor::new(&metered).unwrap();
    let mut others: Vec<Executor> = variants.iter().map(|target| Executor::new(target).unwrap()).collect();
    for input in &inputs {
        let seen = show(&mut kept, input);
        let fresh = show(&mut Executor::new(&metered).unwrap(), input);
        assert_eq!((&seen.outcome, &seen.stdout), (&fresh.outcome, &fresh.stdout), "{input:?}");
        for other in &mut others {
            let same = show(other, input);
            assert_eq!(
                (same.outcome.failure().is_some(), &same.stdout),
                (seen.outcome.failure().is_some(), &seen.stdout)
            );
        }
    }
}

#[test]
fn addresses_of_64_bits_are_given_as_they_are() {
    let wide = r#"(memory (export "memory") i64 1)
        (func (export "check") (param $p i64) (param $n i64) (result i32)
            (i32.load8_u (i64.add (local.get $p) (i64.sub (local.get $n) (i64.const 1)))))"#;
    let mut executor = executor(
        wide,
        called("if check(input, len) != 122 fail; write(4096, input); if read8(4095 + len) != 122 fail"),
    );
    assert_eq!(executor.run(b"xyz").unwrap(), Outcome::Ok);
    assert!(executor.run(b"xyx").unwrap().failure().is_some());
}

#[test]
fn what_can_not_be_called_is_refused_with_the_place() {
    let refused = |body: &str, settings: Settings| {
        format!("{:#}", Target::load(format!("(module {body})").as_bytes(), settings).unwrap_err())
    };
    let error = refused(LIBRARY, called("p = malloc(len); shw(p, len)"));
    assert!(error.contains("column 18: the module exports no function `shw`"), "{error}");
    assert!(error.contains("\n                   ^^^\nhelp: did you mean `show`?"), "{error}");
    let both = Settings { entry: Some("show".to_owned()), ..called("show(input, len)") };
    assert!(refused(LIBRARY, both).contains("no --entry beside it"));
    let files = Settings { args: vec!["@@".to_owned()], ..called("show(input, len)") };
    assert!(refused(LIBRARY, files).contains("`@@`"));
    let error = format!("{:#}", Target::load(b"(component)", called("f()")).unwrap_err());
    assert!(error.contains("--call"), "{error}");
    let taken = r#"(memory 1) (func (export "--call"))"#;
    assert!(refused(taken, called("`--call`(); q = len")).contains("of its own"));
}

/// A library that asks for its input in pieces, into a buffer of three bytes, and shows what it was given.
const ASKS: &str = r#"
    (import "env" "more" (func $more (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 1) (global $calls (mut i32) (i32.const 0))
    (func (export "run") (local $at i32) (local $n i32)
        (loop $again
            (local.set $n (call $more (local.get $at) (i32.const 512)))
            (i32.store (i32.const 1024) (i32.const 512))
            (i32.store (i32.const 1028) (local.get $n))
            (drop (call $fd_write (i32.const 1) (i32.const 1024) (i32.const 1) (i32.const 1032)))
            (local.set $at (i32.add (local.get $at) (local.get $n)))
            (br_if $again (local.get $n))))"#;

#[test]
fn a_recipe_gives_a_library_what_it_asks_for() {
    let call = "on more(at, to) { n = len - at; if n > 3 n = 3; copy(to, input + at, n); \
                if read8(to) == 33 write8(-1, 0); if read8(to) == 63 while 1 n = n + 0; return n }; run()";
    let mut executor = executor(ASKS, called(call));
    let mut shown = |input: &[u8]| {
        let shown = show(&mut executor, input);
        (shown.outcome, shown.stdout)
    };
    let whole = shown(b"abcdefgh");
    assert_eq!(whole, (Outcome::Ok, b"abcdefgh".to_vec()));
    assert_eq!(shown(b""), (Outcome::Ok, vec![]));
    // What fails in there fails, what never ends is a hang, and both are restored.
    let (crash, _) = shown(b"abc!");
    assert!(matches!(crash.failure(), Some((FailureKind::Crash, _))), "{crash:?}");
    let (hang, _) = shown(b"abc?");
    assert!(matches!(hang.failure(), Some((FailureKind::Hang, _))), "{hang:?}");
    assert_eq!(shown(b"abcdefgh"), whole);
    // Nobody else provides it.
    let error = Target::load(format!("(module {ASKS})").as_bytes(), called("run()")).unwrap_err();
    assert!(format!("{error:#}").contains("nobody provides the imports env.more"), "{error:#}");
}
