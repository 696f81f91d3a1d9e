//! What reports say of an execution.

#[path = "../../../../host/src/sandbox/outcome.rs"]
mod outcome;
#[path = "../../../../host/src/sandbox/said.rs"]
mod said;

pub use outcome::{Frame, Outcome, Trap, TrapKind};
pub use said::{Message, Said, Written};
