//! Where the thread of an executor is, and where interrupted code goes on: all that a signal handler reads.

use std::ops::Range;
use std::sync::atomic::Ordering::{Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicU64, AtomicUsize};
use wasmtime::Module;

/// The bits of [`StopCell::state`] that are not the execution's number.
const PLACE: u64 = 3;

/// No guest runs.
const IDLE: u64 = 0;

/// The guest runs, or a host function that it called.
const INSIDE: u64 = 1;

/// The guest runs and is to end.
const TAKEN: u64 = 2;

/// One execution.
const STEP: u64 = PLACE + 1;

/// The guest's code: where it can be interrupted, and where it goes then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stop {
    /// The functions of the module.
    pub(crate) functions: Range<usize>,
    /// The one that traps.
    pub(crate) at: usize,
}

impl Stop {
    /// Where the code of a module is, and in it the code of `function`, at which interrupted code goes on.
    pub(crate) fn of(module: &Module, function: u32) -> Option<Self> {
        let base = module.text().as_ptr() as usize;
        let at = module.functions().find(|other| other.index.as_u32() == function)?.offset;
        // What lies between the module's functions is nothing; how they are entered from outside, and leave it, lies
        // behind all of them.
        let (start, end) = module.functions().fold((at, at), |(start, end), function| {
            (start.min(function.offset), end.max(function.offset + function.len))
        });
        Some(Self { functions: base + start..base + end, at: base + at })
    }
}

/// One execution of one executor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Execution(u64);

/// Where the thread of an executor is, and a [`Stop`], all 0 for code that can't be interrupted. Atomics alone, so a
/// signal handler can read it whatever it interrupts.
#[derive(Debug, Default)]
pub(crate) struct StopCell {
    /// The number of the execution, and in the lowest two bits its place.
    state: AtomicU64,
    start: AtomicUsize,
    end: AtomicUsize,
    at: AtomicUsize,
}

/// What became of the wish to end an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taking {
    /// There is none, or another one.
    Missed,
    /// It is to end; nobody wanted that before.
    First,
    /// It was to end already.
    Again,
}

impl StopCell {
    /// From now on this is the code.
    pub(crate) fn set(&self, stop: Option<Stop>) {
        let Stop { functions, at } = stop.unwrap_or(Stop { functions: 0..0, at: 0 });
        for (cell, value) in [(&self.start, functions.start), (&self.end, functions.end), (&self.at, at)] {
            cell.store(value, Relaxed);
        }
    }

    /// Checks that the executor runs nothing.
    pub(crate) fn assert_idle(&self) {
        debug_assert_eq!(self.state.load(SeqCst) & PLACE, IDLE, "an executor runs one thing at a time");
    }

    /// Begins an execution. Whoever reads this knows what the thread wrote before. Nothing has to wait for it to be
    /// seen: to leave again is an exchange.
    pub(crate) fn enter(&self) {
        let state = self.state.load(SeqCst);
        self.state.store((state & !PLACE).wrapping_add(STEP) | INSIDE, Release);
    }

    /// Ends the execution; whether it was taken.
    pub(crate) fn leave(&self) -> bool {
        let execution = self.state.load(SeqCst) & !PLACE;
        self.state.swap(execution | IDLE, SeqCst) & PLACE == TAKEN
    }

    /// Takes the execution that is under way, if it is `only`.
    pub(crate) fn take(&self, only: Option<Execution>) -> Taking {
        let state = self.state.load(SeqCst);
        let execution = state & !PLACE;
        if state & PLACE == IDLE || only.is_some_and(|only| only != Execution(execution)) {
            return Taking::Missed;
        }
        let inside = execution | INSIDE;
        if state != inside {
            return Taking::Again;
        }
        match self.state.compare_exchange(inside, execution | TAKEN, SeqCst, SeqCst) {
            Ok(_) => Taking::First,
            Err(_) => Taking::Missed,
        }
    }

    /// The execution that is under way, if there is one.
    pub(crate) fn running(&self) -> Option<Execution> {
        let state = self.state.load(SeqCst);
        (state & PLACE != IDLE).then_some(Execution(state & !PLACE))
    }

    /// Whether the execution is to end.
    pub(crate) fn is_taken(&self) -> bool {
        self.state.load(SeqCst) & PLACE == TAKEN
    }

    /// Where the guest, interrupted at `pc`, has to go on, if it is to end and can. Async-signal-safe.
    pub(crate) fn stops(&self, pc: usize) -> Option<usize> {
        let is_guest = (self.start.load(Relaxed)..self.end.load(Relaxed)).contains(&pc);
        (is_guest && self.is_taken()).then(|| self.at.load(Relaxed))
    }
}
