//! Broken, mutated and hostile modules: an error or a module that validates, never a panic, and never more memory than
//! a small multiple of the module.
//!
//! ```text
//! FUZZBOX_GARBAGE_MODULES=1000000 cargo test -p fuzzbox-instrument --test garbage -- --nocapture
//! ```
//!
//! A mutant is a function of its number, so `FUZZBOX_GARBAGE_FIRST=4711 FUZZBOX_GARBAGE_MODULES=1` makes number 4711
//! again; a bad one is also written to a temporary file.

mod attacks;
mod bytes;
mod heap;
mod neutral;
mod random;
mod seeds;
mod shape;
mod structure;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use attacks::{Attack, attacks};
use fuzzbox_instrument::{
    Instrumented, Options, component_features, custom_sections, features, instrument, instrument_component,
    output_features, strip_custom_sections,
};
use random::Random;
use seeds::{Seed, files, seeds};
use shape::Shape;
use wasmparser::{Validator, WasmFeatures};

/// How many mutants there are unless it is said.
const MUTANTS: u64 = 8_000;

/// How many mutants of components there are.
const COMPONENTS: u64 = 2_000;

/// How many bad ones there can be before it stops.
const BAD_MAX: usize = 20;

/// What a call may take for each byte of a mutant.
const HEAP_PER_BYTE: usize = 64;

/// What it may take for each byte of a module that is nothing but thousands of the same two to five bytes, each of which
/// becomes forty, and two flows, two edges and a block.
const HEAP_PER_BYTE_OF_ATTACKS: usize = 192;

/// What it may take besides, whatever the module is: what tables, buffers and maps start with, and what is done at once.
const HEAP_BASE: usize = 1 << 20;

/// How modules are rewritten.
fn variants() -> Vec<Options> {
    vec![Options::full(), Options::fast((0..1 << 16).step_by(5).collect()), Options::traced()]
}

/// A number from the environment.
fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

/// Heap is measured for the whole process, so one test runs at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    let guard = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    // What is made once in a process is made now.
    for options in variants() {
        instrument(&wat::parse_str("(module (func))").unwrap(), &options).unwrap();
    }
    guard
}

#[test]
fn mutants_are_refused_or_become_valid_in_bounded_memory() {
    let _alone = alone();
    let (first, count) = (number("FUZZBOX_GARBAGE_FIRST", 0), number("FUZZBOX_GARBAGE_MODULES", MUTANTS));
    let seeds = seeds();
    let mutants = Mutants::new(&seeds);
    let variants = variants();
    let (mut total, mut bad) = (Total::default(), Vec::new());
    for number in first..first + count {
        let wasm = mutants.make(number);
        total.valid += u64::from(Validator::new_with_features(features()).validate_all(&wasm).is_ok());
        if let Err(what) = total.check(&wasm, &variants, HEAP_PER_BYTE, number) {
            bad.push(describe(number, &wasm, &what));
            assert!(bad.len() < BAD_MAX, "{}\n{total:?}", bad.join("\n"));
        }
        if (number + 1 - first) % 50_000 == 0 {
            println!("{} of {count}: {total:?}", number + 1 - first);
        }
    }
    println!("{total:?}");
    assert!(bad.is_empty(), "{}", bad.join("\n"));
    if count >= MUTANTS {
        let calls = count * variants.len() as u64;
        assert!(total.accepted * 100 >= calls * 15, "too few are accepted: {total:?}");
        assert!(total.accepted * 100 <= calls * 85, "too few are refused: {total:?}");
        // What is valid is nearly always accepted.
        assert!(total.accepted * 100 >= total.valid * variants.len() as u64 * 95, "too many are refused: {total:?}");
    }
}

