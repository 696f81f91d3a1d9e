//! Operators of recipes as instructions, constants, and types in words.

use crate::module::types::encoded;
use crate::recipe::syntax::{Binary, Unary};
use wasm_encoder::{Function, Instruction as I};
use wasmparser::{FuncType, ValType};

/// The instruction of a binary operator on numbers of a type; `None` if it has none.
pub(super) fn binary(operator: Binary, ty: ValType) -> Option<I<'static>> {
    use Binary::{
        Add, And, Divide, Equal, Greater, GreaterOrEqual, Less, LessOrEqual, Multiply, NotEqual, Or, Remainder,
        ShiftLeft, ShiftRight, Subtract, Xor,
    };
    Some(match (ty, operator) {
        (ValType::I32, Multiply) => I::I32Mul,
        (ValType::I32, Divide) => I::I32DivS,
        (ValType::I32, Remainder) => I::I32RemS,
        (ValType::I32, Add) => I::I32Add,
        (ValType::I32, Subtract) => I::I32Sub,
        (ValType::I32, ShiftLeft) => I::I32Shl,
        (ValType::I32, ShiftRight) => I::I32ShrU,
        (ValType::I32, Less) => I::I32LtS,
        (ValType::I32, LessOrEqual) => I::I32LeS,
        (ValType::I32, Greater) => I::I32GtS,
        (ValType::I32, GreaterOrEqual) => I::I32GeS,
        (ValType::I32, Equal) => I::I32Eq,
        (ValType::I32, NotEqual) => I::I32Ne,
        (ValType::I32, And) => I::I32And,
        (ValType::I32, Xor) => I::I32Xor,
        (ValType::I32, Or) => I::I32Or,
        (ValType::I64, Multiply) => I::I64Mul,
        (ValType::I64, Divide) => I::I64DivS,
        (ValType::I64, Remainder) => I::I64RemS,
        (ValType::I64, Add) => I::I64Add,
        (ValType::I64, Subtract) => I::I64Sub,
        (ValType::I64, ShiftLeft) => I::I64Shl,
        (ValType::I64, ShiftRight) => I::I64ShrU,
        (ValType::I64, Less) => I::I64LtS,
        (ValType::I64, LessOrEqual) => I::I64LeS,
        (ValType::I64, Greater) => I::I64GtS,
        (ValType::I64, GreaterOrEqual) => I::I64GeS,
        (ValType::I64, Equal) => I::I64Eq,
        (ValType::I64, NotEqual) => I::I64Ne,
        (ValType::I64, And) => I::I64And,
        (ValType::I64, Xor) => I::I64Xor,
        (ValType::I64, Or) => I::I64Or,
        (ValType::F32, _) => return float32(operator),
        (ValType::F64, _) => return float64(operator),
        _ => return None,
    })
}

fn float32(operator: Binary) -> Option<I<'static>> {
    Some(match operator {
        Binary::Multiply => I::F32Mul,
        Binary::Divide => I::F32Div,
        Binary::Add => I::F32Add,
        Binary::Subtract => I::F32Sub,
        Binary::Less => I::F32Lt,
        Binary::LessOrEqual => I::F32Le,
        Binary::Greater => I::F32Gt,
        Binary::GreaterOrEqual => I::F32Ge,
        Binary::Equal => I::F32Eq,
        Binary::NotEqual => I::F32Ne,
        _ => return None,
    })
}

fn float64(operator: Binary) -> Option<I<'static>> {
    Some(match operator {
        Binary::Multiply => I::F64Mul,
        Binary::Divide => I::F64Div,
        Binary::Add => I::F64Add,
        Binary::Subtract => I::F64Sub,
        Binary::Less => I::F64Lt,
        Binary::LessOrEqual => I::F64Le,
        Binary::Greater => I::F64Gt,
        Binary::GreaterOrEqual => I::F64Ge,
        Binary::Equal => I::F64Eq,
        Binary::NotEqual => I::F64Ne,
        _ => return None,
    })
}

