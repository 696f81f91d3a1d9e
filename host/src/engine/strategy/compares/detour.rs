//! Finds the way back to a goal that a candidate no longer gets to.
//!
//! A candidate that is right for its goal may be wrong for a check before it, where both read the same bytes, or what
//! was written ends or moves what the check reads. That check is a comparison on the way to the goal that turns out
//! otherwise for the candidate: it is solved in its turn, and what was written for the goal stays.

use super::hard::{DETOUR_EXECS, Hard, LOST_TRIED_MAX};
use super::probing::dependence::dependence;
use super::probing::probe::{Probe, Problem, Solution, Solver, Step};
use super::probing::way::Way;
use super::seen::observed::Observed;
use super::solve::elsewhere;
use super::solve::hidden::guesses;
use std::cmp::Reverse;

/// Candidates that got lost are kept for a goal up to this many that are as long as its input, and as many others.
const KEPT_MAX: usize = 24;
/// Checks of each that are solved.
const CHECKS_MAX: usize = 2;

/// Of the candidates for an input that got lost those that are kept: first those that leave all else where it was.
pub(super) fn kept(lost: Vec<Vec<u8>>, input: &[u8]) -> Vec<Vec<u8>> {
    let (mut kept, mut others): (Vec<_>, Vec<_>) =
        lost.into_iter().partition(|candidate| candidate.len() == input.len());
    kept.truncate(KEPT_MAX);
    others.truncate(KEPT_MAX);
    kept.append(&mut others);
    kept
}

/// Tries to reach a goal by other ways than through the bytes that its operands depend on as they are.
pub(super) fn around(probe: &mut Probe<'_, '_>, hard: &Hard, solve: Solver) -> Step<Option<Solution>> {
    if let Some(solution) = elsewhere::solve(probe, hard.problem())? {
        return Ok(Some(solution));
    }
    if let Some(solution) = detour(probe, hard, solve)? {
        return Ok(Some(solution));
    }
    hidden(probe, hard, solve)
}

/// Leads candidates that got lost back to their goal.
fn detour(probe: &mut Probe<'_, '_>, hard: &Hard, solve: Solver) -> Step<Option<Solution>> {
    if hard.lost.is_empty() {
        return Ok(None);
    }
    let way = Way::of(probe, &hard.input, &hard.goal)?;
    let mut lost = Vec::new();
    for candidate in hard.lost.iter() {
        lost.push((candidate, way.turned(probe, candidate)?));
    }
    // Those first that come nearest to the goal.
    lost.sort_by_key(|(_, turned)| Reverse(turned.last().map_or(0, |check| way.progress(check))));
    // No more than was thought, so that what comes behind has its turn.
    let spent_max = (LOST_TRIED_MAX as u64 * DETOUR_EXECS).saturating_mul(hard.fuel);
    let fuel = probe.fuel_left;
    for (candidate, turned) in lost.iter().take(LOST_TRIED_MAX) {
        if fuel - probe.fuel_left > spent_max {
            break;
        }
        let checks = turned.iter().rev().filter(|check| check.operands.wanted().is_some());
        for check in checks.take(CHECKS_MAX) {
            if let Some(solution) = back(probe, hard, (candidate, check), solve)? {
                return Ok(Some(solution));
            }
        }
    }
    Ok(None)
}

/// Writes what is wanted where an operand of a goal that nothing was seen to change seems to lie, and solves what is
/// checked before.
fn hidden(probe: &mut Probe<'_, '_>, hard: &Hard, solve: Solver) -> Step<Option<Solution>> {
    for dependence in guesses(hard.problem()) {
        probe.lost.clear();
        let guess = Problem { dependence: &dependence, ..hard.problem() };
        if let Some(solution) = solve(probe, guess)? {
            return Ok(Some(solution));
        }
        let lost = kept(std::mem::take(&mut probe.lost), &hard.input).into();
        if let Some(solution) = detour(probe, &Hard { dependence, lost, ..hard.clone() }, solve)? {
            return Ok(Some(solution));
        }
    }
    Ok(None)
}

/// Solves a check of a candidate without the bytes that were written for the goal.
fn back(
    probe: &mut Probe<'_, '_>,
    hard: &Hard,
    (candidate, check): (&[u8], &Observed),
    solve: Solver,
) -> Step<Option<Solution>> {
    let written: Vec<usize> = (0..candidate.len()).filter(|&at| hard.input.get(at) != Some(&candidate[at])).collect();
    let Some(mut found) = dependence(probe, candidate, std::slice::from_ref(check))?.pop() else { return Ok(None) };
    for places in found.sides.iter_mut().chain(found.content.iter_mut().flatten()) {
        places.retain(|at| written.binary_search(at).is_err());
    }
    if found.is_none() {
        return Ok(None);
    }
    let Some(solution) = solve(probe, Problem { input: candidate, goal: check, dependence: &found })? else {
        return Ok(None);
    };
    let Some(solved) = solution.input else { return probe.attempt_grown(&solution.executed, &hard.goal) };
    let mut rewritten = solved.clone();
    for &at in written.iter().take_while(|&&at| at < solved.len()) {
        rewritten[at] = candidate[at];
    }
    for input in [rewritten, solved] {
        match probe.attempt(&input, &hard.goal)? {
            Ok(solution) => return Ok(Some(solution)),
            // It is there again; what is shorter than it was may lack the places that it depends on.
            Err(Some(goal)) if input.len() >= hard.input.len() => {
                let problem = Problem { input: &input, goal: &goal, dependence: &hard.dependence };
                if let Some(solution) = solve(probe, problem)? {
                    return Ok(Some(solution));
                }
            }
            Err(_) => {}
        }
    }
    Ok(None)
}
