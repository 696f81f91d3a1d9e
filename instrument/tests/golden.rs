//! Modules beside what becomes of them: `tests/golden/*.wat`, and `*.expected` with a counter on every edge and fuel,
//! `*.full` with enough counters and cheap traps. Those whose first line has `traced` in it also have `*.traced`, with all
//! that can be recorded, but without the functions that record.
//!
//! `BLESS=1 cargo test -p fuzzbox-instrument --test golden` rewrites the expected files. In them, each counter and
//! each taking of fuel is folded into one line, unless the module's first line is `;; unfolded`, or `;; unfolded, traced`,
//! and then the functions that record are there too.

use std::fmt::Write as _;
use std::path::Path;

use fuzzbox_instrument::{Instrumented, Options, instrument, layout};

#[test]
fn golden_modules_become_what_is_expected() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut modules: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    modules.retain(|path| path.extension().is_some_and(|extension| extension == "wat"));
    modules.sort();
    assert!(modules.len() >= 10);
    let mut wrong = Vec::new();
    for path in modules {
        let text = std::fs::read_to_string(&path).unwrap();
        let original = wat::parse_str(&text).unwrap();
        let mut variants = vec![("expected", Options::default()), ("full", Options::full())];
        if text.lines().next().is_some_and(|line| line.starts_with(";;") && line.ends_with("traced")) {
            variants.push(("traced", Options::traced()));
        }
        for (extension, options) in variants {
            let found = describe(&original, &instrument(&original, &options).unwrap(), &text);
            let expected = path.with_extension(extension);
            if std::env::var_os("BLESS").is_some() {
                std::fs::write(&expected, found).unwrap();
            } else if std::fs::read_to_string(&expected).ok() != Some(found) {
                wrong.push(expected);
            }
        }
    }
    assert!(wrong.is_empty(), "not as expected (BLESS=1 rewrites): {wrong:?}");
}

fn describe(original: &[u8], new: &Instrumented, text: &str) -> String {
    let mut out = String::new();
    for (number, edge) in new.edges.edges.iter().enumerate() {
        let name = new.edges.function_name(edge.function).unwrap_or("-");
        let back = if edge.back { ", back" } else { "" };
        let operator = operator(original, edge.offset);
        writeln!(out, ";; {number}: {} in {name}: {operator}{back}", edge.kind).unwrap();
    }
    if let Some(reason) = new.state.irreversible {
        writeln!(out, ";; irreversible: {reason}").unwrap();
    }
    if let Some(trace) = &new.injected.trace {
        writeln!(out, ";; trace: {trace:#x?}").unwrap();
    }
    let printed = wasmprinter::print_bytes(&new.wasm).unwrap();
    out + &if text.starts_with(";; unfolded") { printed } else { fold(&without_recorders(&printed, new)) }
}

/// Leaves out the bodies of the functions that record, and of those that draw: those with parameters which were added; of a module
/// that draws, all.
fn without_recorders(printed: &str, new: &Instrumented) -> String {
    let functions = new.edges.functions.len();
    let mut inside = false;
    let kept = printed.lines().filter(|line| {
        if let Some(rest) = line.strip_prefix("  (func ") {
            let number = rest.split_once("(;").and_then(|(_, rest)| rest.split_once(";)"));
            let added = number.is_some_and(|(number, _)| number.parse::<usize>().unwrap() >= functions);
            inside = added && (rest.contains("(param") || new.injected.stream.is_some());
        } else if !line.starts_with("   ") && *line != "  )" {
            inside = false;
        }
        !inside
    });
    kept.map(|line| format!("{line}\n")).collect()
}

/// The operator at an offset, as text.
fn operator(wasm: &[u8], offset: u32) -> String {
    let mut storage = String::new();
    let config = wasmprinter::Config::new();
    let lines = config.offsets_and_lines(wasm, &mut storage).unwrap();
    let found = lines.filter(|(at, _)| *at == Some(u64::from(offset))).map(|(_, line)| line.trim().to_owned()).last();
    found.unwrap_or_else(|| "end".to_owned()) // of the function, which is not printed
}

