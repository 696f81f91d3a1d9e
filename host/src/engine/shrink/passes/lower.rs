//! Lowers each draw.
//!
//! Numbers are brought nearer to the simplest value by bisection, first with their sign, then with the other; of
//! alternatives the first few are tried one by one. If the draw says how much comes after it (a length, an
//! alternative), lowering it leaves choices over, which the guest then reads as something else. So when an execution
//! drew less than it was given, that many choices are deleted too: right behind the draw, at the end of each span
//! around it, or a later span of just that length.

use crate::engine::shrink::edit::{around, index_at, with_index, without};
use crate::engine::shrink::search::lowest;
use crate::engine::shrink::shrinker::{Shrinker, Step};
use crate::engine::shrink::subject::{Attempt, Tail, Verdict};
use crate::engine::shrink::value::{is_number, simplest_value};
use crate::stream::{Choice, DrawKind};

/// Alternatives that are tried one by one.
const ALTERNATIVES_MAX: u64 = 8;
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
    if is_number(draw) {
        let (simplest, value) = (simplest_value(draw), draw.number(index));
        let Ok(distance) = u64::try_from((value - simplest).abs()) else { return Ok(()) };
        let signed = |distance: u64, sign: i128| draw.index_of(simplest + sign * i128::from(distance));
        let sign = (value - simplest).signum();
        let distance = lowest(s, distance, |s, distance| try_index(s, &base, at, signed(distance, sign)))?;
        // The value above is simpler than the value below, equally far away.
        if sign < 0 {
            try_index(s, &base, at, signed(distance, 1))?;
        }
        return Ok(());
    }
    let alternatives = if draw.kind == DrawKind::F64 { 0 } else { index.min(ALTERNATIVES_MAX) };
    for lower in 0..alternatives {
        if try_index(s, &base, at, Some(lower))? {
            return Ok(());
        }
    }
    if index > alternatives {
        lowest(s, index, |s, index| try_index(s, &base, at, Some(index)))?;
    }
    Ok(())
}

/// Considers `base` with `index` at `at`, and without what that leaves over.
fn try_index(s: &mut Shrinker<'_>, base: &Attempt, at: usize, index: Option<u64>) -> Step<bool> {
    let Some(index) = index else { return Ok(false) };
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
    starts.extend(around(&base.trace, at).filter_map(|span| (span.end as usize).checked_sub(lost)));
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
