//! Block types for the blocks that the rewriter adds, and the function types which some of them need.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use wasm_encoder::reencode::{Reencode, RoundtripReencoder};
use wasm_encoder::{BlockType, FuncType};
use wasmparser::{HeapType, RefType, UnpackedIndex, ValType};

use crate::survey::Survey;

/// The most types a module may have (a limit of all engines).
const TYPES_MAX: usize = 1_000_000;

/// The most parameters and results of all added types together. A `try_table` with parameters needs a type for each
/// combination of these with what it catches, which could be millions of times the size of the module.
const ADDED_VALUES_MAX: usize = 1 << 24;

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

/// The types that are appended to the module's, each a plain function type, no two alike.
pub(crate) struct AddedTypes {
    /// Index of the first.
    base: u32,
    types: Vec<FuncType>,
    by_signature: BTreeMap<Signature, BlockType>,
    by_values: BTreeMap<(Vec<ValType>, Vec<ValType>), u32>,
    values: usize,
}

impl AddedTypes {
    pub(crate) fn new(survey: &Survey<'_>) -> AddedTypes {
        AddedTypes {
            base: u32::try_from(survey.types.len()).expect("the validator limits types"),
            types: Vec::new(),
            by_signature: BTreeMap::new(),
            by_values: BTreeMap::new(),
            values: 0,
        }
    }

    /// The index of a function type with these parameters and results, which is added unless it was.
    pub(crate) fn plain(&mut self, params: &[ValType], results: &[ValType]) -> Result<u32> {
        self.function_type(params.to_vec(), results.to_vec())
    }

    /// The types in the order of their indices.
    pub(crate) fn as_slice(&self) -> &[FuncType] {
        &self.types
    }

    /// A block type with these parameters and results, with a new function type if there is no shorter way.
    pub(crate) fn block_type(&mut self, survey: &Survey<'_>, signature: Signature) -> Result<BlockType> {
        if let Some(&known) = self.by_signature.get(&signature) {
            return Ok(known);
        }
        let params = survey.values(signature.params)?;
        let results = survey.values(signature.results)?;
        let block_type = match (&params[..], &results[..]) {
            ([], []) => BlockType::Empty,
            ([], [result]) => BlockType::Result(encoded(*result)?),
            _ => BlockType::FunctionType(self.function_type(params, results)?),
        };
        self.by_signature.insert(signature, block_type);
        Ok(block_type)
    }

    fn function_type(&mut self, params: Vec<ValType>, results: Vec<ValType>) -> Result<u32> {
        let key = (params, results);
        if let Some(&known) = self.by_values.get(&key) {
            return Ok(known);
        }
        let index = self.base + self.types.len() as u32;
        self.values += key.0.len() + key.1.len();
        ensure!((index as usize) < TYPES_MAX, "needs more than {TYPES_MAX} types when it is rewritten");
        ensure!(self.values <= ADDED_VALUES_MAX, "needs too many types of blocks when it is rewritten");
        let encode = |types: &[ValType]| types.iter().map(|&ty| encoded(ty)).collect::<Result<Vec<_>>>();
        self.types.push(FuncType::new(encode(&key.0)?, encode(&key.1)?));
        self.by_values.insert(key, index);
        Ok(index)
    }
}

impl Survey<'_> {
    /// The value types that `values` stands for, as they were written.
    pub(crate) fn values(&self, values: Values) -> Result<Vec<ValType>> {
        let function = |index: u32| {
            let ty = self.types.get(index as usize).and_then(Option::as_ref);
            ty.with_context(|| format!("uses type {index} as a block's, which is not a function type"))
        };
        Ok(match values {
            Values::Empty => vec![],
            Values::One(ty) => vec![ty],
            Values::Params(index) => function(index)?.params().to_vec(),
            Values::Results(index) => function(index)?.results().to_vec(),
            Values::ParamsAndExn(index) => [function(index)?.params(), &[ValType::EXNREF]].concat(),
        })
    }

    /// Whether `values` stands for no types at all.
    pub(crate) fn is_empty(&self, values: Values) -> bool {
        let function = |index: u32| self.types.get(index as usize).and_then(Option::as_ref);
        match values {
            Values::Empty => true,
            Values::One(_) | Values::ParamsAndExn(_) => false,
            Values::Params(index) => function(index).is_some_and(|ty| ty.params().is_empty()),
            Values::Results(index) => function(index).is_some_and(|ty| ty.results().is_empty()),
        }
    }

    /// A type as the module would write it, for one that the validator gave: it has its own numbers for types.
    pub(crate) fn written(&self, ty: RefType) -> Result<RefType> {
        let HeapType::Concrete(UnpackedIndex::Id(id)) = ty.heap_type() else { return Ok(ty) };
        let index = *self.type_indices.get(&id).context("uses a type that it doesn't define")?;
        RefType::new(ty.is_nullable(), HeapType::Concrete(UnpackedIndex::Module(index)))
            .with_context(|| format!("has a reference to type {index}, beyond what can be encoded"))
    }
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
