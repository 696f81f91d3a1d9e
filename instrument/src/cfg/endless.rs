//! Blocks with no way to the exit, and the edges that give them one.

use super::graph::Graph;

/// Finds a block in each endless part of a function: a set of blocks that reach each other and nothing else, not the
/// exit. In code order, one per part, which is its first in the code: the head of the outermost loop.
///
/// Post-dominators are about paths to the exit, so without an edge from each of these to the exit there would be
/// nothing to say about what leads to an endless loop.
pub(super) fn endless(graph: &Graph, exit: u32) -> Vec<u32> {
    let backward = graph.clone().reversed();
    let mut exits = vec![false; graph.len()];
    backward.reach([exit], &mut exits);
    if exits.iter().all(|&exits| exits) {
        return Vec::new();
    }
    // The block that a depth-first search leaves last belongs to a part that no other leads to (Kosaraju), so in the
    // reversed graph to one that leads nowhere; and the same again for what doesn't lead to that part.
    let mut heads = Vec::new();
    let mut settled = exits.clone();
    let mut seen = vec![false; graph.len()];
    for node in left_last(&backward, exits) {
        if !settled[node as usize] {
            backward.reach([node], &mut settled);
            heads.extend(graph.reach([node], &mut seen).into_iter().min());
        }
    }
    heads.sort_unstable();
    heads
}

/// All nodes that are not in `seen`, in the order in which a depth-first search leaves them, the last first.
fn left_last(graph: &Graph, mut seen: Vec<bool>) -> Vec<u32> {
    let mut left = Vec::new();
    let mut stack = Vec::new();
    for root in 0..graph.len() as u32 {
        if std::mem::replace(&mut seen[root as usize], true) {
            continue;
        }
        stack.push((root, graph.successors(root).iter()));
        while let Some((node, successors)) = stack.last_mut() {
            match successors.next() {
                Some(&next) if std::mem::replace(&mut seen[next as usize], true) => {}
                Some(&next) => stack.push((next, graph.successors(next).iter())),
                None => {
                    left.push(*node);
                    stack.pop();
                }
            }
        }
    }
    left.reverse();
    left
}
