//! One worker or two: every strategy finds the same corpus.

use super::figures::promised;
use super::{lock, searched};
use fuzzbox::sandbox::Target;
use fuzzbox::settings::Settings;
use fuzzbox_tests::found::{Found, if_begins_with};
use std::sync::Arc;

/// Executions of each campaign; 300,000 are what is promised.
const EXECS: u64 = 3_000;
/// Of those that begin again, after 16,384, and of those that others visit.
const EXECS_RESTARTED: u64 = 24_000;

/// For guests that draw.
const STRATEGIES: [&str; 30] = [
    "auto",
    "fuzz",
    "quickcheck",
    "quickcheck:whole",
    "enumerate",
    "bytes",
    "walkers",
    "fuzz-literal",
    "tree",
    "tree:alpha50:kw-is:strata",
    "tree:explore",
    "novelty",
    "mcmc",
    "mcmc:bayes:decay:hastings",
    "mcmc:hype",
    "corpus",
    "qcorpus",
    "pqcorpus",
    "exemplar",
    "exemplar:cov",
    "exemplar:bloom:outcome",
    "fuzz+anneal",
    "fuzz+restarts",
    "fuzz+swarm",
    "pqcorpus+swarm:parents+anneal",
    "quickcheck+restarts",
    "tree+restarts",
    "mcmc+anneal+restarts",
    "pqcorpus+anneal+restarts",
    "exemplar+restarts",
];

/// For guests that take bytes.
const OF_BYTES: [&str; 13] = [
    "fuzz",
    "quickcheck",
    "enumerate",
    "bytes",
    "walkers",
    "fuzz-literal",
    "mcmc",
    "corpus",
    "qcorpus",
    "pqcorpus",
    "fuzz+anneal",
    "fuzz+anneal+restarts",
    "qcorpus+restarts",
];

fn bytes() -> Arc<Target> {
    let word = if_begins_with("pass", "unreachable");
    let module = format!(
        r#"(module (memory (export "memory") 1)
            (func (export "LLVMFuzzerTestOneInput") (param $data i32) (param $size i32) (result i32)
                (if (i32.gt_u (local.get $size) (i32.const 3)) (then {word})) (i32.const 0)))"#
    );
    Arc::new(Target::load(module.as_bytes(), Settings::default()).unwrap())
}

#[test]
fn the_corpus_is_the_same_whatever_the_number_of_jobs() {
    for (target, strategies) in [(lock(true), &STRATEGIES[..]), (bytes(), &OF_BYTES)] {
        for strategy in strategies {
            let usual = if strategy.contains("restarts") || *strategy == "auto" { EXECS_RESTARTED } else { EXECS };
            let execs = promised(usual, 300_000);
            let [one, two] = [1, 2].map(|jobs| searched(&target, strategy, 7, jobs, execs, false));
            assert_eq!(one.corpus().hash(), two.corpus().hash(), "{strategy}");
            assert_eq!(Found::of(&one), Found::of(&two), "{strategy}");
            assert!(one.tally().eq(two.tally()), "{strategy}");
            assert_eq!(one.totals().execs, execs, "{strategy}");
        }
    }
}
