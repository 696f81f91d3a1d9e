//! What quality goals execute.

use fuzzbox::engine::{Campaign, Dictionary, Mutator, Workers};
use fuzzbox::outcome::Outcome;
use fuzzbox::sandbox::Target;
use fuzzbox::settings::Settings;
use std::path::Path;
use std::sync::Arc;

/// A campaign on a guest of `tests/guests`, by its folder and name, from one input: of so many executions, or until
/// something fails.
pub(crate) fn search(
    name: &str,
    input: &[u8],
    (seed, jobs): (u64, usize),
    execs: u64,
    until_failure: bool,
) -> Campaign {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("guests").join(name).with_extension("wasm");
    let settings = Settings { fuel_max: 100_000_000, input_bytes_max: 4096, ..Settings::default() };
    let target = Arc::new(Target::load(&std::fs::read(path).unwrap(), settings).unwrap());
    let workers = Workers::new(jobs, Arc::default()).unwrap();
    let mut campaign = Campaign::new(target, seed, Mutator::new(Dictionary::default()));
    let signature = |outcome: &Outcome| format!("{outcome:?}");
    campaign.start(&workers, &[input.to_vec()], execs, &signature).unwrap();
    while campaign.totals().execs < execs && !(until_failure && campaign.failures().len() > 0) {
        let left = execs - campaign.totals().execs;
        campaign.step(&workers, left, &signature).unwrap();
    }
    campaign
}
