//! From wasmtime's errors to outcomes.

use crate::outcome::{FailureKind, Frame, Outcome, Trap, TrapKind};
use crate::sandbox::entry::component_result::BadResult;
use crate::sandbox::imports::assemblyscript::Aborted;
use crate::sandbox::imports::personality::Thrown;
use crate::sandbox::imports::stubs::StubCalled;
use crate::sandbox::wasi::p2::UnknownHandle;
use crate::sandbox::wasi::{Exhausted, Exit};
use anyhow::Result;
use fuzzbox_instrument::OffsetMap;
use fuzzbox_instrument::layout::{Flag, Flags, stream};
use std::sync::Arc;
use wasmtime::{GcHeapOutOfMemory, ThrownException, WasmBacktrace};

/// What an error means depends on what happened before it.
pub(crate) struct Context<'a> {
    pub(crate) offsets: &'a OffsetMap,
    /// Traps tell what was live.
    pub(crate) has_frames: bool,
    pub(crate) crash_on_exit: bool,
    /// What the rewriter's code told.
    pub(crate) flags: Flags,
    /// How the guest's draws ended the execution, a status of [`stream`]; 0 if they did not.
    pub(crate) status: u32,
    /// The class of the failure, if the guest said one.
    pub(crate) class: Option<Arc<str>>,
    /// Functions of the module; those behind them were added.
    pub(crate) functions: u32,
    /// The memory limit refused a growth in this execution.
    pub(crate) memory_refused: bool,
}

impl Context<'_> {
    /// The outcome that `error` stands for; `Err` if it is the host's own failure.
    pub(crate) fn outcome(&self, error: wasmtime::Error) -> Result<Outcome> {
        match self.status {
            stream::REJECTED => return Ok(Outcome::Rejected),
            stream::OVERRUN | stream::STOPPED => return Ok(Outcome::Overrun),
            stream::FAILED => return Ok(self.failed(FailureKind::Crash, &error, TrapKind::Failed)),
            stream::MISUSED => return Ok(self.failed(FailureKind::Crash, &error, TrapKind::BadDraw)),
            _ => {}
        }
        let trap = error.downcast_ref::<wasmtime::Trap>().copied();
        // Guests may trap every time, and nothing else is both.
        if trap.is_none()
            && let Some(outcome) = self.ended(&error)
        {
            return Ok(outcome);
        }
        // What the rewriter's checks found is told by their flags: they all end by `unreachable`.
        let found = self.flags.failure().map(kind_of_flag);
        let found = found.or_else(|| trap.map(kind_of_trap)).or_else(|| kind(&error));
        let Some(kind) = found else { return Err(anyhow::Error::from(error).context("failed to execute")) };
        let failure = match kind {
            TrapKind::OutOfFuel => FailureKind::Hang,
            TrapKind::GcHeapFull => FailureKind::OutOfMemory,
            _ if self.memory_refused => FailureKind::OutOfMemory,
            _ => FailureKind::Crash,
        };
        Ok(self.failed(failure, &error, kind))
    }

    /// What it means that the guest, or a call of the guest's, ended the execution.
    fn ended(&self, error: &wasmtime::Error) -> Option<Outcome> {
        if let Some(&Exit(code)) = error.downcast_ref() {
            let crash = code != 0 && self.crash_on_exit;
            return Some(if crash { self.failed(FailureKind::Crash, error, TrapKind::Exit) } else { Outcome::Ok });
        }
        if let Some(thrown) = error.downcast_ref::<Thrown>() {
            return Some(if thrown.is_told { Outcome::Ok } else { Outcome::Rejected });
        }
        error.is::<Exhausted>().then(|| self.failed(FailureKind::Hang, error, TrapKind::OutOfFuel))
    }

    fn failed(&self, failure: FailureKind, error: &wasmtime::Error, kind: TrapKind) -> Outcome {
        Outcome::failed(failure, self.trap(error, kind))
    }

    fn trap(&self, error: &wasmtime::Error, kind: TrapKind) -> Trap {
        let class = match kind {
            TrapKind::Failed => self.class.clone(),
            _ => error.downcast_ref::<BadResult>().map(|bad| bad.class().into()),
        };
        if !self.has_frames {
            return Trap { kind, class, frames: Vec::new() };
        }
        let frames = error.downcast_ref::<WasmBacktrace>().map_or(&[][..], WasmBacktrace::frames);
        // Of functions that were added, the guest knows nothing.
        let frames = frames.iter().filter(|frame| frame.func_index() < self.functions);
        let frames = frames.take(Trap::FRAMES_MAX).map(|frame| {
            let offset = frame.module_offset().and_then(|offset| u32::try_from(offset).ok());
            Frame {
                function: frame.func_index(),
                offset: offset.and_then(|offset| self.offsets.original(offset)).unwrap_or(0),
            }
        });
        Trap { kind, class, frames: frames.collect() }
    }
}

fn kind(error: &wasmtime::Error) -> Option<TrapKind> {
    if error.is::<StubCalled>() {
        return Some(TrapKind::StubbedImport);
    }
    if error.is::<Aborted>() {
        return Some(TrapKind::Abort);
    }
    if error.is::<BadResult>() {
        return Some(TrapKind::BadResult);
    }
    if error.is::<UnknownHandle>() {
        return Some(TrapKind::UnknownHandle);
    }
    if error.is::<ThrownException>() {
        return Some(TrapKind::UncaughtException);
    }
    // What the host itself allocates there has another type.
    error.is::<GcHeapOutOfMemory<()>>().then_some(TrapKind::GcHeapFull)
}

/// What went wrong where code set a flag and trapped: the kinds that the rewriter tells have the flags' names.
fn kind_of_flag(flag: Flag) -> TrapKind {
    TrapKind::of_name(flag.name()).unwrap_or(TrapKind::Other)
}

fn kind_of_trap(trap: wasmtime::Trap) -> TrapKind {
    match trap {
        wasmtime::Trap::UnreachableCodeReached => TrapKind::Unreachable,
        wasmtime::Trap::MemoryOutOfBounds => TrapKind::MemoryOutOfBounds,
        wasmtime::Trap::TableOutOfBounds => TrapKind::TableOutOfBounds,
        wasmtime::Trap::IndirectCallToNull => TrapKind::IndirectCallToNull,
        wasmtime::Trap::BadSignature => TrapKind::BadSignature,
        wasmtime::Trap::IntegerOverflow => TrapKind::IntegerOverflow,
        wasmtime::Trap::IntegerDivisionByZero => TrapKind::IntegerDivisionByZero,
        wasmtime::Trap::BadConversionToInteger => TrapKind::BadConversionToInteger,
        wasmtime::Trap::StackOverflow => TrapKind::StackOverflow,
        wasmtime::Trap::HeapMisaligned => TrapKind::HeapMisaligned,
        wasmtime::Trap::NullReference => TrapKind::NullReference,
        wasmtime::Trap::CastFailure => TrapKind::CastFailure,
        wasmtime::Trap::ArrayOutOfBounds => TrapKind::ArrayOutOfBounds,
        wasmtime::Trap::AllocationTooLarge => TrapKind::AllocationTooLarge,
        _ => TrapKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_that_code_tells_has_a_kind() {
        let failures: Vec<Flag> = Flag::all().filter(|flag| flag.is_failure()).collect();
        assert!(failures.contains(&Flag::OutOfFuel) && failures.contains(&Flag::LowStore));
        for flag in failures {
            assert_eq!(kind_of_flag(flag).name(), flag.name());
        }
    }
}
