//! Guests from other compilers, and programs that nobody here compiled.

mod examples_rebuild;
#[path = "../rewriter/execution/mod.rs"]
mod execution;
mod go_for_javascript;
mod heaps;
mod javascript_exceptions;
mod outside_guests;
mod plain;
mod properties;
mod real_modules;
mod said;
mod toolchains;
mod under_wasmtime;
