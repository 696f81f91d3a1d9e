//! Fewer elements in another order, at random.
//!
//! Where a failure needs a list of things in one of few orders (what is done to a balanced tree, say), a failure with
//! one thing less may have nothing in common with the current one: no element can be deleted, and no two exchanged. But
//! if the orders that fail are one in thousands, some are soon found. The passes make the simplest of what is found.

use super::edit::siblings;
use super::shrinker::{Shrinker, Step};
use super::value::is_number;
use crate::engine::Rng;
use crate::stream::{Choice, DrawKind, Trace};
use std::collections::BTreeMap;
use std::ops::Range;

/// Fewer elements have few orders, which the passes try.
const ELEMENTS_MIN: usize = 4;

/// Spans that can stand for one another, in their order.
type Elements = Vec<Range<usize>>;

/// Tries so many orders. True if something simpler was found.
pub(super) fn shuffle(s: &mut Shrinker<'_>, tries: u64) -> Step<bool> {
    let base = s.current();
    let groups = groups(&base.trace);
    if groups.is_empty() {
        return Ok(false);
    }
    let values = values(&base.trace);
    let mut rng = s.rng();
    let orders: Vec<_> = (0..tries)
        .map(|_| {
            let elements = rng.pick(&groups);
            with_order(&base.trace, elements, &values, &mut rng)
        })
        .collect();
    Ok(s.first(0, orders.len(), |_, at| Some(orders[at].clone()))?.is_some())
}

/// Elements of lists: siblings that draw the same and decide the same.
fn groups(trace: &Trace) -> Vec<Elements> {
    let shape = |range: &Range<usize>| {
        let draw = |at: usize| {
            let draw = &trace.draws[at];
            let decides = matches!(draw.kind, DrawKind::Bool | DrawKind::Choice | DrawKind::More);
            (draw.kind, draw.max, trace.choices[at].index().filter(|_| decides))
        };
        range.clone().map(draw).collect::<Vec<_>>()
    };
    let mut groups = Vec::new();
    for siblings in siblings(trace) {
        let mut alike: BTreeMap<_, Elements> = BTreeMap::new();
        for range in siblings.iter().map(|span| span.range()) {
            alike.entry(shape(&range)).or_default().push(range);
        }
        groups.extend(alike.into_values().filter(|elements| elements.len() >= ELEMENTS_MIN));
    }
    groups
}

/// The indices of numbers, by what they are drawn from.
fn values(trace: &Trace) -> BTreeMap<(DrawKind, u64), Vec<u64>> {
    let mut values: BTreeMap<_, Vec<u64>> = BTreeMap::new();
    for (draw, choice) in trace.draws.iter().zip(&trace.choices).filter(|(draw, _)| is_number(draw)) {
        values.entry((draw.kind, draw.max)).or_default().extend(choice.index());
    }
    values
}

/// The stream with all elements but one, in any order; about half of the other numbers are any that occur.
fn with_order(
    trace: &Trace,
    elements: &Elements,
    values: &BTreeMap<(DrawKind, u64), Vec<u64>>,
    rng: &mut Rng,
) -> Vec<Choice> {
    let mut order: Vec<usize> = (0..elements.len()).collect();
    for last in (1..order.len()).rev() {
        // Fisher and Yates.
        order.swap(last, rng.below(last + 1));
    }
    let without = rng.below(elements.len());
    let mut choices = Vec::with_capacity(trace.choices.len());
    let mut other = |from: usize, to: usize, choices: &mut Vec<Choice>| {
        for at in from..to {
            let draw = &trace.draws[at];
            match values.get(&(draw.kind, draw.max)) {
                Some(values) if is_number(draw) && rng.one_in(2) => choices.push(Choice::Index(*rng.pick(values))),
                _ => choices.push(trace.choices[at].clone()),
            }
        }
    };
    let mut end = 0;
    for (number, (place, element)) in elements.iter().zip(order).enumerate() {
        other(end, place.start, &mut choices);
        if number != without {
            choices.extend_from_slice(&trace.choices[elements[element].clone()]);
        }
        end = place.end;
    }
    other(end, trace.choices.len(), &mut choices);
    choices
}
