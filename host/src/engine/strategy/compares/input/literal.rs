//! Where operands lie in the input as they are: what they come from, most likely, without looking for what changes them
//! ([`dependence`](super::super::probing::dependence)). That is for inputs of which looking takes more than may be
//! spent: there it is the difference between nothing and one execution for each name of a table.

use super::super::seen::observed::{Observed, Operands};
use super::places::Dependence;

/// So many goals of an input at most, those that lie in the fewest places first,
const GOALS_MAX: usize = 16;
/// and in no more than so many.
const PLACES_MAX: usize = 16;
/// So many bytes of a number are not zero, at least, and not all the same: others lie in many places.
const BYTES_MIN: usize = 3;

/// Goals by their index, and where one operand of each lies.
pub(in crate::engine::strategy::compares) fn places(input: &[u8], goals: &[Observed]) -> Vec<(usize, Dependence)> {
    let places = |(index, goal): (usize, &Observed)| {
        let Operands::Numbers { ty, sides, .. } = goal.operands else { return None };
        let both = sides.map(|number| if ty.is_float() { Vec::new() } else { starts(input, number) });
        let side =
            (0..2).filter(|&side| (1..=PLACES_MAX).contains(&both[side].len())).min_by_key(|&side| both[side].len())?;
        let mut dependence = Dependence::default();
        dependence.sides[side] = both[side].iter().flat_map(|&start| start..start + width(sides[side])).collect();
        Some((both[side].len(), index, dependence))
    };
    let mut found: Vec<_> = goals.iter().enumerate().filter_map(places).collect();
    found.sort_by_key(|(places, ..)| *places);
    found.truncate(GOALS_MAX);
    found.into_iter().map(|(_, index, dependence)| (index, dependence)).collect()
}

/// How many bytes a number takes in an input.
fn width(number: u64) -> usize {
    if u32::try_from(number).is_ok() { 4 } else { 8 }
}

/// Where a number lies, in either byte order; nowhere if it lies beside itself, since those are one place.
fn starts(input: &[u8], number: u64) -> Vec<usize> {
    let width = width(number);
    let little = &number.to_le_bytes()[..width];
    let is_same = little.iter().all(|byte| *byte == little[0]);
    if is_same || little.iter().filter(|&&byte| byte != 0).count() < BYTES_MIN {
        return Vec::new();
    }
    let starts: Vec<_> = lying(input, little).collect();
    if starts.windows(2).any(|two| two[1] - two[0] <= width) { Vec::new() } else { starts }
}

/// Where bytes lie in an input, in this order or the other one.
pub(in crate::engine::strategy::compares) fn lying(input: &[u8], bytes: &[u8]) -> impl Iterator<Item = usize> {
    let is_it = move |window: &[u8]| window == bytes || window.iter().rev().eq(bytes);
    let windows = input.windows(bytes.len()).enumerate();
    windows.filter(move |(_, window)| is_it(window)).map(|(start, _)| start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_lies_where_its_bytes_do_in_either_order() {
        let input = b"..bst\0..{{{{{\0tsb.";
        let starts = |number: &[u8; 4]| starts(input, u32::from_be_bytes(*number).into());
        assert_eq!(starts(b"bst\0"), [2, 13]);
        assert_eq!(starts(b"\0tsb"), [2, 13]);
        assert!(starts(b"{{{{").is_empty(), "all the same");
        assert!(starts(b"st\0\0").is_empty(), "of two bytes");
        assert!(super::starts(b"abcdabcd", u32::from_le_bytes(*b"abcd").into()).is_empty(), "beside itself");
    }
}
