//! The law *restored equals fresh*: what an execution does never depends on what ran before it on the same instance.

use fuzzbox::engine::{Corpus, Dictionary, Mutator, Rng};
use fuzzbox::sandbox::{Executor, Settings, Target};
use fuzzbox_tests::show;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Inputs that are executed both ways.
const INPUTS: usize = 2_000;
/// Executions on the kept instance before the first of them.
const BEFORE: usize = 10_000;

/// Mutants of `seeds`; the same ones every time.
fn inputs(target: &Target, seeds: &[Vec<u8>], stream: u64, count: usize) -> Vec<Vec<u8>> {
    let mutator = Mutator::new(Dictionary::default().with_strings_of(&target.bytes));
    let corpus = Corpus::new(0);
    let mut rng = Rng::of_task(stream, 0, 0);
    let mutant = |index: usize| {
        let mut input = seeds[index % seeds.len()].clone();
        if index >= seeds.len() {
            mutator.mutate(&mut input, 600, &corpus, &mut rng);
        }
        input
    };
    (0..count).map(mutant).collect()
}

/// Checks the law, and returns how often each kind of outcome was seen.
fn check(wasm: &Path, seeds: &[Vec<u8>], fuel_max: u64) -> BTreeMap<String, usize> {
    let settings = Settings { fuel_max, memory_bytes_max: 32 << 20, input_bytes_max: 4096, ..Settings::default() };
    let bytes = std::fs::read(wasm).expect("the guest is readable");
    let target = Arc::new(Target::load(&bytes, settings).expect("the guest is a target"));
    let mut kept = Executor::new(&target).unwrap();
    for input in inputs(&target, seeds, 1, BEFORE) {
        kept.run(&input).unwrap();
    }
    let mut kinds = BTreeMap::new();
    for input in inputs(&target, seeds, 2, INPUTS) {
        let restored = show(&mut kept, &input);
        let fresh = show(&mut Executor::new(&target).unwrap(), &input);
        assert_eq!(restored, fresh, "{}: {:?}", wasm.display(), String::from_utf8_lossy(&input));
        let kind = match restored.outcome.trap() {
            Some(trap) => trap.kind.to_string(),
            None if restored.exit_code.is_some() => "exit".to_owned(),
            None => restored.outcome.name().to_owned(),
        };
        *kinds.entry(kind).or_default() += 1;
    }
    println!("{}: {kinds:?}", wasm.display());
    kinds
}

fn example(name: &str) -> std::path::PathBuf {
    fuzzbox_tests::example(name).expect("an example")
}

#[test]
fn a_guest_that_leaves_everything_behind() {
    let wat = Path::new(env!("CARGO_MANIFEST_DIR")).join("guests/misbehave/misbehave.wat");
    let mut seeds: Vec<Vec<u8>> = (0..=255).map(|code| vec![code]).collect();
    // Pairs and triples, so that operations meet what others left in the same execution.
    seeds.extend((0..=255).map(|code: u8| vec![code, code.rotate_left(3) ^ 0x52]));
    seeds.extend((0..=255).map(|code: u8| vec![code & 0x0d, 0x22, code & 0xee]));
    let kinds = check(&wat, &seeds, 2_000_000);
    for kind in [
        "ok",
        "rejected",
        "exit",
        "unreachable",
        "stack-overflow",
        "out-of-fuel",
        "memory-out-of-bounds",
        "integer-division-by-zero",
        "uncaught-exception",
        "table-out-of-bounds",
    ] {
        assert!(kinds.contains_key(kind), "no input ended as {kind}: {kinds:?}");
    }
}

#[test]
fn a_guest_with_objects_gets_a_new_instance() {
    let wat = Path::new(env!("CARGO_MANIFEST_DIR")).join("guests/misbehave/objects.wat");
    let kinds = check(&wat, &[b"short".to_vec(), vec![7; 40]], 20_000);
    assert_eq!(kinds.into_keys().collect::<Vec<_>>(), ["ok"]);
}

#[test]
fn first_bug() {
    check(&example("first-bug"), &[b"FUZ".to_vec(), vec![0; 40]], 1_000_000);
}

#[test]
fn json() {
    check(&example("json"), &[br#"{"a": [1, 2.5e3, "x\u00e9", null, true], "b": {}}"#.to_vec()], 10_000_000);
}

#[test]
fn stdin_tool() {
    check(&example("stdin-tool"), &[b"[section]\nkey = value\n".to_vec()], 10_000_000);
}

/// A module from outside, with its documents as seeds.
fn outside(name: &str, fuel_max: u64) {
    let wasm = fuzzbox_tests::guest(name).unwrap_or_else(|error| panic!("{error:#}"));
    let documents = fuzzbox_tests::documents(name).expect("documents");
    let seeds: Vec<_> = documents.into_iter().map(|(_, bytes)| bytes).filter(|bytes| bytes.len() <= 4096).collect();
    let seeds = if seeds.is_empty() { vec![b".comment x\n.device 384\n".to_vec()] } else { seeds };
    check(&wasm, &seeds, fuel_max);
}

#[test]
fn cjson() {
    outside("cjson", 10_000_000);
}

#[test]
fn expat() {
    outside("expat", 10_000_000);
}

#[test]
fn icepack() {
    outside("icepack", 10_000_000);
}
