//! What takes little, by what is compared.

use super::super::probing::probe::{Probe, Problem, Solution, Solver, Step};
use super::super::seen::observed::Operands;
use super::{bytes, elsewhere, numbers, numerals, quads, resize, sums};

/// Tries what is most likely.
pub(in crate::engine::strategy::compares) fn glance(
    probe: &mut Probe<'_, '_>,
    problem: Problem<'_>,
) -> Step<Option<Solution>> {
    match &problem.goal.operands {
        Operands::Numbers { .. } => numbers::glance(probe, problem),
        Operands::Bytes { .. } => bytes::glance(probe, problem),
        Operands::Quads { .. } => Ok(None),
    }
}

/// Tries what is cheap.
pub(in crate::engine::strategy::compares) fn solve(
    probe: &mut Probe<'_, '_>,
    problem: Problem<'_>,
) -> Step<Option<Solution>> {
    match &problem.goal.operands {
        Operands::Numbers { .. } => {
            let solvers = [
                numbers::solve as Solver,
                sums::solve,
                numerals::solve,
                bytes::escape,
                elsewhere::behind,
                resize::solve,
            ];
            for solver in solvers {
                if let Some(solution) = solver(probe, problem)? {
                    return Ok(Some(solution));
                }
            }
            Ok(None)
        }
        Operands::Quads { .. } => quads::solve(probe, problem),
        Operands::Bytes { .. } => bytes::solve(probe, problem),
    }
}
