//! What is done to one function.

use anyhow::{Result, ensure};
use wasm_encoder::BlockType;
use wasmparser::{Catch, RefType, ValType};

use crate::added::types::AddedTypes;
use crate::cfg::Parts;
use crate::edge_map::Edge;
use crate::layout;
use crate::module::survey::Survey;
use crate::module::types::Signature;

/// What is done to a function body.
#[derive(Default)]
pub(crate) struct FunctionPlan {
    /// The function's index.
    pub(crate) index: u32,
    /// Where its body starts, with its locals, and where it ends; offsets in the module.
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// How many locals the function has before, parameters included.
    pub(crate) locals: u32,
    /// Types of the locals to append.
    pub(crate) scratch: Vec<ValType>,
    /// Where the first operator is, an offset in the module.
    pub(crate) code_start: u32,
    /// In the order of their offsets.
    pub(crate) edits: Vec<Edit>,
    /// The probes' code, to which edits refer.
    pub(crate) inserted: Vec<u8>,
    /// Where in `inserted` a block's type is to be filled in, as a padded number, and which of `signatures` it has.
    pub(crate) typed_blocks: Vec<(u32, u32)>,
    /// Where in `inserted` there is an `if` whose condition rarely holds.
    pub(crate) unlikely: Vec<u32>,
    /// The `try_table`s that are wrapped.
    pub(crate) tries: Vec<TryPlan>,
    /// The `try_table`s that are not, but have clauses that go to new depths.
    pub(crate) dead_tries: Vec<(wasmparser::BlockType, Box<[Catch]>)>,
    /// The `br_table`s that can be reached, or go to new depths.
    pub(crate) tables: Vec<TablePlan>,
    /// The types that added blocks have.
    pub(crate) signatures: Vec<Signature>,
    /// The same, as they are encoded. Known after all functions were walked.
    pub(crate) block_types: Vec<BlockType>,
    /// The function's graph.
    pub(crate) graph: Parts,
    /// The number of the function's first edge.
    pub(crate) first_edge: u32,
    /// How many edges it has.
    pub(crate) edges: u32,
    /// Whether it allocates or changes objects on the collected heap.
    pub(crate) changes_objects: bool,
}

/// A change at one operator.
pub(crate) struct Edit {
    /// Where the operator starts, an offset in the module.
    pub(crate) at: u32,
    /// Where the next operator starts.
    pub(crate) end: u32,
    pub(crate) change: Change,
}

/// What is changed. All depths are those in the rewritten body; a flow is counted only if it has a counter.
pub(crate) enum Change {
    // Inserted before the operator, which stays for the next edit or is copied.
    /// A part of [`FunctionPlan::inserted`].
    InsertBefore { start: u32, end: u32 },
    /// Count a flow that is always taken from here.
    CountBefore { flow: u32 },
    /// Give an `if` its `else` branch, which counts.
    AddElse { flow: u32 },
    /// Count if the test on the reference on the stack says so. The scratch local takes the reference.
    CountIf { flow: u32, local: u32, test: Test },
    /// Count which operand a `select` gives by the condition on the stack, which the scratch local takes. The second
    /// operand's flow is the next one.
    CountSelect { flow: u32, local: u32 },

    // Written instead of the operator.
    /// `br_if`; `flow` is taken, the next one is not. The signature is that of a block which carries its values.
    BrIf { depth: u32, signature: u32, flow: u32 },
    /// `br` to a new depth.
    Br { depth: u32 },
    /// `br_if` to a new depth, which is never reached.
    BrIfDead { depth: u32 },
    /// The `br_table` with this number in [`FunctionPlan::tables`], which is never reached.
    BrTableDead { number: u32 },
    /// The `br_table` with this number in [`FunctionPlan::tables`].
    BrTable { number: u32 },
    /// `br_on_null` to a new depth.
    BrOnNull { depth: u32 },
    /// `br_on_non_null` to a new depth.
    BrOnNonNull { depth: u32 },
    /// `br_on_cast`, or `br_on_cast_fail`, to a new depth.
    BrOnCast { depth: u32, from: RefType, to: RefType, fail: bool },
    /// The `try_table` with this number in [`FunctionPlan::dead_tries`], which is never reached or has no clauses.
    TryTable { number: u32 },
    /// The `try_table` with this number in [`FunctionPlan::tries`], in blocks of its own.
    TryWrapped { number: u32 },

