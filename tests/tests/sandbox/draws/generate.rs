//! Random guests that draw.

use fuzzbox::stream::{Choice, Closing, Rule, Tail, encode};
use rand_core::Rng;
use std::fmt::Write as _;

/// Statements of a function.
const STATEMENTS: u64 = 6;

/// Makes the text of a module whose property `fbx_any` calls some functions; they draw, keep a hash of what they drew in memory at
/// address 0, call each other, loop, and tell.
pub(super) fn guest(rng: &mut impl Rng) -> String {
    let functions = 1 + rng.next_u64() % 4;
    let mut body = String::from(
        r#"(data (i32.const 64) "\01\00\00\00\00\00\00\00\05\00\00\00\ff\ff\ff\ff")
        (data (i32.const 128) "a\00\00\00f\00\00\00\00\d0\00\00\00\f0\00\00\01\f6\01\00\02\f6\01\00\e9\00\00\00\e9\00\00\00")
        (data (i32.const 256) "label and more \ff")
        (func $mix (param i64)
            (i64.store (i32.const 0)
                (i64.rotl
                    (i64.mul
                        (i64.xor (i64.load (i32.const 0)) (local.get 0))
                        (i64.const 0x9e3779b97f4a7c15))
                    (i64.const 29))))
        (func (export "fbx_any")
            (call $f0 (i32.const 0))
            (call $keyframe (i32.const 77) (i64.load (i32.const 0))))"#,
    );
    for function in 0..functions {
        let _ = write!(body, "(func $f{function} (param $depth i32) (local $i i32) (local $len i32)");
        body.push_str("(if (i32.ge_u (local.get $depth) (i32.const 5)) (then return))");
        statements(&mut body, rng, functions, 0);
        body.push(')');
    }
    super::module(&body)
}

fn statements(out: &mut String, rng: &mut impl Rng, functions: u64, nesting: u32) {
    for _ in 0..1 + rng.next_u64() % STATEMENTS {
        statement(out, rng, functions, nesting);
    }
}

fn statement(out: &mut String, rng: &mut impl Rng, functions: u64, nesting: u32) {
    let _ = match rng.next_u64() % 20 {
        0..=6 => {
            let draw = draw(rng);
            write!(out, "(call $mix {draw})")
        }
        7 => blob(out, rng),
        8 => string(out, rng),
        9 | 10 if nesting < 2 => {
            let (label, flags) = (rng.next_u32() % 3, rng.next_u32() % 2);
            let _ = write!(out, "(call $span_begin (i32.const {label}))");
            statements(out, rng, functions, nesting + 1);
            write!(out, "(call $span_end (i32.const {flags}))")
        }
        11 | 12 if nesting < 2 => {
            let (min, span, average) = (rng.next_u32() % 3, rng.next_u32() % 4, rng.next_u32() % 900);
            let _ = write!(
                out,
                "(block $done (loop $again (br_if $done (i32.eqz \
                 (call $draw_more (i32.const {min}) (i32.const {}) (i32.const {average}))))",
                min + span
            );
            statements(out, rng, functions, nesting + 1);
            write!(out, "(br $again)))")
        }
        13 if nesting < 2 => {
            let _ = write!(out, "(if (call $draw_bool (i32.const {})) (then", rng.next_u32().cast_signed());
            statements(out, rng, functions, nesting + 1);
            let _ = write!(out, ") (else");
            statements(out, rng, functions, nesting + 1);
            write!(out, "))")
        }
        14 => {
            let function = rng.next_u64() % functions;
            write!(out, "(call $f{function} (i32.add (local.get $depth) (i32.const 1)))")
        }
        15 => tell(out, rng),
        16 => {
            let odds = rng.next_u64() % 40;
            write!(
                out,
                "(call $assume (i64.ne (i64.rem_u (i64.load (i32.const 0)) (i64.const 41)) (i64.const {odds})))"
            )
        }
        17 => write!(out, "(call $mix (i64.extend_i32_u (call $remaining)))"),
        18 => {
            let end = ["reject", "fail"][rng.next_u32() as usize % 2];
            let len = rng.next_u32() % 18;
            write!(
                out,
                "(if (i64.eqz (i64.rem_u (i64.load (i32.const 0)) (i64.const 11))) \
                 (then (call ${end} (i32.const 256) (i32.const {len}))))"
            )
        }
        _ => write!(out, "(call $span_end (i32.const 0))"),
    };
}

