//! Broken modules: an error or a module that validates, never a panic.

use std::path::Path;

use fuzzbox_instrument::{Options, custom_sections, instrument, output_features, strip_custom_sections};
use wasmparser::Validator;

const CASES: u64 = 20_000;

#[test]
fn flipped_bits_and_cut_ends_never_panic() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "wat"));
    paths.sort();
    let modules: Vec<_> = paths.iter().map(|path| wat::parse_file(path).unwrap()).collect();
    let mut random = Random(1);
    let (mut accepted, mut refused) = (0, 0);
    for case in 0..CASES {
        let mut wasm = modules[case as usize % modules.len()].clone();
        for _ in 0..=random.below(3) {
            mutate(&mut wasm, &mut random);
        }
        let _ = strip_custom_sections(&wasm);
        custom_sections(&wasm).for_each(drop);
        match instrument(&wasm, &Options::default()) {
            Ok(new) => {
                accepted += 1;
                Validator::new_with_features(output_features()).validate_all(&new.wasm).unwrap();
                // Every operator of the new module belongs to one of the original.
                assert!(new.edges.edges.iter().all(|edge| (edge.offset as usize) < wasm.len()));
            }
            Err(error) => {
                refused += 1;
                let text = format!("{error:#}");
                // What was valid is within limits here, so it must be valid afterwards.
                assert!(!text.contains("when it is rewritten") || text.contains("limit"), "case {case}: {text}");
            }
        }
    }
    assert!(accepted > CASES / 20 && refused > CASES / 4, "{accepted} accepted, {refused} refused");
}

fn mutate(wasm: &mut Vec<u8>, random: &mut Random) {
    wasm.resize(wasm.len().max(10), 0);
    let at = 8 + random.below(wasm.len() as u64 - 8) as usize;
    match random.below(8) {
        0 => wasm.truncate(at.max(9)),
        1 => wasm.insert(at, random.next() as u8),
        2 => drop(wasm.remove(at)),
        3 => wasm[at] = random.next() as u8,
        4 => wasm[at] = wasm[at].wrapping_add(1),
        5 => {
            let from = 8 + random.below(wasm.len() as u64 - 8) as usize;
            wasm[at] = wasm[from];
        }
        _ => wasm[at] ^= 1 << random.below(8),
    }
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}
