//! What counters say, function by function.

use std::ops::Range;

use super::recover::Recovery;
use super::{NONE, Placement};
use crate::edges::EdgeMap;
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
    /// Adds a function's counters, whose numbers follow those that are there, and takes away what is needed to recover.
    pub(crate) fn push(&mut self, function: &FunctionPlan, placement: &mut Placement) {
        // Some functions have edges that only lead to traps: then there is nothing to count but the frames that are left.
        if placement.len == 0 && placement.recovery.is_none() {
            return;
        }
        let counters = self.len..self.len + placement.len;
        self.len = counters.end;
        let edges = function.first_edge..function.first_edge + function.edges;
        self.functions.push(FunctionCounters {
            function: function.index,
            counters,
            edges,
            way: Way::new(function, placement),
        });
    }

    /// How many counters there are.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The functions of whose edges some counts are known, in order. Together they have all counters.
    pub fn functions(&self) -> &[FunctionCounters] {
        &self.functions
    }

    /// The count of each edge, modulo 2^32, from the values of all counters. 0 if it isn't known, which is the case for
    /// [`Counters::Only`](crate::Counters::Only) and for what is switched off. `left` is as for
    /// [`FunctionCounters::edge_counts`], in any order.
    pub(crate) fn edge_counts(&self, edges: &EdgeMap, counters: &[u32], left: &[(u32, u32)]) -> Vec<u32> {
        let mut counts = vec![0; edges.edges.len()];
        let mut left = left.to_vec();
        left.sort_unstable();
        for function in &self.functions {
            let first = left.partition_point(|&(other, _)| other < function.function);
            let ours = left[first..].iter().take_while(|&&(other, _)| other == function.function);
            let ours: Vec<u32> = ours.map(|&(_, offset)| offset).collect();
            let counters = &counters[function.counters.start as usize..function.counters.end as usize];
            function.edge_counts(counters, &ours, |edge, count| counts[edge as usize] = count);
        }
        counts
    }
}

impl Way {
    fn new(function: &FunctionPlan, placement: &mut Placement) -> Way {
        let recovery = placement.recovery.take();
        let flows = || function.graph.flows.iter().zip(&placement.flows);
        let same = flows().all(|(flow, &counter)| flow.counted().is_some() == (counter != NONE));
        match recovery {
            _ if same && placement.blocks.is_empty() => Way::Same,
            Some(recovery) => Way::Recovered(Box::new(recovery)),
            None => {
                let edges = (0..).zip(flows().filter(|(flow, _)| flow.counted().is_some()));
                Way::Direct(edges.filter(|(_, (_, counter))| **counter != NONE).map(|(edge, _)| edge).collect())
            }
        }
    }
}

impl FunctionCounters {
    /// Calls `visit` with each edge whose count is known, by its number in
    /// [`EdgeMap::edges`], and its count modulo 2^32.
    ///
    /// `counters` are the values of the function's counters. `left` has, for each frame of the function that a trap or the
    /// host ended, the offset of the operator that it had reached, in the original module (in the translated one, if it
    /// has legacy exceptions). A frame that overflowed the stack when it was entered is none.
    pub fn edge_counts(&self, counters: &[u32], left: &[u32], mut visit: impl FnMut(u32, u32)) {
        match &self.way {
            Way::Same => self.edges.clone().zip(counters).for_each(|(edge, &count)| visit(edge, count)),
            Way::Direct(edges) => {
                edges.iter().zip(counters).for_each(|(edge, &count)| visit(self.edges.start + edge, count));
            }
            Way::Recovered(recovery) => {
                recovery.solve(counters, left, |edge, count| visit(self.edges.start + edge, count));
            }
        }
    }
}
