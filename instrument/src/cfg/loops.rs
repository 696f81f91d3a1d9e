//! Natural loops and how they lie in each other.
//!
//! Loops are found from the innermost outwards, and each is shrunk to its head when it is known (Tarjan, "Testing flow
//! graph reducibility", JCSS 9, 1974), so that a block is looked at once however deep it lies.

use super::dominators::DominatorTree;
use super::graph::{Graph, NONE};

/// The loops of a function, by their heads.
///
/// An edge to a block that dominates its origin makes that block a head. The loop is what the head dominates and can
/// get back to it without leaving what it dominates. A `loop` that nothing branches back to is none. Code that can't be
/// reached from the entry is in no loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loops {
    /// In code order.
    heads: Vec<u32>,
    /// Per block: the head of the innermost loop around it; for a head, that of the next loop.
    around: Vec<u32>,
    /// Per block: in how many loops it is.
    depths: Vec<u32>,
}

impl Loops {
    pub(super) fn new(graph: &Graph, dominators: &DominatorTree) -> Loops {
        let mut heads: Vec<u32> =
            graph.edges().filter(|&(from, to)| dominators.dominates(to, from)).map(|(_, to)| to).collect();
        heads.sort_unstable();
        heads.dedup();
        let around = nest(graph, dominators, &heads);
        let mut depths = vec![0; graph.len()];
        let mut blocks: Vec<u32> = (0..graph.len() as u32).filter(|&block| dominators.contains(block)).collect();
        blocks.sort_unstable_by_key(|&block| dominators.place(block));
        for block in blocks {
            let outer = around[block as usize];
            let own = u32::from(heads.binary_search(&block).is_ok());
            depths[block as usize] = own + if outer == NONE { 0 } else { depths[outer as usize] };
        }
        Loops { heads, around, depths }
    }

    /// The heads of all loops, in code order.
    pub fn heads(&self) -> &[u32] {
        &self.heads
    }

    /// Whether `block` is the head of a loop.
    pub fn is_head(&self, block: u32) -> bool {
        self.heads.binary_search(&block).is_ok()
    }

    /// The head of the innermost loop that `block` is in; a head is in its own.
    pub fn innermost(&self, block: u32) -> Option<u32> {
        if self.is_head(block) { Some(block) } else { self.around(block) }
    }

    /// The head of the innermost loop around `block`; for a head that is the next loop around its own.
    pub fn around(&self, block: u32) -> Option<u32> {
        Some(self.around[block as usize]).filter(|&head| head != NONE)
    }

    /// In how many loops `block` is; for a head its own is one of them.
    pub fn depth(&self, block: u32) -> u32 {
        self.depths[block as usize]
    }
}

/// Finds the innermost loop around each block.
fn nest(graph: &Graph, dominators: &DominatorTree, heads: &[u32]) -> Vec<u32> {
    let mut around = vec![NONE; graph.len()];
    let mut shrunk = Shrunk { to: (0..graph.len() as u32).collect() };
    let mut innermost_first = heads.to_vec();
    // A head dominates the heads in its loop, so they come after it in the preorder.
    innermost_first.sort_unstable_by_key(|&head| std::cmp::Reverse(dominators.place(head)));
    let mut todo = Vec::new();
    for head in innermost_first {
        let back = graph.predecessors(head).iter().filter(|&&from| dominators.dominates(head, from));
        todo.extend(back.map(|&from| shrunk.find(from)));
        while let Some(block) = todo.pop() {
            if shrunk.find(block) == head {
                continue;
            }
            around[block as usize] = head;
            shrunk.to[block as usize] = head;
            // A shrunk loop is entered by its head alone.
            let before = graph.predecessors(block).iter().filter(|&&from| dominators.contains(from));
            todo.extend(before.map(|&from| shrunk.find(from)));
        }
    }
    around
}

/// Which block a block was shrunk to: a union-find forest with path halving.
struct Shrunk {
    to: Vec<u32>,
}

impl Shrunk {
    fn find(&mut self, mut block: u32) -> u32 {
        while self.to[block as usize] != block {
            let above = self.to[self.to[block as usize] as usize];
            self.to[block as usize] = above;
            block = above;
        }
        block
    }
}
