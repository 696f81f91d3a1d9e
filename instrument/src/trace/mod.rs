//! What an execution recorded: operands of what it compared, and which functions it called.
//!
//! Records lie one behind the other from the start of [`Injected::trace`](crate::Injected::trace), as many bytes as the cell
//! at [`TRACE_USED`](crate::layout::TRACE_USED) says. When there is no room left, that one and all after it are lost, and
//! counted at [`TRACE_LOST`](crate::layout::TRACE_LOST). Each takes a slot of 32 bytes; all is little-endian:
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
//! 1 compare    numbers: left, right. i32, i64: 1 eq, 2 ne, 3 lt_s, 4 lt_u, 5 gt_s, 6 gt_u, 7 le_s, 8 le_u, 9 ge_s, 10 ge_u
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
//! A `xor` whose result is one of several that are combined by `or` and held against 0 is a comparison by `eq`: so what is wider than a
//! number is compared.
//!
//! "Bytes" are recorded where functions like `memcmp` are entered, which [`Comparer`] names, and "quads" where such are that compare floats
//! of 128 bits, which WebAssembly does not have. All other records are made
//! before the operator does what it does, so the last one may be that of an operator that trapped.
//!
//! Not recorded: a condition that a comparison directly before gives, and its negation; comparisons of SIMD lanes and of
//! references; functions that were imported.

mod recorders;
mod spans;

use std::ops::Range;

use wasmparser::{Operator, ValType};

use crate::layout;

pub(crate) use recorders::{Recorder, Recorders, Types, place, tag};
pub use spans::{Span, SpanEnd};

/// Size of a slot; a record takes one, or three.
const SLOT_BYTES: u32 = 32;

/// How many bytes are recorded of each thing that a function like `memcmp` compares.
const CONTENT_BYTES: u32 = SLOT_BYTES;

const CLASS_COMPARE: u8 = 1;
const CLASS_COMPARE_FLOATS: u8 = 2;
const CLASS_TEST: u8 = 3;
const CLASS_CHOOSE: u8 = 4;
const CLASS_MEMORY: u8 = 5;
const CLASS_BYTES: u8 = 6;
const CLASS_ENTER: u8 = 7;
const CLASS_LEAVE: u8 = 8;
const CLASS_CAUGHT: u8 = 9;
const CLASS_QUADS: u8 = 10;

pub(crate) const TEST_EQZ: u8 = 0;
pub(crate) const TEST_IF: u8 = 1;
pub(crate) const TEST_BR_IF: u8 = 2;
pub(crate) const TEST_SELECT: u8 = 3;

pub(crate) const MEMORY_COPY: u8 = 0;
pub(crate) const MEMORY_FILL: u8 = 1;
pub(crate) const MEMORY_INIT: u8 = 2;

pub(crate) const LEAVE_END: u8 = 0;
pub(crate) const LEAVE_RETURN: u8 = 1;
pub(crate) const LEAVE_TAIL_CALL: u8 = 2;

/// What an execution recorded, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// What had room.
    pub records: Vec<Record>,
    /// How many records came after these.
    pub lost: u64,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Byte offset of the operator in the original module; of the first one of the body for what is recorded at a
    /// function's entry.
    pub site: u32,
    /// What happened.
    pub event: Event,
}

/// What happened at an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Two numbers are compared; or one with 0 by `eqz`, which is [`Comparison::Eq`].
    Compare {
        /// How.
        comparison: Comparison,
        /// Whether they are floats.
        float: bool,
        /// Size of each in bytes: 4 or 8.
        width: u8,
        /// The first operand's bits.
        left: u64,
        /// The second operand's bits.
        right: u64,
    },
    /// A condition that was not just compared: it decides by whether it is 0.
    Condition {
        /// What decides.
        operator: Conditional,
        /// The condition.
        value: u32,
    },
    /// A `br_table` goes to one of its targets.
    Choose {
        /// Which one; the default, if there are not so many.
        index: u32,
        /// How many there are besides the default.
        targets: u32,
    },
    /// Memory is about to be changed: `memory.copy`, `memory.fill` or `memory.init`.
    Memory {
        /// Where from.
        source: Source,
        /// The index of the memory that changes.
        memory: u8,
        /// Where it changes.
        address: u64,
        /// How many bytes.
        length: u64,
    },
    /// A function that compares what lies in memory 0 is entered.
    Bytes {
        /// Which one.
        comparer: Comparer,
        /// Its two pointers.
        pointers: [u64; 2],
        /// How many bytes it compares at most, if it is told.
        length: Option<u64>,
        /// What lies there: up to 32 bytes, the length, the end of the memory, and for strings the zero at their end.
        content: [Vec<u8>; 2],
    },
    /// A function that compares two floats of 128 bits (IEEE 754's binary128) is entered.
    CompareQuads {
        /// The first one's bits.
        left: u128,
        /// The second one's bits.
        right: u128,
    },
    /// A function is entered.
    Enter {
        /// Its index.
        function: u32,
        /// How many functions are being called, this one included.
        depth: u32,
    },
    /// A function is left.
    Leave {
        /// The depth with which it was entered.
        depth: u32,
        /// How.
        way: Way,
    },
    /// A function has caught an exception. All deeper ones have been left by it.
    Caught {
        /// The depth with which it was entered.
        depth: u32,
    },
}

