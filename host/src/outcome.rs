//! How an execution ended. The target's failures are values here, never errors.

use serde::de::value::{self, BorrowedStrDeserializer};
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
    /// The guest failed.
    Failed(FailureKind, Trap),
    /// The guest drew more choices than a stream may have, or more than there were where nothing was to follow; it is
    /// not known how it would have ended. So for a recursion that draws and that no stream would end, whichever limit
    /// it meets first.
    Overrun,
    /// Somebody [interrupted](crate::sandbox::Interrupter) it. Not a finding: whether it is a hang is for an execution
    /// of [`Variant::Metered`](crate::sandbox::Variant::Metered) to say, which depends on no clock; and what an
    /// observation shows of it is what had happened by then.
    Interrupted,
}

/// What kind of failure it is. The names are part of signatures, of stored findings and of the JSON output: they don't
/// change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// The guest trapped, threw an exception that nobody caught, or (if asked for) exited with a code other than 0.
    Crash,
    /// The fuel limit was reached.
    Hang,
    /// A growth of memory was refused by the memory limit, and the guest then failed; or the heap of garbage-collected
    /// objects is full.
    #[serde(rename = "oom")]
    OutOfMemory,
}

/// What an outcome says of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict<'a> {
    /// It is a test that the guest passed.
    Passed,
    /// It is no test: the guest rejected it, or was not executed to its end.
    NoCase,
    /// It makes the guest fail.
    Failed(FailureKind, &'a Trap),
    /// Nothing: somebody interrupted the execution.
    Unknown,
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

impl FailureKind {
    /// The kind's stable name, as in signatures and JSON: `crash`, `hang`, `oom`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Crash => "crash",
            Self::Hang => "hang",
            Self::OutOfMemory => "oom",
        }
    }

    /// The kind of this name.
    pub fn of_name(name: &str) -> Option<Self> {
        of_name(name)
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What is called so in stored data.
fn of_name<'n, T: Deserialize<'n>>(name: &'n str) -> Option<T> {
    let name: BorrowedStrDeserializer<'_, value::Error> = BorrowedStrDeserializer::new(name);
    T::deserialize(name).ok()
}

impl TrapKind {
    /// The kind of this name.
    pub fn of_name(name: &str) -> Option<Self> {
        of_name(name)
    }

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
            Self::Failed(kind, _) => kind.name(),
            Self::Overrun => "overrun",
            Self::Interrupted => "interrupted",
        }
    }

    /// What it says of the input.
    pub fn verdict(&self) -> Verdict<'_> {
        match self {
            Self::Ok => Verdict::Passed,
            Self::Rejected | Self::Overrun => Verdict::NoCase,
            Self::Failed(kind, trap) => Verdict::Failed(*kind, trap),
            Self::Interrupted => Verdict::Unknown,
        }
    }

    /// The failure, if it is one.
    pub fn failure(&self) -> Option<(FailureKind, &Trap)> {
        if let Self::Failed(kind, trap) = self { Some((*kind, trap)) } else { None }
    }

    /// Where the guest failed, if it did.
    pub fn trap(&self) -> Option<&Trap> {
        self.failure().map(|(_, trap)| trap)
    }

    /// Whether the fuel limit was reached.
    pub fn is_hang(&self) -> bool {
        matches!(self, Self::Failed(FailureKind::Hang, _))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_stored_data() {
        for kind in [FailureKind::Crash, FailureKind::Hang, FailureKind::OutOfMemory] {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
            assert_eq!(FailureKind::of_name(kind.name()), Some(kind));
        }
        for kind in [TrapKind::NullWrite, TrapKind::GcHeapFull, TrapKind::Other] {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
            assert_eq!(TrapKind::of_name(kind.name()), Some(kind));
        }
        assert_eq!((FailureKind::of_name("ok"), TrapKind::of_name("crash")), (None, None));
    }
}
