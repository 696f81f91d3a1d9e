//! The guest protocol, from a module that draws to what was drawn.

mod canonical;
mod closing;
mod entry;
mod generate;
mod hostile;
mod linked;
mod oracle;
mod signals;
mod spans;
mod tree;

use fuzzbox::outcome::Outcome;
use fuzzbox::sandbox::{Executor, Target, Variant};
use fuzzbox::settings::Settings;
use fuzzbox::stream::{Choice, GuestReport, Rule, Trace};
use std::sync::Arc;

/// The imports, as wasm text.
const IMPORTS: &str = r#"
    (import "fuzzbox_v1" "draw_int" (func $draw_int (param i64 i64 i64) (result i64)))
    (import "fuzzbox_v1" "draw_uint" (func $draw_uint (param i64 i64 i64) (result i64)))
    (import "fuzzbox_v1" "draw_bool" (func $draw_bool (param i32) (result i32)))
    (import "fuzzbox_v1" "draw_choice" (func $draw_choice (param i32 i32) (result i32)))
    (import "fuzzbox_v1" "draw_f64" (func $draw_f64 (param f64 f64 i32) (result f64)))
    (import "fuzzbox_v1" "draw_bytes" (func $draw_bytes (param i32 i32 i32) (result i32)))
    (import "fuzzbox_v1" "draw_str" (func $draw_str (param i32 i32 i32 i32 i32 i32) (result i32)))
    (import "fuzzbox_v1" "draw_more" (func $draw_more (param i32 i32 i32) (result i32)))
    (import "fuzzbox_v1" "draw_payload" (func $draw_payload (param i32) (result i64)))
    (import "fuzzbox_v1" "span_begin" (func $span_begin (param i32)))
    (import "fuzzbox_v1" "span_end" (func $span_end (param i32)))
    (import "fuzzbox_v1" "assume" (func $assume (param i32)))
    (import "fuzzbox_v1" "reject" (func $reject (param i32 i32)))
    (import "fuzzbox_v1" "fail" (func $fail (param i32 i32)))
    (import "fuzzbox_v1" "target" (func $target (param i32 i32 f64)))
    (import "fuzzbox_v1" "event" (func $event (param i32 i32 i64)))
    (import "fuzzbox_v1" "keyframe" (func $keyframe (param i32 i64)))
    (import "fuzzbox_v1" "name" (func $name (param i32 i32 i32 i32)))
    (import "fuzzbox_v1" "note" (func $note (param i32 i32)))
    (import "fuzzbox_v1" "value" (func $value (param i64 i32 i32 i32)))
    (import "fuzzbox_v1" "remaining" (func $remaining (result i32)))
    (import "fuzzbox_v1" "feature" (func $feature (param i32 i32) (result i32)))
"#;

/// A module with all imports and a memory.
fn module(body: &str) -> String {
    format!("(module {IMPORTS} (memory (export \"memory\") 1) {body})")
}

fn settings() -> Settings {
    Settings { fuel_max: 4_000_000_000, memory_bytes_max: 32 << 20, grow_heap_bytes: 0, ..Settings::default() }
}

/// An executor of the variant that decides.
#[track_caller]
fn executor(wat: &str) -> Executor {
    let target = Target::load(wat.as_bytes(), settings()).unwrap_or_else(|error| panic!("{error:#}\n{wat}"));
    Executor::new(&Arc::new(target)).unwrap()
}

/// Executors of all variants.
#[track_caller]
fn executors(wat: &str) -> Vec<Executor> {
    let target = Target::load(wat.as_bytes(), settings()).unwrap_or_else(|error| panic!("{error:#}\n{wat}"));
    let target = Arc::new(target);
    let other = |variant| Executor::new(&Arc::new(target.in_variant(variant).unwrap())).unwrap();
    vec![Executor::new(&target).unwrap(), other(Variant::Full), other(Variant::Traced)]
}

/// What an execution by a rule shows.
fn run(executor: &mut Executor, stream: &[u8], rule: Rule) -> (Outcome, Trace, GuestReport) {
    let outcome = executor.run_stream(stream, &rule).unwrap();
    let observation = executor.observation();
    (outcome, observation.draws(), observation.told())
}

fn indices(values: &[u64]) -> Vec<u8> {
    fuzzbox::stream::encode(&values.iter().map(|&value| Choice::Index(value)).collect::<Vec<_>>())
}

/// The kind of the failure, or the outcome's name.
fn kind(outcome: &Outcome) -> &'static str {
    outcome.trap().map_or(outcome.name(), |trap| trap.kind.name())
}
