//! Generated modules through the rewriter: the original and the rewritten one must do the same.
//!
//! `FUZZBOX_SMITH_MODULES=100000 cargo test -p fuzzbox-tests --test rewriter_smith` tries more of them.

mod rewriter;

use std::collections::BTreeMap;

use arbitrary::Unstructured;
use fuzzbox_instrument::{Options, instrument};
use rewriter::{Offsets, Origins, Random, describe, describe_all, engine};
use wasm_smith::InstructionKind::{Aggregate, Control, Parametric, Reference, Table, Variable};
use wasm_smith::{Config, InstructionKinds};
use wasmtime::*;

/// Functions and loop heads after which a generated module stops itself.
const STEPS_MAX: u32 = 2_000;

#[test]
fn generated_modules_do_the_same_when_they_are_rewritten() {
    let modules = std::env::var("FUZZBOX_SMITH_MODULES").map_or(1_500, |number| number.parse().unwrap());
    let adjust = |config: &mut wasmtime::Config| {
        config.memory_reservation(1 << 24).memory_guard_size(1 << 16);
    };
    let ways = [(OptLevel::None, Offsets::Calls), (OptLevel::Speed, Offsets::None)];
    let engines = ways.map(|(level, offsets)| (engine(level, adjust), offsets));
    let mut total = Total::default();
    for seed in 0..modules {
        let (engine, offsets) = &engines[seed as usize % 2];
        compare(engine, *offsets, seed, &mut total);
    }
    println!("{total:?}");
    // What was compared, as a share of what was tried.
    assert!(total.instantiated * 2 > modules, "{total:?}");
    assert!(total.returned * 3 > modules, "{total:?}");
    assert!(total.trapped > modules, "{total:?}");
    assert!(total.overflowed * 10 < modules, "{total:?}");
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
    /// Edges that have a counter, by kind.
    edges: BTreeMap<&'static str, u64>,
}

/// Generates a module, as valid as possible and using all features, from a seed.
fn generate(random: &mut Random) -> Option<Vec<u8>> {
    let config = Config {
        export_everything: true,
        compact_imports_enabled: false, // unknown to wasmtime 48
        custom_page_sizes_enabled: true,
        threads_enabled: false, // waiting would block
        allow_start_export: random.below(4) == 0,
        disallow_traps: random.below(2) == 0,
        allowed_instructions: match random.below(2) {
            0 => InstructionKinds::all(),
            _ => InstructionKinds::new(&[Control, Parametric, Variable, Reference, Aggregate, Table]),
        },
        max_types: 12,
        max_imports: 4,
        max_globals: 6,
        max_data_segments: 4,
        max_element_segments: 4,
        max_elements: 6,
        max_tags: 3,
        max_values: 4,
        max_funcs: 12,
        max_memories: 3,
        max_memory32_bytes: 20 << 16,
        max_memory64_bytes: 20 << 16,
        max_tables: 4,
        max_table_elements: 1_000,
        min_funcs: 4,
        max_instructions: 400,
        max_nesting_depth: 20,
        ..Config::default()
    };
    let bytes: Vec<u8> = (0..2_000 + random.below(30_000)).map(|_| random.next() as u8).collect();
    let mut module = wasm_smith::Module::new(config, &mut Unstructured::new(&bytes)).ok()?;
    module.ensure_termination(STEPS_MAX).ok()?;
    Some(module.to_bytes())
}

fn compare(engine: &Engine, offsets: Offsets, seed: u64, total: &mut Total) {
    let Some(wasm) = generate(&mut Random(seed)) else { return };
    // What wasmtime refuses, as too many fields in a struct, is not compared.
    let Ok(original) = Module::new(engine, &wasm) else { return };
    let new = instrument(&wasm, &Options::default()).unwrap_or_else(|error| panic!("seed {seed}: {error:#}"));
    let rewritten = Module::new(engine, &new.wasm).unwrap_or_else(|error| panic!("seed {seed}: {error:?}"));
    for edge in &new.edges.edges {
        *total.edges.entry(edge.kind.name()).or_default() += 1;
    }
    let mut origins = Origins::new(offsets);
    let left = run(engine, &original, &original, &origins, seed);
    origins.add(rewritten.clone(), new.offsets);
    let right = run(engine, &rewritten, &original, &origins, seed);
    for (left, right) in left.iter().zip(&right) {
        if left.contains("StackOverflow") || right.contains("StackOverflow") {
            total.overflowed += 1;
            return;
        }
        assert_eq!(left, right, "seed {seed}");
        total.instantiated += u64::from(left == "instantiated");
        total.returned += u64::from(left.starts_with("returned"));
        total.trapped += u64::from(left.starts_with("trap") || left == "exception");
    }
    assert_eq!(left.len(), right.len(), "seed {seed}");
}

/// Instantiates a module, calls all that `interface` exports, and says how that and all state came out.
fn run(engine: &Engine, module: &Module, interface: &Module, origins: &Origins, seed: u64) -> Vec<String> {
    let mut random = Random(!seed);
    let limits = StoreLimitsBuilder::new().memory_size(64 << 20).table_elements(20_000).instances(10).build();
    let mut store = Store::new(engine, limits);
    store.limiter(|limits| limits);
    let mut linker = Linker::new(engine);
    if linker.define_unknown_imports_as_default_values(&mut store, interface).is_err() {
        return vec!["can't be linked".to_owned()];
    }
    let instance = match linker.instantiate(&mut store, module) {
        Ok(instance) => instance,
        Err(error) => return vec![origins.failure(&error)],
    };
    let mut log = vec!["instantiated".to_owned()];
    for export in interface.exports() {
        if let ExternType::Func(ty) = export.ty() {
            let function = instance.get_func(&mut store, export.name()).unwrap();
            let Some(arguments) = arguments(&ty, &mut random) else { continue };
            let mut results = vec![Val::I32(0); ty.results().len()];
            log.push(match function.call(&mut store, &arguments, &mut results) {
                Ok(()) => format!("returned {}", describe_all(&mut store, &results)),
                Err(error) => {
                    store.take_pending_exception();
                    origins.failure(&error)
                }
            });
        }
    }
    for export in interface.exports() {
        let value = instance.get_export(&mut store, export.name()).unwrap();
        log.push(format!("{}: {}", export.name(), state(&mut store, value)));
    }
    log
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
