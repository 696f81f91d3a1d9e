//! Components as targets: what is found in them, what is refused, and that they do what their modules do.

mod commands;
mod found;
mod hostile;
mod libraries;
mod merged;
mod oracle;
mod real;
mod refused;
mod restored;
mod results;
use fuzzbox::sandbox::{Executor, Target};
use fuzzbox::settings::Settings;
use std::sync::Arc;

/// Settings for small guests.
fn settings() -> Settings {
    Settings { fuel_max: 10_000_000, memory_bytes_max: 32 << 20, input_bytes_max: 4096, ..Settings::default() }
}

fn named(entry: &str) -> Settings {
    Settings { entry: Some(entry.to_owned()), ..settings() }
}

#[track_caller]
fn load(component: impl AsRef<[u8]>, settings: Settings) -> Arc<Target> {
    Arc::new(Target::load(component.as_ref(), settings).unwrap_or_else(|error| panic!("{error:#}")))
}

#[track_caller]
fn executor(component: impl AsRef<[u8]>, settings: Settings) -> Executor {
    Executor::new(&load(component, settings)).unwrap()
}

/// What keeps a component from being a target, in one line.
#[track_caller]
fn refusal(component: impl AsRef<[u8]>, settings: Settings) -> String {
    let error = Target::load(component.as_ref(), settings).unwrap_err();
    error.chain().map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// A core module `$m` with a memory, an allocator that never frees, and `functions`, and the instance `$i` of it.
fn core(functions: &str) -> String {
    format!(
        r#"(core module $m
            (memory (export "memory") 1)
            (global $top (mut i32) (i32.const 1024))
            (func $cabi_realloc (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
                (local $at i32)
                (if (i32.lt_u (local.get 3) (local.get 1)) (then
                    (global.set $top (i32.add (local.get 0) (local.get 3)))
                    (return (local.get 0))))
                (local.set $at (i32.and (i32.add (global.get $top) (i32.const 7)) (i32.const -8)))
                (global.set $top (i32.add (local.get $at) (local.get 3)))
                (if (i32.gt_u (global.get $top) (i32.shl (memory.size) (i32.const 16))) (then
                    (if (i32.eq (i32.const -1)
                            (memory.grow (i32.add (i32.shr_u (local.get 3) (i32.const 16)) (i32.const 1))))
                        (then unreachable))))
                (local.get $at))
            {functions})
        (core instance $i (instantiate $m))"#
    )
}

/// The options of a function that is lifted from `$i`.
const OPTIONS: &str = r#"(memory (core memory $i "memory")) (realloc (core func $i "cabi_realloc"))"#;

/// A component with one function, `parse`, that takes `ty` and calls `$parse` of these core functions.
fn parser(ty: &str, functions: &str) -> String {
    let core = core(functions);
    format!(
        r#"(component {core} (func (export "parse") (param "x" {ty}) (canon lift (core func $i "parse") {OPTIONS})))"#
    )
}

/// Traps in `$inner` if the input begins with "bug".
const BUG: &str = r#"
    (func $parse (export "parse") (param i32 i32)
        (if (i32.ge_u (local.get 1) (i32.const 3)) (then (call $inner (local.get 0)))))
    (func $inner (param i32)
        (if (i32.eq (i32.load8_u (local.get 0)) (i32.const 0x62)) (then
            (if (i32.eq (i32.load8_u offset=1 (local.get 0)) (i32.const 0x75)) (then
                (if (i32.eq (i32.load8_u offset=2 (local.get 0)) (i32.const 0x67)) (then unreachable)))))))"#;
