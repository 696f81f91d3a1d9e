//! Moves value from one number to a later one: the sum stays, the earlier one goes down. What is too much for the
//! later one comes in again at the other end of its range, because that is how most sums are computed.

use crate::engine::shrink::edit::index_at;
use crate::engine::shrink::search::lowest;
use crate::engine::shrink::shrinker::{Shrinker, Step};
use crate::engine::shrink::value::{for_pairs, simplest_value, wrapped};
use crate::stream::Choice;

/// How many numbers further on the other one is, at most.
const APART_MAX: usize = 4;

pub(super) fn run(s: &mut Shrinker<'_>) -> Step<()> {
    for_pairs(s, APART_MAX, redistribute)
}

fn redistribute(s: &mut Shrinker<'_>, from: usize, to: usize) -> Step<()> {
    let base = s.current();
    let (draw, other) = (&base.trace.draws[from], &base.trace.draws[to]);
    let simplest = simplest_value(draw);
    let value = draw.number(index_at(&base.trace, from));
    let other_value = other.number(index_at(&base.trace, to));
    let Ok(distance) = u64::try_from((value - simplest).abs()) else { return Ok(()) };
    let sign = (value - simplest).signum();
    lowest(s, distance, |s, distance| {
        let lowered = simplest + sign * i128::from(distance);
        let (a, b) = (draw.index_of(lowered), other.index_of(wrapped(other, other_value + (value - lowered))));
        let (Some(a), Some(b)) = (a, b) else { return Ok(false) };
        let mut choices = base.trace.choices.clone();
        choices[from] = Choice::Index(a);
        choices[to] = Choice::Index(b);
        s.consider(choices)
    })?;
    Ok(())
}
