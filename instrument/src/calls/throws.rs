//! Which functions may throw: what they reach throws, by the call graph.
//!
//! A frame that an exception leaves breaks the conservation of flow in its function, and nobody notes it. So calls that
//! may throw end a block and have an edge for it; all others don't, so that they cost no counters.

use super::bodies::BodyCalls;
use super::callers::Callers;
use crate::module::survey::Survey;

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

impl Throwing {
    /// For a module with tags.
    pub(super) fn new(survey: &Survey<'_>, calls: &[BodyCalls]) -> Throwing {
        let imported = survey.imported as usize;
        let any = imported > 0 || calls.iter().any(|calls| calls.throws);
        let mut functions = vec![false; survey.names.len()];
        for (function, calls) in functions[imported..].iter_mut().zip(calls) {
            *function = calls.throws || any && calls.by_reference;
        }
        functions[..imported].fill(true);
        let callers = Callers::new(survey, calls);
        let mut todo: Vec<u32> = (0..).zip(&functions).filter(|(_, throws)| **throws).map(|(index, _)| index).collect();
        while let Some(callee) = todo.pop() {
            let new = |&caller: &u32| !std::mem::replace(&mut functions[caller as usize], true);
            todo.extend(callers.of(callee).filter(new));
        }
        Throwing { functions, any }
    }

    /// Whether a call may throw; there is no callee if it is by reference.
    pub(crate) fn may_throw(&self, callee: Option<u32>) -> bool {
        callee.map_or(self.any, |callee| self.functions.get(callee as usize).copied().unwrap_or(true))
    }
}
