//! What is left of a finding when what draws it has changed: its value, its choices, or these where their spans are now.

use fuzzbox::stream::{Choice, decode};
use fuzzbox_tests::command::Fuzzbox;
use fuzzbox_tests::guest;
use serde_json::Value;

/// A module's path as an argument.
fn module(name: &str) -> String {
    let path = guest(name).unwrap_or_else(|error| panic!("{error:#}"));
    path.to_str().expect("a path in text").to_owned()
}

/// Finds the bug with the first version of the generator, made as small as it gets. Returns the finding's id.
fn found(fuzzbox: &Fuzzbox, entry: &str) -> String {
    let args = ["--execs", "200000", "--seed", "1", "--stop-on", "first", "--reporter", "json", "--entry", entry];
    let run = fuzzbox.run("run", &[&module("orders")], &args);
    assert_eq!(run.code, 1, "{run:?}");
    let finding = run.json_lines().pop().unwrap()["findings"][0].clone();
    assert_eq!(finding["signature"], "failed: sold what was not there");
    let id = finding["id"].as_str().unwrap().to_owned();
    // One order, which sells one.
    let input = fuzzbox.read(&format!("targets/orders%3A{entry}/findings/{id}/input"));
    assert_eq!(decode(&input), [1, 1, 1, 0].map(Choice::Index));
    id
}

fn repro(fuzzbox: &Fuzzbox, id: &str, edit: u32, flags: &[&str]) -> Value {
    let on = module(&format!("orders-edit{edit}"));
    let ran = fuzzbox.run("repro", &[id], &[&["--on", &on, "--json"], flags].concat());
    let report = ran.json_lines().remove(0);
    assert_eq!(ran.code, i32::from(!report["signature"].is_null()), "{ran:?}");
    report
}

#[test]
fn a_value_fails_whatever_draws_it_and_choices_do_where_they_still_mean_it() {
    let fuzzbox = Fuzzbox::new();
    let id = found(&fuzzbox, "fbx_orders");
    for edit in 1..=3 {
        let report = repro(&fuzzbox, &id, edit, &[]);
        assert_eq!((&report["same"], &report["by"]), (&Value::Bool(true), &Value::from("value")), "{report}");
        let by = |way| repro(&fuzzbox, &id, edit, &["--by", way])["same"].as_bool().unwrap();
        assert_eq!((by("value"), by("choices"), by("spans")), (true, edit == 3, edit != 1), "edit {edit}");
    }
    let told = fuzzbox.run("repro", &[&id], &["--on", &module("orders-edit1")]);
    assert!(told.stdout.contains("reproduced by its value: the signature is the same"), "{told:?}");
    // On its own build there is nothing to look for.
    let same = fuzzbox.run("repro", &[&id], &["--json"]).json_lines().remove(0);
    assert_eq!((&same["by"], &same["tried"]), (&Value::from("choices"), &Value::from(Vec::<String>::new())));
}

#[test]
fn without_a_value_choices_are_found_again_by_their_spans() {
    let fuzzbox = Fuzzbox::new();
    let id = found(&fuzzbox, "fbx_orders_alone");
    let by = |edit| {
        let report = repro(&fuzzbox, &id, edit, &[]);
        report["same"].as_bool().unwrap().then(|| (report["by"].clone(), report["tried"].clone()))
    };
    let (way, tried) = by(1).expect("the alternatives of the stored choices are others, but a search finds them");
    assert_eq!((way, tried), ("search".into(), vec!["choices", "spans"].into()));
    assert_eq!(by(2), Some(("spans".into(), vec!["choices"].into())));
    assert_eq!(by(3), Some(("choices".into(), Vec::<String>::new().into())));
    let told = fuzzbox.run("repro", &[&id], &["--on", &module("orders-edit2")]);
    assert!(told.stdout.contains("reproduced by its choices, found again by their spans"), "{told:?}");
    assert!(told.stdout.contains("draw_orders: 1\n"), "the draw in front is the simplest: {told:?}");
}

#[test]
fn a_guest_in_rust_takes_over_the_value_that_it_checks() {
    let fuzzbox = Fuzzbox::new();
    let module = module("round-trip");
    let args = ["--execs", "500000", "--seed", "1", "--stop-on", "first", "--reporter", "json"];
    let run = fuzzbox.run("run", &[&module], &args);
    let finding = run.json_lines().pop().unwrap()["findings"][0].clone();
    let id = finding["id"].as_str().unwrap_or_else(|| panic!("{run:?}"));
    let by = ["--on", &module, "--by", "value", "--json"];
    let report = fuzzbox.run("repro", &[id], &by).json_lines().remove(0);
    assert_eq!((&report["same"], &report["by"]), (&Value::Bool(true), &Value::from("value")), "{report}");
}

#[test]
fn what_was_drawn_is_shown_wherever_a_finding_is() {
    let fuzzbox = Fuzzbox::new();
    let id = found(&fuzzbox, "fbx_orders");
    let input = format!(".fuzzbox/targets/orders%3Afbx_orders/findings/{id}/input");
    let replay = fuzzbox.run("replay", &[&module("orders"), &input], &["--entry", "fbx_orders"]);
    let shown = [fuzzbox.run("show", &[&id], &[]), fuzzbox.run("repro", &[&id], &[]), replay];
    for ran in &shown {
        assert!(ran.stdout.contains("choices\n"), "{ran:?}");
        assert!(ran.stdout.contains("1 of 0..=2, 1"), "an order, which sells one: {ran:?}");
    }
    let json = [fuzzbox.run("show", &[&id], &["--json"]), fuzzbox.run("shrink", &[&id], &["--json"])];
    for (ran, name) in json.iter().zip(["decoded", "drawn"]) {
        let lines = &ran.json_lines()[0][name]["choices"];
        assert!(lines.as_array().is_some_and(|lines| lines.len() > 1), "{ran:?}");
    }
    // The value is an object of the store, and the check takes it as an input.
    let value = json[0].json_lines()[0]["drawn"]["value"]["object"].as_str().unwrap().to_owned();
    let check = fuzzbox.run("replay", &[&module("orders"), &value], &["--entry", "fbx_check_orders", "--json"]);
    assert_eq!(check.json_lines()[0]["signature"], "failed: sold what was not there", "{check:?}");
}

#[test]
fn parts_that_do_not_matter_are_marked_where_they_are_drawn() {
    let fuzzbox = Fuzzbox::new();
    let wat = r#"(module
        (import "fuzzbox_v1" "draw_int" (func $int (param i64 i64 i64) (result i64)))
        (func (export "fbx_first")
            (local $first i64)
            (local.set $first (call $int (i64.const 0) (i64.const 9) (i64.const 0)))
            (drop (call $int (i64.const 0) (i64.const 9) (i64.const 0)))
            (if (i64.eq (local.get $first) (i64.const 3)) (then unreachable))))"#;
    std::fs::write(fuzzbox.dir().join("first.wat"), wat).unwrap();
    std::fs::write(fuzzbox.dir().join("found"), [6, 16]).unwrap();
    let ran = fuzzbox.run("shrink", &["first.wat", "found"], &["--output", "small"]);
    assert!(ran.stdout.contains("2 of 2 choices are left"), "{ran:?}");
    assert!(ran.stdout.contains("choices\n  3, 0 (any)\n"), "{ran:?}");
}
