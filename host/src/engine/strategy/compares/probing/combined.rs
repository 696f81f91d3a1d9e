//! Checks of which a compiler, or who wrote them, has put both sides together: `(stored ^ crc) == -1`, `sum + stored ==
//! 0`, the sum of all words of an Internet header (RFC 1071), an exclusive or of all bytes.
//!
//! One operand is made of the field and of what it checks, the other is a constant, so nothing in the input is equal to
//! what is wanted. By how much the operand is wrong says by how much the field is. Which bytes are the field, and how
//! they are combined with the rest, is found out by trying: something that is checked is changed, and each way is
//! tried to mend that. A CRC is computed over the field as well, often, which leaves the same number if it is right:
//! then each bit of the field is flipped once, and which ones mend it follows by elimination.

use super::super::input::once;
use super::super::input::places::Dependence;
use super::super::seen::observed::{Observed, Operands};
use super::probe::{Probe, Step};
use super::repair::{Combined, Guard, Lies, equal_number};
use std::cell::LazyCell;
use std::cmp::Reverse;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

/// Places of which some byte of the operand is made, at least.
const COVERED_MIN: usize = 4;
/// Fields that are tried for a check.
const FIELDS_MAX: usize = 3;
/// Checks of an input for which all ways are tried in vain.
const SEARCHED_MAX: usize = 2;
/// How wide these may be: as what is compared, or wider.
const WIDTHS_MAX: usize = 2;
/// Pairs of bytes that are changed for a field, one after the other.
const DISTURBED_MAX: usize = 3;
/// Fields of which each bit is flipped.
const LINEAR_MAX: usize = 2;
/// How often a field is mended: a carry at the end of a sum is one more.
const MENDED_MAX: usize = 2;

/// Guards among comparisons that hold, each with what it depends on; all of these are looked at but those that are
/// `known`, to which they are added.
pub(super) fn guards(
    probe: &mut Probe<'_, '_>,
    input: &[u8],
    (all, found): (&[Observed], &[Dependence]),
    known: &mut Vec<usize>,
) -> Step<Vec<Guard>> {
    let shared = LazyCell::new(|| shared(found, input.len()));
    let (mut guards, mut searched) = (Vec::new(), 0);
    let mut ways: Vec<(usize, Lies)> = Vec::new();
    for (index, (observed, dependence)) in all.iter().zip(found).enumerate() {
        let Some(side) = combined_side(observed, dependence).filter(|_| !known.contains(&index)) else { continue };
        known.push(index);
        let places = places(dependence).into_iter().collect();
        let check = Holding { input, observed, side, places, content: &dependence.content, shared: &shared };
        let is_searched = searched < SEARCHED_MAX;
        if ways.is_empty() && !is_searched {
            continue;
        }
        searched += usize::from(is_searched);
        if let Some((way, guard)) = check.guard(probe, &ways, is_searched)? {
            // What was found for one check is most likely right for another one, and then that is not searched.
            searched -= usize::from(is_searched);
            once::add(&mut ways, way);
            guards.push(guard);
        }
    }
    Ok(guards)
}

/// By place: how many comparisons depend on it.
fn shared(found: &[Dependence], len: usize) -> Vec<usize> {
    let mut shared = vec![0; len];
    for dependence in found {
        places(dependence).into_iter().for_each(|at| shared[at] += 1);
    }
    shared
}

/// What both sides of a comparison depend on.
fn places(dependence: &Dependence) -> BTreeSet<usize> {
    dependence.sides.iter().flatten().copied().collect()
}

/// The side of a comparison that holds which is made of much, where nothing changes the other one, or something does
/// that changes both: compilers write the last step of a CRC so.
fn combined_side(observed: &Observed, dependence: &Dependence) -> Option<usize> {
    equal_number(observed)?;
    (0..2).find(|&side| {
        let (places, others) = (&dependence.sides[side], &dependence.sides[1 - side]);
        let is_combined = others.is_empty() || others.iter().any(|at| places.contains(at));
        is_combined && dependence.content[side].iter().any(|places| places.len() >= COVERED_MIN)
    })
}

/// A comparison that holds, with one side made of much.
struct Holding<'c> {
    input: &'c [u8],
    observed: &'c Observed,
    side: usize,
    /// What the sides depend on, ascending, and what each of their bytes does.
    places: Vec<usize>,
    content: &'c [Vec<Vec<usize>>; 2],
    /// By place: how many comparisons depend on it.
    shared: &'c [usize],
}

