//! Operators by class.

use std::error::Error;
use std::fmt;

use wasmparser::Operator;

/// What an operator handles of which its last operand says how many: it may take long.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bulk {
    Bytes,
    Elements,
}

impl Bulk {
    /// `None` for all other operators.
    pub(crate) fn of(operator: &Operator<'_>) -> Option<Bulk> {
        use Operator as O;
        match operator {
            O::MemoryFill { .. } | O::MemoryCopy { .. } | O::MemoryInit { .. } => Some(Bulk::Bytes),
            O::TableFill { .. }
            | O::TableCopy { .. }
            | O::TableInit { .. }
            | O::ArrayNew { .. }
            | O::ArrayNewDefault { .. }
            | O::ArrayNewData { .. }
            | O::ArrayNewElem { .. }
            | O::ArrayFill { .. }
            | O::ArrayCopy { .. }
            | O::ArrayInitData { .. }
            | O::ArrayInitElem { .. } => Some(Bulk::Elements),
            _ => None,
        }
    }
}

/// Whether the operator changes objects, which no snapshot holds.
pub(crate) fn changes_objects(operator: &Operator<'_>) -> bool {
    use Operator as O;
    matches!(
        operator,
        O::StructNew { .. }
            | O::StructNewDefault { .. }
            | O::StructSet { .. }
            | O::ArrayNew { .. }
            | O::ArrayNewDefault { .. }
            | O::ArrayNewFixed { .. }
            | O::ArrayNewData { .. }
            | O::ArrayNewElem { .. }
            | O::ArraySet { .. }
            | O::ArrayFill { .. }
            | O::ArrayCopy { .. }
            | O::ArrayInitData { .. }
            | O::ArrayInitElem { .. }
    )
}

/// Whether the operator is of the exceptions that are translated before a module is rewritten.
pub(crate) fn is_legacy(operator: &Operator<'_>) -> bool {
    use Operator as O;
    matches!(operator, O::Try { .. } | O::Catch { .. } | O::CatchAll | O::Rethrow { .. } | O::Delegate { .. })
}

/// Says that a module can't be planned before it is translated. Never shown.
#[derive(Debug)]
pub(crate) struct UsesLegacy;

impl fmt::Display for UsesLegacy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("uses legacy exceptions")
    }
}

impl Error for UsesLegacy {}
