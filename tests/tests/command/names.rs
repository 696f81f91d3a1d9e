//! A target's corpus is its own: names, `--name`, and other modules of the same file name.

use fuzzbox_tests::command::{Fuzzbox, Ran, example};
use serde_json::Value;
use std::fs;

/// Guests with two exports that differ by what makes them fail.
fn guest(fuzzbox: &Fuzzbox, path: &str, fails_at: u8) {
    let path = fuzzbox.dir().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let body = |byte: u8| {
        format!(
            "(param i32 i32) (result i32)
            (if (i32.ne (local.get 1) (i32.const 0))
                (then (if (i32.eq (i32.load8_u (local.get 0)) (i32.const {byte})) (then (return (i32.const 1))))))
            (i32.const 0)"
        )
    };
    let text = format!(
        r#"(module (memory (export "memory") 1)
        (func (export "LLVMFuzzerTestOneInput") {}) (func (export "other") {}))"#,
        body(fails_at),
        body(fails_at + 1)
    );
    fs::write(path, wat::parse_str(text).unwrap()).unwrap();
}

fn run(fuzzbox: &Fuzzbox, arguments: &[&str]) -> Ran {
    fuzzbox.run("run", arguments, &["--execs", "300", "--seed", "1", "--jobs", "1", "--reporter", "json"])
}

