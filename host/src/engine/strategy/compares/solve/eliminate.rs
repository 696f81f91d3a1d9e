//! Moves numbers of the input together, so that all that is checked before the goal stays as it is.
//!
//! Where a total is checked, and a difference, and what is wanted now depends on the same numbers, none of them can be
//! moved alone. So each byte is moved by one, which shows the check that this breaks, and by how much; bytes that count
//! 256 times as much as their neighbour, or as digits ten times, are one number. Of two numbers that break the same
//! check a combination doesn't: it is moved in turn, and shows what it breaks then. That is Gauss' elimination, where
//! the guest has the matrix. What breaks nothing is moved as far as the goal needs, or as it gets.

use super::super::input::places::Dependence;
use super::super::probing::probe::{Probe, Problem, Solution, Step};
use super::super::probing::repair::Guard;
use super::super::probing::way::Way;
use super::super::seen::observed::{Operands, Place};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// Bytes that are moved.
const PLACES_MAX: usize = 48;
/// Candidates for each of them.
const CANDIDATES: usize = 24;
/// Bytes of a number.
const NUMBER_BYTES_MAX: usize = 8;
/// So many checks are kept by one combination.
const CHECKS_MAX: usize = 8;
/// A number is moved by no more than so many times the least.
const FACTOR_MAX: i128 = 1 << 20;
/// How often all that breaks nothing is moved.
const WALKS: usize = 4;
/// How often one of two combinations is moved at most to let the other come to what is wanted exactly, and how many of
/// these there are for two.
const TIMES_MAX: i128 = 32;
const TOGETHER_MAX: usize = 8;
/// How often numbers wrap.
const WRAPS: [i128; 4] = [1, -1, 2, -2];

/// How many executions [`solve`] is thought to make.
pub(super) fn execs(problem: Problem<'_>) -> u64 {
    places(problem, &[]).map_or(0, |places| (CANDIDATES * places.len()) as u64)
}

/// Moves what can be moved without breaking a check: with what is kept true by repairs as it is, and if that is of no
/// use without repairs, since a number that is always written anew moves nowhere.
pub(super) fn solve(probe: &mut Probe<'_, '_>, problem: Problem<'_>) -> Step<Option<Solution>> {
    let mut way = None;
    let solution = eliminate(probe, problem, &[], &mut way)?;
    if solution.is_some() || probe.guards.is_empty() {
        return Ok(solution);
    }
    let guards = std::mem::take(&mut probe.guards);
    let solution = eliminate(probe, problem, &guards, &mut way);
    probe.guards = guards;
    solution
}

/// Moves what can be moved, also what guards held.
fn eliminate(
    probe: &mut Probe<'_, '_>,
    problem: Problem<'_>,
    held: &[Guard],
    way: &mut Option<Way>,
) -> Step<Option<Solution>> {
    let (Some(places), Some(lacks)) = (places(problem, held), problem.goal.operands.lacks(0)) else { return Ok(None) };
    let way = match way {
        Some(way) => way,
        None => way.insert(Way::of(probe, problem.input, problem.goal)?),
    };
    let left = CANDIDATES * places.len();
    let numbers = places.into_iter().map(|at| Number { bytes: at..at + 1, base: Base::Bytes }).collect();
    let mut elimination = Elimination { probe, problem, way, numbers, left };
    match elimination.free()? {
        Free::Solved(solution) => Ok(Some(*solution)),
        Free::Moves(moves) => elimination.walk(&moves, lacks.into()),
    }
}

/// All bytes that have to do with a goal; `None` if they are too few or too many.
fn places(problem: Problem<'_>, held: &[Guard]) -> Option<Vec<usize>> {
    let Dependence { sides, away, .. } = problem.dependence;
    let mut places: Vec<_> = sides.iter().flatten().chain(away).copied().collect();
    places.extend(held.iter().flat_map(|guard| guard.field.clone()));
    places.retain(|&place| place < problem.input.len());
    places.sort_unstable();
    places.dedup();
    (2..=PLACES_MAX).contains(&places.len()).then_some(places)
}

/// How the bytes of a number are put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Base {
    /// The first counts least.
    Bytes,
    BigEndian,
    Decimal,
}

/// Bytes that are a number.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Number {
    bytes: Range<usize>,
    base: Base,
}

