//! The law *restored equals fresh*: what an execution does never depends on what ran before it on the same instance. It
//! holds in every variant.
//!
//! `FUZZBOX_LAW_INPUTS=2000 cargo test --workspace --test sandbox restored_equals_fresh` compares that many inputs of each guest in
//! each variant, `-- --ignored` the real modules of `xtask modules`.

pub(crate) mod law;
mod programs;

use fuzzbox::settings::Stub;
use law::{Guest, Kinds};
use std::path::{Path, PathBuf};

fn misbehave(name: &str, seeds: Vec<Vec<u8>>, fuel_max: u64) -> Guest {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("guests/misbehave").join(name);
    Guest::new(name, std::fs::read(path).expect("the guest is readable"), seeds, fuel_max)
}

/// Checks that inputs ended in each of these ways.
#[track_caller]
fn assert_kinds(kinds: &Kinds, expected: &[&str]) {
    for kind in expected {
        assert!(kinds.contains_key(*kind), "no input ended as {kind}: {kinds:?}");
    }
}

/// Every byte alone, and pairs and triples of them, so that operations meet what others left in the same execution.
fn operations() -> Vec<Vec<u8>> {
    let mut seeds: Vec<Vec<u8>> = (0..=255).map(|code| vec![code]).collect();
    seeds.extend((0..=255).map(|code: u8| vec![code, code.rotate_left(3) ^ 0x52]));
    seeds.extend((0..=255).map(|code: u8| vec![code & 0x0d, 0x22, code & 0xee]));
    seeds
}

/// The operation in the low half of each byte, with every argument in the high half: first each alone, then with others.
fn pairs() -> Vec<Vec<u8>> {
    let mut seeds = operations();
    seeds.extend((0..=255).map(|code: u8| vec![code, code.wrapping_mul(7) ^ 0x31, code.wrapping_mul(29), 0x0f]));
    seeds
}

#[test]
fn a_guest_that_leaves_everything_behind() {
    let mut guest = misbehave("misbehave.wat", operations(), 2_000_000);
    guest.inputs *= 8;
    let ends = ["ok", "rejected", "exit", "unreachable", "stack-overflow", "out-of-fuel", "memory-out-of-bounds"];
    let kinds = guest.check();
    assert_kinds(&kinds, &ends);
    assert_kinds(&kinds, &["integer-division-by-zero", "uncaught-exception", "table-out-of-bounds"]);
}

#[test]
fn a_guest_with_memories_of_all_kinds() {
    for entry in [None, Some("plain".to_owned())] {
        let mut guest = misbehave("memories.wat", pairs(), 20_000_000);
        guest.settings.entry = entry;
        guest.inputs *= 4;
        assert_kinds(&guest.check(), &["ok", "memory-out-of-bounds", "uncaught-exception"]);
    }
}

#[test]
fn a_guest_with_tables_of_all_kinds_that_ends_within_calls() {
    let mut guest = misbehave("tables.wat", pairs(), 2_000_000);
    guest.settings.stub_imports = Some(Stub::Trap);
    guest.inputs *= 4;
    let ends = ["ok", "exit", "stubbed-import", "stack-overflow", "table-out-of-bounds", "indirect-call-to-null"];
    let kinds = guest.check();
    assert_kinds(&kinds, &ends);
    assert_kinds(&kinds, &["uncaught-exception", "bad-signature"]);
}

#[test]
fn a_guest_with_objects_gets_a_new_instance() {
    let kinds = misbehave("objects.wat", vec![b"short".to_vec(), vec![7; 40]], 20_000).check();
    assert_eq!(kinds.into_keys().collect::<Vec<_>>(), ["ok"]);
}

fn example(name: &str, seed: &[u8], fuel_max: u64) {
    let module = std::fs::read(fuzzbox_tests::example(name).expect("an example")).expect("it is committed");
    Guest::new(name, module, vec![seed.to_vec(), vec![0; 40]], fuel_max).check();
}

#[test]
fn first_bug() {
    example("first-bug", b"FUZ", 1_000_000);
}

#[test]
fn json() {
    example("json", br#"{"a": [1, 2.5e3, "x\u00e9", null, true], "b": {}}"#, 10_000_000);
}

#[test]
fn stdin_tool() {
    example("stdin-tool", b"[section]\nkey = value\n", 10_000_000);
}

/// A module from outside.
fn outside(name: &str, seeds: Vec<Vec<u8>>) {
    let path: PathBuf = fuzzbox_tests::guest(name).unwrap_or_else(|error| panic!("{error:#}"));
    let module = std::fs::read(path).expect("it was just provided");
    Guest::new(name, module, seeds, 10_000_000).check();
}

/// One of those that are measured, with the seeds of the measurement.
fn measured(name: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("guests").join(name).join("bench-seeds");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let seeds = paths.iter().map(|path| std::fs::read(path).unwrap()).filter(|seed| seed.len() <= 4096);
    outside(name, seeds.collect());
}

#[test]
fn cjson() {
    measured("cjson");
}

#[test]
fn expat() {
    measured("expat");
}

#[test]
fn md4c() {
    measured("md4c");
}

#[test]
fn sqlite3() {
    measured("sqlite3");
}

#[test]
fn zlib() {
    measured("zlib");
}

#[test]
fn icepack() {
    outside(
        "icepack",
        vec![b".comment x\n.device 384\n".to_vec(), b".comment\n.device 1k\n.logic_tile 1 1\n0".to_vec()],
    );
}
