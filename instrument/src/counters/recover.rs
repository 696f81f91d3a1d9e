//! All counts from the counted ones, by conservation of flow.

use crate::cfg::Cfg;

/// Stands for no counter, and for no edge.
pub(super) const NONE: u32 = u32::MAX;

/// Executions that are looked at together.
pub const LANES: usize = 8;

/// A number of each of them.
pub(crate) type Lanes = [u32; LANES];

/// Inlined, as is all that is done for eight executions at once: only then it is done for them at once.
#[inline(always)]
fn subtract(from: &Lanes, what: &Lanes) -> Lanes {
    let mut rest = *from;
    rest.iter_mut().zip(what).for_each(|(rest, what)| *rest = rest.wrapping_sub(*what));
    rest
}

/// What is to be computed, in which order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Recovery {
    /// By counter: what it counts.
    counted: Box<[Counted]>,
    derived: Box<[Derived]>,
    /// Where blocks with code start, in order, and the places of the nodes from which these are left.
    starts: Vec<(u32, u32)>,
    /// The place of the node that calls enter.
    entry: u32,
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

/// A counted flow, with the places of its nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counted {
    from: u32,
    to: u32,
    /// As [`Link::edge`].
    edge: u32,
}

/// A flow without a counter. The flows without counters are trees, so it cuts one in two; and nodes have their places
/// in such an order that the part without the root has neighbouring ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Derived {
    /// The first of these places.
    start: u32,
    /// The one behind the last.
    end: u32,
    /// As [`Link::edge`].
    edge: u32,
    /// All ones if the flow leads to that part, not from it.
    sign: u32,
}

/// A flow without a counter, at a node of which all other flows are known by then.
struct Step {
    leaf: usize,
    /// The node at its other end.
    other: usize,
    edge: u32,
    sign: u32,
}

impl Recovery {
    /// Finds the order. A node with one unknown flow gives that flow's count; it is then known to the node at the other
    /// end. As the unknown flows have no cycle, that way all become known: the last node of a tree is its root.
    pub(super) fn new(links: impl Iterator<Item = Link>, starts: Vec<(u32, u32)>, nodes: u32) -> Recovery {
        let (mut counted, unknown): (Vec<Link>, Vec<Link>) = links.partition(|link| link.counter != NONE);
        counted.sort_unstable_by_key(|link| link.counter);
        debug_assert!(
            (0..).zip(&counted).all(|(counter, link)| link.counter == counter),
            "each counter counts one thing"
        );
        let steps = steps(&unknown, nodes);
        let (places, sizes) = places(&steps, nodes);
        let counted = counted.iter().map(|link| {
            let [from, to] = [link.from, link.to].map(|node| places[node as usize]);
            Counted { from, to, edge: link.edge }
        });
        let mut derived: Vec<Derived> = steps
            .iter()
            .map(|step| {
                let start = places[step.leaf];
                Derived { start, end: start + sizes[step.leaf], edge: step.edge, sign: step.sign }
            })
            .collect();
        // So that counts are written one after the other.
        derived.sort_unstable_by_key(|derived| derived.edge);
        Recovery {
            counted: counted.collect(),
            derived: derived.into(),
            starts: starts.into_iter().map(|(start, node)| (start, places[node as usize])).collect(),
            entry: places[Cfg::ENTRY as usize],
            nodes,
        }
    }

    /// Computes the counts of all edges, modulo 2^32, into `counts`: by an edge's number within the function, and one
    /// behind them for what is no edge. `excess` is room to compute in.
    ///
    /// `left` has the offset of the operator for each frame of the function that was left without returning or
    /// throwing: by a trap, or by the host.
    ///
    /// Hosts do this for most functions that an execution touches, so it has no branches: which counters are 0 can't be
    /// foretold.
    pub(crate) fn solve(&self, counters: &[u32], left: &[u32], excess: &mut Vec<u32>, counts: &mut [u32]) {
        // By place, and one behind them: what is known to come in, less what is known to go out.
        excess.clear();
        excess.resize(self.nodes as usize + 1, 0);
        let excess = &mut excess[..];
        let last = counts.len() - 1;
        for (link, &count) in self.counted.iter().zip(counters) {
            let (from, to) = (link.from as usize, link.to as usize);
            excess[from] = excess[from].wrapping_sub(count);
            excess[to] = excess[to].wrapping_add(count);
            counts[last.min(link.edge as usize)] = count;
        }
        for &offset in left {
            if let Some(place) = self.place_at(offset) {
                excess[place as usize] = excess[place as usize].wrapping_sub(1);
                excess[self.entry as usize] = excess[self.entry as usize].wrapping_add(1);
            }
        }
        // From here on: of all places before.
        let mut sum = 0_u32;
        for excess in &mut *excess {
            sum = sum.wrapping_add(std::mem::replace(excess, sum));
        }
        for &Derived { start, end, edge, sign } in &self.derived {
            // What comes in must go out by this flow, or what goes out come in by it.
            let rest = excess[end as usize].wrapping_sub(excess[start as usize]);
            counts[last.min(edge as usize)] = (rest ^ sign).wrapping_sub(sign);
        }
    }

