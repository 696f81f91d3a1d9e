//! The control frames around the operator that is being planned: what can be reached, and how depths change.

use crate::types::Values;

/// What opened a frame.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The function itself.
    Function,
    /// `block`.
    Block,
    /// `loop`: its label is its head.
    Loop,
    /// `if`, up to its `else`; the edge is that of the other branch, if it is counted.
    If(Option<u32>),
    /// `else`.
    Else,
    /// `try_table`, with its number in the plan if it is wrapped.
    Try(Option<usize>),
}

/// A block that the operator is in.
pub(crate) struct Frame {
    pub(crate) kind: Kind,
    /// What a branch to it takes.
    pub(crate) label: Values,
    /// Which fuel cost counts the operators in here.
    pub(crate) site: usize,
    /// Whether its start can be reached.
    entered: bool,
    /// Whether the current operator, or a nested block's end, can be reached.
    live: bool,
    /// Whether a reachable branch, or the reachable end of an `if`'s first part, leads to its end.
    joined: bool,
    /// How many labels were added around this frame and all frames around it.
    added: u32,
}

/// The frames, outermost first. Never empty before the function's end.
///
/// Code is dead after an operator that never goes on, up to where a reachable branch joins. That is finer than the
/// validator's notion, so whatever is live here has known types there.
pub(crate) struct Frames {
    frames: Vec<Frame>,
}

impl Frames {
    /// Starts a function whose results are `results`.
    pub(crate) fn new(results: Values) -> Frames {
        let frame =
            Frame { kind: Kind::Function, label: results, site: 0, entered: true, live: true, joined: false, added: 0 };
        Frames { frames: vec![frame] }
    }

    /// Whether the current operator can be reached.
    pub(crate) fn live(&self) -> bool {
        self.frames.last().is_some_and(|frame| frame.live)
    }

    /// The current operator never goes on to the next.
    pub(crate) fn stop(&mut self) {
        if let Some(frame) = self.frames.last_mut() {
            frame.live = false;
        }
    }

    /// Which fuel cost counts the current operator.
    pub(crate) fn site(&self) -> usize {
        self.frames.last().map_or(0, |frame| frame.site)
    }

    /// Opens a block with `wrappers` added blocks around it. `site` is its own fuel cost, if it has one.
    pub(crate) fn push(&mut self, kind: Kind, params: Values, results: Values, site: Option<usize>, wrappers: u32) {
        let live = self.live();
        let label = if kind == Kind::Loop { params } else { results };
        let site = site.unwrap_or_else(|| self.site());
        let added = self.frames.last().map_or(0, |frame| frame.added) + wrappers;
        self.frames.push(Frame { kind, label, site, entered: live, live, joined: false, added });
    }

    /// Goes from the first to the second part of an `if`; gives the second's edge.
    pub(crate) fn switch(&mut self) -> Option<u32> {
        let frame = self.frames.last_mut()?;
        frame.joined |= frame.live;
        frame.live = frame.entered;
        match std::mem::replace(&mut frame.kind, Kind::Else) {
            Kind::If(edge) => edge,
            _ => None,
        }
    }

    /// Closes the innermost block.
    pub(crate) fn pop(&mut self) -> Option<Frame> {
        let frame = self.frames.pop()?;
        let falls_through = frame.live || matches!(frame.kind, Kind::If(_)) && frame.entered;
        let live = falls_through || frame.joined && frame.kind != Kind::Loop;
        if let Some(outer) = self.frames.last_mut() {
            outer.live = live;
        }
        Some(frame)
    }

    /// The frame that a branch of the given depth in the original body goes to.
    fn index(&self, depth: u32) -> Option<usize> {
        self.frames.len().checked_sub(1)?.checked_sub(depth as usize)
    }

    /// What a branch of this depth takes.
    pub(crate) fn label(&self, depth: u32) -> Values {
        self.index(depth).map_or(Values::Empty, |index| self.frames[index].label)
    }

    /// Whether a branch of this depth goes back to the head of a loop.
    pub(crate) fn is_back(&self, depth: u32) -> bool {
        self.index(depth).is_some_and(|index| self.frames[index].kind == Kind::Loop)
    }

    /// The depth in the rewritten body of a branch of the given depth in the original: it crosses the labels that were
    /// added around the frames inside its target.
    pub(crate) fn moved(&self, depth: u32) -> u32 {
        match (self.frames.last(), self.index(depth)) {
            (Some(innermost), Some(index)) => depth + innermost.added - self.frames[index].added,
            _ => depth,
        }
    }

    /// A reachable branch of the given depth.
    pub(crate) fn join(&mut self, depth: u32) {
        if let Some(index) = self.index(depth) {
            self.frames[index].joined = true;
        }
    }
}
