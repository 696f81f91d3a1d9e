//! Laws of `identity`: what a linker does changes nothing, and one changed number is found whatever the linker did.

mod link;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use arbitrary::Unstructured;
use fuzzbox_instrument::identity::{Diff, Identity, Pair, diff, exact};
use fuzzbox_instrument::{Options, instrument, strip_custom_sections};
use link::{Layout, Program, Random, relink};

fn identity(wasm: &[u8]) -> Identity {
    Identity::of(wasm).unwrap()
}

/// Seeds of random programs: as many as `FUZZBOX_IDENTITY_PROGRAMS` says.
fn seeds() -> std::ops::Range<u64> {
    0..std::env::var("FUZZBOX_IDENTITY_PROGRAMS").map_or(200, |number| number.parse().unwrap())
}

/// The programs that were compiled for another test, with names.
fn real_modules() -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/guests/recompile");
    let modules = ["c", "rust"].map(|guest| folder.join(guest).join("modules/base.wasm"));
    modules.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

/// Asserts that every function is the same as the one that `to_new` says.
fn assert_all_same(diff: &Diff, functions: usize, to_new: impl Fn(u32) -> u32, what: &str) {
    assert_eq!((&diff.changed[..], &diff.added[..], &diff.removed[..]), (&[][..], &[][..], &[][..]), "{what}");
    assert_eq!(diff.same.len(), functions, "{what}");
    for pair in &diff.same {
        assert_eq!(pair.new, to_new(pair.old), "{what}: function {}", pair.old);
    }
}

/// Asserts something for random programs. Their code is full of numbers that could be addresses, in layouts where all
/// moved at random: one program in a thousand may be misread.
fn for_programs(holds: impl Fn(&Program, &mut Random, bool) -> bool) {
    let seeds = seeds();
    let mut failed = Vec::new();
    for seed in seeds.clone() {
        let random = &mut Random::new(seed);
        let program = Program::random(random);
        if ![true, false].into_iter().all(|names| holds(&program, random, names)) {
            failed.push(seed);
        }
    }
    println!("{} of {} programs misread: {failed:?}", failed.len(), seeds.end);
    assert!(failed.len() as u64 * 1000 <= seeds.end, "misread: {failed:?}");
}

#[test]
fn a_program_linked_in_another_way_is_the_same() {
    for_programs(|program, random, names| {
        let (old, new) = (Layout::random(program, random, names), Layout::random(program, random, names));
        let (a, b) = (identity(&program.link(&old)), identity(&program.link(&new)));
        let diff = diff(&a, &b);
        let edges = diff.edges(&a, &b);
        let carried: BTreeSet<u32> = edges.iter().copied().flatten().collect();
        diff.changed.is_empty()
            && diff.added.is_empty()
            && diff.removed.is_empty()
            && diff.same.iter().all(|pair| pair.new == new.index_of(old.function_at(pair.old)))
            && carried.len() == edges.len()
            && carried.len() == b.functions().iter().map(|function| function.edges.len()).sum::<usize>()
    });
}

#[test]
fn one_changed_number_changes_one_function() {
    for_programs(|program, random, names| {
        let mut edited = program.clone();
        let function = edited.change_a_number(random);
        let (old, new) = (Layout::random(program, random, names), Layout::random(program, random, names));
        let diff = diff(&identity(&program.link(&old)), &identity(&edited.link(&new)));
        let expected = Pair { old: old.index_of(function), new: new.index_of(function) };
        assert!(!diff.same.iter().any(|pair| pair.old == expected.old), "the change went unnoticed");
        diff.changed == [expected] && diff.added.is_empty() && diff.removed.is_empty()
    });
}

#[test]
fn one_changed_text_changes_the_functions_that_use_it() {
    for seed in seeds() {
        let random = &mut Random::new(seed);
        let program = Program::random(random);
        let mut edited = program.clone();
        let Some(object) = edited.change_a_text(random) else { continue };
        let (old, new) = (Layout::random(&program, random, true), Layout::random(&program, random, true));
        let diff = diff(&identity(&program.link(&old)), &identity(&edited.link(&new)));
        let found: Vec<_> = diff.changed.iter().map(|pair| old.function_at(pair.old)).collect();
        for function in program.users_of(object) {
            assert!(found.contains(&function), "seed {seed}: function {function}");
        }
    }
}

#[test]
fn real_programs_in_another_order_without_padding_are_the_same() {
    for (path, wasm) in real_modules() {
        for seed in 0..20 {
            for bare in [false, true] {
                let wasm = if bare { strip_custom_sections(&wasm).unwrap() } else { wasm.clone() };
                let (other, order) = relink(&wasm, &mut Random::new(seed));
                let diff = diff(&identity(&wasm), &identity(&other));
                let what = format!("{}, seed {seed}, bare {bare}", path.display());
                // Functions with the same code can't be told apart without names, and needn't be.
                let twins = bare.then(|| diff.same.iter().filter(|pair| pair.new != order[pair.old as usize]).count());
                assert!(twins.unwrap_or_default() <= 4, "{what}: {twins:?}");
                let to_new = |index: u32| diff.same.iter().find(|pair| pair.old == index).unwrap().new;
                let exact = |index: u32| order[index as usize];
                if bare {
                    assert_all_same(&diff, order.len(), to_new, &what);
                } else {
                    assert_all_same(&diff, order.len(), exact, &what);
                }
            }
        }
    }
}

