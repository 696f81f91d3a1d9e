//! A directed graph as sorted adjacency lists, which is all that the algorithms here know of a function.

/// Stands for no node.
pub(super) const NONE: u32 = u32::MAX;

/// Nodes are numbers from 0; parallel edges are one.
#[derive(Clone, Debug)]
pub(super) struct Graph {
    successors: Lists,
    predecessors: Lists,
}

impl Graph {
    /// Makes a graph of edges (from, to), which come in any order.
    pub(super) fn new(nodes: usize, mut edges: Vec<(u32, u32)>) -> Graph {
        edges.sort_unstable();
        edges.dedup();
        let successors = Lists::new(nodes, &edges);
        edges.iter_mut().for_each(|edge| *edge = (edge.1, edge.0));
        edges.sort_unstable();
        Graph { successors, predecessors: Lists::new(nodes, &edges) }
    }

    /// How many nodes there are.
    pub(super) fn len(&self) -> usize {
        self.successors.starts.len() - 1
    }

    /// Where edges of `node` lead, in ascending order.
    pub(super) fn successors(&self, node: u32) -> &[u32] {
        self.successors.of(node)
    }

    /// Where edges to `node` come from, in ascending order.
    pub(super) fn predecessors(&self, node: u32) -> &[u32] {
        self.predecessors.of(node)
    }

    /// All edges, in ascending order.
    pub(super) fn edges(&self) -> impl Iterator<Item = (u32, u32)> {
        (0..self.len() as u32).flat_map(|from| self.successors(from).iter().map(move |&to| (from, to)))
    }

    /// The same graph with the edges the other way round.
    pub(super) fn reversed(self) -> Graph {
        Graph { successors: self.predecessors, predecessors: self.successors }
    }

    /// Adds to `seen` what can be reached from `roots` over what is not in it, and gives these nodes in the order in
    /// which they are found.
    pub(super) fn reach(&self, roots: impl IntoIterator<Item = u32>, seen: &mut [bool]) -> Vec<u32> {
        let mut found: Vec<u32> = Vec::new();
        let mut visit = |node: u32, found: &mut Vec<u32>| {
            if !std::mem::replace(&mut seen[node as usize], true) {
                found.push(node);
            }
        };
        roots.into_iter().for_each(|root| visit(root, &mut found));
        let mut next = 0;
        while let Some(&node) = found.get(next) {
            next += 1;
            self.successors(node).iter().for_each(|&to| visit(to, &mut found));
        }
        found
    }
}

/// Lists of numbers, one per node, in one vector.
#[derive(Clone, Debug)]
struct Lists {
    /// Where the list of each node starts, and where the last one ends.
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl Lists {
    /// Takes pairs (node, item) in ascending order.
    fn new(nodes: usize, pairs: &[(u32, u32)]) -> Lists {
        let mut starts = vec![0; nodes + 1];
        for &(node, _) in pairs {
            starts[node as usize + 1] += 1;
        }
        for node in 0..nodes {
            starts[node + 1] += starts[node];
        }
        Lists { starts, items: pairs.iter().map(|&(_, item)| item).collect() }
    }

    fn of(&self, node: u32) -> &[u32] {
        let node = node as usize;
        &self.items[self.starts[node] as usize..self.starts[node + 1] as usize]
    }
}
