//! `shrink` as a user types it: findings become smaller and stay the same failure, and nothing is lost.

use fuzzbox_tests::command::{Fuzzbox, example};
use serde_json::Value;

/// Finds the bug of an example, and leaves its input as it is.
fn found(target: &str) -> (Fuzzbox, Value) {
    let fuzzbox = Fuzzbox::new();
    let args = ["--execs", "2000000", "--seed", "1", "--stop-on", "first", "--no-shrink", "--reporter", "json"];
    let run = fuzzbox.run("run", &[&example(target)[..]], &args);
    assert_eq!(run.code, 1, "{run:?}");
    let done = run.json_lines().pop().unwrap();
    let finding = done["findings"][0].clone();
    (fuzzbox, finding)
}

fn text(value: &Value) -> &str {
    value.as_str().expect("text")
}

#[test]
fn a_finding_becomes_smaller_and_its_old_names_still_mean_it() {
    for target in ["first-bug", "stdin-tool"] {
        let (fuzzbox, finding) = found(target);
        let old = text(&finding["id"]);
        let original = fuzzbox.read(&format!("targets/{target}/findings/{old}/input"));
        let shrunk = fuzzbox.run("shrink", &[old], &["--json", "--jobs", "1"]);
        assert_eq!(shrunk.code, 0, "{shrunk:?}");
        let shrunk = shrunk.json_lines().remove(0);
        assert!(shrunk["input_bytes"].as_u64() < finding["input_bytes"].as_u64(), "{shrunk}");
        assert_eq!((&shrunk["signature"], &shrunk["fixed_point"]), (&finding["signature"], &Value::Bool(true)));

        for name in [old, text(&shrunk["finding"]), &text(&shrunk["input"])[..10]] {
            let repro = fuzzbox.run("repro", &[name], &["--json"]);
            let line = repro.json_lines().remove(0);
            assert_eq!((&line["id"], &line["same"]), (&shrunk["finding"], &Value::Bool(true)), "{repro:?}");
        }
        let mut show = fuzzbox.command(&["show", "--raw", text(&finding["input"])]);
        assert_eq!(show.output().unwrap().stdout, original, "the input that was found is still there");

        let again = fuzzbox.run("shrink", &[old], &["--json", "--jobs", "2"]).json_lines().remove(0);
        assert_eq!((&again["input"], &again["finding"]), (&shrunk["input"], &shrunk["finding"]));
    }
}

#[test]
fn a_file_is_shrunk_to_the_same_with_any_number_of_jobs_and_needs_no_store() {
    let (from, finding) = found("first-bug");
    let input = from.store().join(format!("targets/first-bug/findings/{}/input", text(&finding["id"])));
    let module = example("first-bug");
    let shrink = |jobs| {
        let fuzzbox = Fuzzbox::new();
        let flags = ["--json", "--jobs", jobs, "--output", "small"];
        let ran = fuzzbox.run("shrink", &[&module, input.to_str().unwrap()], &flags);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(!fuzzbox.store().exists());
        let line = ran.json_lines().remove(0);
        let small = std::fs::read(fuzzbox.dir().join("small")).unwrap();
        assert_eq!(blake3::hash(&small).to_hex().as_str(), text(&line["input"]));
        line
    };
    let one = shrink("1");
    assert_eq!(one["finding"], Value::Null);
    assert_eq!(one, shrink("3"), "executions and all");
}

#[test]
fn findings_of_a_campaign_are_shrunk_as_they_are_found() {
    let (_, as_found) = found("first-bug");
    let fuzzbox = Fuzzbox::new();
    let args = ["--execs", "2000000", "--seed", "1", "--stop-on", "first", "--reporter", "json"];
    let run = fuzzbox.run("run", &[&example("first-bug")[..]], &args);
    let done = run.json_lines().pop().unwrap();
    let shrunk = &done["findings"][0];
    assert_eq!(shrunk["signature"], as_found["signature"]);
    assert!(shrunk["input_bytes"].as_u64() < as_found["input_bytes"].as_u64());
    // What was found first can be named, too.
    assert_eq!(fuzzbox.run("repro", &[text(&as_found["id"])], &[]).code, 1);
    let again = fuzzbox.run("shrink", &[text(&shrunk["id"])], &["--json"]).json_lines().remove(0);
    assert_eq!(again["input"], shrunk["input"], "there is nothing left to do");
}

#[test]
fn what_does_not_fail_is_refused_with_a_reason() {
    let fuzzbox = Fuzzbox::new();
    std::fs::write(fuzzbox.dir().join("fine"), "fine").unwrap();
    let ran = fuzzbox.run("shrink", &[&example("json"), "fine"], &[]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("the input does not fail"), "{ran:?}");
    assert!(!fuzzbox.store().exists());
    let ran = fuzzbox.run("shrink", &["fine"], &[]);
    assert_eq!((ran.code, ran.stderr.contains("help: `fuzzbox shrink WASM fine`")), (2, true), "{ran:?}");
}