#[test]
fn names_need_not_be_there_on_both_sides() {
    for (path, wasm) in real_modules() {
        let bare = identity(&strip_custom_sections(&wasm).unwrap());
        let named = identity(&wasm);
        assert_all_same(&diff(&named, &bare), named.functions().len(), |index| index, &path.display().to_string());
        assert_all_same(&diff(&bare, &named), named.functions().len(), |index| index, &path.display().to_string());
    }
}

#[test]
fn edges_are_numbered_as_in_the_edge_map() {
    for (_, wasm) in real_modules() {
        let identity = identity(&wasm);
        let map = instrument(&wasm, &Options::default()).unwrap().edges;
        for (number, edge) in (0..).zip(&map.edges) {
            let function = &identity.functions()[edge.function as usize];
            assert!(function.edges.contains(&number));
            let key = identity.edge_key(number).unwrap();
            assert_eq!((key.fingerprint, key.copy), (function.fingerprint, function.copy));
            assert_eq!(key.ordinal, number - function.edges.start);
        }
        assert_eq!(identity.edge_key(map.edges.len() as u32), None);
        let mut keys: Vec<_> = (0..map.edges.len() as u32).map(|edge| identity.edge_key(edge)).collect();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), map.edges.len());
    }
}

#[test]
fn any_module_is_the_same_as_itself() {
    let mut valid = 0;
    for seed in 0..300 {
        let bytes = Random::new(seed).bytes(4096);
        let config = wasm_smith::Config { gc_enabled: true, exceptions_enabled: true, ..wasm_smith::Config::default() };
        let Ok(module) = wasm_smith::Module::new(config, &mut Unstructured::new(&bytes)) else { continue };
        let Ok(identity) = Identity::of(&module.to_bytes()) else { continue };
        let functions = identity.functions().iter().filter(|function| !function.imported).count();
        assert_all_same(&diff(&identity, &identity), functions, |index| index, &format!("seed {seed}"));
        valid += 1;
    }
    assert!(valid > 100, "only {valid} modules");
}

#[test]
fn broken_modules_are_refused_or_compared() {
    let (mut read, mut refused) = (0, 0);
    for (_, wasm) in real_modules() {
        let original = identity(&wasm);
        for seed in 0..400 {
            let random = &mut Random::new(seed);
            let mut broken = wasm.clone();
            for _ in 0..=random.below(2) {
                let at = random.below(broken.len() as u64) as usize;
                broken[at] = random.below(256) as u8;
            }
            match Identity::of(&broken) {
                Ok(broken) => {
                    let diff = diff(&original, &broken);
                    let functions = original.functions().iter().filter(|function| !function.imported).count();
                    assert_eq!(diff.same.len() + diff.changed.len() + diff.removed.len(), functions);
                    read += 1;
                }
                Err(_) => refused += 1,
            }
        }
    }
    assert!(read > 50 && refused > 50, "{read} read, {refused} refused");
}

/// The functions that are the same, address for address.
fn exact_pairs(old: &[u8], new: &[u8]) -> Option<BTreeSet<Pair>> {
    let (a, b) = (identity(old), identity(new));
    let diff = diff(&a, &b);
    exact((old, &a), (new, &b), &diff).unwrap().map(|pairs| pairs.into_iter().collect())
}

#[test]
fn exact_are_functions_with_the_same_addresses_where_all_around_them_is_the_same() {
    let mut moved = 0;
    for seed in seeds() {
        let random = &mut Random::new(seed);
        let program = Program::random(random);
        let layout = Layout::random(&program, random, seed % 2 == 0);
        let wasm = program.link(&layout);
        let all = exact_pairs(&wasm, &wasm).unwrap();
        assert_eq!(all.len(), identity(&wasm).functions().len());
        let mut edited = program.clone();
        let function = layout.index_of(edited.change_a_number(random));
        let changed = exact_pairs(&wasm, &edited.link(&layout)).unwrap();
        let rest: BTreeSet<_> = all.iter().copied().filter(|pair| pair.old != function).collect();
        assert_eq!(changed, rest, "seed {seed}");
        let mut edited = program.clone();
        if edited.change_a_text(random).is_some() {
            assert_eq!(exact_pairs(&wasm, &edited.link(&layout)), None, "seed {seed}: data that all can read");
        }
        // Where things have other addresses, some code may see that.
        let other = program.link(&Layout::random(&program, random, seed % 2 == 0));
        let same = exact_pairs(&wasm, &other);
        moved += usize::from(same.is_none_or(|same| same.len() < all.len()));
    }
    assert!(moved * 10 >= seeds().count() * 9, "{moved} of {}", seeds().count());
}
