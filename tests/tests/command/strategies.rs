//! `run --strategy`: what it is told, recorded, and refused as.

use fuzzbox_tests::command::Fuzzbox;
use std::fs;

/// Fails if its input is one byte long and that is a `b`.
const BYTE: &str = r#"(module (memory (export "memory") 1)
    (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32)
        (if (i32.ne (local.get 1) (i32.const 1)) (then (return (i32.const 0))))
        (if (i32.eq (i32.load8_u (local.get 0)) (i32.const 98)) (then unreachable))
        (i32.const 0)))"#;

/// Draws one of three, and then one of two.
const DRAWS: &str = r#"(module (import "fuzzbox_v1" "draw_choice" (func $choice (param i32 i32) (result i32)))
    (memory (export "memory") 1)
    (func (export "fbx_two")
        (drop (call $choice (i32.const 3) (i32.const 0)))
        (drop (call $choice (i32.const 2) (i32.const 0)))))"#;

#[test]
fn a_strategy_is_told_with_the_seed_and_kept_with_a_finding() {
    let fuzzbox = Fuzzbox::new();
    fs::write(fuzzbox.dir().join("byte.wat"), BYTE).unwrap();
    let args = ["--execs", "5000", "--seed", "1", "--reporter", "json", "--strategy", "enumerate"];
    let run = fuzzbox.run("run", &["byte.wat"], &args);
    assert_eq!(run.code, 1, "{run:?}");
    let lines = run.json_lines();
    let of = |event: &str| lines.iter().find(|line| line["event"] == event).unwrap();
    assert_eq!(of("start")["strategy"], "enumerate");
    assert_eq!(of("done")["strategy"], "enumerate");
    let id = of("done")["findings"][0]["id"].as_str().unwrap();
    let record: serde_json::Value =
        serde_json::from_slice(&fuzzbox.read(&format!("targets/byte/findings/{id}/finding.json"))).unwrap();
    assert_eq!(record["strategy"], "enumerate");
    // For people only if they asked for another one than all have.
    let lines = |flags: &[&str]| {
        fuzzbox
            .run("run", &["byte.wat"], &[&["--execs", "50", "--seed", "1", "--reporter", "lines"], flags].concat())
            .stdout
    };
    assert!(lines(&["--strategy", "mcmc:hype:bayes+restarts"]).contains("seed 1, strategy mcmc:bayes:hype+restarts,"));
    assert!(!lines(&["--strategy", "auto"]).contains("strategy"));
}

#[test]
fn what_was_executed_completely_ends_the_campaign() {
    let fuzzbox = Fuzzbox::new();
    fs::write(fuzzbox.dir().join("two.wat"), DRAWS).unwrap();
    let run = fuzzbox.run("run", &["two.wat"], &["--seed", "1", "--reporter", "json", "--strategy", "tree:explore"]);
    assert_eq!(run.code, 0, "{run:?}");
    let lines = run.json_lines();
    let done = lines.last().unwrap();
    // The empty stream, and one for each leaf.
    assert_eq!((&done["execs"], &done["stopped"]), (&7.into(), &"every input executed that the strategy has".into()));
}

#[test]
fn unknown_strategies_are_refused_with_those_that_there_are() {
    let fuzzbox = Fuzzbox::new();
    fs::write(fuzzbox.dir().join("byte.wat"), BYTE).unwrap();
    for (strategy, told) in [
        ("magic", "there is no strategy `magic`, but auto, fuzz, quickcheck, enumerate, walkers, "),
        ("mcmc:magic", "`mcmc` has no option `magic`, but hastings, decay, bayes, hype"),
        ("mcmc+magic", "nothing that can be put on a strategy is called `magic`, but swarm, anneal, restarts"),
        ("fuzz+swarm:deps", "strategy `swarm:deps` is for targets that draw (`fuzzbox_v1`), this one takes bytes"),
        ("tree", "strategy `tree` is for targets that draw (`fuzzbox_v1`), this one takes bytes"),
    ] {
        let ran = fuzzbox.run("run", &["byte.wat"], &["--strategy", strategy, "--execs", "10"]);
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.stderr.contains(told) && ran.stderr.matches("error: ").count() == 1, "{ran:?}");
    }
    assert!(!fuzzbox.store().exists());
    let help = fuzzbox.run("run", &[], &["--help"]).stdout;
    assert!(help.contains("  mcmc[:hastings][:decay][:bayes][:hype]: ") && help.contains("  +restarts: "), "{help}");
}

