//! What a campaign learned that no testcase shows, by where in the module it belongs.
//!
//! What testcases show comes back when they are executed. This does not: which edges have had their chances, how often
//! a comparison was tried in vain, what inputs are compared with, how often a testcase was mutated. So it is kept, and
//! the next campaign begins with it: on the same build with all, on another one with what belongs to functions that are
//! as they were.
//!
//! Whoever makes a store can write anything here, and on another build it may be wrong. So nothing of it decides:
//!
//! - an edge that had retired retires again when it showed nothing new for a while on this build;
//! - what was tried in vain is tried again when nothing else is left, as in any campaign;
//! - how comparisons turn out is not kept, but seen again;
//! - tokens, checks and how often testcases were picked only make some mutants more likely.

use super::checks::Check;
use super::dictionary::Dictionary;
use crate::id::InputId;
use crate::packed::{Packed, put_bytes, put_number};
use std::collections::{BTreeMap, BTreeSet};

/// Of each kind, no more is kept.
const MAX: usize = 1 << 16;

/// What was learned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Learned {
    /// Edges that had retired.
    pub(super) retired: BTreeSet<u32>,
    /// What the input was compared with, and the site.
    pub(super) tokens: Vec<(u32, Vec<u8>)>,
    /// How numbers lie in the input that are compared with what the rest says, by site.
    pub(super) checks: BTreeMap<u32, Check>,
    /// By site: how often it was tried to let a comparison there turn out otherwise.
    pub(super) sites: BTreeMap<u32, Tried>,
    /// By site, occurrence and target, and operand: the same, of a comparison.
    pub(super) comparisons: BTreeMap<(u32, u64, u64), [u32; 3]>,
    /// How often testcases were picked.
    pub(super) picks: BTreeMap<InputId, u64>,
    /// Edges of functions that are others than where this was learned. What a testcase that executes them was good for
    /// says nothing any more.
    pub(super) changed: BTreeSet<u32>,
}

/// What was tried at a site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tried {
    /// In vain, by effort.
    pub(super) failed: [u32; 3],
    /// With success.
    pub(super) solved: u32,
    /// Nothing in the input changed the operands.
    pub(super) skipped: u32,
}

/// How places of one build are called in another, or in what is stored.
pub(crate) struct Moved<'a> {
    /// By edge.
    pub(crate) edge: &'a dyn Fn(u32) -> Option<u32>,
    /// By an operator's place.
    pub(crate) site: &'a dyn Fn(u32) -> Option<u32>,
    /// Edges of the other build that were none in this one.
    pub(crate) changed: BTreeSet<u32>,
}

impl Learned {
    /// How much it is.
    pub fn count(&self) -> u64 {
        let places = self.retired.len() + self.tokens.len() + self.sites.len() + self.comparisons.len();
        (places + self.picks.len() + self.checks.len()) as u64
    }

    /// The same by other names; what has none is left out.
    pub(crate) fn moved(&self, to: &Moved<'_>) -> Self {
        let Self { retired, tokens, checks, sites, comparisons, picks, changed: _ } = self;
        Self {
            retired: retired.iter().filter_map(|edge| (to.edge)(*edge)).collect(),
            tokens: tokens.iter().filter_map(|(site, token)| Some(((to.site)(*site)?, token.clone()))).collect(),
            checks: checks.iter().filter_map(|(site, check)| Some(((to.site)(*site)?, *check))).collect(),
            sites: sites.iter().filter_map(|(site, tried)| Some(((to.site)(*site)?, *tried))).collect(),
            comparisons: comparisons
                .iter()
                .filter_map(|(&(site, place, operand), tries)| Some((((to.site)(site)?, place, operand), *tries)))
                .collect(),
            picks: picks.clone(),
            changed: to.changed.clone(),
        }
    }

