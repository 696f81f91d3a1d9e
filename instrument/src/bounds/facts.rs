//! What was compared on every way to a place.

use std::collections::BTreeMap;

/// What was compared of a value: it lies that far before the end of the guest's part, or behind where the annex begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fact {
    /// From the value on, where the first byte lies.
    pub(super) start: i64,
    /// Where the last one ends.
    pub(super) end: i64,
    /// Before which access that was compared last.
    pub(super) check: usize,
    /// How far its address was from the value.
    pub(super) delta: i64,
    /// In which stretch of code without branches and calls that was.
    pub(super) stretch: u32,
}

/// By value. What was learned in a block and doesn't hold behind it is forgotten again, the last first.
#[derive(Debug, Default)]
pub(super) struct Facts {
    by_value: BTreeMap<u32, Fact>,
    /// What was known of a value before it was said anew.
    before: Vec<(u32, Option<Fact>)>,
}

impl Facts {
    pub(super) fn of(&self, value: u32) -> Option<Fact> {
        self.by_value.get(&value).copied()
    }

    pub(super) fn learn(&mut self, value: u32, fact: Fact) {
        self.before.push((value, self.by_value.insert(value, fact)));
    }

    /// How many were learned.
    pub(super) fn len(&self) -> usize {
        self.before.len()
    }

    /// Forgets all but the first.
    pub(super) fn truncate(&mut self, len: usize) {
        while self.before.len() > len {
            let Some((value, before)) = self.before.pop() else { return };
            match before {
                Some(fact) => self.by_value.insert(value, fact),
                None => self.by_value.remove(&value),
            };
        }
    }
}
