//! Lowers a draw and keeps the values behind it.
//!
//! Behind a lower alternative, or a lower number that others are drawn from, the same indices mean other values,
//! because other bounds or other kinds are drawn, and the failure is lost:
//!
//! ```text
//! from 0, or from 500 on?  1   then from 500 on:  41      541
//!                          0        from 0 on:    41       41
//!                          0        from 0 on:   541      541
//! ```
//!
//! Which value an index stood for is known, and so is the index that gives it now
//! ([`Draw::reencode`](crate::stream::Draw::reencode)). (Hypothesis has each strategy encode a value anew. Here that
//! needs nothing of the guest.)
//!
//! What the new draws are an execution shows, the one that `lower` made. Where nothing has other bounds there, nothing
//! is tried.

use crate::engine::shrink::carry::carry;
use crate::engine::shrink::edit::{around, counterpart, index_at, with_index};
use crate::engine::shrink::shrinker::{Shrinker, Step};
use crate::engine::shrink::subject::{Attempt, Tail};
use crate::engine::shrink::value::{is_decision, lower_index};
use crate::stream::{Choice, Trace};
use std::ops::Range;

/// Executions for one lower index. Each shows the bounds of what depends on the values that the one before it had.
const REPAIRS_MAX: usize = 3;

pub(super) fn run(s: &mut Shrinker<'_>) -> Step<()> {
    let mut at = 0;
    while at + 1 < s.current().trace.choices.len() {
        let base = s.current();
        let (draw, index) = (base.trace.draws[at], index_at(&base.trace, at));
        if index > 0 && !draw.forced && has_effect(s, &base, at)? {
            lower_index(s, &draw, index, |s, index| lower(s, &base, at, index))?;
        }
        at += 1;
    }
    Ok(())
}

/// Whether values behind the draw at `at` need other indices when that is the simplest.
fn has_effect(s: &mut Shrinker<'_>, base: &Attempt, at: usize) -> Step<bool> {
    // What decides between alternatives may have an effect with any of them.
    if is_decision(&base.trace.draws[at]) {
        return Ok(true);
    }
    let looked = s.look(with_index(&base.trace.choices, at, 0), Tail::Zero)?;
    Ok(!looked.improved && kept(&base.trace, at, &looked.attempt.trace).is_some())
}

/// Considers `base` with a lower index at `at`, and the values that it has behind that.
fn lower(s: &mut Shrinker<'_>, base: &Attempt, at: usize, index: u64) -> Step<bool> {
    let mut looked = s.look(with_index(&base.trace.choices, at, index), Tail::Zero)?;
    for _ in 0..REPAIRS_MAX {
        if looked.improved {
            return Ok(true);
        }
        let Some(choices) = kept(&base.trace, at, &looked.attempt.trace) else { return Ok(false) };
        if choices == looked.attempt.trace.choices {
            return Ok(false);
        }
        looked = s.look(choices, Tail::Zero)?;
    }
    Ok(looked.improved)
}

/// The choices of `new` up to `at`, and behind that those that give the values of `old`; `None` if all that are kept
/// have the index that they had.
fn kept(old: &Trace, at: usize, new: &Trace) -> Option<Vec<Choice>> {
    if new.draws.get(at + 1..)? == &old.draws[at + 1..] {
        return None;
    }
    let mut choices = new.choices[..=at].to_vec();
    let mut has_changed = false;
    for (from, to) in parts(old, at, new) {
        let carried = carry(old, from, &new.draws[to]);
        has_changed |= carried.has_changed;
        choices.extend(carried.choices);
    }
    has_changed.then_some(choices)
}

/// What comes behind the draw at `at`, up to the end of each span around it, innermost first, and up to the end of the
/// stream; in both traces, which are the same up to there.
fn parts(old: &Trace, at: usize, new: &Trace) -> Vec<(Range<usize>, Range<usize>)> {
    let mut parts = Vec::new();
    let (mut from, mut to) = (at + 1, at + 1);
    let ends = around(old, at)
        .filter_map(|(number, span)| Some((span.end as usize, counterpart(new, number, span)?.end as usize)));
    for (old_end, new_end) in ends.chain([(old.choices.len(), new.choices.len())]) {
        if from <= old_end && to <= new_end {
            parts.push((from..old_end, to..new_end));
            (from, to) = (old_end, new_end);
        }
    }
    parts
}
