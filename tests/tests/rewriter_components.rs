//! Components run as before when the core modules inside were rewritten.

mod rewriter;

use fuzzbox_instrument::{Options, instrument_component};
use rewriter::engine;
use wasmtime::component::{Component, Linker};
use wasmtime::{OptLevel, Result, Store, Trap};

/// How modules are rewritten.
fn variants() -> Vec<Options> {
    vec![Options::default()]
}

/// Two modules with one memory, a string in and a string out, a function of the host.
const SHOUT: &str = r#"
    (component
      (import "host" (func $host (param "x" s32) (result s32)))
      (core module $libc
        (memory (export "memory") 1)
        (global $top (mut i32) (i32.const 1024))
        (func (export "realloc") (param i32 i32 i32 i32) (result i32)
          (global.set $top (i32.add (global.get $top) (local.get 3)))
          (if (i32.gt_u (global.get $top) (i32.const 2000)) (then (unreachable)))
          (i32.sub (global.get $top) (local.get 3))))
      (core instance $libc (instantiate $libc))
      (alias core export $libc "memory" (core memory $memory))
      (alias core export $libc "realloc" (core func $realloc))
      (core func $lowered (canon lower (func $host)))
      (core instance $env (export "host" (func $lowered)))
      (core module $main
        (import "libc" "memory" (memory 1))
        (import "env" "host" (func $host (param i32) (result i32)))
        (func (export "run") (param i32 i32) (result i32)
          (local $i i32)
          (loop $again
            (i32.store8 (i32.add (local.get 0) (local.get $i))
              (i32.sub (i32.load8_u (i32.add (local.get 0) (local.get $i))) (i32.const 32)))
            (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get 1))))
          (i32.store (i32.const 8) (local.get 0))
          (i32.store (i32.const 12) (call $host (local.get 1)))
          (i32.const 8)))
      (core instance $main (instantiate $main (with "libc" (instance $libc)) (with "env" (instance $env))))
      (func (export "run") (param "text" string) (result string)
        (canon lift (core func $main "run") (memory $memory) (realloc $realloc))))"#;

/// A module that is passed to a component inside as a value, which instantiates it twice.
const PASSED: &str = r#"
    (component
      (import "host" (func $host (param "x" s32) (result s32)))
      (core func $lowered (canon lower (func $host)))
      (core module $counter
        (import "env" "host" (func $host (param i32) (result i32)))
        (memory (export "memory") 1)
        (global $count (mut i32) (i32.const 0))
        (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 64))
        (func (export "run") (param i32 i32) (result i32)
          (global.set $count (i32.add (global.get $count) (i32.const 1)))
          (i32.store (i32.const 8) (local.get 0))
          (i32.store (i32.const 12) (select (local.get 1) (global.get $count)
            (i32.lt_u (local.get 1) (call $host (global.get $count)))))
          (i32.const 8)))
      (component $twice
        (import "host" (func $host (param "x" s32) (result s32)))
        (import "module" (core module $m
          (import "env" "host" (func (param i32) (result i32)))
          (export "memory" (memory 1))
          (export "realloc" (func (param i32 i32 i32 i32) (result i32)))
          (export "run" (func (param i32 i32) (result i32)))))
        (core func $lowered (canon lower (func $host)))
        (core instance $env (export "host" (func $lowered)))
        (core instance $a (instantiate $m (with "env" (instance $env))))
        (core instance $b (instantiate $m (with "env" (instance $env))))
        (func (export "run") (param "text" string) (result string)
          (canon lift (core func $b "run") (memory (core memory $a "memory")) (realloc (core func $a "realloc")))))
      (instance $i (instantiate $twice (with "host" (func $host)) (with "module" (core module $counter))))
      (export "run" (func $i "run")))"#;

/// Instantiates a component and says how calls of its `run` came out, one after the other.
fn run(wasm: &[u8], level: OptLevel) -> Vec<String> {
    let engine = engine(level, |config| _ = config.wasm_component_model(true));
    let component = Component::new(&engine, wasm).unwrap();
    let mut linker = Linker::new(&engine);
    linker.root().func_wrap("host", |_, (x,): (i32,)| -> Result<_> { Ok((x / 2 + 1,)) }).unwrap();
    let mut store = Store::new(&engine, ());
    let instance = linker.instantiate(&mut store, &component).unwrap();
    let run = instance.get_typed_func::<(&str,), (String,)>(&mut store, "run").unwrap();
    let mut call = |text: &str| match run.call(&mut store, (text,)) {
        Ok((text,)) => format!("{text:?}"),
        Err(error) => match error.downcast_ref::<Trap>() {
            Some(trap) => format!("trap {trap:?}"),
            None => format!("error {}", error.root_cause()),
        },
    };
    ["hello", "x", "four", "component model", &"long".repeat(400), "after"].map(&mut call).into()
}

#[test]
fn components_do_the_same_when_they_are_rewritten() {
    for text in [SHOUT, PASSED] {
        let original = wat::parse_str(text).unwrap();
        for level in [OptLevel::None, OptLevel::Speed] {
            let expected = run(&original, level);
            assert!(expected[0].starts_with('"'), "{expected:?}");
            for options in variants() {
                let new = instrument_component(&original, &options).unwrap();
                assert_eq!(run(&new.wasm, level), expected);
            }
        }
    }
    assert_eq!(run(&wat::parse_str(SHOUT).unwrap(), OptLevel::None)[..2], ["\"HEL\"", "\"X\""]);
}

#[test]
fn each_core_instance_runs_on_fuel_of_its_own() {
    let original = wat::parse_str(SHOUT).unwrap();
    let mut options = Options::default();
    options.start_fuel = 60;
    let new = instrument_component(&original, &options).unwrap();
    let found = run(&new.wasm, OptLevel::None);
    // "hello" takes five rounds of the loop in one module and little of the other's fuel.
    assert_eq!(found[0], "trap UnreachableCodeReached");
}
