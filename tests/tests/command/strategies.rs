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
        ("magic", "there is no strategy `magic`, but fuzz, quickcheck, enumerate, tree, "),
        ("mcmc:magic", "`mcmc` has no option `magic`, but hastings, decay, bayes, hype"),
        ("mcmc+magic", "nothing that can be put on a strategy is called `magic`, but anneal, restarts"),
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
