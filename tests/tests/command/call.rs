//! `--call`: what is typed, what a target is called then, and a finding that is reproduced by its hash.

use fuzzbox_tests::command::{Fuzzbox, Ran};
use std::fs;

/// A library that fails for `bug`, and the same with its functions in another order.
const LIBRARY: &str = r#"(module (memory (export "memory") 1)
    (func (export "malloc") (param i32) (result i32) (i32.const 4096))
    (func (export "free") (param i32))
    (func $parse (export "parse") (param $p i32) (param $n i32) (result i32)
        (if (i32.lt_u (local.get $n) (i32.const 3)) (then (return (i32.const -1))))
        (if (i32.ne (i32.load8_u (local.get $p)) (i32.const 98)) (then (return (i32.const 0))))
        (if (i32.ne (i32.load8_u offset=1 (local.get $p)) (i32.const 117)) (then (return (i32.const 0))))
        (if (i32.ne (i32.load8_u offset=2 (local.get $p)) (i32.const 103)) (then (return (i32.const 0))))
        unreachable))"#;

const CALL: &str = "p = malloc(len); write(p, input); r = parse(p, len); free(p); if r < 0 reject";

fn fuzzbox() -> Fuzzbox {
    let fuzzbox = Fuzzbox::new();
    fs::write(fuzzbox.dir().join("lib.wasm"), wat::parse_str(LIBRARY).unwrap()).unwrap();
    fuzzbox
}

fn run(fuzzbox: &Fuzzbox, call: &str) -> Ran {
    let arguments = ["lib.wasm", "--call", call];
    fuzzbox.run("run", &arguments, &["--execs", "20000", "--seed", "1", "--jobs", "1", "--reporter", "json"])
}

#[test]
fn a_finding_of_a_recipe_is_reproduced_shown_and_shrunk() {
    let fuzzbox = fuzzbox();
    let ran = run(&fuzzbox, CALL);
    assert_eq!(ran.code, 1, "{ran:?}");
    let lines = ran.json_lines();
    let done = lines.last().unwrap();
    assert_eq!(done["target"], "lib:parse");
    let finding = &done["findings"][0];
    assert_eq!(finding["frames"][0]["function"], "parse", "{finding}");
    let id = finding["id"].as_str().unwrap();
    // The store is all that another machine has.
    fs::remove_file(fuzzbox.dir().join("lib.wasm")).unwrap();
    let repro = fuzzbox.run("repro", &[id], &[]);
    assert!(repro.code == 1 && repro.stdout.contains("parse"), "{repro:?}");
    assert_eq!(fuzzbox.run("show", &[id], &["--raw"]).stdout, "bug");
    let show = fuzzbox.run("show", &[id], &["--json"]);
    assert!(show.stdout.contains("if r < 0 reject"), "{show:?}");
    assert!([0, 1].contains(&fuzzbox.run("shrink", &[id], &[]).code));
}

#[test]
fn a_name_is_the_recipe_that_inspect_prints() {
    let fuzzbox = fuzzbox();
    let inspect = fuzzbox.run("inspect", &["lib.wasm"], &[]);
    let line = "--call 'p = malloc(len); write(p, input); parse(p, len); free(p)'";
    assert!(inspect.stdout.contains(line), "{inspect:?}");
    let by_name = run(&fuzzbox, "parse");
    assert_eq!(by_name.code, 1, "{by_name:?}");
    let typed = run(&fuzzbox, "p = malloc(len); write(p, input); parse(p, len); free(p)");
    let id = |ran: &Ran| ran.json_lines().last().unwrap()["findings"][0]["id"].clone();
    assert_eq!(id(&by_name), id(&typed), "a name is written out in what a finding is");
    // Another recipe for the same function is another target.
    let other = run(&fuzzbox, CALL);
    assert!(other.code == 2 && other.stderr.contains("--name"), "{other:?}");
    // Without any the error has the best.
    let none = fuzzbox.run("run", &["lib.wasm"], &["--execs", "1"]);
    assert!(none.code == 2 && none.stderr.contains(line), "{none:?}");
}

