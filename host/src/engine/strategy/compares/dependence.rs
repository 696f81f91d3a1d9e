//! Which bytes of an input an operand depends on: those with which it changes.
//!
//! Bytes are replaced by others of the same class, so that what reads them goes on as it did (RedQueen calls it
//! colourising; here one sees which records change as well, so the places of an operand are known and need not look
//! like it). What a byte of its class does not change may change with another one. Longer inputs are replaced in
//! blocks, which are halved where something changes.

use super::observed::{Observed, Operands, Place};
use super::places::Dependence;
use super::probe::{End, Probe, Step};
use std::collections::BTreeSet;

/// Inputs up to this length are changed byte by byte at once.
const SINGLE_BYTES_MAX: usize = 16;
/// Longer ones begin with blocks, so many at most, of so many bytes at least.
const BLOCKS: usize = 64;
const BLOCK_BYTES_MIN: usize = 8;
/// Executions for one input at most.
const EXECS_MAX: usize = 384;

/// About how many executions it takes to look at an input of so many bytes.
pub(super) fn execs(bytes: usize) -> u64 {
    EXECS_MAX.min(2 * bytes) as u64
}

/// Finds what the operands of `goals`, as they are for `input`, depend on, and repairs inputs that don't get there: as
/// much of it as what may be spent tells.
pub(super) fn dependence(probe: &mut Probe<'_, '_>, input: &[u8], goals: &[Observed]) -> Step<Vec<Dependence>> {
    let mut found = Effects::new(goals);
    match look(probe, input, goals, &mut found) {
        Ok(()) | Err(End::Spent) => Ok(found.finish()),
        Err(failed) => Err(failed),
    }
}

/// Changes an input at its places, and adds what that changes.
fn look(probe: &mut Probe<'_, '_>, input: &[u8], goals: &[Observed], found: &mut Effects) -> Step<()> {
    let block = if input.len() <= SINGLE_BYTES_MAX { 1 } else { input.len().div_ceil(BLOCKS).max(BLOCK_BYTES_MIN) };
    let mut blocks: Vec<_> =
        (0..input.len()).step_by(block).map(|start| start..(start + block).min(input.len())).collect();
    // As a stack: what changes something is looked at closer before the next.
    blocks.reverse();
    let mut execs = 0;
    let mut changed = input.to_vec();
    while let Some(range) = blocks.pop() {
        let (mut depends, mut is_lost) = (false, false);
        for (number, replace) in REPLACEMENTS.into_iter().enumerate() {
            // The nearest ones are for a byte with which all else leads elsewhere, as one that has a limit near it.
            if number >= REPLACEMENTS.len() - NEAREST && !(is_lost && range.len() == 1) {
                break;
            }
            if execs == EXECS_MAX {
                return Ok(());
            }
            execs += 1;
            changed.copy_from_slice(input);
            range.clone().for_each(|at| changed[at] = replace(changed[at], at));
            let shown = probe.show(&changed)?;
            let mut made = found.made(probe.observe(&shown.trace, |site| found.has_site(site)));
            is_lost = made.len() < goals.len();
            if is_lost && let Some((_, shown)) = probe.repaired(&changed, &shown.trace)? {
                made = found.made(probe.observe(&shown.trace, |site| found.has_site(site)));
                is_lost = made.len() < goals.len();
            }
            // Where some of several bytes lead elsewhere the others may still matter.
            depends = found.compare(goals, &made, (range.len() == 1).then_some(range.start))
                || is_lost && (2..=BLOCK_BYTES_MIN).contains(&range.len());
            if depends {
                break;
            }
        }
        if depends && range.len() > 1 {
            if range.len() <= BLOCK_BYTES_MIN {
                blocks.extend(range.rev().map(|at| at..at + 1));
                continue;
            }
            let middle = range.start + range.len() / 2;
            blocks.extend([middle..range.end, range.start..middle]);
        }
    }
    for growth in 0..probe.form.growths() {
        if let Some(longer) = probe.form.grown(input, growth, (1, true), probe.len_max) {
            let shown = probe.execute(&longer)?;
            let made = found.made(probe.observe(&shown.trace, |site| found.has_site(site)));
            found.lengthened(goals, growth, &made);
        }
    }
    Ok(())
}

/// What bytes are replaced by: by what is like them first, and in the end by what is next to them.
const REPLACEMENTS: [fn(u8, usize) -> u8; 4] = [alike, unlike, above, below];
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
        }
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

    /// Takes how numbers are when the input is longer by one, in one of the ways.
    fn lengthened(&mut self, goals: &[Observed], growth: usize, made: &[(usize, Operands)]) {
        for (index, other) in made {
            if let (Operands::Numbers { sides, ty, .. }, Operands::Numbers { sides: others, .. }) =
                (&goals[*index].operands, other)
                && !ty.is_float()
            {
                let slopes = &mut self.by_length[*index];
                slopes.resize(slopes.len().max(growth + 1), [0; 2]);
                slopes[growth] = [0, 1].map(|side| ty.signed(others[side].wrapping_sub(sides[side])));
            }
        }
    }

    fn finish(self) -> Vec<Dependence> {
        let sorted = |set: BTreeSet<usize>| set.into_iter().collect::<Vec<_>>();
        let all = self.sides.into_iter().zip(self.content).zip(self.by_length);
        all.map(|((sides, content), by_length)| Dependence {
            sides: sides.map(sorted),
            content: content.map(|content| content.into_iter().map(sorted).collect()),
            by_length,
        })
        .collect()
    }
}