    /// A part of [`FunctionPlan::inserted`].
    InsertInstead { start: u32, end: u32 },

    // Inserted after the operator, which is copied unless an edit wrote it.
    /// A part of [`FunctionPlan::inserted`].
    InsertAfter { start: u32, end: u32 },
    /// Count what comes after.
    CountAfter { flow: u32 },
    /// Count a block that starts here, to which several flows lead.
    CountBlock { block: u32 },
    /// Close the blocks around a `try_table`, each with its handler.
    Handlers { number: u32 },
}

/// When a `br_on_*` branches.
#[derive(Clone, Copy)]
pub(crate) enum Test {
    Null,
    NonNull,
    Is(RefType),
    IsNot(RefType),
}

/// A `br_table`.
pub(crate) struct TablePlan {
    /// Where each arm goes, the default last.
    pub(crate) depths: Box<[u32]>,
    /// The first arm's flow; the others' follow.
    pub(crate) flow: u32,
    /// Takes the index.
    pub(crate) index: u32,
    /// How arms are counted.
    pub(crate) way: ArmsWay,
}

/// How a `br_table` counts its arms.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArmsWay {
    /// Each arm that has a counter goes to a block of its own, which counts and branches on.
    Blocks,
    /// The counter's address is computed from the index, and kept in this scratch local: all arms have counters or
    /// none.
    Address(u32),
    /// There is one arm.
    Single,
    /// It can't be reached.
    Dead,
}

/// A `try_table` with a block around it for each clause.
pub(crate) struct TryPlan {
    /// Where the operator is, an offset in the module.
    pub(crate) at: u32,
    pub(crate) block_type: wasmparser::BlockType,
    pub(crate) handlers: Vec<Handler>,
}

/// What happens when a clause has caught.
pub(crate) struct Handler {
    pub(crate) catch: Catch,
    /// The type of the block that the exception's values leave, a number in [`FunctionPlan::signatures`].
    pub(crate) signature: u32,
    pub(crate) flow: u32,
    /// The probes' code, a part of [`FunctionPlan::inserted`].
    pub(crate) inserted: (u32, u32),
    /// Where the clause went, as a depth behind the handler's block.
    pub(crate) depth: u32,
}

impl FunctionPlan {
    /// Gives the function's edges their numbers, from `first_edge`, and its added blocks their types.
    pub(crate) fn settle(&mut self, survey: &Survey<'_>, first_edge: u32, types: &mut AddedTypes) -> Result<()> {
        self.first_edge = first_edge;
        let end = first_edge.saturating_add(self.edges);
        ensure!(end <= layout::EDGES_MAX, "would need more than {} counters", layout::EDGES_MAX);
        let signatures = std::mem::take(&mut self.signatures);
        let block_types = signatures.into_iter().map(|signature| types.block_type(survey, signature));
        self.block_types = block_types.collect::<Result<_>>()?;
        Ok(())
    }

    /// What the function's edges are, in their order.
    pub(crate) fn edges(&self) -> impl Iterator<Item = Edge> {
        self.graph.flows.iter().filter_map(|flow| {
            Some(Edge { function: self.index, offset: flow.at, kind: flow.counted()?, back: flow.back() })
        })
    }
}

/// Where a clause goes.
pub(crate) fn label(catch: Catch) -> u32 {
    match catch {
        Catch::One { label, .. } | Catch::OneRef { label, .. } | Catch::All { label } | Catch::AllRef { label } => {
            label
        }
    }
}

/// The same clause, going elsewhere.
pub(crate) fn with_label(catch: Catch, label: u32) -> Catch {
    match catch {
        Catch::One { tag, .. } => Catch::One { tag, label },
        Catch::OneRef { tag, .. } => Catch::OneRef { tag, label },
        Catch::All { .. } => Catch::All { label },
        Catch::AllRef { .. } => Catch::AllRef { label },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_is_small() {
        assert!(size_of::<Edit>() <= 28, "{}", size_of::<Edit>());
    }
}