impl Holding<'_> {
    /// The guard that makes good what is changed, with how it does: in one of some ways to lie in so many bytes, or, if
    /// that is searched, in any.
    fn guard(
        &self,
        probe: &mut Probe<'_, '_>,
        ways: &[(usize, Lies)],
        is_searched: bool,
    ) -> Step<Option<((usize, Lies), Guard)>> {
        let (mut linear, mut known) = (if is_searched { LINEAR_MAX } else { 0 }, BTreeMap::new());
        for field in self.fields() {
            let Some(changed) = self.disturbed(probe, &field, &mut known)? else { continue };
            let found = ways.iter().filter(|(width, _)| *width == field.len()).map(|(_, lies)| lies.clone());
            let all = Combined::all().filter(|_| is_searched).map(Lies::Combined);
            for lies in found.chain(all) {
                if let Some(guard) = self.mended(probe, &changed, (&field, lies))? {
                    return Ok(Some(guard));
                }
            }
            if linear > 0 && Some(field.len()) == self.widths().next() {
                linear -= 1;
                let lies = Lies::Linear(self.flipped(probe, &field)?);
                if let Some(guard) = self.mended(probe, &changed, (&field, lies))? {
                    return Ok(Some(guard));
                }
            }
        }
        Ok(None)
    }

    /// How each bit of a field changes the side.
    fn flipped(&self, probe: &mut Probe<'_, '_>, field: &Range<usize>) -> Step<Arc<[u64]>> {
        let mut changes = Vec::new();
        for bit in 0..8 * field.len() {
            let mut flipped = self.input.to_vec();
            flipped[field.start + bit / 8] ^= 1 << (bit % 8);
            let now = probe.compared(&flipped, self.observed.place)?.0;
            changes.push(now.and_then(|now| self.change(&now)).unwrap_or(0));
        }
        Ok(changes.into())
    }

    /// The input with two bytes outside of a field changed, with which the side is another one: those that the fewest
    /// comparisons depend on, since others lead elsewhere. What was tried is `known`.
    fn disturbed(
        &self,
        probe: &mut Probe<'_, '_>,
        field: &Range<usize>,
        known: &mut BTreeMap<usize, Option<Vec<u8>>>,
    ) -> Step<Option<Vec<u8>>> {
        let pairs = self.places.windows(2).filter(|pair| pair[1] == pair[0] + 1).map(|pair| pair[0]);
        let mut pairs: Vec<_> = pairs.filter(|&at| at + 1 < field.start || field.end <= at).collect();
        pairs.sort_by_key(|&at| self.shared[at] + self.shared[at + 1]);
        for at in pairs.into_iter().take(DISTURBED_MAX) {
            if let Entry::Vacant(unknown) = known.entry(at) {
                let mut changed = self.input.to_vec();
                // Not the same for both, so that it doesn't cancel out.
                changed[at] ^= 0x15;
                changed[at + 1] ^= 0x1d;
                let now = probe.compared(&changed, self.observed.place)?.0;
                let is_changed = now.and_then(|now| self.change(&now)).is_some_and(|by| by != 0);
                unknown.insert(is_changed.then_some(changed));
            }
            if let Some(Some(changed)) = known.get(&at) {
                return Ok(Some(changed.clone()));
            }
        }
        Ok(None)
    }

    /// The bits in which the sides differ now, and did not.
    fn change(&self, now: &Observed) -> Option<u64> {
        match (&self.observed.operands, &now.operands) {
            (Operands::Numbers { ty, sides: [left, right], .. }, Operands::Numbers { sides: [now, other], .. }) => {
                Some((left ^ right ^ now ^ other) & ty.mask())
            }
            _ => None,
        }
    }

    /// How wide fields are that can make good what is wrong: as the bytes of a side that change, or wider.
    fn widths(&self) -> impl Iterator<Item = usize> {
        let changes = |side: &Vec<Vec<usize>>| side.iter().filter(|places| !places.is_empty()).count();
        let width = self.content.iter().map(changes).max().unwrap_or(0);
        [1, 2, 4, 8].into_iter().filter(move |&bytes| bytes >= width).take(WIDTHS_MAX)
    }

    /// Fields among the places that hold so much: those first that the fewest comparisons depend on, then the last.
    fn fields(&self) -> Vec<Range<usize>> {
        let is_place = |at: usize| self.places.binary_search(&at).is_ok();
        let mut fields = Vec::new();
        for width in self.widths() {
            let spans = self.places.iter().map(|&start| start..start + width);
            let mut spans: Vec<_> = spans.filter(|span| span.clone().all(is_place)).collect();
            spans.sort_by_key(|span| (self.shared[span.clone()].iter().sum::<usize>(), Reverse(span.start)));
            fields.extend(spans.into_iter().take(FIELDS_MAX));
        }
        fields
    }

    /// The guard of a field that lies so, with how it does, if that makes good what was changed.
    fn mended(
        &self,
        probe: &mut Probe<'_, '_>,
        changed: &[u8],
        (field, lies): (&Range<usize>, Lies),
    ) -> Step<Option<((usize, Lies), Guard)>> {
        let way = (field.len(), lies.clone());
        let guard = Guard::combined(self.observed.place, self.side, (field.clone(), lies), self.input.len());
        let mut mended = changed.to_vec();
        for _ in 0..=MENDED_MAX {
            let Some(now) = probe.compared(&mended, self.observed.place)?.0 else { return Ok(None) };
            match guard.repair(&mended, &now) {
                Some(next) => mended = next,
                None => {
                    let holds = now.operands.outcome() == self.observed.operands.outcome();
                    return Ok(holds.then_some((way, guard)));
                }
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::seen::observed::tests::compare;
    use super::*;

    #[test]
    fn sides_are_combined_that_change_with_the_same() {
        let of = |left: Range<usize>, right: Range<usize>| {
            let sides = [left, right].map(Iterator::collect::<Vec<_>>);
            Dependence { content: sides.clone().map(|places| vec![places]), sides, ..Dependence::default() }
        };
        let holds = compare(1, 7, 7);
        for (left, right, side) in [
            // A sum that has to be a constant, on either side.
            (0..8, 0..0, Some(0)),
            (0..0, 0..8, Some(1)),
            // The last step of a CRC by a table: what was shifted, and the entry that the last byte chooses.
            (0..7, 0..8, Some(0)),
            // What lies in the input beside what covers it is a guard without that.
            (0..8, 8..12, None),
            // A name.
            (0..3, 0..0, None),
        ] {
            assert_eq!(combined_side(&holds, &of(left.clone(), right.clone())), side, "{left:?} {right:?}");
        }
        assert_eq!(combined_side(&compare(1, 7, 8), &of(0..8, 0..0)), None, "it doesn't hold");
    }
}
