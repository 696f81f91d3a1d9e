//! Processes that use one store at the same time: `FUZZBOX_SHARED_TIME=60s` lets them do so for a minute.

use fuzzbox_tests::command::Fuzzbox;
use fuzzbox_tests::found::if_begins_with;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::process::Stdio;

/// A guest with a failure for each of two words, and more to be found.
fn module() -> Vec<u8> {
    let fails = |number: u32| {
        format!(
            "(func $bug{number} (param $data i32) (param $size i32) {})",
            if_begins_with(&format!("bug{number}"), "unreachable")
        )
    };
    let words = ["ab", "cde", "xyz0", "q1w2", "json"].map(|word| if_begins_with(word, "nop")).join("\n");
    wat::parse_str(format!(
        r#"(module
            (memory (export "memory") 1)
            {} {}
            (func $words (param $data i32) (param $size i32) {words})
            (func (export "LLVMFuzzerTestOneInput") (param $data i32) (param $size i32) (result i32)
                (if (i32.lt_u (local.get $size) (i32.const 4)) (then (return (i32.const 0))))
                (call $bug1 (local.get $data) (local.get $size))
                (call $bug2 (local.get $data) (local.get $size))
                (call $words (local.get $data) (local.get $size))
                (i32.const 0)))"#,
        fails(1),
        fails(2),
    ))
    .unwrap()
}

#[test]
fn two_campaigns_and_who_lists_share_a_store() {
    let fuzzbox = Fuzzbox::new();
    fs::write(fuzzbox.dir().join("t.wasm"), module()).unwrap();
    for (folder, words) in [("a", ["bug1", "ab..", "xyz0"]), ("b", ["bug2", "cde.", "q1w2"])] {
        fs::create_dir(fuzzbox.dir().join(folder)).unwrap();
        words.iter().for_each(|word| fs::write(fuzzbox.dir().join(folder).join(word), word).unwrap());
    }
    let time = std::env::var("FUZZBOX_SHARED_TIME").ok();
    let limit = time.as_ref().map_or(["--execs", "40000"], |time| ["--time", time]);
    let campaign = |seed: &str, corpus: &str| {
        let flags = ["--seed", seed, "--corpus", corpus, "--jobs", "1", "--reporter", "json", "--no-compares"];
        let mut command = fuzzbox.command(&[&["run", "t.wasm"], &flags[..], &limit[..]].concat());
        let output = fs::File::create(fuzzbox.dir().join(format!("{corpus}.jsonl"))).unwrap();
        command.stdout(output).stderr(Stdio::piped()).spawn().unwrap()
    };
    let mut campaigns = [("1", "a"), ("2", "b")].map(|(seed, corpus)| campaign(seed, corpus));
    let (mut listed, mut inputs) = (0, 0);
    while campaigns.iter_mut().any(|child| child.try_wait().unwrap().is_none()) {
        let ls = fuzzbox.run("ls", &[], &["--json"]);
        assert!(ls.code == 0 || ls.stderr.contains("there is no store"), "{ls:?}");
        assert!(!ls.stderr.contains("warning"), "{ls:?}");
        for target in ls.json_lines() {
            let now = target["corpus"].as_u64().unwrap();
            assert!(now >= inputs, "{inputs} inputs, then {now}");
            inputs = now;
        }
        listed += 1;
    }
    assert!(listed > 0);
    let (mut found, mut kept) = (BTreeSet::new(), BTreeSet::new());
    for (child, corpus) in campaigns.into_iter().zip(["a", "b"]) {
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), said.as_str()), (Some(1), ""));
        let events = fs::read_to_string(fuzzbox.dir().join(format!("{corpus}.jsonl"))).unwrap();
        for event in events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
            match event["event"].as_str() {
                Some("finding") => drop(found.insert(event["signature"].to_string())),
                Some("new_edge") => drop(kept.insert(event["input"].as_str().unwrap().to_owned())),
                _ => {}
            }
        }
    }
    let list = String::from_utf8(fuzzbox.read("targets/t/corpus")).unwrap();
    let there: BTreeSet<_> = list.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect();
    assert!(kept.is_subset(&there), "{:?} are missing", kept.difference(&there));
    let ls = fuzzbox.run("ls", &[], &["--json", "--open"]).json_lines();
    let stored: BTreeSet<_> = ls
        .iter()
        .flat_map(|target| target["findings"].as_array().unwrap())
        .collect::<Vec<_>>()
        .iter()
        .map(|finding| finding["signature"].to_string())
        .collect();
    assert!(found.len() == 2 && stored == found, "{found:?}, but {stored:?}");
    println!("{} inputs of both are kept, and {} findings; listed {listed} times", kept.len(), stored.len());
}
