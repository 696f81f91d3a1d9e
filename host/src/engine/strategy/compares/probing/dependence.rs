//! Which bytes of an input an operand depends on: those with which it changes.
//!
//! Bytes are replaced by others of the same class, so that what reads them goes on as it did (RedQueen calls it
//! colourising; here one sees which records change as well, so the places of an operand are known and need not look
//! like it). What a byte of its class does not change may change with another one. Longer inputs are replaced in
//! blocks, which are halved where something changes.

use super::super::input::places::Dependence;
use super::super::seen::observed::{Observed, Operands, Place};
use super::super::seen::table;
use super::combined;
use super::probe::{End, Probe, Step, TracedExecution};
use super::repair::Guard;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Inputs up to this length are changed byte by byte at once.
const SINGLE_BYTES_MAX: usize = 16;
/// Longer ones begin with blocks, so many at most, of so many bytes at least.
const BLOCKS: usize = 64;
const BLOCK_BYTES_MIN: usize = 8;
/// Inputs of more bytes are not always begun with at their beginning.
const ROTATED_BYTES_MIN: usize = 128;
/// What an input is made longer by, in bytes.
const WIDTHS: [i64; 3] = [1, 2, 4];
/// Places that are looked at once more for what nothing was seen to change.
const AWAY_MAX: usize = 24;
/// Checks one behind the other that are found.
const CHECKS_IN_TURN_MAX: usize = 4;
/// Executions for one input at most.
const EXECS_MAX: usize = 1024;

/// About how many executions it takes to look at an input of so many bytes.
pub(in crate::engine::strategy::compares) fn execs(bytes: usize) -> u64 {
    EXECS_MAX.min(2 * bytes) as u64
}

/// Finds what the operands of `goals`, as they are for `input`, depend on, and repairs inputs that don't get there: as
/// much of it as what may be spent tells.
pub(in crate::engine::strategy::compares) fn dependence(
    probe: &mut Probe<'_, '_>,
    input: &[u8],
    goals: &[Observed],
) -> Step<Vec<Dependence>> {
    let found = Effects::new(goals);
    let mut look = Look { probe, input, goals, found, left: EXECS_MAX, away: Vec::new() };
    match look.all() {
        Ok(()) | Err(End::Spent) => Ok(look.found.finish()),
        Err(failed) => Err(failed),
    }
}

/// What comparisons of an input depend on, of which the first are `goals`, and which goals nothing was seen to change
/// at first. The others are between equals: which of them must stay so is known to `probe` afterwards. What changes
/// nothing may have led elsewhere, so it is looked at again with what was found to be checked repaired, which may show
/// what is checked behind.
pub(in crate::engine::strategy::compares) fn behind_checks(
    probe: &mut Probe<'_, '_>,
    input: &[u8],
    all: &[Observed],
    goals: usize,
) -> Step<(Vec<Dependence>, Vec<usize>)> {
    probe.guards.clear();
    let mut found = dependence(probe, input, all)?;
    (probe.guards, probe.constants) = Guard::all(all.iter().zip(&found), input);
    let hidden: Vec<_> = (0..goals).filter(|&goal| found[goal].is_none()).collect();
    let (mut looked_at, mut combined) = (Vec::new(), Vec::new());
    for _ in 0..CHECKS_IN_TURN_MAX {
        // What changes with the length alone may be compared with what is behind a check.
        let mut again: Vec<_> = (0..goals).filter(|&goal| found[goal].sides.iter().all(Vec::is_empty)).collect();
        if again.is_empty() || probe.is_spent {
            break;
        }
        if probe.form.is_plain() {
            let new = combined::guards(probe, input, (all, &found), &mut looked_at)?;
            probe.guards.extend_from_slice(&new);
            combined.extend(new);
        }
        let known = probe.guards.len();
        if known == 0 {
            break;
        }
        // Who draws has no sums to check.
        let checks = (goals..all.len()).filter(|_| probe.form.is_plain());
        again.extend(checks.filter(|&check| Guard::is_constant(&all[check], &found[check], input)));
        let comparisons: Vec<_> = again.iter().map(|&at| all[at].clone()).collect();
        for (at, new) in again.into_iter().zip(dependence(probe, input, &comparisons)?) {
            if at < goals || !new.is_none() {
                found[at] = new;
            }
        }
        (probe.guards, probe.constants) = Guard::all(all.iter().zip(&found), input);
        probe.guards.extend_from_slice(&combined);
        if probe.guards.len() == known {
            break;
        }
    }
    Ok((found, hidden))
}

