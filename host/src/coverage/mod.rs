//! From counters to features to novelty.
//!
//! A *feature* is a pair (edge, hit-count bucket), as in AFL: an input is worth keeping if it shows a feature that no
//! input before it showed. An execution's features are its [`Profile`]; [`Seen`] is the union of profiles. What a guest
//! tells as an event is a feature too ([`events`]), and so is how far it comes on a trace (`frames`), under numbers
//! that no edge has. So are those of another build that executes each input as well: its numbers are behind all of the
//! target's.
//!
//! # Judging costs what is new
//!
//! Counters keep to lines of the cache, 16 of one function or of several small ones. `full` and `fast` are laid out
//! for what up to 256 testcases do (`History`): counters are put where least happens, and those that are in use lie
//! together, so that few pages are scanned and restored. The user's cache keeps the counts, so that the next
//! campaign finds the code. A line's hash is looked up among what earlier executions did; only what is not known is
//! solved, function by function, without branches, and compared with what was seen, many edges at a time. A large
//! function's counters are kept until all mutants of a testcase were executed, and solved for eight of them at
//! once, which takes little longer than for one; what shows something new by that is made again and executed where
//! that decides, in the order of the mutants.
//!
//! # Files
//!
//! Counters, `events` and `frames` -> features -> novelty; `judge` asks only about what no execution did before, and
//! about large functions for several executions `together`.

pub(crate) mod buckets;
pub(crate) mod events;
mod frames;
mod judge;
mod together;

pub(crate) use judge::Judge;

use self::buckets::{CLASSES, bucket};
use crate::sandbox::{Observation, Target};
use fuzzbox_instrument::{CountsBuffer, LANES};
use std::collections::{BTreeMap, BTreeSet};

/// The features of one execution: (edge, bucket bit), ascending by edge, each edge at most once. Those of events
/// follow, each bucket by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile(pub Vec<(u32, u8)>);

impl Profile {
    /// Reads the features of the last execution.
    pub fn of(observation: Observation<'_>) -> Self {
        let mut features = Vec::new();
        observation.edges(|edge, count| features.push((edge, bucket(count))));
        features.extend(told(observation));
        features.sort_unstable();
        features.dedup();
        if let Some(beside) = observation.beside() {
            let start = start_beside(observation.edges_total());
            features.extend(Self::of(beside).0.into_iter().map(|(edge, bucket)| (start + edge, bucket)));
        }
        Self(features)
    }

    /// The features of the target, and those of the other build, by its own numbers.
    fn split(&self, edges_total: usize) -> (&[(u32, u8)], Option<Self>) {
        let start = start_beside(edges_total);
        let (own, beside) = self.0.split_at(self.0.partition_point(|&(edge, _)| edge < start));
        let beside = beside.iter().map(|&(edge, bucket)| (edge - start, bucket));
        (own, (beside.len() > 0).then(|| Self(beside.collect())))
    }

    /// Whether the last execution showed all of these features, and maybe others. Costs what the functions have that
    /// these are of.
    pub fn is_part_of(&self, observation: Observation<'_>, buffer: &mut CountsBuffer) -> bool {
        let edges_total = observation.edges_total();
        let (own, beside) = self.split(edges_total);
        let (edges, events) = own.split_at(own.partition_point(|&(edge, _)| (edge as usize) < edges_total));
        if let Some(beside) = beside
            && !observation.beside().is_some_and(|observation| beside.is_part_of(observation, buffer))
        {
            return false;
        }
        let mut edges = edges;
        while let Some(&(edge, _)) = edges.first() {
            let Some((first, counts)) = observation.counts_around(edge, buffer) else { return false };
            let end = first as usize + counts.len();
            let (own, rest) = edges.split_at(edges.partition_point(|&(edge, _)| (edge as usize) < end));
            if own.iter().any(|&(edge, wanted)| bucket(counts[(edge - first) as usize]) != wanted) {
                return false;
            }
            edges = rest;
        }
        // One event may be told often.
        let told: BTreeSet<_> = if events.is_empty() { BTreeSet::new() } else { told(observation).collect() };
        events.iter().all(|event| told.contains(event))
    }
}

/// The features of what the guest told in the last execution, each as often as it did.
fn told(observation: Observation<'_>) -> impl Iterator<Item = (u32, u8)> {
    events::of(observation).chain(frames::of(observation))
}

/// Where the numbers of another build's features begin, behind those of a module with so many edges.
fn start_beside(edges_total: usize) -> u32 {
    edges_total as u32 + events::LABELS * events::CELLS + frames::NUMBERS
}