/// The names of the targets in the store.
fn targets(fuzzbox: &Fuzzbox) -> Vec<String> {
    let lines = fuzzbox.run("ls", &[], &["--json"]).json_lines();
    lines.iter().map(|line| line["target"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn each_entry_of_a_module_is_a_target() {
    let fuzzbox = Fuzzbox::new();
    guest(&fuzzbox, "a.wasm", 65);
    assert_eq!(run(&fuzzbox, &["a.wasm"]).code, 0);
    assert_eq!(run(&fuzzbox, &["a.wasm", "--entry", "other"]).code, 0);
    assert_eq!(run(&fuzzbox, &["a.wasm", "--entry", "other", "--name", "mine"]).code, 0);
    assert_eq!(targets(&fuzzbox), ["a", "a:other", "mine"]);
    let ls = fuzzbox.run("ls", &[], &["--json"]).json_lines();
    let origins: Vec<_> = ls.iter().map(|line| (&line["origin"]["path"], &line["origin"]["entry"])).collect();
    let other = Value::from("other");
    assert_eq!(
        origins,
        [(&Value::from("a.wasm"), &Value::Null), (&Value::from("a.wasm"), &other), (&Value::from("a.wasm"), &other)]
    );
    assert_eq!(fuzzbox.run("export", &["out"], &["--target", "a:other"]).code, 0);
    let near = fuzzbox.run("export", &["out"], &["--target", "a:othr"]);
    assert!(near.code == 2 && near.stderr.contains("did you mean `a:other`?"), "{near:?}");
    assert!(fuzzbox.store().join("targets/a%3Aother/fuzzer_stats").exists());
    // What is kept beside the store for a target is for it alone.
    fs::create_dir_all(fuzzbox.dir().join("seeds/a:other")).unwrap();
    fs::write(fuzzbox.dir().join("seeds/a:other/one"), "a seed of its own").unwrap();
    let seeds = |ran: Ran| ran.json_lines()[0]["seeds"].as_u64().unwrap();
    let corpus = |index: usize| ls[index]["corpus"].as_u64().unwrap();
    assert_eq!(seeds(run(&fuzzbox, &["a.wasm", "--entry", "other"])), corpus(1) + 1);
    assert_eq!(seeds(run(&fuzzbox, &["a.wasm"])), corpus(0));
}

#[test]
fn another_module_takes_no_name_in_silence() {
    let fuzzbox = Fuzzbox::new();
    guest(&fuzzbox, "a.wasm", 65);
    guest(&fuzzbox, "sub/a.wasm", 70);
    assert_eq!(run(&fuzzbox, &["a.wasm"]).code, 0);
    let refused = run(&fuzzbox, &["sub/a.wasm"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    for word in ["`a` is `a.wasm`", "`sub/a.wasm` is something else", "--name NAME"] {
        assert!(refused.stderr.contains(word), "{refused:?}");
    }
    fs::create_dir(fuzzbox.dir().join("inputs")).unwrap();
    fs::write(fuzzbox.dir().join("inputs/x"), "F").unwrap();
    assert_eq!(fuzzbox.run("import", &["inputs"], &["--for", "sub/a.wasm"]).code, 2);
    assert_eq!(run(&fuzzbox, &["sub/a.wasm", "--name", "b"]).code, 0);
    assert_eq!(run(&fuzzbox, &["sub/a.wasm", "--name", "b"]).stderr, "", "a name that was given stays");
    let taken = run(&fuzzbox, &["sub/a.wasm", "--name", "a"]);
    assert!(taken.code == 0 && taken.stderr.contains("`a` was `a.wasm`, and is `sub/a.wasm` from now on"), "{taken:?}");
    assert_eq!(targets(&fuzzbox), ["a", "b"]);
}

#[test]
fn a_module_that_is_compiled_again_copied_or_moved_keeps_its_corpus() {
    let fuzzbox = Fuzzbox::new();
    guest(&fuzzbox, "a.wasm", 65);
    assert_eq!(run(&fuzzbox, &["a.wasm"]).code, 0);
    guest(&fuzzbox, "a.wasm", 80);
    let again = run(&fuzzbox, &["a.wasm"]);
    assert_eq!((again.code, &*again.stderr), (0, ""));
    fs::create_dir(fuzzbox.dir().join("copy")).unwrap();
    fs::copy(fuzzbox.dir().join("a.wasm"), fuzzbox.dir().join("copy/a.wasm")).unwrap();
    assert_eq!(run(&fuzzbox, &["copy/a.wasm"]).code, 0);
    fs::create_dir(fuzzbox.dir().join("moved")).unwrap();
    fs::rename(fuzzbox.dir().join("a.wasm"), fuzzbox.dir().join("moved/a.wasm")).unwrap();
    guest(&fuzzbox, "moved/a.wasm", 90);
    let moved = run(&fuzzbox, &["moved/a.wasm"]);
    assert!(moved.code == 0 && moved.stderr.contains("`a` was `a.wasm`, and is `moved/a.wasm`"), "{moved:?}");
    assert_eq!(targets(&fuzzbox), ["a"]);
    // A store of before there were origins.
    fs::remove_file(fuzzbox.store().join("targets/a/origin.json")).unwrap();
    let old = run(&fuzzbox, &["copy/a.wasm"]);
    assert_eq!((old.code, &*old.stderr), (0, ""));
}

#[test]
fn targets_of_one_command_have_names_of_their_own() {
    let fuzzbox = Fuzzbox::new();
    guest(&fuzzbox, "a.wasm", 65);
    guest(&fuzzbox, "sub/a.wasm", 70);
    let same = run(&fuzzbox, &["a.wasm", "sub/a.wasm"]);
    assert!(same.code == 2 && same.stderr.contains("help: give each target a name"), "{same:?}");
    assert!(!fuzzbox.store().exists());
    let both = run(&fuzzbox, &["a.wasm", "sub/a.wasm", "--name", "a", "--name", "b"]);
    assert_eq!(both.code, 0, "{both:?}");
    assert_eq!(targets(&fuzzbox), ["a", "b"]);
    let few = run(&fuzzbox, &["a.wasm", "sub/a.wasm", "--name", "a"]);
    assert!(few.code == 2 && few.stderr.contains("--name is given 1 times, for 2 targets"), "{few:?}");
    for bad in ["", "a\nb"] {
        assert_eq!(run(&fuzzbox, &["a.wasm", "--name", bad]).code, 2);
    }
    let odd = run(&fuzzbox, &["a.wasm", "--name", "../../x"]);
    assert_eq!(odd.code, 0, "{odd:?}");
    assert!(fuzzbox.store().join("targets/%2E.%2F..%2Fx").is_dir());
}

/// The last line of `--reporter json`.
fn done(ran: &Ran) -> Value {
    ran.json_lines().pop().unwrap()
}

#[test]
fn targets_in_turn_find_what_they_find_alone() {
    let fuzzbox = Fuzzbox::new();
    let (json, bug) = (example("json"), example("first-bug"));
    let flags = ["--execs", "20000", "--seed", "7", "--reporter", "json"];
    let together = fuzzbox.run("run", &[&json, &bug], &flags);
    let lines = together.json_lines();
    for path in [&json, &bug] {
        let alone = done(&Fuzzbox::new().run("run", &[path], &flags));
        let same = lines.iter().find(|line| line["event"] == "done" && line["target"] == alone["target"]).unwrap();
        for key in ["execs", "rounds", "edges", "corpus_hash", "findings"] {
            assert_eq!(same[key], alone[key], "{key} of {}", alone["target"]);
        }
    }
}
