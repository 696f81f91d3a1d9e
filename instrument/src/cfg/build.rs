//! Makes the graph of one body in one pass over its operators.
//!
//! The numbers of edges follow from the same rules as the rewriter's: which branches are counted, in which order, and
//! which code is dead. Tests compare the two on every kind of module there is.

use wasmparser::{Catch, Operator, TryTable};

use super::{Block, BlockKind, Cfg, Flow, FlowKind};
use crate::edges::EdgeKind;

/// Where an edge leads whose target is still to come.
const UNKNOWN: u32 = u32::MAX;

/// A block of the body around the current operator.
struct Frame {
    label: Label,
    /// What gets the exceptions of calls in here, if it is in this function.
    handler: Option<u32>,
    /// The edges that lead to the frame's end.
    pending: Vec<u32>,
}

/// Where a branch to a frame leads.
enum Label {
    /// The function: out of it.
    Function,
    /// A loop with this head. It has none if it is dead.
    Loop(Option<u32>),
    /// The end of a block, of an `else` part or of a `try_table`.
    Block,
    /// The end of an `if`, whose other part is still to come; this is the edge to it.
    If(Option<u32>),
}

/// Which calls end a block, with an edge for the exceptions that come out of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Calls {
    /// Those inside of a `try_table`: what passes through this function only is not in the graph.
    Caught,
    /// All of them.
    All,
}

/// A function's graph, as it was built.
#[derive(Default)]
pub(crate) struct Parts {
    pub(crate) blocks: Vec<Block>,
    pub(crate) flows: Vec<Flow>,
    /// Per block: how many loops are around its start.
    pub(crate) depths: Vec<u32>,
}

/// The graph as far as it is known.
pub(crate) struct Builder {
    blocks: Vec<Block>,
    flows: Vec<Flow>,
    /// Per block: how many loops were open where it starts.
    depths: Vec<u32>,
    /// How many loops are open.
    depth: u32,
    calls: Calls,
    /// The number of the next edge that is counted.
    edge: u32,
    frames: Vec<Frame>,
    /// The block that the current operator belongs to; `None` where code is dead.
    current: Option<u32>,
    /// Where the current operator starts and ends.
    at: u32,
    end: u32,
}

impl Builder {
    /// Starts a function whose first operator is at `start`; its entry is edge `first_edge`.
    pub(crate) fn new(start: u32, end: u32, first_edge: u32, calls: Calls) -> Builder {
        let virtual_block = |kind, at| Block { kind, start: at, end: at };
        let frame = Frame { label: Label::Function, handler: None, pending: Vec::new() };
        let mut builder = Builder {
            blocks: vec![virtual_block(BlockKind::Entry, start), virtual_block(BlockKind::Exit, end)],
            flows: Vec::new(),
            depths: vec![0; 2],
            depth: 0,
            calls,
            edge: first_edge,
            frames: vec![frame],
            current: None,
            at: start,
            end: start,
        };
        let first = builder.block(BlockKind::Code, start);
        builder.flow(Cfg::ENTRY, first, FlowKind::Counted(EdgeKind::Entry));
        builder.current = Some(first);
        builder
    }

    /// Takes the next operator, from `at` to `end`. Operators come from a body that validates.
    pub(crate) fn operator(&mut self, operator: &Operator<'_>, at: u32, end: u32) -> wasmparser::Result<()> {
        use Operator as O;
        (self.at, self.end) = (at, end);
        match operator {
            O::Block { .. } => self.open(Label::Block, self.handler()),
            O::Loop { .. } => self.begin_loop(),
            O::If { .. } => self.begin_if(),
            O::Else => self.begin_else(),
            O::End => self.close(),
            O::TryTable { try_table } => self.begin_try(try_table),
            O::Br { relative_depth } => self.br(*relative_depth),
            O::BrIf { relative_depth } => {
                self.br_or_not(*relative_depth, EdgeKind::BrIfTaken, EdgeKind::BrIfNotTaken);
            }
            O::BrOnNull { relative_depth }
            | O::BrOnNonNull { relative_depth }
            | O::BrOnCast { relative_depth, .. }
            | O::BrOnCastFail { relative_depth, .. } => {
                self.br_or_not(*relative_depth, EdgeKind::BrOnTaken, EdgeKind::BrOnNotTaken);
            }
            O::BrTable { targets } => {
                if let Some(from) = self.stop() {
                    for (arm, depth) in (0..).zip(targets.targets().chain([Ok(targets.default())])) {
                        self.branch(from, depth?, FlowKind::Counted(EdgeKind::BrTable { arm }));
                    }
                }
            }
            O::Return => self.leave(FlowKind::Return),
            O::ReturnCall { .. } | O::ReturnCallIndirect { .. } | O::ReturnCallRef { .. } => {
                self.leave(FlowKind::ReturnCall);
            }
            O::Unreachable => self.leave(FlowKind::Trap),
            O::Throw { .. } | O::ThrowRef => {
                if let Some(from) = self.stop() {
                    self.flow(from, self.handler().unwrap_or(Cfg::EXIT), FlowKind::Throw);
                }
            }
            O::Call { .. } | O::CallIndirect { .. } | O::CallRef { .. } => self.call(),
            O::Select | O::TypedSelect { .. } | O::TypedSelectMulti { .. } => self.select(),
            _ => {}
        }
        Ok(())
    }

