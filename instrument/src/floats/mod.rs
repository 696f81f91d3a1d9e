//! NaNs that arithmetic makes: their bits are made canonical where they can be seen, and nowhere else.
//!
//! The bits of a NaN that arithmetic gives depend on the order of operands, which a compiler may choose differently for each variant
//! of a module. The rule is that it is the positive quiet NaN without payload, whatever the operands are. An engine that keeps
//! to the rule looks at each result; but nearly all results only go into more arithmetic, comparisons and conversions, for which all
//! NaNs are the same. So the rewriter puts the test where a result is stored, reinterpreted, passed on, or has its sign taken:
//!
//! ```wat
//! local.get $p         local.get $p
//! local.get $x         local.get $x
//! local.get $y         local.get $y
//! f64.mul              f64.mul
//! local.get $z         local.get $z
//! f64.add              f64.add
//!                      local.tee $t
//!                      f64.const nan
//!                      local.get $t
//!                      local.get $t
//!                      f64.eq
//!                      select
//! f64.store            f64.store
//! ```
//!
//! What was loaded, is a constant or came as a parameter keeps its bits, and isn't looked at. `class` says what operators do with
//! NaNs, `flow` follows values through the stack and locals of a function, `places` decides where tests are put.

mod class;
mod flow;
mod places;

pub(crate) use flow::{Flow, Taken};

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
    fn bit(self) -> u8 {
        1 << self as u8
    }

    /// The shape that has this bit alone.
    fn of_bit(bit: u8) -> Option<Shape> {
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
const F32_NAN: u32 = 0x7fc0_0000;
const F64_NAN: u64 = 0x7ff8_0000_0000_0000;
