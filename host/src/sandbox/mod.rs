//! All that touches wasmtime, and the only place with `unsafe`.
//!
//! A [`Target`] is a module made ready once: rewritten, compiled, its entry chosen. An [`Executor`] is one instance of
//! it, kept by one worker: [`Executor::run`] gives an [`Outcome`](crate::outcome::Outcome), and an [`Observation`]
//! until the next run. Every run starts from the same state, whatever ran before: see [`Executor`].
//!
//! From the top; each line imports only lines below it.
//!
//! | place | holds |
//! | --- | --- |
//! | `summary`, `plain` | what `inspect` shows; a module as it is, to be compared with |
//! | `quick` | what fails in quick code, executed in optimised code |
//! | `load` | from a candidate to a target that was executed once |
//! | `executor` | running an input |
//! | `instance/` | one instance: made ready, executed, looked at, taken back |
//! | `targets/` | what is ready: rewritten, compiled, and what instances showed |
//! | `candidate` | what is known of a module before it is compiled |
//! | `entry/` | which export is called, and how it takes its input: a file for each way |
//! | `imports/` | what the guest can call, and the limits |
//! | `faults/` | pages made writable, traps noted |
//! | `interrupt/` | ending an execution from another thread |
//! | `code/` | what is put into the code; machine code, kept from one process to the next |
//! | `source/` | the module or component that was given |
//! | `messages/` | what the words mean with which guests fail |
//! | `machine/` | registers, the native stack |
//! | `wasi/` | WASI |
//! | `memory/`, `tables` | memories and tables that go back to what they were |
//! | `limits`, `hash` | numbers |

#![allow(unsafe_code, reason = "linear memories and the fault handler are made here, and nowhere else")]

mod candidate;
mod code;
mod entry;
mod executor;
mod faults;
mod hash;
mod imports;
mod instance;
mod interrupt;
mod limits;
mod load;
mod machine;
mod memory;
mod messages;
mod plain;
mod quick;
mod source;
mod summary;
mod tables;
mod targets;
pub mod wasi;

pub use candidate::Candidate;
pub(crate) use code::background::{compiling, compiling_both, received};
pub use code::cache::CodeCache;
pub use code::compiler::{Code, compiler_settings};
pub use code::history::{Growths, History};
pub use code::variant::Variant;
pub use entry::Entry;
pub use executor::Executor;
pub use imports::reference::link_reference;
pub use instance::observation::{Executed, Group, Observation};
pub use interrupt::interrupter::Interrupter;
pub use interrupt::is_ignored;
pub use interrupt::stop::Execution;
pub use interrupt::watchdog::{Watchdog, fuel_per_second};
pub use limits::THREAD_STACK_BYTES;
pub use load::Unsuited;
pub use plain::Plain;
pub use source::{assemble, core_module};
pub use summary::Summary;
pub use targets::Target;
pub use targets::groups::ExecutedGroup;