    /// Adds what was learned `earlier` and is not known better now: edges that had retired, but for those that
    /// `has_news` since; tokens, checks, tries and picks, where there are none now.
    pub(super) fn after(&mut self, earlier: &Self, has_news: impl Fn(u32) -> bool) {
        self.retired.extend(earlier.retired.iter().filter(|&&edge| !has_news(edge)));
        let own: BTreeSet<&[u8]> = self.tokens.iter().map(|(_, token)| &**token).collect();
        let others = earlier.tokens.iter().filter(|(_, token)| !own.contains(&**token));
        let others: Vec<_> = others.cloned().collect();
        self.tokens.extend(others);
        for (&site, &check) in &earlier.checks {
            self.checks.entry(site).or_insert(check);
        }
        for (&site, &tried) in &earlier.sites {
            self.sites.entry(site).or_insert(tried);
        }
        for (&comparison, &tries) in &earlier.comparisons {
            self.comparisons.entry(comparison).or_insert(tries);
        }
        for (&input, &picks) in &earlier.picks {
            self.picks.entry(input).or_insert(picks);
        }
    }

    /// As bytes.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let head = |bytes: &mut Vec<u8>, count: usize| put_number(bytes, count.min(MAX) as u64);
        let numbers =
            |bytes: &mut Vec<u8>, all: &[u32]| all.iter().for_each(|&number| put_number(bytes, number.into()));
        head(&mut bytes, self.retired.len());
        self.retired.iter().take(MAX).for_each(|&edge| put_number(&mut bytes, edge.into()));
        head(&mut bytes, self.tokens.len());
        for (site, token) in self.tokens.iter().take(MAX) {
            put_number(&mut bytes, (*site).into());
            put_bytes(&mut bytes, token);
        }
        head(&mut bytes, self.sites.len());
        for (site, tried) in self.sites.iter().take(MAX) {
            numbers(&mut bytes, &[*site, tried.solved, tried.skipped]);
            numbers(&mut bytes, &tried.failed);
        }
        head(&mut bytes, self.comparisons.len());
        for (&(site, place, operand), tries) in self.comparisons.iter().take(MAX) {
            [site.into(), place, operand].into_iter().for_each(|number| put_number(&mut bytes, number));
            numbers(&mut bytes, tries);
        }
        head(&mut bytes, self.picks.len());
        for (input, &picks) in self.picks.iter().take(MAX) {
            bytes.extend_from_slice(&input.0);
            put_number(&mut bytes, picks);
        }
        let checks = self.checks.iter().filter_map(|(&site, check)| Some((site, check.to_code()?)));
        for (site, code) in checks.take(MAX) {
            put_number(&mut bytes, site.into());
            bytes.extend_from_slice(&code);
        }
        bytes
    }

    /// Reads what [`Learned::to_bytes`] wrote; `None` if it is nothing of that kind.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let mut packed = Packed::new(bytes);
        let mut learned = Self::default();
        for _ in 0..head(&mut packed)? {
            learned.retired.insert(packed.number()?);
        }
        for _ in 0..head(&mut packed)? {
            let (site, token) = (packed.number()?, packed.bytes()?);
            (!token.is_empty() && token.len() <= Dictionary::TOKEN_BYTES_MAX).then_some(())?;
            learned.tokens.push((site, token.to_vec()));
        }
        for _ in 0..head(&mut packed)? {
            let (site, solved, skipped) = (packed.number()?, packed.number()?, packed.number()?);
            learned.sites.insert(site, Tried { failed: three(&mut packed)?, solved, skipped });
        }
        for _ in 0..head(&mut packed)? {
            let comparison = (packed.number()?, packed.number()?, packed.number()?);
            learned.comparisons.insert(comparison, three(&mut packed)?);
        }
        for _ in 0..head(&mut packed)? {
            let input = InputId(packed.take(size_of::<InputId>())?.try_into().ok()?);
            learned.picks.insert(input, packed.number()?);
        }
        // What was written before there were any ends here.
        while !packed.is_empty() {
            let (site, code) = (packed.number()?, packed.take(3)?.try_into().ok()?);
            learned.checks.insert(site, Check::of_code(code)?);
        }
        Some(learned)
    }
}

