//! What counters say, function by function.

use std::ops::Range;

use super::place::Placement;
use super::recover::{LANES, Lanes, NONE, Recovery};
use crate::layout::LINE_COUNTERS;
use crate::options::Options;
use crate::plan::FunctionPlan;

/// A frame that was left neither by returning nor by an exception: a trap, or the host, ended what it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeftFrame {
    /// The function's index.
    pub function: u32,
    /// Byte offset of the operator that it had reached, in the rewritten module, as engines tell it.
    pub offset: u32,
}

/// Which counters there are, and how edges' counts follow from them.
///
/// ```text
/// 0                                    reserved
/// | used | used of several | ... | free | rare of the first | rare of the several | ... | functions that were not used | ...
/// ```
///
/// What executions of the past counted with lies together, so that few pages are touched by what does nothing unusual.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CounterMap {
    /// Those of the functions whose counts are known, in the order of the functions.
    functions: Vec<FunctionCounters>,
    /// The same in the order of their counters: places in `functions`.
    by_counter: Vec<u32>,
    /// Those that have rare counters, in the order of these.
    by_rare: Vec<u32>,
    /// Numbers that are kept for counters in use.
    reserved: u32,
    /// How many of them were taken.
    used: u32,
    len: u32,
}

/// The counters of a function. They are neighbours, so a host can see by a few bytes whether it was executed, and by a
/// hash of them whether it did anything new.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionCounters {
    /// The function's index.
    pub function: u32,
    /// The numbers of its counters, without those that are rare.
    pub counters: Range<u32>,
    /// The numbers of those that were of no use to executions of the past, if they are elsewhere. Functions whose
    /// `counters` share a line have these in lines that no others have.
    pub rare: Range<u32>,
    /// The numbers of its edges.
    pub edges: Range<u32>,
    way: Way,
}

/// The numbers of a function's counters.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CounterNumbers {
    /// The first one's.
    first: u32,
    /// How many follow it; the others are rare.
    len: u32,
    first_rare: u32,
}

impl CounterNumbers {
    /// The number of a counter, given its number within the function.
    pub(crate) fn get(self, counter: u32) -> u32 {
        match counter.checked_sub(self.len) {
            None => self.first + counter,
            Some(rare) => self.first_rare + rare,
        }
    }
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
    /// None so far, and room for those that are in use.
    pub(crate) fn new(options: &Options) -> Self {
        let reserved = options.reserved();
        Self { reserved, len: reserved, ..Self::default() }
    }

    /// Adds counters of functions, and takes away what is needed to recover. Returns each one's numbers. With `lines`,
    /// counters that fit into a line are in one, and others have theirs alone.
    pub(crate) fn extend(
        &mut self,
        plans: &[FunctionPlan],
        placements: &mut [Placement],
        lines: bool,
    ) -> Vec<CounterNumbers> {
        let mut numbers = vec![CounterNumbers::default(); plans.len()];
        let mut order = self.take_used(placements, &mut numbers);
        for (index, (placement, numbers)) in placements.iter().zip(&mut numbers).enumerate() {
            if numbers.len == 0 {
                *numbers = CounterNumbers {
                    first: take(&mut self.len, placement.len, lines),
                    len: placement.len,
                    first_rare: 0,
                };
                order.push(index);
            }
        }
        let mut places = vec![None; plans.len()];
        for (index, (plan, placement)) in plans.iter().zip(placements).enumerate() {
            // Some functions have edges that only lead to traps: then there is nothing to count but the frames that are
            // left.
            if placement.len == 0 && placement.recovery.is_none() {
                continue;
            }
            places[index] = Some(self.functions.len() as u32);
            let CounterNumbers { first, len, first_rare } = numbers[index];
            self.functions.push(FunctionCounters {
                function: plan.index,
                counters: first..first + len,
                rare: first_rare..first_rare + placement.len - len,
                edges: plan.first_edge..plan.first_edge + plan.edges,
                way: Way::new(plan, placement),
            });
        }
        self.by_counter.extend(order.into_iter().filter_map(|index| places[index]));
        numbers
    }

    /// Gives numbers to the functions that were in use, as far as there is room; returns which.
    fn take_used(&mut self, placements: &[Placement], numbers: &mut [CounterNumbers]) -> Vec<usize> {
        let mut order = Vec::new();
        // Lines of rare counters are those of functions of one line, which so are all of this batch.
        self.used = self.used.next_multiple_of(LINE_COUNTERS);
        for (index, placement) in placements.iter().enumerate().filter(|(_, placement)| placement.used > 0) {
            let mut used = self.used;
            let first = take(&mut used, placement.used, true);
            if used > self.reserved {
                break;
            }
            self.used = used;
            if first.is_multiple_of(LINE_COUNTERS) {
                self.len = self.len.next_multiple_of(LINE_COUNTERS);
            }
            numbers[index] = CounterNumbers { first, len: placement.used, first_rare: self.len };
            self.len += placement.len - placement.used;
            order.push(index);
        }
        if !order.is_empty() {
            self.len = self.len.next_multiple_of(LINE_COUNTERS);
        }
        order
    }

    /// All counters were added.
    pub(crate) fn finish(&mut self) {
        let functions = &self.functions;
        self.by_counter.sort_unstable_by_key(|&place| (functions[place as usize].counters.start, place));
        self.by_rare =
            self.by_counter.iter().copied().filter(|&place| !functions[place as usize].rare.is_empty()).collect();
    }

