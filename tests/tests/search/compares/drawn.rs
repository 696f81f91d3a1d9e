//! What guests draw and then compare is changed where they drew it.

use super::{campaign, search};
use fuzzbox::sandbox::{Candidate, Code, CodeCache, Target};
use fuzzbox::settings::Settings;
use fuzzbox_tests::found::Found;
use fuzzbox_tests::guests::guest;
use std::sync::Arc;

/// Executions within which each of [`GOALS`] falls. Until all code has its quick variants, nothing is compared, which is
/// most of them where an execution is as short as these.
const EXECS: u64 = 200_000;

/// Properties of `tests/guests/values`.
const GOALS: [&str; 15] = [
    "a_wide_integer",
    "an_integer_that_another_determines",
    "a_product",
    "a_short_interval",
    "a_prefix",
    "a_number_in_text",
    "characters",
    "a_list_of_three",
    "a_signature",
    "what_is_drawn_behind_a_list",
    "an_array_of_words",
    "a_check_sum",
    "a_float_of_32_bits",
    "small_integers",
    "an_index",
];

/// Properties of one module, each a target; code is compiled once for all.
struct Module {
    bytes: Vec<u8>,
    code: CodeCache,
    _folder: tempfile::TempDir,
}

impl Module {
    fn new() -> Self {
        let path = guest("values").unwrap_or_else(|error| panic!("{error:#}"));
        let folder = tempfile::tempdir().unwrap();
        Self { bytes: std::fs::read(path).unwrap(), code: CodeCache::in_dir(folder.path()), _folder: folder }
    }

    fn property(&self, name: &str) -> Arc<Target> {
        let settings = Settings { entry: Some(format!("fbx_{name}")), input_bytes_max: 4096, ..Settings::default() };
        let candidate = Candidate::new(&self.bytes, settings).unwrap();
        Arc::new(Target::compiled(candidate, &self.code, Code::Optimised).unwrap())
    }
}

#[test]
fn drawn_values_are_found_that_nobody_draws_by_chance() {
    let module = Module::new();
    let seeds = std::env::var("FUZZBOX_DRAWN_SEEDS").map_or(1, |seeds| seeds.parse().unwrap());
    let mut missed = Vec::new();
    for name in GOALS {
        let target = module.property(name);
        for seed in 1..=seeds {
            let found = search(campaign(&target, seed), 1, EXECS, true);
            println!("{name}, seed {seed}: {} in {}", found.failures().len(), found.totals().execs);
            if found.failures().len() == 0 {
                missed.push((name, seed));
            }
        }
    }
    assert!(missed.is_empty(), "{missed:?}");
    let target = module.property("a_wide_integer");
    let without = search(campaign(&target, 1).without_compares(), 1, EXECS, true);
    assert_eq!(without.failures().len(), 0, "chance finds it, so it is no goal");
}

#[test]
fn what_is_drawn_is_found_alike_with_two_workers() {
    let module = Module::new();
    for name in ["a_list_of_three", "two_variants_in_a_list"] {
        let target = module.property(name);
        let search = |jobs| search(campaign(&target, 7), jobs, EXECS / 2, false);
        let (one, two) = (search(1), search(2));
        assert!(one.totals().compared > 0);
        assert_eq!(one.corpus().hash(), two.corpus().hash(), "{name}");
        assert_eq!(Found::of(&one), Found::of(&two), "{name}");
        assert_eq!(one.totals(), two.totals(), "{name}");
    }
}
