//! How often edges were taken: what variants of a target are laid out by.

use super::code::CodeCache;
use super::executor::Executor;
use super::target::Target;
use super::variant::Variant;
use anyhow::Result;
use fuzzbox_instrument::EdgeSet;
use std::sync::Arc;

/// The kind of cache entries that hold counts.
const KIND: &str = "past";

/// Oldest entries are removed when they take more than this together, in bytes.
const BYTES_MAX: u64 = 64 << 20;

/// Fuel after which no more inputs are executed: about a second.
const FUEL_MAX: u64 = 2_000_000_000;

/// Executions of the past. Counters are put where they would have been written least often, and those that would have been
/// written lie together. It makes no difference to what is counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Past {
    /// By edge. Empty if nothing is known.
    counts: Arc<[u64]>,
    /// Code of variants without fuel compares addresses, and what grew stays open.
    compares: bool,
}

/// How many executions grew a memory, and the fuel that all of them took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Growths {
    /// Executions.
    pub execs: u64,
    /// Those that grew a memory.
    pub grown: u64,
    /// Units of fuel.
    pub fuel: u64,
}

impl Growths {
    /// To open pages and to close them again are system calls, which all workers of a process wait for: as long as so many units of fuel
    /// take. Comparisons make code slower by a part of what it takes; they pay if executions that grow are shorter than this.
    const FUEL: u64 = 1 << 20;

    /// Counts the last execution of an executor whose target has fuel.
    pub fn note(&mut self, executor: &Executor) {
        self.execs += 1;
        self.grown += u64::from(executor.has_grown());
        self.fuel += executor.observation().fuel();
    }

    /// Counts these as well.
    pub fn add(&mut self, other: &Self) {
        self.execs += other.execs;
        self.grown += other.grown;
        self.fuel += other.fuel;
    }

    /// Whether it is better to compare addresses, and to leave open what grew.
    pub fn pay(&self) -> bool {
        self.grown.saturating_mul(Self::FUEL) > self.fuel.max(self.execs)
    }
}

impl Past {
    /// Executes inputs, until that takes too long, and counts. The target is one with fuel.
    ///
    /// # Errors
    ///
    /// As for [`Executor::run`].
    pub fn of<'a>(target: &Arc<Target>, inputs: impl IntoIterator<Item = &'a [u8]>) -> Result<Self> {
        let mut counts = vec![0; target.edges.edges.len()];
        let mut executor = Executor::new(target)?;
        let mut growths = Growths::default();
        for input in inputs {
            executor.run(input)?;
            growths.note(&executor);
            executor.observation().edges(|edge, count| counts[edge as usize] += u64::from(count));
            if growths.fuel > FUEL_MAX {
                break;
            }
        }
        Ok(Self { counts: counts.into(), compares: growths.pay() })
    }

    /// Whether so many executions grew a memory that code of variants without fuel compares addresses, and leaves open what grew.
    pub fn compares(&self) -> bool {
        self.compares
    }

    /// As if they had.
    #[must_use]
    pub fn comparing(self) -> Self {
        Self { compares: true, ..self }
    }

    /// This past, or the one that the cache has of the target, if that is much the same: code that was laid out by it is in the cache.
    #[must_use]
    pub fn or_cached(self, target: &Target) -> Self {
        let (cache, key) = (&target.cache, key(target));
        if let Some(cached) = Self::load(cache, &key).filter(|cached| cached.is_like(&self)) {
            return cached;
        }
        self.keep(cache, &key);
        self
    }

    /// Whether most of the edges that were taken here were taken there.
    fn is_like(&self, other: &Self) -> bool {
        if self.counts.len() != other.counts.len() || self.compares != other.compares {
            return false;
        }
        let taken = || other.counts.iter().zip(&*self.counts).filter(|(count, _)| **count > 0);
        4 * taken().filter(|(_, count)| **count > 0).count() >= 3 * taken().count()
    }

    fn load(cache: &CodeCache, key: &[u8; 32]) -> Option<Self> {
        let bytes = cache.cache()?.get(KIND, key)?;
        let (counts, &[compares]) = bytes.as_chunks::<4>() else { return None };
        let counts = counts.iter().map(|&count| u32::from_le_bytes(count).into()).collect();
        Some(Self { counts, compares: compares != 0 })
    }

    fn keep(&self, cache: &CodeCache, key: &[u8; 32]) {
        let Some(cache) = cache.cache() else { return };
        let counts = self.counts.iter().map(|&count| u32::try_from(count).unwrap_or(u32::MAX));
        let bytes: Vec<u8> = counts.flat_map(u32::to_le_bytes).chain([u8::from(self.compares)]).collect();
        // Without it the next process compiles once more, and that is all.
        let _: Result<()> = cache.put(KIND, key, &bytes).and_then(|()| cache.trim(KIND, BYTES_MAX));
    }

    /// By edge, for the rewriter; `None` if nothing is known.
    pub(super) fn profile(&self, variant: &Variant) -> Option<Arc<[u64]>> {
        match variant {
            Variant::Fast(interesting) => Some(self.with_retired(interesting).collect()),
            _ => (!self.counts.is_empty()).then(|| self.counts.clone()),
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
fn key(target: &Target) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"fuzzbox past 2\n");
    hasher.update(&target.id.0);
    hasher.update(target.entry.export().as_bytes());
    *hasher.finalize().as_bytes()
}
