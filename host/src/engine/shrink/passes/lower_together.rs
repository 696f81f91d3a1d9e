//! Lowers two numbers by the same amount, so that their difference stays; and in opposite directions, so that their
//! sum does where one is below and the other above.

use crate::engine::shrink::edit::index_at;
use crate::engine::shrink::search::lowest;
use crate::engine::shrink::shrinker::{Shrinker, Step};
use crate::engine::shrink::value::{for_pairs, simplest_value};
use crate::stream::Choice;

/// How many numbers further on the other one is, at most.
const APART_MAX: usize = 3;

pub(super) fn run(s: &mut Shrinker<'_>) -> Step<()> {
    for_pairs(s, APART_MAX, lower)
}

fn lower(s: &mut Shrinker<'_>, one: usize, two: usize) -> Step<()> {
    let base = s.current();
    let (draw, other) = (&base.trace.draws[one], &base.trace.draws[two]);
    let (simplest, simplest_other) = (simplest_value(draw), simplest_value(other));
    let value = draw.number(index_at(&base.trace, one));
    let other_value = other.number(index_at(&base.trace, two));
    if value == simplest || other_value == simplest_other {
        return Ok(());
    }
    let Ok(distance) = u64::try_from((value - simplest).abs()) else { return Ok(()) };
    let (sign, sign_other) = ((value - simplest).signum(), (other_value - simplest_other).signum());
    lowest(s, distance, |s, distance| {
        let lowered = simplest + sign * i128::from(distance);
        let by = (value - lowered).abs();
        let (a, b) = (draw.index_of(lowered), other.index_of(other_value - sign_other * by));
        let (Some(a), Some(b)) = (a, b) else { return Ok(false) };
        let mut choices = base.trace.choices.clone();
        choices[one] = Choice::Index(a);
        choices[two] = Choice::Index(b);
        s.consider(choices)
    })?;
    Ok(())
}
