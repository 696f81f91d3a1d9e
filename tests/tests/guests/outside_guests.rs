//! Modules from outside: cJSON and expat from Debian's sources, and icepack as somebody else built it.
//!
//! Each is fuzzed from an empty corpus, without a host error, and far enough to show that the search is sound.

use fuzzbox::engine::{Campaign, Dictionary, Mutator, Workers};
use fuzzbox::sandbox::{Executor, Target};
use fuzzbox::settings::Settings;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Executions of each campaign.
const EXECS: u64 = 200_000;

fn target(name: &str, settings: Settings) -> Arc<Target> {
    let path = fuzzbox_tests::guest(name).unwrap_or_else(|error| panic!("{error:#}"));
    let bytes = std::fs::read(path).expect("the guest was just built");
    Arc::new(Target::load(&bytes, settings).unwrap_or_else(|error| panic!("{name}: {error:#}")))
}

/// The edges that one replay of `inputs` reaches.
fn reached(target: &Arc<Target>, inputs: &[Vec<u8>]) -> BTreeSet<u32> {
    let mut executor = Executor::new(target).expect("it was loaded");
    let mut edges = BTreeSet::new();
    for input in inputs {
        let outcome = executor.run(input).expect("the host doesn't fail");
        assert!(outcome.trap().is_none(), "a valid document fails: {outcome:?}");
        executor.observation().edges(|edge, _| {
            edges.insert(edge);
        });
    }
    edges
}

/// Edges that a campaign from nothing reaches.
fn search(target: &Arc<Target>) -> usize {
    let workers = Workers::new(2, Arc::default()).unwrap();
    let mutator = Mutator::new(Dictionary::default().with_constants_of(target.candidate.bytes()));
    let mut campaign = Campaign::new(target.clone(), 1, mutator);
    let signature = |outcome: &fuzzbox::outcome::Outcome| format!("{outcome:?}");
    campaign.start(&workers, &[], EXECS, &signature).expect("the host doesn't fail");
    while campaign.totals().execs < EXECS {
        let left = EXECS - campaign.totals().execs;
        campaign.step(&workers, left, &signature).expect("the host doesn't fail");
    }
    assert_eq!(campaign.totals().execs, EXECS);
    campaign.corpus().seen().edges()
}

fn documents(name: &str) -> Vec<Vec<u8>> {
    let documents = fuzzbox_tests::documents(name).expect("documents");
    documents.into_iter().map(|(_, bytes)| bytes).collect()
}

fn reaches_two_fifths(name: &str) {
    let target = target(name, Settings::default());
    let valid = reached(&target, &documents(name)).len();
    let found = search(&target);
    println!("{name}: {found} edges from nothing, {valid} by ten valid documents, {} in all", target.edges.edges.len());
    assert!(found * 10 >= valid * 4, "{name}: {found} edges, ten valid documents reach {valid}");
}

#[test]
fn cjson_from_nothing() {
    reaches_two_fifths("cjson");
}

#[test]
fn expat_from_nothing() {
    reaches_two_fifths("expat");
}

#[test]
fn icepack_from_nothing() {
    let target = target("icepack", Settings::default());
    let empty = reached(&target, &[Vec::new()]).len();
    let found = search(&target);
    println!("icepack: {found} edges from nothing, {empty} by the empty input, {} in all", target.edges.edges.len());
    assert!(found > empty);
}
