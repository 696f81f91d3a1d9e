//! Where mutants come from: the corpus, the golden modules, and generated ones.

use std::path::Path;

use arbitrary::Unstructured;

use crate::random::Random;

/// Generated modules, beside those in files.
const GENERATED: u64 = 40;

/// A module to make mutants of.
pub(crate) struct Seed {
    pub(crate) name: String,
    pub(crate) wasm: Vec<u8>,
}

/// All seeds, always in the same order.
pub(crate) fn seeds() -> Vec<Seed> {
    let mut seeds: Vec<_> = ["corpus", "golden", "cfg"].into_iter().flat_map(files).collect();
    for number in 0..GENERATED {
        if let Some(wasm) = generated(&mut Random(number)) {
            seeds.push(Seed { name: format!("generated {number}"), wasm });
        }
    }
    seeds
}

/// The modules in a folder of tests.
pub(crate) fn files(folder: &str) -> Vec<Seed> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let mut paths: Vec<_> = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "wat"));
    paths.sort();
    let seed = |path: &std::path::PathBuf| Seed {
        name: format!("{folder}/{}", path.file_name().unwrap().display()),
        wasm: wat::parse_file(path).unwrap(),
    };
    paths.iter().map(seed).collect()
}

/// A small valid module with all that the generator knows.
fn generated(random: &mut Random) -> Option<Vec<u8>> {
    let config = wasm_smith::Config {
        compact_imports_enabled: false, // unknown to wasmtime 48
        export_everything: true,
        custom_page_sizes_enabled: true,
        wide_arithmetic_enabled: true,
        max_types: 8,
        max_imports: 3,
        max_globals: 4,
        max_data_segments: 3,
        max_element_segments: 3,
        max_elements: 4,
        max_tags: 3,
        max_values: 4,
        max_memories: 2,
        max_tables: 3,
        min_funcs: 2,
        max_funcs: 6,
        max_instructions: 150,
        max_nesting_depth: 12,
        ..wasm_smith::Config::default()
    };
    let bytes: Vec<u8> = (0..4_000).map(|_| random.next() as u8).collect();
    Some(wasm_smith::Module::new(config, &mut Unstructured::new(&bytes)).ok()?.to_bytes())
}
