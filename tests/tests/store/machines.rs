//! Machines that are short of something: one clear error, and nothing is lost.
//!
//! `FUZZBOX_DISKS=50` fills as many disks.

use fuzzbox_tests::command::{Fuzzbox, Ran};
use fuzzbox_tests::disk::{self, SmallDisk};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Fails if a `!` is in front; `{}` is what makes it another module.
const GUEST: &str = r#"(module
    (memory (export "memory") 1)
    (func (export "malloc") (param i32) (result i32) i32.const 1024)
    (func $number (result i32) (i32.const {}))
    (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32)
        (if (i32.eqz (local.get 1)) (then (return (i32.const 0))))
        (if (i32.eq (i32.load8_u (local.get 0)) (i32.const 33)) (then unreachable))
        (if (i32.eq (i32.load8_u (local.get 0)) (i32.const 97)) (then (return (i32.const 0))))
        i32.const 0))"#;

const RUN: [&str; 8] = ["-n", "200", "-s", "1", "-j", "1", "--corpus", "inputs"];

fn place(guests: usize) -> Fuzzbox {
    let fuzzbox = Fuzzbox::new();
    for number in 0..guests {
        let text = GUEST.replace("{}", &number.to_string());
        fs::write(fuzzbox.dir().join(format!("guest{number}.wat")), text).unwrap();
    }
    fs::create_dir(fuzzbox.dir().join("inputs")).unwrap();
    fs::write(fuzzbox.dir().join("inputs/one"), "!").unwrap();
    fs::write(fuzzbox.dir().join("inputs/two"), "a").unwrap();
    fuzzbox
}

/// Ids of all findings of a store.
fn findings(fuzzbox: &Fuzzbox, store: &str) -> BTreeSet<String> {
    let ls = fuzzbox.run("ls", &[], &["--json", "--store", store]);
    assert!(ls.code == 0 && ls.stderr.is_empty(), "{ls:?}");
    let findings = ls.json_lines().into_iter().flat_map(|line| line["findings"].as_array().unwrap().clone());
    findings.map(|finding| finding["id"].as_str().unwrap().to_owned()).collect()
}

fn one_error(ran: &Ran, code: i32) {
    let errors = ran.stderr.lines().filter(|line| line.starts_with("error:")).count();
    assert!(ran.code == code && errors == 1 && !ran.stderr.contains("panicked"), "{ran:?}");
}

#[test]
fn a_store_that_cant_be_written_is_read_and_keeps_what_it_has() {
    let Some(disk) = SmallDisk::mount("a_store_that_cant_be_written_is_read_and_keeps_what_it_has") else { return };
    let fuzzbox = place(1);
    let store = disk.path().join("store");
    let store = store.to_str().unwrap();
    let ran = fuzzbox.run("run", &["guest0.wat"], &[&RUN[..], &["--store", store]].concat());
    assert_eq!(ran.code, 1, "{ran:?}");
    let before = findings(&fuzzbox, store);
    disk.read_only();
    assert_eq!(findings(&fuzzbox, store), before);
    let id = &before.first().unwrap()[..8];
    for (verb, code) in [("show", 0), ("repro", 1)] {
        let ran = fuzzbox.run(verb, &[id], &["--store", store]);
        assert!(ran.code == code && ran.stderr.is_empty(), "{verb}: {ran:?}");
    }
    let ran = fuzzbox.run("export", &["out"], &["--target", "guest0", "--findings", "--store", store]);
    assert_eq!(ran.code, 0, "{ran:?}");
    one_error(&fuzzbox.run("run", &["guest0.wat"], &[&RUN[..], &["--store", store]].concat()), 3);
    one_error(&fuzzbox.run("import", &["inputs"], &["--for", "guest0.wat", "--store", store]), 3);
    assert_eq!(findings(&fuzzbox, store), before);
}

