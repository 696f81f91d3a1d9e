//! Fuel charges what is executed: everything at least once, and little of what is not.

use fuzzbox::outcome::Outcome;
use fuzzbox::sandbox::{Executor, Target};
use fuzzbox::settings::Settings;
use fuzzbox_tests::random::Random;
use std::fmt::Write as _;
use std::sync::Arc;
use wasmtime::{Config, Engine, Instance, Module, Store};

/// Generated programs.
const PROGRAMS: u64 = 150;
/// Inputs that each is executed with.
const INPUTS: usize = 6;

/// Writes a program of blocks, loops and conditions that branches at random. `$next` gives numbers, and ends the program when there were enough.
fn program(random: &mut Random) -> String {
    let mut text = r#"(module
        (memory (export "memory") 1)
        (global $x (mut i32) (i32.const 0)) (global $state (mut i32) (i32.const 0)) (global $left (mut i32) (i32.const 400))
        (func $next (result i32)
            (global.set $left (i32.sub (global.get $left) (i32.const 1)))
            (if (i32.eqz (global.get $left)) (then (unreachable)))
            (global.set $state (i32.add (i32.mul (global.get $state) (i32.const 1103515245)) (i32.const 12345)))
            (i32.shr_u (global.get $state) (i32.const 16)))
        (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32)
            (global.set $state (i32.mul (local.get 1) (i32.const 7919)))
        "#
    .to_owned();
    for _ in 0..4 {
        statement(random, &mut text, 0, 6);
    }
    text.push_str("(i32.const 0)))");
    text
}

/// One statement; `open` blocks are around it, beside the function itself.
fn statement(random: &mut Random, text: &mut String, open: u64, depth: u32) {
    let kind = if depth == 0 { 0 } else { random.below(9) };
    let body = |random: &mut Random, text: &mut String| {
        for _ in 0..=random.below(4) {
            statement(random, text, open + 1, depth - 1);
        }
    };
    match kind {
        0 | 1 => text.push_str("(global.set $x (i32.add (global.get $x) (i32.const 3)))"),
        2 | 3 => {
            text.push_str("(block ");
            body(random, text);
            text.push(')');
        }
        4 => {
            text.push_str("(loop ");
            body(random, text);
            text.push_str("(br_if 0 (i32.and (call $next) (i32.const 1))))");
        }
        5 => {
            text.push_str("(if (i32.and (call $next) (i32.const 1)) (then ");
            body(random, text);
            if random.below(2) == 0 {
                text.push_str(") (else ");
                body(random, text);
            }
            text.push_str("))");
        }
        6 if open > 0 => {
            let depth = random.below(open);
            let _ = write!(text, "(br_if {depth} (i32.and (call $next) (i32.const 1)))");
        }
        _ if open > 0 => {
            // Some is dead behind it, unless it is one of two ways.
            let guarded = random.below(4) > 0;
            let arms: Vec<String> =
                (0..=random.below(6)).map(|_| (random.below(open) + u64::from(guarded)).to_string()).collect();
            let table = format!("(br_table {} (i32.and (call $next) (i32.const 7)))", arms.join(" "));
            if guarded {
                let _ = write!(text, "(if (i32.and (call $next) (i32.const 1)) (then {table}))");
            } else {
                text.push_str(&table);
            }
        }
        _ => {}
    }
}

fn settings() -> Settings {
    Settings { fuel_max: 100_000_000, input_bytes_max: 4096, ..Settings::default() }
}

/// The number of operators that an execution takes, by wasmtime's count of the plain module.
fn operators(engine: &Engine, module: &Module, len: usize) -> u64 {
    const FUEL: u64 = 1 << 40;
    let mut store = Store::new(engine, ());
    store.set_fuel(FUEL).unwrap();
    let instance = Instance::new(&mut store, module, &[]).unwrap();
    let entry = instance.get_typed_func::<(u32, u32), i32>(&mut store, "LLVMFuzzerTestOneInput").unwrap();
    let _ = entry.call(&mut store, (0, u32::try_from(len).unwrap()));
    FUEL - store.get_fuel().unwrap()
}

#[test]
fn every_operator_that_is_executed_is_charged() {
    let mut config = Config::new();
    config.consume_fuel(true);
    let engine = Engine::new(&config).unwrap();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut charged, mut executed, mut tables) = (0, 0, 0);
    for number in 0..PROGRAMS {
        let text = program(&mut random);
        tables += text.matches("br_table").count();
        let module = Module::new(&engine, wat::parse_str(&text).unwrap())
            .unwrap_or_else(|error| panic!("{number}: {error:#}\n{text}"));
        let target = Arc::new(Target::load(text.as_bytes(), settings()).unwrap());
        let mut executor = Executor::new(&target).unwrap();
        for len in 0..INPUTS {
            let outcome = executor.run(&vec![0; len]).unwrap();
            assert!(!outcome.is_hang(), "{number}: it is bounded");
            let (ours, theirs) = (executor.observation().fuel(), operators(&engine, &module, len));
            assert!(ours >= theirs, "program {number}, input {len}: {theirs} operators for {ours} units\n{text}");
            charged += ours;
            executed += theirs;
        }
    }
    println!("{executed} operators, {charged} units, {tables} tables");
    assert!(executed > 100_000 && tables > 500, "{executed} {tables}");
}

/// An interpreter of 200 operations of 20 operators each, as compilers make it. The input's bytes choose operations.
fn interpreter() -> String {
    let mut code = String::new();
    let arms: Vec<_> = (0..200).map(|arm| arm.to_string()).collect();
    (0..200).for_each(|_| code.push_str("(block "));
    let _ = write!(code, "(br_table {} 0 (i32.load8_u (local.get 0)))", arms.join(" "));
    for _ in 0..200 {
        code.push(')');
        code.push_str(&"(global.set $x (i32.add (global.get $x) (i32.const 3)))".repeat(5));
        code.push_str("(local.set 0 (i32.add (local.get 0) (i32.const 1))) (local.set 1 (i32.sub (local.get 1) (i32.const 1))) (br $again)");
    }
    format!(
        r#"(module (memory (export "memory") 1) (global $x (mut i32) (i32.const 0))
            (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32)
                (loop $again (if (local.get 1) (then {code}))) (i32.const 0)))"#
    )
}

#[test]
fn an_interpreter_is_charged_for_what_it_executes() {
    let target = Arc::new(Target::load(interpreter().as_bytes(), settings()).unwrap());
    let mut executor = Executor::new(&target).unwrap();
    let input: Vec<u8> = (0..2000).map(|index| (index * 7 % 200) as u8).collect();
    assert_eq!(executor.run(&input).unwrap(), Outcome::Ok);
    let each = executor.observation().fuel() / input.len() as u64;
    // An operation has 29 operators; the blocks that are entered on the way to it have one each.
    assert!((29..300).contains(&each), "{each} units for an operation");
}
