//! A program: the graphs of its functions, who calls whom, and which edges enter which blocks.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
use wasmparser::{ModuleArity, Operator, ValType};

use super::NONE;
use super::decisions::{Decision, Decisions};
use crate::cfg::{BlockKind, Cfg, Cfgs, FlowKind};

/// More blocks than this are not looked at: distances to some place would take hundreds of megabytes.
const BLOCKS_MAX: usize = 1 << 24;

/// A module's functions, as graphs.
///
/// Blocks have numbers through all functions, one function behind the other; block `b` of the [`Cfg`] of function `f`
/// is [`Program::block`]`(f, b)`.
pub struct Program {
    pub(super) imported: u32,
    /// Those that the module defines.
    pub(super) functions: Vec<Function>,
    /// The first block of each, and how many there are.
    pub(super) starts: Vec<u32>,
    /// Per function index: who calls it.
    pub(super) callers: Vec<Vec<Caller>>,
    /// Per function index: the kind of calls by reference that may call it.
    pub(super) kinds: Vec<Option<u32>>,
    /// Per kind: where such calls are.
    pub(super) by_reference: Vec<Vec<Caller>>,
    /// Per kind: whom they may call.
    pub(super) of_kind: Vec<Vec<u32>>,
    /// Per edge: the block that it leads to.
    edges: Vec<u32>,
    /// Per block: the one that always follows, without an edge that is counted.
    next: Vec<u32>,
}

/// A function with what its blocks do.
pub(super) struct Function {
    pub(super) cfg: Cfg,
    /// What its blocks decide by.
    decisions: BTreeMap<u32, Decision>,
    /// Whom its blocks call.
    pub(super) calls: Vec<(u32, Callee)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Callee {
    /// The function with this index.
    Function(u32),
    /// One of a kind.
    Kind(u32),
}

/// A block that calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Caller {
    pub(super) function: u32,
    pub(super) block: u32,
}

/// A place that is to be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Goal {
    /// A block, by its number in the program.
    Block(u32),
    /// An edge, by its number in [`EdgeMap::edges`](crate::EdgeMap::edges).
    Edge(u32),
}

/// What calls of all functions are told apart by.
#[derive(Default)]
struct Kinds(BTreeMap<(Vec<ValType>, Vec<ValType>), u32>);

impl Program {
    /// Reads a module.
    ///
    /// # Errors
    ///
    /// Those of [`Cfg::of`]; or it has more blocks than can be looked at.
    pub fn of(wasm: &[u8]) -> Result<Program> {
        let mut cfgs = Cfgs::new(wasm)?;
        let count = cfgs.names().len();
        let mut kinds = Kinds::default();
        let mut referenced: Vec<u32> = cfgs.referenced().to_vec();
        let (mut functions, mut starts) = (Vec::new(), vec![0_u32]);
        let mut types = None;
        loop {
            let (mut decisions, mut calls) = (Decisions::default(), Vec::new());
            let cfg = cfgs.next_seen(&mut |operator, at, block, validator| {
                decisions.operator(operator, at, block, validator);
                let callee = match *operator {
                    Operator::Call { function_index } | Operator::ReturnCall { function_index } => {
                        Some(Callee::Function(function_index))
                    }
                    Operator::CallIndirect { type_index, .. }
                    | Operator::ReturnCallIndirect { type_index, .. }
                    | Operator::CallRef { type_index }
                    | Operator::ReturnCallRef { type_index } => kinds.of(validator, type_index).map(Callee::Kind),
                    Operator::RefFunc { function_index } => {
                        referenced.push(function_index);
                        None
                    }
                    _ => None,
                };
                calls.extend(block.zip(callee));
                types.get_or_insert_with(|| -> Vec<Option<u32>> {
                    let kind = |function| kinds.of(validator, validator.type_index_of_function(function)?);
                    (0..count as u32).map(kind).collect()
                });
            });
            let Some(cfg) = cfg else { break };
            let cfg = cfg?;
            calls.dedup();
            let end = starts.last().map_or(0, |start| *start as usize) + cfg.blocks().len();
            ensure!(end <= BLOCKS_MAX, "has more than {BLOCKS_MAX} blocks, too many to find ways through them");
            starts.push(u32::try_from(end).context("is too large")?);
            functions.push(Function { cfg, decisions: decisions.found, calls });
        }
        let imported = (count - functions.len()) as u32;
        let mut program = Program {
            imported,
            functions,
            starts,
            callers: vec![Vec::new(); count],
            kinds: vec![None; count],
            by_reference: vec![Vec::new(); kinds.0.len()],
            of_kind: vec![Vec::new(); kinds.0.len()],
            edges: Vec::new(),
            next: Vec::new(),
        };
        for function in referenced {
            if let Some(kind) = program.kinds.get_mut(function as usize) {
                *kind = types.as_ref().and_then(|types| types[function as usize]);
            }
        }
        program.link();
        Ok(program)
    }

