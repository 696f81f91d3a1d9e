//! How an execution ended. The target's failures are values here, never errors.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// How one execution ended.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// The entry returned, or the program ended itself by `proc_exit` (with whatever code, unless crashes on exit were
    /// asked for).
    Ok,
    /// The harness returned -1, "do not keep this input", or rejected what it drew.
    Rejected,
    /// The guest trapped, threw an exception that nobody caught, or (if asked for) exited with a code other than 0.
    Crash(Trap),
    /// The fuel limit was reached.
    Hang(Trap),
    /// A growth of memory was refused by the memory limit, and the guest then failed; or the heap of garbage-collected
    /// objects is full.
    OutOfMemory(Trap),
    /// The guest drew more choices than a stream may have, or more than there were where nothing was to follow; it is
    /// not known how it would have ended. So for a recursion that draws and that no stream would end, whichever limit
    /// it meets first.
    Overrun,
    /// Somebody [interrupted](crate::sandbox::Interrupter) it. Not a finding: whether it is a hang is for an execution
    /// of [`Variant::Metered`](crate::sandbox::Variant::Metered) to say, which depends on no clock; and what an
    /// observation shows of it is what had happened by then.
    Interrupted,
}

/// The point at which the guest failed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Trap {
    /// What went wrong.
    pub kind: TrapKind,
    /// For [`TrapKind::Failed`]: what the guest says the failure is. For [`TrapKind::BadResult`]: why it is none.
    pub class: Option<Arc<str>>,
    /// The guest's calls, innermost first; at most [`Trap::FRAMES_MAX`].
    pub frames: Vec<Frame>,
}

impl Trap {
    /// More frames than this are never recorded.
    pub const FRAMES_MAX: usize = 64;

    /// What was noticed only when the execution had ended, so that nobody knows where it was.
    pub(crate) fn input_overrun() -> Self {
        Self { kind: TrapKind::InputOverrun, class: None, frames: Vec::new() }
    }
}

/// One active call of the guest, in terms of the original module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Frame {
    /// Function index in the module's index space, imports included.
    pub function: u32,
    /// Byte offset of the instruction from the start of the original module file.
    pub offset: u32,
}

/// Why the guest failed. The names are part of signatures and of the JSON output: they don't change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum TrapKind {
    Unreachable,
    MemoryOutOfBounds,
    TableOutOfBounds,
    IndirectCallToNull,
    BadSignature,
    IntegerOverflow,
    IntegerDivisionByZero,
    BadConversionToInteger,
    StackOverflow,
    HeapMisaligned,
    NullReference,
    CastFailure,
    ArrayOutOfBounds,
    AllocationTooLarge,
    /// The heap of garbage-collected objects is full.
    GcHeapFull,
    UncaughtException,
    /// A write to an address below 1024, where nothing lies, in a module as C compilers make them.
    NullWrite,
    /// A stubbed import was called (`--stub-imports trap`).
    StubbedImport,
    /// `proc_exit` with a code other than 0 (`--crash-on-exit`).
    Exit,
    /// The fuel limit was reached.
    OutOfFuel,
    /// A bulk operator or a host function went past the end of the input. (Other accesses there are
    /// `MemoryOutOfBounds`.)
    InputOverrun,
    /// The guest called `env.abort`, as AssemblyScript does.
    Abort,
    /// A component passed a handle that it does not have.
    UnknownHandle,
    /// A component's function gave what is no value of its type; the class says why.
    BadResult,
    /// The guest said so (`fuzzbox_v1.fail`).
    Failed,
    /// The guest asked to draw what there can't be: bounds in the wrong order, one of no alternatives, and the like.
    BadDraw,
    /// Any other trap that wasmtime knows.
    Other,
}

impl TrapKind {
    /// The kind's stable name, as in signatures and JSON: `memory-out-of-bounds`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::MemoryOutOfBounds => "memory-out-of-bounds",
            Self::TableOutOfBounds => "table-out-of-bounds",
            Self::IndirectCallToNull => "indirect-call-to-null",
            Self::BadSignature => "bad-signature",
            Self::IntegerOverflow => "integer-overflow",
            Self::IntegerDivisionByZero => "integer-division-by-zero",
            Self::BadConversionToInteger => "bad-conversion-to-integer",
            Self::StackOverflow => "stack-overflow",
            Self::HeapMisaligned => "heap-misaligned",
            Self::NullReference => "null-reference",
            Self::CastFailure => "cast-failure",
            Self::ArrayOutOfBounds => "array-out-of-bounds",
            Self::AllocationTooLarge => "allocation-too-large",
            Self::GcHeapFull => "gc-heap-full",
            Self::UncaughtException => "uncaught-exception",
            Self::NullWrite => "null-write",
            Self::StubbedImport => "stubbed-import",
            Self::Exit => "exit",
            Self::OutOfFuel => "out-of-fuel",
            Self::InputOverrun => "input-overrun",
            Self::Abort => "abort",
            Self::UnknownHandle => "unknown-handle",
            Self::BadResult => "bad-result",
            Self::Failed => "failed",
            Self::BadDraw => "bad-draw",
            Self::Other => "other",
        }
    }
}

impl fmt::Display for TrapKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Outcome {
    /// The outcome's stable name, as in JSON: `ok`, `rejected`, `crash`, `hang`, `oom`, `overrun`, `interrupted`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Rejected => "rejected",
            Self::Crash(_) => "crash",
            Self::Hang(_) => "hang",
            Self::OutOfMemory(_) => "oom",
            Self::Overrun => "overrun",
            Self::Interrupted => "interrupted",
        }
    }

    /// Where the guest failed, if it did.
    pub fn trap(&self) -> Option<&Trap> {
        match self {
            Self::Ok | Self::Rejected | Self::Overrun | Self::Interrupted => None,
            Self::Crash(trap) | Self::Hang(trap) | Self::OutOfMemory(trap) => Some(trap),
        }
    }
}
