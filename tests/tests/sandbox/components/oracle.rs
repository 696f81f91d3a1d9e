//! A linked component does what wasmtime does that instantiates the component itself.

use super::commands::command;
use super::libraries::{MODULE, WIT, library};
use super::{BUG, core, load, named, parser, settings};
use fuzzbox::sandbox::Executor;
use fuzzbox_tests::command::example;
use wasmtime::component::{Component, Linker, ResourceTable, Val};
use wasmtime::{Config, Engine, Store};
use wasmtime_wasi::p2::pipe::{MemoryInputPipe, MemoryOutputPipe};
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

struct Host {
    wasi: WasiCtx,
    table: ResourceTable,
}

impl WasiView for Host {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

/// What a call shows: how it ended, and its output.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    failed: bool,
    stdout: Vec<u8>,
}

/// Calls a function in wasmtime, in a new instance.
fn by_wasmtime(component: &[u8], path: &[&str], input: &[u8]) -> Seen {
    let engine = Engine::new(Config::new().wasm_component_model(true).wasm_multi_memory(true)).unwrap();
    let component = Component::new(&engine, component).unwrap();
    let mut linker = Linker::new(&engine);
    wasmtime_wasi::p2::add_to_linker_sync(&mut linker).unwrap();
    let stdout = MemoryOutputPipe::new(1 << 20);
    let wasi =
        WasiCtxBuilder::new().arg("program").stdin(MemoryInputPipe::new(input.to_vec())).stdout(stdout.clone()).build();
    let mut store = Store::new(&engine, Host { wasi, table: ResourceTable::new() });
    let failed = linker.instantiate(&mut store, &component).and_then(|instance| {
        let mut index = None;
        for name in path {
            let (_, next) = instance.get_export(&mut store, index.as_ref(), name).expect("it is exported");
            index = Some(next);
        }
        let function = instance.get_func(&mut store, index.unwrap()).expect("it is a function");
        let ty = function.ty(&store);
        let params: Vec<_> = ty.params().collect();
        let args = match &params[..] {
            [] => vec![],
            [(_, wasmtime::component::Type::String)] => vec![Val::String(String::from_utf8(input.to_vec()).unwrap())],
            _ => vec![Val::List(input.iter().map(|byte| Val::U8(*byte)).collect())],
        };
        let mut results = vec![Val::Bool(false); ty.results().len()];
        function.call(&mut store, &args, &mut results)
    });
    drop(store);
    // Programs end by an error of the host too.
    let failed = failed.is_err_and(|error| error.downcast_ref::<wasmtime_wasi::I32Exit>().is_none());
    Seen { failed, stdout: stdout.contents().to_vec() }
}

#[track_caller]
fn same(component: impl AsRef<[u8]>, entry: Option<&str>, inputs: &[&[u8]]) {
    let component = wat::parse_bytes(component.as_ref()).unwrap();
    let settings = entry.map_or_else(settings, named);
    let target = load(&component, settings);
    let mut executor = Executor::new(&target).unwrap();
    let name = target.candidate.entry.name();
    let path: Vec<_> = name.split('#').collect();
    for input in inputs {
        let outcome = executor.run(input).unwrap();
        assert!(!outcome.is_hang());
        let seen = Seen { failed: outcome.trap().is_some(), stdout: executor.observation().stdout().to_vec() };
        assert_eq!(seen, by_wasmtime(&component, &path, input), "{:?}", String::from_utf8_lossy(input));
    }
}

const INPUTS: [&[u8]; 9] = [b"", b"b", b"bug", b"bugs", b"hello", b"a=1\n", b"0123456789", b"\x00\x01", &[b'z'; 4000]];

#[test]
fn small_components_are_the_same() {
    same(parser("(list u8)", BUG), None, &INPUTS);
    same(parser("string", BUG), None, &INPUTS);
}

#[test]
fn components_with_adapters_are_the_same() {
    same(library(WIT, MODULE), Some("test:lib/parser#parse"), &INPUTS);
    let module = std::fs::read(example("stdin-tool")).unwrap();
    same(command(&module), None, &INPUTS);
}

