//! Keeps checksums and lengths true: of what is checked before a comparison is reached.
//!
//! Where a number that lies in the input was equal to one that comes from elsewhere in it, or from its length, that may
//! have to stay so: it is a [`Guard`]. If a candidate no longer gets to its goal and a guard turned out otherwise, what
//! the guard wanted is written where the number lies, and the candidate is executed again. So what a CRC covers can be
//! solved behind it. (RedQueen patches such checks out of the program and repairs inputs at the end; here one sees what
//! is wanted at once, and nothing is patched.)

use super::super::input::flips;
use super::super::input::places::Dependence;
use super::super::seen::observed::{Observed, Operands, Place, observe};
use crate::engine::checks::{Check, Writing, number, write};
use fuzzbox_instrument::trace::{Comparison, Trace};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

/// Comparisons of an execution that are looked at as guards.
const CANDIDATES_MAX: usize = 24;

/// A checksum is made of so many bytes or more.
const COVERED_BYTES_MIN: usize = 4;

/// A comparison that must stay as it is.
#[derive(Clone, Debug)]
pub(in crate::engine::strategy::compares) struct Guard {
    pub(super) place: Place,
    /// The side that lies in the input, and where.
    side: usize,
    pub(in crate::engine::strategy::compares) field: Range<usize>,
    lies: Lies,
    /// How long the input was.
    len: usize,
    /// Whether the other side is made of enough of the input to be a checksum, or of its length.
    is_check: bool,
}

/// How a side lies in the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Lies {
    /// By itself.
    Written(Writing),
    /// With what it is compared with, which leaves a constant on the other side.
    Combined(Combined),
    /// As that, by how each bit of the field changes the side: of what is computed over the field, too.
    Linear(Arc<[u64]>),
}

/// How a number in a field is combined with what is made of the rest of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum With {
    Xor,
    /// It is added.
    Sum,
    /// It is taken away.
    Difference,
}

/// How a field is combined with the rest, and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Combined {
    with: With,
    big_endian: bool,
}

impl Combined {
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let of = |big_endian| move |with| Self { with, big_endian };
        [false, true]
            .into_iter()
            .flat_map(move |big_endian| [With::Xor, With::Sum, With::Difference].into_iter().map(of(big_endian)))
    }

    /// Writes the number with which an operand is what is wanted in the place of what it was seen to be with this one.
    fn repair(self, field: &mut [u8], (seen, wanted): (u64, u64)) {
        let old = number(field, self.big_endian);
        let by = wanted.wrapping_sub(seen);
        let new = match self.with {
            With::Xor => old ^ seen ^ wanted,
            With::Sum => old.wrapping_add(by),
            With::Difference => old.wrapping_sub(by),
        };
        write(field, new, self.big_endian);
    }
}

/// Comparisons that may be guards: of integers that are equal. Large numbers first, which are so by chance the least.
pub(in crate::engine::strategy::compares) fn candidates(observed: &[Observed]) -> Vec<Observed> {
    let mut candidates: Vec<_> = observed
        .iter()
        .filter(|one| !one.place.is_boundary())
        .filter_map(|one| Some((equal_number(one)?, one)))
        .collect();
    candidates.sort_by_key(|&(value, one)| (std::cmp::Reverse(value), one.place));
    candidates.into_iter().take(CANDIDATES_MAX).map(|(_, one)| one.clone()).collect()
}

/// The number that both sides of a comparison for equality are.
pub(super) fn equal_number(observed: &Observed) -> Option<u64> {
    match observed.operands {
        Operands::Numbers { comparison: Comparison::Eq | Comparison::Ne, ty, sides: [left, right] }
            if !ty.is_float() && left == right =>
        {
            Some(left)
        }
        _ => None,
    }
}

/// Whether a number of several bytes that lies in the input as it is is compared with another one: then what is wanted
/// is certain.
pub(in crate::engine::strategy::compares) fn is_written(
    observed: &Observed,
    dependence: &Dependence,
    input: &[u8],
) -> bool {
    let Operands::Numbers { sides, .. } = observed.operands else { return false };
    (0..2).any(|side| match &dependence.runs(side)[..] {
        [field] if field.len() > 1 && !dependence.sides[1 - side].iter().any(|at| field.contains(at)) => {
            input.get(field.clone()).is_some_and(|field| Writing::of(field, sides[side]).is_some())
        }
        _ => false,
    })
}

