//! Second pass: validates function bodies and decides what is put where, without writing a byte.
//!
//! A body's plan is a list of edits in the order of their offsets. What no edit touches is copied as it is, which is
//! possible because no index changes its meaning: only depths of branches do, where an edit put a block around code
//! that is branched out of.

mod frames;
mod walk;

use anyhow::{Result, ensure};
use wasm_encoder::BlockType;
use wasmparser::{Catch, FuncValidatorAllocations, RefType, ValType};

use crate::edges::{Edge, EdgeKind};
use crate::layout;
use crate::survey::{Bodies, INVALID, Survey};
use crate::types::AddedTypes;

/// Everything that is decided about a module.
pub(crate) struct Plan {
    /// Per defined function, in order.
    pub(crate) functions: Vec<FunctionPlan>,
    /// Function types to append.
    pub(crate) types: AddedTypes,
    /// What each counter counts.
    pub(crate) edges: Vec<Edge>,
    /// Whether some code allocates or changes objects on the collected heap.
    pub(crate) changes_objects: bool,
}

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
    /// The `try_table`s that are wrapped.
    pub(crate) tries: Vec<TryPlan>,
}

/// A change at one operator.
pub(crate) struct Edit {
    /// Where the operator starts, an offset in the module.
    pub(crate) at: u32,
    /// Where the next operator starts.
    pub(crate) end: u32,
    pub(crate) change: Change,
}

/// What is changed. All depths are those in the rewritten body.
pub(crate) enum Change {
    // Inserted before the operator, which stays for the next edit or is copied.
    /// Count and spend fuel: the start of the body.
    Enter { edge: u32, cost: u32 },
    /// Count a branch that is always taken.
    CountBefore { edge: u32 },
    /// Give an `if` its `else` branch, which counts.
    AddElse { edge: u32 },
    /// Count the arm which the index on the stack chooses among `arms`, the default included, at `edge` and following.
    /// The scratch locals take the index and the counter's address.
    CountArm { edge: u32, arms: u32, index: u32, address: u32 },
    /// Count if the test on the reference on the stack says so. The scratch local takes the reference.
    CountIf { edge: u32, local: u32, test: Test },
    /// Set a flag, at this offset of the injected memory.
    Flag { flag: u32 },
    /// Spend fuel for the length on the stack, `2^shift` to the unit. The scratch local takes the length, an `i64` if it
    /// is wide.
    SpendLength { local: u32, wide: bool, shift: u32 },
    /// Have a `memory.atomic.wait` time out at once.
    WaitNoTime,

    // Written instead of the operator.
    /// `br_if` with both ways counted: `edge` is taken, the next one is not.
    BrIf { depth: u32, block_type: BlockType, edge: u32 },
    /// `br` to a new depth.
    Br { depth: u32 },
    /// `br_if` to a new depth, not counted.
    BrIfUncounted { depth: u32 },
    /// `br_table` to new depths, the last of which is the default.
    BrTable { depths: Box<[u32]> },
    /// `br_on_null` to a new depth.
    BrOnNull { depth: u32 },
    /// `br_on_non_null` to a new depth.
    BrOnNonNull { depth: u32 },
    /// `br_on_cast`, or `br_on_cast_fail`, to a new depth.
    BrOnCast { depth: u32, from: RefType, to: RefType, fail: bool },
    /// `try_table` with clauses that go to new depths, not counted.
    TryTable { block_type: wasmparser::BlockType, catches: Box<[Catch]> },
    /// The `try_table` with this number in [`FunctionPlan::tries`], in blocks of its own.
    TryWrapped { number: usize },

    // Inserted after the operator, which is copied unless an edit wrote it.
    /// Spend fuel: the head of a loop.
    SpendAfter { cost: u32 },
    /// Count what comes after.
    CountAfter { edge: u32 },
    /// Close the blocks around a `try_table`, each with its handler.
    Handlers { number: usize },
}

/// When a `br_on_*` branches.
#[derive(Clone, Copy)]
pub(crate) enum Test {
    Null,
    NonNull,
    Is(RefType),
    IsNot(RefType),
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
    /// The type of the block that the exception's values leave.
    pub(crate) block_type: BlockType,
    pub(crate) edge: u32,
    /// Where the clause went, as a depth behind the handler's block.
    pub(crate) depth: u32,
}

/// Plans the whole module, function by function.
pub(crate) fn plan(survey: &Survey<'_>, bodies: Bodies<'_>) -> Result<Plan> {
    let types = AddedTypes::new(survey);
    let mut plan = Plan { functions: Vec::new(), types, edges: Vec::new(), changes_objects: false };
    let mut allocations = FuncValidatorAllocations::default();
    for (function, body) in bodies {
        let index = function.index;
        let mut validator = function.into_validator(allocations);
        let function = walk::walk(survey, &mut plan, &mut validator, &body).map_err(|error| {
            // The validator's message has an offset, which says more than the function.
            let invalid = error.is::<wasmparser::Error>();
            error.context(if invalid {
                INVALID.to_owned()
            } else {
                format!("has function {index}, which can't be rewritten")
            })
        })?;
        plan.functions.push(function);
        allocations = validator.into_allocations();
    }
    Ok(plan)
}

impl Plan {
    /// Adds an edge; its number is its counter's.
    fn edge(&mut self, function: u32, offset: u32, kind: EdgeKind, back: bool) -> Result<u32> {
        let number = self.edges.len() as u32;
        ensure!(number < layout::EDGES_MAX, "would need more than {} counters", layout::EDGES_MAX);
        self.edges.push(Edge { function, offset, kind, back });
        Ok(number)
    }
}

/// Where a clause goes.
fn label(catch: Catch) -> u32 {
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
        assert!(size_of::<Edit>() <= 40, "{}", size_of::<Edit>());
    }
}
