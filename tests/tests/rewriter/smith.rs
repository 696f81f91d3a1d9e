//! Generated modules through the rewriter: the original and the rewritten ones must do the same, and all ways to count
//! must give the same counts, also after traps and exceptions.
//!
//! `FUZZBOX_SMITH_MODULES=100000 cargo test --workspace --test rewriter smith` tries more of them,
//! `FUZZBOX_SMITH_FIRST=5000` begins with another.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::execution::calls::Recursive;
use crate::execution::smith::generate;
use crate::execution::{Offsets, Origins, Random, describe, describe_all, engine};
use fuzzbox_instrument::{EdgeSet, Instrumented, LeftFrame, Options, instrument, layout};
use wasmtime::*;

#[test]
fn generated_modules_do_the_same_when_they_are_rewritten() {
    let modules = std::env::var("FUZZBOX_SMITH_MODULES").map_or(600, |number| number.parse().unwrap());
    let adjust = |config: &mut wasmtime::Config| {
        // There are many small modules: what compiles fast is better than fast code.
        config.memory_reservation(1 << 24).memory_guard_size(1 << 16).parallel_compilation(false);
    };
    let ways = [(OptLevel::None, Offsets::Calls), (OptLevel::Speed, Offsets::None)];
    let ways = ways.map(|(level, offsets)| {
        let registers =
            if level == OptLevel::None { RegallocAlgorithm::SinglePass } else { RegallocAlgorithm::Backtracking };
        let make = |canonical| {
            engine(level, |config| {
                adjust(config);
                config.cranelift_regalloc_algorithm(registers).cranelift_nan_canonicalization(canonical);
            })
        };
        Way { rule: make(true), engine: make(false), offsets }
    });
    let mut total = Total::default();
    let first = std::env::var("FUZZBOX_SMITH_FIRST").map_or(0, |number| number.parse().unwrap());
    for seed in first..first + modules {
        compare(&ways, seed, &mut total);
    }
    println!("{total:?}");
    // What was compared, as a share of what was tried.
    assert!(total.instantiated * 2 > modules, "{total:?}");
    assert!(total.returned * 3 > modules, "{total:?}");
    assert!(total.trapped > modules, "{total:?}");
    assert!(total.overflowed * 20 < modules, "{total:?}");
    assert!(total.unplaced * 1000 <= modules, "{total:?}");
    assert!(total.counted > modules * 3, "{total:?}");
    assert!(total.left > modules, "{total:?}");
}

#[derive(Debug, Default)]
struct Total {
    /// Modules that got an instance.
    instantiated: u64,
    /// Calls that returned.
    returned: u64,
    /// Calls that trapped or threw.
    trapped: u64,
    /// Modules whose comparison ended with a stack overflow, which depends on the size of frames.
    overflowed: u64,
    /// Frames that traps left.
    left: u64,
    /// Modules whose counts are not compared, because the engine doesn't say where something trapped.
    unplaced: u64,
    /// Counts other than 0 that were compared.
    counted: u64,
    /// Counters on every edge, and where there are just enough.
    counters: [u64; 2],
    /// Edges, by kind.
    edges: BTreeMap<&'static str, u64>,
}

/// What an execution showed.
struct Ran {
    /// How all that was done came out.
    log: Vec<String>,
    /// The values of all counters.
    counters: Vec<u32>,
    /// The frames that traps left.
    left: Vec<LeftFrame>,
    /// There was one that has no offset.
    unplaced: bool,
}

/// How modules are compiled.
struct Way {
    /// For modules as they are: NaNs are made canonical.
    rule: Engine,
    /// For rewritten ones, which do that themselves.
    engine: Engine,
    offsets: Offsets,
}

