//! Which calls may throw: what they reach throws, by the call graph.
//!
//! A frame that an exception leaves breaks the conservation of flow in its function, and nobody notes it. So calls that
//! may throw have an edge for it in the graph. All others' edges are taken away here, so that they cost no counters.

use crate::cfg::FlowKind;
use crate::survey::Survey;

use super::FunctionPlan;

/// What may throw in a function.
#[derive(Default)]
pub(crate) struct Throws {
    /// It has a `throw` or `throw_ref`.
    pub(crate) itself: bool,
    /// Its calls: the callee's index, or `None` for what a table or a reference gives; and for a call that is an end of a
    /// block, the flow of its exceptions.
    pub(crate) calls: Vec<(Option<u32>, Option<u32>)>,
}

/// Finds out which edges for exceptions are real. Imported functions may throw; calls by reference may, if anything does.
/// What a function catches itself is not taken into account: that is on the safe side.
pub(super) fn settle(survey: &Survey<'_>, functions: &mut [FunctionPlan]) {
    if functions.iter().all(|function| function.throws.calls.is_empty()) {
        return;
    }
    let throwing = throwing(survey, functions);
    for function in functions {
        for &(callee, flow) in &function.throws.calls {
            let Some(flow) = flow else { continue };
            if !callee.is_none_or(|callee| throwing.of(callee)) || callee.is_none() && !throwing.any {
                debug_assert_eq!(function.graph.flows[flow as usize].kind, FlowKind::Throw);
                function.graph.flows[flow as usize].kind = FlowKind::Never;
            }
        }
        function.throws.calls = Vec::new();
    }
}

struct Throwing {
    /// Per function index.
    functions: Vec<bool>,
    /// Whether there is one at all.
    any: bool,
}

impl Throwing {
    fn of(&self, function: u32) -> bool {
        self.functions.get(function as usize).copied().unwrap_or(true)
    }
}

fn throwing(survey: &Survey<'_>, functions: &[FunctionPlan]) -> Throwing {
    let imported = survey.names.len() - functions.len();
    let mut throwing = vec![false; survey.names.len()];
    throwing[..imported].fill(true);
    let any = imported > 0 || functions.iter().any(|function| function.throws.itself);
    // Who is called by whom, as pairs (callee, caller) in order.
    let mut callers = Vec::new();
    let mut todo: Vec<u32> = (0..imported as u32).collect();
    for function in functions {
        let by_reference = any && function.throws.calls.iter().any(|(callee, _)| callee.is_none());
        if function.throws.itself || by_reference {
            throwing[function.index as usize] = true;
            todo.push(function.index);
        }
        callers.extend(function.throws.calls.iter().filter_map(|(callee, _)| Some(((*callee)?, function.index))));
    }
    callers.sort_unstable();
    callers.dedup();
    while let Some(callee) = todo.pop() {
        let first = callers.partition_point(|&(other, _)| other < callee);
        for &(_, caller) in callers[first..].iter().take_while(|&&(other, _)| other == callee) {
            if !std::mem::replace(&mut throwing[caller as usize], true) {
                todo.push(caller);
            }
        }
    }
    Throwing { functions: throwing, any }
}