/// What becomes of what a number has no room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Carry {
    /// It must have room.
    Room,
    /// It wraps, as numbers of four bytes or eight do.
    Wraps,
    /// Bytes that follow are a part of it, or those before it: who changes these alone is led elsewhere and doesn't see
    /// that.
    Little,
    Big,
    /// Digits get more of them.
    Digits,
}

impl Carry {
    const ALL: [Self; 5] = [Self::Room, Self::Wraps, Self::Little, Self::Big, Self::Digits];
}

impl Number {
    /// Adds so much to the number in an input; `false` if there is no room for that.
    fn add(&self, input: &mut Vec<u8>, by: i128, carry: Carry) -> bool {
        let Self { bytes: Range { start, end }, base } = self.clone();
        if carry == Carry::Digits {
            return self.add_digits(input, by);
        }
        let room = if base == Base::Decimal { 0 } else { NUMBER_BYTES_MAX.saturating_sub(end - start) };
        let beyond = match carry {
            Carry::Little if base == Base::Bytes => end..(end + room).min(input.len()),
            Carry::Big if base == Base::BigEndian || end - start == 1 => start.saturating_sub(room)..start,
            _ => 0..0,
        };
        let (radix, zero) = if base == Base::Decimal { (10, b'0') } else { (256, 0) };
        let mut left = by;
        let mut put = |byte: &mut u8| {
            let digit = i128::from(*byte) - i128::from(zero) + left;
            *byte = zero + digit.rem_euclid(radix) as u8;
            left = digit.div_euclid(radix);
            left != 0
        };
        if base == Base::Bytes {
            input[start..end].iter_mut().for_each(|byte| _ = put(byte));
        } else {
            input[start..end].iter_mut().rev().for_each(|byte| _ = put(byte));
        }
        // No more of them than are needed.
        if carry == Carry::Big {
            input[beyond].iter_mut().rev().all(put);
        } else {
            input[beyond].iter_mut().all(put);
        }
        let wraps = carry == Carry::Wraps && base != Base::Decimal && matches!(end - start, 4 | 8);
        left == 0 || wraps
    }

    /// Adds so much to a number of digits, which may get more of them; `false` if it is none, or becomes less than 0.
    fn add_digits(&self, input: &mut Vec<u8>, by: i128) -> bool {
        let text = std::str::from_utf8(&input[self.bytes.clone()]).unwrap_or_default();
        let number = text.parse::<u32>().ok().and_then(|number| u64::try_from(i128::from(number) + by).ok());
        let Some(number) = number else { return false };
        input.splice(self.bytes.clone(), format!("{number:0width$}", width = self.bytes.len()).into_bytes());
        true
    }

    /// Whether it goes on so.
    fn fits(&self, base: Base) -> bool {
        self.bytes.len() == 1 || base == self.base
    }
}

/// By number, how far it is moved.
type Move = Vec<i128>;

/// What a move does where it is seen: to the goal, or to the check that it breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Effect {
    place: Place,
    by: i128,
}

/// What breaks no check.
enum Free {
    Solved(Box<Solution>),
    /// With what the goal lacks less by.
    Moves(Vec<(Move, i128)>),
}

/// What a move showed.
enum Shown {
    Solved(Box<Solution>),
    Effect(Effect),
    Nothing,
}

struct Elimination<'e, 'r, 'a, 'p> {
    probe: &'e mut Probe<'r, 'a>,
    problem: Problem<'p>,
    way: &'e Way,
    numbers: Vec<Number>,
    /// Candidates that may still be executed.
    left: usize,
}

impl Elimination<'_, '_, '_, '_> {
    /// The moves that break nothing and change what the goal lacks.
    fn free(&mut self) -> Step<Free> {
        let mut effects = Vec::new();
        for number in 0..self.numbers.len() {
            match self.shown(&unit(number, self.numbers.len()))? {
                Shown::Solved(solution) => return Ok(Free::Solved(solution)),
                Shown::Effect(effect) => effects.push(Some(effect)),
                Shown::Nothing => effects.push(None),
            }
        }
        let (numbers, effects) = joined(self.problem.input, &self.numbers, &effects);
        let units = (0..numbers.len()).map(|number| unit(number, numbers.len()));
        let mut open: VecDeque<_> = units.zip(effects).map(|(unit, effect)| (unit, effect, 0)).collect();
        self.numbers = numbers;
        let (mut free, mut breaking): (_, BTreeMap<Place, Vec<(Move, i128)>>) = (Vec::new(), BTreeMap::new());
        while let Some((one, effect, checks)) = open.pop_front() {
            let effect = match effect {
                Some(effect) => effect,
                None if checks == 0 => continue,
                None => match self.shown(&one)? {
                    Shown::Solved(solution) => return Ok(Free::Solved(solution)),
                    Shown::Effect(effect) => effect,
                    Shown::Nothing => continue,
                },
            };
            if effect.by == 0 {
                continue;
            }
            if effect.place == self.problem.goal.place {
                free.push((one, effect.by));
                continue;
            }
            let others = breaking.entry(effect.place).or_default();
            // Those that count as much need no factor.
            let other = others.iter().min_by_key(|(_, by)| (by.abs() != effect.by.abs(), effect.by % by != 0));
            if let Some((other, by)) = other.filter(|_| checks < CHECKS_MAX) {
                open.extend(combined((&one, effect.by), (other, *by)).map(|both| (both, None, checks + 1)));
            }
            others.push((one, effect.by));
        }
        Ok(Free::Moves(free))
    }

