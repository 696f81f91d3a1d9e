//! Libraries as components, as the tools of component authors make them.

use super::{executor, load, named, settings};
use fuzzbox::outcome::{FailureKind, Outcome};
use fuzzbox::sandbox::Executor;
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// The component of a core module for a world, with the adapter for programs of preview 1.
pub(crate) fn library(wit: &str, module: &str) -> Vec<u8> {
    let mut resolve = Resolve::default();
    let package = resolve.push_str("test.wit", wit).unwrap();
    let world = resolve.select_world(&[package], None).unwrap();
    let mut module = wat::parse_str(module).unwrap();
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).unwrap();
    let adapter = wasi_preview1_component_adapter_provider::WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER;
    let mut encoder = ComponentEncoder::default().validate(true).module(&module).unwrap();
    encoder = encoder.adapter("wasi_snapshot_preview1", adapter).unwrap();
    encoder.encode().unwrap()
}

pub(crate) const WIT: &str = "
    package test:lib@1.0.0;
    interface parser {
        variant value { nothing, text(string), number(u64) }
        parse: func(input: list<u8>) -> result<value, string>;
        check: func(input: string) -> bool;
    }
    world lib { export parser; }
";

/// Prints its input by preview 1, so that it needs the adapter; traps on "bug"; is initialised.
pub(crate) const MODULE: &str = r#"(module
    (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "random_get" (func $random_get (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "environ_sizes_get" (func $environ (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "clock_time_get" (func $clock (param i32 i64 i32) (result i32)))
    (memory (export "memory") 1)
    (global $top (mut i32) (i32.const 4096))
    (global $initialised (mut i32) (i32.const 0))
    (func (export "_initialize") (global.set $initialised (i32.const 1)))
    (func $realloc (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
        (local $at i32)
        (local.set $at (i32.and (i32.add (global.get $top) (i32.const 7)) (i32.const -8)))
        (global.set $top (i32.add (local.get $at) (local.get 3)))
        (if (i32.gt_u (global.get $top) (i32.shl (memory.size) (i32.const 16))) (then
            (drop (memory.grow (i32.add (i32.shr_u (local.get 3) (i32.const 16)) (i32.const 1))))))
        (local.get $at))
    (func $parse (export "test:lib/parser@1.0.0#parse") (param i32 i32) (result i32)
        (if (i32.eqz (global.get $initialised)) (then (unreachable)))
        (i32.store (i32.const 16) (local.get 0))
        (i32.store (i32.const 20) (local.get 1))
        (drop (call $fd_write (i32.const 1) (i32.const 16) (i32.const 1) (i32.const 24)))
        (drop (call $random_get (i32.const 64) (i32.const 8)))
        (drop (call $environ (i32.const 72) (i32.const 76)))
        (drop (call $clock (i32.const 0) (i64.const 0) (i32.const 80)))
        (if (i32.ge_u (local.get 1) (i32.const 3)) (then (call $look (local.get 0))))
        (i32.const 96))
    (func $look (param i32)
        (if (i32.eq (i32.and (i32.load (local.get 0)) (i32.const 0xffffff)) (i32.const 0x677562)) (then unreachable)))
    (func (export "cabi_post_test:lib/parser@1.0.0#parse") (param i32))
    (func (export "test:lib/parser@1.0.0#check") (param i32 i32) (result i32) (i32.const 1)))"#;

#[test]
fn a_library_with_an_adapter_is_initialised_and_fuzzed() {
    let component = library(WIT, MODULE);
    let mut executor = executor(&component, named("test:lib/parser#parse"));
    let target = executor.target().clone();
    for _ in 0..3 {
        assert_eq!(executor.run(b"hello").unwrap(), Outcome::Ok);
        assert_eq!(executor.observation().stdout(), b"hello");
        let outcome = executor.run(b"bugs").unwrap();
        let Some((FailureKind::Crash, trap)) = outcome.failure() else { panic!("it fails") };
        let names: Vec<_> = trap.frames.iter().map(|frame| target.edges.function_name(frame.function)).collect();
        assert_eq!(names, [Some("look"), Some("parse")]);
    }
    let shown = target.summary();
    assert!(shown.exports.iter().any(|export| export.contains("#parse: func(input: list<u8>) -> result<variant {")));
}

#[test]
fn the_other_function_is_there_too() {
    let target = load(library(WIT, MODULE), named("test:lib/parser#check"));
    assert_eq!(Executor::new(&target).unwrap().run(b"\xff").unwrap(), Outcome::Ok);
    let error = super::refusal(library(WIT, MODULE), settings());
    assert!(error.contains("several functions"), "{error}");
}
