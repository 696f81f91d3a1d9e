//! All inputs, the small ones first.
//!
//! Runciman, Naylor and Lindblad, "SmallCheck and Lazy SmallCheck", Haskell 2008. Of a guest that draws, a stream is
//! executed with the simplest choices behind it; what it drew beyond says where other choices are possible. Each of
//! these is a stream that nobody executed, and no two streams draw the same:
//!
//! ```text
//! executed  1          drew 1 0 0 of 2 3 2       pending  1 1, 1 0 1      (and 1 2 behind 1 1)
//! ```
//!
//! So n inputs take n executions, and what a guest does not read, or rejects before it reads it, is never refined
//! (lazy). Payload, blobs and strings, of which there are too many, keep their simplest value.
//!
//! The *size* of a stream is its choices, and the bits of their indices. Streams are executed in the order of their
//! sizes, counted up to the last choice that is not the simplest one; those of one size in that of their choices. Bytes
//! are executed by length.

use super::havoc::shares;
use super::shown::{self, Status};
use super::{Cost, Spent, Strategy, View};
use crate::engine::corpus::Corpus;
use crate::engine::suspects::Origin;
use crate::engine::workers::report::Report;
use crate::engine::workers::worker::Worker;
use crate::stream::{Choice, Draw, Rule, Tail, Trace, encode};
use anyhow::Result;
use std::collections::BTreeMap;

/// Streams that wait at most: beyond that, the largest are forgotten, so that it is not everything that is executed.
/// They take about 100 bytes each, and 8 for each choice.
const PENDING_MAX: usize = 1 << 18;
/// Choices of all of them.
const CHOICES_MAX: usize = 1 << 23;

/// Executes all inputs, the small ones first.
#[derive(Debug)]
pub(super) struct Enumerate {
    /// By size and indices: streams to be executed, each with the largest index that its last choice can have.
    pending: BTreeMap<Key, u64>,
    /// Choices of these.
    choices: usize,
    /// How many strings of bytes were executed.
    strings: u128,
}

/// The size of a stream, and its indices.
type Key = (u64, Vec<u64>);

/// Inputs to be executed one after the other.
#[derive(Debug)]
pub(super) enum Small {
    /// A stream.
    Stream(Key),
    /// Strings of bytes: the number of the first, and how many.
    Strings(u128, u64),
}

impl Default for Enumerate {
    fn default() -> Self {
        Self { pending: BTreeMap::from([((0, Vec::new()), 0)]), choices: 0, strings: 0 }
    }
}

/// What a choice adds to a size.
fn weight(index: u64) -> u64 {
    1 + u64::from(u64::BITS - index.leading_zeros())
}

impl Strategy for Enumerate {
    type Task = Small;
    /// Of a stream: what it drew.
    type Learned = Option<Trace>;

    fn plan(&self, view: &View<'_>, execs: u64) -> Vec<Small> {
        if !view.variants.metered.takes_choices() {
            let strings = |(_, execs), first: &mut u128| {
                let task = Small::Strings(*first, execs);
                *first += u128::from(execs);
                task
            };
            let mut first = self.strings;
            return shares(execs, view).map(|share| strings(share, &mut first)).collect();
        }
        // What those of one size lead to is larger, so that all of them may be executed together.
        let smallest = self.pending.keys().next().map_or(0, |(size, _)| *size);
        let same = self.pending.iter().take_while(|((size, _), _)| *size == smallest);
        let streams = same.flat_map(|((size, stream), &max)| Siblings { size: *size, next: Some(stream.clone()), max });
        let execs = usize::try_from(execs).unwrap_or(usize::MAX);
        streams.take(execs.min(ROUND_MAX)).map(|stream| Small::Stream((smallest, stream))).collect()
    }

    fn cost(&self, task: &Small, view: &View<'_>) -> Cost {
        let execs = if let Small::Strings(_, execs) = task { *execs } else { 1 };
        Cost { execs, fuel: execs.saturating_mul(view.fuel_mean) }
    }

    fn run(&self, task: &Small, view: &View<'_>, worker: &mut Worker, report: &mut Report) -> Result<Option<Trace>> {
        match task {
            Small::Stream((_, stream)) => {
                let choices: Vec<_> = stream.iter().map(|&index| Choice::Index(index)).collect();
                worker.input = encode(&choices);
                worker.rule = Rule { tail: Tail::Zero, wrap: false, close: false };
                let (outcome, observation) = shown::execute(view, worker, report)?;
                // Nobody knows what follows where it drew without end.
                Ok((Status::of(&outcome) != Status::Overrun).then(|| observation.draws()))
            }
            Small::Strings(first, execs) => {
                for number in *first..*first + u128::from(*execs) {
                    worker.input = string(number);
                    if worker.input.len() > view.len_max {
                        break;
                    }
                    shown::execute(view, worker, report)?;
                    report.suspect_is(|| Origin::Given(worker.input.clone()));
                }
                Ok(None)
            }
        }
    }

    fn learn(&mut self, task: Small, drew: Option<Trace>, _: Spent, _: &mut Corpus) {
        match task {
            Small::Strings(_, execs) => self.strings += u128::from(execs),
            Small::Stream(key) => self.executed(key, drew.as_ref()),
        }
    }

    fn is_exhausted(&self) -> bool {
        self.pending.is_empty()
    }
}

/// Streams of a round at most: what is larger waits for what they draw.
const ROUND_MAX: usize = 4096;

/// A stream, and those after it that differ in the last choice alone, as long as they have its size.
struct Siblings {
    size: u64,
    next: Option<Vec<u64>>,
    max: u64,
}

