//! All counts from the counted ones, by conservation of flow.

use super::NONE;
use crate::cfg::Cfg;

/// What is to be computed, in which order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Recovery {
    /// By counter: what it counts.
    counted: Box<[Link]>,
    derived: Box<[Derived]>,
    /// Where blocks with code start, in order, and the nodes from which these are left.
    starts: Vec<(u32, u32)>,
    nodes: u32,
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

/// A flow without a counter, at a node of which all other flows are known by then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Derived {
    leaf: u32,
    /// The node at its other end.
    other: u32,
    /// As [`Link::edge`].
    edge: u32,
    /// All ones if it leads to the leaf, not from it.
    sign: u32,
}

impl Recovery {
    /// Finds the order. A node with one unknown flow gives that flow's count; it is then known to the node at the other
    /// end. As the unknown flows have no cycle, that way all become known.
    pub(super) fn new(links: impl Iterator<Item = Link>, starts: Vec<(u32, u32)>, nodes: u32) -> Recovery {
        let (mut counted, unknown): (Vec<Link>, Vec<Link>) = links.partition(|link| link.counter != NONE);
        counted.sort_unstable_by_key(|link| link.counter);
        debug_assert!(
            (0..).zip(&counted).all(|(counter, link)| link.counter == counter),
            "each counter counts one thing"
        );
        let mut open = vec![Node::default(); nodes as usize];
        for (index, link) in unknown.iter().enumerate() {
            for node in [link.from, link.to] {
                open[node as usize].toggle(index, 1);
            }
        }
        let mut derived = Vec::with_capacity(unknown.len());
        let mut todo: Vec<u32> = (0..nodes).filter(|&node| open[node as usize].unknown == 1).collect();
        while let Some(leaf) = todo.pop() {
            let Node { unknown: 1, links: index } = open[leaf as usize] else { continue };
            let Link { from, to, edge, .. } = unknown[index];
            let inwards = from != leaf;
            let other = if inwards { from } else { to };
            derived.push(Derived { leaf, other, edge, sign: if inwards { u32::MAX } else { 0 } });
            for node in [from, to] {
                open[node as usize].toggle(index, -1);
            }
            if open[other as usize].unknown == 1 {
                todo.push(other);
            }
        }
        debug_assert!(open.iter().all(|node| node.unknown == 0), "uncounted flows have a cycle");
        Recovery { counted: counted.into(), derived: derived.into(), starts, nodes }
    }

    /// Computes the counts of all edges, modulo 2^32, into `counts`: by an edge's number within the function, and one behind
    /// them for what is no edge. `excess` is room to compute in.
    ///
    /// `left` has the offset of the operator for each frame of the function that was left without returning or throwing:
    /// by a trap, or by the host.
    ///
    /// Hosts do this for most functions that an execution touches, so it has no branches: which counters are 0 can't be
    /// foretold.
    pub(crate) fn solve(&self, counters: &[u32], left: &[u32], excess: &mut Vec<u32>, counts: &mut [u32]) {
        // By node: what is known to come in, less what is known to go out.
        excess.clear();
        excess.resize(self.nodes as usize, 0);
        let excess = &mut excess[..];
        let last = counts.len() - 1;
        for (link, &count) in self.counted.iter().zip(counters) {
            let (from, to) = (link.from as usize, link.to as usize);
            excess[from] = excess[from].wrapping_sub(count);
            excess[to] = excess[to].wrapping_add(count);
            counts[last.min(link.edge as usize)] = count;
        }
        for &offset in left {
            if let Some(node) = self.node_at(offset) {
                excess[node as usize] = excess[node as usize].wrapping_sub(1);
                excess[Cfg::ENTRY as usize] = excess[Cfg::ENTRY as usize].wrapping_add(1);
            }
        }
        for &Derived { leaf, other, edge, sign } in &self.derived {
            // What comes in must go out by this flow, or what goes out come in by it: then the other end has it.
            let rest = excess[leaf as usize];
            excess[other as usize] = excess[other as usize].wrapping_add(rest);
            counts[last.min(edge as usize)] = (rest ^ sign).wrapping_sub(sign);
        }
    }

    /// The node that is left when the operator at this offset fails.
    fn node_at(&self, offset: u32) -> Option<u32> {
        let after = self.starts.partition_point(|&(start, _)| start <= offset);
        Some(self.starts[after.checked_sub(1)?].1)
    }
}

/// What is unknown at a node.
#[derive(Clone, Copy, Default)]
struct Node {
    /// How many of its flows are unknown.
    unknown: i32,
    /// The exclusive or of their indices; so the index of the last one.
    links: usize,
}

impl Node {
    fn toggle(&mut self, index: usize, change: i32) {
        self.unknown += change;
        self.links ^= index;
    }
}