/// Features seen so far: one byte of bucket bits per edge, and behind them for each number of events, once there are
/// some.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    buckets: Vec<u8>,
    /// By edge: counts that are no news for sure, from the first on so many and one; what nearly all are.
    firsts: Vec<u32>,
    spans: Vec<u32>,
    edges_total: usize,
    edges: usize,
    /// Those of the other build, if there is one.
    beside: Option<Box<Self>>,
}

/// Most of the counts that are no news for an edge that showed these buckets: the first of them, and how many follow
/// it. 0 is one of them, or else is no news beside them.
fn familiar(buckets: u8) -> (u32, u32) {
    let (mut longest, mut first) = (0, 0);
    let mut class = 0;
    while class < u8::BITS {
        let len = (buckets >> class).trailing_ones();
        if len > longest {
            (longest, first) = (len, class);
        }
        class += len.max(1);
    }
    if longest == 0 {
        return (0, 0);
    }
    let start = if first == 0 { 0 } else { CLASSES[first as usize] };
    let end = CLASSES.get((first + longest) as usize).map_or(u32::MAX, |end| end - 1);
    (start, end - start)
}

impl Seen {
    /// Nothing seen of a module with `edges_total` edges.
    pub fn nothing(edges_total: usize) -> Self {
        let zeros = || vec![0; edges_total];
        Self { buckets: vec![0; edges_total], firsts: zeros(), spans: zeros(), edges_total, edges: 0, beside: None }
    }

    /// Nothing seen of a target, nor of the build that it is compared with.
    pub fn nothing_of(target: &Target) -> Self {
        let beside = target.against.as_ref().map(|against| Box::new(Self::nothing_of(&against.target)));
        Self { beside, ..Self::nothing(target.edges.edges.len()) }
    }

    /// Nothing seen of the same.
    #[must_use]
    pub fn to_nothing(&self) -> Self {
        let beside = self.beside.as_ref().map(|beside| Box::new(beside.to_nothing()));
        Self { beside, ..Self::nothing(self.edges_total) }
    }

    /// What was seen of the other build, if there is one.
    pub(crate) fn beside(&self) -> Option<&Self> {
        self.beside.as_deref()
    }

    /// Whether the feature was seen, or nobody asks for it.
    pub fn has(&self, edge: u32, bucket: u8) -> bool {
        if let Some(beside) = &self.beside
            && let Some(edge) = edge.checked_sub(start_beside(self.edges_total))
        {
            return beside.has(edge, bucket);
        }
        self.buckets.get(edge as usize).is_some_and(|buckets| buckets & bucket != 0)
    }

    /// How many edges the module has.
    pub fn edges_total(&self) -> usize {
        self.edges_total
    }

    /// Whether the number is that of an edge, not of an event.
    pub fn is_edge(&self, edge: u32) -> bool {
        (edge as usize) < self.edges_total
    }

    /// Whether one of the edges from `first` on, with these counts, shows a feature that was not seen.
    pub fn is_new_among(&self, first: u32, counts: &[u32]) -> bool {
        let (start, end) = (first as usize, first as usize + counts.len());
        // Without branches, so that the compiler makes it many at a time.
        let ranges = self.firsts[start..end].iter().zip(&self.spans[start..end]);
        let unfamiliar = ranges.zip(counts).fold(false, |unfamiliar, ((&first, &span), &count)| {
            unfamiliar | ((count.wrapping_sub(first) > span) & (count != 0))
        });
        let buckets = &self.buckets[start..end];
        unfamiliar && buckets.iter().zip(counts).any(|(seen, &count)| bucket(count) & !seen != 0)
    }

    /// Marks the executions in which an edge has a count that may be news. Without branches, as [`Seen::is_new_among`].
    #[inline(always)]
    pub fn mark(&self, edge: u32, counts: &[u32; LANES], marks: &mut [u32; LANES]) {
        let (first, span) = (self.firsts[edge as usize], self.spans[edge as usize]);
        for (mark, &count) in marks.iter_mut().zip(counts) {
            *mark |= u32::from((count.wrapping_sub(first) > span) & (count != 0));
        }
    }

    /// An edge shows other buckets than before.
    fn set(&mut self, edge: usize, buckets: u8) {
        self.buckets[edge] = buckets;
        if edge < self.edges_total {
            (self.firsts[edge], self.spans[edge]) = familiar(buckets);
        }
    }

    /// Whether `profile` has a feature that was not seen.
    pub fn is_new(&self, profile: &Profile) -> bool {
        profile.0.iter().any(|&(edge, bucket)| !self.has(edge, bucket))
    }

    /// The features of `profile` that were not seen.
    pub fn news(&self, profile: &Profile) -> Profile {
        Profile(profile.0.iter().copied().filter(|&(edge, bucket)| !self.has(edge, bucket)).collect())
    }

