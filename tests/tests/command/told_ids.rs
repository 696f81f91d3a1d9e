//! An id that was told stays good: whatever took the place of a finding, its ids lead there.

use fuzzbox_tests::command::{Fuzzbox, Ran};
use fuzzbox_tests::record::sealed;
use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

/// Fails in one way if a `!` is in the input, and in another if a `?` is.
const GUEST: &str = r#"(module
    (memory (export "memory") 1)
    (func (export "malloc") (param i32) (result i32) i32.const 1024)
    (func $bang (param i32) (if (i32.eq (i32.load8_u (local.get 0)) (i32.const 33)) (then unreachable)))
    (func $question (param i32) (if (i32.eq (i32.load8_u (local.get 0)) (i32.const 63)) (then unreachable)))
    (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32)
        (local $end i32)
        (local.set $end (i32.add (local.get 0) (local.get 1)))
        (block (loop
            (br_if 1 (i32.eq (local.get 0) (local.get $end)))
            (call $bang (local.get 0))
            (call $question (local.get 0))
            (local.set 0 (i32.add (local.get 0) (i32.const 1)))
            (br 0)))
        i32.const 0))"#;

fn place(inputs: &[(&str, &str)]) -> Fuzzbox {
    let fuzzbox = Fuzzbox::new();
    fs::write(fuzzbox.dir().join("guest.wat"), GUEST).unwrap();
    for (dir, input) in inputs {
        let dir = fuzzbox.dir().join(dir);
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join(blake3::hash(input.as_bytes()).to_string()), input).unwrap();
    }
    fuzzbox
}

fn run(fuzzbox: &Fuzzbox, corpus: &str, flags: &[&str]) -> Ran {
    let common = ["--corpus", corpus, "-n", "50", "-s", "1", "-j", "1", "--reporter", "json"];
    let ran = fuzzbox.run("run", &["guest.wat"], &[&common[..], flags].concat());
    assert_eq!(ran.code, 1, "{ran:?}");
    ran
}

/// The ids of all findings that were told, and those of their inputs.
fn told(ran: &Ran) -> Vec<(String, String)> {
    let lines = ran.json_lines();
    let done = lines.last().unwrap()["findings"].as_array().unwrap().clone();
    let findings = lines.into_iter().filter(|line| line["event"] == "finding").chain(done);
    findings.map(|line| (line["id"].as_str().unwrap().to_owned(), line["input"].as_str().unwrap().to_owned())).collect()
}

