//! Legacy exceptions: modules that no engine at hand runs must do, once translated, what their authors meant.

mod cxx;
mod meaning;
mod program;
mod script;
mod unfold;

use std::path::Path;

use crate::execution::{Random, engine};
use fuzzbox_instrument::{EdgeKind, Instrumented, Options, instrument, layout, translate_legacy_exceptions};
use fuzzbox_tests::command::Fuzzbox;
use meaning::Meaning;
use program::{End, Expr, FUNCTIONS, Try};
use script::{Report, Variant};
use wasmparser::{Operator, Parser, Payload};
use wasmtime::{
    AsContextMut, Engine, ExnRef, FrameInfo, Instance, Module, OptLevel, Rooted, Store, ThrownException, Trap, Val,
    WasmBacktrace,
};

/// All ways to rewrite a module, by name.
fn variants() -> Vec<(&'static str, Options)> {
    let mut variants = fuzzbox_tests::modules::variants();
    variants.push(("default", Options::default()));
    variants
}

#[test]
fn scripts_find_what_they_expect() {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rewriter/legacy")];
    // The official scripts: `test/legacy/exceptions/core` in a checkout of WebAssembly's specification.
    folders.extend(std::env::var_os("FUZZBOX_LEGACY_SCRIPTS").map(Into::into));
    let engine = engine(OptLevel::None, |_| {});
    let mut report = Report::default();
    for folder in folders {
        let mut paths: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "wast"));
        paths.sort();
        assert!(!paths.is_empty(), "no scripts in {}", folder.display());
        for path in paths {
            let text = std::fs::read_to_string(&path).unwrap();
            let name = path.display().to_string();
            let translated = script::run(&engine, &name, &text, Variant::Translated, &mut report);
            for (variant, options) in variants() {
                let instrumented = script::run(&engine, &name, &text, Variant::Instrumented(options), &mut report);
                assert_eq!(translated, instrumented, "{name}, {variant}");
            }
        }
    }
    println!("{} directives", report.directives);
    assert!(report.wrong.is_empty(), "{}", report.wrong.join("\n"));
}

/// Programs that are tried, unless `FUZZBOX_LEGACY_PROGRAMS` says how many.
const PROGRAMS: u64 = 400;

#[test]
fn random_programs_do_what_they_mean() {
    let programs = std::env::var("FUZZBOX_LEGACY_PROGRAMS").map_or(PROGRAMS, |count| count.parse().unwrap());
    let engine = engine(OptLevel::None, |_| {});
    let (mut returned, mut threw, mut caught) = (0, 0, 0);
    for seed in 0..programs {
        let mut random = Random(seed);
        let functions: Vec<_> = (0..FUNCTIONS).map(|function| program::generate(&mut random, function)).collect();
        let wasm = wat::parse_str(program::text(&functions)).unwrap();
        let translated = translate_legacy_exceptions(&wasm).unwrap();
        let instrumented = instrument(&wasm, &Options::default()).unwrap();
        let plain = Module::new(&engine, &translated.wasm).unwrap();
        let counting = Module::new(&engine, &instrumented.wasm).unwrap();
        for _ in 0..4 {
            let (bits, argument) = (random.number(), random.below(100) as i32);
            let mut meaning = Meaning::new(&functions);
            let expected = (meaning.run(bits, argument), meaning.log);
            assert_eq!(run(&engine, &plain, bits, argument).0, expected, "program {seed}, {bits:#x}, translated");
            let (found, counters) = run(&engine, &counting, bits, argument);
            assert_eq!(found, expected, "program {seed}, {bits:#x}, instrumented");
            assert_eq!(
                catches(&wasm, &instrumented, &counters),
                expected_catches(&functions, &meaning),
                "program {seed}, {bits:#x}"
            );
            returned += u32::from(expected.0.is_ok());
            threw += u32::from(expected.0.is_err());
            caught += meaning.caught.values().sum::<u32>();
        }
    }
    println!("{returned} runs returned, {threw} threw; {caught} exceptions caught");
    assert!(u64::from(returned.min(threw)) >= programs / 4 && u64::from(caught) >= programs);
}

/// Each function traps at its only `unreachable`, or at that of the function which it calls.
const TRAPS: &str = r#"(module
  (tag $e (param i32))
  (func (export "body") try unreachable catch_all end)
  (func (export "clause") try (throw $e (i32.const 1)) catch $e drop unreachable catch_all nop end)
  (func (export "second clause") try try (throw $e (i32.const 1)) catch_all rethrow 0 end catch $e drop
    block br 1 end catch_all end unreachable)
  (func (export "kept") try (throw $e (i32.const 1)) catch_all try nop catch $e drop rethrow 1 end unreachable end)
  (func (export "delegated") try try (throw $e (i32.const 1)) delegate 0 catch $e drop end try nop delegate 0 unreachable)
  (func (export "called") try try call 0 delegate 1 catch_all rethrow 0 end))"#;

