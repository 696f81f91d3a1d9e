//! All that touches wasmtime, and the only place with `unsafe`.
//!
//! A [`Target`] is a module made ready once: rewritten, compiled, its entry chosen. An [`Executor`] is one instance of it,
//! kept by one worker: [`Executor::run`] gives an [`Outcome`](crate::outcome::Outcome), and an [`Observation`] until the next run. Every run starts from the same state,
//! whatever ran before: see [`Executor`].
//!
//! | file | holds |
//! | --- | --- |
//! | `candidate`, `interface` | what is known of a module before it is compiled |
//! | `target` | from bytes to compiled code |
//! | `compiler` | the settings that machine code depends on |
//! | `code` | compiled code, kept from one process to the next |
//! | `entry`, `parameter`, `file_args`, `component`, `call` | which export is called, and how it takes its input |
//! | `lifted` | whether what a component's function gives is of its type |
//! | `prepare` | all that runs before the first input |
//! | `imports`, `wasi`, `host` | what the guest can call, and the limits |
//! | `reference` | the guest protocol as host functions |
//! | `executor`, `snapshot`, `tables` | running, and going back |
//! | `injected`, `observation`, `hash` | fuel, flags and counters, and what they say |
//! | `variant` | what is put into the code |
//! | `interrupt`, `thread`, `watchdog` | ending an execution from another thread |
//! | `plain` | the module as it is, to be compared with |
//! | `stack` | room on the native stack |
//! | `memory`, `signals`, `fault` | linear memories that know which pages were written; where the guest trapped |
//! | `summary` | what `inspect` shows |
//! | `trap` | how an execution ended |
//! | `words` | what the guest said meanwhile, for people |

#![allow(unsafe_code, reason = "linear memories and the fault handler are made here, and nowhere else")]

mod annex;
mod call;
mod candidate;
mod check;
mod code;
mod compiler;
mod component;
mod entry;
mod executor;
mod fault;
mod file_args;
mod foreign;
mod hash;
mod host;
mod imports;
mod injected;
mod interface;
mod interrupt;
mod lifted;
mod memory;
mod observation;
mod parameter;
mod past;
mod plain;
mod prepare;
mod quick;
mod reference;
mod signals;
mod snapshot;
mod stack;
mod summary;
mod tables;
mod target;
mod thread;
mod trap;
mod variant;
pub mod wasi;
mod watchdog;
mod words;

pub use candidate::Candidate;
pub use code::CodeCache;
pub use compiler::{Code, compiler_settings};
pub use component::core_module;
pub use entry::Entry;
pub use executor::Executor;
pub use injected::ExecutedGroup;
pub use interrupt::{Execution, Interrupter};
pub use observation::{Executed, Group, Observation};
pub use parameter::{Number, Parameter};
pub use past::{Growths, Past};
pub use plain::Plain;
pub use reference::link_reference;
pub(crate) use stack::{compiling, received};
pub use summary::Summary;
pub use target::{THREAD_STACK_BYTES, Target, Unsuited, assemble};
pub use thread::is_ignored;
pub use variant::Variant;
pub use watchdog::{Watchdog, fuel_per_second};
