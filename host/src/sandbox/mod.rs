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
//! | `against` | what another build does with the same input |
//! | `quick` | what fails in quick code, executed in optimised code |
//! | `custom_mutator` | the guest's own functions that make inputs |
//! | `warming` | which inputs instances execute before their first |
//! | `load` | from a candidate to a target that was executed once |
//! | `executor` | running an input |
//! | `instance/` | one instance: made ready, executed, looked at, taken back |
//! | `targets/` | what is ready: rewritten, compiled, and what instances showed |
//! | `candidate` | what is known of a module before it is compiled |
//! | `entry/` | which export is called, and how it takes its input: a file for each way |
//! | `conventions/` | how libraries are called, by what they export |
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
//!
//! # The way of a candidate into an instance
//!
//! File by file, in the order in which they are come to. Who waits for what it called has not left: `load` waits for
//! `executor`, that for `instance/kept`, that for `instance/prepare`. A number says that a file is returned to. What
//! lies below `messages` in the table above (memory, WASI, the stack) is what all steps work on, and no step; nor is a
//! question in a line, as whether a variant has fuel.
//!
//! | | file | what is done |
//! | --- | --- | --- |
//! | | `load` | the candidate is made a target that was executed once |
//! | | `targets/compile` | all that instances have in common is made, in this order: |
//! | | `code/variant` | what is put into the code; `fuzzbox-instrument` does that |
//! | | `code/compiled`, `cache`, `compiler` | machine code |
//! | | `interrupt/stop` | where it can be interrupted |
//! | | `imports/link` | what we provide, linked to it |
//! | | `targets/groups` | whose counters are in which line |
//! | | `executor` | a gate, and the handle to interrupt with |
//! | | `instance/kept` | an instance |
//! | | `targets/instance_facts` | the plan: what is tried, what is to be told, what memories are known to hold |
//! | | `imports/host` | the host's side: limits, and WASI as the candidate says |
//! | | `interrupt/gate` | the start function will be interrupted like everything else |
//! | 1 | `interrupt/stop` | at this place of the code |
//! | | `imports/mod`, `stubs` | the instance is made, which calls the start function |
//! | | `instance/exports` | what the rewriter exports of it is found |
//! | | `imports/frames` | traps that need no signal |
//! | | `instance/injected` | the injected memory |
//! | | `instance/prepare` | a stage: what the guest needs is put into the injected memory, |
//! | 2 | `interrupt/gate` | and it is called |
//! | | `instance/annex` | between the first stage and the second: room for inputs |
//! | | `entry/heap` | the third stage: the allocator is given memory |
//! | 3 | `instance/injected` | the names that initialisers told |
//! | | `entry/call` | where inputs lie |
//! | | `entry/function`, or another way | the entry is bound; the last stage: it is called with the empty input |
//! | 4 | `instance/injected` | the functions that were entered so far; all is forgotten |
//! | | `instance/snapshot` | the state to go back to |
//! | | `faults/handler` | pages that are written are noticed |
//! | 5 | `targets/instance_facts` | what all instances share is noted |

#![allow(unsafe_code, reason = "linear memories and the fault handler are made here, and nowhere else")]

mod against;
mod candidate;
mod code;
mod conventions;
mod custom_mutator;
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
mod trial;
mod warming;
pub mod wasi;

pub use candidate::Candidate;
pub(crate) use code::background::{compiling, received};
pub use code::cache::CodeCache;
pub use code::compiler::{Code, compiler_settings};
pub use code::history::{Growths, History};
pub use code::variant::Variant;
pub use conventions::{Part, Proposal, Tried, completed, linked};
pub use custom_mutator::{CustomMutator, CustomTargets};
pub use entry::Entry;
pub use executor::Executor;
pub use imports::host::MutateBytes;
pub use instance::observation::{Executed, Group, Observation};
pub use interrupt::interrupter::Interrupter;
pub use interrupt::is_ignored;
pub use interrupt::stop::Execution;
pub use interrupt::watchdog::{Watchdog, fuel_per_second};
pub use limits::THREAD_STACK_BYTES;
pub use load::Unsuited;
pub use machine::heap::FreedMemory;
pub use plain::Plain;
pub use source::{assemble, core_module, recipe_subject};
pub use summary::Summary;
pub use targets::Target;
pub use targets::groups::ExecutedGroup;
pub use trial::tried;
pub(crate) use warming::Growth;
