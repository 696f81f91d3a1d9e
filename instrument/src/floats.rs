//! Whether a module computes with floating-point numbers, so that the bits of a NaN could be seen.

use anyhow::Result;
use wasmparser::{Operator, Parser, Payload};

/// Whether `wasm` has an instruction whose result is a NaN of unspecified bits.
///
/// The payload of such a NaN depends on operand order, which a compiler may choose differently for each variant of a module. An engine
/// that promises equal results makes those bits canonical, which costs time, and only in modules of which this is true.
///
/// # Errors
///
/// If the module can't be read.
pub fn shows_float_bits(wasm: &[u8]) -> Result<bool> {
    for payload in Parser::new(0).parse_all(wasm) {
        let Payload::CodeSectionEntry(body) = payload? else { continue };
        for operator in body.get_operators_reader()? {
            if makes_nan(&operator?) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

#[rustfmt::skip]
fn makes_nan(operator: &Operator<'_>) -> bool {
    use Operator as Op;
    matches!(
        operator,
        Op::F32Add | Op::F32Sub | Op::F32Mul | Op::F32Div | Op::F32Sqrt | Op::F32Min | Op::F32Max
        | Op::F32Ceil | Op::F32Floor | Op::F32Trunc | Op::F32Nearest | Op::F32DemoteF64
        | Op::F64Add | Op::F64Sub | Op::F64Mul | Op::F64Div | Op::F64Sqrt | Op::F64Min | Op::F64Max
        | Op::F64Ceil | Op::F64Floor | Op::F64Trunc | Op::F64Nearest | Op::F64PromoteF32
        | Op::F32x4Add | Op::F32x4Sub | Op::F32x4Mul | Op::F32x4Div | Op::F32x4Sqrt | Op::F32x4Min | Op::F32x4Max
        | Op::F32x4Ceil | Op::F32x4Floor | Op::F32x4Trunc | Op::F32x4Nearest | Op::F32x4DemoteF64x2Zero
        | Op::F64x2Add | Op::F64x2Sub | Op::F64x2Mul | Op::F64x2Div | Op::F64x2Sqrt | Op::F64x2Min | Op::F64x2Max
        | Op::F64x2Ceil | Op::F64x2Floor | Op::F64x2Trunc | Op::F64x2Nearest | Op::F64x2PromoteLowF32x4
        | Op::F32x4RelaxedMadd | Op::F32x4RelaxedNmadd | Op::F32x4RelaxedMin | Op::F32x4RelaxedMax
        | Op::F64x2RelaxedMadd | Op::F64x2RelaxedNmadd | Op::F64x2RelaxedMin | Op::F64x2RelaxedMax
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_arithmetic_makes_nans() {
        let shows = |body: &str| shows_float_bits(&wat::parse_str(format!("(module (func {body}))")).unwrap()).unwrap();
        assert!(shows("(drop (f64.div (f64.const 0) (f64.const 0)))"));
        assert!(!shows("(drop (f64.neg (f64.const nan:0x123)))"));
        assert!(!shows("(drop (i32.add (i32.const 0) (i32.const 0)))"));
    }
}
