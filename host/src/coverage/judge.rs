//! Whether an execution shows something new, at the cost of what it did that no execution before it did.
//!
//! Counters must be solved for the counts of edges, and that takes longer than most functions run. But functions mostly
//! do what they did before. So for functions that were executed a hash of their counters is looked up, first for those
//! whose counters share a line of the cache, then for each; only if it is not known, the function is solved and its
//! features are looked up.

use super::together::{LATER_MIN, Together};
use super::{Added, Seen, bucket, start_beside, told};
use crate::sandbox::{Executed, ExecutedGroup, Group, Observation};
use fuzzbox_instrument::{CountsBuffer, LANES};

/// Sets of hashes that are remembered, as a power of 2.
const SETS_BITS: u32 = 14;
/// Hashes in a set: they fill a line of the cache, so looking at all costs little more than looking at one.
const WAYS: usize = 8;
/// Groups that are looked up together, so that the processor waits for the memory of all of them at once.
const BATCH: usize = 32;

/// Remembers what a target's functions did. Belongs to one worker and one variant of the target.
#[derive(Debug)]
pub(crate) struct Judge {
    /// By the highest bits of a hash: some of those that begin so. What they stand for shows nothing that the corpus
    /// had not shown.
    known: Box<[Set]>,
    buffer: CountsBuffer,
    together: Together,
    /// Of the execution that is looked at.
    executed: Vec<ExecutedGroup>,
    /// The number of the first edge, which is not 0 for another build that is compared with.
    start: u32,
    /// Of that, once there is one.
    beside: Option<Box<Self>>,
}

/// Hashes whose highest bits are equal.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Set([u64; WAYS]);

impl Judge {
    /// Knows nothing.
    pub(crate) fn new() -> Self {
        Self::starting(0)
    }

    fn starting(start: u32) -> Self {
        // A hash of all ones would seem to be known; none is likely to be.
        Self {
            known: vec![Set([u64::MAX; WAYS]); 1 << SETS_BITS].into(),
            buffer: CountsBuffer::default(),
            together: Together::default(),
            executed: Vec::new(),
            start,
            beside: None,
        }
    }

    /// Whether the last execution showed a feature that is neither in `seen` nor in `added`. `seen` may only grow from
    /// one call to the next.
    ///
    /// Where the observation is not exact this says nothing of use.
    pub(crate) fn is_news(&mut self, observation: Observation<'_>, seen: &Seen, added: &Added) -> bool {
        self.look_at(observation, seen, added, None)
    }

    /// As [`Judge::is_news`], but what takes long to find out is found out [later](Judge::news_of_earlier), for several
    /// executions together: of the one with this number.
    pub(crate) fn is_news_now(
        &mut self,
        observation: Observation<'_>,
        seen: &Seen,
        added: &Added,
        number: usize,
    ) -> bool {
        self.look_at(observation, seen, added, Some(number))
    }

    /// Adds to `news` the numbers of executions for which that had to be found out and that showed a feature that is
    /// neither in `seen` nor in `added`. `observation` is any one of the same target.
    pub(crate) fn news_of_earlier(
        &mut self,
        observation: Observation<'_>,
        (seen, added): (&Seen, &Added),
        news: &mut Vec<usize>,
    ) {
        let mut together = std::mem::take(&mut self.together);
        together.take(|function, executions, counters| {
            let len = counters.len() / executions.len();
            let mut marks = [0; LANES];
            if executions.len() < LATER_MIN {
                marks = [1; LANES];
            } else {
                let visit = |edge, counts: &[u32; LANES]| seen.mark(edge, counts, &mut marks);
                observation.function(function).lanes(counters, &mut self.buffer, visit);
            }
            for ((&(number, hash), counters), mark) in executions.iter().zip(counters.chunks_exact(len)).zip(marks) {
                let mut is_known = mark == 0;
                if !is_known {
                    let function = observation.function(function);
                    let (first, counts) = (function.edges.start, function.counts_of(counters, &[], &mut self.buffer));
                    is_known = !seen.is_new_among(first, counts);
                    if !is_known && shows_news((first, counts), self.start, seen, added) {
                        news.push(number);
                    }
                }
                if is_known {
                    self.learn(hash);
                }
            }
        });
        self.together = together;
        if let (Some(judge), Some(observation), Some(seen)) =
            (&mut self.beside, observation.beside_in_any_case(), seen.beside())
        {
            judge.news_of_earlier(observation, (seen, added), news);
        }
    }

