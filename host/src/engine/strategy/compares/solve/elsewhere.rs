//! Lets an operand be read from elsewhere.
//!
//! Where an operand lies may be said by the input, too: by an offset, or by the length of what comes before it. What
//! reached the goal first may have said that it lies on bytes that checks before it want as they are. Such a number
//! changes all bytes of the operand where others change one each, and by as much as it is changed the operand moves. So
//! it is changed by the way to another place, and what is wanted is written there.

use super::super::probing::probe::{Probe, Problem, Solution, Step};
use super::super::seen::observed::Operands;
use super::numbers;
use std::cmp::Reverse;

/// Numbers that may say where the operand lies.
const NUMBERS_MAX: usize = 4;
/// The same of those that are known by nothing but what they are.
const LITERALS_MAX: usize = 8;
/// Places where it may lie then.
const TARGETS_MAX: usize = 24;
/// Of these, those that are tried with numbers that count other units than bytes.
const SCALED_MAX: usize = 4;
/// Such units: of a byte, counted back from the end, and of several.
const UNITS: [i64; 4] = [1, -1, 2, 4];

/// Executions for a goal, about.
const EXECS: u64 = 128;

/// Writes what is wanted behind the input, if the operand is another one when that is longer.
pub(super) fn behind(probe: &mut Probe<'_, '_>, problem: Problem<'_>) -> Step<Option<Solution>> {
    let Problem { input, goal, dependence } = problem;
    let is_moved = |side: &usize| probe.form.is_plain() && dependence.by_length.iter().any(|slopes| slopes[*side] != 0);
    let wanted = (0..2).filter(is_moved).filter_map(|side| Wanted::of(problem, side));
    let longer = wanted.flat_map(|Wanted { wanted, .. }| {
        let reversed: Vec<u8> = wanted.iter().rev().copied().collect();
        let mut all = if reversed == wanted { vec![wanted] } else { vec![wanted, reversed] };
        // As a part of what is wider.
        if let [narrow] = &all[..]
            && narrow.len() == 1
        {
            all.extend([vec![narrow[0], 0], vec![0, narrow[0]]]);
        }
        all.into_iter().map(|wanted| [input, &wanted].concat())
    });
    probe.first(longer.collect::<Vec<_>>(), goal)
}

/// How many executions [`solve`] makes, about: how an operand lies is not looked for by who plans.
pub(in crate::engine::strategy::compares) fn execs(problem: Problem<'_>) -> u64 {
    if (0..2).any(|side| Wanted::of(problem, side).is_some()) { EXECS } else { 0 }
}

/// Moves an operand, and writes there what it is compared with.
pub(in crate::engine::strategy::compares) fn solve(
    probe: &mut Probe<'_, '_>,
    problem: Problem<'_>,
) -> Step<Option<Solution>> {
    for lying in (0..2).filter_map(|side| Lying::of(problem, side)) {
        let targets = lying.targets(problem.input, probe.form.is_plain());
        for &number in &lying.numbers {
            for unit in UNITS {
                let targets = if unit == 1 { &targets[..] } else { &targets[..targets.len().min(SCALED_MAX)] };
                let candidates = targets.iter().filter_map(|&target| lying.moved(problem.input, number, target, unit));
                if let Some(solution) = probe.first(candidates.collect::<Vec<_>>(), problem.goal)? {
                    return Ok(Some(solution));
                }
            }
        }
    }
    Ok(None)
}

/// The low bytes of numbers that are a place in the input, in either byte order, the last first.
fn literal(input: &[u8], place: usize) -> impl Iterator<Item = usize> {
    let low = move |(at, window): (usize, &[u8])| {
        let number = [window[0], window[1]];
        let is_it = |number: u16| usize::from(number) == place && place != 0;
        if is_it(u16::from_be_bytes(number)) { Some(at + 1) } else { is_it(u16::from_le_bytes(number)).then_some(at) }
    };
    input.windows(2).enumerate().rev().filter_map(low)
}

/// What a side is, and what it is to be, as bytes in memory.
struct Wanted {
    own: Vec<u8>,
    wanted: Vec<u8>,
}