/// Compares in one of the ways: the first doesn't optimise, the second does.
fn compare(ways: &[Way; 2], seed: u64, total: &mut Total) {
    let Some(wasm) = generate(&mut Random(seed)) else { return };
    let Way { rule, engine, offsets } = &ways[seed as usize % 2];
    // What wasmtime refuses, as too many fields in a struct, is not compared.
    let Ok(original) = Module::new(rule, &wasm) else { return };
    let left = run(rule, &original, &original, None, &Origins::new(*offsets), seed);
    let original = Module::new(engine, &wasm).unwrap();
    let rewrite =
        |options: &Options| instrument(&wasm, options).unwrap_or_else(|error| panic!("seed {seed}: {error:#}"));
    // A memory that could have an annex, but has none, is as any other. But its maximum is gone, and where it is imported that lets in others.
    let links = left.log.iter().any(|outcome| outcome == "instantiated");
    let with_annex = |mut options: Options| {
        options.annex = links.then_some((seed % 3) as u32);
        options
    };
    let every = rewrite(&with_annex(Options::traced()));
    for edge in &every.edges.edges {
        *total.edges.entry(edge.kind.name()).or_default() += 1;
    }
    let recursive = Arc::new(Recursive::of(&wasm));
    let mut random = Random(seed ^ 0x5eed);
    let share = random.below(5);
    let some: EdgeSet = (0..every.edges.edges.len() as u32).filter(|_| random.below(5) < share).collect();
    let variants = [every, rewrite(&Options::full()), rewrite(&with_annex(Options::fast(some.clone())))];
    total.counters[0] += u64::from(variants[0].counters.len());
    total.counters[1] += u64::from(variants[1].counters.len());
    let mut all = Vec::new();
    for new in &variants {
        let right = rewritten(engine, *offsets, &original, new, &recursive, seed);
        for (left, right) in left.log.iter().zip(&right.log) {
            if left.contains("StackOverflow") || right.contains("StackOverflow") {
                total.overflowed += 1;
                return;
            }
            assert_eq!(left, right, "seed {seed}");
        }
        assert_eq!(left.log.len(), right.log.len(), "seed {seed}");
        total.left += right.left.len() as u64;
        all.push(right);
    }
    for outcome in &left.log {
        total.instantiated += u64::from(outcome == "instantiated");
        total.returned += u64::from(outcome.starts_with("returned"));
        total.trapped += u64::from(outcome.starts_with("trap") || outcome == "exception");
    }
    if seed % 2 == 1 && all.iter().any(|ran| ran.unplaced || !ran.left.is_empty()) {
        // The optimiser makes one conditional trap of a branch and the trap behind it, and then nobody knows where the
        // frame was left. Without it, the offsets are right.
        let Way { engine, offsets, .. } = &ways[0];
        let original = Module::new(engine, &wasm).unwrap();
        all = variants.iter().map(|new| rewritten(engine, *offsets, &original, new, &recursive, seed)).collect();
        if all.iter().flat_map(|ran| &ran.log).any(|outcome| outcome.contains("StackOverflow")) {
            total.overflowed += 1;
            return;
        }
    }
    if all.iter().any(|ran| ran.unplaced) {
        total.unplaced += 1;
        return;
    }
    compare_counts(&variants, &all, &some, seed, total);
}

fn compare_counts(variants: &[Instrumented; 3], all: &[Ran], some: &EdgeSet, seed: u64, total: &mut Total) {
    if all.iter().any(|ran| ran.counters.is_empty()) {
        return; // there is no instance
    }
    let counts = variants.iter().zip(all).map(|(new, ran)| {
        let counts = new.edge_counts(&ran.counters, &ran.left);
        assert_eq!(counts_of_what_ran(new, ran), counts, "seed {seed}");
        counts
    });
    let [every, full, fast] = &counts.collect::<Vec<_>>()[..] else { unreachable!("there are three variants") };
    for (number, edge) in (0..).zip(&variants[0].edges.edges) {
        let count = every[number as usize];
        total.counted += u64::from(count > 0);
        assert_eq!(full[number as usize], count, "seed {seed}, full, edge {number}: {edge:?}");
        if some.contains(number) {
            assert_eq!(fast[number as usize], count, "seed {seed}, fast, edge {number}: {edge:?}");
        }
    }
}

/// The counts from those functions alone that have a counter which is not 0, or of which a frame was left.
fn counts_of_what_ran(new: &Instrumented, ran: &Ran) -> Vec<u32> {
    let mut left = ran.left.clone();
    left.sort();
    let changed = (0..).zip(&ran.counters).filter(|(_, count)| **count != 0);
    let counted = changed.map(|(counter, _)| new.counters.of_counter(counter).unwrap());
    let left_alone = left.iter().filter_map(|left| new.counters.of_function(left.function));
    let functions: BTreeSet<usize> = counted.chain(left_alone).collect();
    let mut counts = vec![0; new.edges.edges.len()];
    for index in functions {
        new.function_edge_counts(index, &ran.counters, &left, |edge, count| counts[edge as usize] = count);
    }
    counts
}

