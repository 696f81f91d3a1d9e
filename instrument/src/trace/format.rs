//! How events are written: sizes, classes, and the numbers that tags have.

use wasmparser::{Operator, ValType};

use super::event::{Comparer, Comparison};

/// Size of a slot; a record takes one, or three.
pub(crate) const SLOT_BYTES: u32 = 32;

/// How many bytes are recorded of each thing that a function like `memcmp` compares.
pub(crate) const CONTENT_BYTES: u32 = SLOT_BYTES;

pub(crate) const CLASS_COMPARE: u8 = 1;
pub(crate) const CLASS_COMPARE_FLOATS: u8 = 2;
pub(crate) const CLASS_TEST: u8 = 3;
pub(crate) const CLASS_CHOOSE: u8 = 4;
pub(crate) const CLASS_MEMORY: u8 = 5;
pub(crate) const CLASS_BYTES: u8 = 6;
pub(crate) const CLASS_ENTER: u8 = 7;
pub(crate) const CLASS_LEAVE: u8 = 8;
pub(crate) const CLASS_CAUGHT: u8 = 9;
pub(crate) const CLASS_QUADS: u8 = 10;

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

/// All comparers, by their number in a tag.
pub(super) const COMPARERS: [Comparer; 10] = [
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

/// In the place of a comparison's number: a part of a comparison of what is wider.
pub(crate) const PART: u8 = 11;

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

/// The comparison with this number in a tag.
pub(super) fn comparison(number: u8) -> Option<Comparison> {
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
