//! Distances as AFLGo's tool computes them (Böhme, Pham, Nguyen and Roychoudhury, "Directed greybox fuzzing", CCS 2017;
//! `distance.py` in the tool, from which the paper's text differs in detail).
//!
//! A function's distance is the harmonic mean of 1 + the number of calls on the shortest way to each function with a
//! goal, of those that it can reach. In a function, sources are blocks with a goal, and blocks that call a function
//! which has a distance. A block's distance is the harmonic mean, over the sources that it can reach, of
//!
//! ```text
//! 1 + edges on the shortest way to the source, + 10 x the least distance of what is called there, if it has no goal
//! ```

use std::collections::{BTreeMap, BTreeSet};

use super::program::{Callee, Function};
use super::{Goal, NONE, Program, SeenCalls};

/// What a call counts, in edges.
const CALL: f64 = 10.0;
/// Steps that are made for the sources of all functions, about, of which one function may take a part of what is left;
/// of more sources than that the nearest count.
const STEPS_MAX: usize = 1 << 29;
const STEPS_PART: usize = 8;
/// Steps through calls.
const CALL_STEPS_MAX: usize = 1 << 28;

impl Program {
    /// The distance of each block to goals, by calls that were seen; `None` where no way leads to one.
    pub fn distances(&self, goals: &[Goal], seen: &SeenCalls) -> Vec<Option<f64>> {
        let blocks: BTreeSet<u32> = goals.iter().filter_map(|goal| self.goal_block(*goal)).collect();
        let functions: BTreeSet<u32> = blocks.iter().map(|&block| self.place(block).0).collect();
        let to_functions = self.function_distances(&functions, seen);
        let references = References::new(self, seen, &to_functions);
        let (mut distances, mut left) = (vec![None; self.blocks()], STEPS_MAX);
        for (function, &start) in self.functions.iter().zip(&self.starts) {
            let end = start + function.cfg.blocks().len() as u32;
            let own = blocks.range(start..end).map(|block| block - start);
            let sources = sources(function, own, &to_functions, &references);
            let places = &mut distances[start as usize..end as usize];
            block_distances(function, &sources, places, &mut left);
        }
        distances
    }

    /// The block that a goal is, or that its edge leads to.
    pub fn goal_block(&self, goal: Goal) -> Option<u32> {
        match goal {
            Goal::Block(block) => Some(block).filter(|&block| (block as usize) < self.blocks()),
            Goal::Edge(edge) => self.to(edge),
        }
    }

    /// The distance of each function, by its index, to some functions.
    pub fn function_distances(&self, goals: &BTreeSet<u32>, seen: &SeenCalls) -> Vec<Option<f64>> {
        let count = self.callers.len();
        let steps = self.callers.iter().chain(&self.by_reference).map(|callers| callers.len() + 1).sum::<usize>();
        let most = (CALL_STEPS_MAX / steps.max(1)).max(1);
        let (mut sums, mut found) = (vec![0.0; count], vec![0_u32; count]);
        // Where there are more than can be looked at, those that are looked at lie evenly among them.
        let every = goals.len().div_ceil(most).max(1);
        for &goal in goals.iter().step_by(every) {
            self.calls_to(goal, seen, |function, calls| {
                sums[function as usize] += 1.0 / (1.0 + f64::from(calls));
                found[function as usize] += 1;
            });
        }
        let mean = |(sum, found): (f64, u32)| (found > 0).then(|| f64::from(found) / sum);
        sums.into_iter().zip(found).map(mean).collect()
    }

    /// How many calls lead to a function, at the least, from each that leads to it.
    fn calls_to(&self, goal: u32, calls_seen: &SeenCalls, mut found: impl FnMut(u32, u32)) {
        let mut seen = vec![false; self.callers.len()];
        let mut kinds = vec![false; self.by_reference.len()];
        let mut level = vec![goal];
        seen[goal as usize] = true;
        for calls in 0.. {
            let mut next = Vec::new();
            for &function in &level {
                found(function, calls);
                let callers = calls_seen.callers(function);
                let kind = self.kinds[function as usize].filter(|_| callers.is_none());
                let kind = kind.filter(|&kind| !std::mem::replace(&mut kinds[kind as usize], true));
                let by_kind = kind.map_or(&[][..], |kind| &self.by_reference[kind as usize]);
                let typed = self.callers[function as usize].iter().chain(by_kind).map(|caller| caller.function);
                for caller in typed.chain(callers.into_iter().flatten().copied()) {
                    if !std::mem::replace(&mut seen[caller as usize], true) {
                        next.push(caller);
                    }
                }
            }
            if next.is_empty() {
                break;
            }
            level = next;
        }
    }
}

/// The distance of the nearest function that is called by reference.
struct References {
    /// By kind, of those that nobody was seen to call.
    by_kind: Vec<Option<f64>>,
    /// By caller and kind, of those that this one was seen to call.
    by_caller: BTreeMap<(u32, u32), f64>,
}

