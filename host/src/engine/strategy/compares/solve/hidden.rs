//! Goals under a checksum that is held against a constant, as the Internet's is: each change of what they depend on
//! leads elsewhere, and there is no field that could be written anew.
//!
//! Where an operand lies in the input as it is, that is where it comes from, most likely. What is wanted is written
//! there, and the checks that fail then are solved with other bytes ([`hidden`](super::super::detour::hidden)).

use super::super::input::literal::lying;
use super::super::input::places::Dependence;
use super::super::probing::probe::Problem;
use super::super::seen::number::significant_bytes;
use super::super::seen::observed::Operands;

/// Places where an operand lies that are tried; one that lies in more lies there by chance.
const GUESSES_MAX: usize = 4;
/// Executions for each, about.
const GUESS_EXECS: u64 = 1024;

/// About how many executions it takes to try them.
pub(in crate::engine::strategy::compares) fn execs(problem: Problem<'_>) -> u64 {
    GUESS_EXECS * guesses(problem).len() as u64
}

/// What a goal that nothing was seen to change may depend on.
pub(in crate::engine::strategy::compares) fn guesses(
    Problem { input, goal, dependence }: Problem<'_>,
) -> Vec<Dependence> {
    let Operands::Numbers { ty, sides, .. } = goal.operands else { return Vec::new() };
    if ty.is_float() || !dependence.is_none() || dependence.held.is_empty() {
        return Vec::new();
    }
    let mut guesses = Vec::new();
    for (side, number) in sides.into_iter().enumerate().filter(|(_, number)| *number != 0) {
        let width = significant_bytes(number).next_power_of_two();
        let little = &number.to_le_bytes()[..width];
        let starts: Vec<_> = lying(input, little).take(GUESSES_MAX + 1).collect();
        if starts.len() <= GUESSES_MAX {
            guesses.extend(starts.into_iter().map(|start| {
                let mut guess = Dependence { away: dependence.away.clone(), ..Dependence::default() };
                guess.sides[side] = (start..start + width).collect();
                guess
            }));
        }
    }
    guesses.truncate(GUESSES_MAX);
    guesses
}
