//! `--goal` and `hunt` as a user types them.

use fuzzbox_tests::command::{Fuzzbox, Ran, example};
use serde_json::Value;

/// A harness in which `$inner` is called for inputs that begin with `magic`, and what that does.
fn harness(inner: &str) -> String {
    format!(
        r#"(module (memory (export "memory") 1)
            (func $unused (drop (i32.const 1)))
            (func $inner (param $data i32) (param $size i32) {inner})
            (func $outer (param $data i32) (param $size i32)
                (if (i32.eq (i32.load8_u (local.get $data)) (i32.const 33)) (then (drop (i32.const 2)))))
            (func (export "LLVMFuzzerTestOneInput") (param $data i32) (param $size i32) (result i32)
                (if (i32.lt_u (local.get $size) (i32.const 4)) (then (return (i32.const 0))))
                (call $outer (local.get $data) (local.get $size))
                (if (i32.eq (i32.load (local.get $data)) (i32.const 0x6769_616d))
                    (then (call $inner (local.get $data) (local.get $size))))
                (i32.const 0)))"#
    )
}

/// A directory with this module as `guest.wat`.
fn with(module: &str) -> Fuzzbox {
    let fuzzbox = Fuzzbox::new();
    write(&fuzzbox, module);
    fuzzbox
}

fn write(fuzzbox: &Fuzzbox, module: &str) {
    std::fs::write(fuzzbox.dir().join("guest.wat"), module).unwrap();
}

fn events(ran: &Ran, name: &str) -> Vec<Value> {
    ran.json_lines().into_iter().filter(|event| event["event"] == name).collect()
}

#[test]
fn a_hunt_ends_where_the_goal_is_and_keeps_the_input() {
    let fuzzbox = with(&harness(""));
    let ran = fuzzbox.run("hunt", &["guest.wat"], &["--goal", "inner", "-s", "1", "-j", "1", "--reporter", "json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let arrived = events(&ran, "arrived");
    assert_eq!((arrived.len(), &arrived[0]["goal"]), (1, &Value::from("inner")), "{ran:?}");
    assert!(arrived[0]["execs"].as_u64().unwrap() < 3000, "{ran:?}");
    let done = &events(&ran, "done")[0];
    assert!(done["stopped"] == "all goals reached" && done["strategy"] == "approach", "{done}");
    assert!(done.get("not_arrived").is_none(), "{done}");
    let input = arrived[0]["input"].as_str().unwrap();
    let shown = fuzzbox.run("replay", &["guest.wat", input], &["--json"]);
    assert_eq!(shown.code, 0, "it is in the store: {shown:?}");
    // Whoever looks again begins with it.
    let again = fuzzbox.run("hunt", &["guest.wat"], &["--goal", "inner", "--reporter", "lines"]);
    assert!(again.code == 0 && again.stdout.contains("goal: inner after "), "{again:?}");
}

#[test]
fn a_goal_that_is_not_reached_is_told() {
    let fuzzbox = with(&harness(""));
    let flags = ["--goal", "unused", "-n", "600", "-s", "1", "--reporter", "json"];
    let ran = fuzzbox.run("hunt", &["guest.wat"], &flags);
    assert_eq!(ran.code, 5, "{ran:?}");
    assert!(ran.stderr.contains("no call leads from the entry to `unused`"), "{ran:?}");
    assert_eq!(events(&ran, "done")[0]["not_arrived"], Value::from(vec!["unused"]));
}

#[test]
fn goals_are_functions_lines_and_edges() {
    let fuzzbox = Fuzzbox::new();
    let module = example("first-bug");
    let graph = fuzzbox.run("inspect", &[&module], &["--cfg", "draw"]);
    let graph: Value = serde_json::from_str(&graph.stdout).unwrap();
    let edge = graph["edges"].as_array().unwrap().iter().filter_map(|edge| edge["edge"].as_u64()).nth(1).unwrap();
    let goals = format!("draw_runs,first-bug.c:57,draw:{edge}");
    let ran = fuzzbox.run("hunt", &[&module], &["--goal", &goals, "-s", "3", "--reporter", "json"]);
    assert_eq!((ran.code, events(&ran, "arrived").len()), (0, 3), "{ran:?}");
    // And in a campaign that goes on.
    let flags = ["--goal", "draw_runs", "-n", "20000", "-s", "3", "--reporter", "json", "--store", "other"];
    let ran = fuzzbox.run("run", &[&module], &flags);
    assert_eq!(events(&ran, "arrived").len(), 1, "{ran:?}");
}

#[test]
fn goals_that_are_not_there_are_refused_with_what_is_like_them() {
    let fuzzbox = with(&harness(""));
    let module = example("first-bug");
    let cases: [(&str, &[&str], &str); 9] = [
        (&module, &["--goal", "draw_rnus"], "did you mean --goal draw_runs?"),
        (&module, &["--goal", "frist-bug.c:57"], "did you mean `first-bug.c`?"),
        (&module, &["--goal", "first-bug.c:9999"], "did you mean --goal first-bug.c:"),
        (&module, &["--goal", "draw:99999"], "there is no edge 99999 in `draw`"),
        (&module, &["--goal", "draw,none"], "goal `none` stands alone"),
        (&module, &["--strategy", "directed"], "--goal says where to get"),
        (&module, &["--strategy", "approach", "--goal", "none"], "--goal says where to get"),
        ("guest.wat", &["--goal", "guest.c:1"], "there is no function or file `guest.c`"),
        ("guest.wat", &["--goal", "7777"], "there is no function `7777`"),
    ];
    for (module, flags, words) in cases {
        let ran = fuzzbox.run("run", &[module], flags);
        assert!(ran.code == 2 && ran.stderr.contains(words), "{flags:?}: {ran:?}");
        assert!(!fuzzbox.store().exists(), "{flags:?}");
    }
    let ran = fuzzbox.run("hunt", &["guest.wat"], &[]);
    assert!(ran.code == 2 && ran.stderr.contains("there is nothing to hunt"), "{ran:?}");
    let ran = fuzzbox.run("run", &["guest.wat", &module], &["--goal", "inner"]);
    assert!(ran.code == 2 && ran.stderr.contains("goal `inner` is in one target, there are 2"), "{ran:?}");
}

#[test]
fn what_changed_since_the_build_before_is_a_goal() {
    let fuzzbox = with(&harness(""));
    let flags = ["-n", "4000", "-s", "1", "--reporter", "json"];
    let first = fuzzbox.run("run", &["guest.wat"], &[&flags[..], &["--goal", "changed"]].concat());
    assert!(first.code == 0 && first.stderr.contains("there is no older build in the store"), "{first:?}");

    write(&fuzzbox, &harness("(if (i32.gt_u (local.get $size) (i32.const 9)) (then (drop (i32.const 3))))"));
    let without = fuzzbox.run("run", &["guest.wat"], &[&flags[..], &["--goal", "none", "--store", "other"]].concat());
    assert!(without.code == 0 && without.stderr.is_empty(), "{without:?}");
    let ran = fuzzbox.run("run", &["guest.wat"], &flags);
    assert!(ran.stderr.contains("a quarter of all mutants is for what changed in 1 function: inner"), "{ran:?}");
    // The same build again: what changed before it is still what changed last.
    let ran = fuzzbox.run("hunt", &["guest.wat"], &["--goal", "changed", "-s", "1", "--reporter", "json"]);
    assert!(ran.code == 0 && ran.stderr.contains("what changed in 1 function is where to get"), "{ran:?}");
    assert_eq!(events(&ran, "arrived")[0]["goal"], "changed inner", "{ran:?}");
}