impl References {
    fn new(program: &Program, seen: &SeenCalls, distances: &[Option<f64>]) -> Self {
        let nearest = |functions: &Vec<u32>| {
            let open = functions.iter().filter(|&&function| seen.callers(function).is_none());
            open.filter_map(|&function| distances[function as usize]).min_by(f64::total_cmp)
        };
        let mut by_caller = BTreeMap::<(u32, u32), f64>::new();
        for (caller, callee) in seen.iter() {
            let kind = program.kinds.get(callee as usize).copied().flatten();
            if let Some((kind, distance)) = kind.zip(distances.get(callee as usize).copied().flatten()) {
                let least = by_caller.entry((caller, kind)).or_insert(f64::INFINITY);
                *least = least.min(distance);
            }
        }
        Self { by_kind: program.of_kind.iter().map(nearest).collect(), by_caller }
    }

    /// What is nearest of a kind, called by a function.
    fn nearest(&self, caller: &Function, kind: u32) -> Option<f64> {
        let seen = self.by_caller.get(&(caller.cfg.function(), kind));
        let open = self.by_kind.get(kind as usize).and_then(Option::as_ref);
        seen.into_iter().chain(open).copied().min_by(f64::total_cmp)
    }
}

/// The blocks of a function that lead on, with 10 times the distance of what they call: those with a goal, for which it
/// is 0, and those that call what has a distance: a function, or the nearest of a kind.
fn sources(
    function: &Function,
    goals: impl Iterator<Item = u32>,
    distances: &[Option<f64>],
    references: &References,
) -> Vec<(u32, f64)> {
    let mut sources = BTreeMap::<u32, f64>::new();
    for &(block, callee) in &function.calls {
        let distance = match callee {
            Callee::Function(callee) => distances.get(callee as usize).copied().flatten(),
            Callee::Kind(kind) => references.nearest(function, kind),
        };
        if let Some(distance) = distance {
            let least = sources.entry(block).or_insert(f64::INFINITY);
            *least = least.min(CALL * distance);
        }
    }
    sources.extend(goals.map(|goal| (goal, 0.0)));
    sources.into_iter().collect()
}

/// Writes the distances of a function's blocks, by its sources.
fn block_distances(function: &Function, sources: &[(u32, f64)], distances: &mut [Option<f64>], left: &mut usize) {
    if sources.is_empty() {
        return;
    }
    let flows = function.cfg.flows();
    let before = Before::new(distances.len(), flows.iter().map(|flow| (flow.from, flow.to)));
    let each = (flows.len() + distances.len()).max(1);
    let most = (*left / STEPS_PART / each).max(1);
    *left = left.saturating_sub(each * sources.len().min(most));
    let mut nearest: Vec<_> = sources.to_vec();
    if nearest.len() > most {
        nearest.sort_by(|(_, a), (_, b)| a.total_cmp(b));
        nearest.truncate(most);
    }
    let (mut sums, mut found) = (vec![0.0; distances.len()], vec![0_u32; distances.len()]);
    let mut seen = vec![NONE; distances.len()];
    let (mut order, mut steps) = (Vec::new(), vec![0_u32; distances.len()]);
    for (number, &(source, further)) in (0..).zip(&nearest) {
        order.clear();
        order.push(source);
        (seen[source as usize], steps[source as usize]) = (number, 0);
        let mut next = 0;
        while let Some(&block) = order.get(next) {
            next += 1;
            let way = steps[block as usize];
            sums[block as usize] += 1.0 / (1.0 + further + f64::from(way));
            found[block as usize] += 1;
            for &from in before.of(block) {
                if std::mem::replace(&mut seen[from as usize], number) != number {
                    steps[from as usize] = way + 1;
                    order.push(from);
                }
            }
        }
    }
    for ((distance, sum), found) in distances.iter_mut().zip(sums).zip(found) {
        *distance = (found > 0).then(|| f64::from(found) / sum);
    }
}

/// Which blocks lead to each block.
struct Before {
    starts: Vec<u32>,
    from: Vec<u32>,
}

impl Before {
    fn new(blocks: usize, edges: impl Iterator<Item = (u32, u32)>) -> Before {
        let mut pairs: Vec<_> = edges.map(|(from, to)| (to, from)).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let mut starts = vec![0; blocks + 1];
        pairs.iter().for_each(|&(to, _)| starts[to as usize + 1] += 1);
        (0..blocks).for_each(|block| starts[block + 1] += starts[block]);
        Before { starts, from: pairs.into_iter().map(|(_, from)| from).collect() }
    }

    fn of(&self, block: u32) -> &[u32] {
        &self.from[self.starts[block as usize] as usize..self.starts[block as usize + 1] as usize]
    }
}
