//! Bad input gets one clear error that names the thing and the right exit code, and leaves nothing behind.

use fuzzbox_tests::command::{Fuzzbox, Ran, example};
use fuzzbox_tests::disk::SmallDisk;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// Checks that a command ended with `code` and one error that holds all of `words`.
#[track_caller]
fn refused(ran: &Ran, code: i32, words: &[&str]) {
    assert_eq!(ran.code, code, "{ran:?}");
    assert_eq!(ran.stderr.matches("error: ").count(), 1, "{ran:?}");
    assert!(ran.stderr.starts_with("error: ") && ran.stderr.matches("help: ").count() <= 1, "{ran:?}");
    assert!(!ran.stderr.contains("panicked"), "{ran:?}");
    for word in words {
        assert!(ran.stderr.contains(word), "`{word}` is not in: {}", ran.stderr);
    }
}

/// A module with one export, or with what `body` says.
fn wat(body: &str) -> Vec<u8> {
    wat::parse_str(format!("(module {body})")).unwrap()
}

#[test]
fn files_that_are_no_target_are_refused_and_leave_nothing() {
    let valid = fs::read(example("first-bug")).unwrap();
    let component = wat::parse_str("(component)").unwrap();
    let cases: Vec<(&str, Vec<u8>, &[&str])> = vec![
        ("empty.wasm", vec![], &["`empty.wasm`", "empty"]),
        ("text.wasm", b"hello, world\n".to_vec(), &["`text.wasm`", "neither"]),
        ("broken.wat", b"(module (func)".to_vec(), &["`broken.wat`", "--> broken.wat:1:15"]),
        ("native.wasm", b"\x7fELF\x02\x01\x01\0".to_vec(), &["`native.wasm`", "(ELF)", "help: compile it to wasm"]),
        ("library.a", b"!<arch>\nparse.o/".to_vec(), &["`library.a`", "a library of object files", "help: link it"]),
        ("object.o", wat(r#"(func) (@custom "linking" "\02")"#), &["`object.o`", "section `linking`", "help: link it"]),
        ("truncated.wasm", valid[..valid.len() / 2].to_vec(), &["`truncated.wasm`", "offset"]),
        ("header.wasm", valid[..6].to_vec(), &["`header.wasm`"]),
        ("component.wasm", component, &["`component.wasm`", "component"]),
        (
            "no-entry.wasm",
            wat(r#"(func (export "add") (param i32 i64) (result i32) local.get 0)"#),
            &["`no-entry.wasm`", "add(i32, i64) -> i32", "LLVMFuzzerTestOneInput"],
        ),
        (
            "import.wasm",
            wat(r#"(import "env" "mystery" (func (param i32))) (func (export "_start"))"#),
            &["`import.wasm`", "env.mystery", "--stub-imports"],
        ),
        (
            "start.wasm",
            wat(r#"(func $s unreachable) (start $s) (func (export "_start"))"#),
            &["`start.wasm`", "instantiated"],
        ),
        (
            "endless-start.wasm",
            wat(r#"(func $s (loop (br 0))) (start $s) (func (export "_start"))"#),
            &["`endless-start.wasm`"],
        ),
        (
            "shared.wasm",
            wat(r#"(memory (export "memory") 1 1 shared) (func (export "_start"))"#),
            &["`shared.wasm`", "shared"],
        ),
        (
            "huge.wasm",
            wat(r#"(memory (export "memory") 60000) (func (export "_start"))"#),
            &["`huge.wasm`", "--memory-max"],
        ),
        (
            "legacy.wasm",
            wat(r#"(func (export "_start") try catch_all i32.const 1 end)"#),
            &["`legacy.wasm`", "is not valid wasm", "type mismatch"],
        ),
    ];
    let fuzzbox = Fuzzbox::new();
    for (name, bytes, words) in cases {
        fs::write(fuzzbox.dir().join(name), bytes).unwrap();
        refused(&fuzzbox.run("run", &[name], &[]), 2, words);
        // What is valid is shown, whatever keeps it from being fuzzed.
        let valid = ["component", "no-entry", "import", "start", "endless-start", "shared", "huge"];
        let is_valid = valid.iter().any(|valid| name.strip_suffix(".wasm") == Some(valid));
        let inspected = fuzzbox.run("inspect", &[name], &[]);
        if is_valid {
            assert_eq!((inspected.code, &*inspected.stderr), (0, ""), "{name}: {inspected:?}");
        } else {
            refused(&inspected, 2, words);
        }
        assert!(!fuzzbox.store().exists(), "{name} left a store behind");
    }
}

#[test]
fn paths_that_are_no_file_are_refused() {
    let fuzzbox = Fuzzbox::new();
    fs::create_dir(fuzzbox.dir().join("directory.wasm")).unwrap();
    refused(&fuzzbox.run("run", &["directory.wasm"], &[]), 2, &["`directory.wasm`", "directory"]);
    refused(&fuzzbox.run("run", &["absent.wasm"], &[]), 2, &["`absent.wasm`", "No such file"]);
    // Root may read everything; a file that nobody may read needs another user.
    fs::copy(example("first-bug"), fuzzbox.dir().join("secret.wasm")).unwrap();
    fs::set_permissions(fuzzbox.dir().join("secret.wasm"), fs::Permissions::from_mode(0o000)).unwrap();
    let readable = fs::read(fuzzbox.dir().join("secret.wasm")).is_ok();
    if readable {
        // The kernel refuses this one even to root.
        refused(&fuzzbox.run("run", &["/proc/self/mem"], &[]), 2, &["`/proc/self/mem`"]);
    } else {
        refused(&fuzzbox.run("run", &["secret.wasm"], &[]), 2, &["`secret.wasm`", "denied"]);
    }
    assert!(!fuzzbox.store().exists());
}

#[test]
fn flags_out_of_range_are_refused() {
    let fuzzbox = Fuzzbox::new();
    let json = example("json");
    for flags in [
        &["--jobs", "0"][..],
        &["--fuel-max", "0"],
        &["--fuel-max", "5000000000000"],
        &["--memory-max", "1TiB"],
        &["--input-bytes-max", "1GiB"],
        &["--time", "soon"],
        &["--time", "5"],
        &["--time", "0s"],
        &["--quiet", "--verbose"],
        &["--quiet", "--reporter=json"],
        &["--memory-max", "much"],
        &["--entry", "absent"],
        &["--dict", "absent.dict"],
        &["--corpus", "absent"],
        &["--strategy", "magic"],
    ] {
        let ran = fuzzbox.run("run", &[&json], flags);
        refused(&ran, 2, &[]);
        assert!(ran.stderr.contains(flags[1]) || ran.stderr.contains(flags[0]), "{ran:?}");
    }
    refused(&fuzzbox.run("run", &[&json], &["-max_total_time=60"]), 2, &["--time 60s"]);
    refused(&fuzzbox.run("repro", &["12345678"], &[]), 2, &["no store"]);
    refused(&fuzzbox.run("ls", &[], &["--store", "absent"]), 2, &["absent"]);
    assert!(!fuzzbox.store().exists());
}

#[test]
fn inputs_that_hang_are_not_measured() {
    let fuzzbox = Fuzzbox::new();
    let guest = wat(r#"(memory (export "memory") 1)
        (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32)
            (loop (br_if 0 (i32.eq (local.get 1) (i32.const 1))))
            (i32.const 0))"#);
    fs::write(fuzzbox.dir().join("guest.wasm"), guest).unwrap();
    fs::create_dir(fuzzbox.dir().join("inputs")).unwrap();
    fs::write(fuzzbox.dir().join("inputs/ends"), "12").unwrap();
    let measure =
        || fuzzbox.run("bench", &["exec", "guest.wasm", "inputs"], &["--cpu-time", "10ms", "--fuel-max", "1000"]);
    assert_eq!(measure().code, 0);
    fs::write(fuzzbox.dir().join("inputs/hangs"), "1").unwrap();
    refused(&measure(), 2, &["`inputs/hangs`", "1000 units of fuel", "--fuel-max"]);
}

/// A store with one finding in it, and the finding's id.
fn store_with_a_finding() -> (Fuzzbox, String) {
    let fuzzbox = Fuzzbox::new();
    let args = ["--execs", "2000000", "--seed", "1", "--stop-on", "first", "--reporter", "json"];
    let lines = fuzzbox.run("run", &[&example("first-bug")[..]], &args).json_lines();
    let id = lines.last().unwrap()["findings"][0]["id"].as_str().unwrap().to_owned();
    (fuzzbox, id)
}

#[test]
fn a_store_from_a_future_version_is_refused() {
    let (fuzzbox, id) = store_with_a_finding();
    let format = fuzzbox.store().join("format");
    fs::write(&format, "fuzzbox store 99\n").unwrap();
    for ran in [
        fuzzbox.run("ls", &[], &[]),
        fuzzbox.run("repro", &[&id[..8]], &[]),
        fuzzbox.run("run", &[&example("json")[..]], &["--execs", "10"]),
    ] {
        refused(&ran, 2, &["99", "up to 1"]);
    }
    assert_eq!(fs::read_to_string(format).unwrap(), "fuzzbox store 99\n");
}

#[test]
fn a_flipped_bit_in_an_object_is_noticed() {
    let (fuzzbox, id) = store_with_a_finding();
    let record: serde_json::Value =
        serde_json::from_slice(&fuzzbox.read(&format!("targets/first-bug/findings/{id}/finding.json"))).unwrap();
    let object = record["module_object"].as_str().unwrap();
    let path = fuzzbox.store().join("objects").join(&object[..2]).join(&object[2..]);
    let intact = fs::read(&path).unwrap();
    let mut flipped = intact.clone();
    *flipped.last_mut().unwrap() ^= 1;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    fs::write(&path, flipped).unwrap();
    refused(&fuzzbox.run("repro", &[&id[..8]], &[]), 3, &[object, "damaged"]);
    refused(&fuzzbox.run("show", &[object], &[]), 3, &[object, "damaged"]);
    fs::write(&path, intact).unwrap();
    assert_eq!(fuzzbox.run("repro", &[&id[..8]], &[]).code, 1);
}

#[test]
fn a_full_disk_is_said_and_leaves_a_valid_store() {
    let Some(disk) = SmallDisk::mount("a_full_disk_is_said_and_leaves_a_valid_store") else { return };
    let fuzzbox = Fuzzbox::new();
    let store = disk.path().join("store");
    let store = ["--store", store.to_str().unwrap()];
    let run = |execs: &str| {
        fuzzbox.run("run", &[&example("json")[..]], &[&store[..], &["--execs", execs, "--seed", "1"]].concat())
    };
    assert_eq!(run("2").code, 0);
    // A corpus of a thousand files does not fit.
    let ran = run("200000");
    refused(&ran, 3, &[store[1], "No space left"]);
    let ls = fuzzbox.run("ls", &[], &[&store[..], &["--json"]].concat());
    assert_eq!(ls.code, 0, "{ls:?}");
    assert!(ls.json_lines()[0]["corpus"].as_u64().unwrap() > 0 && ls.stderr.is_empty(), "{ls:?}");
}

#[test]
fn what_was_meant_is_said_where_a_name_is_mistyped() {
    let fuzzbox = Fuzzbox::new();
    let text = r#"(module (func $json_loads (param i32)) (func (export "json_dump") (param i32)) (func (export "") (param i32)))"#;
    fs::write(fuzzbox.dir().join("a.wat"), text).unwrap();
    let entry = |entry: &str| fuzzbox.run("run", &["a.wat"], &["--entry", entry]);
    refused(&entry("json_dumb"), 2, &["`json_dumb`", "help: did you mean --entry json_dump?"]);
    refused(&entry("json_loads"), 2, &["is in the module but not exported", "-Wl,--export=json_loads"]);
    let other = entry("something_else");
    refused(&other, 2, &["its exports are json_dump(i32), \"\"(i32)"]);
    assert!(!other.stderr.contains("help: "), "{other:?}");
    refused(&fuzzbox.run("rnu", &["a.wat"], &[]), 2, &["a similar subcommand exists: 'run'"]);
}
