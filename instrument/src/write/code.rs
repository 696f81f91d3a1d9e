//! The code section, as far as it is written.

use anyhow::{Context, Result};
use rayon::prelude::*;
use wasm_encoder::{BranchHint, BranchHints, Encode, Section as _, SectionId};

use super::body::{self, Written};
use crate::counters::{CounterNumbers, Placement, profile};
use crate::module::survey::Survey;
use crate::offsets::OffsetMap;
use crate::options::Options;
use crate::plan::FunctionPlan;

/// The content of the code section, as far as it is written.
pub(crate) struct CodeSection {
    /// How many functions it will have.
    pub(super) functions: u32,
    /// Its parts, in order. They are put together only in the module: all of it at once is large enough.
    parts: Vec<Vec<u8>>,
    pub(super) len: usize,
    /// Runs from its start.
    offsets: OffsetMap,
    /// Where branches mostly go.
    hints: BranchHints,
}

impl CodeSection {
    pub(crate) fn new(functions: u32) -> CodeSection {
        let mut count = Vec::new();
        functions.encode(&mut count);
        CodeSection {
            functions,
            len: count.len(),
            parts: vec![count],
            offsets: OffsetMap::default(),
            hints: BranchHints::new(),
        }
    }

    /// Writes the next functions, in parallel, and forgets their plans. `numbers` has those of each one's
    /// counters.
    pub(crate) fn write(
        &mut self,
        survey: &Survey<'_>,
        plans: Vec<FunctionPlan>,
        placements: &[Placement],
        (numbers, options): (&[CounterNumbers], &Options),
    ) -> Result<()> {
        let jobs: Vec<_> = plans.into_iter().zip(placements).zip(numbers).collect();
        let write = |((function, placement), &numbers): ((FunctionPlan, &Placement), &CounterNumbers)| {
            let refused = || format!("has function {}, which can't be rewritten", function.index);
            let numbers = (numbers, profile(&function, options));
            body::body(survey.wasm, &function, placement, numbers, survey.memories).with_context(refused)
        };
        let functions: Vec<u32> = jobs.iter().map(|((function, _), _)| function.index).collect();
        let written: Vec<Result<Written>> = jobs.into_par_iter().map(write).collect();
        // The first error in the module is the one to tell.
        let written = written.into_iter().collect::<Result<Vec<_>>>()?;
        let mut part = Vec::with_capacity(written.iter().map(|body| body.bytes.len() + LEB_BYTES_MAX).sum());
        let place = |part: &Vec<u8>| u32::try_from(self.len + part.len()).context(TOO_LARGE);
        for (function, Written { bytes, offsets, hints }) in functions.into_iter().zip(written) {
            bytes.len().encode(&mut part);
            self.offsets.append(offsets, place(&part)?);
            part.extend_from_slice(&bytes);
            if !hints.is_empty() {
                let hint = |(branch_func_offset, holds): (u32, bool)| BranchHint {
                    branch_func_offset,
                    branch_hint_value: holds.into(),
                };
                self.hints.function_hints(function, hints.into_iter().map(hint));
            }
            self.offsets.outside(place(&part)?);
        }
        self.add(part);
        Ok(())
    }

    /// Adds what isn't from the module.
    pub(super) fn add(&mut self, mut part: Vec<u8>) {
        part.shrink_to_fit();
        self.len += part.len();
        self.parts.push(part);
    }

    /// Writes the section into the module, behind what is to be known of its branches.
    pub(super) fn append_to(self, wasm: &mut Vec<u8>) -> Result<OffsetMap> {
        if !self.hints.is_empty() {
            self.hints.append_to(wasm);
        }
        wasm.push(SectionId::Code.into());
        self.len.encode(wasm);
        let start = u32::try_from(wasm.len()).context(TOO_LARGE)?;
        for part in self.parts {
            wasm.extend_from_slice(&part);
        }
        self.offsets.moved(start).context(TOO_LARGE)
    }
}

/// The longest that the size of a body may be.
const LEB_BYTES_MAX: usize = 5;

pub(super) const TOO_LARGE: &str = "has more than 4 GiB when it is rewritten";