#[test]
fn what_is_small_and_means_much_takes_bounded_memory() {
    let _alone = alone();
    let large = if number("FUZZBOX_GARBAGE_MODULES", 0) > MUTANTS { 30_000 } else { 8_000 };
    let mut bad = Vec::new();
    for Attack { name, make, count_max } in attacks() {
        for size in [1_000, large.min(count_max)] {
            let wasm = make(size);
            let mut total = Total::default();
            let checked = total.check(&wasm, &variants(), HEAP_PER_BYTE_OF_ATTACKS, size as u64);
            let times = total.heap_per_byte_max.0;
            let (_, validating) = heap::peak(|| Validator::new_with_features(features()).validate_all(&wasm).is_ok());
            let validating = validating as f64 / wasm.len() as f64;
            let accepted = if total.accepted > 0 { "accepted" } else { "refused" };
            let line = format!(
                "{name} ({size}, {} bytes, {accepted}): {times:.1} bytes of heap for a byte, validating takes \
                 {validating:.1}; {:.0?}",
                wasm.len(),
                total.longest.0,
            );
            println!("{line}");
            if let Err(what) = checked {
                bad.push(format!("{line}: {what}"));
            }
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

#[test]
fn mutated_components_are_refused_or_become_valid() {
    let _alone = alone();
    let seeds = files("corpus/components");
    let mut accepted = 0;
    for number in 0..COMPONENTS {
        let mut random = Random(number);
        let (seed, other) = (&seeds[random.below(seeds.len())].wasm, &seeds[random.below(seeds.len())].wasm);
        let mut wasm = if random.once_in(2) { bytes::mutate_sections(seed, other, &mut random) } else { seed.clone() };
        if random.once_in(2) {
            bytes::mutate(&mut wasm, other, &mut random);
        }
        for options in variants() {
            if let Ok(new) = instrument_component(&wasm, &options) {
                let checked = Validator::new_with_features(component_features()).validate_all(&new.wasm);
                checked.unwrap_or_else(|error| panic!("mutant {number}: {error}"));
                accepted += 1;
            }
        }
    }
    assert!(accepted * 10 > COMPONENTS && accepted * 2 < COMPONENTS * variants().len() as u64, "{accepted}");
}

#[test]
fn seeds_use_every_feature() {
    let seeds = seeds();
    let check = |seed: &Seed| {
        let error = Validator::new_with_features(features()).validate_all(&seed.wasm).err()?;
        Some(format!("{}: {error}", seed.name))
    };
    let invalid: Vec<_> = seeds.iter().filter_map(check).collect();
    assert!(invalid.is_empty(), "{}", invalid.join("\n"));
    let mut unused = Vec::new();
    for (name, feature) in features().iter_names() {
        // Changes how a type is written, or is a part of another one.
        let apart = WasmFeatures::COMPACT_IMPORTS | WasmFeatures::CALL_INDIRECT_OVERLONG;
        let without = features().difference(feature);
        let needs = |seed: &Seed| Validator::new_with_features(without).validate_all(&seed.wasm).is_err();
        if !apart.contains(feature) && !seeds.iter().any(needs) {
            unused.push(name);
        }
    }
    assert!(unused.is_empty(), "no seed has {unused:?}");
}

/// Makes mutants by number.
struct Mutants<'s> {
    seeds: &'s [Seed],
    shapes: Vec<Shape<'s>>,
    attacks: Vec<Attack>,
}

impl<'s> Mutants<'s> {
    fn new(seeds: &'s [Seed]) -> Mutants<'s> {
        Mutants { seeds, shapes: seeds.iter().map(|seed| Shape::new(&seed.wasm)).collect(), attacks: attacks() }
    }

    fn make(&self, number: u64) -> Vec<u8> {
        let mut random = Random(number);
        random.next();
        let seed = random.below(self.seeds.len());
        let other = random.below(self.seeds.len());
        let other_wasm = &self.seeds[other].wasm;
        let mut wasm = if random.once_in(50) {
            let attack = self.attacks[random.below(self.attacks.len())];
            (attack.make)(random.size(attack.count_max.min(2_000)))
        } else if random.once_in(5) {
            self.seeds[seed].wasm.clone()
        } else {
            let mut shape = self.shapes[seed].clone();
            for _ in 0..random.size(6) {
                structure::mutate(&mut shape, &self.shapes[other], &mut random);
            }
            shape.encode()
        };
        if random.once_in(6) {
            wasm = bytes::mutate_sections(&wasm, other_wasm, &mut random);
        }
        if random.once_in(3) {
            for _ in 0..random.size(4) {
                bytes::mutate(&mut wasm, other_wasm, &mut random);
            }
        }
        wasm
    }
}

/// What came out so far.
#[derive(Debug, Default)]
struct Total {
    /// Modules that the validator takes.
    valid: u64,
    /// Calls that gave a module, and those that gave an error.
    accepted: u64,
    refused: u64,
    /// The most heap that a call took beyond the base, for a byte of its module; with the mutant's number.
    heap_per_byte_max: (f64, u64),
    /// The longest call; with the mutant's number.
    longest: (Duration, u64),
}

/// Keeps a bad mutant in a file, and says what it is.
fn describe(number: u64, wasm: &[u8], what: &str) -> String {
    let path = std::env::temp_dir().join(format!("fuzzbox-garbage-{number}.wasm"));
    std::fs::write(&path, wasm).unwrap();
    format!("mutant {number} ({} bytes, written to {}) {what}", wasm.len(), path.display())
}

impl Total {
    /// Rewrites a module in all ways; gives what is wrong.
    fn check(&mut self, wasm: &[u8], variants: &[Options], heap_per_byte: usize, number: u64) -> Result<(), String> {
        let mut result = Ok(());
        for options in variants {
            let checked = catch_unwind(AssertUnwindSafe(|| self.check_one(wasm, options, heap_per_byte, number)));
            let checked = checked.unwrap_or_else(|_| Err("panicked".to_owned()));
            result = result.and(checked.map_err(|what| format!("{what} ({options:?})")));
        }
        let _ = strip_custom_sections(wasm);
        custom_sections(wasm).for_each(drop);
        result
    }

    fn check_one(&mut self, wasm: &[u8], options: &Options, heap_per_byte: usize, number: u64) -> Result<(), String> {
        let start = Instant::now();
        let (result, heap) = heap::peak(|| instrument(wasm, options));
        self.longest = self.longest.max((start.elapsed(), number));
        let per_byte = heap.saturating_sub(HEAP_BASE) as f64 / wasm.len().max(1) as f64;
        if per_byte > self.heap_per_byte_max.0 {
            self.heap_per_byte_max = (per_byte, number);
        }
        match result {
            Ok(new) => {
                self.accepted += 1;
                check_new(wasm, &new)?;
            }
            Err(error) => {
                self.refused += 1;
                let text = format!("{error:#}");
                // What was valid is rewritten to what is valid, unless it is beyond a limit.
                if text.contains("when it is rewritten") && !text.contains("limit") && !text.contains("more than") {
                    return Err(format!("is refused: {text}"));
                }
            }
        }
        if heap > HEAP_BASE + heap_per_byte * wasm.len() {
            return Err(format!("took {heap} bytes of heap, {per_byte:.1} for a byte"));
        }
        Ok(())
    }
}

/// What holds for every rewritten module.
fn check_new(wasm: &[u8], new: &Instrumented) -> Result<(), String> {
    let checked = Validator::new_with_features(output_features()).validate_all(&new.wasm);
    checked.map_err(|error| format!("became invalid: {error}"))?;
    match new.edges.edges.iter().find(|edge| edge.offset as usize >= wasm.len()) {
        Some(edge) => Err(format!("has an edge outside of the original: {edge:?}")),
        None => Ok(()),
    }
}