    /// Executes the input with numbers moved so, or the other way where that brings nothing but another order.
    fn shown(&mut self, one: &[i128]) -> Step<Shown> {
        let goal = self.problem.goal;
        let mut broken = None;
        for sign in [1, -1] {
            let Some(candidate) = self.moved(self.problem.input, one, (sign, Carry::Room)) else { continue };
            let Some(left) = self.left.checked_sub(1) else { break };
            self.left = left;
            match self.probe.attempt(&candidate, goal)? {
                Ok(solution) => return Ok(Shown::Solved(Box::new(solution))),
                Err(Some(observed)) => {
                    let lacks = goal.operands.lacks(0).zip(observed.operands.lacks(0));
                    let by = lacks.map(|(before, now)| sign * (i128::from(before) - i128::from(now)));
                    let effect = by.map(|by| Effect { place: goal.place, by });
                    return Ok(effect.map_or(Shown::Nothing, Shown::Effect));
                }
                Err(None) => {}
            }
            let Some(check) = self.way.turned(self.probe, &candidate)?.into_iter().next() else { continue };
            let lacks = self.way.operands(check.place).and_then(|before| before.lacks(0).zip(check.operands.lacks(0)));
            let Some((before, now)) = lacks else { continue };
            broken = Some(Effect { place: check.place, by: sign * (i128::from(before) - i128::from(now)) });
            if check.operands.is_for_equality() {
                break;
            }
        }
        Ok(broken.map_or(Shown::Nothing, Shown::Effect))
    }

    /// Moves from the input towards the goal.
    fn walk(&mut self, free: &[(Move, i128)], mut lacks: i128) -> Step<Option<Solution>> {
        let mut current = self.problem.input.to_vec();
        for _ in 0..WALKS {
            let before = lacks;
            for (one, by) in free {
                // What is to be less has to go one further, which is all if it is equal.
                let mut times = [lacks / by, lacks / by + lacks.signum() * by.signum()];
                if lacks == 0 {
                    times = [1, -1];
                }
                while times[1] != 0 {
                    for times in times {
                        if let Some(solution) = self.step(&mut current, &mut lacks, (one, times))? {
                            return Ok(Some(solution));
                        }
                    }
                    times = if times[0] == 0 { [0; 2] } else { times.map(|times| times / 2) };
                }
            }
            if let Some(solution) = self.exactly(&current, free, lacks)? {
                return Ok(Some(solution));
            }
            if lacks == before {
                break;
            }
        }
        Ok(None)
    }

    /// Moves so often, and stays there if that is nearer.
    fn step(
        &mut self,
        current: &mut Vec<u8>,
        lacks: &mut i128,
        (one, times): (&[i128], i128),
    ) -> Step<Option<Solution>> {
        // What is drawn has no places to grow.
        let carries = if self.probe.form.is_plain() { &Carry::ALL[..] } else { &[Carry::Room, Carry::Wraps] };
        for &carry in carries {
            let Some(candidate) = self.moved(current, one, (times, carry)).filter(|_| times != 0) else { continue };
            let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
            self.left = left;
            let observed = match self.probe.attempt(&candidate, self.problem.goal)? {
                Ok(solution) => return Ok(Some(solution)),
                Err(observed) => observed,
            };
            let now = observed.and_then(|observed| observed.operands.lacks(0)).map(i128::from);
            // Where something grew the numbers are elsewhere.
            if let Some(now) = now.filter(|now| now.abs() < lacks.abs() && candidate.len() == current.len()) {
                (*current, *lacks) = (candidate, now);
                break;
            }
            // There was room, unless what looks like a byte is a digit.
            if carry == Carry::Room && !self.is_of_digits(current, one) {
                break;
            }
        }
        Ok(None)
    }