/// How many follow.
fn head(packed: &mut Packed<'_>) -> Option<usize> {
    packed.number().filter(|count| *count <= MAX)
}

fn three(packed: &mut Packed<'_>) -> Option<[u32; 3]> {
    Some([packed.number()?, packed.number()?, packed.number()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> Learned {
        Learned {
            retired: BTreeSet::from([3, 900]),
            tokens: vec![(70, b"CDATA[".to_vec()), (12, b"true".to_vec())],
            checks: BTreeMap::from([(70, Check::of_code([1, 4, 1]).unwrap())]),
            sites: BTreeMap::from([(70, Tried { failed: [48, 2, 0], solved: 7, skipped: 1 })]),
            comparisons: BTreeMap::from([((70, 3 << 32, u64::MAX), [3, 2, 0]), ((12, 0, 1), [1, 0, 0])]),
            picks: BTreeMap::from([(InputId([7; 32]), 1 << 40)]),
            changed: BTreeSet::new(),
        }
    }

    #[test]
    fn what_was_learned_comes_back_and_what_is_cut_or_changed_is_none_or_something_else() {
        let (learned, bytes) = (some(), some().to_bytes());
        assert_eq!(Learned::of_bytes(&bytes), Some(learned.clone()));
        assert_eq!(learned.count(), 2 + 2 + 1 + 2 + 1 + 1);
        let before = bytes.len() - 4;
        let without = Learned { checks: BTreeMap::new(), ..learned.clone() };
        assert_eq!(Learned::of_bytes(&bytes[..before]), Some(without), "what had no checks yet");
        for at in 0..bytes.len() {
            assert_eq!(Learned::of_bytes(&bytes[..at]).filter(|_| at != before), None, "cut at {at}");
            for bit in 0..8 {
                let mut bytes = bytes.clone();
                bytes[at] ^= 1 << bit;
                assert_ne!(Learned::of_bytes(&bytes), Some(learned.clone()));
            }
        }
        assert_eq!(Learned::of_bytes(&[0xff; 64]), None);
    }

    #[test]
    fn what_was_learned_earlier_stays_unless_it_is_known_better() {
        let mut now = Learned {
            retired: BTreeSet::from([5]),
            tokens: vec![(1, b"true".to_vec())],
            comparisons: BTreeMap::from([((12, 0, 1), [2, 0, 0])]),
            ..Learned::default()
        };
        now.after(&some(), |edge| edge == 900);
        assert_eq!(now.retired, BTreeSet::from([3, 5]));
        assert_eq!(now.tokens, [(1, b"true".to_vec()), (70, b"CDATA[".to_vec())]);
        assert_eq!((now.sites, now.picks, now.checks), (some().sites, some().picks, some().checks));
        assert_eq!(now.comparisons.get(&(12, 0, 1)), Some(&[2, 0, 0]));
        assert_eq!(now.comparisons.len(), 2);
        let mut nothing = Learned::default();
        nothing.after(&some(), |_| false);
        assert_eq!(nothing, some());
    }

    #[test]
    fn what_belongs_to_changed_functions_stays_behind() {
        let moved = some().moved(&Moved {
            edge: &|edge| (edge < 100).then_some(edge + 1),
            site: &|site| (site > 50).then(|| site - 50),
            changed: BTreeSet::from([1]),
        });
        assert_eq!(moved.retired, BTreeSet::from([4]));
        assert_eq!(moved.tokens, [(20, b"CDATA[".to_vec())]);
        assert_eq!(moved.sites.keys().collect::<Vec<_>>(), [&20]);
        assert_eq!(moved.checks.keys().collect::<Vec<_>>(), [&20]);
        assert_eq!(moved.comparisons.keys().collect::<Vec<_>>(), [&(20, 3 << 32, u64::MAX)]);
        assert_eq!((moved.picks, moved.changed), (some().picks, BTreeSet::from([1])));
    }
}