/// A draw of an index, as an i64.
fn draw(rng: &mut impl Rng) -> String {
    let mut number =
        || (rng.next_u64() >> (rng.next_u64() % 64)).cast_signed().wrapping_mul([1, -1][rng.next_u32() as usize % 2]);
    let (a, b, c) = (number(), number(), number());
    match rng.next_u64() % 8 {
        // One in many has its bounds in the wrong order.
        0 if rng.next_u32().is_multiple_of(30) => {
            format!("(call $draw_int (i64.const {a}) (i64.const {b}) (i64.const {c}))")
        }
        0 => format!("(call $draw_int (i64.const {}) (i64.const {}) (i64.const {c}))", a.min(b), a.max(b)),
        1 => {
            let (a, b) = (a.cast_unsigned(), b.cast_unsigned());
            format!("(call $draw_uint (i64.const {}) (i64.const {}) (i64.const {c}))", a.min(b), a.max(b))
        }
        2 => {
            let p = [0, u32::MAX, rng.next_u32(), rng.next_u32()][rng.next_u32() as usize % 4].cast_signed();
            format!("(i64.extend_i32_u (call $draw_bool (i32.const {p})))")
        }
        3 => {
            let n = 1 + rng.next_u32() % [3, 300, 100_000][rng.next_u32() as usize % 3];
            format!("(i64.extend_i32_u (call $draw_choice (i32.const {n}) (i32.const 0)))")
        }
        4 => {
            let n = rng.next_u32() % 5 + u32::from(!rng.next_u32().is_multiple_of(30));
            format!("(i64.extend_i32_u (call $draw_choice (i32.const {n}) (i32.const 64)))")
        }
        5 => format!(
            "(call $draw_payload (i32.const {}))",
            rng.next_u32() % 64 + u32::from(!rng.next_u32().is_multiple_of(30))
        ),
        _ => {
            let (lo, hi, flags) = (float(rng), float(rng), rng.next_u32() % 16);
            let (lo, hi) = if lo <= hi || rng.next_u32().is_multiple_of(30) { (lo, hi) } else { (hi, lo) };
            format!(
                "(i64.reinterpret_f64 (call $draw_f64 (f64.reinterpret_i64 (i64.const {})) \
                 (f64.reinterpret_i64 (i64.const {})) (i32.const {flags})))",
                lo.to_bits(),
                hi.to_bits()
            )
        }
    }
}

fn float(rng: &mut impl Rng) -> f64 {
    match rng.next_u32() % 9 {
        0 => f64::INFINITY,
        1 => f64::NEG_INFINITY,
        2 => 0.0,
        3 => -0.0,
        4 => f64::from(rng.next_u32() % 100),
        5 => -f64::from(rng.next_u32() % 100),
        6 => f64::from_bits(rng.next_u64() >> 12),
        _ => Some(f64::from_bits(rng.next_u64())).filter(|any| !any.is_nan()).unwrap_or(1.5),
    }
}

fn blob(out: &mut String, rng: &mut impl Rng) -> std::fmt::Result {
    let min = rng.next_u32() % [4, 300][rng.next_u32() as usize % 2];
    let most = min + rng.next_u32() % [3, 40, 600][rng.next_u32() as usize % 3];
    // Near the end of memory, so that long ones do not fit.
    let to = [512, 65_536 - rng.next_u32() % 900][usize::from(rng.next_u32().is_multiple_of(8))];
    write!(
        out,
        "(local.set $len (call $draw_bytes (i32.const {to}) (i32.const {min}) (i32.const {most}))) {}",
        mixed(to)
    )
}

