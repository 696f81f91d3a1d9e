//! Call sites of the protocol, and which functions reach a draw.

use rayon::prelude::*;
use wasmparser::{FunctionBody, Operator};

use super::Imports;
use crate::survey::{Bodies, Survey};

/// A call of the protocol in the module's code. Its number is its place among all, from 1 on; 0 stands for calls by reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// The function that calls.
    pub function: u32,
    /// Where the call is, an offset in the module.
    pub offset: u32,
    /// The imported function that is called.
    pub callee: u32,
}

/// What is to be known of a module that draws, before its functions are planned.
pub(crate) struct Drawing {
    /// The call sites, in order.
    pub(crate) sites: Vec<Site>,
    /// How many functions are imported.
    imported: u32,
    /// Per function: whether calling it may draw.
    functions: Vec<bool>,
    /// Whether calling something by reference may.
    by_reference: bool,
}

/// What a body has.
#[derive(Default)]
struct Found {
    sites: Vec<(u32, u32)>,
    by_reference: bool,
    callees: Vec<u32>,
    referenced: Vec<u32>,
}

impl Drawing {
    /// Reads all bodies, which need not be valid. `None` if the module does not speak the protocol.
    pub(crate) fn find(survey: &Survey<'_>, bodies: &Bodies<'_>) -> Option<Drawing> {
        let imports = &survey.protocol;
        if imports.is_empty() {
            return None;
        }
        let imported = survey.imported;
        let found: Vec<Found> = bodies.par_iter().map(|(_, body)| find(body, imports).unwrap_or_default()).collect();
        let mut functions = vec![false; survey.names.len()];
        for &(function, body) in imports.all() {
            functions[function as usize] = super::Assembled::get().draws(body);
        }
        let mut referenced = vec![false; survey.names.len()];
        let all = found.iter().flat_map(|found| &found.referenced).chain(&survey.referenced);
        all.for_each(|&function| _ = referenced.get_mut(function as usize).map(|referenced| *referenced = true));
        // Who is called by whom, as pairs (callee, caller) in order.
        let mut callers: Vec<(u32, u32)> = Vec::new();
        for (function, found) in (imported..).zip(&found) {
            callers.extend(found.callees.iter().map(|&callee| (callee, function)));
        }
        callers.sort_unstable();
        let mut todo: Vec<u32> = (0..).zip(&functions).filter(|(_, draws)| **draws).map(|(index, _)| index).collect();
        let mut by_reference = false;
        while let Some(callee) = todo.pop() {
            let first = callers.partition_point(|&(other, _)| other < callee);
            let direct = callers[first..].iter().take_while(|&&(other, _)| other == callee).map(|&(_, caller)| caller);
            let mut all: Vec<u32> = direct.collect();
            if referenced[callee as usize] && !std::mem::replace(&mut by_reference, true) {
                all.extend((imported..).zip(&found).filter(|(_, found)| found.by_reference).map(|(index, _)| index));
            }
            todo.extend(all.into_iter().filter(|&caller| !std::mem::replace(&mut functions[caller as usize], true)));
        }
        let sites = (imported..).zip(&found).flat_map(|(function, found)| {
            found.sites.iter().map(move |&(offset, callee)| Site { function, offset, callee })
        });
        Some(Drawing { sites: sites.collect(), imported, functions, by_reference })
    }

    /// The number of the call site at an offset.
    pub(crate) fn site(&self, offset: u32) -> u32 {
        self.sites.binary_search_by_key(&offset, |site| site.offset).map_or(0, |place| place as u32 + 1)
    }

    /// Whether a call may draw; there is no callee if it is by reference.
    pub(crate) fn draws(&self, callee: Option<u32>) -> bool {
        callee.map_or(self.by_reference, |callee| self.functions.get(callee as usize).is_some_and(|&draws| draws))
    }

    /// Whether a defined function reaches a draw.
    pub(crate) fn reaches(&self, function: u32) -> bool {
        function >= self.imported && self.draws(Some(function))
    }
}

fn find(body: &FunctionBody<'_>, imports: &Imports) -> wasmparser::Result<Found> {
    use Operator as O;
    let mut found = Found::default();
    for operator in body.get_operators_reader()?.into_iter_with_offsets() {
        let (operator, offset) = operator?;
        match operator {
            O::Call { function_index } | O::ReturnCall { function_index } => {
                found.callees.push(function_index);
                if imports.body(function_index).is_some() {
                    found.sites.push((offset as u32, function_index));
                }
            }
            O::RefFunc { function_index } => found.referenced.push(function_index),
            O::CallIndirect { .. } | O::CallRef { .. } | O::ReturnCallIndirect { .. } | O::ReturnCallRef { .. } => {
                found.by_reference = true;
            }
            _ => {}
        }
    }
    found.callees.sort_unstable();
    found.callees.dedup();
    found.callees.shrink_to_fit();
    Ok(found)
}
