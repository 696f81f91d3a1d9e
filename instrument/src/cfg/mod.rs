//! Control-flow graphs: what a function can do next, block by block, and what follows from that.
//!
//! ```wat
//! (func (param i32)         ;; 0 entry ─edge 0─> 2
//!   block $out              ;; 2 ┐
//!     local.get 0           ;;   │
//!     br_if $out            ;;   ┘ ─edge 1─> 5, ─edge 2─> 3
//!     loop $again           ;; 3 ─next─> 4
//!       call $f             ;; 4 ┐
//!       local.get 0         ;;   │
//!       br_if $again        ;;   ┘ ─edge 3─> 4, ─edge 4─> ...
//! ```
//!
//! The passes: `build` makes the graph; `dominators`, `endless`, `loops` and `dependence` are the algorithms, on a bare
//! `graph`; `render` writes JSON and DOT. All of them are iterative and need time about linear in the size of the body,
//! whatever is in it; only lists that are quadratic by nature are made on demand, or limited.

mod build;
mod dependence;
mod dominators;
mod endless;
mod flow;
mod graph;
mod loops;
#[cfg(test)]
mod naive;
mod render;

use crate::module::operators::is_legacy;
use std::ops::Range;

use anyhow::{Context, Result, bail, ensure};
use wasmparser::{
    FuncToValidate, FuncValidator, FuncValidatorAllocations, FunctionBody, Operator, OperatorsReader,
    ValidatorResources,
};

pub use dependence::ControlDependence;
pub use dominators::DominatorTree;
pub use flow::{Block, BlockKind, Flow, FlowKind};
pub use loops::Loops;

use crate::module::features::INVALID;
use crate::module::survey::survey;
pub(crate) use build::{Builder, Calls, PackedFlow, Parts};
use graph::Graph;

/// The control-flow graph of one function, in terms of the original module.
///
/// Blocks are numbers: [`Cfg::ENTRY`], [`Cfg::EXIT`], then the others in code order. Every operator that the rewriter
/// takes for live lies in exactly one block; what comes after `br`, `return`, `unreachable` and the like, up to where a
/// branch leads, lies in none.
///
/// **Edges are the rewriter's.** Every edge of the function in [`EdgeMap`](crate::EdgeMap) is one [`Flow`] here, with
/// its number; what is not counted follows from the counted. So the times that a block was entered are the sum of its
/// edges' counts.
///
/// **Exceptions:** a `try_table` has a block of kind [`BlockKind::Catch`] without code. To it lead all calls and throws
/// directly inside; from it one edge per clause, and one to the next such block outside, or to the exit, unless a
/// clause catches all. A `select` is a branch with two edges to the same block. A call inside a `try_table` ends its
/// block, other calls don't: what passes through this function only is not in the graph, and neither are traps other
/// than `unreachable`. If nothing inside can throw, the clauses' edges are still there, but nothing leads to them: a
/// few blocks may not be reachable from the entry.
///
/// ```
/// # use fuzzbox_instrument::Cfg;
/// let wasm = b"\0asm\x01\0\0\0\x01\x05\x01\x60\x01\x7f\0\x03\x02\x01\0\x0a\x09\x01\x07\0\x20\0\x04\x40\x0b\x0b";
/// let cfg = Cfg::of(wasm, 0)?; // local.get 0, if, end
/// assert_eq!(cfg.blocks().len(), 5);
/// let dominators = cfg.dominators();
/// assert_eq!(dominators.parent(4), Some(2)); // what follows the `if` is dominated by the test, not by the `then` part
/// assert_eq!(cfg.control_dependence().of(3), [2]);
/// # anyhow::Ok(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cfg {
    function: u32,
    name: Option<String>,
    blocks: Vec<Block>,
    flows: Vec<Flow>,
    /// The flows that are counted, in the order of their edges.
    counted: Vec<u32>,
    /// The first counted edge.
    first_edge: u32,
}

