//! Stores: every file of one, changed; records with a checksum that is right again, as whoever means harm makes them.

use super::random::Random;
use super::{Tally, bytes, try_out};
use fuzzbox_tests::command::Fuzzbox;
use fuzzbox_tests::disk;
use fuzzbox_tests::record::sealed;
use std::fs;
use std::path::{Path, PathBuf};

const GUEST: &str = r#"(module
    (memory (export "memory") 1)
    (func (export "malloc") (param i32) (result i32) i32.const 1024)
    (func $check (param i32) (if (i32.eq (local.get 0) (i32.const 33)) (then unreachable)))
    (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32)
        (if (i32.eqz (local.get 1)) (then (return (i32.const 0))))
        (call $check (i32.load8_u (local.get 0)))
        (if (i32.eq (i32.load8_u (local.get 0)) (i32.const 97)) (then (loop (br 0))))
        i32.const 0))"#;

/// A store that mutants are made of, and what it is of.
struct Original {
    fuzzbox: Fuzzbox,
    files: Vec<PathBuf>,
    findings: Vec<String>,
}

impl Original {
    fn new() -> Self {
        let fuzzbox = Fuzzbox::new();
        prepare(&fuzzbox);
        for _ in 0..2 {
            let ran = fuzzbox.run("run", &["guest.wat"], &RUN);
            assert_eq!(ran.code, 1, "{ran:?}");
        }
        let findings = fs::read_dir(fuzzbox.store().join("targets/guest/findings")).expect("something is found");
        let mut findings: Vec<_> =
            findings.map(|entry| entry.expect("it can be listed").file_name().into_string().expect("an id")).collect();
        findings.sort();
        let mut files = Vec::new();
        list(&fuzzbox.store(), Path::new(""), &mut files);
        Self { fuzzbox, files, findings }
    }
}

const RUN: [&str; 10] = ["-n", "20", "-s", "1", "-j", "1", "--corpus", "inputs", "--fuel-max", "100000"];

fn prepare(fuzzbox: &Fuzzbox) {
    let dir = fuzzbox.dir();
    fs::write(dir.join("guest.wat"), GUEST).expect("there is room");
    fs::create_dir(dir.join("inputs")).expect("there is room");
    for (name, input) in [("one", "!two"), ("two", "b"), ("three", "abc")] {
        fs::write(dir.join("inputs").join(name), input).expect("there is room");
    }
}

/// All files below a folder of the store.
fn list(root: &Path, below: &Path, files: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(root.join(below)).expect("a folder");
    let mut names: Vec<_> = entries.map(|entry| entry.expect("it can be listed").file_name()).collect();
    names.sort();
    for name in names {
        let path = below.join(name);
        if root.join(&path).is_dir() { list(root, &path, files) } else { files.push(path) }
    }
}

/// Changes the text of a record: numbers, words, members.
fn mutate_json(text: &str, random: &mut Random) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let inner = 1..lines.len().saturating_sub(2).max(2);
    for _ in 0..random.size(3) {
        let at = inner.start + random.below(inner.len());
        let Some(line) = lines.get(at).cloned() else { continue };
        let (key, value) = line.split_once(": ").unwrap_or(("", &line));
        let value = match random.below(9) {
            0 => format!("{},", random.interesting()),
            1 => "null,".to_owned(),
            2 => "\"\\u001b[2J\\u202e\\n\",".to_owned(),
            3 => format!("{}1{},", "[".repeat(60), "]".repeat(60)),
            4 => "1e308,".to_owned(),
            5 => format!("\"{}\",", "x".repeat(random.size(1 << 16))),
            6 => {
                drop(lines.remove(at));
                continue;
            }
            7 => {
                lines.insert(at, line);
                continue;
            }
            _ => value.chars().rev().filter(|c| *c != ',').chain([',']).collect(),
        };
        lines[at] = if key.is_empty() { value } else { format!("{key}: {value}") };
    }
    lines.join("\n") + "\n"
}

/// Changes one file of a store.
fn mutate(store: &Path, files: &[PathBuf], random: &mut Random) -> Option<()> {
    let path = store.join(random.choose(files)?);
    let mut content = fs::read(&path).ok()?;
    let other = fs::read(store.join(random.choose(files)?)).ok()?;
    let is_record = path.extension().is_some_and(|end| end == "json");
    if is_record && random.below(4) > 0 {
        let text = mutate_json(&String::from_utf8_lossy(&content), random);
        content = if random.below(5) > 0 { sealed(&text) } else { text }.into_bytes();
    } else if random.once_in(12) {
        content = other;
    } else {
        // The mutator leaves eight bytes in front alone.
        let mut framed = [&[0; 8], &content[..]].concat();
        (0..random.size(4)).for_each(|_| bytes::mutate(&mut framed, &other, random));
        content = framed.split_off(8);
    }
    fs::write(path, content).ok()
}

#[test]
fn stores() {
    let original = Original::new();
    let tally = try_out(40, |number, tally| {
        let mut random = Random(number ^ 1 << 41);
        random.next();
        let fuzzbox = Fuzzbox::new();
        prepare(&fuzzbox);
        // Findings and lists are what most is read from.
        let of_target: Vec<_> = original.files.iter().filter(|path| path.starts_with("targets")).cloned().collect();
        fs::create_dir(fuzzbox.store()).expect("there is room");
        disk::copy(&original.fuzzbox.store(), &fuzzbox.store()).expect("it can be copied");
        for _ in 0..random.size(3) {
            let files = if random.below(3) > 0 { &of_target } else { &original.files };
            mutate(&fuzzbox.store(), files, &mut random);
        }
        // Nobody reads what was not the target's.
        fs::create_dir(fuzzbox.user_cache()).expect("there is room");
        disk::copy(&original.fuzzbox.user_cache(), &fuzzbox.user_cache()).expect("it can be copied");
        check(&fuzzbox, &original, number, &mut random, tally);
    });
    assert!(tally.mutants < 30 || tally.codes[2] + tally.codes[3] > 0, "some are refused: {tally:?}");
}

/// Runs verbs on a store: all of them if a number of mutants was asked for.
fn check(fuzzbox: &Fuzzbox, original: &Original, number: u64, random: &mut Random, tally: &mut Tally) {
    let finding = &original.findings[random.below(original.findings.len())][..8];
    let verbs: [Vec<&str>; 10] = [
        vec!["ls"],
        vec!["ls", "--json"],
        vec!["show", finding],
        vec!["show", finding, "--json"],
        vec!["repro", finding],
        vec!["replay", "guest.wat", finding, "--fuel-max", "100000"],
        vec!["export", "out", "--target", "guest", "--findings"],
        vec!["shrink", finding, "-j", "1", "-n", "200"],
        vec!["import", "inputs", "--for", "guest.wat", "--fuel-max", "100000"],
        [&["run", "guest.wat"][..], &RUN].concat(),
    ];
    let all = std::env::var_os("FUZZBOX_MUTANTS_VERBS").is_some_and(|value| value == "all");
    for (index, verb) in verbs.iter().enumerate() {
        if all || index == 0 || (index as u64 + number).is_multiple_of(3) {
            tally.check(fuzzbox.command(verb), &format!("{} on store {number}", verb.join(" ")));
        }
    }
}
