//! Block types for the blocks that the rewriter adds, and the function types which some of them need.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use wasm_encoder::{BlockType, FuncType};
use wasmparser::ValType;

use crate::module::limits::TYPES_MAX;
use crate::module::survey::Survey;
use crate::module::types::{Signature, encoded};

/// The most parameters and results of all added types together. A `try_table` with parameters needs a type for each
/// combination of these with what it catches, which could be millions of times the size of the module.
const ADDED_VALUES_MAX: usize = 1 << 24;

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
