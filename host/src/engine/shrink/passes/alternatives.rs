//! Takes a simpler alternative, and fills it with what there was.
//!
//! A lower alternative draws other things, so what follows the choice no longer means what it meant, and lowering it
//! alone seldom goes well. Two repairs are tried. The numbers that were drawn in the old alternative are put where
//! the new one draws numbers, in their order: its nearest equivalent. And the new alternative is filled at random, a
//! few times.

use crate::engine::shrink::carry::carry;
use crate::engine::shrink::edit::{around, counterpart, index_at};
use crate::engine::shrink::shrinker::{Shrinker, Step};
use crate::engine::shrink::subject::Tail;
use crate::engine::shrink::value::is_decision;
use crate::stream::{Choice, Span, Trace};
use std::ops::Range;

/// Times that an alternative is filled at random.
const FILLS: usize = 3;

pub(super) fn run(s: &mut Shrinker<'_>) -> Step<()> {
    let mut at = 0;
    while at < s.current().trace.choices.len() {
        if is_decision(&s.current().trace.draws[at]) {
            for lower in 0..index_at(&s.current().trace, at) {
                if take(s, at, lower)? {
                    break;
                }
            }
        }
        at += 1;
    }
    Ok(())
}

fn take(s: &mut Shrinker<'_>, at: usize, lower: u64) -> Step<bool> {
    let base = s.current();
    let trace = &base.trace;
    let begin = [&trace.choices[..at], &[Choice::Index(lower)]].concat();
    let looked = s.look(begin.clone(), Tail::Zero)?;
    if looked.improved {
        return Ok(true);
    }
    let Some((number, old)) = around(trace, at).next() else { return Ok(false) };
    let rest = &trace.choices[old.end as usize..];
    let new = &looked.attempt.trace;
    let Some(inside) = span_of(new, (number, old), at) else { return Ok(false) };
    if same_draws(trace, at + 1..old.end as usize, new, inside.clone()) {
        // Nothing else is drawn: to lower it was all there was to try.
        return Ok(false);
    }
    let kept = carry(trace, at + 1..old.end as usize, &new.draws[inside]).choices;
    if s.consider([&begin, &kept[..], rest].concat())? {
        return Ok(true);
    }
    let mut rng = s.rng();
    for _ in 0..FILLS {
        let looked = s.look(begin.clone(), Tail::Random(rng.word()))?;
        if looked.improved {
            return Ok(true);
        }
        let new = &looked.attempt.trace;
        let Some(inside) = span_of(new, (number, old), at) else { continue };
        if s.consider([&begin, &new.choices[inside], rest].concat())? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What comes after `at` in the span of `new` that begins where span `number` of the current stream does, `old`.
fn span_of(new: &Trace, (number, old): (usize, &Span), at: usize) -> Option<Range<usize>> {
    let end = counterpart(new, number, old)?.end as usize;
    (at < end && end <= new.choices.len()).then_some(at + 1..end)
}

fn same_draws(old: &Trace, a: Range<usize>, new: &Trace, b: Range<usize>) -> bool {
    a.len() == b.len() && old.draws[a].iter().zip(&new.draws[b]).all(|(a, b)| a.kind == b.kind && a.max == b.max)
}