    /// Whether the next operator can be reached.
    pub(crate) fn live(&self) -> bool {
        self.current.is_some()
    }

    /// The block that the next operator belongs to, if it can be reached.
    pub(crate) fn block_now(&self) -> Option<u32> {
        self.current
    }

    /// How many edges there are so far; those of an operator come one after the other.
    pub(crate) fn flows(&self) -> u32 {
        number(self.flows.len())
    }

    /// Gives the graph, after the last operator.
    pub(crate) fn finish(self) -> Parts {
        debug_assert!(self.flows.iter().all(|flow| flow.to != UNKNOWN));
        Parts { blocks: self.blocks, flows: self.flows, depths: self.depths }
    }

    fn handler(&self) -> Option<u32> {
        self.frames.last().and_then(|frame| frame.handler)
    }

    fn open(&mut self, label: Label, handler: Option<u32>) {
        self.frames.push(Frame { label, handler, pending: Vec::new() });
    }

    /// A `loop` is the last operator of the block before it: branches to it don't execute it again.
    fn begin_loop(&mut self) {
        let before = self.stop();
        self.depth += 1;
        let head = before.map(|before| {
            let head = self.block(BlockKind::Code, self.end);
            self.flow(before, head, FlowKind::Next);
            head
        });
        self.current = head;
        self.open(Label::Loop(head), self.handler());
    }

    fn begin_if(&mut self) {
        let not_taken = self.stop().map(|from| {
            let then = self.block(BlockKind::Code, self.end);
            self.flow(from, then, FlowKind::Counted(EdgeKind::IfTaken));
            self.current = Some(then);
            self.flow(from, UNKNOWN, FlowKind::Counted(EdgeKind::IfNotTaken))
        });
        self.open(Label::If(not_taken), self.handler());
    }

    fn begin_else(&mut self) {
        let then = self.stop();
        let Some(frame) = self.frames.last_mut() else { return };
        let Label::If(not_taken) = std::mem::replace(&mut frame.label, Label::Block) else { return };
        if let Some(from) = then {
            let next = self.flow(from, UNKNOWN, FlowKind::Next);
            self.pend(0, next);
        }
        self.current = not_taken.map(|edge| {
            let other = self.block(BlockKind::Code, self.end);
            self.flows[edge as usize].to = other;
            other
        });
    }

    /// Each `try_table` with clauses gets a block of its own that has no code: which clause catches is decided there.
    fn begin_try(&mut self, try_table: &TryTable) {
        let outer = self.handler();
        if self.current.is_none() || try_table.catches.is_empty() {
            return self.open(Label::Block, outer);
        }
        let handler = self.block(BlockKind::Catch, self.at);
        let mut all = false;
        for (clause, catch) in (0..).zip(&try_table.catches) {
            let (Catch::One { label, .. }
            | Catch::OneRef { label, .. }
            | Catch::All { label }
            | Catch::AllRef { label }) = *catch;
            all |= matches!(catch, Catch::All { .. } | Catch::AllRef { .. });
            self.branch(handler, label, FlowKind::Counted(EdgeKind::Catch { clause }));
        }
        if !all {
            self.flow(handler, outer.unwrap_or(Cfg::EXIT), FlowKind::Uncaught);
        }
        self.open(Label::Block, Some(handler));
    }

