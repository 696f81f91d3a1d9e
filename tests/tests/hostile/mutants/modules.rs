//! Modules: real ones with names and debug information, and small ones with everything that WebAssembly has.

use super::random::Random;
use super::shape::Shape;
use super::{Tally, bytes, structure, try_out};
use fuzzbox_tests::command::Fuzzbox;
use fuzzbox_tests::workspace;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders with modules, and modules.
const SEEDS: [&str; 12] = [
    "examples/first-bug",
    "examples/json",
    "examples/stdin-tool",
    "host/tests/data",
    "instrument/tests/corpus",
    "tests/guests/compare",
    "tests/guests/cxx-exceptions",
    "tests/guests/draws",
    "tests/guests/misbehave",
    "tests/guests/recompile/c/modules",
    "tests/guests/setjmp",
    "tests/guests/wasi",
];

/// All modules in some folders.
pub(super) fn seeds(folders: &[&str]) -> Vec<Vec<u8>> {
    let files = |folder: &&str| -> Vec<PathBuf> {
        let entries = fs::read_dir(workspace().join(folder)).expect("the folder is there");
        let mut paths: Vec<_> = entries.map(|entry| entry.expect("it can be listed").path()).collect();
        paths.sort();
        paths
    };
    let is_module = |path: &PathBuf| matches!(path.extension().and_then(|end| end.to_str()), Some("wasm" | "wat"));
    folders.iter().flat_map(files).filter(is_module).map(|path| wat::parse_file(path).expect("a module")).collect()
}

/// Runs a module's verbs.
pub(super) fn check(module: &[u8], fuzzbox: &Fuzzbox, what: &str, flags: &[&str], tally: &mut Tally) {
    let path = fuzzbox.dir().join("mutant.wasm");
    fs::write(&path, module).expect("there is room");
    let inspected = tally.check(fuzzbox.command(&["inspect", "mutant.wasm"]), &format!("inspect {what}"));
    assert!(inspected.code == 0 || inspected.code == 2, "{what}: {inspected:?}");
    let run = ["run", "mutant.wasm", "-n", "10", "-j", "1", "-s", "1", "--fuel-max", "20000000"];
    tally.check(fuzzbox.command(&[&run[..], flags].concat()), &format!("run {what}"));
    fs::remove_dir_all(fuzzbox.store()).ok();
    fs::remove_dir_all(fuzzbox.user_cache()).ok();
}

#[test]
fn modules() {
    let seeds = seeds(&SEEDS);
    let tally = try_out(60, |number, tally| {
        let mut random = Random(number);
        random.next();
        let (seed, other) = (random.below(seeds.len()), random.below(seeds.len()));
        let mut module = seeds[seed].clone();
        if random.once_in(2) {
            let (mut shape, other) = (Shape::new(&seeds[seed]), Shape::new(&seeds[other]));
            for _ in 0..random.size(4) {
                structure::mutate(&mut shape, &other, &mut random);
            }
            module = shape.encode();
        }
        if random.once_in(3) {
            module = bytes::mutate_sections(&module, &seeds[other], &mut random);
        }
        if random.once_in(3) {
            (0..random.size(4)).for_each(|_| bytes::mutate(&mut module, &seeds[other], &mut random));
        }
        let fuzzbox = Fuzzbox::new();
        check(&module, &fuzzbox, &format!("module {number}"), &["--stub-imports", "zero"], tally);
    });
    assert!(tally.mutants < 50 || tally.codes[2] * 20 > tally.commands, "some are refused: {tally:?}");
    assert!(tally.mutants < 50 || (tally.codes[0] + tally.codes[1]) * 4 > tally.commands, "some are not: {tally:?}");
}

/// The module of an example.
pub(super) fn example(name: &str) -> Vec<u8> {
    fs::read(workspace().join(Path::new("examples").join(name).join(name)).with_extension("wasm")).expect("it is there")
}
