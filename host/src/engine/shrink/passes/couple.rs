//! Deletes something and changes the numbers that speak of it.
//!
//! In a list whose elements are positions in it (a permutation, edges of a graph, a heap in an array), deleting
//! element k makes every number above k point at the wrong element. So numbers above k go down by one along with it,
//! the list's length among them if that was drawn. A number equal to k pointed at what is gone: it stays, or becomes
//! the simplest.
//!
//! And an earlier draw may be raised if that makes the stream shorter: fewer choices are simpler, whatever they are.

use crate::engine::shrink::edit::{siblings, with_index, without};
use crate::engine::shrink::shrinker::{Shrinker, Step};
use crate::engine::shrink::value::is_number;
use crate::stream::{Choice, Draw, DrawKind, Trace};
use std::collections::BTreeMap;
use std::ops::Range;

/// Larger groups are left alone: each of their parts would be tried with numbers changed all over the stream.
const PARTS_MAX: usize = 256;
/// Draws with more values are not raised.
const RAISED_MAX: u64 = 15;

pub(super) fn run(s: &mut Shrinker<'_>) -> Step<()> {
    let mut from = 0;
    loop {
        let parts = parts(&s.current().trace);
        let renumbered = |trace: &Trace, at: usize| {
            let (part, number) = &parts[at / 2];
            renumber(trace, part.clone(), *number, at % 2 == 1)
        };
        let len = s.current().trace.choices.len();
        let Some(at) = s.first(from, 2 * parts.len(), renumbered)? else { break };
        // If it did not become shorter, something else was deleted than was meant: numbers would go down one by one.
        from = if s.current().trace.choices.len() < len { at & !1 } else { at + 1 };
    }
    raise(s)
}

/// Parts that can be deleted, with their numbers among their siblings.
fn parts(trace: &Trace) -> Vec<(Range<usize>, u64)> {
    let mut groups: Vec<Vec<Range<usize>>> =
        siblings(trace).into_iter().map(|group| group.iter().map(|span| span.range()).collect()).collect();
    // Elements without a span: draws at one place in the guest, several times.
    let mut draws: BTreeMap<(u32, DrawKind), Vec<Range<usize>>> = BTreeMap::new();
    for (at, draw) in trace.draws.iter().enumerate().filter(|(_, draw)| is_number(draw)) {
        draws.entry((draw.site, draw.kind)).or_default().push(at..at + 1);
    }
    groups.extend(draws.into_values());
    groups.retain(|group| (2..=PARTS_MAX).contains(&group.len()));
    groups.into_iter().flat_map(|group| group.into_iter().zip(0..)).collect()
}

/// The stream without `part`, and numbers above `number` one lower; `None` if there are none.
fn renumber(trace: &Trace, part: Range<usize>, number: u64, simplify: bool) -> Option<Vec<Choice>> {
    let (mut changed, mut simplified) = (false, false);
    let mut choices = trace.choices.clone();
    for (at, draw) in trace.draws.iter().enumerate() {
        let Some(index) = trace.choices[at].index().filter(|_| is_number(draw) && !part.contains(&at)) else {
            continue;
        };
        let value = draw.number(index);
        if value > i128::from(number) {
            if let Some(lower) = draw.index_of(value - 1) {
                choices[at] = Choice::Index(lower);
                changed = true;
            }
        } else if simplify && value == i128::from(number) && index != 0 {
            choices[at] = Choice::ZERO;
            simplified = true;
        }
    }
    (changed && simplify == simplified).then(|| without(&choices, part))
}

/// Raises decisions, alone and with later spans deleted.
fn raise(s: &mut Shrinker<'_>) -> Step<()> {
    let mut at = 0;
    while at < s.current().trace.choices.len() {
        let base = s.current();
        if let Some(index) = base.trace.choices[at].index().filter(|_| can_be_raised(&base.trace.draws[at])) {
            let max = base.trace.draws[at].max;
            let later: Vec<_> =
                base.trace.spans.iter().map(|span| span.range()).filter(|range| range.start > at).collect();
            let ways = later.len() + 1;
            let raised = |trace: &Trace, way: usize| {
                let choices = with_index(&trace.choices, at, index + 1 + (way / ways) as u64);
                Some(later.get(way % ways).map_or_else(|| choices.clone(), |range| without(&choices, range.clone())))
            };
            s.first(0, ways * (max - index) as usize, raised)?;
        }
        at += 1;
    }
    Ok(())
}

fn can_be_raised(draw: &Draw) -> bool {
    matches!(draw.kind, DrawKind::Choice) && !draw.forced && draw.max <= RAISED_MAX
}
