//! A plan as far as it is made.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use wasmparser::ValType;

use super::function::FunctionPlan;
use crate::module::limits::LOCALS_MAX;
use crate::module::types::Signature;

/// The plan as far as it is made, and what to find in it again.
pub(crate) struct Draft {
    pub(crate) out: FunctionPlan,
    /// The scratch locals that take an operand, by type, and which of them.
    scratch: BTreeMap<(ValType, u32), u32>,
    signatures: BTreeMap<Signature, u32>,
}

impl Draft {
    /// Starts with what is known of a function before it is walked.
    pub(crate) fn new(out: FunctionPlan) -> Draft {
        Draft { out, scratch: BTreeMap::new(), signatures: BTreeMap::new() }
    }

    /// A local that takes an operand of this type for a moment. Those with different numbers are different.
    pub(crate) fn scratch(&mut self, ty: ValType, number: u32) -> Result<u32> {
        if let Some(&known) = self.scratch.get(&(ty, number)) {
            return Ok(known);
        }
        let local = self.local(ty)?;
        self.scratch.insert((ty, number), local);
        Ok(local)
    }

    /// A new local.
    pub(crate) fn local(&mut self, ty: ValType) -> Result<u32> {
        let local = self.out.locals + self.out.scratch.len() as u32;
        ensure!(local < LOCALS_MAX, "needs more than {LOCALS_MAX} locals to be instrumented");
        self.out.scratch.push(ty);
        Ok(local)
    }

    /// The number of a signature for added blocks.
    pub(crate) fn signature(&mut self, signature: Signature) -> u32 {
        *self.signatures.entry(signature).or_insert_with(|| {
            self.out.signatures.push(signature);
            self.out.signatures.len() as u32 - 1
        })
    }
}