/// How numbers are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Comparison {
    /// `eq` and `eqz`.
    Eq,
    /// `ne`.
    Ne,
    /// `lt_s`, and `lt` of floats.
    LtS,
    /// `lt_u`.
    LtU,
    /// `gt_s`, and `gt` of floats.
    GtS,
    /// `gt_u`.
    GtU,
    /// `le_s`, and `le` of floats.
    LeS,
    /// `le_u`.
    LeU,
    /// `ge_s`, and `ge` of floats.
    GeS,
    /// `ge_u`.
    GeU,
}

/// An operator that decides by a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Conditional {
    /// `if`.
    If,
    /// `br_if`.
    BrIf,
    /// `select`.
    Select,
}

/// What memory gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// What is in a memory, this one or another.
    Copy {
        /// The index of that memory.
        memory: u8,
        /// Where it is.
        address: u64,
    },
    /// The lowest byte of a number.
    Fill {
        /// That number.
        value: u32,
    },
    /// What is in a data segment.
    Init {
        /// Where it is in the segment.
        offset: u32,
    },
}

/// A function that compares bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Comparer {
    /// One that looks like `memcmp`: with a length.
    SomeBytes,
    /// One that looks like `strcmp`: without a length.
    SomeStrings,
    /// `memcmp`.
    Memcmp,
    /// `bcmp`.
    Bcmp,
    /// `memmem`; the length is that of what is searched for.
    Memmem,
    /// `strcmp`.
    Strcmp,
    /// `strncmp`.
    Strncmp,
    /// `strcasecmp`.
    Strcasecmp,
    /// `strncasecmp`.
    Strncasecmp,
    /// `strstr`.
    Strstr,
}

/// How a function was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// By its end, or by a branch to it.
    End,
    /// By `return`.
    Return,
    /// By a tail call: the next function entered takes its place.
    TailCall,
}

const COMPARERS: [Comparer; 10] = [
    Comparer::SomeBytes,
    Comparer::SomeStrings,
    Comparer::Memcmp,
    Comparer::Bcmp,
    Comparer::Memmem,
    Comparer::Strcmp,
    Comparer::Strncmp,
    Comparer::Strcasecmp,
    Comparer::Strncasecmp,
    Comparer::Strstr,
];

impl Comparer {
    /// Whether a zero byte ends what is compared.
    pub fn is_of_strings(self) -> bool {
        !matches!(self, Comparer::SomeBytes | Comparer::Memcmp | Comparer::Bcmp | Comparer::Memmem)
    }
}

impl Trace {
    /// Reads the trace at a place in the injected memory; `original` says where a planned operator is in the original.
    /// What can't be a record ends it.
    pub(crate) fn read(injected: &[u8], place: &Range<u32>, original: impl Fn(u32) -> u32) -> Trace {
        let cell = |at: u32| injected.get(at as usize..)?.first_chunk::<8>().copied();
        let used = cell(layout::TRACE_USED).map_or(0, |cell| u64::from_le_bytes(cell) as u32);
        let used = used.min(place.end - place.start);
        let mut slots = injected
            .get(place.start as usize..(place.start + used) as usize)
            .unwrap_or_default()
            .chunks_exact(SLOT_BYTES as usize);
        let mut trace = Trace::default();
        while let Some(record) = read_record(&mut slots) {
            trace.records.push(Record { site: original(record.site), ..record });
        }
        trace.lost = cell(layout::TRACE_LOST).map_or(0, u64::from_le_bytes);
        trace
    }
}