    /// Forgets what is to be found out later.
    pub(crate) fn forget_earlier(&mut self) {
        self.together.take(|_, _, _| ());
        self.beside.iter_mut().for_each(|judge| judge.forget_earlier());
    }

    /// As [`Judge::look_at_own`], with the other build, if there is one.
    fn look_at(&mut self, observation: Observation<'_>, seen: &Seen, added: &Added, number: Option<usize>) -> bool {
        let mut news = self.look_at_own(observation, seen, added, number);
        if let Some((observation, seen_beside)) = observation.beside().zip(seen.beside()) {
            let start = start_beside(seen.edges_total());
            let judge = self.beside.get_or_insert_with(|| Box::new(Self::starting(start)));
            news |= judge.look_at_own(observation, seen_beside, added, number);
        }
        news
    }

    fn look_at_own(&mut self, observation: Observation<'_>, seen: &Seen, added: &Added, number: Option<usize>) -> bool {
        let start = self.start;
        let is_new = |(event, bucket)| !seen.has(event, bucket) && !added.has(start + event, bucket);
        let mut news = observation.can_tell() && told(observation).any(is_new);
        if observation.has_left() {
            observation.groups(|group| self.look(group, None, (seen, added), &mut news));
            return news;
        }
        let mut executed = std::mem::take(&mut self.executed);
        executed.clear();
        observation.executed(&mut executed);
        for batch in executed.chunks(BATCH) {
            // All are looked up before one is used: where a hash is in the table can't be foretold, nor whether it is.
            let unknown = |group: &ExecutedGroup| u32::from(!self.knows(group.hash()));
            let unknown = (0..).zip(batch).fold(0, |mask, (bit, group)| mask | unknown(group) << bit);
            for (_, &group) in batch.iter().enumerate().filter(|(index, _)| unknown & 1 << index != 0) {
                let (hash, group) = (group.hash(), observation.group(group));
                match number.filter(|_| group.is_single()) {
                    Some(number) => group.functions(|function| self.together.add(function, number, hash)),
                    None => self.look(group, Some(hash), (seen, added), &mut news),
                }
            }
        }
        self.executed = executed;
        news
    }

    /// Looks at the functions of a group, whose hash is not known.
    fn look(&mut self, group: Group<'_>, hash: Option<u64>, known: (&Seen, &Added), news: &mut bool) {
        let (seen, added) = known;
        let mut known = true;
        group.functions(|function| known &= self.is_known(function, group.is_single(), seen, added, news));
        if let Some(hash) = hash.filter(|_| known) {
            self.learn(hash);
        }
    }

    /// Whether all that a function did is in `seen`; if not, `news` becomes true if some is not in `added` either.
    fn is_known(&mut self, function: Executed<'_>, single: bool, seen: &Seen, added: &Added, news: &mut bool) -> bool {
        // The hash of a group of one function was looked up already.
        let hash = (!single).then(|| function.hash());
        if hash.is_some_and(|hash| self.knows(hash)) {
            return true;
        }
        let (first, counts) = function.counts(&mut self.buffer);
        let known = !seen.is_new_among(first, counts);
        if !known {
            *news |= shows_news((first, counts), self.start, seen, added);
        }
        if let Some(hash) = hash.filter(|_| known) {
            self.learn(hash);
        }
        known
    }

    fn knows(&self, hash: u64) -> bool {
        // Without branches: where in the set it is can't be foretold.
        self.known[place(hash)].0.iter().fold(false, |found, &known| found | (known == hash))
    }

    fn learn(&mut self, hash: u64) {
        // In the place of what was learned first.
        let set = &mut self.known[place(hash)].0;
        set.copy_within(..WAYS - 1, 1);
        set[0] = hash;
    }
}

/// Whether one of the edges from the first on, with these counts, shows a feature that is neither in `seen` nor in
/// `added`, where their numbers begin with `start`.
fn shows_news((first, counts): (u32, &[u32]), start: u32, seen: &Seen, added: &Added) -> bool {
    let features = (first..).zip(counts.iter().map(|&count| bucket(count)));
    let mut new = features.filter(|&(edge, bucket)| bucket != 0 && !seen.has(edge, bucket));
    new.any(|(edge, bucket)| !added.has(start + edge, bucket))
}

fn place(hash: u64) -> usize {
    (hash >> (u64::BITS - SETS_BITS)) as usize
}

impl Default for Judge {
    fn default() -> Self {
        Self::new()
    }
}
