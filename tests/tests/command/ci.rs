//! `fuzzbox ci`: what is known of all targets is tried first, then they are fuzzed, and a table says what came of it.

use fuzzbox_tests::command::{Fuzzbox, Ran};
use fuzzbox_tests::found::if_begins_with;
use serde_json::Value;
use std::fs;

/// A guest that fails for some words.
fn write(fuzzbox: &Fuzzbox, name: &str, failing: &[&str]) {
    let words: String = failing.iter().map(|word| if_begins_with(word, "unreachable")).collect();
    let others: String = ["ab", "cde"].iter().map(|word| if_begins_with(word, "nop")).collect();
    let module = format!(
        r#"(module
            (memory (export "memory") 1)
            (func $fails (param $data i32) (param $size i32) {words})
            (func $others (param $data i32) (param $size i32) {others})
            (func (export "LLVMFuzzerTestOneInput") (param $data i32) (param $size i32) (result i32)
                (if (i32.lt_u (local.get $size) (i32.const 4)) (then (return (i32.const 0))))
                (call $fails (local.get $data) (local.get $size))
                (call $others (local.get $data) (local.get $size))
                (i32.const 0)))"#
    );
    fs::write(fuzzbox.dir().join(name), wat::parse_str(module).unwrap()).unwrap();
}

/// A store that knows two targets, one of them with two findings.
fn fuzzbox() -> Fuzzbox {
    let fuzzbox = Fuzzbox::new();
    fs::create_dir(fuzzbox.dir().join("inputs")).unwrap();
    for word in ["bug1", "bug2", "ab..", "cde."] {
        fs::write(fuzzbox.dir().join("inputs").join(word), word).unwrap();
    }
    write(&fuzzbox, "a.wasm", &["bug1", "bug2"]);
    write(&fuzzbox, "b.wasm", &[]);
    let flags = ["--corpus", "inputs", "--seed", "1", "--execs", "2000", "-q"];
    assert_eq!(fuzzbox.run("run", &["a.wasm", "b.wasm"], &flags).code, 1);
    fuzzbox
}

fn ci(fuzzbox: &Fuzzbox, flags: &[&str]) -> Ran {
    let flags = [&["--seed", "1", "--execs", "3000", "--jobs", "1"], flags].concat();
    fuzzbox.run("ci", &["a.wasm", "b.wasm"], &flags)
}

/// The events in their order, and the last one's targets.
fn told(ran: &Ran) -> (Vec<String>, Vec<Value>) {
    let events = ran.json_lines();
    let names = events.iter().map(|event| event["event"].as_str().unwrap().to_owned()).collect();
    (names, events.last().unwrap_or_else(|| panic!("{ran:?}"))["targets"].as_array().unwrap().clone())
}

#[test]
fn what_is_known_is_tried_first_and_a_table_says_what_came_of_it() {
    let fuzzbox = fuzzbox();
    write(&fuzzbox, "a.wasm", &["bug1"]);
    let ran = ci(&fuzzbox, &["--reporter", "json"]);
    let (events, targets) = told(&ran);
    let last = |event: &str| events.iter().rposition(|name| name == event).unwrap();
    let first = |event: &str| events.iter().position(|name| name == event).unwrap();
    assert!(last("start") < first("done") && last("retraced") < first("done"), "{events:?}");
    assert_eq!((events.last().unwrap().as_str(), ran.code), ("checked", 1), "{ran:?}");
    let figures = |target: &Value| ["open", "fixed", "new"].map(|key| target[key].as_u64().unwrap());
    assert_eq!(targets.iter().map(figures).collect::<Vec<_>>(), [[1, 1, 0], [0, 0, 0]], "{targets:?}");
    assert_eq!((&targets[0]["retraced"]["unchanged"], &targets[1]["retraced"]), (&Value::from(2), &Value::Null));
    for target in &targets {
        assert!(target["inputs"].as_u64().unwrap() > 3 && target["execs"] == 3000, "{target}");
    }

    // What is open is a failure, unless only news are.
    let again = ci(&fuzzbox, &["--reporter", "lines", "--fail-on", "new"]);
    let table: Vec<&str> = again.stdout.lines().rev().take(3).collect();
    assert!(table[2].starts_with("target") && table[2].ends_with("executions"), "{again:?}");
    assert!(table[1].starts_with("a ") && table[0].starts_with("b "), "{again:?}");
    assert_eq!(again.code, 0);
    write(&fuzzbox, "b.wasm", &["bug1"]);
    let worse = ci(&fuzzbox, &["--reporter", "json", "--fail-on", "new", "--corpus", "inputs"]);
    let (_, targets) = told(&worse);
    assert_eq!((worse.code, figures(&targets[0]), figures(&targets[1])), (1, [1, 1, 0], [1, 0, 1]), "{worse:?}");
}

#[test]
fn the_time_is_for_all_targets_together_and_nothing_known_is_left_out() {
    let fuzzbox = fuzzbox();
    write(&fuzzbox, "a.wasm", &[]);
    let ran = fuzzbox.run("ci", &["a.wasm", "b.wasm"], &["--time", "1s", "--reporter", "json"]);
    let (_, targets) = told(&ran);
    assert_eq!((ran.code, targets.len(), &targets[0]["fixed"]), (0, 2, &Value::from(2)), "{ran:?}");
    let done: Vec<Value> = ran.json_lines().into_iter().filter(|event| event["event"] == "done").collect();
    assert!(done.iter().all(|done| done["stopped"] == "--time reached" && done["execs"].as_u64().unwrap() > 4));
}