/// Changes an input at its places, and adds what that changes.
struct Look<'l, 'r, 'a> {
    probe: &'l mut Probe<'r, 'a>,
    input: &'l [u8],
    goals: &'l [Observed],
    found: Effects,
    /// Executions.
    left: usize,
    /// Places that change some goals, while others are not come to.
    away: Vec<usize>,
}

/// What the change of some bytes shows.
#[derive(Clone, Copy, Default)]
struct Change {
    /// An operand.
    depends: bool,
    /// Some goal is not come to.
    is_lost: bool,
}

impl Look<'_, '_, '_> {
    fn all(&mut self) -> Step<()> {
        let bytes = self.input.len();
        let block = if bytes <= SINGLE_BYTES_MAX { 1 } else { bytes.div_ceil(BLOCKS).max(BLOCK_BYTES_MIN) };
        let mut blocks: Vec<_> = (0..bytes).step_by(block).map(|start| start..(start + block).min(bytes)).collect();
        if bytes > ROTATED_BYTES_MIN {
            // What may be spent is not enough for all, often: so every other input has another part that comes first.
            let hash = |hash, chunk: &[u8]| {
                table::key([hash, chunk.iter().fold(0, |sum, &byte| sum * 31 + u64::from(byte)), 0])
            };
            let first = self.input.chunks(8).fold(0, hash) as usize % (2 * blocks.len());
            let first = if first < blocks.len() { first } else { 0 };
            blocks.rotate_left(first);
        }
        // As a stack: what changes something is looked at closer before the next.
        blocks.reverse();
        while let Some(range) = blocks.pop() {
            let depends = self.block(&range)?;
            if depends && (2..=BLOCK_BYTES_MIN).contains(&range.len()) {
                blocks.extend(range.rev().map(|at| at..at + 1));
            } else if depends && range.len() > 1 {
                let middle = range.start + range.len() / 2;
                blocks.extend([middle..range.end, range.start..middle]);
            }
        }
        self.nearby()?;
        for growth in 0..self.probe.form.growths() {
            self.grown(growth, true)?;
        }
        // What lies at the end and can't be changed is another one when something else does.
        if self.probe.form.is_plain() && self.found.is_any_hidden() {
            self.grown(0, false)?;
        }
        Ok(())
    }

    /// Makes the input longer by one in one of the ways, by the last byte again or by another one; or by as many as
    /// numbers have where none of the goals is come to.
    fn grown(&mut self, growth: usize, last: bool) -> Step<()> {
        let is_plain = self.probe.form.is_plain();
        for by in WIDTHS.into_iter().take(if is_plain { WIDTHS.len() } else { 1 }) {
            let Some(longer) = self.probe.form.grown(self.input, growth, (by, last), self.probe.len_max) else {
                return Ok(());
            };
            let shown = self.probe.execute(&longer)?;
            let mut made = self.made(&shown);
            // A length that was right is not any more.
            if is_plain {
                made = self.repaired(&longer, &shown, made)?;
            }
            self.found.lengthened(self.goals, (growth, by), &made);
            if !made.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// Changes a block in one way after the other until something depends on it, or somewhere inside of it.
    fn block(&mut self, range: &Range<usize>) -> Step<bool> {
        let is_single = range.len() == 1;
        let mut change = Change::default();
        for (number, replace) in REPLACEMENTS.into_iter().enumerate() {
            // The nearest ones are for a byte with which all else leads elsewhere, as one that has a limit near it.
            if number >= REPLACEMENTS.len() - NEAREST && !(change.is_lost && is_single) {
                break;
            }
            let Some(next) = self.replaced(range, replace)? else { return Ok(false) };
            change = next;
            if change.depends && change.is_lost && is_single {
                self.away.push(range.start);
            }
            // Where some of several bytes lead elsewhere the others may still matter.
            if change.depends || change.is_lost && (2..=BLOCK_BYTES_MIN).contains(&range.len()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What nothing was seen to change may depend on what is compared before it, as an offset is with the end: changes
    /// such bytes as little as can be. What is behind others is read later, most likely.
    fn nearby(&mut self) -> Step<()> {
        let away = std::mem::take(&mut self.away);
        for at in away.into_iter().rev().take(AWAY_MAX) {
            for replace in &REPLACEMENTS[REPLACEMENTS.len() - NEAREST..] {
                if !self.found.is_any_hidden() {
                    return Ok(());
                }
                self.replaced(&(at..at + 1), *replace)?;
            }
        }
        Ok(())
    }

    /// Executes the input with some bytes replaced; `None` if that was done often enough.
    fn replaced(&mut self, range: &Range<usize>, replace: Replace) -> Step<Option<Change>> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
        self.left = left;
        let mut changed = self.input.to_vec();
        range.clone().for_each(|at| changed[at] = replace(changed[at], at));
        // There is nothing next to the least.
        let at = (range.len() == 1 && changed != self.input).then_some(range.start);
        let shown = self.probe.show(&changed)?;
        let made = self.made(&shown);
        let made = self.repaired(&changed, &shown, made)?;
        let is_lost = made.len() < self.goals.len();
        let depends = self.found.compare(self.goals, &made, at);
        if let Some(at) = at {
            self.found.came(at, &made);
        }
        Ok(Some(Change { depends, is_lost }))
    }

    /// The goals that an execution came to.
    fn made(&self, shown: &TracedExecution) -> Vec<(usize, Operands)> {
        self.found.made(self.probe.observe(&shown.trace, |site| self.found.has_site(site)))
    }

    /// Those that it comes to when the input is repaired, if it did not come to all and there is something to repair.
    fn repaired(
        &mut self,
        input: &[u8],
        shown: &TracedExecution,
        made: Vec<(usize, Operands)>,
    ) -> Step<Vec<(usize, Operands)>> {
        if made.len() >= self.goals.len() {
            return Ok(made);
        }
        let repaired = self.probe.repaired(input, &shown.trace)?;
        Ok(repaired.map_or(made, |(_, shown)| self.made(&shown)))
    }
}

/// Another byte, by the one that is there and its place.
type Replace = fn(u8, usize) -> u8;

/// What bytes are replaced by: by what is like them first, and in the end by what is next to them.
const REPLACEMENTS: [Replace; 4] = [alike, unlike, above, below];
/// So many of these are next to it.
const NEAREST: usize = 2;

/// Another byte of the same class.
fn alike(byte: u8, at: usize) -> u8 {
    match byte {
        b'0'..=b'8' | b'a'..=b'y' | b'A'..=b'Y' => byte + 1,
        b'9' | b'z' | b'Z' => byte - 1,
        b' ' => b'\t',
        b'\t' | b'\n' | b'\r' => b' ',
        // Not the same for all, so that it doesn't cancel out.
        _ => byte ^ (0x11 + 29 * (at % BLOCK_BYTES_MIN) as u8),
    }
}

/// A byte of another class.
fn unlike(byte: u8, _: usize) -> u8 {
    if byte.is_ascii_digit() { b'A' } else { b'7' }
}

fn above(byte: u8, _: usize) -> u8 {
    byte.saturating_add(1)
}

fn below(byte: u8, _: usize) -> u8 {
    byte.saturating_sub(1)
}

/// What changes what, by goal.
struct Effects {
    /// The goals' places with their numbers, and their sites, in order.
    places: Vec<(Place, usize)>,
    sites: Vec<u32>,
    sides: Vec<[BTreeSet<usize>; 2]>,
    content: Vec<[Vec<BTreeSet<usize>>; 2]>,
    by_length: Vec<Vec<[i64; 2]>>,
    /// By place that was changed by itself: which goals were come to then.
    came: BTreeMap<usize, Vec<bool>>,
}

impl Effects {
    fn new(goals: &[Observed]) -> Self {
        let content = |goal: &Observed| {
            [0, 1].map(|side| goal.operands.bytes(side).map_or(Vec::new(), |bytes| vec![BTreeSet::new(); bytes.len()]))
        };
        let mut places: Vec<_> = goals.iter().enumerate().map(|(index, goal)| (goal.place, index)).collect();
        places.sort_unstable();
        let mut sites: Vec<_> = places.iter().map(|(place, _)| place.site).collect();
        sites.dedup();
        Self {
            places,
            sites,
            sides: vec![Default::default(); goals.len()],
            content: goals.iter().map(content).collect(),
            by_length: vec![Vec::new(); goals.len()],
            came: BTreeMap::new(),
        }
    }

    /// Whether no place was seen to change some goal.
    fn is_any_hidden(&self) -> bool {
        self.sides.iter().any(|sides| sides.iter().all(BTreeSet::is_empty))
    }

    /// Whether there are goals at a site.
    fn has_site(&self, site: u32) -> bool {
        self.sites.binary_search(&site).is_ok()
    }

    /// The comparisons among those of an execution that are goals, each with its goal's number.
    fn made(&self, observed: Vec<Observed>) -> Vec<(usize, Operands)> {
        let goal = |place: Place| {
            let at = self.places.binary_search_by_key(&place, |(place, _)| *place).ok()?;
            Some(self.places[at].1)
        };
        observed.into_iter().filter_map(|observed| Some((goal(observed.place)?, observed.operands))).collect()
    }

    /// Whether an operand is another one than before. If only the byte `at` is, it depends on that.
    fn compare(&mut self, goals: &[Observed], made: &[(usize, Operands)], at: Option<usize>) -> bool {
        let mut depends = false;
        for (index, other) in made {
            let index = *index;
            match (&goals[index].operands, other) {
                (Operands::Numbers { sides, .. }, Operands::Numbers { sides: others, .. }) => {
                    for side in (0..2).filter(|&side| sides[side] != others[side]) {
                        depends = true;
                        self.sides[index][side].extend(at);
                        let changed = (sides[side] ^ others[side]).to_le_bytes();
                        let content = self.content[index][side].iter_mut().zip(changed);
                        content.filter(|(_, changed)| *changed != 0).for_each(|(content, _)| content.extend(at));
                    }
                }
                (Operands::Quads { sides, .. }, Operands::Quads { sides: others, .. }) => {
                    for side in (0..2).filter(|&side| sides[side] != others[side]) {
                        depends = true;
                        self.sides[index][side].extend(at);
                    }
                }
                (Operands::Bytes { sides, .. }, Operands::Bytes { sides: others, .. }) => {
                    for side in (0..2).filter(|&side| sides[side] != others[side]) {
                        depends = true;
                        self.sides[index][side].extend(at);
                        for (number, content) in self.content[index][side].iter_mut().enumerate() {
                            if sides[side].get(number) != others[side].get(number) {
                                content.extend(at);
                            }
                        }
                    }
                }
                _ => {}
            }
        }
        depends
    }

    /// Takes which goals are come to when the byte `at` is another one.
    fn came(&mut self, at: usize, made: &[(usize, Operands)]) {
        let came = self.came.entry(at).or_insert_with(|| vec![false; self.sides.len()]);
        made.iter().for_each(|(index, _)| came[*index] = true);
    }

    /// Takes how numbers are when the input is longer by so much in one of the ways.
    fn lengthened(&mut self, goals: &[Observed], (growth, by): (usize, i64), made: &[(usize, Operands)]) {
        for (index, other) in made {
            if let (Operands::Numbers { sides, ty, .. }, Operands::Numbers { sides: others, .. }) =
                (&goals[*index].operands, other)
                && !ty.is_float()
            {
                let slopes = &mut self.by_length[*index];
                slopes.resize(slopes.len().max(growth + 1), [0; 2]);
                if slopes[growth] == [0; 2] {
                    let slope = |side: usize| ty.change(sides[side], others[side]);
                    // What reads something else there is no multiple, most likely.
                    slopes[growth] = [0, 1].map(slope).map(|slope| if slope % by == 0 { slope / by } else { slope });
                }
            }
        }
    }

    fn finish(self) -> Vec<Dependence> {
        let sorted = |set: BTreeSet<usize>| set.into_iter().collect::<Vec<_>>();
        let all = self.sides.into_iter().zip(self.content).zip(self.by_length).enumerate();
        all.map(|(index, ((sides, content), by_length))| Dependence {
            sides: sides.map(sorted),
            content: content.map(|content| content.into_iter().map(sorted).collect()),
            by_length,
            held: Vec::new(),
            away: self.came.iter().filter(|(_, came)| !came[index]).map(|(&at, _)| at).collect(),
        })
        .collect()
    }
}
