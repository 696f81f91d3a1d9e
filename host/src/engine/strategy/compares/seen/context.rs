//! From where a comparison is reached: what a function compares that many call is another thing for each of them.

use super::table::key;
use fuzzbox_instrument::trace::Event;

/// Calls that are told apart when a function comes again; what is called by more is as if these were the first.
const DEPTH_MAX: usize = 64;

/// The functions that are being called, as events say it.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// By depth: the function, and what stands for it and those that called it. What calls itself is as it was the
    /// first time, so there are no more contexts than ways without a circle.
    frames: Vec<(u32, u64)>,
    depth: u32,
}

impl Calls {
    /// Stands for all functions that are being called.
    pub(super) fn context(&self) -> u64 {
        self.frames.last().map_or(0, |(_, context)| *context)
    }

    /// How many functions are being called.
    pub(super) fn depth(&self) -> u32 {
        self.depth
    }

    /// Takes notice of a function that is entered or left. Returns how many of those that were being called still are;
    /// `None` if it is another event.
    pub(super) fn follow(&mut self, event: &Event) -> Option<u32> {
        let kept = match *event {
            Event::Enter { depth, .. } | Event::Leave { depth, .. } => depth.saturating_sub(1),
            Event::Caught { depth } => depth,
            _ => return None,
        };
        self.depth = kept;
        self.leave(kept.saturating_add(1));
        if let Event::Enter { function, depth } = *event {
            self.enter(function, depth);
        }
        Some(kept)
    }

    /// A function is entered; so many are being called then.
    fn enter(&mut self, function: u32, depth: u32) {
        self.depth = depth;
        self.leave(depth);
        let first = self.frames.iter().find(|(other, _)| *other == function);
        let context = first.map_or_else(|| key([self.context(), function.into(), 0]), |(_, context)| *context);
        if self.frames.len() < DEPTH_MAX {
            self.frames.push((function, context));
        }
    }

    /// What was called with that depth, or deeper, is left.
    fn leave(&mut self, depth: u32) {
        self.frames.truncate((depth as usize).saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fuzzbox_instrument::trace::Way;

    #[test]
    fn a_context_is_a_way_without_circles() {
        let mut calls = Calls::default();
        let mut context = |events: &[(u32, u32)]| {
            events.iter().for_each(|&(function, depth)| calls.enter(function, depth));
            calls.context()
        };
        let by_one = context(&[(1, 1), (7, 2)]);
        let by_two = context(&[(1, 1), (2, 2), (7, 3)]);
        assert_ne!(by_one, by_two);
        assert_eq!(context(&[(1, 1), (2, 2), (2, 3), (2, 4), (7, 5)]), by_two, "what calls itself");
        assert_eq!(context(&[(7, 2)]), by_one, "what was deeper is left");
        let deep: Vec<_> = (1..500).map(|depth| (1000 + depth, depth)).collect();
        context(&deep);
        assert_eq!(context(&[(1, 1), (7, 2)]), by_one);
        assert_eq!((calls.follow(&Event::Enter { function: 5, depth: 3 }), calls.depth()), (Some(2), 3));
        assert_eq!((calls.follow(&Event::Caught { depth: 2 }), calls.depth()), (Some(2), 2));
        assert_eq!(calls.context(), by_one);
        assert_eq!((calls.follow(&Event::Leave { depth: 2, way: Way::End }), calls.depth()), (Some(1), 1));
        assert_eq!((calls.context(), calls.follow(&Event::Choose { index: 0, targets: 1 })), (key([0, 1, 0]), None));
    }
}