    /// Finds out who is called from where, and what follows blocks.
    fn link(&mut self) {
        let blocks = self.blocks();
        self.next = vec![NONE; blocks];
        for (function, kind) in (0..).zip(&self.kinds) {
            kind.map(|kind| self.of_kind[kind as usize].push(function));
        }
        for (function, start) in self.functions.iter().zip(&self.starts) {
            let index = function.cfg.function();
            for &(block, callee) in &function.calls {
                let caller = Caller { function: index, block };
                match callee {
                    Callee::Function(callee) => self.callers.get_mut(callee as usize).map(|list| list.push(caller)),
                    Callee::Kind(kind) => self.by_reference.get_mut(kind as usize).map(|list| list.push(caller)),
                };
            }
            for flow in function.cfg.flows() {
                let to = start + flow.to;
                match flow.kind {
                    FlowKind::Counted(_) => self.edges.push(to),
                    FlowKind::Next | FlowKind::Br => self.next[(start + flow.from) as usize] = to,
                    _ => {}
                }
            }
        }
    }

    /// How many blocks there are.
    pub fn blocks(&self) -> usize {
        self.starts.last().map_or(0, |&end| end as usize)
    }

    /// How many edges there are, those of the edge map.
    pub fn edges(&self) -> usize {
        self.edges.len()
    }

    /// The graphs of the functions that the module defines, in order.
    pub fn cfgs(&self) -> impl ExactSizeIterator<Item = &Cfg> {
        self.functions.iter().map(|function| &function.cfg)
    }

    /// The graph of a function, if the module defines it.
    pub fn cfg(&self, function: u32) -> Option<&Cfg> {
        self.function(function).map(|function| &function.cfg)
    }

    pub(super) fn function(&self, index: u32) -> Option<&Function> {
        self.functions.get(index.checked_sub(self.imported)? as usize)
    }

    /// The number of a function's block, if there is one.
    pub fn block(&self, function: u32, block: u32) -> Option<u32> {
        let place = function.checked_sub(self.imported)? as usize;
        let number = self.starts.get(place)? + block;
        (number < *self.starts.get(place + 1)?).then_some(number)
    }

    /// The function that a block is of, and its number there.
    pub fn place(&self, block: u32) -> (u32, u32) {
        let place = self.starts.partition_point(|&start| start <= block) - 1;
        (self.imported + place as u32, block - self.starts[place])
    }

    /// Whether a block has code, which entry, exit and the like have not.
    pub fn has_code(&self, block: u32) -> bool {
        let (function, block) = self.place(block);
        self.cfg(function).is_some_and(|cfg| cfg.blocks()[block as usize].kind == BlockKind::Code)
    }

    /// What a block decides by where it goes on.
    pub fn decision(&self, block: u32) -> Option<&Decision> {
        let (function, block) = self.place(block);
        self.function(function)?.decisions.get(&block)
    }

    /// The block that an edge leads to.
    pub fn to(&self, edge: u32) -> Option<u32> {
        self.edges.get(edge as usize).copied()
    }

    /// The block that an edge comes from.
    pub fn from(&self, edge: u32) -> Option<u32> {
        let to = *self.edges.get(edge as usize)?;
        let (function, _) = self.place(to);
        self.block(function, self.cfg(function)?.flow(edge)?.from)
    }

    /// Marks the blocks that were executed if these edges were, and calls `found` for each that was not marked before.
    /// A block that could be left by an exception or a trap counts with the one behind it.
    pub fn executed(&self, edges: impl IntoIterator<Item = u32>, marked: &mut [bool], mut found: impl FnMut(u32)) {
        for edge in edges {
            let mut block = self.edges.get(edge as usize).copied().unwrap_or(NONE);
            while block != NONE && !std::mem::replace(&mut marked[block as usize], true) {
                found(block);
                block = self.next[block as usize];
            }
        }
    }

    /// The edges each of which says that one of some goals was reached, ascending.
    pub fn witnesses(&self, goals: &[Goal]) -> Vec<u32> {
        let mut edges = BTreeSet::new();
        let mut blocks: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for goal in goals {
            match *goal {
                Goal::Edge(edge) => _ = edges.insert(edge),
                Goal::Block(block) => {
                    let (function, own) = self.place(block);
                    blocks.entry(function).or_default().push(own);
                }
            }
        }
        for (function, blocks) in blocks {
            let Some(cfg) = self.cfg(function) else { continue };
            let seen = before(cfg, blocks);
            let enters = |edge: &u32| cfg.flow(*edge).is_some_and(|flow| seen[flow.to as usize]);
            edges.extend(cfg.edges().filter(enters));
        }
        edges.into_iter().collect()
    }
}

/// Which blocks are followed by one of these without an edge that is counted.
fn before(cfg: &Cfg, mut open: Vec<u32>) -> Vec<bool> {
    let mut before: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for flow in cfg.flows().iter().filter(|flow| matches!(flow.kind, FlowKind::Next | FlowKind::Br)) {
        before.entry(flow.to).or_default().push(flow.from);
    }
    let mut seen = vec![false; cfg.blocks().len()];
    while let Some(block) = open.pop() {
        if !std::mem::replace(&mut seen[block as usize], true) {
            open.extend(before.get(&block).into_iter().flatten());
        }
    }
    seen
}

impl Kinds {
    /// The number of a function type; types that are written alike are one.
    fn of(&mut self, module: &impl ModuleArity, type_index: u32) -> Option<u32> {
        let ty = module.sub_type_at(type_index)?;
        let wasmparser::CompositeInnerType::Func(ty) = &ty.composite_type.inner else { return None };
        let next = self.0.len() as u32;
        Some(*self.0.entry((ty.params().to_vec(), ty.results().to_vec())).or_insert(next))
    }
}
