//! Lowers each draw.
//!
//! If the draw says how much comes after it (a length, an alternative), lowering it leaves choices over, which the
//! guest then reads as something else. So when an execution drew less than it was given, that many choices are deleted
//! too: right behind the draw, at the end of each span around it, or a later span of just that length.

use crate::engine::shrink::edit::{around, index_at, with_index, without};
use crate::engine::shrink::shrinker::{Shrinker, Step};
use crate::engine::shrink::subject::{Attempt, Tail, Verdict};
use crate::engine::shrink::value::lower_index;
use crate::stream::Choice;

/// Later spans that are tried for deletion.
const LATER_MAX: usize = 4;

pub(super) fn run(s: &mut Shrinker<'_>) -> Step<()> {
    let mut at = 0;
    while at < s.current().trace.choices.len() {
        lower(s, at)?;
        at += 1;
    }
    Ok(())
}

fn lower(s: &mut Shrinker<'_>, at: usize) -> Step<()> {
    let base = s.current();
    let draw = &base.trace.draws[at];
    let index = index_at(&base.trace, at);
    if index == 0 || draw.forced {
        return Ok(());
    }
    lower_index(s, draw, index, |s, index| try_index(s, &base, at, index))
}

/// Considers `base` with `index` at `at`, and without what that leaves over.
fn try_index(s: &mut Shrinker<'_>, base: &Attempt, at: usize, index: u64) -> Step<bool> {
    let choices = with_index(&base.trace.choices, at, index);
    let looked = s.look(choices.clone(), Tail::Zero)?;
    if looked.improved {
        return Ok(true);
    }
    let drawn = looked.attempt.trace.choices.len();
    if drawn >= choices.len() || looked.attempt.verdict == Verdict::Overrun {
        return Ok(false);
    }
    let repaired = repairs(base, at, choices, base.trace.choices.len() - drawn);
    Ok(s.first(0, repaired.len(), |_, at| Some(repaired[at].clone()))?.is_some())
}

/// `choices` with `lost` of them deleted somewhere behind `at`.
fn repairs(base: &Attempt, at: usize, choices: Vec<Choice>, lost: usize) -> Vec<Vec<Choice>> {
    let mut starts = vec![at + 1];
    starts.extend(around(&base.trace, at).filter_map(|(_, span)| (span.end as usize).checked_sub(lost)));
    let later =
        base.trace.spans.iter().map(|span| span.range()).filter(|range| range.start > at && range.len() == lost);
    starts.extend(later.map(|range| range.start).take(LATER_MAX));
    let mut seen = Vec::new();
    for start in starts {
        if start > at && start + lost <= choices.len() && !seen.contains(&start) {
            seen.push(start);
        }
    }
    seen.into_iter().map(|start| without(&choices, start..start + lost)).collect()
}