    /// Whether all that is moved are digits.
    fn is_of_digits(&self, input: &[u8], one: &[i128]) -> bool {
        let mut moved = self.numbers.iter().zip(one).filter(|(_, by)| **by != 0);
        moved.all(|(number, _)| input[number.bytes.clone()].iter().all(u8::is_ascii_digit))
    }

    /// Moves one alone, where numbers wrap, or two together, so that what they do is what is lacked.
    fn exactly(&mut self, current: &[u8], free: &[(Move, i128)], lacks: i128) -> Step<Option<Solution>> {
        let bits = if let Operands::Numbers { ty, .. } = self.problem.goal.operands { ty.bits() } else { 0 };
        for (at, (one, by)) in free.iter().enumerate() {
            let wraps = WRAPS.map(|wraps| lacks + (wraps << bits)).into_iter();
            let alone = wraps.filter(|lacks| lacks % by == 0).map(|lacks| scaled(one, lacks / by));
            let together = free[at + 1..].iter().flat_map(|(other, other_by)| {
                let times = (1..=TIMES_MAX).flat_map(|times| [times, -times]);
                let exact = times.filter(move |times| (lacks - times * by) % other_by == 0).take(TOGETHER_MAX);
                exact.map(move |times| {
                    let other = scaled(other, (lacks - times * by) / other_by);
                    scaled(one, times).iter().zip(&other).map(|(one, other)| one + other).collect()
                })
            });
            for both in alone.chain(together) {
                if let Some(solution) = self.step(&mut current.to_vec(), &mut lacks.clone(), (&both, 1))? {
                    return Ok(Some(solution));
                }
            }
        }
        Ok(None)
    }

    /// An input with its numbers moved so often; `None` if there is no room for that.
    fn moved(&self, input: &[u8], one: &[i128], (times, carry): (i128, Carry)) -> Option<Vec<u8>> {
        let mut moved = input.to_vec();
        // What is behind doesn't move what is before.
        let mut by = self.numbers.iter().zip(one).rev().filter(|(_, by)| **by != 0);
        by.all(|(number, by)| by.checked_mul(times).is_some_and(|by| number.add(&mut moved, by, carry)))
            .then_some(moved)
    }
}

/// A move that is made so often.
fn scaled(one: &[i128], times: i128) -> Move {
    one.iter().map(|by| by.saturating_mul(times)).collect()
}

/// One number moved by one, of so many.
fn unit(number: usize, numbers: usize) -> Move {
    (0..numbers).map(|other| i128::from(other == number)).collect()
}

/// Two moves that break the same check by so much as one that doesn't, with factors as small as they can be; `None` if
/// these are too large.
fn combined((one, by): (&[i128], i128), (other, other_by): (&[i128], i128)) -> Option<Move> {
    let divisor = divisor(by, other_by);
    let both: Move = one.iter().zip(other).map(|(one, other)| (one * other_by - other * by) / divisor).collect();
    both.iter().all(|by| by.abs() <= FACTOR_MAX).then_some(both)
}

/// The greatest common divisor.
fn divisor(one: i128, other: i128) -> i128 {
    if other == 0 { one.abs().max(1) } else { divisor(other, one % other) }
}

/// The numbers that bytes are, by what each does when it is one more.
fn joined(input: &[u8], bytes: &[Number], effects: &[Option<Effect>]) -> (Vec<Number>, Vec<Option<Effect>>) {
    let mut joined: Vec<(Number, Option<Effect>)> = Vec::new();
    for (index, (byte, effect)) in bytes.iter().zip(effects).enumerate() {
        let before = index.checked_sub(1).filter(|&before| bytes[before].bytes.end == byte.bytes.start);
        let base = before.and_then(|before| base(input, byte.bytes.start, (effects[before]?, (*effect)?)));
        match (joined.last_mut(), base) {
            (Some((number, own)), Some(base)) if number.fits(base) => {
                number.bytes.end += 1;
                number.base = base;
                // The byte that counts least says what one more does.
                if base != Base::Bytes {
                    *own = *effect;
                }
            }
            _ => joined.push((byte.clone(), *effect)),
        }
    }
    joined.into_iter().unzip()
}