fn string(out: &mut String, rng: &mut impl Rng) -> std::fmt::Result {
    let (min, span) = (rng.next_u32() % 5, rng.next_u32() % 20);
    let room = rng.next_u32() % [9, 100][rng.next_u32() as usize % 2];
    let (alphabet, ranges) = [(0, 0), (128, 1), (128, 2), (128, 4), (128, 5)][rng.next_u32() as usize % 5];
    let to = [512, 65_536 - rng.next_u32() % 60][usize::from(rng.next_u32().is_multiple_of(8))];
    write!(
        out,
        "(local.set $len (call $draw_str (i32.const {to}) (i32.const {room}) (i32.const {min}) (i32.const {}) \
         (i32.const {alphabet}) (i32.const {ranges}))) {}",
        min + span,
        mixed(to)
    )
}

/// Mixes what was written at an address.
fn mixed(to: u32) -> String {
    format!(
        "(call $mix (i64.extend_i32_u (local.get $len)))
        (local.set $i (i32.const 0))
        (block $read (loop $next
            (br_if $read (i32.ge_u (local.get $i) (local.get $len)))
            (call $mix (i64.load8_u (i32.add (i32.const {to}) (local.get $i))))
            (local.set $i (i32.add (local.get $i) (i32.const 1)))
            (br $next)))"
    )
}

fn tell(out: &mut String, rng: &mut impl Rng) -> std::fmt::Result {
    let (at, len) = (250 + rng.next_u32() % 10, rng.next_u32() % [20, 3000, 66_000][rng.next_u32() as usize % 3]);
    let text = format!("(i32.const {at}) (i32.const {len})");
    let mixed = "(i64.load (i32.const 0))";
    match rng.next_u32() % 7 {
        0 => write!(out, "(call $event {text} {mixed})"),
        1 => write!(out, "(call $target {text} (f64.convert_i64_s {mixed}))"),
        2 => write!(out, "(call $keyframe (i32.const {len}) {mixed})"),
        3 => write!(out, "(call $name (i32.const 3) (i32.const {len}) {text})"),
        4 => write!(out, "(call $note {text})"),
        5 => write!(out, "(call $value {mixed} (i32.const 9) {text})"),
        _ => write!(out, "(call $mix (i64.extend_i32_u (call $feature {text})))"),
    }
}

/// What the call sites of a random guest close with; more of them than there are, or fewer.
pub(super) fn closing(rng: &mut impl Rng) -> Closing {
    let mut closing = Closing::default();
    for site in 1..1 + rng.next_u32() % 60 {
        // Most draws of few values have two or three.
        assert!(closing.set(site, u64::from(rng.next_u32() % [2, 4, 16][rng.next_u32() as usize % 3])));
    }
    closing
}

/// A random stream and how it is read.
pub(super) fn stream(rng: &mut impl Rng) -> (Vec<u8>, Rule) {
    let tail = match rng.next_u32() % 4 {
        0 => Tail::Zero,
        1 => Tail::Stop,
        _ => Tail::Random { seed: rng.next_u64(), choices: rng.next_u32() % 3000 },
    };
    let (wrap, close) = (rng.next_u32().is_multiple_of(2), rng.next_u32().is_multiple_of(2));
    let rule = Rule { tail, wrap, close };
    let len = rng.next_u64() % 40;
    if rng.next_u32().is_multiple_of(2) {
        return ((0..len).map(|_| rng.next_u32() as u8).collect(), rule);
    }
    let choices: Vec<_> = (0..len)
        .map(|_| match rng.next_u32() % 4 {
            0 => Choice::Blob(
                (0..rng.next_u32() % 12).map(|_| (rng.next_u32() >> (rng.next_u32() % 32)) as u8).collect(),
            ),
            _ => Choice::Index(rng.next_u64() >> (rng.next_u64() % 64)),
        })
        .collect();
    (encode(&choices), rule)
}
