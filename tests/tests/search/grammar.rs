//! With a grammar, texts are made and changed by their derivations.

use fuzzbox::engine::{Campaign, Dictionary, Mutator, Workers};
use fuzzbox::grammar::Grammar;
use fuzzbox::outcome::Outcome;
use fuzzbox::sandbox::Target;
use fuzzbox::settings::Settings;
use std::sync::Arc;

/// Executions of a campaign.
const EXECS: u64 = 10_000;

fn json() -> (Arc<Target>, Arc<Grammar>) {
    let module = std::fs::read(fuzzbox_tests::example("json").unwrap()).unwrap();
    let rules = std::fs::read_to_string(fuzzbox_tests::workspace().join("examples/json/json.ebnf")).unwrap();
    (Arc::new(Target::load(&module, Settings::default()).unwrap()), Arc::new(Grammar::parse(&rules).unwrap()))
}

fn searched(target: &Arc<Target>, grammar: Option<&Arc<Grammar>>, seed: u64, jobs: usize) -> Campaign {
    let workers = Workers::new(jobs, Arc::default()).unwrap();
    let mutator = Mutator::new(Dictionary::default().with_constants_of(target.candidate.bytes()));
    let mut campaign = Campaign::new(target.clone(), seed, mutator.with_grammar(grammar.cloned()));
    let signature = |outcome: &Outcome| outcome.name().to_owned();
    campaign.start(&workers, &[], EXECS, &signature).unwrap();
    while campaign.totals().execs < EXECS {
        campaign.step(&workers, EXECS - campaign.totals().execs, &signature).unwrap();
    }
    campaign
}

/// How many seeds are tried.
fn seeds() -> u64 {
    std::env::var("FUZZBOX_GRAMMAR_SEEDS").map_or(1, |seeds| seeds.parse().unwrap())
}

#[test]
fn more_of_a_parser_is_reached_with_its_grammar_than_without() {
    let (target, grammar) = json();
    for seed in 1..=seeds() {
        let [with, without] = [Some(&grammar), None].map(|grammar| searched(&target, grammar, seed, 1).reached());
        println!("seed {seed}: {with} edges with a grammar, {without} without, in {EXECS} executions");
        assert!(with > without, "{with} {without}");
    }
}

#[test]
fn what_is_kept_is_text_whose_derivations_are_known_whatever_the_jobs() {
    let (target, grammar) = json();
    let [one, two] = [1, 2].map(|jobs| searched(&target, Some(&grammar), 3, jobs));
    assert_eq!(one.corpus().hash(), two.corpus().hash());
    let testcases = one.corpus().testcases();
    let derived = testcases.iter().filter(|testcase| testcase.derivation.is_some()).count();
    assert!(derived > testcases.len() / 4, "{derived} of {}", testcases.len());
    assert_eq!(one.underived(), testcases.len() - derived);
    assert!(testcases.iter().all(|testcase| testcase.sample.is_none()));
}
