//! `shrink` as a user types it: findings become smaller and stay the same failure, and nothing is lost.

use fuzzbox_tests::command::{Fuzzbox, example};
use serde_json::Value;

/// With it something is found of each example that can become smaller.
const SEED: &str = "4";

/// Finds the bug of an example, and leaves its input as it is. Whoever looks at comparisons finds one that is small already.
fn found(target: &str) -> (Fuzzbox, Value) {
    let fuzzbox = Fuzzbox::new();
    let args = [
        "--execs",
        "2000000",
        "--seed",
        SEED,
        "--stop-on",
        "first",
        "--no-compares",
        "--no-shrink",
        "--reporter",
        "json",
    ];
    let run = fuzzbox.run("run", &[&example(target)[..]], &args);
    assert_eq!(run.code, 1, "{run:?}");
    let done = run.json_lines().pop().unwrap();
    let finding = done["findings"][0].clone();
    (fuzzbox, finding)
}

/// Whether an input is another one, and no longer. (What is found may be as short as can be.)
fn is_simpler(shrunk: &Value, found: &Value) -> bool {
    shrunk["input_bytes"].as_u64() <= found["input_bytes"].as_u64() && shrunk["input"] != found["input"]
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
        assert!(is_simpler(&shrunk, &finding), "{shrunk}");
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
    let args = ["--execs", "2000000", "--seed", SEED, "--stop-on", "first", "--no-compares", "--reporter", "json"];
    let run = fuzzbox.run("run", &[&example("first-bug")[..]], &args);
    let done = run.json_lines().pop().unwrap();
    let shrunk = &done["findings"][0];
    assert_eq!(shrunk["signature"], as_found["signature"]);
    assert!(is_simpler(shrunk, &as_found), "{shrunk}");
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

/// A list whose length is drawn first has no element of 900 and more.
const LENGTH_LIST: &str = r#"(module
    (import "fuzzbox_v1" "draw_int" (func $draw_int (param i64 i64 i64) (result i64)))
    (memory (export "memory") 1)
    (func (export "fbx_length_list") (local $left i64)
        (local.set $left (call $draw_int (i64.const 1) (i64.const 100) (i64.const 1)))
        (loop $next
            (if (i64.ge_s (call $draw_int (i64.const 0) (i64.const 1000) (i64.const 0)) (i64.const 900))
                (then unreachable))
            (local.set $left (i64.sub (local.get $left) (i64.const 1)))
            (br_if $next (i64.ne (local.get $left) (i64.const 0))))))"#;

#[test]
fn what_a_guest_draws_is_shrunk_by_its_choices() {
    let fuzzbox = Fuzzbox::new();
    std::fs::write(fuzzbox.dir().join("list.wat"), LENGTH_LIST).unwrap();
    let choices = [49].into_iter().chain((0..50).map(|at| if at == 17 { 950 } else { at * 13 }));
    let stream = fuzzbox::stream::encode(&choices.map(fuzzbox::stream::Choice::Index).collect::<Vec<_>>());
    std::fs::write(fuzzbox.dir().join("found"), stream).unwrap();
    for jobs in ["1", "2"] {
        let ran = fuzzbox.run("shrink", &["list.wat", "found"], &["--output", "small", "--json", "--jobs", jobs]);
        assert_eq!(ran.code, 0, "{ran:?}");
        let small = std::fs::read(fuzzbox.dir().join("small")).unwrap();
        assert_eq!(fuzzbox::stream::decode(&small), [0, 900].map(fuzzbox::stream::Choice::Index));
        assert_eq!(ran.json_lines()[0]["minimal"], Value::Bool(true), "{ran:?}");
    }
}
