//! Any bytes are a stream, and what an execution drew is the stream that does the same.

use super::{executor, generate, kind, run, tree};
use fuzzbox::outcome::Outcome;
use fuzzbox::sandbox::Executor;
use fuzzbox::stream::{Rule, Tail, encode};
use rand_core::Rng as _;
use std::sync::Arc;

/// Executes a stream, then what it drew, twice. Returns how it ended.
fn check(executor: &mut Executor, stream: &[u8], rule: Rule, about: &dyn Fn() -> String) -> Outcome {
    let (outcome, trace, told) = run(executor, stream, rule);
    if outcome == Outcome::Overrun {
        return outcome;
    }
    let canonical = encode(&trace.clone().canonical().choices);
    let (same, again, said) = run(executor, &canonical, Rule::default());
    assert_eq!(same, outcome, "{}", about());
    assert_eq!(again.choices, trace.choices, "{}", about());
    assert_eq!((&again.spans, &again.draws, again.misaligned), (&trace.spans, &trace.draws, None), "{}", about());
    assert_eq!(format!("{said:?}"), format!("{told:?}"), "{}", about());
    assert_eq!(encode(&again.canonical().choices), canonical, "{}", about());
    outcome
}

#[test]
fn what_was_drawn_does_the_same_and_draws_the_same() {
    let mut rng = Tail::random(5);
    let mut ends = std::collections::BTreeMap::<&str, u32>::new();
    for guest in 0..40 {
        let wat = generate::guest(&mut rng);
        let mut executor = executor(&wat);
        executor.set_closing(&Arc::new(generate::closing(&mut rng)));
        for _ in 0..250 {
            let (stream, rule) = generate::stream(&mut rng);
            let about = || format!("guest {guest}, {stream:?}, {rule:?}\n{wat}");
            *ends.entry(kind(&check(&mut executor, &stream, rule, &about))).or_default() += 1;
        }
    }
    assert!(ends.values().sum::<u32>() > 2000 && ends["ok"] > 500 && ends["failed"] > 20, "{ends:?}");
}

#[test]
fn any_bytes_are_a_stream() {
    let mut rng = Tail::random(6);
    let mut executor = executor(&tree::guest());
    for round in 0..20_000 {
        let mut stream = vec![0; (rng.next_u32() % 30) as usize];
        rng.fill_bytes(&mut stream);
        let rule = Rule { wrap: rng.next_u32().is_multiple_of(2), ..Rule::default() };
        let outcome = check(&mut executor, &stream, rule, &|| format!("{round}: {stream:?}"));
        assert_eq!(outcome, Outcome::Ok);
    }
}
