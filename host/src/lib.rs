//! fuzzbox fuzzes any program compiled to WebAssembly, in a sandbox.
//!
//! A module is rewritten to count its control-flow edges ([`fuzzbox_instrument`]), compiled once, and executed by kept
//! wasmtime instances whose state is restored after every execution ([`sandbox`]). What an execution showed becomes
//! features ([`coverage`]), features decide which inputs are kept ([`engine`]), and every module, input and finding is
//! stored under its blake3 hash ([`store`]); what can be computed again is the user's alone ([`cache`]). All output is
//! made by consumers of one event stream ([`report`]); [`cli`] turns what was typed into settings.
//!
//! The layers in which the rooms lie, each of which takes names from those below it alone, are in ARCHITECTURE.md, as
//! text that a test reads.

#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))] // text of guests could drive the terminal: `cli::write` makes it safe

pub mod cache;
pub mod cli;
pub mod coverage;
pub mod engine;
pub mod failure;
pub mod id;
pub mod outcome;
pub mod report;
pub mod said;
pub mod sandbox;
mod session;
pub mod settings;
pub mod store;
pub mod stream;
pub mod symbols;
pub mod text;
