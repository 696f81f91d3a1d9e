//! All that touches wasmtime, and the only place with `unsafe`.

mod outcome;
pub mod wasi;

pub use outcome::{Frame, Outcome, Trap, TrapKind};