/// How a byte goes on with a number that ends before it, by what the byte before it and it itself do.
fn base(input: &[u8], at: usize, (before, effect): (Effect, Effect)) -> Option<Base> {
    let are_digits = input[at - 1].is_ascii_digit() && input[at].is_ascii_digit();
    match (before.by, effect.by) {
        _ if before.place != effect.place || effect.by == 0 => None,
        (before, by) if by == 256 * before => Some(Base::Bytes),
        (before, by) if before == 256 * by => Some(Base::BigEndian),
        (before, by) if before == 10 * by && are_digits => Some(Base::Decimal),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_carries_and_no_more_room_than_their_bytes() {
        let add = |bytes: &[u8], base, by| {
            let mut input = bytes.to_vec();
            Number { bytes: 0..bytes.len(), base }.add(&mut input, by, Carry::Room).then_some(input)
        };
        assert_eq!(add(&[255, 1], Base::Bytes, 2), Some(vec![1, 2]));
        assert_eq!(add(&[1, 255], Base::BigEndian, 2), Some(vec![2, 1]));
        assert_eq!(add(b"199", Base::Decimal, -100), Some(b"099".to_vec()));
        assert_eq!(add(b"199", Base::Decimal, -200), None);
        assert_eq!(add(&[255, 255], Base::Bytes, 1), None);
    }

    #[test]
    fn what_has_no_room_wraps_or_goes_on_beside_it() {
        let add = |bytes: Range<usize>, carry, by| {
            let mut input = vec![1, 0, 255, 0, 255, 255];
            Number { bytes, base: Base::Bytes }.add(&mut input, by, carry).then_some(input)
        };
        assert_eq!(add(2..3, Carry::Little, 1), Some(vec![1, 0, 0, 1, 255, 255]));
        assert_eq!(add(2..3, Carry::Big, 1), Some(vec![1, 1, 0, 0, 255, 255]));
        assert_eq!(add(2..6, Carry::Wraps, 0x100), Some(vec![1, 0, 255, 1, 255, 255]));
        assert_eq!(add(2..6, Carry::Wraps, 0x1_0000), Some(vec![1, 0, 255, 0, 0, 0]));
        assert_eq!(add(1..3, Carry::Wraps, 1 << 16), None, "no number that wraps has so many bytes");
        let mut text = b"a=7;".to_vec();
        let digit = Number { bytes: 2..3, base: Base::Bytes };
        assert!(digit.add(&mut text, 93, Carry::Digits) && text == b"a=100;");
        assert!(
            !digit.add(&mut b"a=7;".to_vec(), -8, Carry::Digits) && !digit.add(&mut b"a=x;".to_vec(), 1, Carry::Digits)
        );
    }

    #[test]
    fn bytes_that_count_as_neighbours_do_are_one_number() {
        let place = |site| Place { site, occurrence: 0, target: 0 };
        let effects = |all: &[(u32, i128)]| -> Vec<_> {
            all.iter().map(|&(site, by)| Some(Effect { place: place(site), by })).collect()
        };
        let input = [b'1'; 8];
        let bytes: Vec<_> = (0..8).map(|at| Number { bytes: at..at + 1, base: Base::Bytes }).collect();
        let shown = effects(&[(1, 1), (1, 256), (1, 1), (2, 256), (1, -256), (1, -1), (1, 10), (1, 1)]);
        let (numbers, effects) = joined(&input, &bytes, &shown);
        let found: Vec<_> = numbers.iter().map(|number| (number.bytes.clone(), number.base)).collect();
        let expected = [
            (0..2, Base::Bytes),
            (2..3, Base::Bytes),
            (3..4, Base::Bytes),
            (4..6, Base::BigEndian),
            (6..8, Base::Decimal),
        ];
        assert_eq!(found, expected);
        assert_eq!(effects.into_iter().map(|effect| effect.unwrap().by).collect::<Vec<_>>(), [1, 1, 256, -1, 1]);
    }

    #[test]
    fn combinations_break_nothing_with_small_factors() {
        assert_eq!(combined((&[1, 0], 6), (&[0, 1], 4)), Some(vec![2, -3]));
        assert_eq!(combined((&[1, 0], 1), (&[0, 1], -1)), Some(vec![-1, -1]));
        assert_eq!(combined((&[1, 0], 1), (&[0, 1], 1 << 40)), None);
    }
}