#[test]
fn results_are_the_same_for_any_number_of_jobs() {
    let fuzzbox = fuzzbox();
    let corpora = ["1", "2"].map(|jobs| {
        let flags =
            ["--execs", "3000", "--seed", "7", "--jobs", jobs, "--reporter", "json", "--store", &format!("s{jobs}")];
        let ran = fuzzbox.run(
            "run",
            &["lib.wasm", "--call", "k = draw(0..3); p = malloc(len); write(p, string); parse(p, len)"],
            &flags,
        );
        let done = ran.json_lines().last().unwrap().clone();
        (done["corpus_hash"].clone(), done["findings"].clone(), done["edges"].clone())
    });
    assert!(corpora[0].0.is_string(), "{corpora:?}");
    assert_eq!(corpora[0], corpora[1]);
}

#[test]
fn a_wrong_recipe_is_the_users_fault_and_shown_where() {
    let fuzzbox = fuzzbox();
    let wrong = run(&fuzzbox, "p = malloc(len); pars(p, len)");
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("column 18: the module exports no function `pars`"), "{}", wrong.stderr);
    assert!(wrong.stderr.contains("help: did you mean `parse`?"), "{}", wrong.stderr);
    let marked: Vec<&str> = wrong.stderr.lines().skip_while(|line| !line.contains("column")).collect();
    assert_eq!(marked[1].find("pars("), marked[2].find("^^^^"), "{}", wrong.stderr);
    assert!(!wrong.stderr.contains("\n\n"));
    let near = run(&fuzzbox, "parze");
    assert!(near.code == 2 && near.stderr.contains("did you mean --call parse?"), "{near:?}");
    let unknown = run(&fuzzbox, "memory");
    assert_eq!(unknown.code, 2);
    assert_eq!(fuzzbox.run("run", &["lib.wasm"], &["--call", "parse", "--entry", "parse"]).code, 2);
    assert!(!fuzzbox.store().exists(), "what is refused writes nothing");
}

#[test]
fn ways_that_are_tried_are_told_with_the_stubs_that_do_most() {
    // It tells its host of each byte, and goes on if that returns 0.
    let kinds: String = (33..123)
        .map(|byte| {
            format!("(if (i32.eq (local.get $b) (i32.const {byte})) (then (global.set $n (i32.const {byte}))))")
        })
        .collect();
    let parser = format!(
        r#"(module (import "env" "on_byte" (func $on (param i32) (result i32))) (memory (export "memory") 2)
        (global $n (mut i32) (i32.const 0))
        (func (export "malloc") (param i32) (result i32) (i32.const 65536))
        (func (export "http_alloc") (param i32) (result i32) (i32.store (i32.const 2048) (i32.const 7)) (i32.const 2048))
        (func (export "http_execute") (param $h i32) (param $p i32) (param $len i32) (result i32) (local $b i32)
            (if (i32.ne (i32.load (local.get $h)) (i32.const 7)) (then (return (i32.const 1))))
            (loop $next
                (if (i32.eqz (local.get $len)) (then (return (i32.const 0))))
                (local.set $b (i32.load8_u (local.get $p)))
                (if (call $on (local.get $b)) (then (return (i32.const 2))))
                {kinds}
                (local.set $p (i32.add (local.get $p) (i32.const 1)))
                (local.set $len (i32.sub (local.get $len) (i32.const 1)))
                (br $next))
            unreachable))"#
    );
    let fuzzbox = fuzzbox();
    fs::write(fuzzbox.dir().join("http.wat"), parser).unwrap();
    let inspect = fuzzbox.run("inspect", &["http.wat", "--try"], &[]);
    let line = inspect.stdout.lines().find(|line| line.contains("fuzzbox run")).unwrap_or_default();
    assert!(
        line.contains("--stub-imports zero") && line.contains("h = http_alloc(0); http_execute(h, p, len)"),
        "{inspect:?}"
    );
    // What rejects is left alone where it was asked for.
    let rejects = fuzzbox.run("inspect", &["http.wat", "--try", "--stub-imports", "reject"], &[]);
    assert!(!rejects.stdout.contains("--stub-imports zero"), "{rejects:?}");
}