/// What instantiation does, it does in the order of the instances: the second module's start function sees what the first one's left
/// and its own segments, and not those of the third.
#[test]
fn instances_start_in_order() {
    let check = |at: i32, value: i32| {
        format!("(if (i32.ne (i32.load8_u (i32.const {at})) (i32.const {value})) (then (unreachable)))")
    };
    let component = |second: &str| {
        let core = core(
            r#"(table (export "table") 4 funcref) (data (i32.const 8) "\01")
            (func $start (i32.store8 (i32.const 9) (i32.load8_u (i32.const 8))) (i32.store8 (i32.const 10) (i32.load8_u (i32.const 11))))
            (start $start)
            (type $f (func (result i32)))
            (func (export "parse") (param i32 i32)
                (if (i32.ne (call_indirect (type $f) (i32.and (local.get 1) (i32.const 3))) (local.get 1)) (then (unreachable))))"#,
        );
        format!(
            r#"(component {core}
                (core module $second (import "i" "memory" (memory 1)) (import "i" "table" (table 4 funcref))
                    (data (i32.const 11) "\02")
                    (elem (i32.const 1) $one) (func $one (result i32) (i32.const 1))
                    (func $start {second}) (start $start))
                (core instance $j (instantiate $second (with "i" (instance $i))))
                (core module $third (import "i" "memory" (memory 1)) (import "i" "table" (table 4 funcref))
                    (data (i32.const 12) "\03") (data $passive "\04")
                    (elem (i32.const 2) func $two) (func $two (result i32) (i32.const 2))
                    (func $start (memory.init $passive (i32.const 13) (i32.const 0) (i32.const 1))) (start $start))
                (core instance $k (instantiate $third (with "i" (instance $i))))
                (core instance $l (instantiate $third (with "i" (instance $i))))
                (func (export "parse") (param "x" (list u8)) (canon lift (core func $i "parse") {})))"#,
            super::OPTIONS
        )
    };
    let seen = [(8, 1), (9, 1), (10, 0), (11, 2), (12, 0), (13, 0)].map(|(at, value)| check(at, value)).concat();
    same(component(&seen), None, &[b"", b"1", b"12", b"123", b"12345"]);
    let error = super::refusal(component(&check(12, 3)), settings());
    assert!(error.contains("while it is instantiated"), "{error}");
}

/// Components inside that call each other with numbers; one is instantiated twice, with state of its own each.
#[test]
fn components_that_call_each_other_with_numbers_are_the_same() {
    let component =
        composed("(instance $p (instantiate $parser (with \"next\" (func $next)) (with \"other\" (func $other))))");
    same(&component, Some("parse"), &[b"", b"1", b"12", b"123", b"1234"]);
    // An instance may not call those inside of it: wasmtime traps when it does.
    let inside = format!(
        r#"(component $outer {COUNTER}
            (instance $a (instantiate $counter)) (alias export $a "add" (func $add)) (core func $lowered (canon lower (func $add)))
            (core module $m (import "n" "add" (func $add (param i32) (result i32))) (memory (export "memory") 1)
                (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
                (func (export "parse") (param i32 i32) (drop (call $add (local.get 1)))))
            (core instance $i (instantiate $m (with "n" (instance (export "add" (func $lowered))))))
            (func (export "parse") (param "x" (list u8))
                (canon lift (core func $i "parse") (memory (core memory $i "memory")) (realloc (core func $i "realloc")))))"#
    );
    let error = super::refusal(&inside, settings());
    assert!(error.contains("canon.call between a component and one inside"), "{error}");
    assert!(by_wasmtime(&wat::parse_str(&inside).unwrap(), &["parse"], b"1").failed);
}

/// Adds up what it is given.
const COUNTER: &str = r#"
    (component $counter
        (core module $m (global $sum (mut i32) (i32.const 0))
            (func (export "add") (param i32) (result i32)
                (global.set $sum (i32.add (global.get $sum) (local.get 0))) (global.get $sum)))
        (core instance $i (instantiate $m))
        (func (export "add") (param "n" u32) (result u32) (canon lift (core func $i "add"))))"#;

fn composed(parser: &str) -> String {
    format!(
        r#"(component {COUNTER}
            (component $passes (import "add" (func $add (param "n" u32) (result u32))) (export "add" (func $add)))
            (component $parser
                (import "next" (func $next (param "n" u32) (result u32)))
                (import "other" (func $other (param "n" u32) (result u32)))
                (core func $lowered (canon lower (func $next)))
                (core func $lowered2 (canon lower (func $other)))
                (core module $m
                    (import "n" "next" (func $next (param i32) (result i32)))
                    (import "n" "other" (func $other (param i32) (result i32)))
                    (memory (export "memory") 1)
                    (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
                    (func (export "parse") (param i32 i32)
                        (drop (call $next (i32.const 1)))
                        (if (i32.ne (call $next (local.get 1)) (i32.add (local.get 1) (i32.const 1))) (then (unreachable)))
                        (if (i32.ne (call $other (local.get 1)) (local.get 1)) (then (unreachable)))
                        (if (i32.eq (local.get 1) (i32.const 3)) (then (unreachable)))))
                (core instance $i (instantiate $m
                    (with "n" (instance (export "next" (func $lowered)) (export "other" (func $lowered2))))))
                (func (export "parse") (param "x" (list u8))
                    (canon lift (core func $i "parse") (memory (core memory $i "memory")) (realloc (core func $i "realloc")))))
            (instance $a (instantiate $counter))
            (instance $b (instantiate $counter))
            (alias export $a "add" (func $next))
            (alias export $b "add" (func $add))
            (instance $c (instantiate $passes (with "add" (func $add))))
            (alias export $c "add" (func $other))
            {parser}
            (export "parse" (func $p "parse")))"#
    )
}
