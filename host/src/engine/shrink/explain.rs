//! Which parts don't matter: whatever is drawn there, it fails in the same way.
//!
//! Each span is drawn anew at random, its surroundings kept. One execution that does not fail ends it; a hundred that
//! fail in the same way, of at most five hundred, are taken as proof. Inside what matters, smaller spans and single
//! draws are examined.

use super::edit::{counterpart, replaced};
use super::shrinker::{Shrinker, Step};
use super::subject::{Tail, Verdict};
use crate::engine::Rng;
use crate::stream::Taste;
use crate::stream::{Choice, Draw, Span, Trace};
use std::ops::Range;

/// Bytes of a plain input that are examined.
const BYTES_MAX: usize = 1024;
/// Executions after which no other part is examined.
const EXECS_MAX: u64 = 20_000;
/// Equal failures that are enough.
const SAME_ENOUGH: u64 = 100;

/// Finds the free parts; `None` if something simpler was found on the way.
pub(super) fn explain(s: &mut Shrinker<'_>) -> Step<Option<Vec<Range<usize>>>> {
    let base = s.current();
    if s.limits().explain_max == 0 {
        return Ok(Some(Vec::new()));
    }
    if let (Taste::Readable, [Choice::Blob(blob)]) = (s.taste(), &*base.trace.choices) {
        return explain_bytes(s, blob);
    }
    let mut free: Vec<Range<usize>> = Vec::new();
    let mut rng = s.rng();
    let is_in = |free: &[Range<usize>], part: &Range<usize>| {
        free.iter().any(|range| range.start <= part.start && part.end <= range.end)
    };
    for (number, span) in base.trace.spans.iter().enumerate() {
        if span.range().len() > 1 && !is_in(&free, &span.range()) {
            let vary = |s: &mut Shrinker<'_>, rng: &mut Rng| redrawn(s, &base.trace, number, span, rng);
            match is_free(s, &mut rng, vary)? {
                Some(true) => free.push(span.range()),
                Some(false) => {}
                None => return Ok(None),
            }
        }
    }
    for at in 0..base.trace.choices.len() {
        let draw = &base.trace.draws[at];
        if draw.forced || draw.max == 0 || is_in(&free, &(at..at + 1)) {
            continue;
        }
        let vary = |_: &mut Shrinker<'_>, rng: &mut Rng| {
            let other = any(draw, &base.trace.choices[at], rng);
            Ok(Some(replaced(&base.trace.choices, at..at + 1, &[other])))
        };
        match is_free(s, &mut rng, vary)? {
            Some(true) => free.push(at..at + 1),
            Some(false) => {}
            None => return Ok(None),
        }
    }
    free.sort_by_key(|range| (range.start, range.end));
    Ok(Some(free))
}

/// The free bytes of a plain input.
fn explain_bytes(s: &mut Shrinker<'_>, blob: &[u8]) -> Step<Option<Vec<Range<usize>>>> {
    let mut free: Vec<Range<usize>> = Vec::new();
    let mut rng = s.rng();
    for at in 0..blob.len().min(BYTES_MAX) {
        let vary = |_: &mut Shrinker<'_>, rng: &mut Rng| {
            let mut blob = blob.to_vec();
            blob[at] = rng.byte();
            Ok(Some(vec![Choice::Blob(blob)]))
        };
        match is_free(s, &mut rng, vary)? {
            Some(true) => match free.last_mut() {
                Some(last) if last.end == at => last.end += 1,
                _ => free.push(at..at + 1),
            },
            Some(false) => {}
            None => return Ok(None),
        }
    }
    Ok(Some(free))
}

/// Whether all variations fail in the same way; `None` if one of them became the current stream.
fn is_free(
    s: &mut Shrinker<'_>,
    rng: &mut Rng,
    vary: impl Fn(&mut Shrinker<'_>, &mut Rng) -> Step<Option<Vec<Choice>>>,
) -> Step<Option<bool>> {
    let mut same = 0;
    let before = s.current();
    if s.report.explained >= EXECS_MAX {
        return Ok(Some(false));
    }
    for _ in 0..s.limits().explain_max {
        let Some(choices) = vary(s, rng)? else { continue };
        let looked = s.look(choices, Tail::Zero)?;
        if !std::sync::Arc::ptr_eq(&s.current(), &before) {
            return Ok(None);
        }
        match looked.attempt.verdict {
            Verdict::Same => same += 1,
            Verdict::Invalid | Verdict::Overrun => {}
            Verdict::Valid | Verdict::Slip(_) => return Ok(Some(false)),
        }
        if same == SAME_ENOUGH {
            return Ok(Some(true));
        }
    }
    Ok(Some(false))
}

/// The stream with other draws in the span `number`.
fn redrawn(
    s: &mut Shrinker<'_>,
    trace: &Trace,
    number: usize,
    span: &Span,
    rng: &mut Rng,
) -> Step<Option<Vec<Choice>>> {
    let begin = trace.choices[..span.start as usize].to_vec();
    let looked = s.look(begin, Tail::Random(rng.word()))?;
    let new = &looked.attempt.trace;
    Ok(counterpart(new, number, span).and_then(|other| {
        let part = new.choices.get(other.range())?;
        Some(replaced(&trace.choices, span.range(), part))
    }))
}

/// A random choice for a draw.
fn any(draw: &Draw, choice: &Choice, rng: &mut Rng) -> Choice {
    match choice {
        Choice::Index(_) => Choice::Index(match draw.max {
            u64::MAX => rng.word(),
            max => ((u128::from(rng.word()) * (u128::from(max) + 1)) >> 64) as u64,
        }),
        Choice::Blob(bytes) => Choice::Blob(bytes.iter().map(|_| rng.byte()).collect()),
    }
}
