//! Types of values and blocks, as they are written in the module and as they are encoded.

use anyhow::{Context, Result};
use wasm_encoder::BlockType;
use wasm_encoder::reencode::{Reencode, RoundtripReencoder};
use wasmparser::{RefType, ValType};

/// Parameters and results.
pub(crate) type Types = (&'static [ValType], &'static [ValType]);

/// A list of value types, by where it is written in the module. Short enough to be a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Values {
    /// None.
    Empty,
    /// A single one.
    One(ValType),
    /// The parameters of a function type.
    Params(u32),
    /// The results of a function type.
    Results(u32),
    /// The parameters of a function type, and a reference to an exception.
    ParamsAndExn(u32),
}

impl Values {
    /// What a block of this type takes from the stack.
    pub(crate) fn params(ty: wasmparser::BlockType) -> Values {
        match ty {
            wasmparser::BlockType::Empty | wasmparser::BlockType::Type(_) => Values::Empty,
            wasmparser::BlockType::FuncType(index) => Values::Params(index),
        }
    }

    /// What a block of this type leaves on the stack.
    pub(crate) fn results(ty: wasmparser::BlockType) -> Values {
        match ty {
            wasmparser::BlockType::Empty => Values::Empty,
            wasmparser::BlockType::Type(ty) => Values::One(ty),
            wasmparser::BlockType::FuncType(index) => Values::Results(index),
        }
    }
}

/// Parameters and results of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Signature {
    pub(crate) params: Values,
    pub(crate) results: Values,
}

/// Converts a block's type as it was written to the encoder's.
pub(crate) fn encoded_block(ty: wasmparser::BlockType) -> Result<BlockType> {
    Ok(match ty {
        wasmparser::BlockType::Empty => BlockType::Empty,
        wasmparser::BlockType::Type(ty) => BlockType::Result(encoded(ty)?),
        wasmparser::BlockType::FuncType(index) => BlockType::FunctionType(index),
    })
}

/// Converts a type as it was written to the encoder's.
pub(crate) fn encoded(ty: ValType) -> Result<wasm_encoder::ValType> {
    RoundtripReencoder.val_type(ty).with_context(|| format!("uses type `{ty}`, which can't be encoded"))
}

/// Converts a reference type as it was written to the encoder's.
pub(crate) fn encoded_ref(ty: RefType) -> Result<wasm_encoder::RefType> {
    RoundtripReencoder.ref_type(ty).with_context(|| format!("uses type `{ty}`, which can't be encoded"))
}