#[test]
fn traps_are_where_the_original_has_them() {
    let wasm = wat::parse_str(TRAPS).unwrap();
    let places = offsets(&wasm, |operator| matches!(operator, Operator::Unreachable));
    let call = offsets(&wasm, |operator| matches!(operator, Operator::Call { .. }));
    let engine = engine(OptLevel::None, |_| {});
    let translated = translate_legacy_exceptions(&wasm).unwrap();
    let instrumented = instrument(&wasm, &Options::default()).unwrap();
    for (wasm, map) in [(translated.wasm, translated.offsets), (instrumented.wasm, instrumented.offsets)] {
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &Module::new(&engine, &wasm).unwrap(), &[]).unwrap();
        for (number, name) in ["body", "clause", "second clause", "kept", "delegated", "called"].into_iter().enumerate()
        {
            let function = instance.get_typed_func::<(), ()>(&mut store, name).unwrap();
            let error = function.call(&mut store, ()).unwrap_err();
            let backtrace = error.downcast_ref::<WasmBacktrace>().unwrap();
            let offset = |frame: &FrameInfo| map.original(frame.module_offset().unwrap() as u32).unwrap();
            let found: Vec<_> = backtrace.frames().iter().map(offset).collect();
            let expected = if name == "called" { vec![places[0], call[0]] } else { vec![places[number]] };
            assert_eq!(found, expected, "{name}");
        }
    }
}

/// `tests/guests/setjmp`, once with legacy exceptions and once without: same results, same counts.
#[test]
fn a_c_program_does_the_same_as_its_current_build() {
    let folder = fuzzbox_tests::workspace().join("tests/guests/setjmp");
    let engine = engine(OptLevel::Speed, |_| {});
    let mut builds = ["legacy.wasm", "current.wasm"].map(|name| {
        let wasm = std::fs::read(folder.join(name)).unwrap();
        let instrumented = instrument(&wasm, &Options::default()).unwrap();
        let module = Module::new(&engine, &instrumented.wasm).unwrap();
        (instrumented, module)
    });
    let mut random = Random(1);
    let known = [
        ("1+2", 3),
        ("(1+[2+3])+4", 10),
        ("1+", -1),
        ("50+50", -3),
        ("7+[x]+8", 15),
        ("7+[99+2]+8", 15),
        ("((((((1))))))", -2),
        ("2+[((((((1))))))]", -2),
    ];
    let known = known.map(|(text, value)| (text.as_bytes().to_vec(), Some(format!("{value}"))));
    let trap = (b"[99+1]".to_vec(), Some("UnreachableCodeReached".to_owned()));
    let random = std::iter::repeat_with(|| {
        let mut text = Vec::new();
        expression(&mut random, 8, &mut text);
        (text, None)
    });
    let mut codes = [0; 3];
    for (text, expected) in known.into_iter().chain([trap]).chain(random.take(2_000)) {
        let [legacy, current] = builds.each_mut().map(|(_, module)| evaluate(&engine, module, &text));
        assert_eq!(legacy, current, "{}", text.escape_ascii());
        assert!(expected.is_none_or(|expected| legacy.0 == expected), "{}: {}", text.escape_ascii(), legacy.0);
        codes.iter_mut().zip(["-1", "-2", "-3"]).for_each(|(count, code)| *count += u32::from(legacy.0 == code));
    }
    assert!(codes.iter().all(|&count| count >= 100), "{codes:?}");
    let [legacy, current] = builds.map(|(instrumented, _)| instrumented.edges.edges.len());
    assert_eq!(legacy, current);
}

/// Writes an expression, which is not always right.
fn expression(random: &mut Random, depth: u32, text: &mut Vec<u8>) {
    loop {
        match random.below(8) {
            0 | 1 if depth > 0 => {
                text.push(b'(');
                expression(random, depth - 1, text);
                text.push(b')');
            }
            2..=4 if depth > 0 => {
                text.push(b'[');
                expression(random, depth - 1, text);
                text.push(b']');
            }
            5 if random.below(4) == 0 => text.extend(b"x)"),
            _ => text.extend(random.below(60).to_string().bytes()),
        }
        if random.below(3) > 0 {
            break;
        }
        text.push(b'+');
    }
}

/// What the program gives, or how it traps, and the memory with the counters.
fn evaluate(engine: &Engine, module: &Module, text: &[u8]) -> (String, Vec<u8>) {
    let mut store = Store::new(engine, ());
    let instance = Instance::new(&mut store, module, &[]).unwrap();
    let malloc = instance.get_typed_func::<u32, u32>(&mut store, "malloc").unwrap();
    let place = malloc.call(&mut store, text.len() as u32).unwrap();
    instance.get_memory(&mut store, "memory").unwrap().write(&mut store, place as usize, text).unwrap();
    let function = instance.get_typed_func::<(u32, u32), i32>(&mut store, "evaluate").unwrap();
    let result = match function.call(&mut store, (place, text.len() as u32)) {
        Ok(value) => value.to_string(),
        Err(error) => format!("{:?}", error.downcast::<Trap>().unwrap()),
    };
    let counters = instance.get_memory(&mut store, "fuzzbox:injected").unwrap();
    (result, counters.data(&store)[layout::COUNTERS as usize..].to_vec())
}