    /// The `end` of a frame. What comes after it starts a block only if something branches there.
    fn close(&mut self) {
        let Some(Frame { label, mut pending, .. }) = self.frames.pop() else { return };
        match label {
            Label::Function => return self.leave(FlowKind::Return),
            Label::Loop(_) => {
                self.depth -= 1;
                return;
            }
            Label::Block => {}
            Label::If(not_taken) => pending.extend(not_taken),
        }
        if pending.is_empty() {
            return;
        }
        let before = self.stop();
        let join = self.block(BlockKind::Code, self.end);
        if let Some(from) = before {
            self.flow(from, join, FlowKind::Next);
        }
        for edge in pending {
            self.flows[edge as usize].to = join;
        }
        self.current = Some(join);
    }

    fn br(&mut self, depth: u32) {
        let Some(from) = self.stop() else { return };
        let kind = if self.is_loop(depth) { FlowKind::Counted(EdgeKind::BackEdge) } else { FlowKind::Br };
        self.branch(from, depth, kind);
    }

    fn br_or_not(&mut self, depth: u32, taken: EdgeKind, not_taken: EdgeKind) {
        let Some(from) = self.stop() else { return };
        self.branch(from, depth, FlowKind::Counted(taken));
        let next = self.block(BlockKind::Code, self.end);
        self.flow(from, next, FlowKind::Counted(not_taken));
        self.current = Some(next);
    }

    /// A call ends a block where what it may throw is in the graph.
    fn call(&mut self) {
        let handler = match (self.calls, self.handler()) {
            (Calls::Caught, None) => return,
            (_, handler) => handler.unwrap_or(Cfg::EXIT),
        };
        let Some(from) = self.stop() else { return };
        let next = self.block(BlockKind::Code, self.end);
        self.flow(from, next, FlowKind::Next);
        self.flow(from, handler, FlowKind::Throw);
        self.current = Some(next);
    }

    /// A `select` ends a block with two edges to the next, as the `if` would that it was in the source.
    fn select(&mut self) {
        let Some(from) = self.stop() else { return };
        let next = self.block(BlockKind::Code, self.end);
        self.flow(from, next, FlowKind::Counted(EdgeKind::SelectFirst));
        self.flow(from, next, FlowKind::Counted(EdgeKind::SelectSecond));
        self.current = Some(next);
    }

    /// Ends the current block with an edge out of the function.
    fn leave(&mut self, kind: FlowKind) {
        if let Some(from) = self.stop() {
            self.flow(from, Cfg::EXIT, kind);
        }
    }

    /// Ends the current block, if code isn't dead, behind the current operator. What follows is dead for now.
    fn stop(&mut self) -> Option<u32> {
        let block = self.current.take()?;
        self.blocks[block as usize].end = self.end;
        Some(block)
    }

    /// Adds a block; its end is to be set.
    fn block(&mut self, kind: BlockKind, start: u32) -> u32 {
        let block = number(self.blocks.len());
        self.blocks.push(Block { kind, start, end: start });
        self.depths.push(self.depth);
        block
    }

    fn is_loop(&self, depth: u32) -> bool {
        self.index(depth).is_some_and(|index| matches!(self.frames[index].label, Label::Loop(_)))
    }

    /// The frame that a branch of this depth leads to.
    fn index(&self, depth: u32) -> Option<usize> {
        self.frames.len().checked_sub(1)?.checked_sub(depth as usize)
    }

    fn pend(&mut self, depth: u32, edge: u32) {
        if let Some(index) = self.index(depth) {
            self.frames[index].pending.push(edge);
        }
    }

    /// Adds an edge to where a branch of this depth leads.
    fn branch(&mut self, from: u32, depth: u32, kind: FlowKind) {
        let target = self.index(depth).map(|index| &self.frames[index].label);
        let (to, back) = match target {
            Some(&Label::Loop(Some(head))) => (head, true),
            Some(Label::Block | Label::If(_)) => (UNKNOWN, false),
            Some(Label::Function | Label::Loop(None)) | None => (Cfg::EXIT, false),
        };
        let edge = self.flow(from, to, kind);
        self.flows[edge as usize].back = back;
        if to == UNKNOWN {
            self.pend(depth, edge);
        }
    }

    /// Adds an edge and, if it is counted, gives it the next number.
    fn flow(&mut self, from: u32, to: u32, kind: FlowKind) -> u32 {
        let index = number(self.flows.len());
        let edge = matches!(kind, FlowKind::Counted(_)).then_some(self.edge);
        self.edge += u32::from(edge.is_some());
        self.flows.push(Flow { from, to, at: self.at, kind, edge, back: false });
        index
    }
}

fn number(len: usize) -> u32 {
    u32::try_from(len).expect("there are not more blocks or edges than bytes, nor more bytes than the survey allows")
}
