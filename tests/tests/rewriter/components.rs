//! Components run as before when the core modules inside were rewritten.

use crate::execution::engine;
use fuzzbox_instrument::{Options, instrument_component};
use wasmtime::component::{Component, Linker};
use wasmtime::{OptLevel, Result, Store, Trap};

/// How modules are rewritten.
fn variants() -> Vec<Options> {
    vec![Options::full(), Options::fast((0..1 << 16).step_by(5).collect()), Options::traced()]
}

/// Two modules with one memory, a string in and a string out, a function of the host.
const SHOUT: &str = include_str!("../../../instrument/tests/corpus/components/strings.wat");

/// A module that is passed to a component inside as a value, which instantiates it twice.
const PASSED: &str = include_str!("../../../instrument/tests/corpus/components/passed.wat");

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
    options.fuel = Some(60);
    let new = instrument_component(&original, &options).unwrap();
    let found = run(&new.wasm, OptLevel::None);
    // "hello" takes five rounds of the loop in one module and little of the other's fuel.
    assert_eq!(found[0], "trap UnreachableCodeReached");
}