impl Guard {
    /// Those of comparisons whose operands depend on the input so; and beside them what a number of several bytes is
    /// equal to that nothing was seen to change.
    pub(super) fn all<'o>(
        observed: impl Iterator<Item = (&'o Observed, &'o Dependence)>,
        input: &[u8],
    ) -> (Vec<Self>, Vec<Self>) {
        let (mut guards, mut constants) = (Vec::new(), Vec::new());
        for (guard, is_made) in observed.filter_map(|(observed, dependence)| Self::lying(observed, dependence, input)) {
            if is_made {
                guards.push(guard);
            } else if guard.field.len() > 1 {
                constants.push(guard);
            }
        }
        (guards, constants)
    }

    /// A comparison with a number that lies in the input, and whether something in it changes the other one.
    fn lying(observed: &Observed, dependence: &Dependence, input: &[u8]) -> Option<(Self, bool)> {
        let value = equal_number(observed)?;
        (0..2).find_map(|side| {
            let others = &dependence.sides[1 - side];
            let mut runs = dependence.runs(side);
            // Where it lies may depend on a number elsewhere, as of the bytes that it is a sum of.
            if runs.len() > 1 {
                runs.retain(|run| run.len() > 1);
            }
            let (field, writing) = runs.into_iter().rev().find_map(|run| {
                let writing = Writing::of(input.get(run.clone())?, value)?;
                (!others.iter().any(|at| run.contains(at))).then_some((run, writing))
            })?;
            let is_made = !others.is_empty() || dependence.by_length.iter().any(|slopes| slopes[1 - side] != 0);
            let is_check = others.is_empty() || others.len() >= COVERED_BYTES_MIN;
            let (place, len) = (observed.place, input.len());
            Some((Self { place, side, field, lies: Lies::Written(writing), len, is_check }, is_made))
        })
    }

    /// Whether something that lies in the input is equal to a number that nothing was seen to change.
    pub(super) fn is_constant(observed: &Observed, dependence: &Dependence, input: &[u8]) -> bool {
        Self::lying(observed, dependence, input).is_some_and(|(_, is_made)| !is_made)
    }

    /// One where a side is combined with what it is compared with.
    pub(super) fn combined(place: Place, side: usize, (field, lies): (Range<usize>, Lies), len: usize) -> Self {
        Self { place, side, field, lies, len, is_check: false }
    }

    /// The same wherever the number lies, with the site of the comparison; `None` if that is not worth it.
    pub(in crate::engine::strategy::compares) fn check(&self) -> Option<(u32, Check)> {
        let Lies::Written(writing) = self.lies else { return None };
        let check = Check::new(self.side, self.field.len(), writing).filter(|_| self.is_check)?;
        Some((self.place.site, check))
    }

    /// The input with which the guard holds, where it turned out as `observed`; `None` if it holds, or that is not
    /// known.
    pub(super) fn repair(&self, input: &[u8], observed: &Observed) -> Option<Vec<u8>> {
        let Operands::Numbers { ty, sides, .. } = observed.operands else { return None };
        if observed.place != self.place || sides[0] == sides[1] {
            return None;
        }
        let (seen, wanted) = (sides[self.side], sides[1 - self.side]);
        // Behind what became longer or shorter it lies elsewhere.
        let moved = (self.field.start + input.len()).checked_sub(self.len)?;
        [self.field.start, moved].into_iter().find_map(|start| {
            let mut repaired = input.to_vec();
            let field = repaired.get_mut(start..start + self.field.len())?;
            match &self.lies {
                Lies::Written(writing) => {
                    let text = writing.written(wanted, field.len())?;
                    (Writing::of(field, seen)? == *writing).then(|| field.copy_from_slice(&text))?;
                }
                Lies::Combined(combined) => {
                    // Nothing in the input says where it is.
                    (start == moved).then(|| combined.repair(field, (seen, wanted)))?;
                }
                Lies::Linear(changes) => {
                    let flipped = flips::together(changes, (seen ^ wanted) & ty.mask()).filter(|_| start == moved)?;
                    flips::bits(flipped).for_each(|(at, bit)| field[at] ^= bit);
                }
            }
            Some(repaired)
        })
    }
}

