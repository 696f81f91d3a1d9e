//! Takes a simpler alternative, and fills it with what there was.
//!
//! A lower alternative draws other things, so what follows the choice no longer means what it meant, and lowering it
//! alone seldom goes well. Two repairs are tried. The numbers that were drawn in the old alternative are put where
//! the new one draws numbers, in their order: its nearest equivalent. And the new alternative is filled at random, a
//! few times.

use crate::engine::shrink::edit::{around, index_at};
use crate::engine::shrink::shrinker::{Shrinker, Step};
use crate::engine::shrink::subject::Tail;
use crate::engine::shrink::value::{is_number, simplest};
use crate::stream::{Choice, DrawKind, Span, Trace};
use std::ops::Range;

/// Draws with more alternatives are numbers rather than decisions.
const ALTERNATIVES_MAX: u64 = 15;
/// Times that an alternative is filled at random.
const FILLS: usize = 3;

pub(super) fn run(s: &mut Shrinker<'_>) -> Step<()> {
    let mut at = 0;
    while at < s.current().trace.choices.len() {
        if is_decision(&s.current().trace, at) {
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

fn is_decision(trace: &Trace, at: usize) -> bool {
    let draw = &trace.draws[at];
    draw.kind == DrawKind::Choice && !draw.forced && draw.max <= ALTERNATIVES_MAX
}

fn take(s: &mut Shrinker<'_>, at: usize, lower: u64) -> Step<bool> {
    let base = s.current();
    let trace = &base.trace;
    let begin = [&trace.choices[..at], &[Choice::Index(lower)]].concat();
    let looked = s.look(begin.clone(), Tail::Zero)?;
    if looked.improved {
        return Ok(true);
    }
    let Some(old) = around(trace, at).next() else { return Ok(false) };
    let rest = &trace.choices[old.end as usize..];
    let new = &looked.attempt.trace;
    let Some(inside) = span_of(new, old, at) else { return Ok(false) };
    if same_draws(trace, at + 1..old.end as usize, new, inside.clone()) {
        // Nothing else is drawn: to lower it was all there was to try.
        return Ok(false);
    }
    let kept = refilled(trace, at + 1..old.end as usize, new, inside);
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
        let Some(inside) = span_of(new, old, at) else { continue };
        if s.consider([&begin, &new.choices[inside], rest].concat())? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What comes after `at` in the span of `new` that begins where `old` does.
fn span_of(new: &Trace, old: &Span, at: usize) -> Option<Range<usize>> {
    let is_it = |span: &&Span| (span.start, span.label, span.depth) == (old.start, old.label, old.depth);
    let span = new.spans.iter().find(is_it)?;
    let end = span.end as usize;
    (at < end && end <= new.choices.len()).then_some(at + 1..end)
}

fn same_draws(old: &Trace, a: Range<usize>, new: &Trace, b: Range<usize>) -> bool {
    a.len() == b.len() && old.draws[a].iter().zip(&new.draws[b]).all(|(a, b)| a.kind == b.kind && a.max == b.max)
}

/// The choices of `new` in `to`, with the values that `old` has in `from` wherever the kinds agree, in their order.
fn refilled(old: &Trace, from: Range<usize>, new: &Trace, to: Range<usize>) -> Vec<Choice> {
    let mut values = from.filter(|at| is_number(&old.draws[*at]) || old.draws[*at].kind.is_blob());
    let fill = |at: usize| {
        let draw = &new.draws[at];
        if !is_number(draw) && !draw.kind.is_blob() {
            return new.choices[at].clone();
        }
        let Some(from) = values.next() else { return simplest(draw) };
        match &old.choices[from] {
            Choice::Index(index) if is_number(draw) => {
                draw.index_of(old.draws[from].number(*index)).map_or(Choice::ZERO, Choice::Index)
            }
            choice @ Choice::Blob(_) if draw.kind.is_blob() => choice.clone(),
            _ => simplest(draw),
        }
    };
    to.map(fill).collect()
}