    /// From now on nothing that this edge shows is new. It must have been seen.
    pub fn retire(&mut self, edge: u32) {
        debug_assert!(self.has_edge(edge), "an edge that nobody saw would be new");
        self.set(edge as usize, u8::MAX);
    }

    /// Adds the features of `profile`; returns the edges that were never seen before, ascending. (Events are no edges.)
    pub fn add(&mut self, profile: &Profile) -> Vec<u32> {
        let mut new_edges = Vec::new();
        let (own, beside) = profile.split(self.edges_total);
        if own.last().is_some_and(|&(last, _)| last as usize >= self.buckets.len()) {
            self.buckets.resize(start_beside(self.edges_total) as usize, 0);
        }
        if let Some((seen, beside)) = self.beside.as_mut().zip(beside) {
            seen.add(&beside);
        }
        for &(edge, bucket) in own {
            let seen = self.buckets[edge as usize];
            if seen == 0 && self.is_edge(edge) {
                new_edges.push(edge);
            }
            self.set(edge as usize, seen | bucket);
        }
        self.edges += new_edges.len();
        new_edges
    }

    /// How many edges were seen.
    pub fn edges(&self) -> usize {
        self.edges
    }

    /// Whether edge `edge` was seen.
    pub fn has_edge(&self, edge: u32) -> bool {
        self.buckets[edge as usize] != 0
    }
}

/// Features that were seen beside those of a [`Seen`] that many share: what a task found. They are few.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Added(BTreeMap<u32, u8>);

impl Added {
    /// Whether the feature is among them.
    pub(crate) fn has(&self, edge: u32, bucket: u8) -> bool {
        self.0.get(&edge).is_some_and(|buckets| buckets & bucket != 0)
    }

    /// Adds those of `unseen`; returns whether there were some that were not here.
    pub(crate) fn add(&mut self, unseen: &Profile) -> bool {
        let mut news = false;
        for &(edge, bucket) in &unseen.0 {
            let buckets = self.0.entry(edge).or_default();
            news |= *buckets & bucket == 0;
            *buckets |= bucket;
        }
        news
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_single_bits_that_never_decrease() {
        let mut last = 1;
        for count in 1..300 {
            let bit = bucket(count);
            assert!(bit.is_power_of_two() && bit >= last, "{count}");
            last = bit;
        }
        assert_eq!((bucket(0), bucket(u32::MAX)), (0, 1 << 7));
        let classes = [1, 2, 3, 4, 8, 16, 32, 128].map(|start| (bucket(start - 1), bucket(start)));
        assert!(classes.iter().enumerate().all(|(class, &(before, at))| before != at && at == 1 << class));
    }

    #[test]
    fn counts_are_new_if_their_bucket_is_whatever_else_was_seen() {
        for buckets in 0..=u8::MAX {
            let mut seen = Seen::nothing(3);
            for class in (0..u8::BITS).filter(|class| buckets >> class & 1 == 1) {
                seen.add(&Profile(vec![(1, 1 << class)]));
            }
            for count in (0..300).chain([u32::MAX / 2, u32::MAX]) {
                let new = bucket(count) & !buckets != 0;
                assert_eq!(seen.is_new_among(1, &[count]), new, "{buckets:#x} {count}");
                assert_eq!(seen.is_new_among(0, &[0, count, 0]), new, "{buckets:#x} {count}");
                let mut marks = [0; LANES];
                seen.mark(1, &[0, count, 0, 0, 0, 0, 0, count], &mut marks);
                assert!(!new || marks == [0, 1, 0, 0, 0, 0, 0, 1], "{buckets:#x} {count}");
                assert!(marks == [0; LANES] || marks == [0, 1, 0, 0, 0, 0, 0, 1]);
                assert!(buckets != u8::MAX || marks == [0; LANES]);
            }
        }
        let mut seen = Seen::nothing(1);
        seen.add(&Profile(vec![(0, 2)]));
        seen.retire(0);
        assert!(!seen.is_new_among(0, &[1]) && !seen.is_new_among(0, &[u32::MAX]));
    }

    #[test]
    fn a_profile_is_new_until_it_was_added_and_merging_commutes() {
        let (a, b) = (Profile(vec![(0, 1), (3, 2)]), Profile(vec![(0, 2), (3, 2)]));
        let mut seen = Seen::nothing(4);
        assert!(seen.is_new(&a));
        assert_eq!(seen.add(&a), [0, 3]);
        assert!(!seen.is_new(&a) && seen.is_new(&b));
        assert_eq!(seen.add(&b), [0_u32; 0]);
        let mut other = Seen::nothing(4);
        other.add(&b);
        other.add(&a);
        assert_eq!(seen, other);
        assert_eq!(seen.edges(), 2);
    }
}
