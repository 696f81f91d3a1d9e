//! The algorithms against the definitions, on random graphs of up to 40 nodes: sets of nodes are bits of a number.

use super::dependence::ControlDependence;
use super::dominators::DominatorTree;
use super::endless::endless;
use super::graph::Graph;
use super::loops::Loops;

const GRAPHS: u64 = 2_000;
const ENTRY: u32 = 0;
const EXIT: u32 = 1;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: u32) -> u32 {
        (self.next() % u64::from(limit)) as u32
    }
}

/// Any graph in which nothing leads to the entry or out of the exit: with blocks that can't be reached, endless parts
/// and loops with two entries. Some have few edges, some many, some mostly such as lead a short way.
fn random_graph(random: &mut Random) -> (u32, Vec<(u32, u32)>) {
    let nodes = 3 + random.below(38);
    let density = [1, 1, 2, 4][random.below(4) as usize];
    let count = nodes + random.below(1 + nodes * density);
    let near = random.below(2) == 0;
    let edges = (0..count).map(|edge| {
        let from = if edge < nodes { edge } else { random.below(nodes) };
        let to = if near { (from + random.below(7)).wrapping_sub(3) } else { random.below(nodes) };
        (from, if to < nodes { to } else { EXIT })
    });
    let edges: Vec<_> = edges.filter(|&(from, to)| from != EXIT && to != ENTRY).collect();
    (nodes, edges)
}

/// Who dominates each node, by iteration from above; all nodes for what can't be reached.
fn dominators(nodes: u32, edges: &[(u32, u32)], root: u32) -> Vec<u64> {
    let all = (1 << nodes) - 1;
    let mut sets = vec![all; nodes as usize];
    sets[root as usize] = 1 << root;
    loop {
        let before = sets.clone();
        for node in (0..nodes).filter(|&node| node != root) {
            let above = edges.iter().filter(|edge| edge.1 == node).fold(all, |set, edge| set & sets[edge.0 as usize]);
            sets[node as usize] = above | 1 << node;
        }
        if sets == before {
            return sets;
        }
    }
}

/// What can be reached from each node, itself included.
fn reach(nodes: u32, edges: &[(u32, u32)]) -> Vec<u64> {
    let mut sets: Vec<u64> = (0..nodes).map(|node| 1 << node).collect();
    loop {
        let before = sets.clone();
        for &(from, to) in edges {
            sets[from as usize] |= sets[to as usize];
        }
        if sets == before {
            return sets;
        }
    }
}

fn has(set: u64, node: u32) -> bool {
    set >> node & 1 == 1
}

fn members(set: u64) -> Vec<u32> {
    (0..64).filter(|&node| has(set, node)).collect()
}

fn assert_tree_is(tree: &DominatorTree, sets: &[u64], reached: u64) {
    for (node, &set) in (0..).zip(sets) {
        assert_eq!(tree.contains(node), has(reached, node));
        let expected = if has(reached, node) { members(set) } else { vec![] };
        let mut found: Vec<_> = tree.dominators(node).collect();
        assert_eq!(tree.depth(node) as usize, found.len().saturating_sub(1));
        // From itself upwards, each is dominated by the next.
        assert!(found.windows(2).all(|pair| has(sets[pair[0] as usize], pair[1])));
        found.sort_unstable();
        assert_eq!(found, expected);
        for above in 0..sets.len() as u32 {
            assert_eq!(tree.dominates(above, node), expected.contains(&above));
        }
    }
}

