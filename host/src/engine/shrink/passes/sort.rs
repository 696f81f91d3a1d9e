//! Sorts what can stand for one another: sibling spans with the same label, draws of the same kind in the same span,
//! and decisions in the same span together with what they led to.
//!
//! All of a group at once, else neighbours, else any two that are not in order.

use crate::engine::shrink::edit::siblings;
use crate::engine::shrink::shrinker::{Shrinker, Step};
use crate::stream::{Choice, DrawKind, Trace, shortlex};
use std::collections::BTreeMap;
use std::ops::Range;

/// Pairs of one group that are tried, beside neighbours.
const PAIRS_MAX: usize = 64;

type Group = Vec<Range<usize>>;

pub(super) fn run(s: &mut Shrinker<'_>) -> Step<()> {
    let mut at = 0;
    loop {
        let Some(group) = groups(&s.current().trace).into_iter().nth(at) else { return Ok(()) };
        sort(s, &group, at)?;
        at += 1;
    }
}

fn sort(s: &mut Shrinker<'_>, group: &Group, at: usize) -> Step<()> {
    let base = s.current();
    let mut order: Vec<usize> = (0..group.len()).collect();
    order.sort_by(|a, b| compare(&base.trace, group, *a, *b));
    if order.is_sorted() || s.consider(permuted(&base.trace, group, &order))? {
        return Ok(());
    }
    if group.len() == 2 {
        return Ok(());
    }
    let mut from = 0;
    loop {
        // A success gives the group's parts other places, so they are looked up again.
        let Some(group) = groups(&s.current().trace).into_iter().nth(at) else { return Ok(()) };
        let pairs = pairs(&s.current().trace, &group);
        let swapped = s.first(from, pairs.len(), |trace, pair| {
            let (a, b) = pairs[pair];
            let mut order: Vec<usize> = (0..group.len()).collect();
            order.swap(a, b);
            Some(permuted(trace, &group, &order))
        })?;
        match swapped {
            Some(pair) => from = pair.saturating_sub(1),
            None if from > 0 => from = 0,
            None => return Ok(()),
        }
    }
}

/// Pairs that are not in order: neighbours first, then others.
fn pairs(trace: &Trace, group: &Group) -> Vec<(usize, usize)> {
    let is_wrong = |&(a, b): &(usize, usize)| compare(trace, group, a, b).is_gt();
    let neighbours = (1..group.len()).map(|b| (b - 1, b)).filter(is_wrong);
    let others = (0..group.len()).flat_map(|a| (a + 2..group.len()).map(move |b| (a, b)));
    neighbours.chain(others.filter(is_wrong).take(PAIRS_MAX)).collect()
}

fn compare(trace: &Trace, group: &Group, a: usize, b: usize) -> std::cmp::Ordering {
    shortlex(&trace.choices[group[a].clone()], &trace.choices[group[b].clone()])
}

/// The stream with part `order[i]` of the group at the place of part `i`.
fn permuted(trace: &Trace, group: &Group, order: &[usize]) -> Vec<Choice> {
    let mut choices = Vec::with_capacity(trace.choices.len());
    let mut end = 0;
    for (place, part) in group.iter().zip(order) {
        choices.extend_from_slice(&trace.choices[end..place.start]);
        choices.extend_from_slice(&trace.choices[group[*part].clone()]);
        end = place.end;
    }
    choices.extend_from_slice(&trace.choices[end..]);
    choices
}

/// Decisions in one span, each with the spans that it led to: the two children of a node that may have two.
fn slots(trace: &Trace, parents: &[Option<usize>]) -> Vec<Group> {
    let mut slots: BTreeMap<(Option<usize>, DrawKind, u64), Group> = BTreeMap::new();
    for (at, draw) in trace.draws.iter().enumerate() {
        if !matches!(draw.kind, DrawKind::Bool | DrawKind::Choice) || draw.forced {
            continue;
        }
        // Up to the next draw that the same span makes itself, or its end.
        let end = parents[at].map_or(trace.choices.len(), |parent| trace.spans[parent].end as usize);
        let next = (at + 1..end).find(|next| parents[*next] == parents[at]).unwrap_or(end);
        slots.entry((parents[at], draw.kind, draw.max)).or_default().push(at..next);
    }
    slots.into_values().filter(|group| group.iter().any(|slot| slot.len() > 1)).collect()
}

/// Groups of two and more.
fn groups(trace: &Trace) -> Vec<Group> {
    let mut groups: Vec<Group> =
        siblings(trace).into_iter().map(|spans| spans.iter().map(|span| span.range()).collect()).collect();
    let mut parents = vec![None; trace.choices.len()];
    for (number, span) in trace.spans.iter().enumerate() {
        parents[span.range()].fill(Some(number));
    }
    let mut draws: BTreeMap<(Option<usize>, DrawKind), Group> = BTreeMap::new();
    for (at, draw) in trace.draws.iter().enumerate() {
        if !matches!(draw.kind, DrawKind::More | DrawKind::Choice) && !draw.forced {
            draws.entry((parents[at], draw.kind)).or_default().push(at..at + 1);
        }
    }
    groups.extend(draws.into_values());
    groups.extend(slots(trace, &parents));
    groups.retain(|group| group.len() > 1);
    groups
}
