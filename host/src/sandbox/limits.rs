//! The limits of executions that follow from each other, each with its reason; what must hold between them is asserted
//! below.
//!
//! Limits that one thing alone knows stand beside it. Those that people set are [`Settings`].
//!
//! # Stack overflow is a number of calls
//!
//! Stack overflow is a number of calls, 65,536 that are live and can be part of a recursion: calls by reference, and
//! those within a strongly connected component of the call graph. They are counted where that decides. `fast` is
//! compiled with inlining, but wasmtime inlines none of these; so natively that many overflow the smaller stack of the
//! other variants for certain, and the larger one of `metered` for programs with very large frames only.

use crate::outcome::Trap;
use crate::settings::Settings;
use fuzzbox_instrument::Options;

/// Native stack that the guest may use in variants that decide nothing, in bytes; deeper recursion is a crash of kind
/// `stack-overflow`.
pub(super) const STACK_BYTES: usize = 1 << 20;

/// The smallest native frame, in bytes: return address and frame pointer.
const FRAME_BYTES_MIN: usize = 16;

/// How many calls of the guest may be live that can be part of a recursion. Each has a frame, even where functions are
/// put in the place of calls. So what has more of them overflows any variant's native stack, and everything that could
/// be a stack overflow is seen to be one.
pub(super) const CALLS_MAX: u32 = Options::CALLS;

/// Native stack that the guest may use where calls are counted, in bytes: there may be 1 KiB for each. What still
/// overflows it is a stack overflow as well.
pub(super) const METERED_STACK_BYTES: usize = (CALLS_MAX as usize) << 10;

/// Room on the native stack for the host functions that a guest calls, and for what the guest is called by, in bytes.
pub(super) const HOST_STACK_BYTES: usize = 1 << 19;

/// Native stack that a thread should have to execute guests: the guest's, and the host functions' that it calls. On one
/// with less, [`Executor`](super::Executor) starts a thread where it has to.
pub const THREAD_STACK_BYTES: usize = METERED_STACK_BYTES + (8 << 20);

/// Units of fuel for everything that runs before the first input: instantiation, start function, initialisers. It is in
/// the rewritten module, since a start function runs before anybody could set it; so it is the same for all limits on
/// executions: twice their default. Initialisers that are exported may take more, if executions may.
pub(super) const INIT_FUEL_MAX: u64 = 2 * Settings::FUEL_DEFAULT;

/// All tables together can't have more elements than this; each costs a pointer, in every instance.
pub(super) const TABLE_ELEMENTS_MAX: usize = 1 << 20;

/// Heap for exceptions and other collected objects that an instance has from the start, in bytes.
pub(super) const GC_HEAP_BYTES: u64 = 1 << 20;

/// Frames of a trap that the fault handler notes: as many as are told of a failure, so that two failures that are told
/// apart have other numbers.
pub(super) const FAULT_FRAMES_MAX: usize = 64;

/// So far above all that the guest can have the annex of its memory begins, if there is room: what goes past the end of
/// memory goes past it by less.
pub(crate) const ANNEX_GAP_BYTES: usize = 1 << 20;

/// Whether there is room for an annex that holds no inputs where the guest can have so many bytes.
pub(crate) fn has_room_for_annex(guest_max: u64) -> bool {
    guest_max.saturating_add(2 * ANNEX_GAP_BYTES as u64) <= 1 << 32
}

const _: () = {
    assert!(CALLS_MAX as usize * FRAME_BYTES_MIN >= STACK_BYTES, "what has too many calls overflows the smaller stack");
    assert!(STACK_BYTES < METERED_STACK_BYTES, "what decides has more room than what is decided on");
    // `machine::stack::with_room` asks for room once and starts threads that have it twice.
    assert!(METERED_STACK_BYTES + 2 * HOST_STACK_BYTES <= THREAD_STACK_BYTES, "a worker needs no other thread");
    assert!(Settings::FUEL_MAX <= i64::MAX as u64 / 2, "initialisers may take twice of it, in a counter of 64 bits");
    assert!(INIT_FUEL_MAX as i64 <= Options::START_FUEL, "where nobody says how much, there is no less");
    assert!(Settings::MEMORY_BYTES_MAX <= 1 << 32, "an annex ends within 4 GiB");
    assert!((Settings::INPUT_BYTES_MAX as u64) < Settings::MEMORY_BYTES_MAX, "an input fits beside the guest's part");
    assert!(FAULT_FRAMES_MAX == Trap::FRAMES_MAX);
};
