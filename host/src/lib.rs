//! fuzzbox fuzzes any program compiled to WebAssembly, in a sandbox.
//!
//! A module is rewritten to count its control-flow edges ([`fuzzbox_instrument`]), compiled once, and executed by kept
//! wasmtime instances whose state is restored after every execution ([`sandbox`]). What an execution showed becomes
//! features, features decide which inputs are kept ([`engine`]), and every module, input and finding is stored under
//! its blake3 hash. All output is made by consumers of one event stream.
//!
//! The layers in which the rooms lie, each of which takes names from those below it alone, are in ARCHITECTURE.md, as
//! text that a test reads.
//!
//! # A campaign in a program of your own
//!
//! A [`Target`](sandbox::Target) is a module with its [`Settings`](settings::Settings); a
//! [`Campaign`](engine::Campaign) searches it with a seed, in rounds on the threads of
//! [`Workers`](engine::Workers). What a round found depends on module, settings and seed alone, not on the machine; the
//! caller decides after which to stop, and keeps what it wants of the [`Corpus`](engine::Corpus) and of each
//! [`Failure`](engine::Failure): nothing here writes a file or prints.
//!
//! ```
//! use fuzzbox::engine::{Campaign, Dictionary, Mutator, Workers};
//! use fuzzbox::outcome::Outcome;
//! use fuzzbox::sandbox::Target;
//! use fuzzbox::settings::Settings;
//! use std::sync::Arc;
//!
//! // Fails if the input begins with "bug".
//! let module = r#"(module
//!     (memory (export "memory") 1)
//!     (func (export "LLVMFuzzerTestOneInput") (param $at i32) (param $len i32) (result i32)
//!         (if (i32.lt_u (local.get $len) (i32.const 3)) (then (return (i32.const 0))))
//!         (if (i32.ne (i32.load8_u (local.get $at)) (i32.const 98)) (then (return (i32.const 0))))
//!         (if (i32.ne (i32.load8_u offset=1 (local.get $at)) (i32.const 117)) (then (return (i32.const 0))))
//!         (if (i32.ne (i32.load8_u offset=2 (local.get $at)) (i32.const 103)) (then (return (i32.const 0))))
//!         unreachable))"#;
//! let target = Arc::new(Target::load(module.as_bytes(), Settings::default())?);
//! let workers = Workers::new(1, Arc::default())?;
//! let mut campaign = Campaign::new(target, 1, Mutator::new(Dictionary::default()));
//!
//! // Failures with the same signature are one finding; here all that trap in the same function.
//! let signature = |outcome: &Outcome| match outcome.trap() {
//!     Some(trap) => format!("{} in {:?}", trap.kind.name(), trap.frames.first().map(|frame| frame.function)),
//!     None => outcome.name().to_owned(),
//! };
//! const EXECUTIONS: u64 = 20_000;
//! campaign.start(&workers, &[b"seed".to_vec()], EXECUTIONS, &signature)?;
//! while campaign.failures().len() == 0 && campaign.totals().execs < EXECUTIONS {
//!     campaign.step(&workers, EXECUTIONS - campaign.totals().execs, &signature)?;
//! }
//!
//! let failure = campaign.failures().next().expect("it is found");
//! assert!(failure.input.starts_with(b"bug"), "{:?}", failure.input);
//! assert_eq!(failure.signature, "unreachable in Some(0)");
//! # anyhow::Ok(())
//! ```

#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))] // text of guests could drive the terminal: `cli::write` makes it safe

pub(crate) mod coverage;
pub mod engine;
pub mod failure;
pub mod grammar;
pub mod outcome;
pub(crate) mod packed;
pub(crate) mod report;
pub mod sandbox;
mod session;
pub mod settings;
pub(crate) mod text;

// Public for the command's `main`, and for whole-program tests and measurements, which look at what is stored, drawn
// and named: no promise to anybody else.
#[doc(hidden)]
pub mod cache;
pub mod cli;
#[doc(hidden)]
pub mod id;
#[doc(hidden)]
pub mod said;
#[doc(hidden)]
pub mod store;
#[doc(hidden)]
pub mod stream;
#[doc(hidden)]
pub mod symbols;