/// The whole way, from a module with legacy exceptions to the same corpus as that of its current build.
#[test]
fn a_campaign_goes_the_same_way_as_with_the_current_build() {
    let [legacy, current] = ["legacy", "current"].map(|name| {
        let fuzzbox = Fuzzbox::new();
        let module = fuzzbox_tests::workspace().join(format!("tests/guests/setjmp/{name}.wasm"));
        let args = ["--execs", "500", "--seed", "1", "--jobs", "2", "--reporter", "json"];
        let lines = fuzzbox.run("run", &[module.to_str().unwrap()], &args).json_lines();
        let done = lines.last().unwrap();
        assert_eq!(done["event"], "done");
        ["edges", "edges_total", "corpus", "corpus_hash"].map(|key| done[key].clone())
    });
    assert_eq!(legacy, current);
    assert!(legacy[0].as_u64().unwrap() >= 30, "{legacy:?}");
}

type Outcome = (Result<i32, Vec<i32>>, i32);

/// Runs a program. Gives what it returned or threw, what it logged, and the memory with the counters, if it has one.
fn run(engine: &Engine, module: &Module, bits: u64, argument: i32) -> (Outcome, Vec<u8>) {
    let mut store = Store::new(engine, ());
    let instance = Instance::new(&mut store, module, &[]).unwrap();
    let function = instance.get_typed_func::<(i64, i32), i32>(&mut store, "run").unwrap();
    let result = function.call(&mut store, (bits.cast_signed(), argument)).map_err(|error| {
        assert!(error.is::<ThrownException>(), "{error:?}");
        let exception = store.take_pending_exception().unwrap();
        values(&mut store, exception)
    });
    let log = instance.get_global(&mut store, "log").unwrap().get(&mut store).unwrap_i32();
    let memory = instance.get_memory(&mut store, "fuzzbox:injected");
    ((result, log), memory.map_or(vec![], |memory| memory.data(&store).to_vec()))
}

fn values(store: &mut impl AsContextMut, exception: Rooted<ExnRef>) -> Vec<i32> {
    exception.fields(store).unwrap().map(|value| Val::unwrap_i32(&value)).collect()
}

/// How often each clause caught, by the number of its `try` in the module; zeros left out.
fn catches(wasm: &[u8], new: &Instrumented, counters: &[u8]) -> Vec<(usize, u32, u32)> {
    let tries = offsets(wasm, |operator| matches!(operator, Operator::Try { .. }));
    let mut catches = Vec::new();
    for (number, edge) in new.edges.edges.iter().enumerate() {
        let EdgeKind::Catch { clause } = edge.kind else { continue };
        let at = layout::COUNTERS as usize + 4 * number;
        let count = u32::from_le_bytes(counters[at..at + 4].try_into().unwrap());
        if count > 0 {
            catches.push((tries.binary_search(&edge.offset).unwrap(), clause, count));
        }
    }
    catches
}

/// Where the operators are that fit.
fn offsets(wasm: &[u8], fits: impl Fn(&Operator<'_>) -> bool) -> Vec<u32> {
    let mut offsets = Vec::new();
    for payload in Parser::new(0).parse_all(wasm) {
        let Payload::CodeSectionEntry(body) = payload.unwrap() else { continue };
        for operator in body.get_operators_reader().unwrap().into_iter_with_offsets() {
            let (operator, at) = operator.unwrap();
            if fits(&operator) {
                offsets.push(at as u32);
            }
        }
    }
    offsets
}

fn expected_catches(functions: &[Expr], meaning: &Meaning<'_>) -> Vec<(usize, u32, u32)> {
    let mut tries = Vec::new();
    functions.iter().for_each(|body| collect(body, &mut tries));
    let number = |plan: *const Try| tries.iter().position(|&other| other == plan).unwrap();
    let mut catches: Vec<_> =
        meaning.caught.iter().map(|(&(plan, clause), &count)| (number(plan), clause, count)).collect();
    catches.sort_unstable();
    catches
}

/// All `try`s in an expression, in the order in which they are written.
fn collect(expr: &Expr, tries: &mut Vec<*const Try>) {
    match expr {
        Expr::Const(_) | Expr::Param | Expr::Again(_) | Expr::Rethrow(_) => {}
        Expr::Mix(both) | Expr::If(both) => both.iter().for_each(|expr| collect(expr, tries)),
        Expr::Throw(values) => values.iter().for_each(|expr| collect(expr, tries)),
        Expr::Log(expr)
        | Expr::Block(expr)
        | Expr::Loop(expr)
        | Expr::Br(_, expr)
        | Expr::BrIf(_, expr)
        | Expr::BrTable(_, expr)
        | Expr::Return(expr)
        | Expr::Call(_, expr) => collect(expr, tries),
        Expr::Try(plan) => {
            plan.param.iter().for_each(|param| collect(param, tries));
            tries.push(&raw const **plan);
            collect(&plan.body, tries);
            if let End::Clauses(clauses) = &plan.end {
                clauses.iter().for_each(|(_, body)| collect(body, tries));
            }
        }
    }
}
