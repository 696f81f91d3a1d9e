//! A kill at any moment leaves a valid store.

use fuzzbox::engine::Rng;
use fuzzbox_tests::command::{Fuzzbox, example};
use std::collections::BTreeSet;
use std::process::Stdio;
use std::time::Duration;

/// Kills.
const KILLS: u64 = 50;

#[test]
fn a_kill_at_any_moment_leaves_a_valid_store() {
    let fuzzbox = Fuzzbox::new();
    let module = example("first-bug");
    let mut rng = Rng::of_task(50, 0, 0);
    // A kill may leave a finding beside the better one that replaces it, so signatures are counted.
    let mut known = BTreeSet::new();
    for kill in 0..KILLS {
        let seed = kill.to_string();
        let mut child = fuzzbox
            .command(&["run", &module, "--seed", &seed])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Not a wait for something to happen: the moment is what is tested, and every moment will do.
        std::thread::sleep(Duration::from_millis(rng.below(700) as u64));
        child.kill().unwrap();
        child.wait().unwrap();
        if !fuzzbox.store().exists() {
            continue;
        }
        let ls = fuzzbox.run("ls", &[], &["--json"]);
        assert!(ls.code == 0 || known.is_empty(), "{ls:?}");
        for line in ls.json_lines() {
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
}
