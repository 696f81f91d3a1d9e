//! Moves parts between sibling spans: all of one into the next, or the last part of one to the front of the next.
//!
//! Several lists with few elements each become one list with all; and where that can't be, the later lists get the
//! elements.

use crate::engine::shrink::edit::{is_end, siblings, without};
use crate::engine::shrink::shrinker::{Shrinker, Step};
use crate::stream::{Choice, Span, Trace};
use std::collections::BTreeSet;
use std::ops::Range;

pub(super) fn run(s: &mut Shrinker<'_>) -> Step<()> {
    let mut from = 0;
    loop {
        let changes = changes(&s.current().trace);
        let Some(at) = s.first(from, changes.len(), |trace, at| Some(changes[at].apply(&trace.choices)))? else {
            return Ok(());
        };
        from = at.saturating_sub(1);
    }
}

/// What can be done with two neighbours.
enum Change {
    /// Without the end of one and the beginning of the next, they are one.
    Join(Range<usize>),
    /// A part goes from its range to a later place.
    Move(Range<usize>, usize),
}

impl Change {
    fn apply(&self, choices: &[Choice]) -> Vec<Choice> {
        match self {
            Self::Join(range) => without(choices, range.clone()),
            Self::Move(part, to) => {
                [&choices[..part.start], &choices[part.end..*to], &choices[part.clone()], &choices[*to..]].concat()
            }
        }
    }
}

fn changes(trace: &Trace) -> Vec<Change> {
    let mut changes = Vec::new();
    for group in siblings(trace) {
        for pair in group.windows(2) {
            let (one, next) = (&pair[0], &pair[1]);
            let labels = |span: &Span| inside(trace, span).map(|(_, part)| part.label).collect::<BTreeSet<_>>();
            for label in labels(one).intersection(&labels(next)) {
                let last =
                    inside(trace, one).filter(|(number, part)| part.label == *label && !is_end(trace, *number)).last();
                let first = inside(trace, next).find(|(_, part)| part.label == *label);
                let (Some((_, last)), Some((_, first))) = (last, first) else { continue };
                let to = first.start as usize;
                if last.end as usize <= to {
                    changes.push(Change::Join(last.end as usize..to));
                    changes.push(Change::Move(last.range(), to));
                }
            }
        }
    }
    changes
}

/// The spans inside `span` with their numbers, in their order.
fn inside<'a>(trace: &'a Trace, span: &'a Span) -> impl Iterator<Item = (usize, &'a Span)> {
    let first = trace.spans.partition_point(|other| (other.start, other.depth) <= (span.start, span.depth));
    let all = trace.spans.iter().enumerate().skip(first);
    all.take_while(|(_, other)| other.start < span.end).filter(|(_, other)| other.depth > span.depth)
}
