//! All that touches wasmtime, and the only place with `unsafe`.
//!
//! A [`Target`] is a module made ready once: rewritten, compiled, its entry chosen. An [`Executor`] is one instance of it,
//! kept by one worker: [`Executor::run`] gives an [`Outcome`], and an [`Observation`] until the next run. Every run starts from the same state,
//! whatever ran before: see [`Executor`].
//!
//! | file | holds |
//! | --- | --- |
//! | `target` | from bytes to compiled code |
//! | `entry`, `call` | which export is called, and how it takes its input |
//! | `imports`, `wasi`, `host` | what the guest can call, and the limits |
//! | `executor`, `snapshot` | running, and going back |
//! | `injected` | fuel, flags and counters |
//! | `variant` | what is put into the code |
//! | `interrupt` | ending an execution from another thread |
//! | `memory`, `signals`, `fault` | linear memories that know which pages were written; where the guest trapped |
//! | `summary` | what `inspect` shows |
//! | `outcome`, `trap` | how an execution ended |

#![allow(unsafe_code, reason = "linear memories and the fault handler are made here, and nowhere else")]

mod call;
mod entry;
mod executor;
mod fault;
mod host;
mod imports;
mod injected;
mod interrupt;
mod memory;
mod outcome;
mod settings;
mod signals;
mod snapshot;
mod summary;
mod target;
mod trap;
mod variant;
pub mod wasi;

pub use entry::Entry;
pub use executor::{Executor, Observation};
pub use fault::FaultRecord;
pub use interrupt::{Execution, Interrupter};
pub use outcome::{Frame, Outcome, Trap, TrapKind};
pub use settings::{Settings, Stub};
pub use summary::Summary;
pub use target::{THREAD_STACK_BYTES, Target, assemble};
pub use variant::Variant;
