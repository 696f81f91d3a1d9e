//! The law *restored equals fresh* for generated modules, which use every feature: whatever ran before on an instance that is
//! kept, an execution does what it does on an instance of its own, in every variant.
//!
//! `FUZZBOX_SMITH_MODULES=20000 cargo test --workspace --test sandbox restored_smith` tries more of them, `FUZZBOX_SMITH_FIRST=5000`
//! begins with another.

use crate::execution::Random;
use crate::execution::smith::generate_as;
use fuzzbox::outcome::{FailureKind, TrapKind};
use fuzzbox::sandbox::{Candidate, Code, CodeCache, Executor, History, THREAD_STACK_BYTES, Target, Variant};
use fuzzbox::settings::{EntryArgs, Settings, Stub};
use fuzzbox_instrument::EdgeSet;
use fuzzbox_instrument::trace::Trace;
use fuzzbox_tests::{Shown, show};
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::sync::Arc;
use wasmparser::{ExternalKind, Parser, Payload, ValType, Validator};

/// Inputs of each module.
const INPUTS: u64 = 5;
/// Executions on the instance that is kept, each of one of these inputs.
const EXECUTIONS: u64 = 15;

#[derive(Debug, Default)]
struct Total {
    /// Modules that can be executed.
    loaded: u64,
    /// Those whose instance is kept.
    kept: u64,
    /// Those that were refused, by the beginning of the reason.
    refused: BTreeMap<String, u64>,
    /// Executions that were compared, by how they ended, in the variant that decides.
    ends: BTreeMap<String, u64>,
    /// Executions of code that compares addresses, and how many of these failed so before others did, or for nothing.
    compared: u64,
    early: u64,
}

#[test]
fn generated_modules_do_the_same_on_an_instance_that_is_kept() {
    let number = |name, otherwise| std::env::var(name).map_or(otherwise, |number| number.parse::<u64>().unwrap());
    let (modules, first) = (number("FUZZBOX_SMITH_MODULES", 120), number("FUZZBOX_SMITH_FIRST", 0));
    let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let part = move |thread: u64| {
        let mut total = Total::default();
        (first..first + modules).filter(|seed| seed % threads == thread).for_each(|seed| compare(seed, &mut total));
        total
    };
    // Executions start no thread where there is room for them.
    let spawn =
        |thread| std::thread::Builder::new().stack_size(THREAD_STACK_BYTES).spawn(move || part(thread)).unwrap();
    let parts: Vec<_> = (0..threads).map(spawn).collect();
    let mut total = Total::default();
    for part in parts {
        let part = part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        total.loaded += part.loaded;
        total.kept += part.kept;
        part.refused.into_iter().for_each(|(why, count)| *total.refused.entry(why).or_default() += count);
        total.compared += part.compared;
        total.early += part.early;
        part.ends.into_iter().for_each(|(end, count)| *total.ends.entry(end).or_default() += count);
    }
    println!("{total:#?}");
    assert!(total.loaded * 4 > modules, "{total:?}");
    assert!(total.kept * 8 > modules, "{total:?}");
    assert!(total.ends.len() >= 4, "{total:?}");
    assert!(total.early * 20 <= total.compared, "{total:?}");
}

/// All that an execution shows.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    shown: Shown,
    key: Option<NonZeroU64>,
    trace: Trace,
}

fn see(executor: &mut Executor, input: &[u8]) -> Seen {
    let shown = show(executor, input);
    Seen { shown, key: executor.stack_key(), trace: executor.observation().trace() }
}

