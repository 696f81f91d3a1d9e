//! Whom functions were seen to call by reference: ways to goals are better known by that than by types.

use fuzzbox_instrument::trace::{Event, Trace, Way};
use fuzzbox_instrument::ways::Program;
use std::collections::BTreeSet;

/// Calls of a campaign that are kept.
pub(in crate::engine::strategy::compares) const CALLS_MAX: usize = 1 << 16;

/// The calls of an execution that may be by reference: caller and callee, by their indices.
pub(in crate::engine::strategy::compares) fn calls(trace: &Trace, program: &Program) -> BTreeSet<(u32, u32)> {
    let mut calls = pairs(trace);
    calls.retain(|&(caller, callee)| program.can_call_by_reference(caller, callee));
    calls
}

/// Who called whom.
fn pairs(trace: &Trace) -> BTreeSet<(u32, u32)> {
    // The functions that are being called, as far as their callers are known, and who leaves its place to the next.
    let (mut open, mut leaving) = (Vec::new(), None);
    let mut pairs = BTreeSet::new();
    for record in &trace.records {
        match record.event {
            Event::Enter { function, depth } => {
                open.truncate((depth as usize).saturating_sub(1));
                let is_known = open.len() + 1 == depth as usize;
                if let Some(caller) = leaving.take().or(open.last().copied()).filter(|_| is_known) {
                    pairs.insert((caller, function));
                }
                if is_known {
                    open.push(function);
                }
            }
            Event::Leave { depth, way: Way::TailCall } => {
                leaving = open.get((depth as usize).wrapping_sub(1)).copied();
            }
            _ => {}
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use fuzzbox_instrument::trace::Record;

    #[test]
    fn callers_are_found_through_returns_tail_calls_and_gaps() {
        let enter = |function, depth| Event::Enter { function, depth };
        let events = [
            enter(1, 1),
            enter(2, 2),
            Event::Leave { depth: 2, way: Way::End },
            enter(3, 2),
            enter(4, 3),
            // An exception leaves two of them.
            Event::Caught { depth: 1 },
            enter(5, 2),
            Event::Leave { depth: 2, way: Way::TailCall },
            enter(6, 2),
            // Nobody knows who this one's caller is.
            enter(7, 5),
            enter(8, 6),
            enter(9, 1),
        ];
        let records = events.into_iter().map(|event| Record { site: 0, event }).collect();
        let trace = Trace { records, lost: 0 };
        assert_eq!(pairs(&trace), BTreeSet::from([(1, 2), (1, 3), (3, 4), (1, 5), (5, 6)]));
    }
}
