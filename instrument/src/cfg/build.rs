//! Makes the graph of one body in one pass over its operators.
//!
//! The numbers of edges follow from the same rules as the rewriter's: which branches are counted, in which order, and
//! which code is dead. Tests compare the two on every kind of module there is.

use wasmparser::{Catch, Operator, TryTable};

use super::flow::{Block, BlockKind, ENTRY, EXIT, Flow, FlowKind};
use crate::calls::Throwing;
use crate::edge_map::EdgeKind;
use crate::grow::grow_slowly;

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
#[derive(Clone, Copy)]
pub(crate) enum Calls<'t> {
    /// Those inside of a `try_table`: what passes through this function only is not in the graph.
    Caught,
    /// Those that may throw.
    Throwing(&'t Throwing),
}

/// A function's graph, as it was built.
#[derive(Default)]
pub(crate) struct Parts {
    pub(crate) blocks: Vec<Block>,
    pub(crate) flows: Vec<PackedFlow>,
    /// Per block: how many loops are around its start.
    pub(crate) depths: Vec<u32>,
}

/// A [`Flow`] in 16 bytes: there are as many as a body has branches, all at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PackedFlow {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) at: u32,
    /// From its least bit: the kind, 7 bits; whether it leads back, one bit; the number of the arm or clause.
    packed: u32,
}

/// The kinds by their numbers in [`PackedFlow::packed`].
const KINDS: [FlowKind; 19] = {
    use EdgeKind as E;
    use FlowKind::Counted as C;
    [
        FlowKind::Next,
        FlowKind::Br,
        FlowKind::Return,
        FlowKind::ReturnCall,
        FlowKind::Trap,
        FlowKind::Throw,
        FlowKind::Uncaught,
        C(E::Entry),
        C(E::IfTaken),
        C(E::IfNotTaken),
        C(E::BrIfTaken),
        C(E::BrIfNotTaken),
        C(E::BackEdge),
        C(E::BrOnTaken),
        C(E::BrOnNotTaken),
        C(E::SelectFirst),
        C(E::SelectSecond),
        C(E::BrTable { arm: 0 }),
        C(E::Catch { clause: 0 }),
    ]
};

const BACK: u32 = 1 << 7;

impl PackedFlow {
    fn new(from: u32, to: u32, at: u32, kind: FlowKind) -> PackedFlow {
        let (plain, number) = match kind {
            FlowKind::Counted(EdgeKind::BrTable { arm }) => (FlowKind::Counted(EdgeKind::BrTable { arm: 0 }), arm),
            FlowKind::Counted(EdgeKind::Catch { clause }) => (FlowKind::Counted(EdgeKind::Catch { clause: 0 }), clause),
            kind => (kind, 0),
        };
        let place = KINDS.iter().position(|&other| other == plain).expect("all kinds have a number");
        // A body has fewer bytes than 2^24, so fewer arms and clauses.
        PackedFlow { from, to, at, packed: place as u32 | number << 8 }
    }

    /// Which way out of its block it is.
    pub(crate) fn kind(self) -> FlowKind {
        let number = self.packed >> 8;
        match KINDS[(self.packed % BACK) as usize] {
            FlowKind::Counted(EdgeKind::BrTable { .. }) => FlowKind::Counted(EdgeKind::BrTable { arm: number }),
            FlowKind::Counted(EdgeKind::Catch { .. }) => FlowKind::Counted(EdgeKind::Catch { clause: number }),
            kind => kind,
        }
    }

    /// What the edge map calls it, if it is there.
    pub(crate) fn counted(self) -> Option<EdgeKind> {
        self.kind().counted()
    }

    /// Whether it leads back to the head of a loop that it comes from.
    pub(crate) fn back(self) -> bool {
        self.packed & BACK != 0
    }
}

impl Parts {
    /// The edges with all that is known about them; the first that is counted has the number `first_edge`.
    pub(super) fn flows(&self, first_edge: u32) -> Vec<Flow> {
        let mut next = first_edge;
        let flow = |link: &PackedFlow| {
            let kind = link.kind();
            let edge = kind.counted().map(|_| next);
            next += u32::from(edge.is_some());
            Flow { from: link.from, to: link.to, at: link.at, kind, edge, back: link.back() }
        };
        self.flows.iter().map(flow).collect()
    }
}

/// The graph as far as it is known.
pub(crate) struct Builder<'t> {
    blocks: Vec<Block>,
    flows: Vec<PackedFlow>,
    /// Per block: how many loops were open where it starts.
    depths: Vec<u32>,
    /// How many loops are open.
    depth: u32,
    calls: Calls<'t>,
    frames: Vec<Frame>,
    /// The block that the current operator belongs to; `None` where code is dead.
    current: Option<u32>,
    /// Where the current operator starts and ends.
    at: u32,
    end: u32,
}

impl<'t> Builder<'t> {
    /// Starts a function whose first operator is at `start`.
    pub(crate) fn new(start: u32, end: u32, calls: Calls<'t>) -> Builder<'t> {
        let virtual_block = |kind, at| Block { kind, start: at, end: at };
        let frame = Frame { label: Label::Function, handler: None, pending: Vec::new() };
        let mut builder = Builder {
            blocks: vec![virtual_block(BlockKind::Entry, start), virtual_block(BlockKind::Exit, end)],
            flows: Vec::new(),
            depths: vec![0; 2],
            depth: 0,
            calls,
            frames: vec![frame],
            current: None,
            at: start,
            end: start,
        };
        let first = builder.block(BlockKind::Code, start);
        builder.flow(ENTRY, first, FlowKind::Counted(EdgeKind::Entry));
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
                    self.flow(from, self.handler().unwrap_or(EXIT), FlowKind::Throw);
                }
            }
            O::Call { function_index } => self.call(Some(*function_index)),
            O::CallIndirect { .. } | O::CallRef { .. } => self.call(None),
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
            self.flow(handler, outer.unwrap_or(EXIT), FlowKind::Uncaught);
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

    /// A call ends a block where what it may throw is in the graph. There is no callee for a call by reference.
    fn call(&mut self, callee: Option<u32>) {
        let handler = match (self.calls, self.handler()) {
            (Calls::Caught, None) => return,
            (Calls::Throwing(throwing), _) if !throwing.may_throw(callee) => return,
            (_, handler) => handler.unwrap_or(EXIT),
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
            self.flow(from, EXIT, kind);
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
        grow_slowly(&mut self.blocks);
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
            Some(Label::Function | Label::Loop(None)) | None => (EXIT, false),
        };
        let edge = self.flow(from, to, kind);
        if back {
            self.flows[edge as usize].packed |= BACK;
        }
        if to == UNKNOWN {
            self.pend(depth, edge);
        }
    }

    /// Adds an edge.
    fn flow(&mut self, from: u32, to: u32, kind: FlowKind) -> u32 {
        let index = number(self.flows.len());
        grow_slowly(&mut self.flows);
        self.flows.push(PackedFlow::new(from, to, self.at, kind));
        index
    }
}

fn number(len: usize) -> u32 {
    u32::try_from(len).expect("there are not more blocks or edges than bytes, nor more bytes than the survey allows")
}