impl Cfg {
    /// The block where the function is entered. It has no code, and one edge to the first block that has.
    pub const ENTRY: u32 = flow::ENTRY;
    /// The block where the function is left: by returning, by a tail call, by `unreachable` or by an exception.
    pub const EXIT: u32 = flow::EXIT;

    /// Makes the graph of the function with this index, imported functions included.
    ///
    /// # Errors
    ///
    /// The module is none that can be rewritten, with the message of [`instrument`](crate::instrument), or it doesn't
    /// define the function.
    pub fn of(wasm: &[u8], function: u32) -> Result<Cfg> {
        Cfgs::new(wasm)?.function(function)
    }

    /// The function's index.
    pub fn function(&self) -> u32 {
        self.function
    }

    /// The function's name, as in [`EdgeMap::functions`](crate::EdgeMap::functions).
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// All blocks, by number.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// All edges, in the order of the branches.
    pub fn flows(&self) -> &[Flow] {
        &self.flows
    }

    /// The numbers of the function's edges in [`EdgeMap::edges`](crate::EdgeMap::edges).
    pub fn edges(&self) -> Range<u32> {
        self.first_edge..self.first_edge + self.counted.len() as u32
    }

    /// The edge with this number in the edge map; `None` if it is another function's.
    pub fn flow(&self, edge: u32) -> Option<&Flow> {
        let index = edge.checked_sub(self.first_edge)?;
        Some(&self.flows[*self.counted.get(index as usize)? as usize])
    }

    /// The block that the operator at this offset in the original module lies in.
    pub fn block_at(&self, offset: u32) -> Option<u32> {
        let code = self.blocks.get(2..)?;
        let after = code.partition_point(|block| block.start <= offset);
        let found = code[..after].iter().rposition(|block| block.kind == BlockKind::Code)?;
        (offset < code[found].end).then_some(found as u32 + 2)
    }

    /// Finds dominators. Blocks that can't be reached from the entry are not in the tree.
    pub fn dominators(&self) -> DominatorTree {
        DominatorTree::new(&self.graph(), Cfg::ENTRY)
    }

    /// Finds post-dominators. All blocks are in the tree: for this, the blocks in [`Cfg::endless`] have an edge to the
    /// exit.
    pub fn post_dominators(&self) -> DominatorTree {
        let endless = self.endless().into_iter().map(|head| (head, Cfg::EXIT));
        let edges = self.pairs().chain(endless).collect();
        DominatorTree::new(&Graph::new(self.blocks.len(), edges).reversed(), Cfg::EXIT)
    }

    /// Finds the endless loops that are never left, not even for another such loop: the head of the outermost loop
    /// of each.
    pub fn endless(&self) -> Vec<u32> {
        endless::endless(&self.graph(), Cfg::EXIT)
    }

    /// Prepares for questions about which branches decide whether a block is executed.
    pub fn control_dependence(&self) -> ControlDependence {
        ControlDependence::new(&self.graph(), self.post_dominators())
    }

    /// Finds loops.
    pub fn loops(&self) -> Loops {
        Loops::new(&self.graph(), &self.dominators())
    }

    fn graph(&self) -> Graph {
        Graph::new(self.blocks.len(), self.pairs().collect())
    }

    fn pairs(&self) -> impl Iterator<Item = (u32, u32)> {
        self.flows.iter().map(|flow| (flow.from, flow.to))
    }
}

/// Is shown an operator, where it is, and the block that it belongs to unless it is dead.
pub(crate) type See<'a> = dyn FnMut(&Operator<'_>, u32, Option<u32>, &FuncValidator<ValidatorResources>) + 'a;

/// The graphs of all functions that a module defines, in order, made one at a time.
///
/// It ends after the first error. A body is validated when it is its turn.
pub struct Cfgs<'a> {
    names: Vec<Option<String>>,
    /// Functions that are in tables from the start, or in globals.
    referenced: Vec<u32>,
    bodies: std::vec::IntoIter<(FuncToValidate<ValidatorResources>, FunctionBody<'a>)>,
    allocations: FuncValidatorAllocations,
    /// How many edges the functions before have.
    edges: u32,
}

