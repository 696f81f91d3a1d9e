//! What operators cost that take longer than others: the host works for them, or collected objects are counted.
//!
//! A loop of cheap operators takes 0.2 to 0.4 ns for each. Here is what takes more than ten times that; the units are
//! what bring it below, with some to spare. `tests/tests/hostile/fuel_against_time` has the loops.

use wasmparser::Operator;

use crate::module::operators::Bulk;
use crate::module::survey::Survey;

/// Growing a memory or a table: it is the host's work, whether it is refused or not. (A refused growth takes 300 ns.)
const GROWTH: u32 = 256;
/// An exception is allocated, and somebody is looked for who catches it.
const THROW: u32 = 1024;
/// The frame of a function that an exception may leave: once for each call, since it leaves each frame once.
pub(super) const UNWOUND: u32 = 56;
/// An object is allocated, and given up later.
const ALLOCATION: u32 = 128;
/// A bulk operator is a call of the host's, however little it handles.
const BULK: u32 = 16;
/// References to objects are counted when they are written.
const REFERENCE: u32 = 16;
/// Whether an object is of a type may have to be looked up.
const CAST: u32 = 16;
/// The way out of the guest's code, and back.
const IMPORT: u32 = 32;
/// A function of the guest protocol.
const PROTOCOL: u32 = 16;
/// One that looks through all features that were asked for.
const FEATURE: u32 = 256;

/// References that a bulk operator handles take so many units each, as a power of two.
const REFERENCES_LOG2: u32 = 4;
/// Items of a segment that become elements of an array take more: each is evaluated, and looked at once more.
const ITEMS_LOG2: u32 = 6;
/// And so do bytes of a feature's name.
pub(super) const NAME_LOG2: u32 = 3;

/// Units of fuel for an operator, at least 1, without what its length takes.
pub(super) fn of(operator: &Operator<'_>, survey: &Survey<'_>) -> u32 {
    use Operator as O;
    match *operator {
        O::MemoryGrow { .. } | O::TableGrow { .. } => GROWTH,
        O::Throw { .. } | O::ThrowRef => THROW,
        O::StructNew { .. } | O::StructNewDefault { .. } | O::ArrayNewFixed { .. } => ALLOCATION,
        O::ArrayNew { .. } | O::ArrayNewDefault { .. } | O::ArrayNewData { .. } | O::ArrayNewElem { .. } => ALLOCATION,
        O::RefCastNonNull { .. }
        | O::RefCastNullable { .. }
        | O::RefTestNonNull { .. }
        | O::RefTestNullable { .. }
        | O::BrOnCast { .. }
        | O::BrOnCastFail { .. } => CAST,
        O::StructGet { struct_type_index: ty, field_index: field }
        | O::StructSet { struct_type_index: ty, field_index: field }
            if survey.field_holds_objects(ty, field) =>
        {
            REFERENCE
        }
        O::ArrayGet { array_type_index: ty } | O::ArraySet { array_type_index: ty }
            if survey.field_holds_objects(ty, 0) =>
        {
            REFERENCE
        }
        O::TableGet { table } | O::TableSet { table } if survey.table_holds_objects(table) => REFERENCE,
        O::GlobalGet { global_index } | O::GlobalSet { global_index } if survey.global_holds_objects(global_index) => {
            REFERENCE
        }
        O::Call { function_index } | O::ReturnCall { function_index } if function_index < survey.imported => {
            match survey.protocol.name(function_index) {
                Some("feature") => FEATURE,
                Some(_) => PROTOCOL,
                None => IMPORT,
            }
        }
        _ if Bulk::of(operator).is_some() => BULK,
        _ => 1,
    }
}

/// Of a bulk operator that handles references, each of which takes longer than a number: the units for one, as a power
/// of two.
pub(super) fn of_references_log2(operator: &Operator<'_>, survey: &Survey<'_>) -> Option<u32> {
    use Operator as O;
    let has_objects = match *operator {
        O::TableFill { table } | O::TableCopy { dst_table: table, .. } => survey.table_holds_objects(table),
        O::ArrayNewElem { .. } | O::ArrayInitElem { .. } => return Some(ITEMS_LOG2),
        O::TableInit { .. } => true,
        O::ArrayNew { array_type_index: ty }
        | O::ArrayNewDefault { array_type_index: ty }
        | O::ArrayFill { array_type_index: ty }
        | O::ArrayCopy { array_type_index_dst: ty, .. } => survey.field_holds_objects(ty, 0),
        _ => false,
    };
    has_objects.then_some(REFERENCES_LOG2)
}