#[test]
fn disks_that_fill_up_lose_nothing() {
    let disks = std::env::var("FUZZBOX_DISKS").ok().and_then(|count| count.parse().ok()).unwrap_or(6);
    let fuzzbox = place(2);
    // What a campaign leaves, to begin with.
    let ran = fuzzbox.run("run", &["guest0.wat"], &RUN);
    assert_eq!(ran.code, 1, "{ran:?}");
    let before = findings(&fuzzbox, ".fuzzbox");
    let mut full = 0;
    for number in 0..disks {
        let Some(disk) = SmallDisk::mount("disks_that_fill_up_lose_nothing") else { return };
        let path = disk.path().join("store");
        let store = path.to_str().unwrap();
        fs::create_dir(&path).unwrap();
        disk::copy(&fuzzbox.store(), &path).unwrap();
        // From no room to as much as is needed.
        disk.fill(number % 25);
        let ran = fuzzbox.run("run", &["guest0.wat", "guest1.wat"], &[&RUN[..], &["--store", store]].concat());
        if ran.code == 3 {
            full += 1;
            one_error(&ran, 3);
        } else {
            assert_eq!(ran.code, 1, "{number}: {ran:?}");
        }
        let found = findings(&fuzzbox, store);
        assert!(found.is_superset(&before), "{number}: {before:?}, then {found:?}");
        disk.free();
        let ran = fuzzbox.run("run", &["guest0.wat", "guest1.wat"], &[&RUN[..], &["--store", store]].concat());
        assert_eq!(ran.code, 1, "{number}: {ran:?}");
        assert!(findings(&fuzzbox, store).is_superset(&found), "{number}");
        for id in findings(&fuzzbox, store) {
            assert_eq!(fuzzbox.run("repro", &[&id[..8]], &["--store", store]).code, 1, "{number}: {id}");
        }
    }
    assert!(full > 0, "none was full");
}

#[test]
fn a_hundred_targets_take_turns() {
    let fuzzbox = place(100);
    let guests: Vec<_> = (0..100).map(|number| format!("guest{number}.wat")).collect();
    let guests: Vec<_> = guests.iter().map(String::as_str).collect();
    let ran = fuzzbox.run("run", &guests, &[&RUN[..], &["--reporter", "json"]].concat());
    assert_eq!(ran.code, 1, "{ran:?}");
    let done = ran.json_lines().into_iter().filter(|line| line["event"] == "done");
    let done: BTreeSet<_> = done.map(|line| line["target"].as_str().unwrap().to_owned()).collect();
    assert_eq!(done.len(), 100);
    assert_eq!(findings(&fuzzbox, ".fuzzbox").len(), 100);
}

/// A module with so many bytes of data, and one with so many of code.
fn large(data: usize, code: usize) -> Vec<u8> {
    use wasm_encoder::{
        CodeSection, DataSection, ExportKind, ExportSection, Function, FunctionSection, MemorySection, MemoryType,
        Module, TypeSection, ValType,
    };
    const FUNCTION_BYTES: usize = 1 << 20;
    let mut types = TypeSection::new();
    types.ty().function([], []);
    types.ty().function([ValType::I32, ValType::I32], [ValType::I32]);
    let mut functions = FunctionSection::new();
    let mut codes = CodeSection::new();
    for _ in 0..code / FUNCTION_BYTES {
        let mut function = Function::new([]);
        // As cheap as code can be: nops.
        function.raw(std::iter::repeat_n(0x01, FUNCTION_BYTES).chain([0x0b]));
        functions.function(0);
        codes.function(&function);
    }
    let mut harness = Function::new([]);
    harness.instructions().i32_const(0).end();
    functions.function(1);
    codes.function(&harness);
    let pages = (data >> 16) as u64 + 2;
    let mut memories = MemorySection::new();
    memories.memory(MemoryType { minimum: pages, maximum: None, memory64: false, shared: false, page_size_log2: None });
    let mut exports = ExportSection::new();
    exports.export("memory", ExportKind::Memory, 0);
    exports.export("LLVMFuzzerTestOneInput", ExportKind::Func, (code / FUNCTION_BYTES) as u32);
    let mut datas = DataSection::new();
    datas.active(0, &wasm_encoder::ConstExpr::i32_const(1024), std::iter::repeat_n(7_u8, data));
    let mut module = Module::new();
    module.section(&types).section(&functions).section(&memories).section(&exports).section(&codes).section(&datas);
    module.finish()
}

#[test]
fn a_module_of_200_mb_is_inspected_and_run_or_refused_in_one_error() {
    let fuzzbox = Fuzzbox::new();
    let try_out = |name: &str, module: Vec<u8>| {
        fs::write(fuzzbox.dir().join(name), module).unwrap();
        for (verb, flags) in [("inspect", &[][..]), ("run", &["-n", "10", "-j", "1", "--memory-max", "512MiB"])] {
            let ran = fuzzbox.run(verb, &[name], flags);
            println!("{name}, {verb}: {} {}", ran.code, ran.stderr);
            if ran.code != 0 {
                one_error(&ran, 2);
            }
        }
        fs::remove_file(Path::new(&fuzzbox.dir().join(name))).unwrap();
    };
    try_out("data.wasm", large(200 << 20, 0));
    // As much code takes minutes in a build without optimisation; this much shows the way.
    try_out("code.wasm", large(0, 2 << 20));
}
