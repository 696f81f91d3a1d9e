//! Each operator on floats, by what it takes, and by each way in which the bits of what it gives can be seen.

use super::{Engines, compare, variants};
use wasmtime::{FuncType, Val, ValType};

/// Bits of NaNs of both signs, quiet and signalling, with payloads and without, and of what makes NaNs and what doesn't.
const F64: [u64; 12] = [
    0x7ff8_0000_0000_0000,
    0xfff8_0000_0000_0000,
    0x7ff0_0000_0000_0001,
    0xfff4_0000_dead_beef,
    0x7ffc_0123_4567_89ab,
    0xffff_ffff_ffff_ffff,
    0x7ff0_0000_0000_0000,
    0xfff0_0000_0000_0000,
    0x0000_0000_0000_0000,
    0x8000_0000_0000_0000,
    0x3ff8_0000_0000_0000,
    0xc008_0000_0000_0000,
];
const F32: [u32; 12] = [
    0x7fc0_0000,
    0xffc0_0000,
    0x7f80_0001,
    0xffa0_beef,
    0x7fe1_2345,
    0xffff_ffff,
    0x7f80_0000,
    0xff80_0000,
    0,
    0x8000_0000,
    0x3fc0_0000,
    0xc040_0000,
];

/// A value of a type, NaNs more often than not where there are such.
pub(crate) fn value(ty: &ValType, number: u64) -> Val {
    let choice = (number >> 32) as usize;
    match ty {
        ValType::I32 => Val::I32(number as i32 % 8),
        ValType::I64 => Val::I64(number as i64),
        ValType::F32 => Val::F32(F32[choice % 12]),
        ValType::F64 => Val::F64(F64[choice % 12]),
        _ => Val::V128((u128::from(F64[choice % 12]) << 64 | u128::from(F32[choice % 7]) << 32 | 0x7fa0_0001).into()),
    }
}

/// Each pair of values.
fn pairs(ty: &FuncType) -> Vec<Vec<Val>> {
    let all = |ty: &ValType| -> Vec<Val> {
        match ty {
            ValType::F32 => F32.map(Val::F32).into(),
            ValType::F64 => F64.map(Val::F64).into(),
            _ => (0..12)
                .map(|at| {
                    let narrow = [F32[at], F32[(at + 5) % 12]].map(u128::from);
                    Val::V128((u128::from(F64[at]) << 64 | narrow[0] << 32 | narrow[1]).into())
                })
                .collect(),
        }
    };
    let types: Vec<_> = ty.params().collect();
    let [first, second] = &types[..] else { panic!("functions take two operands") };
    let pair = |one: &Val| all(second).into_iter().map(move |other| vec![*one, other]).collect::<Vec<_>>();
    all(first).iter().flat_map(pair).collect()
}

/// Functions that apply `operator`, which takes `takes` and gives `gives`, and show what it gives.
fn module(operator: &str, takes: &str, gives: &str, operands: usize) -> String {
    let apply = match operands {
        1 => format!("local.get 0 {operator}"),
        2 => format!("local.get 0 local.get 1 {operator}"),
        _ => format!("local.get 0 local.get 1 local.get 0 {operator}"),
    };
    let other = if takes == gives { "local.get 1".to_owned() } else { format!("{gives}.const {}", zero(gives)) };
    let mut ways = vec![
        ("return", apply.clone()),
        ("stored", format!("i32.const 8 {apply} {gives}.store i32.const 8 {gives}.load")),
        ("global", format!("{apply} global.set $g global.get $g")),
        ("passed", format!("{apply} call $same")),
        ("by reference", format!("{apply} i32.const 0 call_indirect (type $same)")),
        ("local", format!("{apply} local.set $x local.get $x")),
        ("tee", format!("i32.const 8 {apply} local.tee $x {gives}.store local.get $x")),
        ("selected", format!("{other} {apply} i32.const 0 select")),
        ("block", format!("block (result {gives}) {other} i32.const 0 br_if 0 drop {apply} end")),
        ("if", format!("i32.const 1 if (result {gives}) {apply} else {other} end")),
        (
            "loop",
            format!(
                "{other} local.set $x loop i32.const 8 local.get $x {gives}.store {apply} local.set $x \
                 local.get $n i32.const 1 i32.add local.tee $n i32.const 3 i32.lt_u br_if 0 end local.get $x"
            ),
        ),
        ("two", format!("block (result {gives} i32) {apply} i32.const 1 i32.const 1 br_if 0 end drop")),
        ("thrown", format!("block (result {gives}) try_table (catch $e 0) {apply} throw $e end unreachable end")),
        ("caught", format!("block try_table (catch_all 0) {apply} local.set $x throw $none end end local.get $x")),
        ("tail", format!("{apply} return_call $same")),
        ("object", format!("{apply} struct.new $s struct.get $s 0")),
    ];
    if gives == "v128" {
        let lanes = "f32x4.extract_lane 1 f64.promote_f32 f64x2.splat";
        ways.extend([
            ("negated", format!("{apply} f64x2.neg")),
            ("added as others", format!("{apply} {apply} f32x4.add {apply} f64x2.mul")),
            ("bits", format!("{apply} v128.const i64x2 1 2 v128.xor")),
            ("lanes", format!("{apply} {lanes} {apply} f64x2.extract_lane 1 f64x2.replace_lane 0")),
            ("less", format!("{apply} {other} f32x4.pmin {apply} f64x2.pmax")),
            ("shuffled", format!("{apply} i8x16.extract_lane_u 7 i8x16.splat {apply} i8x16.swizzle")),
        ]);
    } else {
        let int = if gives == "f32" { "i32" } else { "i64" };
        ways.extend([
            (
                "reinterpreted",
                format!("i32.const 8 {apply} {int}.reinterpret_{gives} {int}.store i32.const 8 {gives}.load"),
            ),
            ("negated", format!("{apply} {gives}.neg")),
            ("negated twice", format!("{apply} {gives}.neg {gives}.neg")),
            ("absolute", format!("{apply} {gives}.abs")),
            ("absolute of negated", format!("{apply} {gives}.neg {gives}.abs {gives}.neg")),
            ("sign", format!("{gives}.const 1 {apply} {gives}.copysign")),
            ("of sign", format!("{apply} {gives}.const -1 {gives}.copysign")),
            ("negated, added", format!("{apply} {gives}.neg {apply} {gives}.sub")),
            (
                "splat",
                format!("{apply} {gives}x{0}.splat {gives}x{0}.extract_lane 0", if gives == "f32" { 4 } else { 2 }),
            ),
        ]);
    }
    let functions: String = ways
        .iter()
        .map(|(name, code)| {
            format!("(func (export \"{operator} {name}\") (param {takes} {takes}) (result {gives}) (local $x {gives}) (local $n i32) {code})\n")
        })
        .collect();
    format!(
        "(module (memory (export \"memory\") 1) (global $g (export \"g\") (mut {gives}) ({gives}.const {zero}))
         (type $same (func (param {gives}) (result {gives}))) (type $s (struct (field {gives})))
         (tag $e (param {gives})) (tag $none) (table funcref (elem $same))
         (func $same (type $same) i32.const 64 local.get 0 {gives}.store local.get 0)
         {functions})",
        zero = zero(gives)
    )
}

