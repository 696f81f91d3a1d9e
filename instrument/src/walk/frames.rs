//! The control frames around the operator that is being planned: what can be reached, and how depths change.

use crate::module::types::Values;

/// What opened a frame.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The function itself.
    Function,
    /// `block`.
    Block,
    /// `loop`: its label is its head.
    Loop,
    /// `if`, up to its `else`; the flow is that of the other branch, if it can be reached.
    If(Option<u32>),
    /// `else`.
    Else,
    /// `try_table`, with its number in the plan if it is wrapped.
    Try(Option<u32>),
}

/// A block that the operator is in.
pub(crate) struct Frame {
    pub(crate) kind: Kind,
    /// What a branch to it takes.
    pub(crate) label: Values,
    /// How many labels were added around this frame and all frames around it.
    added: u32,
}

/// The frames, outermost first. Never empty before the function's end.
pub(crate) struct Frames {
    frames: Vec<Frame>,
}

impl Frames {
    /// Starts a function whose results are `results`.
    pub(crate) fn new(results: Values) -> Frames {
        Frames { frames: vec![Frame { kind: Kind::Function, label: results, added: 0 }] }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.frames.len()
    }

    /// Opens a block with `wrappers` added blocks around it.
    pub(crate) fn push(&mut self, kind: Kind, params: Values, results: Values, wrappers: u32) {
        let label = if kind == Kind::Loop { params } else { results };
        let added = self.frames.last().map_or(0, |frame| frame.added) + wrappers;
        self.frames.push(Frame { kind, label, added });
    }

    /// Goes from the first to the second part of an `if`; gives the second's flow.
    pub(crate) fn switch(&mut self) -> Option<u32> {
        match std::mem::replace(&mut self.frames.last_mut()?.kind, Kind::Else) {
            Kind::If(flow) => flow,
            _ => None,
        }
    }

    /// Closes the innermost block.
    pub(crate) fn pop(&mut self) -> Option<Frame> {
        self.frames.pop()
    }

    /// The frame that a branch of the given depth in the original body goes to.
    fn index(&self, depth: u32) -> Option<usize> {
        self.frames.len().checked_sub(1)?.checked_sub(depth as usize)
    }

    /// What a branch of this depth takes.
    pub(crate) fn label(&self, depth: u32) -> Values {
        self.index(depth).map_or(Values::Empty, |index| self.frames[index].label)
    }

    /// The depth in the rewritten body of a branch of the given depth in the original: it crosses the labels that were
    /// added around the frames inside its target.
    pub(crate) fn moved(&self, depth: u32) -> u32 {
        match (self.frames.last(), self.index(depth)) {
            (Some(innermost), Some(index)) => depth + innermost.added - self.frames[index].added,
            _ => depth,
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
        frames.push(Kind::Block, NONE, NONE, 0);
        frames.push(Kind::Try(Some(0)), NONE, NONE, 3);
        frames.push(Kind::Block, NONE, NONE, 0);
        frames.push(Kind::Try(Some(1)), NONE, NONE, 2);
        let moved: Vec<_> = (0..5).map(|depth| frames.moved(depth)).collect();
        assert_eq!(moved, [0, 1 + 2, 2 + 2, 3 + 2 + 3, 4 + 2 + 3]);
        frames.pop();
        assert_eq!(frames.moved(2), 2 + 3);
    }

    #[test]
    fn the_second_part_of_an_if_has_its_flow_once() {
        let mut frames = Frames::new(NONE);
        frames.push(Kind::If(Some(7)), NONE, NONE, 0);
        assert_eq!((frames.switch(), frames.switch(), frames.len()), (Some(7), None, 2));
    }
}
