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

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Values = Values::Empty;

    #[test]
    fn branches_cross_the_labels_added_inside_their_target() {
        let mut frames = Frames::new(NONE);
        frames.push(Kind::Block, NONE, NONE, None, 0);
        frames.push(Kind::Try(Some(0)), NONE, NONE, None, 3);
        frames.push(Kind::Block, NONE, NONE, None, 0);
        frames.push(Kind::Try(Some(1)), NONE, NONE, None, 2);
        let moved: Vec<_> = (0..5).map(|depth| frames.moved(depth)).collect();
        assert_eq!(moved, [0, 1 + 2, 2 + 2, 3 + 2 + 3, 4 + 2 + 3]);
        frames.pop();
        assert_eq!(frames.moved(2), 2 + 3);
    }

    #[test]
    fn code_is_live_again_where_a_live_branch_joins() {
        let mut frames = Frames::new(NONE);
        frames.push(Kind::Block, NONE, NONE, None, 0);
        frames.join(0);
        frames.stop();
        frames.push(Kind::Block, NONE, NONE, None, 0);
        assert!(!frames.live());
        frames.pop();
        assert!(!frames.live());
        frames.pop();
        assert!(frames.live());
    }

    #[test]
    fn a_branch_to_a_loop_does_not_join_its_end() {
        let mut frames = Frames::new(NONE);
        frames.push(Kind::Loop, NONE, NONE, Some(1), 0);
        frames.join(0);
        frames.stop();
        assert_eq!((frames.site(), frames.is_back(0), frames.is_back(1)), (1, true, false));
        frames.pop();
        assert!(!frames.live());
    }

    #[test]
    fn an_if_goes_on_if_one_of_its_ways_does() {
        let mut frames = Frames::new(NONE);
        frames.push(Kind::If(Some(7)), NONE, NONE, None, 0);
        frames.stop();
        assert_eq!(frames.switch(), Some(7));
        assert!(frames.live());
        frames.pop();
        assert!(frames.live());

        frames.push(Kind::If(Some(8)), NONE, NONE, None, 0);
        frames.stop();
        frames.pop();
        assert!(frames.live(), "without else the other way goes on");

        frames.push(Kind::If(Some(9)), NONE, NONE, None, 0);
        frames.stop();
        frames.switch();
        frames.stop();
        frames.pop();
        assert!(!frames.live());
    }
}
