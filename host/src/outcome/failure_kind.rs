//! The kinds of failures, and their names.

use serde::de::value::{self, BorrowedStrDeserializer};
use serde::{Deserialize, Serialize};
use std::fmt;

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
    /// Another build does something else with the same input (`--against`).
    Difference,
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
    /// Another build does something else with the same input; the class says what.
    Difference,
    /// Any other trap that wasmtime knows.
    Other,
}

impl FailureKind {
    /// The kind's stable name, as in signatures and JSON: `crash`, `hang`, `oom`, `difference`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Crash => "crash",
            Self::Hang => "hang",
            Self::OutOfMemory => "oom",
            Self::Difference => "difference",
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
            Self::Difference => "difference",
            Self::Other => "other",
        }
    }
}

impl fmt::Display for TrapKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_stored_data() {
        for kind in [FailureKind::Crash, FailureKind::Hang, FailureKind::OutOfMemory, FailureKind::Difference] {
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
