//! What an execution recorded: operands of what it compared, and which functions it called.
//!
//! Records lie one behind the other from the start of [`Injected::trace`](crate::Injected::trace), as many bytes as the
//! cell at [`TRACE_USED`](crate::layout::TRACE_USED) says. When there is no room left, that one and all after it are
//! lost, and counted at [`TRACE_LOST`](crate::layout::TRACE_LOST). So is, when three quarters of the room of a
//! large trace are used, what is recorded from then on more than four times at a place: what comes after the loops of
//! a large execution is seen, too. Each takes a slot of 32 bytes; all is little-endian:
//!
//! ```text
//! 0     4       5       6       8          16         24         32
//! | tag | class | width | extra | number 0 | number 1 | number 2 |
//!   u32   u8      u8      2 u8    u64        u64        u64
//! ```
//!
//! The tag is the operator's byte offset in the module, times 16, plus which one of its class it is. The width is that
//! of the operands, in bytes. By class:
//!
//! ```text
//! 1 compare    numbers: left, right. i32, i64: 1 eq, 2 ne, 3 lt_s, 4 lt_u, 5 gt_s, 6 gt_u, 7 le_s, 8 le_u, 9 ge_s, 10 ge_u,
//!              11 a part by eq
//! 2 compare    numbers: left, right, as bits. f32, f64: 1 eq, 2 ne, 3 lt, 5 gt, 7 le, 9 ge
//! 3 test       numbers: the operand, which is compared with 0: 0 eqz, 1 if, 2 br_if, 3 select
//! 4 choose     numbers: index, how many targets there are besides the default. br_table
//! 5 memory     numbers: destination, source or value, length. extra: memories. 0 copy, 1 fill, 2 init
//! 6 bytes      numbers: two pointers, length or -1. extra: how many bytes there are of each; then two slots: these bytes
//! 7 enter      numbers: function, depth: 1 for what the host calls
//! 8 leave      numbers: depth. 0 by its end, 1 return, 2 by a tail call
//! 9 caught     numbers: depth of the call that has caught an exception
//! 10 quads     then a slot: two floats of 128 bits. functions like __letf2
//! ```
//!
//! A `xor` whose result is one of several that are combined by `or` and held against 0 is a part of a comparison by
//! `eq`: so what is wider than a number is compared.
//!
//! "Bytes" are recorded where functions like `memcmp` are entered, which [`Comparer`] names, and "quads" where such are
//! that compare floats of 128 bits, which WebAssembly does not have. All other records are made before the operator
//! does what it does, so the last one may be that of an operator that trapped.
//!
//! Not recorded: a condition that a comparison directly before gives, and its negation; comparisons of SIMD lanes and
//! of references; functions that were imported.

mod event;
mod format;
mod read;
mod recorders;
mod spans;

pub use event::{CompareBytes, Comparer, Comparison, Conditional, Event, Record, Source, Way};
pub(crate) use format::{
    LEAVE_END, LEAVE_RETURN, LEAVE_TAIL_CALL, MEMORY_COPY, MEMORY_FILL, MEMORY_INIT, PART, TEST_BR_IF, TEST_EQZ,
    TEST_IF, TEST_SELECT, compares,
};
pub use read::Trace;
pub(crate) use recorders::{Recorder, Recorders, place, tag};
pub use spans::{Span, SpanEnd};
