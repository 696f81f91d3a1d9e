//! The allocator of the commands.

use libmimalloc_sys::{mi_collect, mi_option_set, mi_option_t};

/// `mi_option_purge_delay` of mimalloc 3, which its bindings leave out.
const PURGE_DELAY: mi_option_t = 15;

/// How long memory stays the process's that it has freed.
#[derive(Clone, Copy, Debug)]
pub enum FreedMemory {
    /// For a minute. By default it is given back after a second, in pieces, by a system call each time, for which all
    /// threads lose what they know of their pages; and rounds of a campaign want the same memory again.
    KeptForLong,
    /// As long as there is a process, which is about to end.
    Kept,
}

impl FreedMemory {
    /// From now on it is so, if the process' allocator is mimalloc.
    pub fn from_now_on(self) {
        // In milliseconds.
        let delay = match self {
            Self::KeptForLong => 60_000,
            Self::Kept => -1,
        };
        // SAFETY: it has no preconditions: it stores a number.
        unsafe { mi_option_set(PURGE_DELAY, delay) };
    }
}

/// Gives back what was freed until now, however long it was to be kept: for who frees far more than is usual.
pub(in crate::sandbox) fn give_back_freed() {
    // SAFETY: it has no preconditions: memory that nobody has goes back to the kernel.
    unsafe { mi_collect(true) };
}
