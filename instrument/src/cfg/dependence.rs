//! Control dependence: which branches decide whether a block is executed. Ferrante, Ottenstein and Warren, "The program
//! dependence graph and its use in optimization", TOPLAS 9(3), 1987, section 3.1.
//!
//! An edge *a -> b* such that *b* doesn't post-dominate *a* makes all blocks on the post-dominator tree's path from *b*
//! up to, but without, *a*'s parent depend on *a*. Loops inside each other with their tests at the end have a number of
//! dependences quadratic in that of blocks, so they are not stored but asked for: block *w* is on the path of *a -> b*
//! if *w* post-dominates *b*, which is a range of places in the tree's preorder, and *a*'s parent lies higher than *w*.
//! So a tree of minima over the edges in the order of *b* finds them in O(log n) each.

use super::dominators::DominatorTree;
use super::graph::{Graph, NONE};

/// Answers which branches decide whether a block is executed.
///
/// Block *w* depends on block *a* if *a* can go two ways, where after one *w* is certain to come (it post-dominates
/// that successor) and after the other it is not (it doesn't post-dominate *a*). That *a* dominates *w* is not asked
/// for, as some texts do (who wants that asks [`Cfg::dominators`](crate::Cfg::dominators) too): code after a join
/// depends on branches before it as well. A block never depends on itself here: a loop's test would, because it decides
/// whether it comes again.
///
/// "Certain" leaves out traps of operators other than `unreachable`, endless loops, and exceptions where no
/// `try_table` of this function catches them.
#[derive(Clone, Debug)]
pub struct ControlDependence {
    post_dominators: DominatorTree,
    branches: Vec<Branch>,
    minima: Minima,
}

/// An edge of a block that has several.
#[derive(Clone, Copy, Debug)]
struct Branch {
    from: u32,
    /// The place of the edge's target in the preorder.
    to_place: u32,
}

impl ControlDependence {
    /// `graph` is the function's without the edges that only endless loops' ways to the exit are for; the tree's has
    /// them.
    pub(super) fn new(graph: &Graph, post_dominators: DominatorTree) -> ControlDependence {
        let branching = graph.edges().filter(|&(from, _)| graph.successors(from).len() > 1);
        let mut branches: Vec<Branch> =
            branching.map(|(from, to)| Branch { from, to_place: post_dominators.place(to) }).collect();
        branches.sort_by_key(|branch| branch.to_place);
        let depth =
            |branch: &Branch| post_dominators.parent(branch.from).map_or(0, |above| post_dominators.depth(above));
        let minima = Minima::new(branches.iter().map(depth));
        ControlDependence { post_dominators, branches, minima }
    }

    /// The post-dominators that dependence is found by.
    pub fn post_dominators(&self) -> &DominatorTree {
        &self.post_dominators
    }

    /// The blocks that `block` depends on, in code order.
    pub fn of(&self, block: u32) -> Vec<u32> {
        let mut found = Vec::new();
        self.minima.below(self.edges_into(block), self.post_dominators.depth(block), |edge| {
            found.push(self.branches[edge].from);
        });
        found.sort_unstable();
        found.dedup();
        found.retain(|&from| from != block);
        found
    }

    /// The approach level of each block to `target`: how many dependences lie between, at the least. It is 0 for the
    /// target itself, 1 for what it depends on, and so on; `None` for blocks that it doesn't depend on at all.
    ///
    /// The level of an execution is the least of those of the blocks that it reached (Wegener, Baresel and Sthamer,
    /// "Evolutionary test environment for automatic structural testing", 2001, who start at 0 where we start at 1).
    pub fn approach_levels(&self, target: u32) -> Vec<Option<u32>> {
        let mut levels = vec![None; self.post_dominators.len()];
        levels[target as usize] = Some(0);
        let mut order = vec![target];
        let mut next = 0;
        let mut left = self.minima.clone();
        let mut found = Vec::new();
        while let Some(&block) = order.get(next) {
            next += 1;
            let level = levels[block as usize].map(|level| level + 1);
            left.below(self.edges_into(block), self.post_dominators.depth(block), |edge| found.push(edge));
            for edge in found.drain(..) {
                left.remove(edge); // it has told what it can
                let from = self.branches[edge].from;
                if levels[from as usize].is_none() {
                    levels[from as usize] = level;
                    order.push(from);
                }
            }
        }
        levels
    }

    /// The blocks that `block` depends on, as far as `accepts` says so of them, and no edge has told it of another
    /// block that was asked for before: from block to block that is linear, where nothing is refused.
    pub(crate) fn take(&mut self, block: u32, mut accepts: impl FnMut(u32) -> bool) -> Vec<u32> {
        let mut edges = Vec::new();
        self.minima.below(self.edges_into(block), self.post_dominators.depth(block), |edge| edges.push(edge));
        let mut found = Vec::new();
        for edge in edges {
            let from = self.branches[edge].from;
            if from != block && accepts(from) {
                self.minima.remove(edge);
                found.push(from);
            }
        }
        found
    }

    /// The edges to what `block` post-dominates.
    fn edges_into(&self, block: u32) -> std::ops::Range<usize> {
        let places = self.post_dominators.places(block);
        let start = self.branches.partition_point(|branch| branch.to_place < places.start);
        let end = self.branches.partition_point(|branch| branch.to_place < places.end);
        start..end
    }
}

/// Numbers, and a tree above them that finds the small ones in a range.
#[derive(Clone, Debug)]
struct Minima {
    /// How many leaves there are, a power of two.
    leaves: usize,
    /// Node i has the children 2i and 2i + 1, and the less of their numbers.
    nodes: Vec<u32>,
}

impl Minima {
    fn new(numbers: impl ExactSizeIterator<Item = u32>) -> Minima {
        let leaves = numbers.len().next_power_of_two();
        let mut nodes = vec![NONE; leaves];
        nodes.extend(numbers);
        nodes.resize(2 * leaves, NONE);
        for node in (1..leaves).rev() {
            nodes[node] = nodes[2 * node].min(nodes[2 * node + 1]);
        }
        Minima { leaves, nodes }
    }

    /// Calls `found` for each number in `range` that is less than `limit`.
    fn below(&self, range: std::ops::Range<usize>, limit: u32, mut found: impl FnMut(usize)) {
        let mut todo = vec![(1, 0, self.leaves)];
        while let Some((node, start, len)) = todo.pop() {
            if self.nodes[node] >= limit || start >= range.end || start + len <= range.start {
                continue;
            }
            if len == 1 {
                found(start);
                continue;
            }
            let half = len / 2;
            todo.push((2 * node + 1, start + half, half));
            todo.push((2 * node, start, half));
        }
    }

    /// Leaves a number out from now on.
    fn remove(&mut self, index: usize) {
        let mut node = self.leaves + index;
        self.nodes[node] = NONE;
        while node > 1 {
            node /= 2;
            self.nodes[node] = self.nodes[2 * node].min(self.nodes[2 * node + 1]);
        }
    }
}
