//! Where the guest was when it trapped, without asking wasmtime for a backtrace.

use crate::sandbox::hash;
use crate::sandbox::limits::{FAULT_FRAMES_MAX, METERED_STACK_BYTES};
use crate::sandbox::machine::registers::Registers;
use std::num::NonZeroU64;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicUsize};

/// The frames of the guest's code that were active at the last fault, written by the fault handler.
///
/// Only faults are recorded: memory and division traps, failed checks. What host functions end is not, nor
/// is an execution that just returns.
#[derive(Debug)]
pub(crate) struct FaultRecord {
    frames: [AtomicU32; FAULT_FRAMES_MAX],
    len: AtomicUsize,
}

impl Default for FaultRecord {
    fn default() -> Self {
        Self { frames: [const { AtomicU32::new(0) }; FAULT_FRAMES_MAX], len: AtomicUsize::new(0) }
    }
}

impl FaultRecord {
    /// Offsets into the machine code of the module, in bytes: of the instruction that faulted, then of the return
    /// address of each frame around it, 64 in all at most. Empty if there was no fault.
    ///
    /// They mean something only together with the compiled code: they differ between variants and machines.
    pub(crate) fn frames(&self) -> impl ExactSizeIterator<Item = u32> {
        self.frames[..self.len.load(Relaxed)].iter().map(|frame| frame.load(Relaxed))
    }

    /// A hash of the frames, by which faults of the same compiled code can be told apart. `None` if there was no fault.
    pub(crate) fn key(&self) -> Option<NonZeroU64> {
        let frames = self.frames();
        if frames.len() == 0 { None } else { NonZeroU64::new(hash::of(1, frames.map(u64::from))) }
    }

    pub(crate) fn clear(&self) {
        self.len.store(0, Relaxed);
    }

    /// Records the frames of the guest's code, which is at the addresses `code`. Async-signal-safe.
    ///
    /// # Safety
    ///
    /// `registers` are those of the thread that calls this (or is interrupted by a handler which does), when it was in
    /// `code`.
    pub(crate) unsafe fn record(&self, registers: Registers, code: &Range<usize>) {
        let Registers { mut pc, mut frame, stack } = registers;
        let (mut len, mut lowest) = (0, stack);
        while code.contains(&pc) && len < FAULT_FRAMES_MAX {
            let Ok(offset) = u32::try_from(pc - code.start) else { break };
            self.frames[len].store(offset, Relaxed);
            len += 1;
            let reachable = frame >= lowest && frame - stack <= METERED_STACK_BYTES;
            if !reachable || !frame.is_multiple_of(size_of::<usize>()) {
                break;
            }
            lowest = frame + size_of::<[usize; 2]>();
            // SAFETY: all code of wasmtime keeps the frame pointer, which points to the caller's and the return
            // address; this one is of code in `code`, because `pc` is, and in the part of the thread's stack that the
            // guest has.
            [frame, pc] = unsafe { (frame as *const [usize; 2]).read() };
        }
        self.len.store(len, Relaxed);
    }
}