#[test]
fn every_id_that_was_told_reproduces_its_bug_in_a_copy_of_the_store() {
    let fuzzbox = place(&[
        ("long", "aaaaaaaaaaaaaaa!bbbbbbbbbbbbbbbbbb"),
        ("long", "aaaaaaaaaaaaaaaaaaaaaa?bbbbbbbbb"),
        ("longer", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!bbbbbbbbbbbbbbbbbb"),
        ("short", "aaa!bbb"),
        ("short", "aa?"),
    ]);
    let mut all = BTreeSet::new();
    for (corpus, flags) in
        [("long", &["--no-shrink"][..]), ("longer", &["--no-shrink"]), ("short", &["--no-shrink"]), ("long", &[])]
    {
        all.extend(told(&run(&fuzzbox, corpus, flags)));
    }
    assert!(all.len() >= 4, "findings were replaced: {all:?}");
    let ids = |all: &BTreeSet<(String, String)>| {
        all.iter().flat_map(|(id, input)| [id.clone(), input.clone()]).collect::<Vec<_>>()
    };
    // So are those of what is made smaller by hand.
    for id in ids(&all) {
        let ran = fuzzbox.run("shrink", &[&id], &["--json", "-j", "1"]);
        assert_eq!(ran.code, 0, "{id}: {ran:?}");
        let line = &ran.json_lines()[0];
        all.insert((line["finding"].as_str().unwrap().to_owned(), line["input"].as_str().unwrap().to_owned()));
    }
    assert!(all.len() >= 6, "they became smaller: {all:?}");

    let copy = fuzzbox.dir().join("copy");
    assert!(Command::new("cp").arg("-r").arg(fuzzbox.store()).arg(&copy).status().unwrap().success());
    fs::remove_dir_all(fuzzbox.store()).unwrap();
    fs::remove_dir_all(fuzzbox.user_cache()).unwrap();
    let kept = fs::read_dir(copy.join("targets/guest/findings")).unwrap().count();
    assert_eq!(kept, 2, "one for each bug");
    for id in ids(&all) {
        // As it is printed, and whole.
        for typed in [&id[..8], &id] {
            let ran = fuzzbox.run("repro", &[typed], &["--json", "--store", "copy"]);
            assert_eq!((ran.code, ran.json_lines()[0]["same"].as_bool()), (1, Some(true)), "{typed}: {ran:?}");
        }
        assert_eq!(fuzzbox.run("show", &[&id], &["--store", "copy"]).code, 0);
    }
    for (_, input) in &all {
        let ran = fuzzbox.command(&["show", input, "--raw", "--store", "copy"]).output().unwrap();
        assert_eq!(blake3::hash(&ran.stdout).to_string(), *input, "bytes are those of their hash");
    }
}

#[test]
fn a_finding_that_an_older_version_named_is_known() {
    let fuzzbox = place(&[("long", "aaa!bbb"), ("long", "aa?")]);
    let mut all = told(&run(&fuzzbox, "long", &["--no-shrink"]));
    for entry in fs::read_dir(fuzzbox.store().join("targets/guest/findings")).unwrap() {
        let path = entry.unwrap().path().join("finding.json");
        let text = fs::read_to_string(&path).unwrap();
        let (before, rest) = text.split_once("\"signature\": \"").unwrap();
        let (signature, after) = rest.split_once('"').unwrap();
        let (name, callers) = signature.split_once('@').unwrap();
        let old = format!("{name}+0x7 < {}", callers.split_once(" < ").unwrap().1);
        fs::write(&path, sealed(&format!("{before}\"signature\": \"{old}\"{after}"))).unwrap();
    }
    for (id, _) in &all {
        let ran = fuzzbox.run("repro", &[id], &["--json"]);
        let line = &ran.json_lines()[0];
        assert!(line["same"] == true && line["expected"].as_str().unwrap().contains("+0x7"), "{ran:?}");
        fs::copy(fuzzbox.dir().join("guest.wat"), fuzzbox.dir().join("again.wat")).unwrap();
        let ran = fuzzbox.run("repro", &[id], &["--json", "--on", "again.wat"]);
        assert_eq!(ran.json_lines()[0]["same"], true, "{ran:?}");
    }
    let ran = fuzzbox.run("shrink", &[&all[0].0], &["--json", "-j", "1"]);
    let line = &ran.json_lines()[0];
    all.push((line["finding"].as_str().unwrap().to_owned(), line["input"].as_str().unwrap().to_owned()));
    all.extend(told(&run(&fuzzbox, "long", &[])));
    let findings = fuzzbox.run("ls", &[], &["--json"]).json_lines()[0]["findings"].as_array().unwrap().clone();
    assert_eq!(findings.len(), 2, "they are those that were found: {findings:?}");
    assert!(findings.iter().all(|finding| finding["signature"].as_str().unwrap().contains('@')), "{findings:?}");
    for id in all.iter().flat_map(|(id, input)| [id, input]) {
        let ran = fuzzbox.run("repro", &[id], &["--json"]);
        assert_eq!((ran.code, ran.json_lines()[0]["same"].as_bool()), (1, Some(true)), "{id}: {ran:?}");
    }
}

#[test]
fn who_stops_on_the_first_finding_is_told_one_and_it_is_small() {
    let fuzzbox =
        place(&[("long", "aaaaaaaaaaaaaaa!bbbbbbbbbbbbbbbbbb"), ("long", "aaaaaaaaaaaaaaaaaaaaaa?bbbbbbbbb")]);
    let ran = run(&fuzzbox, "long", &["--stop-on", "first"]);
    let told = told(&ran);
    assert!(told.len() == 2 && told[0] == told[1], "once when it is found, once at the end: {told:?}");
    let line = ran.json_lines().into_iter().find(|line| line["event"] == "finding").unwrap();
    assert_eq!(line["input_bytes"], 1);
    assert_eq!(fs::read_dir(fuzzbox.store().join("targets/guest/findings")).unwrap().count(), 1);
}
