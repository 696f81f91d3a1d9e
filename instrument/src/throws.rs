//! Which functions may throw: what they reach throws, by the call graph.
//!
//! A frame that an exception leaves breaks the conservation of flow in its function, and nobody notes it. So calls that
//! may throw end a block and have an edge for it; all others don't, so that they cost no counters.

use rayon::prelude::*;
use wasmparser::{FunctionBody, Operator};

use crate::survey::{Bodies, Survey};

/// Which functions may throw.
///
/// Imported functions may, and what is called by reference, if anything in the module does. What a function catches
/// itself is not taken into account: that is on the safe side.
pub(crate) struct Throwing {
    /// Per function index.
    functions: Vec<bool>,
    /// Whether there is one at all.
    any: bool,
}

/// What a body has that may throw.
#[derive(Default)]
struct Throws {
    itself: bool,
    by_reference: bool,
    /// Whom it calls, in order.
    callees: Vec<u32>,
}

impl Throwing {
    /// Reads all bodies, which need not be valid. `None` for a module without tags: it has nothing to throw.
    pub(crate) fn find(survey: &Survey<'_>, bodies: &Bodies<'_>) -> Option<Throwing> {
        if survey.tags.is_empty() {
            return None;
        }
        let imported = survey.imported as usize;
        let throws: Vec<Throws> = bodies.par_iter().map(|(_, body)| throws(body).unwrap_or_default()).collect();
        let any = imported > 0 || throws.iter().any(|throws| throws.itself);
        let mut functions = vec![false; survey.names.len()];
        // Who is called by whom, as pairs (callee, caller) in order.
        let mut callers = Vec::new();
        for (function, throws) in (imported as u32..).zip(&throws) {
            functions[function as usize] = throws.itself || any && throws.by_reference;
            callers.extend(throws.callees.iter().map(|&callee| (callee, function)));
        }
        functions[..imported].fill(true);
        callers.sort_unstable();
        let mut todo: Vec<u32> = (0..).zip(&functions).filter(|(_, throws)| **throws).map(|(index, _)| index).collect();
        while let Some(callee) = todo.pop() {
            let first = callers.partition_point(|&(other, _)| other < callee);
            for &(_, caller) in callers[first..].iter().take_while(|&&(other, _)| other == callee) {
                if !std::mem::replace(&mut functions[caller as usize], true) {
                    todo.push(caller);
                }
            }
        }
        Some(Throwing { functions, any })
    }

    /// Whether a call may throw; there is no callee if it is by reference.
    pub(crate) fn may_throw(&self, callee: Option<u32>) -> bool {
        callee.map_or(self.any, |callee| self.functions.get(callee as usize).copied().unwrap_or(true))
    }
}

fn throws(body: &FunctionBody<'_>) -> wasmparser::Result<Throws> {
    use Operator as O;
    let mut throws = Throws::default();
    for operator in body.get_operators_reader()? {
        match operator? {
            O::Throw { .. } | O::ThrowRef => throws.itself = true,
            O::Call { function_index } | O::ReturnCall { function_index } => throws.callees.push(function_index),
            O::CallIndirect { .. } | O::CallRef { .. } | O::ReturnCallIndirect { .. } | O::ReturnCallRef { .. } => {
                throws.by_reference = true;
            }
            _ => {}
        }
    }
    throws.callees.sort_unstable();
    throws.callees.dedup();
    throws.callees.shrink_to_fit();
    Ok(throws)
}
