//! Dominator trees: Lengauer and Tarjan, "A fast algorithm for finding dominators in a flowgraph", TOPLAS 1(1), 1979.
//!
//! It is the simple version with path compression, O(m log n). The shorter algorithm of Cooper, Harvey and Kennedy is
//! quadratic on what every parser has: a long row of branches out of the same block.

use super::graph::{Graph, NONE};

/// Who dominates whom, as a tree: a block's parent is its immediate dominator.
///
/// A block *a* dominates *b* if every path from the root to *b* goes through *a*; every block dominates itself. For
/// post-dominators it is every path from *b* to the exit, and the root is the exit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DominatorTree {
    root: u32,
    /// Per block.
    parents: Vec<u32>,
    /// Per block: its place in a preorder of the tree.
    places: Vec<u32>,
    /// Per block: how many blocks it dominates; 0 if it is not in the tree.
    sizes: Vec<u32>,
    /// Per block: how many others dominate it.
    depths: Vec<u32>,
}

impl DominatorTree {
    /// Finds who dominates whom on paths from `root`.
    pub(super) fn new(graph: &Graph, root: u32) -> DominatorTree {
        let Search { order, numbers, dominators } = Search::new(graph, root);
        let nodes = graph.len();
        let mut tree = DominatorTree {
            root,
            parents: vec![NONE; nodes],
            places: vec![NONE; nodes],
            sizes: vec![0; nodes],
            depths: vec![0; nodes],
        };
        debug_assert!(numbers[root as usize] == 0);
        // A dominator has a smaller number than what it dominates, so one pass does for each of these.
        for number in (0..order.len()).rev() {
            let node = order[number] as usize;
            tree.sizes[node] += 1;
            if number > 0 {
                let parent = order[dominators[number] as usize];
                tree.parents[node] = parent;
                tree.sizes[parent as usize] += tree.sizes[node];
            }
        }
        let mut free = vec![0; nodes]; // the place for the next child
        for &node in &order {
            let place = match tree.parents[node as usize] {
                NONE => 0,
                parent => {
                    tree.depths[node as usize] = tree.depths[parent as usize] + 1;
                    let place = free[parent as usize];
                    free[parent as usize] += tree.sizes[node as usize];
                    place
                }
            };
            tree.places[node as usize] = place;
            free[node as usize] = place + 1;
        }
        tree
    }

    /// The block that dominates all.
    pub fn root(&self) -> u32 {
        self.root
    }

    /// The immediate dominator: the one that all other dominators of `block` dominate. `None` for the root, and for
    /// what has no path from it.
    pub fn parent(&self, block: u32) -> Option<u32> {
        Some(self.parents[block as usize]).filter(|&parent| parent != NONE)
    }

    /// Whether there is a path from the root to `block`. What has none dominates nothing, and nothing dominates it.
    pub fn contains(&self, block: u32) -> bool {
        self.sizes[block as usize] > 0
    }

    /// How many blocks other than itself dominate `block`.
    pub fn depth(&self, block: u32) -> u32 {
        self.depths[block as usize]
    }

    /// Whether `above` dominates `below`; it takes constant time.
    pub fn dominates(&self, above: u32, below: u32) -> bool {
        self.contains(below) && self.places(above).contains(&self.places[below as usize])
    }

    /// The dominators of `block`, from itself up to the root. Empty if there is no path from the root.
    pub fn dominators(&self, block: u32) -> impl Iterator<Item = u32> {
        std::iter::successors(Some(block).filter(|&block| self.contains(block)), |&block| self.parent(block))
    }

    /// The blocks of the tree, each behind its parent.
    pub(crate) fn preorder(&self) -> Vec<u32> {
        let mut blocks: Vec<u32> = (0..self.parents.len() as u32).filter(|&block| self.contains(block)).collect();
        blocks.sort_unstable_by_key(|&block| self.places[block as usize]);
        blocks
    }

    /// How many blocks there are, in the tree or not.
    pub(super) fn len(&self) -> usize {
        self.parents.len()
    }

    /// A block's place in a preorder of the tree.
    pub(super) fn place(&self, block: u32) -> u32 {
        self.places[block as usize]
    }

