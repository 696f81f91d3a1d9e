//! From wasmtime's errors to outcomes.

use super::hash;
use super::host::Host;
use super::imports::StubCalled;
use super::lifted::BadResult;
use super::wasi::p2::UnknownHandle;
use super::wasi::{Exhausted, Exit};
use super::words::Aborted;
use crate::outcome::{Frame, Outcome, Trap, TrapKind};
use anyhow::{Context as _, Result};
use fuzzbox_instrument::layout::stream;
use fuzzbox_instrument::{Left, OffsetMap};
use std::num::NonZeroU64;
use std::sync::Arc;
use wasmtime::{Caller, Func, GcHeapOutOfMemory, Instance, Ref, Store, ThrownException, WasmBacktrace};

/// What an error means depends on what happened before it.
pub(super) struct Context<'a> {
    pub(super) offsets: &'a OffsetMap,
    /// Traps tell what was live.
    pub(super) has_frames: bool,
    pub(super) crash_on_exit: bool,
    /// The rewriter's check found the fuel used up.
    pub(super) out_of_fuel: bool,
    /// The rewriter's check found too many live frames.
    pub(super) stack_overflow: bool,
    /// The rewriter's check found a write to where nothing is.
    pub(super) low_store: bool,
    /// How the guest's draws ended the execution, a status of [`stream`]; 0 if they did not.
    pub(super) status: u32,
    /// The class of the failure, if the guest said one.
    pub(super) class: Option<Arc<str>>,
    /// Functions of the module; those behind them were added.
    pub(super) functions: u32,
    /// The memory limit refused a growth in this execution.
    pub(super) memory_refused: bool,
}

impl Context<'_> {
    /// The outcome that `error` stands for; `Err` if it is the host's own failure.
    pub(super) fn outcome(&self, error: wasmtime::Error) -> Result<Outcome> {
        match self.status {
            stream::REJECTED => return Ok(Outcome::Rejected),
            stream::OVERRUN | stream::STOPPED => return Ok(Outcome::Overrun),
            stream::FAILED => return Ok(Outcome::Crash(self.trap(&error, TrapKind::Failed))),
            stream::MISUSED => return Ok(Outcome::Crash(self.trap(&error, TrapKind::BadDraw))),
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
        let found = match self {
            Context { low_store: true, .. } => Some(TrapKind::NullWrite),
            Context { stack_overflow: true, .. } => Some(TrapKind::StackOverflow),
            _ => trap.map(kind_of_trap).or_else(|| kind(&error)),
        };
        let Some(kind) = found else { return Err(anyhow::Error::from(error).context("failed to execute")) };
        Ok(if self.out_of_fuel {
            Outcome::Hang(self.trap(&error, TrapKind::OutOfFuel))
        } else if self.memory_refused || kind == TrapKind::GcHeapFull {
            Outcome::OutOfMemory(self.trap(&error, kind))
        } else {
            Outcome::Crash(self.trap(&error, kind))
        })
    }

    /// What it means that the guest, or a call of the guest's, ended the execution.
    fn ended(&self, error: &wasmtime::Error) -> Option<Outcome> {
        if let Some(&Exit(code)) = error.downcast_ref() {
            let crash = code != 0 && self.crash_on_exit;
            return Some(if crash { Outcome::Crash(self.trap(error, TrapKind::Exit)) } else { Outcome::Ok });
        }
        error.is::<Exhausted>().then(|| Outcome::Hang(self.trap(error, TrapKind::OutOfFuel)))
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

/// The frames of the guest that were live when a host function ended it, which are the innermost. They count, since what has entered
/// them never left.
#[derive(Debug, Default)]
pub(super) struct Frames {
    /// Whether counts depend on them.
    pub(super) count: bool,
    /// At most [`Frames::MAX`], sorted.
    pub(super) left: Vec<Left>,
    /// A hash over them from the innermost outwards, if all are known.
    pub(super) key: Option<NonZeroU64>,
    /// There were more, or some without offset.
    pub(super) cut: bool,
}

impl Frames {
    /// As many as wasmtime looks at where its settings say that traps need none.
    const MAX: usize = 20;

    pub(super) fn clear(&mut self) {
        self.left.clear();
        self.key = None;
        self.cut = false;
    }
}

/// Notes the frames that are live, for a host function that is about to end the execution.
pub(super) fn capture(caller: &mut Caller<'_, Host>) {
    let backtrace = WasmBacktrace::force_capture(&*caller);
    let frames = backtrace.frames();
    let kept = &mut caller.data_mut().frames;
    kept.left.clear();
    kept.left.extend(frames.iter().filter_map(|frame| {
        Some(Left { function: frame.func_index(), offset: u32::try_from(frame.module_offset()?).ok()? })
    }));
    // Of code that was put in the place of a call the offset is not known.
    kept.cut = frames.len() >= Frames::MAX || kept.left.len() < frames.len();
    let numbers = kept.left.iter().map(|left| u64::from(left.function) << 32 | u64::from(left.offset));
    kept.key = NonZeroU64::new(hash::of(0, numbers)).filter(|_| !kept.cut);
    if kept.count {
        kept.left.sort_unstable();
    } else {
        kept.left.clear();
        kept.cut = false;
    }
}

/// Puts a function into the table `export` that ends an execution as `unreachable` does, without a signal.
pub(super) fn replace_unreachable(store: &mut Store<Host>, instance: &Instance, export: &str) -> Result<()> {
    let table = instance.get_table(&mut *store, export).context("the rewriter exports its table")?;
    let trap = |mut caller: Caller<'_, Host>| -> wasmtime::Result<()> {
        capture(&mut caller);
        Err(wasmtime::Trap::UnreachableCodeReached.into())
    };
    let function = Func::wrap(&mut *store, trap);
    Ok(table.set(store, 0, Ref::Func(Some(function)))?)
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
