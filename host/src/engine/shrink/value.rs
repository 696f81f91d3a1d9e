//! What draws of numbers mean to passes.

use super::search::lowest;
use super::shrinker::{Shrinker, Step};
use crate::stream::{Draw, DrawKind};

/// Draws of one of more alternatives are numbers rather than decisions.
const DECISION_MAX: u64 = 15;
/// Alternatives that are tried one by one.
const ALTERNATIVES_MAX: u64 = 8;

/// Whether the index stands for an integer that arithmetic makes sense of.
pub(super) fn is_number(draw: &Draw) -> bool {
    matches!(draw.kind, DrawKind::Int | DrawKind::Uint) && !draw.forced
}

/// Whether the index stands for one of a few alternatives, which may draw different things.
pub(super) fn is_decision(draw: &Draw) -> bool {
    draw.kind == DrawKind::Choice && !draw.forced && draw.max <= DECISION_MAX
}

/// Finds an index below `index` for which `probe` holds, if there is one that is easy to find.
///
/// Numbers are brought nearer to the simplest value by bisection, first with their sign, then with the other; of
/// alternatives the first few are tried one by one.
pub(super) fn lower_index(
    s: &mut Shrinker<'_>,
    draw: &Draw,
    index: u64,
    mut probe: impl FnMut(&mut Shrinker<'_>, u64) -> Step<bool>,
) -> Step<()> {
    if is_number(draw) {
        let (simplest, value) = (simplest_value(draw), draw.number(index));
        let Ok(distance) = u64::try_from((value - simplest).abs()) else { return Ok(()) };
        let signed = |distance: u64, sign: i128| draw.index_of(simplest + sign * i128::from(distance));
        let sign = (value - simplest).signum();
        let mut probe = |s: &mut Shrinker<'_>, index: Option<u64>| index.map_or(Ok(false), |index| probe(s, index));
        let distance = lowest(s, distance, |s, distance| probe(s, signed(distance, sign)))?;
        // The value above is simpler than the value below, equally far away.
        if sign < 0 {
            probe(s, signed(distance, 1))?;
        }
        return Ok(());
    }
    let alternatives = if draw.kind == DrawKind::F64 { 0 } else { index.min(ALTERNATIVES_MAX) };
    for lower in 0..alternatives {
        if probe(s, lower)? {
            return Ok(());
        }
    }
    if index > alternatives {
        lowest(s, index, probe)?;
    }
    Ok(())
}

/// Calls `change` with the places of all pairs of numbers that are so many numbers apart, near ones first. It may
/// change the current stream.
pub(super) fn for_pairs(
    s: &mut Shrinker<'_>,
    apart_max: usize,
    mut change: impl FnMut(&mut Shrinker<'_>, usize, usize) -> Step<()>,
) -> Step<()> {
    for apart in 1..=apart_max {
        let mut first = 0;
        loop {
            let numbers: Vec<_> = {
                let current = s.current();
                (0..current.trace.draws.len()).filter(|at| is_number(&current.trace.draws[*at])).collect()
            };
            if first + apart >= numbers.len() {
                break;
            }
            change(s, numbers[first], numbers[first + apart])?;
            first += 1;
        }
    }
    Ok(())
}

/// The value that index 0 stands for.
pub(super) fn simplest_value(draw: &Draw) -> i128 {
    draw.bounds().2
}

/// `value`, if it is out of bounds by less than their width from the other end.
pub(super) fn wrapped(draw: &Draw, value: i128) -> i128 {
    let (lo, hi, _) = draw.bounds();
    let width = hi - lo + 1;
    if value > hi {
        value - width
    } else if value < lo {
        value + width
    } else {
        value
    }
}
