//! The tree of calls, from where functions were entered and left.

use std::ops::Range;

use super::event::{Event, Way};
use super::read::Trace;

/// A call of a function, from its entry on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The function's index.
    pub function: u32,
    /// How many calls it is in, itself included.
    pub depth: u32,
    /// The call that it was made in, as a place in the list. `None` if the host made it. A function that is entered by
    /// a tail call has the parent of the one whose place it takes.
    pub parent: Option<usize>,
    /// The calls made in it, in order, as places in the list.
    pub children: Vec<usize>,
    /// Its records, as places in [`Trace::records`]: from its entry to where it was left, those of its children
    /// included.
    pub records: Range<usize>,
    /// How it ended.
    pub end: SpanEnd,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanEnd {
    /// The function was left.
    Left(Way),
    /// An exception went through it; or a trap did, and the host that had called it went on.
    Unwound,
    /// It has no end: the execution ended in it, or the trace did.
    Open,
}

impl Trace {
    /// The calls, in the order in which they began.
    pub fn spans(&self) -> Vec<Span> {
        let mut spans: Vec<Span> = Vec::new();
        // Those that have no end up to here, outermost first; their depths ascend.
        let mut open: Vec<usize> = Vec::new();
        for (number, record) in self.records.iter().enumerate() {
            // An entry ends what was as deep: it left no record.
            let (depth, way) = match record.event {
                Event::Enter { depth, .. } => (depth, None),
                Event::Leave { depth, way } => (depth, Some(way)),
                Event::Caught { depth } => (depth.saturating_add(1), None),
                _ => continue,
            };
            while let Some(&last) = open.last().filter(|&&last| spans[last].depth >= depth) {
                open.pop();
                let left = way.filter(|_| spans[last].depth == depth);
                spans[last].end = left.map_or(SpanEnd::Unwound, SpanEnd::Left);
                spans[last].records.end = if left.is_some() { number + 1 } else { number };
            }
            if let Event::Enter { function, depth } = record.event {
                let parent = open.last().copied();
                let this = spans.len();
                if let Some(parent) = parent {
                    spans[parent].children.push(this);
                }
                open.push(this);
                let records = number..self.records.len();
                spans.push(Span { function, depth, parent, children: Vec::new(), records, end: SpanEnd::Open });
            }
        }
        spans
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Record;

    fn trace(events: &[Event]) -> Trace {
        Trace { records: events.iter().map(|event| Record { site: 0, event: event.clone() }).collect(), lost: 0 }
    }

    fn enter(function: u32, depth: u32) -> Event {
        Event::Enter { function, depth }
    }

    fn leave(depth: u32) -> Event {
        Event::Leave { depth, way: Way::End }
    }

    #[test]
    fn calls_are_children_of_those_they_were_made_in() {
        let spans = trace(&[enter(7, 1), enter(8, 2), leave(2), enter(9, 2), leave(2), leave(1), enter(7, 1)]).spans();
        let found: Vec<_> = spans.iter().map(|span| (span.function, span.parent, span.records.clone())).collect();
        assert_eq!(found, [(7, None, 0..6), (8, Some(0), 1..3), (9, Some(0), 3..5), (7, None, 6..7)]);
        assert_eq!(spans[0].children, [1, 2]);
        assert_eq!(spans[0].end, SpanEnd::Left(Way::End));
        assert_eq!(spans[3].end, SpanEnd::Open);
    }

    #[test]
    fn an_exception_ends_what_is_deeper_than_where_it_is_caught() {
        let caught = Event::Caught { depth: 1 };
        let spans = trace(&[enter(0, 1), enter(1, 2), enter(2, 3), caught, enter(3, 2), leave(1)]).spans();
        let ends: Vec<_> = spans.iter().map(|span| span.end).collect();
        assert_eq!(ends, [SpanEnd::Left(Way::End), SpanEnd::Unwound, SpanEnd::Unwound, SpanEnd::Unwound]);
        assert_eq!(spans[1].records, 1..3);
        assert_eq!(spans[3].parent, Some(0));
    }

    #[test]
    fn what_makes_no_sense_is_no_reason_to_fail() {
        let caught = Event::Caught { depth: u32::MAX };
        let spans = trace(&[leave(0), caught, leave(5), enter(1, 9), enter(2, 3), leave(8), enter(3, 0)]).spans();
        assert_eq!(spans.len(), 3);
    }
}
