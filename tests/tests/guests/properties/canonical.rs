//! Every byte string is a stream of every example, and its canonical form does the same. Natively it is the same form.

use super::Property;
use anyhow::Result;
use fuzzbox::outcome::Outcome;
use fuzzbox::sandbox::{Executor, Target};
use fuzzbox::settings::Settings;
use fuzzbox::stream::{Rule, Tail, Trace, encode};
use fuzzbox_guest::native;
use fuzzbox_tests::guest;
use rand_core::Rng as _;
use std::sync::Arc;

/// Byte strings for each property, unless `FUZZBOX_CANONICAL_STREAMS` says how many.
const STREAMS: u32 = 4000;

/// The longest of them, in bytes.
const LEN_MAX: u64 = 300;

/// What an execution shows: how it ended, what it drew, and the fuel that it took.
fn run(executor: &mut Executor, stream: &[u8]) -> Result<(Outcome, Trace, u64)> {
    let outcome = executor.run_stream(stream, &Rule::default())?;
    let observation = executor.observation();
    Ok((outcome, observation.draws(), observation.fuel()))
}

/// Executes random byte strings and their canonical forms; natively too, what is in Rust.
fn decodes(name: &str, property: &str, native: Option<Property>) -> Result<()> {
    let streams = std::env::var("FUZZBOX_CANONICAL_STREAMS").map_or(STREAMS, |text| text.parse().expect("a number"));
    let settings = Settings { entry: Some(format!("fbx_{property}")), ..Settings::default() };
    let target = Target::load(&std::fs::read(guest(name)?)?, settings)?;
    let mut executor = Executor::new(&Arc::new(target))?;
    let mut rng = Tail::random(1);
    let (mut other, mut failed) = (0, 0);
    for number in 0..streams {
        let mut stream = vec![0; ((rng.next_u64() % LEN_MAX) >> (rng.next_u32() % 8)) as usize];
        rng.fill_bytes(&mut stream);
        if rng.next_u32().is_multiple_of(2) {
            // Small numbers, which more often fit.
            stream.iter_mut().for_each(|byte| *byte &= 0x0f);
        }
        let (outcome, trace, fuel) = run(&mut executor, &stream)?;
        assert_ne!(outcome, Outcome::Overrun, "{name} {number}: {stream:?}");
        let canonical = encode(&trace.clone().canonical().choices);
        let (same, again, same_fuel) = run(&mut executor, &canonical)?;
        assert_eq!((same, same_fuel), (outcome.clone(), fuel), "{name} {number}: {stream:?}");
        assert_eq!((&again.choices, &again.spans), (&trace.choices, &trace.spans), "{name} {number}: {stream:?}");
        assert_eq!(again.misaligned, None, "{name} {number}: {stream:?}");
        assert_eq!(encode(&again.canonical().choices), canonical, "{name} {number}: {stream:?}");
        if let Some(native) = native {
            let natively = native::run(native::decode(&stream).into(), native);
            assert_eq!(native::encode(&natively.choices), canonical, "{name} {number}: {stream:?}");
        }
        other += u32::from(canonical != stream);
        failed += u32::from(outcome.trap().is_some());
    }
    println!("{name} {property}: {streams} streams, {other} not canonical, {failed} fail");
    assert!(other > streams / 2);
    Ok(())
}

#[test]
fn any_bytes_are_actions_on_a_map() -> Result<()> {
    decodes("btree-map", "agrees_with_model", Some(btree_map::agrees_with_model))
}

#[test]
fn any_bytes_are_losses_of_messages() -> Result<()> {
    decodes("lossy-network", "elects_a_leader", Some(lossy_network::elects_a_leader))?;
    decodes("lossy-network", "elects_a_leader_in_turn", Some(lossy_network::elects_a_leader_in_turn))
}

#[test]
fn any_bytes_are_data() -> Result<()> {
    decodes("round-trip", "comes_back", Some(round_trip::comes_back))
}

#[test]
fn any_bytes_are_an_expression() -> Result<()> {
    decodes("optimiser", "same_value", None)
}
