//! What graphs are made of: blocks, and flows between them.

use crate::edge_map::EdgeKind;

/// The block where a function is entered.
pub(super) const ENTRY: u32 = 0;

/// The block where it is left.
pub(super) const EXIT: u32 = 1;

/// Code that is executed from its first operator to its last, or a point without code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// What it is.
    pub kind: BlockKind,
    /// Byte offset of its first operator in the original module. For a block without code, of what it stands for: the
    /// first operator, the end of the body, the `try_table`.
    pub start: u32,
    /// Where its last operator ends; equal to `start` if it has no code. `block`, `loop`, `else` and `end` count as
    /// code of the block before them.
    pub end: u32,
}

/// What a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    /// The one point where the function is entered.
    Entry,
    /// The one point where it is left, in whatever way.
    Exit,
    /// Code.
    Code,
    /// Where a `try_table` decides which of its clauses catches.
    Catch,
}

impl BlockKind {
    /// The kind's name, as in the JSON.
    pub fn name(self) -> &'static str {
        match self {
            BlockKind::Entry => "entry",
            BlockKind::Exit => "exit",
            BlockKind::Code => "code",
            BlockKind::Catch => "catch",
        }
    }
}

/// An edge of the graph. There can be several between two blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The block that it leaves.
    pub from: u32,
    /// The block that it leads to.
    pub to: u32,
    /// Byte offset of the operator in the original module that makes it: the branch, or where two ways join.
    pub at: u32,
    /// Which way out of `from` it is.
    pub kind: FlowKind,
    /// Its number in [`EdgeMap::edges`](crate::EdgeMap::edges), if it is there.
    pub edge: Option<u32>,
    /// Whether it leads back to the head of a loop that it comes from.
    pub back: bool,
}

/// Which way out of a block an edge is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowKind {
    /// An edge of the edge map.
    Counted(EdgeKind),
    /// On to the next block in the code, or from the end of a `then` part over the `else` part.
    Next,
    /// A `br` that leads forward.
    Br,
    /// `return`, or the end of the body.
    Return,
    /// A tail call.
    ReturnCall,
    /// `unreachable`.
    Trap,
    /// A `throw`, or an exception that comes out of a call.
    Throw,
    /// An exception that no clause of a `try_table` catches.
    Uncaught,
}

impl FlowKind {
    /// The kind's name without its number, as in the JSON.
    pub fn name(self) -> &'static str {
        match self {
            FlowKind::Counted(kind) => kind.name(),
            FlowKind::Next => "next",
            FlowKind::Br => "br",
            FlowKind::Return => "return",
            FlowKind::ReturnCall => "return_call",
            FlowKind::Trap => "trap",
            FlowKind::Throw => "throw",
            FlowKind::Uncaught => "uncaught",
        }
    }

    /// Whether there is a place for a counter on it. The others have none, or one that is passed before they can fail.
    pub(crate) fn has_place(self) -> bool {
        !matches!(self, FlowKind::Trap | FlowKind::Throw | FlowKind::Uncaught | FlowKind::ReturnCall)
    }

    /// What the edge map calls it, if it is there.
    pub(crate) fn counted(self) -> Option<EdgeKind> {
        match self {
            FlowKind::Counted(kind) => Some(kind),
            _ => None,
        }
    }
}
