//! All counts from the counted ones, by conservation of flow.

use super::NONE;
use crate::cfg::Cfg;

/// A function's graph, as far as it is needed to compute counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Recovery {
    pub(super) links: Vec<Link>,
    /// Where blocks with code start, in order, and the nodes from which these are left.
    pub(super) starts: Vec<(u32, u32)>,
    pub(super) nodes: u32,
}

/// A flow, or a block that can be counted itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) from: u32,
    pub(super) to: u32,
    /// Its counter, a number within the function; or [`NONE`].
    pub(super) counter: u32,
    /// Its edge, a number within the function; or [`NONE`].
    pub(super) edge: u32,
}

impl Recovery {
    /// Computes the counts of all edges, modulo 2^32, and gives each to `visit` by its number within the function.
    ///
    /// `left` has the offset of the operator for each frame of the function that was left without returning or throwing:
    /// by a trap, or by the host.
    ///
    /// A node with one unknown flow gives that flow's count; it is then known to the node at the other end. As the
    /// unknown flows have no cycle, that way all become known.
    pub(crate) fn solve(&self, counters: &[u32], left: &[u32], mut visit: impl FnMut(u32, u32)) {
        let mut nodes = vec![Node::default(); self.nodes as usize];
        let mut counts = vec![0; self.links.len()];
        for (index, link) in self.links.iter().enumerate() {
            if link.counter == NONE {
                for node in [link.from, link.to] {
                    nodes[node as usize].unknown += 1;
                    nodes[node as usize].links ^= index;
                }
            } else {
                counts[index] = counters[link.counter as usize];
                nodes[link.from as usize].take(counts[index]);
                nodes[link.to as usize].give(counts[index]);
            }
        }
        for &offset in left {
            if let Some(node) = self.node_at(offset) {
                nodes[node as usize].take(1);
                nodes[Cfg::ENTRY as usize].give(1);
            }
        }
        let mut todo: Vec<u32> = (0..self.nodes).filter(|&node| nodes[node as usize].unknown == 1).collect();
        while let Some(leaf) = todo.pop() {
            let Node { excess, unknown: 1, links: index } = nodes[leaf as usize] else { continue };
            let Link { from, to, .. } = self.links[index];
            counts[index] = if from == leaf { excess } else { excess.wrapping_neg() };
            nodes[from as usize].take(counts[index]);
            nodes[to as usize].give(counts[index]);
            for node in [from, to] {
                nodes[node as usize].unknown -= 1;
                nodes[node as usize].links ^= index;
                if nodes[node as usize].unknown == 1 {
                    todo.push(node);
                }
            }
        }
        debug_assert!(nodes.iter().all(|node| node.unknown == 0), "uncounted flows have a cycle");
        for (link, count) in self.links.iter().zip(counts) {
            if link.edge != NONE {
                visit(link.edge, count);
            }
        }
    }

    /// The node that is left when the operator at this offset fails.
    fn node_at(&self, offset: u32) -> Option<u32> {
        let after = self.starts.partition_point(|&(start, _)| start <= offset);
        Some(self.starts[after.checked_sub(1)?].1)
    }
}

/// What is known about a node.
#[derive(Clone, Copy, Default)]
struct Node {
    /// What is known to come in, less what is known to go out.
    excess: u32,
    /// How many of its flows are unknown.
    unknown: u32,
    /// The exclusive or of their indices; so the index of the last one.
    links: usize,
}

impl Node {
    fn give(&mut self, count: u32) {
        self.excess = self.excess.wrapping_add(count);
    }

    fn take(&mut self, count: u32) {
        self.excess = self.excess.wrapping_sub(count);
    }
}
