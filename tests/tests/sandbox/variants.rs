//! All variants of a module do the same with the same input, and count the same.

use fuzzbox::engine::{Corpus, Dictionary, Mutator, Rng};
use fuzzbox::outcome::{FailureKind, Outcome, Trap, TrapKind};
use fuzzbox::sandbox::{Executor, History, Target, Variant};
use fuzzbox::settings::Settings;
use fuzzbox_instrument::EdgeSet;
use fuzzbox_tests::{Shown, show};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Executes mutants of `seeds` in all variants, each on an instance that is kept, and returns how often each kind of outcome
/// was compared.
fn check(wasm: &Path, seeds: &[Vec<u8>], mutants: usize) -> BTreeMap<String, usize> {
    let settings =
        Settings { fuel_max: 2_000_000, memory_bytes_max: 32 << 20, input_bytes_max: 4096, ..Settings::default() };
    let bytes = std::fs::read(wasm).expect("the guest is readable");
    let metered = Arc::new(Target::load(&bytes, settings).expect("the guest is a target"));
    let some: EdgeSet = (0..metered.edges.edges.len() as u32).filter(|edge| edge % 3 == 0).collect();
    // Laid out for some of the seeds, so that mutants do what nobody did before.
    let past = History::of(&metered, seeds.iter().step_by(3).map(Vec::as_slice)).unwrap();
    let in_variant = |variant| Executor::new(&Arc::new(metered.in_variant_after(variant, &past).unwrap())).unwrap();
    let mut full = in_variant(Variant::Full);
    let mut fast = in_variant(Variant::Fast(some.clone()));
    let mut metered = Executor::new(&metered).unwrap();

    let mutator = Mutator::new(Dictionary::default().with_constants_of(&bytes));
    let (corpus, mut rng) = (Corpus::new(0), Rng::of_task(3, 0, 0));
    let mut kinds = BTreeMap::new();
    for index in 0..seeds.len() + mutants {
        let mut input = seeds[index % seeds.len()].clone();
        if index >= seeds.len() {
            mutator.mutate(&mut input, 600, &corpus, &mut rng);
        }
        let expected = Shown { fuel: 0, ..show(&mut metered, &input) };
        let kind = match expected.outcome.failure() {
            // The other variants have no fuel.
            Some((FailureKind::Hang, _)) => continue,
            Some((_, trap)) if trap.kind == TrapKind::StackOverflow => {
                // How deep it comes depends on the size of frames, which no two variants have in common.
                for executor in [&mut full, &mut fast] {
                    let outcome = executor.run(&input).unwrap();
                    assert!(outcome.trap().is_some_and(|trap| trap.kind == TrapKind::StackOverflow), "{outcome:?}");
                }
                continue;
            }
            failure => failure.map_or(expected.outcome.name(), |(_, trap)| trap.kind.name()),
        };
        *kinds.entry(kind.to_owned()).or_default() += 1;
        // Only the metered variant says where a failure was, and the others' counts are right up to it.
        let expected = Shown { outcome: without_frames(expected.outcome), ..expected };
        let about = format!("{}: {:?}", wasm.display(), String::from_utf8_lossy(&input));
        let mut shown = Shown { fuel: 0, ..show(&mut full, &input) };
        if !full.observation().is_exact() {
            shown.edges.clone_from(&expected.edges);
        }
        assert_eq!(shown, expected, "full, {about}");
        // Other edges may be counted too, for the sake of those that are asked for.
        let mut expected = expected;
        expected.edges.retain(|&(edge, _)| some.contains(edge));
        let mut shown = Shown { fuel: 0, ..show(&mut fast, &input) };
        shown.edges.retain(|&(edge, _)| some.contains(edge));
        if !fast.observation().is_exact() {
            shown.edges.clone_from(&expected.edges);
        }
        assert_eq!(shown, expected, "fast, {about}");
    }
    println!("{}: {kinds:?}", wasm.display());
    kinds
}

fn without_frames(outcome: Outcome) -> Outcome {
    let bare = |trap: &Trap| Trap { frames: Vec::new(), ..trap.clone() };
    outcome.failure().map(|(kind, trap)| Outcome::failed(kind, bare(trap))).unwrap_or(outcome)
}

fn misbehave(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("guests/misbehave").join(name)
}

#[test]
fn a_guest_that_ends_in_every_way() {
    let mut seeds: Vec<Vec<u8>> = (0..=255).map(|code| vec![code]).collect();
    seeds.extend((0..=255).map(|code: u8| vec![code, code.rotate_left(3) ^ 0x52]));
    let kinds = check(&misbehave("misbehave.wat"), &seeds, 1_000);
    for kind in
        ["ok", "rejected", "unreachable", "memory-out-of-bounds", "integer-division-by-zero", "uncaught-exception"]
    {
        assert!(kinds.contains_key(kind), "no input ended as {kind}: {kinds:?}");
    }
}

