//! What counters say, function by function.

use crate::layout::LINE_COUNTERS;
use std::ops::Range;

use super::recover::Recovery;
use super::{NONE, Placement};
use crate::plan::FunctionPlan;

/// A frame that was left neither by returning nor by an exception: a trap, or the host, ended what it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Left {
    /// The function's index.
    pub function: u32,
    /// Byte offset of the operator that it had reached, in the rewritten module, as engines tell it.
    pub offset: u32,
}

/// Which counters there are, and how edges' counts follow from them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CounterMap {
    /// Those of the functions whose counts are known, in the order of the functions.
    functions: Vec<FunctionCounters>,
    /// The same in the order of their counters: places in `functions`.
    by_counter: Vec<u32>,
    len: u32,
}

/// The counters of a function. They are neighbours, so a host can see by a few bytes whether it was executed, and by a hash
/// of them whether it did anything new.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionCounters {
    /// The function's index.
    pub function: u32,
    /// The numbers of its counters.
    pub counters: Range<u32>,
    /// The numbers of its edges.
    pub edges: Range<u32>,
    way: Way,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Way {
    /// Each edge has a counter, in the same order.
    Same,
    /// Per counter: its edge, a number within the function.
    Direct(Box<[u32]>),
    /// All counts follow.
    Recovered(Box<Recovery>),
}

impl CounterMap {
    /// Adds counters of functions, whose numbers follow those that are there, and takes away what is needed to recover. Returns
    /// each one's first number. With `lines`, counters that fit into a line are in one, and others have theirs alone; those
    /// that will be in use come first, so that these share pages.
    pub(crate) fn extend(&mut self, plans: &[FunctionPlan], placements: &mut [Placement], lines: bool) -> Vec<u32> {
        let mut order: Vec<usize> = (0..plans.len()).collect();
        if lines {
            order.sort_by_key(|&index| !placements[index].in_use);
        }
        let mut firsts = vec![self.len; plans.len()];
        for &index in &order {
            firsts[index] = self.take(placements[index].len, lines);
        }
        let mut places = vec![None; plans.len()];
        for (index, (plan, placement)) in plans.iter().zip(placements).enumerate() {
            // Some functions have edges that only lead to traps: then there is nothing to count but the frames that are left.
            if placement.len == 0 && placement.recovery.is_none() {
                continue;
            }
            places[index] = Some(self.functions.len() as u32);
            self.functions.push(FunctionCounters {
                function: plan.index,
                counters: firsts[index]..firsts[index] + placement.len,
                edges: plan.first_edge..plan.first_edge + plan.edges,
                way: Way::new(plan, placement),
            });
        }
        self.by_counter.extend(order.into_iter().filter_map(|index| places[index]));
        firsts
    }

    /// Takes so many numbers, and returns the first.
    fn take(&mut self, count: u32, lines: bool) -> u32 {
        let end_line = |len: u32, fits: bool| if lines && !fits { len.next_multiple_of(LINE_COUNTERS) } else { len };
        let first = end_line(self.len, count == 0 || self.len % LINE_COUNTERS + count <= LINE_COUNTERS);
        self.len = end_line(first + count, count <= LINE_COUNTERS);
        first
    }

    /// How many numbers counters have: one more than the highest. With [`Options::lines`](crate::Options::lines) some are
    /// nobody's.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The functions of whose edges some counts are known, in order: of their indices and of their edges.
    /// Together they have all counters. Some have none, and all that can be known of them is which of their frames were left.
    pub fn functions(&self) -> &[FunctionCounters] {
        &self.functions
    }

    /// Places in [`CounterMap::functions`], in the order of the counters that these have.
    pub fn by_counter(&self) -> &[u32] {
        &self.by_counter
    }

    /// Which of [`CounterMap::functions`] has this counter.
    pub fn of_counter(&self, counter: u32) -> Option<usize> {
        let end = |place: u32| self.functions[place as usize].counters.end;
        let index = self.by_counter.partition_point(|&place| end(place) <= counter);
        self.by_counter.get(index).map(|&place| place as usize)
    }