fn compare(seed: u64, total: &mut Total) {
    let mut random = Random(seed);
    // Instances with objects are kept for one execution alone.
    let has_objects = seed.is_multiple_of(8);
    let Some(wasm) = generate_as(&mut random, |config| config.gc_enabled = has_objects) else { return };
    let entries = entries(&wasm);
    if entries.is_empty() {
        return;
    }
    let settings = Settings {
        entry: Some(entries[random.below(entries.len() as u64) as usize].clone()),
        // Some have their input in memory.
        entry_args: if seed.is_multiple_of(2) { EntryArgs::Auto } else { EntryArgs::Numbers },
        stub_imports: Some(match random.below(4) {
            0 => Stub::Trap,
            1 => Stub::Reject,
            _ => Stub::Zero,
        }),
        fuel_max: 300_000,
        memory_bytes_max: 64 << 20,
        input_bytes_max: 4096,
        ..Settings::default()
    };
    let metered = match Target::load(&wasm, settings.clone()) {
        Ok(target) => Arc::new(target),
        Err(error) => {
            let why = error.to_string().chars().take(60).collect();
            *total.refused.entry(why).or_default() += 1;
            return;
        }
    };
    total.loaded += 1;
    total.kept += u64::from(metered.restore_plan().starts_with("kept"));
    let input = |_| (0..random.below(9)).flat_map(|_| random.number().to_le_bytes()).collect();
    let mut inputs: Vec<Vec<u8>> = (0..INPUTS).map(input).collect();
    let some: EdgeSet = (0..metered.edges.edges.len() as u32).filter(|edge| edge % 3 == 0).collect();

    let expected = in_variant(&metered, &inputs, seed);
    for Seen { shown, .. } in &expected {
        let end = shown.outcome.trap().map_or(shown.outcome.name(), |trap| trap.kind.name());
        *total.ends.entry(end.to_owned()).or_default() += 1;
    }
    let traced = in_variant(&Arc::new(metered.in_variant(Variant::Traced).unwrap()), &inputs, seed);
    for (traced, metered) in traced.iter().zip(&expected) {
        assert_eq!(traced.shown, metered.shown, "seed {seed}: traced is not as metered");
    }
    let quick = Candidate::new(&wasm, settings).unwrap();
    let quick = Arc::new(Target::compiled(quick, &CodeCache::default(), Code::Quick).unwrap());
    for (quick, metered) in in_variant(&quick, &inputs, seed).iter().zip(&expected) {
        assert_eq!(quick.shown, metered.shown, "seed {seed}: quick code does not do the same");
    }
    let mut hangs = expected.iter().map(|seen| matches!(seen.shown.outcome.failure(), Some((FailureKind::Hang, _))));
    inputs.retain(|_| !hangs.next().unwrap());
    let past = History::of(&metered, inputs.iter().step_by(2).map(Vec::as_slice)).unwrap();
    for (variant, past) in [(Variant::Full, &past), (Variant::Fast(some), &History::default())] {
        in_variant(&Arc::new(metered.in_variant_after(variant, past).unwrap()), &inputs, seed);
    }
    let past = past.comparing();
    let comparing = [Variant::Full, Variant::Traced].map(|variant| {
        let target = metered.in_variant_after(variant, &past).unwrap();
        in_variant(&Arc::new(target), &inputs, seed)
    });
    let decided: Vec<_> =
        expected.iter().filter(|seen| !matches!(seen.shown.outcome.failure(), Some((FailureKind::Hang, _)))).collect();
    for (traced, decided) in comparing[1].iter().zip(&decided) {
        let same = traced.shown.outcome.trap().is_some() || traced.shown == decided.shown;
        assert!(same, "seed {seed}: traced that compares is not as metered");
    }
    for (comparing, decided) in comparing.iter().flat_map(|comparing| comparing.iter().zip(&decided)) {
        let kind = |seen: &Seen| (seen.shown.outcome.name(), seen.shown.outcome.trap().map(|trap| trap.kind));
        if kind(comparing) != kind(decided) {
            // It may say so before something else fails, or although the access is not reached. It is executed again then.
            assert_eq!(kind(comparing).1, Some(TrapKind::MemoryOutOfBounds), "seed {seed}: an access was not compared");
            total.early += 1;
        }
        total.compared += 1;
    }
}

/// Compares in one variant, and returns what each input shows.
fn in_variant(target: &Arc<Target>, inputs: &[Vec<u8>], seed: u64) -> Vec<Seen> {
    let expected: Vec<_> = inputs.iter().map(|input| see(&mut Executor::new(target).unwrap(), input)).collect();
    let mut kept = Executor::new(target).unwrap();
    let mut random = Random(!seed);
    if !inputs.is_empty() {
        for _ in 0..EXECUTIONS {
            let index = random.below(inputs.len() as u64) as usize;
            let seen = see(&mut kept, &inputs[index]);
            assert_eq!(seen, expected[index], "seed {seed}, {:?}, input {:x?}", target.variant, inputs[index]);
        }
    }
    expected
}

/// Names of exported functions all of whose parameters are numbers.
fn entries(wasm: &[u8]) -> Vec<String> {
    let features = fuzzbox_instrument::features();
    let types = Validator::new_with_features(features).validate_all(wasm).expect("generated modules are valid");
    let mut entries = Vec::new();
    for payload in Parser::new(0).parse_all(wasm) {
        let Payload::ExportSection(exports) = payload.unwrap() else { continue };
        for export in exports {
            let export = export.unwrap();
            if !matches!(export.kind, ExternalKind::Func | ExternalKind::FuncExact) {
                continue;
            }
            let ty = types[types.as_ref().core_function_at(export.index)].unwrap_func();
            if ty.params().iter().all(|param| !matches!(param, ValType::Ref(_))) {
                entries.push(export.name.to_owned());
            }
        }
    }
    entries
}