/// Runs a rewritten module.
fn rewritten(
    engine: &Engine,
    offsets: Offsets,
    original: &Module,
    new: &Instrumented,
    recursive: &Arc<Recursive>,
    seed: u64,
) -> Ran {
    let module = Module::new(engine, &new.wasm).unwrap_or_else(|error| panic!("seed {seed}: {error:?}"));
    let mut origins = Origins::new(offsets);
    origins.add(module.clone(), new.offsets.clone());
    run(engine, &module, original, Some((new, recursive)), &origins, seed)
}

/// Instantiates a module, calls all that `interface` exports, and says how that and all state came out. `new` is what the
/// module is, if it was rewritten.
fn run(
    engine: &Engine,
    module: &Module,
    interface: &Module,
    new: Option<(&Instrumented, &Arc<Recursive>)>,
    origins: &Origins,
    seed: u64,
) -> Ran {
    let mut random = Random(!seed);
    let mut ran = Ran { log: Vec::new(), counters: Vec::new(), left: Vec::new(), unplaced: false };
    let limits = StoreLimitsBuilder::new().memory_size(64 << 20).table_elements(20_000).instances(10).build();
    let mut store = Store::new(engine, limits);
    store.limiter(|limits| limits);
    let mut linker = Linker::new(engine);
    let counts_calls = new.filter(|(new, _)| new.injected.trace.is_some());
    if let Some((new, recursive)) = counts_calls {
        import_functions_that_compare_calls(&mut linker, &mut store, interface, new, recursive);
    }
    if linker.define_unknown_imports_as_default_values(&mut store, interface).is_err() {
        ran.log.push("can't be linked".to_owned());
        return ran;
    }
    let instance = match linker.instantiate(&mut store, module) {
        Ok(instance) => instance,
        Err(error) => {
            ran.log.push(origins.failure(&error));
            return ran;
        }
    };
    if let Some(table) = new.and_then(|(new, _)| new.injected.trap_table_export.as_ref()) {
        let table = instance.get_table(&mut store, table).unwrap();
        let trap = Func::wrap(&mut store, || -> Result<()> { Err(Trap::UnreachableCodeReached.into()) });
        table.set(&mut store, 0, Ref::Func(Some(trap))).unwrap();
    }
    ran.log.push("instantiated".to_owned());
    for export in interface.exports() {
        if let ExternType::Func(ty) = export.ty() {
            let function = instance.get_func(&mut store, export.name()).unwrap();
            let Some(arguments) = arguments(&ty, &mut random) else { continue };
            let mut results = vec![Val::I32(0); ty.results().len()];
            let result = function.call(&mut store, &arguments, &mut results);
            if let Some((new, recursive)) = counts_calls {
                let injected = instance.get_memory(&mut store, &new.injected.memory_export).unwrap();
                let injected = injected.data_mut(&mut store);
                check_calls_afterwards(injected, result.as_ref().err(), |backtrace| {
                    recursive.live(backtrace, &new.offsets)
                });
            }
            ran.log.push(match result {
                Ok(()) => format!("returned {}", describe_all(&mut store, &results)),
                Err(error) => {
                    store.take_pending_exception();
                    match left_frames(&error) {
                        Some(left) => ran.left.extend(left),
                        None => ran.unplaced = true,
                    }
                    origins.failure(&error)
                }
            });
        }
    }
    for export in interface.exports() {
        let value = instance.get_export(&mut store, export.name()).unwrap();
        ran.log.push(format!("{}: {}", export.name(), state(&mut store, value)));
    }
    if let Some((new, _)) = new {
        let memory = instance.get_memory(&mut store, &new.injected.memory_export).unwrap();
        let counters = &memory.data(&store)[layout::COUNTERS as usize..][..4 * new.counters.len() as usize];
        ran.counters = counters.chunks_exact(4).map(|count| u32::from_le_bytes(count.try_into().unwrap())).collect();
        // So that a function without counters is none that was not run.
        ran.counters.push(0);
    }
    ran
}

/// The cell that counts live calls.
fn calls(injected: &[u8]) -> usize {
    u32::from_le_bytes(injected[layout::CALLS as usize..][..4].try_into().unwrap()) as usize
}