    /// The places of all that `block` dominates.
    pub(super) fn places(&self, block: u32) -> std::ops::Range<u32> {
        let place = self.places[block as usize];
        place..place.saturating_add(self.sizes[block as usize])
    }
}

/// The depth-first search and what follows from it. Nodes have numbers in the order in which they are found.
struct Search {
    /// Nodes by number.
    order: Vec<u32>,
    /// Numbers by node, or [`NONE`].
    numbers: Vec<u32>,
    /// By number: the immediate dominator's number.
    dominators: Vec<u32>,
}

impl Search {
    fn new(graph: &Graph, root: u32) -> Search {
        let (order, numbers, parents) = depth_first(graph, root);
        let count = order.len();
        let mut forest = Forest::new(count);
        let mut dominators = vec![0; count];
        // Nodes by semidominator, as lists: the first of each, and what comes after each.
        let mut firsts = vec![NONE; count];
        let mut nexts = vec![NONE; count];
        for node in (1..count).rev() {
            for &from in graph.predecessors(order[node]) {
                let from = numbers[from as usize];
                if from != NONE {
                    let best = forest.best(from);
                    forest.semi[node] = forest.semi[node].min(forest.semi[best as usize]);
                }
            }
            let semi = forest.semi[node] as usize;
            nexts[node] = std::mem::replace(&mut firsts[semi], node as u32);
            let parent = parents[node];
            forest.ancestors[node] = parent;
            let mut item = std::mem::replace(&mut firsts[parent as usize], NONE);
            while item != NONE {
                let best = forest.best(item);
                let earlier = forest.semi[best as usize] < forest.semi[item as usize];
                dominators[item as usize] = if earlier { best } else { parent };
                item = nexts[item as usize];
            }
        }
        for node in 1..count {
            if dominators[node] != forest.semi[node] {
                dominators[node] = dominators[dominators[node] as usize];
            }
        }
        Search { order, numbers, dominators }
    }
}

/// Searches depth first: nodes in the order in which they are found, their numbers, and the tree's parents by number.
fn depth_first(graph: &Graph, root: u32) -> (Vec<u32>, Vec<u32>, Vec<u32>) {
    let mut numbers = vec![NONE; graph.len()];
    let (mut order, mut parents) = (vec![root], vec![NONE]);
    numbers[root as usize] = 0;
    let mut stack = vec![(0, graph.successors(root).iter())];
    while let Some((parent, successors)) = stack.last_mut() {
        let Some(&node) = successors.next() else {
            stack.pop();
            continue;
        };
        if numbers[node as usize] == NONE {
            let number = order.len() as u32;
            numbers[node as usize] = number;
            order.push(node);
            parents.push(*parent);
            stack.push((number, graph.successors(node).iter()));
        }
    }
    (order, numbers, parents)
}

/// The part of the search tree that was processed; all by number.
struct Forest {
    /// Semidominators as far as they are known.
    semi: Vec<u32>,
    /// Parents in the forest, shortened; [`NONE`] for roots.
    ancestors: Vec<u32>,
    /// On the shortened way up to the parent, the node with the smallest semidominator.
    labels: Vec<u32>,
    /// What is to be shortened: kept to be used again.
    path: Vec<u32>,
}

impl Forest {
    fn new(count: usize) -> Forest {
        let identity: Vec<u32> = (0..count as u32).collect();
        Forest { semi: identity.clone(), ancestors: vec![NONE; count], labels: identity, path: Vec::new() }
    }

    /// The node with the smallest semidominator on the way from `node` up to, but without, the root of its tree.
    fn best(&mut self, node: u32) -> u32 {
        let mut at = node;
        while self.ancestors[at as usize] != NONE {
            self.path.push(at);
            at = self.ancestors[at as usize];
        }
        let root = at;
        self.path.pop(); // a child of the root is as short as can be
        while let Some(at) = self.path.pop() {
            let above = self.ancestors[at as usize];
            let (ours, theirs) = (self.labels[at as usize], self.labels[above as usize]);
            if self.semi[theirs as usize] < self.semi[ours as usize] {
                self.labels[at as usize] = theirs;
            }
            self.ancestors[at as usize] = root;
        }
        self.labels[node as usize]
    }
}
