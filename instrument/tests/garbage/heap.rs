//! How much heap a call takes.

use peak_alloc::PeakAlloc;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// Calls `f`; gives what it returned and the most bytes that were allocated at a time while it ran, beyond those that
/// were before. Counts all threads of the process. A `realloc` counts as old and new block at once.
pub(crate) fn peak<T>(f: impl FnOnce() -> T) -> (T, usize) {
    let before = HEAP.current_usage();
    HEAP.reset_peak_usage();
    let result = f();
    (result, HEAP.peak_usage().saturating_sub(before))
}
