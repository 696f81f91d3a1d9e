//! The planted bug of every example is found soon, and shrunk to its simplest form, whatever the seed is.

use anyhow::{Context as _, Result};
use fuzzbox_guest::native::{Choice, decode, encode};
use fuzzbox_tests::command::Fuzzbox;
use fuzzbox_tests::guest;

/// 20 are what is promised.
const SEEDS: u32 = 8;

/// Runs a campaign with each seed, in at most `execs` executions (about twice what the worst seed takes). All find one
/// failure, which the stream of `smallest` shows.
fn is_found(name: &str, property: &str, execs: u64, smallest: &[Choice]) -> Result<()> {
    let module = guest(name)?;
    let module = module.to_str().context("a path in text")?;
    let fuzzbox = Fuzzbox::new();
    let (execs_text, entry) = (execs.to_string(), format!("fbx_{property}"));
    let mut most = 0;
    let seeds = std::env::var("FUZZBOX_FOUND_SEEDS").map_or(SEEDS, |seeds| seeds.parse().expect("a number"));
    for seed in 1..=seeds {
        // Nothing is left of the campaign before but compiled code.
        fuzzbox.delete("targets");
        let seed = seed.to_string();
        let flags = ["--entry", &entry, "--seed", &seed, "--execs", &execs_text, "--stop-on", "first", "--jobs", "1"];
        let run = fuzzbox.run("run", &[module], &[&flags[..], &["--reporter", "json"]].concat());
        let lines = run.json_lines();
        let done = lines.last().context("there is output")?;
        let findings = done["findings"].as_array().context("a list")?;
        assert_eq!((run.code, findings.len()), (1, 1), "{name}, seed {seed}: {done}");
        let id = findings[0]["id"].as_str().context("an id")?;
        let input = fuzzbox.read(&format!("targets/{name}%3A{entry}/findings/{id}/input"));
        assert_eq!(decode(&input), smallest, "{name}, seed {seed}");
        assert_eq!(input, encode(smallest));
        most = most.max(done["execs"].as_u64().context("a number")?);
    }
    println!("{name}: at most {most} executions");
    Ok(())
}

fn indices(indices: &[u64]) -> Vec<Choice> {
    indices.iter().map(|&index| Choice::Index(index)).collect()
}

#[test]
fn the_maps_subtree_at_the_wrong_end_is_found() -> Result<()> {
    // There is an action, an insertion, its key and its value; at last a removal. That this is the simplest failure is
    // enumerated in a test of the example.
    let insertions = [0, 1, 8, 9, 6, 7, 4, 5, 2, 3].map(|key| [1, 1, key, 0]);
    is_found("btree-map", "agrees_with_model", 2_000, &indices(&[insertions.as_flattened(), &[1, 0, 7]].concat()))
}

#[test]
fn the_livelock_of_the_network_is_found() -> Result<()> {
    // Each of the two messages that a leader sends in a round is lost, three rounds long; a test of the example shows that no
    // other six losses and no fewer do.
    is_found("lossy-network", "elects_a_leader", 600, &indices(&[1; 6]))
}

#[test]
fn the_text_that_does_not_come_back_is_found() -> Result<()> {
    // A record of one field, whose name is a text of two letters and whose data is the same text; no more fields.
    let aa = || Choice::Blob(vec![0, 0]);
    let index = Choice::Index;
    is_found("round-trip", "comes_back", 4_000, &[index(5), index(1), aa(), index(3), aa(), index(0)])
}

#[test]
fn the_division_by_shifting_is_found() -> Result<()> {
    // Divide, the variable, a constant, 2; the variable is -1.
    is_found("optimiser", "same_value", 65_000, &indices(&[5, 1, 0, 3, 2]))
}