impl Wanted {
    /// `None` if it is not held against a constant, to be equal.
    fn of(Problem { goal, dependence, .. }: Problem<'_>, side: usize) -> Option<Self> {
        let is_constant = dependence.sides[1 - side].is_empty();
        let mut wanted = goal.operands.bytes(1 - side).filter(|_| is_constant)?.into_owned();
        let mut own = goal.operands.bytes(side)?.into_owned();
        if let Operands::Numbers { .. } = goal.operands {
            // What is narrower than its type lies in its low bytes.
            let width = own.iter().zip(&wanted).rposition(|(own, wanted)| (own, wanted) != (&0, &0))? + 1;
            let width = width.next_power_of_two();
            wanted.truncate(width);
            own.truncate(width);
        }
        Some(Self { own, wanted })
    }
}

/// How an operand lies in the input.
struct Lying {
    /// From where on.
    start: usize,
    /// What is to lie there, in the order of the input.
    wanted: Vec<u8>,
    /// Last bytes of numbers that may say so.
    numbers: Vec<usize>,
}

impl Lying {
    /// How a side does; `None` if nothing else than its own bytes changes it, or it can't be what is wanted.
    fn of(problem: Problem<'_>, side: usize) -> Option<Self> {
        let Wanted { own, mut wanted } = Wanted::of(problem, side)?;
        let Problem { input, dependence, .. } = problem;
        let width = wanted.len();
        if width < 2 || input.len() < width {
            return None;
        }
        let content = &dependence.content[side];
        let changes = |at: usize| content.iter().filter(|places| places.contains(&at)).count();
        let lie = |&(start, reversed): &(usize, bool)| {
            let place = |index: usize| if reversed { start + width - 1 - index } else { start + index };
            let is_own = |index: usize, at: usize| content.get(index).is_some_and(|places| places.contains(&at));
            let is_seen = |index: usize| is_own(index, place(index)) && changes(place(index)) == 1;
            let looks = |index: usize| own.get(index) == Some(&input[place(index)]);
            let count = |is_so: &dyn Fn(usize) -> bool| (0..width).filter(|&index| is_so(index)).count();
            (count(&is_seen), count(&looks))
        };
        // Of those that are most like it the first.
        let all = (0..=input.len() - width).flat_map(|start| [(start, false), (start, true)]);
        let likeness = |lying: &(usize, bool)| {
            let (seen, alike) = lie(lying);
            seen + alike
        };
        let (start, reversed) = all.rev().max_by_key(likeness)?;
        // Bytes that a check before it wants as they are can't be seen to change it.
        let (seen, alike) = lie(&(start, reversed));
        if seen < 2 && (alike < width || own.iter().all(|&byte| byte == own[0])) {
            return None;
        }
        if reversed {
            wanted.reverse();
        }
        let lying = start..start + width;
        let mut numbers: Vec<_> = dependence.sides[side].clone();
        numbers.retain(|&at| !lying.contains(&at) || changes(at) > 1);
        // Those that change most of it first.
        numbers.sort_by_key(|&at| Reverse(changes(at)));
        numbers.truncate(NUMBERS_MAX);
        // Where it was not seen what changes it, what says so may lie there as it is.
        numbers.extend(literal(input, start).filter(|at| !lying.contains(at)).take(LITERALS_MAX));
        (!numbers.is_empty()).then_some(Self { start, wanted, numbers })
    }

    /// Where it could lie: at the end, behind it, and in all other parts of the input.
    fn targets(&self, input: &[u8], may_grow: bool) -> Vec<usize> {
        let width = self.wanted.len();
        let end = input.len().saturating_sub(width);
        let step = (end / (TARGETS_MAX - 2)).max(width);
        let behind = may_grow.then_some(input.len());
        let mut targets: Vec<_> = [end].into_iter().chain(behind).chain((0..end).rev().step_by(step)).collect();
        targets.retain(|target| target.abs_diff(self.start) >= width);
        targets.truncate(TARGETS_MAX);
        targets
    }

    /// The input with what is wanted at `target`, to where the number at a place leads then, which counts `unit`s.
    fn moved(&self, input: &[u8], number: usize, target: usize, unit: i64) -> Option<Vec<u8>> {
        let by = i64::try_from(target).ok()? - i64::try_from(self.start).ok()?;
        if by % unit != 0 {
            return None;
        }
        let mut moved = input.to_vec();
        numbers::add(&mut moved, number, by / unit)?;
        let end = target + self.wanted.len();
        moved.resize(moved.len().max(end), 0);
        moved[target..end].copy_from_slice(&self.wanted);
        Some(moved)
    }
}