/// Gives a module imported functions which do nothing, but see that as many calls were counted as the engine finds.
fn import_functions_that_compare_calls(
    linker: &mut Linker<StoreLimits>,
    store: &mut Store<StoreLimits>,
    interface: &Module,
    new: &Instrumented,
    recursive: &Arc<Recursive>,
) {
    for import in interface.imports() {
        let ExternType::Func(ty) = import.ty() else { continue };
        let Some(values) = ty.results().map(|ty| Val::default_for_ty(&ty)).collect::<Option<Vec<_>>>() else {
            continue;
        };
        let (injected, offsets) = (new.injected.memory_export.clone(), new.offsets.clone());
        let recursive = recursive.clone();
        let function = Func::new(&mut *store, ty, move |mut caller, _, results| {
            // Without one, an import is called that the module exports.
            if let Some(Extern::Memory(injected)) = caller.get_export(&injected) {
                let live = recursive.live(&WasmBacktrace::force_capture(&caller), &offsets);
                assert_eq!(Some(calls(injected.data(&caller))), live);
            }
            results.clone_from_slice(&values);
            Ok(())
        });
        // Of several with one name, the last is not for all of them: then the module can't be linked.
        linker.allow_shadowing(true).define(&mut *store, import.module(), import.name(), function).unwrap();
    }
}

/// Sees that no call is counted after one from outside that returned, and all that were live after one that trapped; and sets
/// back the count, as a host does before each execution.
fn check_calls_afterwards(injected: &mut [u8], error: Option<&Error>, live: impl Fn(&WasmBacktrace) -> Option<usize>) {
    let counted = calls(injected);
    match error {
        None => assert_eq!(counted, 0),
        Some(error) if error.downcast_ref() == Some(&Trap::StackOverflow) => {}
        Some(error) if error.is::<Trap>() => {
            let live = error.downcast_ref::<WasmBacktrace>().map_or(Some(0), live);
            assert!(live.is_none_or(|live| live == counted), "{live:?} {counted}");
        }
        // What an exception left is counted until somebody catches.
        Some(_) => {}
    }
    injected[layout::CALLS as usize..][..4].fill(0);
}

/// The frames that a trap has left. Those that an exception has left are no business of ours. `None` if a frame has no
/// offset: that of a function which overflowed the stack when it was entered, or of an access which the optimiser knows
/// to be out of bounds.
fn left_frames(error: &Error) -> Option<Vec<LeftFrame>> {
    let (Some(_), Some(backtrace)) = (error.downcast_ref::<Trap>(), error.downcast_ref::<WasmBacktrace>()) else {
        return Some(Vec::new());
    };
    let left =
        |frame: &FrameInfo| Some(LeftFrame { function: frame.func_index(), offset: frame.module_offset()? as u32 });
    backtrace.frames().iter().map(left).collect()
}

/// Arguments for a call; `None` if there is a type of which we have no value.
fn arguments(ty: &FuncType, random: &mut Random) -> Option<Vec<Val>> {
    let value = |ty: ValType| {
        Some(match ty {
            ValType::I32 => Val::I32(random.number() as i32),
            ValType::I64 => Val::I64(random.number() as i64),
            ValType::F32 => Val::F32((random.number() as f32).to_bits()),
            ValType::F64 => Val::F64((random.number() as f64).to_bits()),
            ValType::V128 => Val::V128(u128::from(random.number()).into()),
            ValType::Ref(_) => return Val::default_for_ty(&ty),
        })
    };
    ty.params().map(value).collect()
}

/// Says what a memory, table or global holds.
fn state(store: &mut Store<StoreLimits>, value: Extern) -> String {
    match value {
        Extern::Memory(memory) => {
            format!("{} pages, {}", memory.size(&mut *store), blake3::hash(memory.data(&*store)))
        }
        Extern::Table(table) => {
            let elements = (0..table.size(&mut *store)).map(|index| {
                let element = table.get(&mut *store, index).unwrap();
                describe(store, &element.into())
            });
            elements.collect::<Vec<_>>().join(" ")
        }
        Extern::Global(global) => {
            let value = global.get(&mut *store);
            describe(store, &value)
        }
        _ => "no state".to_owned(),
    }
}
