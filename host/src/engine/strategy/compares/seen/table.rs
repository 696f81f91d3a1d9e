//! A map by 64-bit keys in the order in which these came: what is looked up for every comparison of an execution has to
//! be found at once.

/// Values by keys. Keys are hashes, so their lowest bits say where to look.
#[derive(Clone, Debug)]
pub(super) struct Table<V> {
    entries: Vec<(u64, V)>,
    /// By the lowest bits of a key, or at the next free place: the place of its entry and 1. Twice as many as entries
    /// at least.
    slots: Vec<u32>,
}

/// Slots that a table begins with, when something comes to it.
const SLOTS_MIN: usize = 16;

impl<V> Default for Table<V> {
    fn default() -> Self {
        Self { entries: Vec::new(), slots: Vec::new() }
    }
}

impl<V: Default> Table<V> {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn get(&self, key: u64) -> Option<&V> {
        if self.slots.is_empty() {
            return None;
        }
        let entry = self.slots[self.slot(key)].checked_sub(1)?;
        Some(&self.entries[entry as usize].1)
    }

    /// Keys and values, in their order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &(u64, V)> {
        self.entries.iter()
    }

    /// All values.
    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.entries.iter_mut().map(|(_, value)| value)
    }

    /// The value of a key, a default one if it has none.
    pub(super) fn entry(&mut self, key: u64) -> &mut V {
        if 2 * (self.entries.len() + 1) > self.slots.len() {
            self.grow();
        }
        let slot = self.slot(key);
        let entry = if let Some(entry) = self.slots[slot].checked_sub(1) {
            entry as usize
        } else {
            self.entries.push((key, V::default()));
            self.slots[slot] = u32::try_from(self.entries.len()).expect("tables are small");
            self.entries.len() - 1
        };
        &mut self.entries[entry].1
    }

    /// Where a key is, or would be.
    fn slot(&self, key: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = key as usize & mask;
        while let Some(entry) = self.slots[slot].checked_sub(1) {
            if self.entries[entry as usize].0 == key {
                break;
            }
            slot = (slot + 1) & mask;
        }
        slot
    }

    fn grow(&mut self) {
        let len = (2 * self.slots.len()).max(SLOTS_MIN);
        self.slots.clear();
        self.slots.resize(len, 0);
        for index in 0..self.entries.len() {
            let slot = self.slot(self.entries[index].0);
            self.slots[slot] = index as u32 + 1;
        }
    }
}

impl<V> IntoIterator for Table<V> {
    type Item = (u64, V);
    type IntoIter = std::vec::IntoIter<(u64, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

/// A key for numbers: different ones have the same about once in 2^64 times.
pub(in crate::engine::strategy::compares) fn key(numbers: [u64; 3]) -> u64 {
    /// The fraction of the golden ratio.
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |hash: u64, number: u64| {
        let product = u128::from(hash ^ number ^ 0xe703_7ed1_a0b4_28db) * u128::from(FACTOR);
        (product as u64 ^ (product >> 64) as u64).wrapping_add(FACTOR)
    };
    numbers.into_iter().fold(0, mix)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Rng;
    use std::collections::BTreeMap;

    #[test]
    fn a_table_is_a_map_that_keeps_the_order() {
        let (mut table, mut map, mut order) = (Table::<u32>::default(), BTreeMap::<u64, u32>::new(), Vec::new());
        let mut rng = Rng::of_task(1, 0, 0);
        for step in 0..20_000 {
            // Keys whose lowest bits are the same, too.
            let key = (rng.below(4_000) as u64) << if rng.one_in(2) { 40 } else { 0 };
            assert_eq!(table.get(key), map.get(&key));
            if rng.one_in(3) {
                if !map.contains_key(&key) {
                    order.push(key);
                }
                *table.entry(key) += step;
                *map.entry(key).or_default() += step;
            }
        }
        assert_eq!(table.len(), map.len());
        let entries: Vec<_> = table.into_iter().collect();
        assert_eq!(entries.iter().map(|(key, _)| *key).collect::<Vec<_>>(), order);
        assert!(entries.iter().all(|(key, value)| map[key] == *value));
    }

    #[test]
    fn small_numbers_have_different_keys() {
        let mut seen = std::collections::BTreeSet::new();
        for a in 0..30 {
            for b in 0..30 {
                for c in 0..30 {
                    assert!(seen.insert(key([a, b, c])));
                    assert!(seen.insert(key([a, b, c << 32 | 1 << 63])));
                }
            }
        }
    }
}
