//! How an execution ended. The target's failures are values here, never errors.

mod failure_kind;

pub use failure_kind::{FailureKind, TrapKind};

use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How one execution ended.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// The entry returned, or the program ended itself by `proc_exit` (with whatever code, unless crashes on exit were
    /// asked for).
    Ok,
    /// The harness returned -1, "do not keep this input", or rejected what it drew.
    Rejected,
    /// The guest failed, as [`Outcome::failure`] tells. It is on the heap because most executions end well: what they
    /// return has two words, which stay in registers.
    Failed(Box<(FailureKind, Trap)>),
    /// The guest drew more choices than a stream may have, or more than there were where nothing was to follow; it is
    /// not known how it would have ended. So for a recursion that draws and that no stream would end, whichever limit
    /// it meets first.
    Overrun,
    /// Somebody [interrupted](crate::sandbox::Interrupter) it. Not a finding: whether it is a hang is for an execution
    /// of [`Variant::Metered`](crate::sandbox::Variant::Metered) to say, which depends on no clock; and what an
    /// observation shows of it is what had happened by then.
    Interrupted,
}

/// What executing returns is passed on by several callers, each time.
const _: () = assert!(size_of::<anyhow::Result<Outcome>>() == 2 * size_of::<usize>());

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
    /// For [`TrapKind::Failed`]: what the guest says the failure is. For [`TrapKind::BadResult`]: why it is none. For
    /// [`TrapKind::Difference`]: what differs.
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

impl Outcome {
    /// The guest failed so.
    pub fn failed(kind: FailureKind, trap: Trap) -> Self {
        Self::Failed(Box::new((kind, trap)))
    }

    /// The outcome's stable name, as in JSON: `ok`, `rejected`, `overrun`, `interrupted`, or that of the kind of
    /// failure ([`FailureKind::name`]).
    pub fn name(&self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Rejected => "rejected",
            Self::Failed(failure) => failure.0.name(),
            Self::Overrun => "overrun",
            Self::Interrupted => "interrupted",
        }
    }

    /// The outcome of this name, if it is no failure.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        [Self::Ok, Self::Rejected, Self::Overrun, Self::Interrupted].into_iter().find(|outcome| outcome.name() == name)
    }

    /// What it says of the input.
    pub fn verdict(&self) -> Verdict<'_> {
        match self {
            Self::Ok => Verdict::Passed,
            Self::Rejected | Self::Overrun => Verdict::NoCase,
            Self::Failed(failure) => Verdict::Failed(failure.0, &failure.1),
            Self::Interrupted => Verdict::Unknown,
        }
    }

    /// The failure, if it is one.
    pub fn failure(&self) -> Option<(FailureKind, &Trap)> {
        if let Self::Failed(failure) = self { Some((failure.0, &failure.1)) } else { None }
    }

    /// Another build does something else with the input, of this class. The place is where the guest fails, if it
    /// does.
    pub(crate) fn differing(self, class: Arc<str>) -> Self {
        let frames = match self {
            Self::Failed(failure) => failure.1.frames,
            _ => Vec::new(),
        };
        Self::failed(FailureKind::Difference, Trap { kind: TrapKind::Difference, class: Some(class), frames })
    }

    /// Where the guest failed, if it did.
    pub fn trap(&self) -> Option<&Trap> {
        self.failure().map(|(_, trap)| trap)
    }

    /// Whether the fuel limit was reached.
    pub fn is_hang(&self) -> bool {
        matches!(self.failure(), Some((FailureKind::Hang, _)))
    }
}