/// Writes anew what was found to be wrong in an input. Returns whether something was; `None` if nothing was checked.
pub(in crate::engine::strategy) fn repair(
    input: &mut [u8],
    trace: &Trace,
    checks: &BTreeMap<u32, Check>,
) -> Option<bool> {
    let mut is_repaired = None;
    for observed in observe(trace, false, |site| checks.contains_key(&site)) {
        let Operands::Numbers { sides, .. } = observed.operands else { continue };
        let is_new = checks[&observed.place.site].repair(input, sides);
        *is_repaired.get_or_insert(false) |= is_new;
    }
    is_repaired
}

/// Where two inputs of one length differ, but for what was repaired.
pub(in crate::engine::strategy::compares) fn written(from: &[u8], to: &[u8], guards: &[Guard]) -> BTreeSet<usize> {
    let is_repaired = |at: usize| guards.iter().any(|guard| guard.field.contains(&at));
    (0..to.len()).filter(|&at| from[at] != to[at] && !is_repaired(at)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::strategy::compares::seen::number::Number;

    fn compare(left: u64, right: u64) -> Observed {
        let operands = Operands::Numbers { comparison: Comparison::Ne, ty: Number::I32, sides: [left, right] };
        Observed { place: Place { site: 1, occurrence: 0, target: 0 }, context: 0, operands }
    }

    fn found(observed: &Observed, dependence: &Dependence, input: &[u8]) -> Option<Guard> {
        Guard::all(std::iter::once((observed, dependence)), input).0.pop()
    }

    #[test]
    fn what_a_guard_wants_is_written_where_its_number_lies() {
        let dependence =
            |field: Range<usize>| Dependence { sides: [vec![0, 1], field.collect()], ..Dependence::default() };
        for (input, field, value, wanted, repaired) in [
            (&b"ab\x01\x02\x03\x04"[..], 2..6, 0x0403_0201, 0x1122_3344, Some(&b"ab\x44\x33\x22\x11"[..])),
            (b"ab\x01\x02", 2..4, 0x0102, 0x1122, Some(b"ab\x11\x22")),
            (b"ab\x01\x02", 2..4, 0x0102, 0x0001_1122, None),
            (b"ab0417!", 2..6, 417, 23, Some(b"ab0023!")),
            (b"ab00fe!", 2..6, 0xfe, 0x1234, Some(b"ab1234!")),
            (b"ab7", 2..3, 7, 3, Some(b"ab3")),
        ] {
            let guard = found(&compare(value, value), &dependence(field), input).unwrap();
            assert_eq!(guard.repair(input, &compare(wanted, value)).as_deref(), repaired, "{}", input.escape_ascii());
            assert_eq!(guard.repair(input, &compare(value, value)), None, "it holds");
        }
        // Behind what became longer.
        let guard = found(&compare(5, 5), &dependence(2..3), b"ab\x05").unwrap();
        assert_eq!(guard.repair(b"abcd\x05", &compare(6, 5)).as_deref(), Some(&b"abcd\x06"[..]));
        // A constant is none, and neither is what covers itself.
        let constant = Dependence { sides: [vec![], vec![2]], ..Dependence::default() };
        assert!(found(&compare(5, 5), &constant, b"ab\x05").is_none());
        let itself = Dependence { sides: [vec![0, 2], vec![2]], ..Dependence::default() };
        assert!(found(&compare(5, 5), &itself, b"ab\x05").is_none());
    }

    #[test]
    fn what_is_combined_with_a_field_is_written_there() {
        let place = compare(0, 0).place;
        for (with, big_endian, input, (seen, wanted), repaired) in [
            (With::Xor, true, &b"ab\x12\x34"[..], (0xff0f, 0xffff), &b"ab\x12\xc4"[..]),
            (With::Sum, false, b"ab\xff\x01", (0x10, 0), b"ab\xef\x01"),
            (With::Sum, true, b"ab\x00\x05", (0xffff, 0), b"ab\x00\x06"),
            (With::Difference, true, b"ab\x00\x05", (3, 0), b"ab\x00\x08"),
            // Behind what became longer.
            (With::Sum, false, b"abcd\x00\x05", (1, 2), b"abcd\x01\x05"),
        ] {
            let guard = Guard::combined(place, 0, (2..4, Lies::Combined(Combined { with, big_endian })), 4);
            assert_eq!(guard.repair(input, &compare(seen, wanted)).as_deref(), Some(repaired), "{with:?}");
            assert_eq!(guard.repair(input, &compare(wanted, wanted)), None, "it holds");
            assert!(guard.check().is_none(), "nothing in mutants says where it is");
        }
    }
}