#[test]
fn a_guest_with_objects() {
    check(&misbehave("objects.wat"), &[b"short".to_vec(), vec![7; 40]], 100);
}

#[test]
fn examples() {
    let json = br#"{"a": [1, 2.5e3, "x\u00e9", null, true], "b": {}}"#.to_vec();
    let config = b"[section]\nkey = value\n".to_vec();
    for (name, seed) in [("first-bug", b"FUZ".to_vec()), ("json", json), ("stdin-tool", config)] {
        check(&fuzzbox_tests::example(name).expect("an example"), &[seed], 500);
    }
}

#[test]
fn where_faults_are_not_handled_the_same_happens_in_new_instances() {
    let misbehaving: Vec<Vec<u8>> = (0..=255).map(|code| vec![code, 1]).collect();
    let json = br#"{"a": [1, 2.5e3, "x\u00e9", null, true], "b": {}}"#.to_vec();
    let guests = [
        (misbehave("misbehave.wat"), misbehaving),
        (fuzzbox_tests::example("json").expect("an example"), vec![json, b"[[".to_vec(), b"\"".to_vec()]),
        (fuzzbox_tests::example("stdin-tool").expect("an example"), vec![b"[section]\nkey = value\n".to_vec()]),
    ];
    for (wasm, seeds) in guests {
        let bytes = std::fs::read(&wasm).unwrap();
        let settings = Settings { fuel_max: 2_000_000, input_bytes_max: 4096, ..Settings::default() };
        let load = || Target::load(&bytes, settings.clone()).unwrap();
        let (restoring, without) = (Arc::new(load()), Arc::new(load().without_restoring()));
        assert!(without.restore_plan().starts_with("a new instance for every execution"));
        let [mut restored, mut fresh] = [&restoring, &without].map(|target| Executor::new(target).unwrap());
        let mutator = Mutator::new(Dictionary::default());
        let (corpus, mut rng) = (Corpus::new(0), Rng::of_task(3, 0, 0));
        for index in 0..seeds.len() + 200 {
            let mut input = seeds[index % seeds.len()].clone();
            if index >= seeds.len() {
                mutator.mutate(&mut input, 200, &corpus, &mut rng);
            }
            let expected = show(&mut restored, &input);
            assert_eq!(show(&mut fresh, &input), expected, "{}: {input:?}", wasm.display());
        }
    }
}

#[test]
fn what_initialisers_do_is_part_of_no_execution() {
    let wasm = wat::parse_str(
        r#"(module
            (memory 1)
            (func $initialise (export "_initialize") (local i32)
                (loop (br_if 0 (i32.lt_u (local.tee 0 (i32.add (local.get 0) (i32.const 1))) (i32.const 5)))))
            (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32) (i32.const 0)))"#,
    )
    .unwrap();
    let metered = Arc::new(Target::load(&wasm, Settings::default()).unwrap());
    for variant in [Variant::Metered, Variant::Full] {
        let mut executor = Executor::new(&Arc::new(metered.in_variant(variant).unwrap())).unwrap();
        let edges = show(&mut executor, b"").edges;
        let entry = metered.edges.edges.iter().position(|edge| edge.function == 1).unwrap() as u32;
        assert_eq!(edges, [(entry, 1)]);
    }
}

#[test]
fn unreachable_is_the_same_outcome_in_all_and_has_frames_in_one() {
    let wasm = wat::parse_str(
        r#"(module
            (memory 1)
            (func $inner (param i32)
                (if (local.get 0) (then (unreachable)))
                (i32.store (i32.const 8) (local.get 0))
                unreachable)
            (func $outer (param i32) (call $inner (local.get 0)) (nop) (call $inner (local.get 0)))
            (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32)
                (call $outer (local.get 1)) (i32.const 0)))"#,
    )
    .unwrap();
    let metered = Arc::new(Target::load(&wasm, Settings::default()).unwrap());
    let variants = [Variant::Metered, Variant::Full, Variant::Fast(EdgeSet::default())];
    let outcomes = variants.map(|variant| {
        let mut executor = Executor::new(&Arc::new(metered.in_variant(variant).unwrap())).unwrap();
        executor.run(b"").unwrap()
    });
    let trap = outcomes[0].trap().expect("it fails");
    assert_eq!((trap.kind, trap.frames.len()), (TrapKind::Unreachable, 3));
    let unreachable = trap.frames[0].offset as usize;
    assert_eq!(wasm[unreachable], 0, "the offset is that of the operator");
    let bare = without_frames(outcomes[0].clone());
    assert!(outcomes[1..].iter().all(|outcome| *outcome == bare), "{outcomes:?}");
}