impl Iterator for Siblings {
    type Item = Vec<u64>;

    fn next(&mut self) -> Option<Vec<u64>> {
        let stream = self.next.take()?;
        self.next = after(&(self.size, stream.clone()), self.max).filter(|next| next.0 == self.size).map(|next| next.1);
        Some(stream)
    }
}

/// The stream whose last choice has the next index, if there is one.
fn after((size, stream): &Key, max: u64) -> Option<Key> {
    let (&last, others) = stream.split_last()?;
    let next = last.checked_add(1).filter(|&next| next <= max)?;
    Some((size - weight(last) + weight(next), [others, &[next]].concat()))
}

impl Enumerate {
    /// A stream was executed, and drew so.
    fn executed(&mut self, key: Key, drew: Option<&Trace>) {
        let Some(max) = self.pending.remove(&key) else { return };
        self.choices -= key.1.len();
        if let Some(next) = after(&key, max) {
            self.add(next, max);
        }
        let Some(Trace { draws, choices, .. }) = drew else { return };
        let (mut size, mut stream) = key;
        for (draw, choice) in draws.iter().zip(choices).skip(stream.len()) {
            let zero = choice.index().unwrap_or(0);
            if has_others(draw) {
                self.add((size + weight(1), [&stream[..], &[1]].concat()), draw.max);
            }
            stream.push(zero);
            size += weight(zero);
        }
    }

    fn add(&mut self, key: Key, max: u64) {
        self.choices += key.1.len();
        self.pending.insert(key, max);
        while self.pending.len() > PENDING_MAX || self.choices > CHOICES_MAX {
            let (forgotten, _) = self.pending.pop_last().expect("there are some");
            self.choices -= forgotten.1.len();
        }
    }
}

/// Whether the values that a draw can have are all tried.
fn has_others(draw: &Draw) -> bool {
    draw.max > 0 && !draw.payload && !draw.kind.is_blob()
}

/// The string of bytes with this number, in the order of lengths: "", 00, 01, ..., ff, 00 00, ...
fn string(number: u128) -> Vec<u8> {
    let (mut rest, mut bytes) = (number, Vec::new());
    while rest > 0 {
        rest -= 1;
        bytes.push(rest as u8);
        rest >>= 8;
    }
    bytes.reverse();
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::DrawKind;

    /// The streams that a guest draws, in the order in which they are executed, until none is left or there are
    /// `count`. The guest says how many values its next draw has, for what it drew so far; `None` if it ends.
    fn enumerated(guest: impl Fn(&[u64]) -> Option<u64>, count: usize) -> (Vec<Vec<u64>>, bool) {
        let (mut enumerate, mut executed) = (Enumerate::default(), Vec::new());
        while let Some((key, _)) = enumerate.pending.first_key_value().filter(|_| executed.len() < count) {
            let (key, mut trace, mut drawn) = (key.clone(), Trace::default(), Vec::new());
            while let Some(values) = guest(&drawn) {
                let index = key.1.get(drawn.len()).copied().unwrap_or(0);
                let draw = Draw {
                    kind: DrawKind::Choice,
                    site: 0,
                    max: values - 1,
                    forced: values == 1,
                    payload: false,
                    lo: 0,
                    hi: 0,
                    towards: 0,
                };
                trace.draws.push(draw);
                trace.choices.push(Choice::Index(index));
                drawn.push(index);
            }
            enumerate.executed(key, Some(&trace));
            executed.push(drawn);
        }
        (executed, enumerate.is_exhausted())
    }

    /// Draws one of two for as long as the second comes, at most five times: Regehr's leaves A to F.
    fn lopsided(drawn: &[u64]) -> Option<u64> {
        (drawn.len() < 5 && !drawn.contains(&0)).then_some(2)
    }

    #[test]
    fn each_of_n_inputs_takes_one_execution() {
        let (executed, all) = enumerated(lopsided, 1000);
        assert!(all);
        assert_eq!(executed.len(), 6, "guided-tree-search's lopsided tree has 6 leaves");
        // As its tree whose degree rises: 1 * 2 * 3 * 4 * 5 * 6 leaves.
        let (executed, all) = enumerated(|drawn| (drawn.len() < 6).then_some(drawn.len() as u64 + 1), 1000);
        assert_eq!((executed.len(), all), (720, true));
        let mut different = executed.clone();
        different.sort();
        different.dedup();
        assert_eq!(different.len(), 720);
    }

    #[test]
    fn smaller_ones_come_first_and_every_size_has_its_turn() {
        // One number of 2^64, then another if it is even.
        let (executed, all) = enumerated(
            |drawn| (drawn.len() < 1 + usize::from(drawn.first().is_some_and(|n| n % 2 == 0))).then_some(1 << 60),
            400,
        );
        assert!(!all);
        assert_eq!(executed[..4], [vec![0, 0], vec![1], vec![0, 1], vec![2, 0]]);
        let pair = executed.iter().position(|drawn| drawn[..] == [4, 5]);
        assert!(pair.is_some_and(|at| at < 200), "{pair:?}");
    }

    #[test]
    fn strings_come_by_length_and_then_in_order() {
        assert_eq!((0..3).map(string).collect::<Vec<_>>(), [vec![], vec![0], vec![1]]);
        assert_eq!((256..258).map(string).collect::<Vec<_>>(), [vec![255], vec![0, 0]]);
        assert_eq!(string(1 + 256 + 65_536), [0, 0, 0]);
    }
}
