//! What the calls of one body are.

use wasmparser::{FunctionBody, Operator};

use crate::module::survey::Survey;

/// What a body calls, and what else a call of it may lead to.
#[derive(Default)]
pub(super) struct BodyCalls {
    /// Whom it calls by name, each once, in order.
    pub(super) callees: Vec<u32>,
    /// Whether it calls by reference.
    pub(super) by_reference: bool,
    /// Whether it throws.
    pub(super) throws: bool,
    /// Whether it has a `try_table` with something to catch.
    pub(super) catches: bool,
    /// Functions that it makes references to.
    pub(super) referenced: Vec<u32>,
    /// Calls of the guest protocol: where they are, offsets in the module, and whom they call.
    pub(super) sites: Vec<(u32, u32)>,
}

impl BodyCalls {
    /// Reads a body, which need not be valid.
    pub(super) fn read(body: &FunctionBody<'_>, survey: &Survey<'_>) -> wasmparser::Result<BodyCalls> {
        use Operator as O;
        let mut calls = BodyCalls::default();
        for operator in body.get_operators_reader()?.into_iter_with_offsets() {
            let (operator, offset) = operator?;
            match operator {
                O::Call { function_index } | O::ReturnCall { function_index } => {
                    calls.callees.push(function_index);
                    if survey.protocol.body(function_index).is_some() {
                        calls.sites.push((offset as u32, function_index));
                    }
                }
                O::CallIndirect { .. } | O::CallRef { .. } | O::ReturnCallIndirect { .. } | O::ReturnCallRef { .. } => {
                    calls.by_reference = true;
                }
                O::RefFunc { function_index } => calls.referenced.push(function_index),
                O::Throw { .. } | O::ThrowRef => calls.throws = true,
                O::TryTable { try_table } => calls.catches |= !try_table.catches.is_empty(),
                _ => {}
            }
        }
        calls.callees.sort_unstable();
        calls.callees.dedup();
        calls.callees.shrink_to_fit();
        Ok(calls)
    }
}
