//! What no place of the input leads to by itself: how many of something there are, how deep it is nested, how much of
//! it is right. Where a number of the input's is still away from what it is compared with, mutants of the input are
//! executed as havoc makes them, and whichever comes nearer is gone on from: so features of how near executions come
//! would lead there (libFuzzer's value profile), but only for what nobody has seen otherwise, and as long as it is.

use super::super::probing::probe::{End, Probe, Problem, Solution, Step};
use super::super::seen::observed::{Observed, Operands};
use super::super::seen::table;
use crate::engine::rng::Rng;
use fuzzbox_instrument::trace::{Event, Trace};
use std::collections::BTreeMap;

/// Executions in which something comes nearer, or it is given up; as many more for each time that it was in vain.
const PATIENCE: u64 = 1024;
/// Executions at most.
const EXECS_MAX: u64 = 8192;
/// What is farther away is no number of anything: chance comes nearer to it, too.
const DISTANCE_MAX: u64 = 1 << 16;

/// What counts does so at least so often.
const COUNTED_MIN: usize = 4;

/// How many executions [`climb`] is thought to make.
pub(in crate::engine::strategy::compares) fn execs(problem: Problem<'_>) -> u64 {
    if distance(&problem.goal.operands).is_some() { PATIENCE } else { 0 }
}

/// Makes a mutant in place, of so many bytes at most.
pub(in crate::engine::strategy::compares) type Mutate<'a> = dyn Fn(&mut Vec<u8>, usize, &mut Rng) + 'a;

/// Where it led.
pub(in crate::engine::strategy::compares) enum Climbed {
    Solved(Solution),
    /// This comes nearer, and how it turns out there.
    Nearer(Vec<u8>, Observed),
    Nowhere,
}

/// Climbs from an input, whose bytes are executed as they are. What it did is a function of the problem, and of how
/// often something at its site was tried in vain: then other mutants are made.
pub(in crate::engine::strategy::compares) fn climb(
    probe: &mut Probe<'_, '_>,
    problem: Problem<'_>,
    (mutate, failed): (&Mutate<'_>, u32),
) -> Step<Climbed> {
    let Problem { input, goal, .. } = problem;
    let first = probe.execute(input)?;
    let Some(mut reached) = nearest(&first.trace, goal).filter(|near| near.distance > 0) else {
        return Ok(Climbed::Nowhere);
    };
    let before = reached.distance;
    let mut rng = Rng::of_task(table::key([goal.place.site.into(), before, input.len() as u64]), failed.into(), 0);
    let mut best = input.to_vec();
    let mut last = 0;
    for number in 1..=EXECS_MAX {
        if number - last > PATIENCE.saturating_mul(u64::from(failed) + 1) {
            break;
        }
        let mut candidate = best.clone();
        mutate(&mut candidate, probe.len_max, &mut rng);
        let shown = match probe.execute(&candidate) {
            Err(End::Spent) => break,
            shown => shown?,
        };
        let Some(near) = nearest(&shown.trace, goal) else { continue };
        if near.distance == 0 {
            return Ok(Climbed::Solved(Solution { input: Some(candidate.clone()), executed: candidate, shown }));
        }
        // Of what is as near the shorter: there is room for more.
        let is_better = (near.distance, candidate.len()) < (reached.distance, best.len());
        if is_better && shown.ended_well {
            if near.distance < reached.distance {
                last = number;
            }
            (best, reached) = (candidate, near);
        }
    }
    let goal = Observed { operands: reached.operands, ..goal.clone() };
    Ok(if reached.distance < before { Climbed::Nearer(best, goal) } else { Climbed::Nowhere })
}

/// How near an execution came.
struct Near {
    /// 0 if the comparison turned out otherwise.
    distance: u64,
    operands: Operands,
}

/// The last comparison of each site that comes nearer to turning out otherwise each time it is made, as what counts, or
/// is called by itself, does.
pub(in crate::engine::strategy::compares) fn counted(observed: &[Observed]) -> Vec<&Observed> {
    let mut sites: BTreeMap<u32, Vec<&Observed>> = BTreeMap::new();
    for one in observed.iter().filter(|one| one.place.target == 0 && !one.place.is_boundary()) {
        sites.entry(one.place.site).or_default().push(one);
    }
    let comes_nearer = |site: &Vec<&Observed>| {
        site.len() >= COUNTED_MIN
            && site.windows(2).all(|two| match [two[0], two[1]].map(|one| distance(&one.operands)) {
                [Some(before), Some(after)] => after < before && two[0].operands.outcome() == two[1].operands.outcome(),
                _ => false,
            })
    };
    sites.into_values().filter(comes_nearer).filter_map(|site| site.last().copied()).collect()
}

/// The nearest of all comparisons of an execution at the goal's site, however many there are.
fn nearest(trace: &Trace, goal: &Observed) -> Option<Near> {
    let near = |event: &Event| {
        let operands = Operands::of(event)?;
        let distance = if operands.outcome() == goal.operands.outcome() { distance(&operands)? } else { 0 };
        Some(Near { distance, operands })
    };
    let own = trace.records.iter().filter(|record| record.site == goal.place.site);
    own.filter_map(|record| near(&record.event)).min_by_key(|near| near.distance)
}

/// Whether one comparison is nearer to turning out otherwise than another.
pub(in crate::engine::strategy::compares) fn is_nearer(one: &Observed, other: &Observed) -> bool {
    distance(&one.operands) < distance(&other.operands)
}

/// Whether a comparison is one that was counted: the last of many.
pub(in crate::engine::strategy::compares) fn is_counted(goal: &Observed) -> bool {
    goal.place.occurrence as usize + 1 >= COUNTED_MIN
}

/// Whether something can come nearer to letting a comparison turn out otherwise.
pub(in crate::engine::strategy::compares) fn is_near(goal: &Observed) -> bool {
    distance(&goal.operands).is_some()
}

/// How far integers are from turning out otherwise, at least 1, if that is not too far; of texts how much is behind
/// what is right.
fn distance(operands: &Operands) -> Option<u64> {
    let (ty, [left, right]) = match operands {
        Operands::Numbers { ty, sides, .. } => (ty, sides),
        Operands::Quads { .. } => return None,
        Operands::Bytes { .. } => return operands.wrong_bytes().map(|wrong| wrong + 1),
    };
    let distance = ty.signed(*left).abs_diff(ty.signed(*right)) + 1;
    (!ty.is_float() && distance <= DISTANCE_MAX).then_some(distance)
}
