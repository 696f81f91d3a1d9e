//! Where things are in the injected memory, in bytes from its start; all values are little-endian.
//!
//! ```text
//! 0        8 9 ...  14    16      20       24      32      40  48       56       64      72    80     64 KiB   128 KiB
//! | fuel   |o|w|g|d|m|s|l| used  | depth  | lost  | calls | 0 | called | hidden | annex | end | room | poll   | counter 0 | counter 1 | ... | trace ...
//!   i64     u8 flags       u32     u32      u64     u32         u32      u64      u64     u64   u64    u8       u32         u32
//! ```
//!
//! The trace, if there is one, starts a page of 64 KiB behind the counters; [`Injected::trace`](crate::Injected::trace)
//! says where, and [`trace`](crate::trace) what is in it. The host clears [`TRACE_CELLS`] before each execution; the
//! trace itself can stay as it is.
//!
//! Between the zeros at [`ZERO`] and the poll, [`CALLED`] and the slots at [`CALLED_START`] say what some functions
//! were given.
//!
//! The page of the machine that starts at [`POLL`] can be taken away by a watchdog.

pub(crate) mod code;
mod flags;
pub mod stream;

pub use flags::*;

use std::ops::Range;

/// Fuel, an `i64`: how much more is left than the [`Options::fuel`](crate::Options::fuel) that a new instance starts
/// with; so 0 in a new instance. Each function entry and each loop head takes from it what the code there costs, and
/// execution stops with a trap when nothing is left. Before each execution, the host writes what it may spend less what
/// an instance starts with.
pub const FUEL: u32 = 0;

/// Bytes, as a power of two, that bulk memory operators handle for a unit of fuel.
pub const FUEL_BYTES_LOG2: u32 = 3;

/// What says how far the trace is, in bytes; 0 before each execution.
pub const TRACE_CELLS: Range<u32> = 16..32;

/// How many bytes of the trace are used, a `u32`.
pub const TRACE_USED: u32 = 16;

/// How many calls deep the execution is, a `u32`.
pub const TRACE_DEPTH: u32 = 20;

/// How many records were lost, a `u64`: those that had no room in the trace, or that came too often for it.
pub const TRACE_LOST: u32 = 24;

/// How many calls are live, a `u32`, of those that [`Options::calls`](crate::Options::calls) limits. An execution that
/// returns leaves what it found; what ends otherwise leaves anything, and the host sets it to 0 before the next.
pub const CALLS: u32 = 32;

/// Eight bytes that nobody writes.
pub const ZERO: u32 = 40;

/// How many functions were entered that record what they are given, a `u32` that wraps: those that
/// [`Options::arguments`](crate::Options::arguments) names. [`called`](crate::called()) reads them.
pub const CALLED: u32 = 48;

/// The first of the slots that hold what they were given; the last one entered is in the slot of its number modulo
/// [`CALLED_SLOTS`]: its index, the number of its parameters that are there, both `u32`, and these, 8 bytes each.
pub const CALLED_START: u32 = 1024;

/// How many slots there are, a power of two.
pub const CALLED_SLOTS: u32 = 16;

/// The size of a slot, a power of two.
pub const CALLED_SLOT_BYTES: u32 = 64;

/// How many parameters a slot has room for.
pub const CALLED_PARAMS: u32 = 7;

/// How many pages of the guest's memory are not the guest's, a `u64`: those of the [annex](ANNEX), and those between.
/// `memory.size` is by so many less than the memory's length. The host writes it when it makes the annex; growth makes
/// it less.
pub const HIDDEN: u32 = 56;

/// Where the annex of the guest's memory begins, a `u64` in bytes; 0 as long as there is none. See
/// [`Options::annex`](crate::Options::annex).
pub const ANNEX: u32 = 64;

/// How long the guest's part of that memory is, a `u64` in bytes; 0 as long as there is no annex. What ends there or
/// before needs no other look. The host writes it with the others; growth makes it more.
pub const GUEST_END: u32 = 72;

/// How much room there is for the guest, seen from the [annex](ANNEX) of a memory with 32-bit addresses, a `u64` in
/// bytes: 2^32 less where the annex begins, and the length of the guest's part. What begins at `a` and has `n` bytes is
/// in the annex, or in the guest's part, if the difference of `a` and where the annex begins, modulo 2^32, is with `n`
/// no more than this (and it ends where the memory does). The host writes it with the others; growth makes it more.
pub const ROOM: u32 = 80;

/// The cells of the annex.
pub const ANNEX_CELLS: Range<u32> = HIDDEN..ROOM + 8;

/// Where all cells end; nothing follows until [`POLL`].
pub const CELLS_END: u32 = CALLED_START + CALLED_SLOTS * CALLED_SLOT_BYTES;

/// The most bytes that a trace can take: 1 GiB.
pub const TRACE_BYTES_MAX: u32 = 1 << 30;

/// The address that polls load from. It starts a page of whatever size a machine has, and nothing else is in that.
pub const POLL: u32 = 1 << 16;

/// The first counter: counter i is the `u32` at `COUNTERS + 4 * i`, and wraps.
pub const COUNTERS: u32 = 2 << 16;

/// How many counters a line has: 64 bytes, as the lines of most caches; the first one begins with the first counter.
pub const LINE_COUNTERS: u32 = 16;

/// The most edges that a module may have: 256 MiB of counters.
pub const EDGES_MAX: u32 = 1 << 26;

/// Size of a page of the injected memory.
pub const PAGE_BYTES: u64 = 1 << 16;

const _: () = {
    assert!(flags::END <= TRACE_CELLS.start, "flags end before the trace's cells");
    assert!(ANNEX_CELLS.end <= CALLED_START && CALLED_START + CALLED_SLOTS * CALLED_SLOT_BYTES <= POLL);
    assert!(8 + 8 * CALLED_PARAMS <= CALLED_SLOT_BYTES, "a slot has room for its parameters");
    assert!(EDGES_MAX as u64 * 4 + TRACE_BYTES_MAX as u64 + COUNTERS as u64 <= 1 << 32, "a memory has 4 GiB");
};

/// How many pages hold so many counters and what lies before them.
pub(crate) fn pages(counters: u32) -> u64 {
    counter(counters).div_ceil(PAGE_BYTES)
}

/// Where a counter is.
pub(crate) fn counter(counter: u32) -> u64 {
    u64::from(COUNTERS) + 4 * u64::from(counter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_hold_exactly_what_they_must() {
        assert_eq!(pages(0), 2);
        assert_eq!(pages(65_536 / 4), 3);
        assert_eq!(pages(65_536 / 4 + 1), 4);
        assert_eq!(pages(EDGES_MAX), 4098);
    }
}
