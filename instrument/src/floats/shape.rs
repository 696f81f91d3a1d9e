//! What a value is made of that arithmetic gives, and its canonical NaN.

use wasm_encoder::InstructionSink;
use wasmparser::ValType;

/// What a value is made of that arithmetic gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    F32,
    F64,
    F32x4,
    F64x2,
}

impl Shape {
    pub(crate) const ALL: [Shape; 4] = [Shape::F32, Shape::F64, Shape::F32x4, Shape::F64x2];

    /// A bit for each.
    pub(super) fn bit(self) -> u8 {
        1 << self as u8
    }

    /// The shape that has this bit alone.
    pub(super) fn of_bit(bit: u8) -> Option<Shape> {
        Shape::ALL.into_iter().find(|shape| shape.bit() == bit)
    }

    /// The type of a local that holds it.
    pub(crate) fn ty(self) -> ValType {
        match self {
            Shape::F32 => ValType::F32,
            Shape::F64 => ValType::F64,
            Shape::F32x4 | Shape::F64x2 => ValType::V128,
        }
    }

    /// Makes NaNs in the value on the stack canonical. The local takes it for a moment.
    pub(crate) fn canonical(self, code: &mut InstructionSink<'_>, local: u32) {
        let (narrow, wide) = (u128::from(F32_NAN), u128::from(F64_NAN));
        code.local_tee(local);
        match self {
            Shape::F32 => code.f32_const(f32::from_bits(F32_NAN).into()).local_get(local).local_get(local).f32_eq(),
            Shape::F64 => code.f64_const(f64::from_bits(F64_NAN).into()).local_get(local).local_get(local).f64_eq(),
            Shape::F32x4 => {
                let nans = narrow | narrow << 32 | narrow << 64 | narrow << 96;
                code.v128_const(nans.cast_signed()).local_get(local).local_get(local).f32x4_eq()
            }
            Shape::F64x2 => {
                code.v128_const((wide | wide << 64).cast_signed()).local_get(local).local_get(local).f64x2_eq()
            }
        };
        match self {
            Shape::F32 | Shape::F64 => code.select(),
            Shape::F32x4 | Shape::F64x2 => code.v128_bitselect(),
        };
    }
}

/// The canonical NaNs.
pub(super) const F32_NAN: u32 = 0x7fc0_0000;
pub(super) const F64_NAN: u64 = 0x7ff8_0000_0000_0000;