#[test]
fn dominators_and_loops_are_those_of_the_definitions() {
    let mut random = Random(1);
    let (mut loops_seen, mut nested, mut unreachable) = (0, 0, 0);
    for _ in 0..GRAPHS {
        let (nodes, edges) = random_graph(&mut random);
        let graph = Graph::new(nodes as usize, edges.clone());
        let sets = dominators(nodes, &edges, ENTRY);
        let reached = reach(nodes, &edges)[ENTRY as usize];
        let tree = DominatorTree::new(&graph, ENTRY);
        assert_tree_is(&tree, &sets, reached);
        unreachable += u32::from(reached.count_ones() < nodes);

        let loops = Loops::new(&graph, &tree);
        let mut heads: Vec<_> = edges
            .iter()
            .filter(|edge| has(reached, edge.0) && has(sets[edge.0 as usize], edge.1))
            .map(|edge| edge.1)
            .collect();
        heads.sort_unstable();
        heads.dedup();
        assert_eq!(loops.heads(), heads);
        // A loop is its head and what gets back to it on a way that the head dominates.
        let bodies: Vec<u64> = heads
            .iter()
            .map(|&head| {
                let inside: Vec<_> = edges
                    .iter()
                    .copied()
                    .filter(|&(from, to)| {
                        has(reached, from) && [from, to].iter().all(|&end| has(sets[end as usize], head))
                    })
                    .collect();
                let back = reach(nodes, &inside);
                (0..nodes)
                    .filter(|&node| {
                        has(reached, node) && has(sets[node as usize], head) && has(back[node as usize], head)
                    })
                    .fold(0, |set, node| set | 1 << node)
            })
            .collect();
        for node in 0..nodes {
            let mut around: Vec<_> = bodies.iter().zip(&heads).filter(|(body, _)| has(**body, node)).collect();
            around.sort_by_key(|(body, _)| body.count_ones());
            assert_eq!(loops.depth(node) as usize, around.len());
            assert_eq!(loops.innermost(node), around.first().map(|(_, head)| **head));
            assert_eq!(loops.is_head(node), heads.contains(&node));
            let outside = usize::from(loops.is_head(node));
            assert_eq!(loops.around(node), around.get(outside).map(|(_, head)| **head));
            nested += u32::from(around.len() > 1);
        }
        loops_seen += heads.len();
    }
    assert!(loops_seen > 2_000 && nested > 2_000 && unreachable > 200, "{loops_seen} {nested} {unreachable}");
}

/// The least node of each set of nodes which reach each other, nothing else, and not the exit.
fn naive_endless(nodes: u32, edges: &[(u32, u32)]) -> Vec<u32> {
    let reach = reach(nodes, edges);
    let closed = |node: u32| {
        let set = reach[node as usize];
        !has(set, EXIT) && members(set).into_iter().all(|other| reach[other as usize] == set)
    };
    let least = |node: u32| reach[node as usize].trailing_zeros() == node;
    (0..nodes).filter(|&node| closed(node) && least(node)).collect()
}

#[test]
fn post_dominators_and_dependence_are_those_of_the_definitions() {
    let mut random = Random(2);
    let (mut with_endless, mut dependences, mut levels_above_2) = (0, 0, 0);
    for _ in 0..GRAPHS {
        let (nodes, edges) = random_graph(&mut random);
        let graph = Graph::new(nodes as usize, edges.clone());
        let heads = endless(&graph, EXIT);
        assert_eq!(heads, naive_endless(nodes, &edges));
        with_endless += u32::from(!heads.is_empty());

        let mut augmented = edges.clone();
        augmented.extend(heads.iter().map(|&head| (head, EXIT)));
        let backward: Vec<_> = augmented.iter().map(|&(from, to)| (to, from)).collect();
        let sets = dominators(nodes, &backward, EXIT);
        let tree = DominatorTree::new(&Graph::new(nodes as usize, augmented).reversed(), EXIT);
        assert_tree_is(&tree, &sets, (1 << nodes) - 1);

        let dependence = ControlDependence::new(&graph, tree);
        let depends = |block: u32, on: u32| {
            let next = graph.successors(on);
            let certain = |from: u32| has(sets[from as usize], block);
            block != on && next.len() > 1 && next.iter().any(|&next| certain(next)) && !certain(on)
        };
        let expected: Vec<Vec<u32>> =
            (0..nodes).map(|block| (0..nodes).filter(|&on| depends(block, on)).collect()).collect();
        for target in 0..nodes {
            assert_eq!(dependence.of(target), expected[target as usize]);
            dependences += expected[target as usize].len();
            let mut levels = vec![None; nodes as usize];
            let mut front = vec![target];
            for level in 0.. {
                front.retain(|&block| levels[block as usize].is_none());
                if front.is_empty() {
                    break;
                }
                front.iter().for_each(|&block| levels[block as usize] = Some(level));
                front = front.iter().flat_map(|&block| expected[block as usize].iter().copied()).collect();
                levels_above_2 += u32::from(level > 2);
            }
            assert_eq!(dependence.approach_levels(target), levels);
        }
    }
    let seen = (with_endless, dependences, levels_above_2);
    assert!(with_endless > 200 && dependences > 50_000 && levels_above_2 > 1_000, "{seen:?}");
}