#[test]
fn leaves_are_listed_once_each() {
    let fuzzbox = Fuzzbox::new();
    fs::write(fuzzbox.dir().join("two.wat"), DRAWS).unwrap();
    fs::write(fuzzbox.dir().join("byte.wat"), BYTE).unwrap();
    let ran = fuzzbox.run("leaves", &["two.wat"], &[]);
    assert_eq!((ran.code, &ran.stdout[..]), (0, "0 0\n0 1\n1 0\n1 1\n2 0\n2 1\n6 leaves\n"), "{ran:?}");
    let some = fuzzbox.run("leaves", &["two.wat"], &["--max", "4", "--json"]).json_lines().remove(0);
    assert_eq!((some["leaves"].as_array().unwrap().len(), &some["complete"]), (4, &false.into()));
    let refused = fuzzbox.run("leaves", &["byte.wat"], &[]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(!fuzzbox.store().exists());
}

/// Takes streams with evenly many ones, of alternatives 0 and 1.
const EVEN: &str = r#"(module (import "fuzzbox_v1" "draw_choice" (func $choice (param i32 i32) (result i32)))
    (import "fuzzbox_v1" "remaining" (func $remaining (result i32)))
    (import "fuzzbox_v1" "assume" (func $assume (param i32)))
    (memory (export "memory") 1)
    (func (export "fbx_even") (local $odd i32)
        (block $end
            (loop $again
                (br_if $end (i32.eqz (call $remaining)))
                (local.set $odd (i32.xor (local.get $odd) (call $choice (i32.const 2) (i32.const 0))))
                (br $again)))
        (call $assume (i32.eqz (local.get $odd)))))"#;

#[test]
fn states_and_the_automaton_of_a_guest_are_told() {
    let fuzzbox = Fuzzbox::new();
    fs::write(fuzzbox.dir().join("even.wat"), EVEN).unwrap();
    let ran = fuzzbox.run("states", &["even.wat"], &["--max", "2000"]);
    assert_eq!((ran.code, &ran.stdout[..]), (0, "0: (nothing)\n1: 1\n2 states after 2,000 executions\n"), "{ran:?}");
    let states = fuzzbox.run("states", &["even.wat"], &["--max", "2000", "--json"]).json_lines().remove(0);
    assert_eq!(states["states"], serde_json::json!([[], [1]]));
    assert_eq!(states["experiments"].as_array().unwrap().len(), 3);
    let dot = fuzzbox.run("states", &["even.wat"], &["--max", "2000", "--dot"]).stdout;
    assert!(dot.starts_with("digraph experiments {") && dot.contains("label=\"1: 1\""), "{dot}");

    let learned = fuzzbox.run("learn", &["even.wat"], &["--json"]).json_lines().remove(0);
    assert_eq!(learned["accepting"], serde_json::json!([true, false]), "{learned}");
    assert_eq!(learned["next"], serde_json::json!([[0, 1], [1, 0]]));
    assert_eq!(learned["complete"], true);
    let dot = fuzzbox.run("learn", &["even.wat"], &[]).stdout;
    assert!(dot.starts_with("// 2 states after ") && dot.contains("  1 -> 0 [label=\"1\"];"), "{dot}");
    assert!(!fuzzbox.store().exists());
}

#[test]
fn searches_are_measured_by_many_seeds() {
    let fuzzbox = Fuzzbox::new();
    fs::write(fuzzbox.dir().join("byte.wat"), BYTE).unwrap();
    let args = ["--strategy", "enumerate,quickcheck", "--seeds", "3", "--execs", "400"];
    let ran = fuzzbox.run("bench", &["search", "byte.wat"], &args);
    assert_eq!(ran.code, 0, "{ran:?}");
    let lines: Vec<_> = ran.stdout.lines().collect();
    assert!(lines.len() == 3 && lines[1].starts_with("byte    enumerate ") && lines[1].contains("3 of 3"), "{ran:?}");
    let table =
        fuzzbox.run("bench", &["search", "byte.wat"], &[&args[..], &["--json"]].concat()).json_lines().remove(0);
    // What enumerates comes to `b` with each seed after as many executions.
    let rows = table["rows"].as_array().unwrap();
    let execs = |row: &serde_json::Value| row["execs"]["median"].as_f64().unwrap();
    assert!(execs(&rows[0]) <= 260.0 && rows[0]["execs"]["interval"][0] == rows[0]["execs"]["interval"][1], "{table}");
    assert!(rows[0]["versus"].is_null() && rows[1]["versus"]["p_execs"].is_number(), "{table}");
    assert!(execs(&rows[1]) > 0.0 && rows[1]["runs"].as_array().unwrap().len() == 3);
    // To a number of edges that nobody can reach.
    let never = fuzzbox.run("bench", &["search", "byte.wat"], &["--seeds", "1", "--execs", "300", "--edges", "999"]);
    assert!(never.stdout.contains("0 of 1"), "{never:?}");
}
