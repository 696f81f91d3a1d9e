//! Which calls can be part of a recursion.

use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};

use super::bodies::BodyCalls;
use crate::module::survey::Survey;

/// The recursions of a module, as far as calls that name their callee say.
///
/// A compiler that puts a callee's code in the place of a call can't do so for all calls of such a recursion, and the
/// one that is used with this crate (wasmtime's, which goes from callees to callers) does it for none. So each has a
/// frame of its own, and so has each call by reference.
pub(crate) struct Recursion {
    /// Per function index: the number of the strongly connected component of the call graph that it is in; [`NONE`] if
    /// it can't be part of a recursion.
    components: Box<[u32]>,
    /// How many functions are imported.
    imported: u32,
    /// Per defined function: whether it catches exceptions.
    catches: Box<[bool]>,
}

const NONE: u32 = u32::MAX;

impl Recursion {
    /// Calls that can't be reached are calls as well.
    pub(super) fn new(survey: &Survey<'_>, calls: &[BodyCalls]) -> Recursion {
        let functions = survey.names.len();
        let edges = (survey.imported..).zip(calls).flat_map(|(caller, calls)| {
            let known = calls.callees.iter().filter(|&&callee| (callee as usize) < functions);
            known.map(move |&callee| (caller, callee))
        });
        let mut graph =
            DiGraph::<(), (), u32>::with_capacity(functions, calls.iter().map(|calls| calls.callees.len()).sum());
        (0..functions).for_each(|_| _ = graph.add_node(()));
        graph.extend_with_edges(edges);
        let calls_itself = |function: NodeIndex| graph.contains_edge(function, function);
        let mut components = vec![NONE; functions];
        for (number, component) in (0..).zip(kosaraju_scc(&graph)) {
            if component.len() > 1 || component.iter().any(|&function| calls_itself(function)) {
                component.iter().for_each(|function| components[function.index()] = number);
            }
        }
        let catches = calls.iter().map(|calls| calls.catches).collect();
        Recursion { components: components.into(), imported: survey.imported, catches }
    }

    /// Whether a function catches exceptions: then calls that it made may have ended without a return.
    pub(crate) fn catches(&self, function: u32) -> bool {
        let defined = function.checked_sub(self.imported);
        defined.is_some_and(|defined| self.catches.get(defined as usize).copied().unwrap_or(false))
    }

    /// Whether a call may be part of a recursion; there is no callee if it is by reference.
    pub(crate) fn has(&self, caller: u32, callee: Option<u32>) -> bool {
        let component = |function: u32| self.components.get(function as usize).copied().unwrap_or(NONE);
        callee.is_none_or(|callee| component(caller) != NONE && component(caller) == component(callee))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::survey::survey;

    fn recursion(text: &str) -> Recursion {
        let wasm = wat::parse_str(text).unwrap();
        let (survey, bodies) = survey(&wasm).unwrap();
        let calls: Vec<_> = bodies.iter().map(|(_, body)| BodyCalls::read(body, &survey).unwrap()).collect();
        Recursion::new(&survey, &calls)
    }

    #[test]
    fn calls_between_functions_that_reach_each_other_are_part_of_a_recursion() {
        let found = recursion(
            "(module
                (import \"\" \"\" (func $import))
                (func $alone (call $import))
                (func $itself (call $itself) (call $alone))
                (func $odd (call $even))
                (func $even (return_call $odd))
                (func $first (call $itself) (call $odd)))",
        );
        let has: Vec<(u32, u32)> = (0..6)
            .flat_map(|caller| (0..6).map(move |callee| (caller, callee)))
            .filter(|&(caller, callee)| found.has(caller, Some(callee)))
            .collect();
        assert_eq!(has, [(2, 2), (3, 3), (3, 4), (4, 3), (4, 4)]);
        assert!((0..6).all(|caller| found.has(caller, None)), "nobody knows where a reference leads");
        assert!(!found.has(2, Some(100)));
    }

    #[test]
    fn a_long_chain_of_calls_overflows_no_stack() {
        let chain: String = (1..100_000).map(|callee| format!("(func (call {callee}))")).collect();
        let found = recursion(&format!("(module {chain} (func (call 0)))"));
        assert!(found.has(7, Some(8)) && found.has(99_999, Some(0)));
    }
}
