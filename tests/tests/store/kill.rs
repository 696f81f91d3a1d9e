//! A kill at any moment leaves a valid store.
//!
//! `FUZZBOX_KILLS=300` kills as often; every second time two processes at once.

use fuzzbox::engine::Rng;
use fuzzbox_tests::command::{Fuzzbox, example};
use std::collections::BTreeSet;
use std::process::{Child, Stdio};
use std::time::Duration;

/// Kills, usually.
const KILLS: u64 = 50;

/// Begins a campaign that goes on for ever.
fn campaign(fuzzbox: &Fuzzbox, module: &str, seed: u64) -> Child {
    let seed = seed.to_string();
    let mut command = fuzzbox.command(&["run", module, "--seed", &seed]);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

#[test]
fn a_kill_at_any_moment_leaves_a_valid_store() {
    let kills = std::env::var("FUZZBOX_KILLS").ok().and_then(|count| count.parse().ok()).unwrap_or(KILLS);
    let fuzzbox = Fuzzbox::new();
    let module = example("first-bug");
    let mut rng = Rng::of_task(50, 0, 0);
    // A kill may leave a finding beside the better one that replaces it, so signatures are counted.
    let mut known = BTreeSet::new();
    let mut corpus = 0;
    for kill in 0..kills {
        let mut children = vec![campaign(&fuzzbox, &module, kill)];
        if kill % 2 == 1 {
            children.push(campaign(&fuzzbox, &module, kill + kills));
        }
        // Not a wait for something to happen: the moment is what is tested, and every moment will do.
        for child in &mut children {
            std::thread::sleep(Duration::from_millis(rng.below(700) as u64));
            child.kill().unwrap();
            child.wait().unwrap();
        }
        if !fuzzbox.store().exists() {
            continue;
        }
        let ls = fuzzbox.run("ls", &[], &["--json"]);
        assert!(ls.code == 0 || known.is_empty(), "{ls:?}");
        assert!(!ls.stderr.contains("damaged"), "{ls:?}");
        for line in ls.json_lines() {
            let inputs = line["corpus"].as_u64().unwrap();
            assert!(inputs >= corpus, "inputs were lost by kill {kill}: {corpus}, then {inputs}");
            corpus = inputs;
            let findings = line["findings"].as_array().unwrap();
            let signatures: BTreeSet<_> = findings.iter().map(|finding| finding["signature"].to_string()).collect();
            assert!(signatures.is_superset(&known), "a finding was lost by kill {kill}");
            known = signatures;
            for finding in findings {
                let repro = fuzzbox.run("repro", &[&finding["id"].as_str().unwrap()[..16]], &["--json"]);
                assert_eq!(repro.code, 1, "{repro:?}");
                assert_eq!(repro.json_lines()[0]["same"], true);
            }
        }
    }
    assert!(!known.is_empty(), "no run lived long enough to find the bug");
    let run = fuzzbox.run("run", &[&module], &["--execs", "20000", "--seed", "1", "--reporter", "json"]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(!run.stderr.contains("warning"), "{run:?}");
    let left = std::fs::read_dir(fuzzbox.store().join("tmp")).unwrap().count();
    assert_eq!(left, 0, "what was killed left something behind");
}