    /// As [`Recovery::solve`] for several executions, none of which left frames, at once: `row` gives the values of a
    /// counter, and `visit` is called with each edge, a number within the function, and its counts.
    pub(crate) fn solve_lanes(
        &self,
        row: impl Fn(usize) -> Lanes,
        excess: &mut Vec<Lanes>,
        mut visit: impl FnMut(u32, &Lanes),
    ) {
        excess.clear();
        excess.resize(self.nodes as usize + 1, Lanes::default());
        let excess = &mut excess[..];
        for (counter, link) in self.counted.iter().enumerate() {
            let counts = row(counter);
            let from = &mut excess[link.from as usize];
            *from = subtract(from, &counts);
            let to = &mut excess[link.to as usize];
            to.iter_mut().zip(&counts).for_each(|(to, count)| *to = to.wrapping_add(*count));
            if link.edge != NONE {
                visit(link.edge, &counts);
            }
        }
        let mut sum = Lanes::default();
        for excess in &mut *excess {
            let before = sum;
            sum.iter_mut().zip(&*excess).for_each(|(sum, excess)| *sum = sum.wrapping_add(*excess));
            *excess = before;
        }
        for &Derived { start, end, edge, sign } in &self.derived {
            if edge != NONE {
                let rest = subtract(&excess[end as usize], &excess[start as usize]);
                let mut counts = rest;
                counts.iter_mut().for_each(|count| *count = (*count ^ sign).wrapping_sub(sign));
                visit(edge, &counts);
            }
        }
    }

    /// The place of the node that is left when the operator at this offset fails.
    fn place_at(&self, offset: u32) -> Option<u32> {
        let after = self.starts.partition_point(|&(start, _)| start <= offset);
        Some(self.starts[after.checked_sub(1)?].1)
    }
}

/// The flows without counters, in an order in which they become known.
fn steps(unknown: &[Link], nodes: u32) -> Vec<Step> {
    let mut open = vec![Node::default(); nodes as usize];
    for (index, link) in unknown.iter().enumerate() {
        for node in [link.from, link.to] {
            open[node as usize].toggle(index, 1);
        }
    }
    let mut steps = Vec::with_capacity(unknown.len());
    let mut todo: Vec<u32> = (0..nodes).filter(|&node| open[node as usize].unknown == 1).collect();
    while let Some(leaf) = todo.pop() {
        let Node { unknown: 1, links: index } = open[leaf as usize] else { continue };
        let Link { from, to, edge, .. } = unknown[index];
        let inwards = from != leaf;
        let other = if inwards { from } else { to };
        steps.push(Step { leaf: leaf as usize, other: other as usize, edge, sign: if inwards { u32::MAX } else { 0 } });
        for node in [from, to] {
            open[node as usize].toggle(index, -1);
        }
        if open[other as usize].unknown == 1 {
            todo.push(other);
        }
    }
    debug_assert!(open.iter().all(|node| node.unknown == 0), "uncounted flows have a cycle");
    steps
}

/// Places of the nodes, and how many each has with all nodes below it: a node's come right before those of the nodes
/// below it.
fn places(steps: &[Step], nodes: u32) -> (Vec<u32>, Vec<u32>) {
    let mut sizes = vec![1_u32; nodes as usize];
    let mut is_root = vec![true; nodes as usize];
    // Whatever is below a node became known before it.
    for step in steps {
        sizes[step.other] += sizes[step.leaf];
        is_root[step.leaf] = false;
    }
    let mut places = vec![0; nodes as usize];
    // By node: the first place below it that nobody has.
    let mut free = vec![0; nodes as usize];
    let mut next = 0;
    for root in (0..nodes as usize).filter(|&node| is_root[node]) {
        (places[root], free[root]) = (next, next + 1);
        next += sizes[root];
    }
    for step in steps.iter().rev() {
        let place = free[step.other];
        free[step.other] += sizes[step.leaf];
        (places[step.leaf], free[step.leaf]) = (place, place + 1);
    }
    (places, sizes)
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