impl<'a> Cfgs<'a> {
    /// Validates a module up to its function bodies.
    ///
    /// # Errors
    ///
    /// Those of [`instrument`](crate::instrument) as far as it has read then. Functions with legacy exceptions have no
    /// graph here: they have one in the module that [`translate_legacy_exceptions`](crate::translate_legacy_exceptions)
    /// makes.
    pub fn new(wasm: &'a [u8]) -> Result<Cfgs<'a>> {
        let (survey, bodies) = survey(wasm)?;
        let allocations = FuncValidatorAllocations::default();
        let (names, referenced) = (survey.names, survey.referenced);
        Ok(Cfgs { names, referenced, bodies: bodies.into_iter(), allocations, edges: 0 })
    }

    /// Names by function index, as in [`EdgeMap::functions`](crate::EdgeMap::functions).
    pub fn names(&self) -> &[Option<String>] {
        &self.names
    }

    /// Functions that are in tables from the start, or in globals.
    pub(crate) fn referenced(&self) -> &[u32] {
        &self.referenced
    }

    /// The next graph, of which `see` is shown each operator before it is validated.
    pub(crate) fn next_seen(&mut self, see: &mut See<'_>) -> Option<Result<Cfg>> {
        let (function, body) = self.bodies.next()?;
        let cfg = self.build(function, &body, see).context(INVALID);
        if cfg.is_err() {
            self.bodies = Vec::new().into_iter();
        }
        Some(cfg)
    }

    /// Goes on to the function with this index. All bodies are validated.
    ///
    /// # Errors
    ///
    /// A body is not valid, or the function is not among those still to come.
    pub fn function(mut self, function: u32) -> Result<Cfg> {
        let functions = self.names.len();
        let imported = functions - self.bodies.len();
        ensure!((function as usize) < functions, "has {functions} functions, so there is none with index {function}");
        let mut found = None;
        for cfg in &mut self {
            let cfg = cfg?;
            if cfg.function == function {
                found = Some(cfg);
            }
        }
        match found {
            Some(cfg) => Ok(cfg),
            None if (function as usize) < imported => bail!("imports function {function}, so it has no code for it"),
            None => bail!("has function {function} before those that are left"),
        }
    }

    fn build(
        &mut self,
        function: FuncToValidate<ValidatorResources>,
        body: &FunctionBody<'_>,
        see: &mut See<'_>,
    ) -> Result<Cfg> {
        let index = function.index;
        let mut validator = function.into_validator(std::mem::take(&mut self.allocations));
        let mut reader = body.get_binary_reader();
        validator.read_locals(&mut reader)?;
        let mut operators = OperatorsReader::new(reader);
        let start = offset(operators.original_position())?;
        let mut builder = Builder::new(start, offset(body.range().end)?, Calls::Caught);
        while !operators.eof() {
            let at = operators.original_position();
            let operator = operators.read()?;
            see(&operator, offset(at)?, builder.block_now(), &validator);
            validator.op(at, &operator)?;
            if is_legacy(&operator) {
                bail!("has legacy exceptions in function {index}, whose graph is that of the translated module");
            }
            builder.operator(&operator, offset(at)?, offset(operators.original_position())?)?;
        }
        operators.finish()?;
        self.allocations = validator.into_allocations();
        let name = self.names.get(index as usize).cloned().flatten();
        let first_edge = self.edges;
        let parts = builder.finish();
        let flows = parts.flows(first_edge);
        let counted = (0..).zip(&flows).filter(|(_, flow)| flow.edge.is_some()).map(|(index, _)| index).collect();
        let cfg = Cfg { function: index, name, blocks: parts.blocks, flows, counted, first_edge };
        self.edges = cfg.edges().end;
        Ok(cfg)
    }
}

impl Iterator for Cfgs<'_> {
    type Item = Result<Cfg>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_seen(&mut |_, _, _, _| {})
    }
}

fn offset(position: u64) -> Result<u32> {
    u32::try_from(position).context("is too large")
}
