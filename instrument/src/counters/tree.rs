//! Which flows are left uncounted: a spanning tree of the function's graph, the most expensive to count (Knuth and
//! Stevenson, "Optimal measurement points for program frequency counts", BIT 13, 1973; Ball and Larus, "Optimally
//! profiling and tracing programs", TOPLAS 16, 1994, section 3). Found by Kruskal's algorithm.

/// What may be done to count a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// It may be counted or not.
    Free,
    /// It has to be counted.
    Counted,
    /// It can't be counted. No block has two of these, and they make no cycle.
    Uncounted,
    /// It is not part of the graph: its count is known.
    Absent,
}

/// A flow between two nodes of the graph.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) way: Way,
    /// What it costs to count it.
    pub(super) cost: f32,
}

/// Chooses the links to count. Entry and exit of the function are one node.
///
/// What is not counted has no cycle, whatever its direction. So every cycle that an execution can go round has a flow
/// that is counted; and, entry and exit being one, every way through the function has.
pub(super) fn counted(nodes: usize, links: &[Link]) -> Vec<bool> {
    let mut joined = Joined::new(nodes);
    let mut counted: Vec<bool> = links.iter().map(|link| link.way == Way::Counted).collect();
    let mut free = Vec::new();
    for (index, link) in links.iter().enumerate() {
        match link.way {
            Way::Uncounted => {
                let fits = joined.join(link.from, link.to);
                debug_assert!(fits, "what can't be counted has a cycle");
            }
            Way::Free => free.push(index),
            Way::Counted | Way::Absent => {}
        }
    }
    // The sort is stable: of equals, the first stays uncounted.
    free.sort_by(|&a, &b| links[b].cost.total_cmp(&links[a].cost));
    for index in free {
        counted[index] = !joined.join(links[index].from, links[index].to);
    }
    counted
}

/// Which nodes are connected: a union-find forest, by size, with path halving.
struct Joined {
    parents: Vec<u32>,
    sizes: Vec<u32>,
}

impl Joined {
    fn new(nodes: usize) -> Joined {
        Joined { parents: (0..nodes as u32).collect(), sizes: vec![1; nodes] }
    }

    fn root(&mut self, mut node: u32) -> u32 {
        while self.parents[node as usize] != node {
            let above = self.parents[self.parents[node as usize] as usize];
            self.parents[node as usize] = above;
            node = above;
        }
        node
    }

    /// Connects two nodes; `false` if they were.
    fn join(&mut self, a: u32, b: u32) -> bool {
        let (mut a, mut b) = (self.root(a), self.root(b));
        if a == b {
            return false;
        }
        if self.sizes[a as usize] < self.sizes[b as usize] {
            std::mem::swap(&mut a, &mut b);
        }
        self.parents[b as usize] = a;
        self.sizes[a as usize] += self.sizes[b as usize];
        true
    }
}
