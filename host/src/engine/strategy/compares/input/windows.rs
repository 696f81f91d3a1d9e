//! Where something lies in an input.

use super::super::seen::observed::{Observed, Operands};
use std::collections::{BTreeMap, BTreeSet};

/// Indices of a `br_table` that what is taken away from all of them is found by: fewer may lie anywhere.
const INDICES_MIN: usize = 3;
const INDICES_MAX: usize = 8;

/// All pairs of neighbours in an input.
pub(in crate::engine::strategy::compares) struct Windows<'i> {
    pub(in crate::engine::strategy::compares) input: &'i [u8],
    /// With where they are, in order.
    pairs: Vec<([u8; 2], usize)>,
}

impl<'i> Windows<'i> {
    pub(in crate::engine::strategy::compares) fn new(input: &'i [u8]) -> Self {
        let mut pairs: Vec<_> = input.windows(2).enumerate().map(|(at, pair)| ([pair[0], pair[1]], at)).collect();
        pairs.sort_unstable();
        Self { input, pairs }
    }

    /// Where some bytes lie, ascending.
    pub(in crate::engine::strategy::compares) fn places(&self, bytes: &[u8]) -> impl Iterator<Item = usize> {
        let pair = bytes.first_chunk::<2>().copied();
        let start = pair.map_or(self.pairs.len(), |pair| self.pairs.partition_point(|(other, _)| *other < pair));
        let same = self.pairs[start..].iter().take_while(move |(other, _)| Some(*other) == pair);
        let single = bytes.len() == 1;
        let singles = self.input.iter().enumerate().filter(move |(_, byte)| single && **byte == bytes[0]);
        singles.map(|(at, _)| at).chain(same.map(|&(_, at)| at).filter(move |&at| self.input[at..].starts_with(bytes)))
    }

    /// All numbers of two bytes in one order.
    fn numbers(&self, number: fn([u8; 2]) -> u16) -> BTreeSet<u32> {
        self.pairs.iter().map(|&(pair, _)| number(pair).into()).collect()
    }
}

/// The first cases of `br_table`s, by site: what was taken away from numbers of two bytes that lie in the input before
/// they became an index. It is what all indices have in common.
pub(in crate::engine::strategy::compares) fn firsts(
    windows: &Windows<'_>,
    observed: &[Observed],
) -> BTreeMap<u32, u64> {
    let mut indices = BTreeMap::<u32, BTreeSet<u32>>::new();
    for Observed { place, operands, .. } in observed.iter().filter(|observed| observed.place.target > 0) {
        if let Operands::Numbers { sides, .. } = operands {
            indices.entry(place.site).or_default().insert(sides[0] as u32);
        }
    }
    indices.retain(|_, indices| indices.len() >= INDICES_MIN);
    if indices.is_empty() {
        return BTreeMap::new();
    }
    let both = [u16::from_le_bytes, u16::from_be_bytes].map(|number| windows.numbers(number));
    let first = |indices: &BTreeSet<u32>| {
        let mut some = indices.iter().copied().take(INDICES_MAX);
        let one = some.next()?;
        let rest: Vec<_> = some.collect();
        let is_it =
            |numbers: &BTreeSet<u32>, first: u32| rest.iter().all(|index| numbers.contains(&index.wrapping_add(first)));
        // Where nothing was taken away it lies there as it is.
        let firsts = |numbers: &BTreeSet<u32>| {
            let all = numbers.iter().map(|number| number.wrapping_sub(one));
            all.filter(|&first| is_it(numbers, first)).min_by_key(|first| first.cast_signed().unsigned_abs())
        };
        both.iter().filter_map(firsts).min_by_key(|first| first.cast_signed().unsigned_abs())
    };
    indices.into_iter().filter_map(|(site, indices)| Some((site, first(&indices)?.into()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::strategy::compares::seen::observed::tests::compare;

    #[test]
    fn bytes_are_found_wherever_they_are() {
        let windows = Windows::new(b"abcabab");
        let places = |bytes: &[u8]| windows.places(bytes).collect::<Vec<_>>();
        assert_eq!(places(b"ab"), [0, 3, 5]);
        assert_eq!(places(b"abc"), [0]);
        assert_eq!(places(b"c"), [2]);
        assert!(places(b"abab!").is_empty() && places(b"").is_empty());
        assert!(Windows::new(b"").places(b"a").next().is_none());
    }

    #[test]
    fn the_first_case_is_what_all_indices_have_in_common() {
        let input: Vec<u8> = [0x100_u16, 0x103, 7, 0x111, 9, 0x11a].iter().flat_map(|tag| tag.to_be_bytes()).collect();
        let first = |indices: &[u32]| {
            let index = |&index: &u32| {
                let mut observed = compare(5, index.into(), 0);
                observed.place.target = 1;
                observed
            };
            let observed: Vec<_> = indices.iter().map(index).collect();
            firsts(&Windows::new(&input), &observed).get(&5).copied()
        };
        assert_eq!(first(&[2, 5, 0x13, 0x1c]), Some(0xfe));
        assert_eq!(first(&[7, 9, 0x100]), Some(0), "as they are");
        assert_eq!(first(&[2, 5]), None, "too few");
        assert_eq!(first(&[2, 3, 4, 5, 6]), None);
    }
}
