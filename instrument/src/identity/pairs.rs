//! Pairs the functions of two builds.
//!
//! By name first, for a name is what the programmer calls it. What has none, or a new one, is paired by what it is, by
//! who calls it, and by where it stands; pairs of differently named functions are guesses, which hold only if both are
//! the same in everything else.

use std::collections::BTreeMap;

use super::body::{Slot, SlotKind};
use super::fingerprint::Fingerprint;
use super::hash::Hash;
use super::module::{Function, Module};

/// How often what is known is used to find out more. Each round looks at all paired functions once.
const ROUNDS_MAX: usize = 8;

/// How many functions of one shape are compared with each other in all ways.
const ALIKE_MAX: usize = 64;

/// One build.
#[derive(Clone, Copy)]
pub(super) struct Build<'a> {
    pub(super) module: &'a Module,
    /// That don't depend on names.
    pub(super) fingerprints: &'a [Fingerprint],
}

impl<'a> Build<'a> {
    fn function(self, index: u32) -> &'a Function {
        &self.module.functions[index as usize]
    }

    fn indices(self) -> std::ops::Range<u32> {
        0..self.module.functions.len() as u32
    }
}

/// Which function of one build is which of the other.
pub(super) struct Pairs<'a> {
    old: Build<'a>,
    new: Build<'a>,
    to_new: Vec<Option<u32>>,
    to_old: Vec<Option<u32>>,
}

/// When functions with one key are paired, in the order of their indices.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    /// There is one in each build.
    Single,
    /// There are as many in each build.
    Equal,
    /// Always, as many as there are in both.
    Always,
}