const COUNT: &[&str] = &["i32.const 0", "i32.const 0", "i32.load*", "i32.const 1", "i32.add", "i32.store*"];
const SPEND: &[&str] = &[
    "i32.const 0",
    "i32.const 0",
    "i64.load*",
    "i64.const*",
    "i64.sub",
    "i64.store*",
    "i32.const 0",
    "i64.load*",
    "i64.const*",
    "i64.lt_s",
    "if*",
    "i32.const 0",
    "i32.const 1",
    "i32.store8*",
    "unreachable",
    "end",
];
/// Fuel that is taken without a look at what is left.
const CHARGE: &[&str] = &["i32.const 0", "i32.const 0", "i64.load*", "i64.const*", "i64.sub", "i64.store*"];
const SPEND_LENGTH: &[&str] = &[
    "local.set*",
    "i32.const 0",
    "i32.const 0",
    "i64.load*",
    "local.get*",
    "i64.extend_i32_u",
    "i64.const*",
    "i64.shr_u",
    "i64.sub",
    "i64.store*",
    "local.get*",
];
const ENTER_CALL: &[&str] = &[
    "i32.const 0",
    "i32.const 0",
    "i32.load*",
    "i32.const 1",
    "i32.add",
    "i32.store*",
    "i32.const 0",
    "i32.load*",
    "i32.const*",
    "i32.gt_u",
    "if*",
    "i32.const 0",
    "i32.const 1",
    "i32.store8*",
    "unreachable",
    "end",
];
const LEAVE_CALL: &[&str] = &["i32.const 0", "i32.const 0", "i32.load*", "i32.const 1", "i32.sub", "i32.store*"];
const TRAP: &[&str] = &["i32.const 0", "call_indirect*"];
const FLAG: &[&str] = &["i32.const 0", "i32.const 1", "i32.store8*"];

/// Writes each counter, each taking of fuel, each change of the number of calls and each flag as one line.
fn fold(printed: &str) -> String {
    let lines: Vec<_> = printed.lines().collect();
    let mut out = String::new();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let indent = &line[..line.len() - line.trim_start().len()];
        let matches = |pattern: &[&str]| {
            let rest = &lines[at..];
            let fits = |(pattern, line): (&&str, &&str)| match pattern.strip_suffix('*') {
                Some(start) => line.trim().starts_with(start),
                None => line.trim() == *pattern,
            };
            rest.len() >= pattern.len() && pattern.iter().zip(rest).all(fits)
        };
        let offset = |line: usize| -> Option<u32> { lines[at + line].split_once("offset=")?.1.parse().ok() };
        if matches(SPEND) {
            let cost = lines[at + 3].trim().trim_start_matches("i64.const ");
            writeln!(out, "{indent};; spend {cost}").unwrap();
            at += SPEND.len();
        } else if matches(CHARGE) && offset(2).is_none() && offset(5).is_none() {
            let cost = lines[at + 3].trim().trim_start_matches("i64.const ");
            writeln!(out, "{indent};; charge {cost}").unwrap();
            at += CHARGE.len();
        } else if matches(SPEND_LENGTH) {
            writeln!(out, "{indent};; spend by length").unwrap();
            at += SPEND_LENGTH.len();
        } else if matches(ENTER_CALL) && offset(2) == Some(layout::CALLS) {
            writeln!(out, "{indent};; enter a call").unwrap();
            at += ENTER_CALL.len();
        } else if matches(LEAVE_CALL) && offset(2) == Some(layout::CALLS) {
            writeln!(out, "{indent};; leave a call").unwrap();
            at += LEAVE_CALL.len();
        } else if matches(COUNT) && offset(2).is_some() && offset(2) == offset(5) {
            writeln!(out, "{indent};; count {}", (offset(2).unwrap() - layout::COUNTERS) / 4).unwrap();
            at += COUNT.len();
        } else if matches(TRAP) {
            writeln!(out, "{indent};; call the trap function").unwrap();
            at += TRAP.len();
        } else if matches(FLAG) && offset(2).is_some_and(|offset| offset < layout::COUNTERS) {
            writeln!(out, "{indent};; flag {}", offset(2).unwrap()).unwrap();
            at += FLAG.len();
        } else {
            writeln!(out, "{line}").unwrap();
            at += 1;
        }
    }
    out
}
