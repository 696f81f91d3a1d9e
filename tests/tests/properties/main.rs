//! Guests made of properties do the same in WebAssembly as natively, on the same choices.

mod host;

use anyhow::Result;
use challenges::OPTIMA;
use fuzzbox_guest::Source;
use fuzzbox_guest::native::{self, Outcome, Run, Seed};
use fuzzbox_tests::guest;
use host::Guest;

/// Executions of each property.
const SEEDS: u32 = 300;

#[test]
fn challenges_do_the_same_in_wasm_as_natively() -> Result<()> {
    let guest = Guest::load(&guest("challenges")?)?;
    for challenge in OPTIMA {
        does_the_same(&guest, challenge.name, challenge.property);
    }
    Ok(())
}

/// Seeds for both give the same execution, and so do the choices of that.
fn does_the_same(guest: &Guest, name: &str, property: fn(&mut Source)) {
    let export = format!("fbx_{name}");
    for state in 1..=SEEDS {
        let seed = Seed::new(16 + state, state.wrapping_mul(0x9e37_79b9));
        let native = native::run(seed.into(), property);
        is_same(&guest.run(&export, seed.into()), &native, name);
        is_same(&guest.run(&export, native.choices.clone().into()), &native, name);
    }
}

fn is_same(wasm: &Run, native: &Run, name: &str) {
    assert_eq!(kind(&wasm.outcome), kind(&native.outcome), "{name}: {wasm:?} {native:?}");
    assert_eq!(wasm.choices, native.choices, "{name}");
    assert_eq!(wasm.notes, native.notes, "{name}");
    assert_eq!(wasm.spans, native.spans, "{name}");
    assert_eq!(
        wasm.value.as_ref().map(|value| &value.bytes),
        native.value.as_ref().map(|value| &value.bytes),
        "{name}"
    );
}

/// The message without the place, which a source file has twice: as the compiler for wasm saw it, and the native one.
fn kind(outcome: &Outcome) -> Outcome {
    match outcome {
        Outcome::Failed(why) => Outcome::Failed(why.split(", at ").next().unwrap_or_default().into()),
        other => other.clone(),
    }
}