impl<'a> Pairs<'a> {
    /// Pairs all that can be.
    pub(super) fn new(old: Build<'a>, new: Build<'a>) -> Pairs<'a> {
        let to_new = vec![None; old.module.functions.len()];
        let to_old = vec![None; new.module.functions.len()];
        let mut pairs = Pairs { old, new, to_new, to_old };
        pairs.by_name(|function| function.name.as_deref());
        pairs.by_name(|function| function.plain.as_deref());
        let fingerprint = |build: Build<'a>, index: u32| Some(build.fingerprints[index as usize]);
        pairs.by(When::Single, fingerprint);
        pairs.by(When::Single, |build, index| Some(build.function(index).body.shape));
        pairs.by_neighbours();
        pairs.by(When::Equal, fingerprint);
        pairs.by_neighbours();
        pairs.by_likeness();
        pairs.by(When::Single, |build, index| Some(build.function(index).body.signature));
        pairs
    }

    /// The new build's function that the old build's function is now.
    pub(super) fn new_of(&self, old: u32) -> Option<u32> {
        self.to_new.get(old as usize).copied().flatten()
    }

    /// The old build's function that the new build's function was.
    pub(super) fn old_of(&self, new: u32) -> Option<u32> {
        self.to_old.get(new as usize).copied().flatten()
    }

    /// All pairs, in the order of the old build.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, u32)> {
        (0..).zip(&self.to_new).filter_map(|(old, new)| Some((old, (*new)?)))
    }

    /// Whether a pair's functions have names, and different ones.
    pub(super) fn is_renamed(&self, old: u32, new: u32) -> bool {
        match (&self.old.function(old).plain, &self.new.function(new).plain) {
            (Some(old), Some(new)) => old != new,
            _ => false,
        }
    }

    /// Takes a pair apart.
    pub(super) fn part(&mut self, old: u32, new: u32) {
        self.to_new[old as usize] = None;
        self.to_old[new as usize] = None;
    }

    /// Pairs by callers, by place, and by place in the table, until nothing new is found.
    fn by_neighbours(&mut self) {
        for _ in 0..ROUNDS_MAX {
            let before = self.count();
            self.by_callers();
            self.by_place();
            self.by_table();
            if self.count() == before {
                break;
            }
        }
    }

    fn pair(&mut self, old: u32, new: u32) {
        if self.old.function(old).imported == self.new.function(new).imported {
            self.to_new[old as usize] = Some(new);
            self.to_old[new as usize] = Some(old);
        }
    }

    fn count(&self) -> usize {
        self.to_new.iter().flatten().count()
    }

    /// Pairs functions with the same name; where several have it (generic instances, static functions), those that are
    /// most alike.
    fn by_name(&mut self, name: impl Fn(&'a Function) -> Option<&'a str>) {
        let name = |build: Build<'a>, index| name(build.function(index));
        self.by(When::Equal, |build, index| Some((name(build, index)?, build.fingerprints[index as usize])));
        self.by(When::Equal, |build, index| Some((name(build, index)?, build.function(index).body.shape)));
        self.by(When::Equal, |build, index| Some((name(build, index)?, build.function(index).body.signature)));
        self.by(When::Always, name);
    }

    /// Pairs functions with the same key.
    fn by<K: Ord>(&mut self, when: When, key: impl Fn(Build<'a>, u32) -> Option<K>) {
        let mut groups: BTreeMap<K, (Vec<u32>, Vec<u32>)> = BTreeMap::new();
        for index in self.old.indices().filter(|&old| self.new_of(old).is_none()) {
            if let Some(key) = key(self.old, index) {
                groups.entry(key).or_default().0.push(index);
            }
        }
        for index in self.new.indices().filter(|&new| self.old_of(new).is_none()) {
            if let Some(group) = key(self.new, index).and_then(|key| groups.get_mut(&key)) {
                group.1.push(index);
            }
        }
        for (old, new) in groups.into_values() {
            let pair = match when {
                When::Single => old.len() == 1 && new.len() == 1,
                When::Equal => old.len() == new.len(),
                When::Always => true,
            };
            if pair {
                old.into_iter().zip(new).for_each(|(old, new)| self.pair(old, new));
            }
        }
    }

    /// Pairs what paired functions of the same shape call at the same places; the most often called first.
    fn by_callers(&mut self) {
        let mut votes: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        for (old, new) in self.iter() {
            let (old, new) = (&self.old.function(old).body, &self.new.function(new).body);
            if old.shape != new.shape {
                continue;
            }
            for (old, new) in old.slots.iter().zip(&new.slots).filter(|(old, _)| old.kind == SlotKind::Function) {
                let (old, new) = (old.value as u32, new.value as u32);
                if self.new_of(old).is_none() && self.old_of(new).is_none() && !self.is_renamed(old, new) {
                    *votes.entry((old, new)).or_default() += 1;
                }
            }
        }
        let mut votes: Vec<_> = votes.into_iter().collect();
        let alike = |old, new| self.old.function(old).body.shape == self.new.function(new).body.shape;
        votes.sort_by_key(|&((old, new), count)| std::cmp::Reverse((alike(old, new), count)));
        for ((old, new), _) in votes {
            if self.new_of(old).is_none() && self.old_of(new).is_none() {
                self.pair(old, new);
            }
        }
    }

    /// Pairs functions without names that stand between the same paired neighbours, if as many with their signature
    /// stand there in both builds.
    fn by_place(&mut self) {
        let mut run = Vec::new();
        let mut next_new = 0;
        let mut found = Vec::new();
        for old in self.old.indices().chain([u32::MAX]) {
            let new = if old == u32::MAX { Some(self.to_old.len() as u32) } else { self.new_of(old) };
            let Some(new) = new else {
                run.push(old);
                continue;
            };
            let between = (next_new..new).take_while(|&new| self.old_of(new).is_none()).collect::<Vec<_>>();
            if new >= next_new && between.len() as u32 == new - next_new {
                self.pair_runs(&run, &between, &mut found);
            }
            run.clear();
            next_new = new + 1;
        }
        found.into_iter().for_each(|(old, new)| self.pair(old, new));
    }

    /// Pairs functions that have the same places in the table as long as shapes and numbers agree, from its start and
    /// from its end.
    fn by_table(&mut self) {
        let (old, new) = (&self.old.module.table, &self.new.module.table);
        let forward: Vec<_> = old.values().copied().zip(new.values().copied()).collect();
        let backward: Vec<_> = old.values().rev().copied().zip(new.values().rev().copied()).collect();
        for run in [forward, backward] {
            for (old, new) in run {
                if self.unlike(old, new) != Some(0) {
                    break;
                }
                if self.new_of(old).is_none() && self.old_of(new).is_none() && !self.is_renamed(old, new) {
                    self.pair(old, new);
                }
            }
        }
    }

    /// In how many numbers functions of the same shape differ, not counting those that a linker may change.
    fn unlike(&self, old: u32, new: u32) -> Option<usize> {
        let (old, new) = (&self.old.function(old).body, &self.new.function(new).body);
        let moves =
            |module: &Module, value| module.memory.objects().contains(&value) || module.table.contains_key(&value);
        let differs = |(old, new): &(&Slot, &Slot)| match old.kind {
            SlotKind::Number => old != new,
            SlotKind::Word => old != new && !(moves(self.old.module, old.value) && moves(self.new.module, new.value)),
            _ => false,
        };
        (old.shape == new.shape).then(|| old.slots.iter().zip(&new.slots).filter(differs).count())
    }

    /// Pairs what is left over with the same shape, the most alike first.
    fn by_likeness(&mut self) {
        let mut groups: BTreeMap<Hash, (Vec<u32>, Vec<u32>)> = BTreeMap::new();
        for old in self.old.indices().filter(|&old| self.new_of(old).is_none()) {
            groups.entry(self.old.function(old).body.shape).or_default().0.push(old);
        }
        for new in self.new.indices().filter(|&new| self.old_of(new).is_none()) {
            groups.entry(self.new.function(new).body.shape).or_default().1.push(new);
        }
        for (mut old, mut new) in groups.into_values() {
            old.truncate(ALIKE_MAX);
            new.truncate(ALIKE_MAX);
            let all = old.iter().flat_map(|&old| new.iter().map(move |&new| (old, new)));
            let mut all: Vec<_> = all.map(|(old, new)| (self.unlike(old, new), old, new)).collect();
            all.sort_unstable();
            for (_, old, new) in all {
                if self.new_of(old).is_none() && self.old_of(new).is_none() {
                    self.pair(old, new);
                }
            }
        }
    }

    fn pair_runs(&self, old: &[u32], new: &[u32], found: &mut Vec<(u32, u32)>) {
        let mut groups: BTreeMap<Hash, (Vec<u32>, Vec<u32>)> = BTreeMap::new();
        for &old in old {
            groups.entry(self.old.function(old).body.signature).or_default().0.push(old);
        }
        for &new in new {
            groups.entry(self.new.function(new).body.signature).or_default().1.push(new);
        }
        for (old, new) in groups.into_values().filter(|(old, new)| old.len() == new.len()) {
            found.extend(old.into_iter().zip(new).filter(|&(old, new)| !self.is_renamed(old, new)));
        }
    }
}
