//! What operators do with the NaNs that they take.

use wasmparser::Operator;

use super::shape::{F32_NAN, F64_NAN, Shape};

/// What an operator does with NaNs. All that is not told here may show the bits of what it takes, and what it gives are
/// exact bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Takes all NaNs for the same, and may give one, of whatever bits.
    Arithmetic { takes: Shape, gives: Shape },
    /// Takes all NaNs for the same, and gives exact bits.
    Reads(Shape),
    /// Gives its operand, but for the sign: a canonical NaN stays what it is.
    Abs,
    /// Gives its operand with another sign.
    Neg,
    /// Gives its first operand with the sign of the second.
    CopySign,
    /// Takes nothing, or what is no float, and gives no NaN but a canonical one.
    Number,
    /// All others.
    Other,
}

#[rustfmt::skip]
pub(super) fn class(operator: &Operator<'_>) -> Class {
    use Operator as Op;
    use Shape::{F32, F32x4, F64, F64x2};
    let same = |shape| Class::Arithmetic { takes: shape, gives: shape };
    match operator {
        Op::F32Add | Op::F32Sub | Op::F32Mul | Op::F32Div | Op::F32Sqrt | Op::F32Min | Op::F32Max
        | Op::F32Ceil | Op::F32Floor | Op::F32Trunc | Op::F32Nearest => same(F32),
        Op::F64Add | Op::F64Sub | Op::F64Mul | Op::F64Div | Op::F64Sqrt | Op::F64Min | Op::F64Max
        | Op::F64Ceil | Op::F64Floor | Op::F64Trunc | Op::F64Nearest => same(F64),
        Op::F32x4Add | Op::F32x4Sub | Op::F32x4Mul | Op::F32x4Div | Op::F32x4Sqrt | Op::F32x4Min | Op::F32x4Max
        | Op::F32x4Ceil | Op::F32x4Floor | Op::F32x4Trunc | Op::F32x4Nearest
        | Op::F32x4RelaxedMadd | Op::F32x4RelaxedNmadd | Op::F32x4RelaxedMin | Op::F32x4RelaxedMax => same(F32x4),
        Op::F64x2Add | Op::F64x2Sub | Op::F64x2Mul | Op::F64x2Div | Op::F64x2Sqrt | Op::F64x2Min | Op::F64x2Max
        | Op::F64x2Ceil | Op::F64x2Floor | Op::F64x2Trunc | Op::F64x2Nearest
        | Op::F64x2RelaxedMadd | Op::F64x2RelaxedNmadd | Op::F64x2RelaxedMin | Op::F64x2RelaxedMax => same(F64x2),
        Op::F32DemoteF64 => Class::Arithmetic { takes: F64, gives: F32 },
        Op::F64PromoteF32 => Class::Arithmetic { takes: F32, gives: F64 },
        Op::F32x4DemoteF64x2Zero => Class::Arithmetic { takes: F64x2, gives: F32x4 },
        Op::F64x2PromoteLowF32x4 => Class::Arithmetic { takes: F32x4, gives: F64x2 },
        Op::F32Eq | Op::F32Ne | Op::F32Lt | Op::F32Gt | Op::F32Le | Op::F32Ge
        | Op::I32TruncF32S | Op::I32TruncF32U | Op::I64TruncF32S | Op::I64TruncF32U
        | Op::I32TruncSatF32S | Op::I32TruncSatF32U | Op::I64TruncSatF32S | Op::I64TruncSatF32U => Class::Reads(F32),
        Op::F64Eq | Op::F64Ne | Op::F64Lt | Op::F64Gt | Op::F64Le | Op::F64Ge
        | Op::I32TruncF64S | Op::I32TruncF64U | Op::I64TruncF64S | Op::I64TruncF64U
        | Op::I32TruncSatF64S | Op::I32TruncSatF64U | Op::I64TruncSatF64S | Op::I64TruncSatF64U => Class::Reads(F64),
        Op::F32x4Eq | Op::F32x4Ne | Op::F32x4Lt | Op::F32x4Gt | Op::F32x4Le | Op::F32x4Ge
        | Op::I32x4TruncSatF32x4S | Op::I32x4TruncSatF32x4U
        | Op::I32x4RelaxedTruncF32x4S | Op::I32x4RelaxedTruncF32x4U => Class::Reads(F32x4),
        Op::F64x2Eq | Op::F64x2Ne | Op::F64x2Lt | Op::F64x2Gt | Op::F64x2Le | Op::F64x2Ge
        | Op::I32x4TruncSatF64x2SZero | Op::I32x4TruncSatF64x2UZero
        | Op::I32x4RelaxedTruncF64x2SZero | Op::I32x4RelaxedTruncF64x2UZero => Class::Reads(F64x2),
        // Those of vectors are others: what they take may be lanes of another width.
        Op::F32Abs | Op::F64Abs => Class::Abs,
        Op::F32Neg | Op::F64Neg => Class::Neg,
        Op::F32Copysign | Op::F64Copysign => Class::CopySign,
        Op::F32ConvertI32S | Op::F32ConvertI32U | Op::F32ConvertI64S | Op::F32ConvertI64U
        | Op::F64ConvertI32S | Op::F64ConvertI32U | Op::F64ConvertI64S | Op::F64ConvertI64U => Class::Number,
        Op::F32Const { value } if is_plain32(value.bits()) => Class::Number,
        Op::F64Const { value } if is_plain64(value.bits()) => Class::Number,
        // Whichever lanes it has.
        Op::V128Const { value } if is_plain(value.bytes()) => Class::Number,
        _ => Class::Other,
    }
}

/// Whether to make it canonical would leave it as it is.
fn is_plain32(bits: u32) -> bool {
    !f32::from_bits(bits).is_nan() || bits == F32_NAN
}

fn is_plain64(bits: u64) -> bool {
    !f64::from_bits(bits).is_nan() || bits == F64_NAN
}

fn is_plain(bytes: &[u8; 16]) -> bool {
    let bits = u128::from_le_bytes(*bytes);
    (0..4).all(|lane| is_plain32((bits >> (32 * lane)) as u32))
        && (0..2).all(|lane| is_plain64((bits >> (64 * lane)) as u64))
}