    /// How many numbers counters have: one more than the highest. With [`Options::lines`](crate::Options::lines) some
    /// are nobody's.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The functions of whose edges some counts are known, in order: of their indices and of their edges.
    /// Together they have all counters. Some have none, and all that can be known of them is which of their frames were
    /// left.
    pub fn functions(&self) -> &[FunctionCounters] {
        &self.functions
    }

    /// Places in [`CounterMap::functions`], in the order of the counters that these have.
    pub fn by_counter(&self) -> &[u32] {
        &self.by_counter
    }

    /// Which of [`CounterMap::functions`] has this counter.
    pub fn of_counter(&self, counter: u32) -> Option<usize> {
        let find = |order: &[u32], range: fn(&FunctionCounters) -> &Range<u32>| {
            let range = |place: u32| range(&self.functions[place as usize]);
            let index = order.partition_point(|&place| range(place).end <= counter);
            order.get(index).copied().filter(|&place| range(place).contains(&counter))
        };
        let place = find(&self.by_counter, |function| &function.counters);
        place.or_else(|| find(&self.by_rare, |function| &function.rare)).map(|place| place as usize)
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

/// Takes so many numbers from `next` on, and returns the first.
fn take(next: &mut u32, count: u32, lines: bool) -> u32 {
    let end_line = |len: u32, fits: bool| if lines && !fits { len.next_multiple_of(LINE_COUNTERS) } else { len };
    let first = end_line(*next, count == 0 || *next % LINE_COUNTERS + count <= LINE_COUNTERS);
    *next = end_line(first + count, count <= LINE_COUNTERS);
    first
}

/// Room in which counts are computed, to be used again for the next ones.
#[derive(Clone, Debug, Default)]
pub struct CountsBuffer {
    /// Those of a function, if they do not lie together.
    counters: Vec<u32>,
    counts: Vec<u32>,
    excess: Vec<u32>,
    lanes: Vec<Lanes>,
}

impl FunctionCounters {
    /// The function's counters among `values`, those of all counters: those that are not rare, and those that are.
    pub fn values<'a>(&self, values: &'a [u32]) -> [&'a [u32]; 2] {
        [&self.counters, &self.rare].map(|range| &values[range.start as usize..range.end as usize])
    }

    /// The counts of the function's edges, modulo 2^32, in the order of their numbers; 0 for those that aren't known.
    ///
    /// `values` are those of all counters. `left` has, for each frame of the function that a trap or the
    /// host ended, the offset of the operator that it had reached, in the original module (in the translated one, if it
    /// has legacy exceptions). A frame that overflowed the stack when it was entered is none.
    pub(crate) fn counts<'a>(&self, values: &'a [u32], left: &[u32], buffer: &'a mut CountsBuffer) -> &'a [u32] {
        let [main, rare] = self.values(values);
        if rare.is_empty() {
            return self.counts_of(main, left, buffer);
        }
        let mut together = std::mem::take(&mut buffer.counters);
        together.clear();
        together.extend_from_slice(main);
        together.extend_from_slice(rare);
        buffer.counters = together;
        let CountsBuffer { counters, counts, excess, .. } = buffer;
        self.solve(counters, left, counts, excess)
    }

    /// The counts of the function's edges, in their order, if its counters have these values, those that are rare
    /// behind the others, and `left` are the frames of it that were left; 0 for edges whose counts aren't known.
    pub fn counts_of<'a>(&self, counters: &'a [u32], left: &[u32], buffer: &'a mut CountsBuffer) -> &'a [u32] {
        self.solve(counters, left, &mut buffer.counts, &mut buffer.excess)
    }

    fn solve<'a>(
        &self,
        counters: &'a [u32],
        left: &[u32],
        counts: &'a mut Vec<u32>,
        excess: &mut Vec<u32>,
    ) -> &'a [u32] {
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

    /// As [`FunctionCounters::counts_of`] for up to [`LANES`] executions at once, whose counters follow each other:
    /// calls `visit` with each edge whose counts are known, and these.
    pub fn lanes(&self, counters: &[u32], buffer: &mut CountsBuffer, mut visit: impl FnMut(u32, &Lanes)) {
        let len = self.counters.len() + self.rare.len();
        let mut executions = counters.chunks_exact(len.max(1));
        let lanes: [&[u32]; LANES] = std::array::from_fn(|_| executions.next().unwrap_or_default());
        let row = |counter: usize| {
            let mut row = Lanes::default();
            row.iter_mut()
                .zip(&lanes)
                .for_each(|(count, lane)| *count = lane.get(counter).copied().unwrap_or_default());
            row
        };
        let first = self.edges.start;
        match &self.way {
            Way::Same => (0..len).for_each(|counter| visit(first + counter as u32, &row(counter))),
            Way::Direct(numbers) => {
                (0..).zip(numbers).for_each(|(counter, &edge)| visit(first + edge, &row(counter)));
            }
            Way::Recovered(recovery) => {
                recovery.solve_lanes(row, &mut buffer.lanes, |edge, counts| visit(first + edge, counts));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::edge_map::EdgeSet;
    use crate::instrument::instrument;
    use crate::options::{Counters, Options};

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
