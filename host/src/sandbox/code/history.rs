//! How often edges were taken: what variants of a target are laid out by.

use crate::id::ModuleId;
use crate::sandbox::code::cache::CodeCache;
use anyhow::Result;
use fuzzbox_instrument::EdgeSet;
use std::sync::Arc;

/// The kind of cache entries that hold counts.
const KIND: &str = "past";

/// Oldest entries are removed when they take more than this together, in bytes.
const BYTES_MAX: u64 = 64 << 20;

/// Executions of the past. Counters are put where they would have been written least often, and those that would have
/// been written lie together. It makes no difference to what is counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// By edge. Empty if nothing is known.
    counts: Arc<[u64]>,
    /// Code of variants that don't decide what fails compares addresses, and what grew stays open.
    compares: bool,
}

/// How many executions grew a memory, in how many steps, and the fuel that all of them took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Growths {
    /// Executions.
    pub execs: u64,
    /// Those that grew a memory.
    pub grown: u64,
    /// How often these grew one.
    pub steps: u64,
    /// Units of fuel.
    pub fuel: u64,
}

impl Growths {
    /// To open pages in each step and to close them in the end are system calls, which all workers of a process wait
    /// for: as long as so many units of fuel take each. Comparisons make code slower by a part of what it takes; they
    /// pay if executions are shorter than this.
    const CALL_FUEL: u64 = 1 << 19;

    /// Counts these as well.
    pub fn add(&mut self, other: &Self) {
        self.execs += other.execs;
        self.grown += other.grown;
        self.steps += other.steps;
        self.fuel += other.fuel;
    }

    /// Executions that grow a memory are no reason for anything if there is one in so many.
    const RARE: u64 = 512;

    /// Whether executions hardly ever grow a memory.
    pub(crate) fn are_rare(&self) -> bool {
        self.grown.saturating_mul(Self::RARE) <= self.execs
    }

    /// System calls: to open pages in each step, and to close them in the end.
    fn calls(&self) -> u64 {
        self.grown + self.steps
    }

    /// A system call takes a worker that is alone as long as so many units of fuel.
    const CALL_FUEL_ALONE: u64 = 1 << 13;

    /// What executions took that took so much fuel and were like these, their system calls included, in units of fuel.
    pub(crate) fn with_calls(&self, fuel: u64) -> u64 {
        let [all, calls] = [self.fuel.max(1), self.calls().saturating_mul(Self::CALL_FUEL_ALONE)].map(u128::from);
        u64::try_from(u128::from(fuel).saturating_mul(all + calls) / all).unwrap_or(u64::MAX)
    }

    /// Whether it is better to compare addresses, and to leave open what grew, also if executions took so many times as
    /// long.
    pub fn pay(&self, longer: u64) -> bool {
        self.calls().saturating_mul(Self::CALL_FUEL) > self.fuel.max(self.execs).saturating_mul(longer)
    }
}

impl History {
    pub(crate) fn new(counts: Vec<u64>, compares: bool) -> Self {
        Self { counts: counts.into(), compares }
    }

    /// Whether so many executions grew a memory that code of variants that don't decide what fails compares addresses,
    /// and leaves open what grew.
    pub fn compares(&self) -> bool {
        self.compares
    }

    /// As if they had.
    #[must_use]
    pub fn comparing(self) -> Self {
        Self { compares: true, ..self }
    }

    /// Whether most of the edges that were taken here were taken there.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        if self.counts.len() != other.counts.len() || self.compares != other.compares {
            return false;
        }
        let taken = || other.counts.iter().zip(&*self.counts).filter(|(count, _)| **count > 0);
        4 * taken().filter(|(_, count)| **count > 0).count() >= 3 * taken().count()
    }

    pub(crate) fn load(cache: &CodeCache, key: &[u8; 32]) -> Option<Self> {
        let bytes = cache.cache()?.get(KIND, key)?;
        let (counts, &[compares]) = bytes.as_chunks::<4>() else { return None };
        let counts = counts.iter().map(|&count| u32::from_le_bytes(count).into()).collect();
        Some(Self { counts, compares: compares != 0 })
    }

    pub(crate) fn keep(&self, cache: &CodeCache, key: &[u8; 32]) {
        let Some(cache) = cache.cache() else { return };
        let counts = self.counts.iter().map(|&count| u32::try_from(count).unwrap_or(u32::MAX));
        let bytes: Vec<u8> = counts.flat_map(u32::to_le_bytes).chain([u8::from(self.compares)]).collect();
        // Without it the next process compiles once more, and that is all.
        let _: Result<()> = cache.put(KIND, key, &bytes).and_then(|()| cache.trim(KIND, BYTES_MAX));
    }

    /// By edge, for the rewriter; `None` if nothing is known. `interesting` are the edges that are counted, if only
    /// some are.
    pub(crate) fn profile(&self, interesting: Option<&EdgeSet>) -> Option<Arc<[u64]>> {
        match interesting {
            Some(interesting) => Some(self.with_retired(interesting).collect()),
            None => (!self.counts.is_empty()).then(|| self.counts.clone()),
        }
    }

    /// What is of no interest any more was executed often: nothing is to be counted there for the sake of others.
    fn with_retired(&self, interesting: &EdgeSet) -> impl Iterator<Item = u64> {
        let end = interesting.end().max(self.counts.len() as u32);
        (0..end).map(|edge| {
            let count = self.counts.get(edge as usize).copied().unwrap_or_default();
            count.max(u64::from(edge < interesting.end() && !interesting.contains(edge)))
        })
    }
}

/// What counts are of: a module, and the function that is called.
pub(crate) fn key(module: ModuleId, export: &str) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"fuzzbox past 2\n");
    hasher.update(&module.0);
    hasher.update(export.as_bytes());
    *hasher.finalize().as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_calls_count_as_fuel() {
        let growths = |grown, fuel| Growths { execs: 100, grown, steps: grown, fuel };
        let with_calls = |grown, of, fuel| growths(grown, of).with_calls(fuel);
        assert_eq!([with_calls(0, 0, 7), with_calls(0, 100, 7), with_calls(0, 100, u64::MAX)], [7, 7, u64::MAX]);
        // A hundred executions of 16,384 units make two calls of half as many each: as much again.
        assert_eq!(with_calls(100, 100 << 14, 1_000), 2_000);
        assert_eq!(with_calls(100, 1, u64::MAX), u64::MAX);
    }
}
