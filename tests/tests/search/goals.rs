//! What quality goals execute.

use fuzzbox::engine::{Campaign, Dictionary, Mutator, Workers};
use fuzzbox::outcome::Outcome;
use fuzzbox::sandbox::Target;
use fuzzbox::settings::Settings;
use std::path::Path;
use std::sync::Arc;

pub(crate) fn target(bytes: &[u8]) -> Arc<Target> {
    let settings = Settings { fuel_max: 100_000_000, input_bytes_max: 4096, ..Settings::default() };
    Arc::new(Target::load(bytes, settings).unwrap())
}

/// A guest of `tests/guests`, by its folder and name.
pub(crate) fn guest(name: &str) -> Arc<Target> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("guests").join(name).with_extension("wasm");
    target(&std::fs::read(path).unwrap())
}

pub(crate) fn campaign(target: &Arc<Target>, seed: u64) -> Campaign {
    Campaign::new(target.clone(), seed, Mutator::new(Dictionary::default()))
}

/// Fuzzes from an input until something fails, or that many executions were made.
pub(crate) fn search_from(
    input: &[u8],
    mut campaign: Campaign,
    jobs: usize,
    execs: u64,
    until_failure: bool,
) -> Campaign {
    let workers = Workers::new(jobs, Arc::default()).unwrap();
    let signature = |outcome: &Outcome| format!("{outcome:?}");
    campaign.start(&workers, &[input.to_vec()], execs, &signature).unwrap();
    while campaign.totals().execs < execs && !(until_failure && campaign.failures().len() > 0) {
        let left = execs - campaign.totals().execs;
        campaign.step(&workers, left, &signature).unwrap();
    }
    campaign
}

/// A guest, what a campaign begins with, and in how many executions it finds what the guest hides, with how many of
/// three seeds.
pub(crate) type Goal<'a> = (&'a str, &'a [u8], u64, usize);

/// What guests of a folder hide is found.
pub(crate) fn assert_reached(folder: &str, goals: &[Goal<'_>]) {
    for &(name, input, execs, seeds) in goals {
        let target = guest(&format!("{folder}/{name}"));
        let is_found = |seed: &u64| {
            let found = search_from(input, campaign(&target, *seed), 1, execs, true);
            println!("{name}, seed {seed}: {} in {}", found.failures().len(), found.totals().execs);
            found.failures().len() > 0
        };
        let found: Vec<u64> = (1..=3).filter(is_found).collect();
        assert!(found.len() >= seeds, "{name}: with seeds {found:?} alone");
    }
}

/// What a campaign on a guest finds is the same with 1, 2 and 5 workers.
pub(crate) fn assert_same_by_jobs(name: &str, input: &[u8], execs: u64) {
    let target = guest(name);
    let [one, two, five] = [1, 2, 5].map(|jobs| search_from(input, campaign(&target, 7), jobs, execs, false));
    for other in [two, five] {
        assert_eq!(one.corpus().hash(), other.corpus().hash(), "{name}");
        assert_eq!(one.totals(), other.totals(), "{name}");
    }
}
