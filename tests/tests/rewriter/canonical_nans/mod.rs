//! The bits of NaNs: a rewritten module in an engine that leaves them open does what the original does in one that makes each result
//! canonical, in every variant, optimised or not.
//!
//! `FUZZBOX_NAN_PROGRAMS=20000 cargo test --workspace --test rewriter canonical_nans` tries more generated programs, `FUZZBOX_NAN_FIRST=5000`
//! begins with another. Official tests and generated modules of all kinds are compared so by `rewriter_testsuite` and `rewriter_smith`.

mod operators;
mod programs;
use crate::execution::{Random, describe_all, engine};
use fuzzbox_instrument::{Instrumented, Options, instrument};
use wasmtime::*;

/// What a function is called with, one call after the other.
type Arguments = Box<dyn FnMut(&FuncType) -> Vec<Vec<Val>>>;

/// Engines: one that keeps to the rule, and two that don't.
struct Engines {
    rule: Engine,
    quick: Engine,
    optimised: Engine,
}

impl Engines {
    fn new() -> Engines {
        let make = |level, registers, canonical| {
            engine(level, |config| {
                config.memory_reservation(1 << 24).memory_guard_size(1 << 16).parallel_compilation(false);
                config.cranelift_regalloc_algorithm(registers).cranelift_nan_canonicalization(canonical);
            })
        };
        Engines {
            rule: make(OptLevel::None, RegallocAlgorithm::SinglePass, true),
            quick: make(OptLevel::None, RegallocAlgorithm::SinglePass, false),
            optimised: make(OptLevel::Speed, RegallocAlgorithm::Backtracking, false),
        }
    }
}

/// Variants, by name.
fn variants() -> [(&'static str, Options); 4] {
    let some = (0..u32::from(u16::MAX)).step_by(3).collect();
    [
        ("full", Options::full()),
        ("fast", Options::fast(some)),
        ("metered", Options::default()),
        ("traced", Options::traced()),
    ]
}

/// What a module shows.
struct Ran {
    /// What its own functions give, or that they fail, then its memory and globals.
    log: Vec<String>,
    /// The injected memory, if there is one.
    injected: Option<blake3::Hash>,
}

/// Calls all functions that `original` exports with arguments that `arguments` chooses, and looks at all state.
fn run(
    engine: &Engine,
    original: &[u8],
    new: Option<&Instrumented>,
    arguments: &mut dyn FnMut(&FuncType) -> Vec<Vec<Val>>,
) -> Ran {
    let interface = Module::new(engine, original).unwrap();
    let module = new.map_or_else(|| interface.clone(), |new| Module::new(engine, &new.wasm).unwrap());
    let mut store = Store::new(engine, ());
    let instance = Instance::new(&mut store, &module, &[]).unwrap();
    let mut log = Vec::new();
    for export in interface.exports() {
        let Some(function) = instance.get_func(&mut store, export.name()) else { continue };
        let ty = function.ty(&store);
        let mut results = vec![Val::I32(0); ty.results().len()];
        for given in arguments(&ty) {
            let outcome = match function.call(&mut store, &given, &mut results) {
                Ok(()) => describe_all(&mut store, &results),
                Err(error) => {
                    store.take_pending_exception();
                    error.downcast_ref::<Trap>().map_or_else(|| "exception".to_owned(), |trap| format!("{trap:?}"))
                }
            };
            log.push(format!("{} {}: {outcome}", export.name(), describe_all(&mut store, &given)));
        }
    }
    for export in interface.exports() {
        match instance.get_export(&mut store, export.name()).unwrap() {
            Extern::Global(global) => {
                let value = global.get(&mut store);
                log.push(format!("{}: {}", export.name(), describe_all(&mut store, &[value])));
            }
            Extern::Memory(memory) => log.push(format!("{}: {}", export.name(), blake3::hash(memory.data(&store)))),
            _ => {}
        }
    }
    let injected = new.map(|new| {
        let memory = instance.get_memory(&mut store, &new.injected.memory_export).unwrap();
        blake3::hash(memory.data(&store))
    });
    Ran { log, injected }
}

/// Asserts that all variants do the same as the original does by the rule. Gives what that is.
fn compare(
    engines: &Engines,
    wasm: &[u8],
    variants: &[(&str, Options)],
    arguments: &dyn Fn() -> Arguments,
    what: &str,
) -> Ran {
    let expected = run(&engines.rule, wasm, None, &mut arguments());
    for (name, options) in variants {
        let new = instrument(wasm, options).unwrap();
        let recorded = run(&engines.rule, wasm, Some(&new), &mut arguments());
        for engine in [&engines.quick, &engines.optimised] {
            let found = run(engine, wasm, Some(&new), &mut arguments());
            for (expected, found) in expected.log.iter().zip(&found.log) {
                assert_eq!(expected, found, "{what}, {name}");
            }
            assert_eq!(expected.log.len(), found.log.len(), "{what}, {name}");
            assert!(recorded.injected == found.injected, "{what}, {name}: counts or records differ");
        }
    }
    expected
}

#[test]
fn programs_full_of_nans_do_the_same() {
    let number = |name, otherwise| std::env::var(name).map_or(otherwise, |number| number.parse::<u64>().unwrap());
    let (programs, first) = (number("FUZZBOX_NAN_PROGRAMS", 100), number("FUZZBOX_NAN_FIRST", 0));
    let engines = Engines::new();
    let (mut returned, mut different) = (0, 0);
    for seed in first..first + programs {
        let wasm = wat::parse_str(programs::program(&mut Random(seed))).unwrap();
        let arguments = || -> Arguments {
            let mut random = Random(!seed);
            Box::new(move |ty| {
                (0..3).map(|_| ty.params().map(|ty| operators::value(&ty, random.next())).collect()).collect()
            })
        };
        // One variant in turn; each is as often optimised as not.
        let variants = variants();
        let variants = &variants[seed as usize % variants.len()..][..1];
        let expected = compare(&engines, &wasm, variants, &arguments, &format!("program {seed}"));
        returned += expected.log.iter().filter(|line| line.contains(": f") || line.contains(": i")).count();
        // Without the tests, the same program tells.
        let mut options = Options::default();
        options.canonical_nans = false;
        let open = instrument(&wasm, &options).unwrap();
        let found = run(&engines.optimised, &wasm, Some(&open), &mut arguments());
        different += u64::from(found.log != expected.log);
    }
    println!("{programs} programs, {returned} calls returned, {different} programs show NaNs that arithmetic makes");
    assert!(different * 3 > programs, "{different}");
    assert!(returned as u64 > programs * 4, "{returned}");
}
