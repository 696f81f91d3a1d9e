//! What can't be fuzzed is refused by name.

use super::{BUG, OPTIONS, core, executor, named, parser, refusal, settings};
use fuzzbox::outcome::{Outcome, TrapKind};
use fuzzbox::settings::{Settings, Stub};

#[track_caller]
fn refused(component: impl AsRef<[u8]>, settings: Settings, words: &[&str]) {
    let error = refusal(component, settings);
    for word in words {
        assert!(error.contains(word), "no `{word}` in: {error}");
    }
}

#[test]
fn functions_that_take_other_things() {
    for (ty, core_params) in [("u32", "i32"), ("(list u16)", "i32 i32"), ("(tuple u8 string)", "i32 i32 i32")] {
        let core = core(&format!(r#"(func (export "f") (param {core_params}))"#));
        let component = format!(
            r#"(component {core} (func (export "f") (param "x" {ty}) (canon lift (core func $i "f") {OPTIONS})))"#
        );
        refused(&component, settings(), &["no entry", "f: func(x: ", "list<u8> or string"]);
        refused(&component, named("f"), &["can't be fuzzed", "other than one list<u8> or string"]);
    }
    refused("(component)", settings(), &["no entry", "exports no functions"]);
    refused(parser("(list u8)", BUG), named("nothing"), &["exports no function `nothing`", "parse: func(x: list<u8>)"]);
}

#[test]
fn other_encodings_and_calls_that_are_not_plain() {
    let core = core(
        r#"(func (export "f") (param i32 i32) unreachable)
           (func (export "g") (param i32 i32) (result i32) unreachable)
           (func (export "cb") (param i32 i32 i32) (result i32) unreachable)"#,
    );
    let with = |options: &str| {
        format!(
            r#"(component {core} (func (export "f") (param "x" string)
                (canon lift (core func $i "f") {OPTIONS} {options})))"#
        )
    };
    refused(with("string-encoding=utf16"), settings(), &["it has the canonical option string-encoding=utf16"]);
    refused(with("string-encoding=latin1+utf16"), named("f"), &["string-encoding=latin1+utf16"]);
    let asynchronous = format!(
        r#"(component {core} (func (export "f") async (param "x" string)
            (canon lift (core func $i "g") {OPTIONS} async (callback (core func $i "cb")))))"#
    );
    refused(asynchronous, named("f"), &["async"]);
}

#[test]
fn imports_that_nobody_provides_are_named_and_can_be_stubbed() {
    let core = |import: &str| {
        format!(
            r#"(core module $m {import}
                (memory (export "memory") 1)
                (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
                (func (export "f") (param i32 i32) (if (local.get 1) (then (call 0)))))"#
        )
    };
    let lift = r#"(func (export "f") (param "x" (list u8))
        (canon lift (core func $i "f") (memory (core memory $i "memory")) (realloc (core func $i "realloc"))))"#;
    let function = format!(
        r#"(component (import "log" (func $log)) {}
            (core func $lowered (canon lower (func $log)))
            (core instance $i (instantiate $m (with "env" (instance (export "log" (func $lowered)))))) {lift})"#,
        core(r#"(import "env" "log" (func))"#)
    );
    refused(&function, settings(), &["nobody provides the imports $root.log (func ())", "--stub-imports"]);
    let mut stubbed = executor(&function, Settings { stub_imports: Some(Stub::Trap), ..settings() });
    assert_eq!(stubbed.run(b"").unwrap(), Outcome::Ok);
    let outcome = stubbed.run(b"x").unwrap();
    assert_eq!(outcome.trap().unwrap().kind, TrapKind::StubbedImport);

    let interface = format!(
        r#"(component (import "test:pkg/logs@1.0.0" (instance $logs (export "log" (func)))) {}
            (alias export $logs "log" (func $log))
            (core func $lowered (canon lower (func $log)))
            (core instance $i (instantiate $m (with "env" (instance (export "log" (func $lowered)))))) {lift})"#,
        core(r#"(import "env" "log" (func))"#)
    );
    refused(&interface, settings(), &["test:pkg/logs@1.0.0.log (func ())"]);

    let builtin = format!(
        r#"(component {}
            (core func $inc (canon backpressure.inc))
            (core instance $i (instantiate $m (with "env" (instance (export "log" (func $inc)))))) {lift})"#,
        core(r#"(import "env" "log" (func))"#)
    );
    refused(&builtin, settings(), &["canon.backpressure-inc (func ())"]);

    let module = r#"(component (import "m" (core module $m)) (core instance (instantiate $m)))"#;
    refused(module, settings(), &["core module that it imports"]);
}

#[test]
fn flags_that_mean_nothing_for_components() {
    let component = parser("(list u8)", BUG);
    let args = "numbers".parse().unwrap();
    refused(&component, Settings { entry_args: args, ..named("parse") }, &["--entry-args"]);
    refused(&component, Settings { args: vec!["@@".to_owned()], ..settings() }, &["`@@`", "components have no files"]);
}