    /// Which of [`CounterMap::functions`] is the function with this index, if it is one of them.
    pub fn of_function(&self, function: u32) -> Option<usize> {
        self.functions.binary_search_by_key(&function, |known| known.function).ok()
    }
}

impl Way {
    fn new(function: &FunctionPlan, placement: &mut Placement) -> Way {
        let recovery = placement.recovery.take();
        let flows = || function.graph.flows.iter().zip(&placement.flows);
        let counters = || placement.flows.iter().filter(|counter| **counter != NONE);
        let same =
            flows().all(|(flow, &counter)| flow.counted().is_some() == (counter != NONE)) && counters().is_sorted();
        match recovery {
            _ if same && placement.blocks.is_empty() => Way::Same,
            Some(recovery) => Way::Recovered(Box::new(recovery)),
            None => {
                let edges = (0..).zip(flows().filter(|(flow, _)| flow.counted().is_some()));
                let counted = edges.filter(|(_, (_, counter))| **counter != NONE);
                let mut counted: Vec<(u32, u32)> = counted.map(|(edge, (_, &counter))| (counter, edge)).collect();
                counted.sort_unstable();
                Way::Direct(counted.into_iter().map(|(_, edge)| edge).collect())
            }
        }
    }
}

/// Room in which counts are computed, to be used again for the next ones.
#[derive(Clone, Debug, Default)]
pub struct CountsBuffer {
    counts: Vec<u32>,
    excess: Vec<u32>,
}

impl FunctionCounters {
    /// The counts of the function's edges, modulo 2^32, in the order of their numbers; 0 for those that aren't known.
    ///
    /// `counters` are the values of the function's counters. `left` has, for each frame of the function that a trap or the
    /// host ended, the offset of the operator that it had reached, in the original module (in the translated one, if it
    /// has legacy exceptions). A frame that overflowed the stack when it was entered is none.
    pub(crate) fn counts<'a>(&self, counters: &'a [u32], left: &[u32], buffer: &'a mut CountsBuffer) -> &'a [u32] {
        let CountsBuffer { counts, excess } = buffer;
        let edges = self.edges.len();
        counts.clear();
        counts.resize(edges + 1, 0);
        match &self.way {
            Way::Same => return counters,
            Way::Direct(numbers) => {
                numbers.iter().zip(counters).for_each(|(&edge, &count)| counts[edge as usize] = count);
            }
            Way::Recovered(recovery) => recovery.solve(counters, left, excess, counts),
        }
        &counts[..edges]
    }
}

#[cfg(test)]
mod tests {
    use crate::{Counters, EdgeSet, Options, instrument};

    #[test]
    fn functions_are_found_by_their_counters_and_by_their_indices() {
        let text = "(module (import \"e\" \"f\" (func))
            (func unreachable)
            (func (param i32) (if (local.get 0) (then nop)))
            (func unreachable)
            (func unreachable)
            (func (param i32) (if (local.get 0) (then nop) (else call 1))))";
        let wasm = wat::parse_str(text).unwrap();
        let some: EdgeSet = [1, 6].into_iter().collect();
        for counters in [Counters::Every, Counters::Enough, Counters::Only(some)] {
            let mut options = Options::full();
            options.counters = counters;
            let map = instrument(&wasm, &options).unwrap().counters;
            assert!(map.functions().is_sorted_by_key(|function| (function.function, function.edges.start)));
            let mut next = 0;
            for (index, function) in map.functions().iter().enumerate() {
                assert_eq!(function.counters.start, next);
                next = function.counters.end;
                assert_eq!(map.of_function(function.function), Some(index));
                for counter in function.counters.clone() {
                    assert_eq!(map.of_counter(counter), Some(index));
                }
            }
            assert_eq!(map.len(), next);
            assert_eq!(map.of_counter(next), None);
            let absent = (0..8).filter(|&function| map.of_function(function).is_none()).count();
            assert_eq!(absent, 8 - map.functions().len());
            // Functions that only trap need no counter, and stand between those that have some.
            if matches!(options.counters, Counters::Enough) {
                let lens = map.functions().iter().map(|function| function.counters.len());
                assert_eq!(lens.collect::<Vec<_>>(), [0, 2, 0, 0, 2]);
            }
        }
    }
}
