//! Guests in wasm text, without names.

use super::plants::{Build, Failure, Function, Guest};
use anyhow::Result;
use std::fmt::Write;

/// Assembles a build of the guest.
pub(super) fn module(guest: &Guest, build: Build) -> Result<Vec<u8>> {
    fuzzbox_instrument::strip_custom_sections(&wat::parse_str(text(guest, build))?)
}

fn text(guest: &Guest, build: Build) -> String {
    let mut text = "(module (memory (export \"memory\") 1) (global $sink (mut i32) (i32.const 0))\n".to_owned();
    if build == Build::Added {
        text += "(func (export \"added\") (param i64) (result i64) (i64.mul (local.get 0) (i64.const 77)))\n";
    }
    // With about as many functions as numbers of one byte reach for.
    for number in 0..guest.style % 131 {
        let _ = writeln!(text, "(func $filler{number} (global.set $sink (i32.const {number})))");
    }
    let last = (guest.style % 131).checked_sub(1).map_or_else(String::new, |last| format!("(call $filler{last})"));
    for (index, function) in guest.functions.iter().enumerate() {
        write_function(&mut text, index, function, build, &last);
    }
    text += "(func (export \"malloc\") (param i32) (result i32) (i32.const 1024))\n\
             (func (export \"LLVMFuzzerTestOneInput\") (param i32 i32) (result i32)\n\
             (if (i32.lt_u (local.get 1) (i32.const 2)) (then (return (i32.const 0))))\n";
    for index in 0..guest.functions.len() {
        let letter = u32::from(Guest::first(index));
        let _ = writeln!(
            text,
            "(if (i32.eq (i32.load8_u (local.get 0)) (i32.const {letter})) (then (call $work{index} (i32.load8_u offset=1 (local.get 0)))))"
        );
    }
    text + "(i32.const 0)))"
}

fn write_function(text: &mut String, index: usize, function: &Function, build: Build, filler: &str) {
    let Function { failures, style } = function;
    if failures.contains(&Failure::Recursion) {
        let _ = writeln!(text, "(func $deep{index} (call $deep{index}) (global.set $sink (i32.const {index})))");
    }
    let _ = writeln!(text, "(func $work{index} (param i32)");
    for (number, failure) in failures.iter().enumerate() {
        // Calls that may be written in more bytes when there is one function more.
        if style >> (4 + number) & 1 == 1 {
            text.push_str(filler);
        }
        let letter = u32::from(Guest::letter(build, number));
        let body = match failure {
            Failure::Abort | Failure::Trap => "unreachable".to_owned(),
            Failure::Division => "(global.set $sink (i32.div_u (i32.const 1) (i32.const 0)))".to_owned(),
            Failure::OutOfBounds => "(global.set $sink (i32.load (i32.const -16)))".to_owned(),
            Failure::Recursion => format!("(call $deep{index})"),
            Failure::Hang => "(loop (br 0))".to_owned(),
        };
        let _ = writeln!(text, "(if (i32.eq (local.get 0) (i32.const {letter})) (then {body}))");
    }
    text.push_str(")\n");
}