fn read_record<'m>(slots: &mut impl Iterator<Item = &'m [u8]>) -> Option<Record> {
    let slot = slots.next()?;
    let tag = u32::from_le_bytes(*slot.first_chunk()?);
    let &[class, width, ref extra @ ..] = slot[4..].first_chunk::<4>()?;
    let number = |number: usize| slot[8 + 8 * number..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let operator = (tag & 0xf) as u8;
    let event = match class {
        CLASS_COMPARE | CLASS_COMPARE_FLOATS => Event::Compare {
            comparison: comparison(operator)?,
            float: class == CLASS_COMPARE_FLOATS,
            width,
            left: number(0),
            right: number(1),
        },
        CLASS_TEST => match operator {
            TEST_EQZ => Event::Compare { comparison: Comparison::Eq, float: false, width, left: number(0), right: 0 },
            TEST_IF => Event::Condition { operator: Conditional::If, value: number(0) as u32 },
            TEST_BR_IF => Event::Condition { operator: Conditional::BrIf, value: number(0) as u32 },
            _ => Event::Condition { operator: Conditional::Select, value: number(0) as u32 },
        },
        CLASS_CHOOSE => Event::Choose { index: number(0) as u32, targets: number(1) as u32 },
        CLASS_MEMORY => {
            let source = match operator {
                MEMORY_COPY => Source::Copy { memory: extra[1], address: number(1) },
                MEMORY_FILL => Source::Fill { value: number(1) as u32 },
                _ => Source::Init { offset: number(1) as u32 },
            };
            Event::Memory { source, memory: extra[0], address: number(0), length: number(2) }
        }
        CLASS_BYTES => {
            let comparer = *COMPARERS.get(usize::from(operator))?;
            let mut content = || Some(slots.next()?.to_vec());
            let mut content = [content()?, content()?];
            for (content, &length) in content.iter_mut().zip(extra) {
                content.truncate(length.into());
                if let (true, Some(end)) = (comparer.is_of_strings(), content.iter().position(|&byte| byte == 0)) {
                    content.truncate(end);
                }
            }
            let length = Some(number(2)).filter(|&length| length != u64::MAX);
            Event::Bytes { comparer, pointers: [number(0), number(1)], length, content }
        }
        CLASS_ENTER => Event::Enter { function: number(0) as u32, depth: number(1) as u32 },
        CLASS_LEAVE => Event::Leave {
            depth: number(0) as u32,
            way: match operator {
                LEAVE_RETURN => Way::Return,
                LEAVE_TAIL_CALL => Way::TailCall,
                _ => Way::End,
            },
        },
        CLASS_QUADS => {
            let slot = slots.next()?;
            let number = |bytes: &[u8]| bytes.first_chunk().map_or(0, |bytes| u128::from_le_bytes(*bytes));
            Event::CompareQuads { left: number(slot), right: number(&slot[16..]) }
        }
        CLASS_CAUGHT => Event::Caught { depth: number(0) as u32 },
        _ => return None,
    };
    Some(Record { site: tag >> 4, event })
}

/// All comparisons, by their number in a tag less 1.
const COMPARISONS: [Comparison; 10] = [
    Comparison::Eq,
    Comparison::Ne,
    Comparison::LtS,
    Comparison::LtU,
    Comparison::GtS,
    Comparison::GtU,
    Comparison::LeS,
    Comparison::LeU,
    Comparison::GeS,
    Comparison::GeU,
];

fn comparison(number: u8) -> Option<Comparison> {
    COMPARISONS.get(usize::from(number.checked_sub(1)?)).copied()
}

/// The type of numbers that an operator compares, and its number in a tag.
pub(crate) fn compares(operator: &Operator<'_>) -> Option<(ValType, u8)> {
    use Comparison::{Eq, GeS, GeU, GtS, GtU, LeS, LeU, LtS, LtU, Ne};
    use Operator as O;
    use ValType::{F32, F64, I32, I64};
    let (ty, comparison) = match operator {
        O::I32Eq => (I32, Eq),
        O::I32Ne => (I32, Ne),
        O::I32LtS => (I32, LtS),
        O::I32LtU => (I32, LtU),
        O::I32GtS => (I32, GtS),
        O::I32GtU => (I32, GtU),
        O::I32LeS => (I32, LeS),
        O::I32LeU => (I32, LeU),
        O::I32GeS => (I32, GeS),
        O::I32GeU => (I32, GeU),
        O::I64Eq => (I64, Eq),
        O::I64Ne => (I64, Ne),
        O::I64LtS => (I64, LtS),
        O::I64LtU => (I64, LtU),
        O::I64GtS => (I64, GtS),
        O::I64GtU => (I64, GtU),
        O::I64LeS => (I64, LeS),
        O::I64LeU => (I64, LeU),
        O::I64GeS => (I64, GeS),
        O::I64GeU => (I64, GeU),
        O::F32Eq => (F32, Eq),
        O::F32Ne => (F32, Ne),
        O::F32Lt => (F32, LtS),
        O::F32Gt => (F32, GtS),
        O::F32Le => (F32, LeS),
        O::F32Ge => (F32, GeS),
        O::F64Eq => (F64, Eq),
        O::F64Ne => (F64, Ne),
        O::F64Lt => (F64, LtS),
        O::F64Gt => (F64, GtS),
        O::F64Le => (F64, LeS),
        O::F64Ge => (F64, GeS),
        _ => return None,
    };
    Some((ty, 1 + comparison as u8))
}