fn zero(ty: &str) -> &'static str {
    if ty == "v128" { "i64x2 0 0" } else { "0" }
}

/// Operators with floats as results: name, what it takes, what it gives, how many.
fn operators() -> Vec<(String, &'static str, &'static str, usize)> {
    let mut all = Vec::new();
    for (prefix, ty) in [("f32", "f32"), ("f64", "f64"), ("f32x4", "v128"), ("f64x2", "v128")] {
        for operator in ["abs", "neg", "ceil", "floor", "trunc", "nearest", "sqrt"] {
            all.push((format!("{prefix}.{operator}"), ty, ty, 1));
        }
        for operator in ["add", "sub", "mul", "div", "min", "max"] {
            all.push((format!("{prefix}.{operator}"), ty, ty, 2));
        }
        match ty {
            "v128" => {
                let two = ["pmin", "pmax", "relaxed_min", "relaxed_max"];
                all.extend(two.map(|operator| (format!("{prefix}.{operator}"), ty, ty, 2)));
                let three = ["relaxed_madd", "relaxed_nmadd"];
                all.extend(three.map(|operator| (format!("{prefix}.{operator}"), ty, ty, 3)));
            }
            _ => all.push((format!("{prefix}.copysign"), ty, ty, 2)),
        }
    }
    all.push(("f32.demote_f64".to_owned(), "f64", "f32", 1));
    all.push(("f64.promote_f32".to_owned(), "f32", "f64", 1));
    all.push(("f32x4.demote_f64x2_zero".to_owned(), "v128", "v128", 1));
    all.push(("f64x2.promote_low_f32x4".to_owned(), "v128", "v128", 1));
    all
}

#[test]
fn each_operator_gives_canonical_nans_however_they_are_seen() {
    let engines = Engines::new();
    let variants = variants();
    for (number, (operator, takes, gives, operands)) in operators().into_iter().enumerate() {
        let wasm = wat::parse_str(module(&operator, takes, gives, operands)).unwrap();
        let variants = [&variants[number % 2], &variants[2 + number % 2]].map(Clone::clone);
        let seen = compare(&engines, &wasm, &variants, &|| Box::new(pairs), &operator);
        assert!(seen.log.len() > 20 * 144, "{operator}: {}", seen.log.len());
        let bits = matches!(operator.split_once('.'), Some((_, "abs" | "neg" | "copysign" | "pmin" | "pmax")));
        let given = seen.log.iter().filter(|line| line.starts_with(&format!("{operator} return ")));
        for line in given.filter(|_| !bits) {
            let (_, result) = line.rsplit_once(": ").unwrap();
            // The rule, whatever an engine says.
            let (ty, digits) = result.split_once(':').unwrap();
            let value = u128::from_str_radix(digits, 16).unwrap();
            let canonical = match ty {
                "f32" => is_canonical(value, 32, 1),
                "f64" => is_canonical(value, 64, 1),
                _ if operator.starts_with("f32x4") => is_canonical(value, 32, 4),
                _ => is_canonical(value, 64, 2),
            };
            assert!(canonical, "{line}");
        }
    }
}

/// Whether each lane is no NaN, or the canonical one.
fn is_canonical(value: u128, bits: u32, lanes: u32) -> bool {
    (0..lanes).all(|lane| {
        let lane = value >> (bits * lane);
        match bits {
            32 => !f32::from_bits(lane as u32).is_nan() || lane as u32 == F32[0],
            _ => !f64::from_bits(lane as u64).is_nan() || lane as u64 == F64[0],
        }
    })
}
