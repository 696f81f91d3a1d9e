//! All counts from the counted ones, by conservation of flow.

use super::NONE;
use crate::cfg::Cfg;

/// What is to be computed, in which order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Recovery {
    /// By counter: what it counts.
    counted: Box<[Link]>,
    derived: Box<[Derived]>,
    /// By node: the place in `derived` at which it is the leaf; or [`NONE`].
    places: Box<[u32]>,
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
    /// It leads to the leaf, not from it.
    inwards: bool,
}

/// Functions with more nodes than this need an allocation for each solution.
const NODES_ON_STACK: usize = 1024;

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
        let mut places = vec![NONE; nodes as usize];
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
            places[leaf as usize] = derived.len() as u32;
            derived.push(Derived { leaf, other, edge, inwards });
            for node in [from, to] {
                open[node as usize].toggle(index, -1);
            }
            if open[other as usize].unknown == 1 {
                todo.push(other);
            }
        }
        debug_assert!(open.iter().all(|node| node.unknown == 0), "uncounted flows have a cycle");
        Recovery { counted: counted.into(), derived: derived.into(), places: places.into(), starts, nodes }
    }

    /// Computes the counts of all edges, modulo 2^32, and gives those that are not 0 to `visit`, each by its number within
    /// the function. Costs what was executed, apart from looking at all counters.
    ///
    /// `left` has the offset of the operator for each frame of the function that was left without returning or throwing:
    /// by a trap, or by the host.
    pub(crate) fn solve(&self, counters: &[u32], left: &[u32], visit: impl FnMut(u32, u32)) {
        let nodes = self.nodes as usize;
        if nodes <= NODES_ON_STACK {
            let (mut excess, mut open) = ([0; NODES_ON_STACK], [0; NODES_ON_STACK / 64]);
            let (excess, open) = (&mut excess[..nodes], &mut open[..nodes.div_ceil(64)]);
            self.solve_with(Flow { excess, open, places: &self.places }, counters, left, visit);
        } else {
            let (mut excess, mut open) = (vec![0; nodes], vec![0; nodes.div_ceil(64)]);
            let flow = Flow { excess: &mut excess, open: &mut open, places: &self.places };
            self.solve_with(flow, counters, left, visit);
        }
    }

    fn solve_with(&self, mut flow: Flow<'_>, counters: &[u32], left: &[u32], mut visit: impl FnMut(u32, u32)) {
        for (link, &count) in self.counted.iter().zip(counters) {
            if count != 0 {
                flow.give(link.from, count.wrapping_neg());
                flow.give(link.to, count);
                if link.edge != NONE {
                    visit(link.edge, count);
                }
            }
        }
        for &offset in left {
            if let Some(node) = self.node_at(offset) {
                flow.give(node, 1_u32.wrapping_neg());
                flow.give(Cfg::ENTRY, 1);
            }
        }
        while let Some(place) = flow.next() {
            // What comes in must go out by this flow, or what goes out come in by it: then the other end has it, whose
            // turn comes later.
            let Derived { leaf, other, edge, inwards } = self.derived[place];
            let rest = flow.excess[leaf as usize];
            if rest != 0 {
                flow.give(other, rest);
                if edge != NONE {
                    visit(edge, if inwards { rest.wrapping_neg() } else { rest });
                }
            }
        }
    }

    /// The node that is left when the operator at this offset fails.
    fn node_at(&self, offset: u32) -> Option<u32> {
        let after = self.starts.partition_point(|&(start, _)| start <= offset);
        Some(self.starts[after.checked_sub(1)?].1)
    }
}

/// What is known of a solution.
struct Flow<'a> {
    /// By node: what is known to come in, less what is known to go out.
    excess: &'a mut [u32],
    /// A bit for each place in [`Recovery::derived`]: something is known at its leaf, and the flow is to be computed.
    open: &'a mut [u64],
    places: &'a [u32],
}

impl Flow<'_> {
    fn give(&mut self, node: u32, count: u32) {
        let excess = &mut self.excess[node as usize];
        *excess = excess.wrapping_add(count);
        let place = self.places[node as usize];
        if place != NONE {
            self.open[place as usize / 64] |= 1 << (place % 64);
        }
    }

    /// The first place that is open, which is closed.
    fn next(&mut self) -> Option<usize> {
        let (index, word) = self.open.iter_mut().enumerate().find(|(_, word)| **word != 0)?;
        let bit = word.trailing_zeros();
        *word &= *word - 1;
        Some(index * 64 + bit as usize)
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