/// The instructions before and behind the operand of a unary operator; `None` if it has none for numbers of the type.
pub(super) fn unary(operator: Unary, ty: ValType) -> Option<(Option<I<'static>>, Vec<I<'static>>)> {
    Some(match (ty, operator) {
        (ValType::I32, Unary::Negate) => (Some(I::I32Const(0)), vec![I::I32Sub]),
        (ValType::I64, Unary::Negate) => (Some(I::I64Const(0)), vec![I::I64Sub]),
        (ValType::F32, Unary::Negate) => (None, vec![I::F32Neg]),
        (ValType::F64, Unary::Negate) => (None, vec![I::F64Neg]),
        (ValType::I32, Unary::Not) => (None, vec![I::I32Eqz]),
        (ValType::I64, Unary::Not) => (None, vec![I::I64Eqz]),
        (ValType::I32, Unary::Complement) => (None, vec![I::I32Const(-1), I::I32Xor]),
        (ValType::I64, Unary::Complement) => (None, vec![I::I64Const(-1), I::I64Xor]),
        _ => return None,
    })
}

/// The instructions that make a number one of another type; `None` if there are none. Integers grow by zeros, as
/// lengths and addresses do; to floats they go with their sign.
pub(super) fn convert(from: ValType, to: ValType) -> Option<Option<I<'static>>> {
    Some(Some(match (from, to) {
        (ValType::I32, ValType::I32)
        | (ValType::I64, ValType::I64)
        | (ValType::F32, ValType::F32)
        | (ValType::F64, ValType::F64) => return Some(None),
        (ValType::I64, ValType::I32) => I::I32WrapI64,
        (ValType::F32, ValType::I32) => I::I32TruncSatF32S,
        (ValType::F64, ValType::I32) => I::I32TruncSatF64S,
        (ValType::I32, ValType::I64) => I::I64ExtendI32U,
        (ValType::F32, ValType::I64) => I::I64TruncSatF32S,
        (ValType::F64, ValType::I64) => I::I64TruncSatF64S,
        (ValType::I32, ValType::F32) => I::F32ConvertI32S,
        (ValType::I64, ValType::F32) => I::F32ConvertI64S,
        (ValType::F64, ValType::F32) => I::F32DemoteF64,
        (ValType::I32, ValType::F64) => I::F64ConvertI32S,
        (ValType::I64, ValType::F64) => I::F64ConvertI64S,
        (ValType::F32, ValType::F64) => I::F64PromoteF32,
        _ => return None,
    }))
}

/// Whether a variable of the type has a value before it is given one.
pub(super) fn is_defaultable(ty: ValType) -> bool {
    !matches!(ty, ValType::Ref(ty) if !ty.is_nullable())
}

/// An integer as a constant of a type, if it is one, with or without a sign.
pub(super) fn constant(value: i128, ty: ValType) -> Option<I<'static>> {
    let fits = |bits: u32| value >= -(1_i128 << (bits - 1)) && value < 1_i128 << bits;
    Some(match ty {
        ValType::I32 if fits(32) => I::I32Const(value as i32),
        ValType::I64 if fits(64) => I::I64Const(value as i64),
        ValType::F32 => I::F32Const((value as f32).into()),
        ValType::F64 => I::F64Const((value as f64).into()),
        // Nothing is the only reference that can be written.
        ValType::Ref(ty) if value == 0 && ty.is_nullable() => {
            let ty = crate::module::types::encoded_ref(ty).ok()?;
            I::RefNull(ty.heap_type)
        }
        _ => return None,
    })
}

/// A function type as a person writes it.
pub(super) fn signature(ty: &FuncType) -> String {
    let list = |types: &[ValType]| types.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    match ty.results() {
        [] => format!("({})", list(ty.params())),
        [result] => format!("({}) -> {result}", list(ty.params())),
        results => format!("({}) -> ({})", list(ty.params()), list(results)),
    }
}

/// A function with locals and their names; the name of one whose type can't be encoded.
pub(super) fn function(locals: &[(String, ValType)], code: &[I<'static>]) -> Result<Function, String> {
    let encoded = |(name, ty): &(String, ValType)| encoded(*ty).map(|ty| (1, ty)).map_err(|_| name.clone());
    let mut body = Function::new(locals.iter().map(encoded).collect::<Result<Vec<_>, _>>()?);
    code.iter().for_each(|instruction| _ = body.instruction(instruction));
    Ok(body)
}

/// Where the input's address is; its length is the next.
#[derive(Clone, Copy)]
pub(super) enum Place {
    Local(u32),
    Global(u32),
}

impl Place {
    /// Loads the address, or what is so far behind it.
    pub(super) fn get(self, offset: u32) -> I<'static> {
        match self {
            Self::Local(index) => I::LocalGet(index + offset),
            Self::Global(index) => I::GlobalGet(index + offset),
        }
    }
}
