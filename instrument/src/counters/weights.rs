//! How often flows are taken, guessed from the shape of the graph or known from a profile, and what it costs to count
//! them.
//!
//! The guess: a loop goes round ten times, what leads out of it is taken once in ten, other ways are alike, and what
//! only leads to a trap or an exception is rare. Blocks come in code order and loops have one entry, so one pass is
//! enough.

use crate::cfg::{BlockKind, Cfg, FlowKind, PackedFlow, Parts};
use crate::edge_map::EdgeKind;

/// How often a loop goes round for each time that it is entered.
const ROUNDS: f32 = 10.0;

/// Weights of a block's ways out, relative to each other.
const STAYS: f32 = 9.0;
const LEAVES_LOOP: f32 = 1.0;
const FAILS: f32 = 0.05;
const THROWS: f32 = 0.001;

/// Frequencies of deep nests of loops stay below this.
const FREQUENCY_MAX: f32 = 1e30;

/// What counting costs, an increment in straight code being 1: a branch taken needs a block of its own out of line, and
/// jumps there and back; a condition has to be made a number. Between calling and returning, calling is counted.
const BRANCH: f32 = 2.5;
const ARM: f32 = 1.5;
const CONDITION: f32 = 2.5;
const RETURN: f32 = 1.01;

/// What counting would cost: the frequency times the work.
pub(super) struct Costs {
    pub(super) flows: Vec<f32>,
    pub(super) blocks: Vec<f32>,
}

/// What counting each flow and each block would cost. `profile` has the counts of the function's edges in executions of
/// the past; the guess decides between those that were taken as often.
pub(super) fn costs(graph: &Parts, profile: Option<&[u64]>) -> Costs {
    /// What the highest guess is worth beside having been taken once.
    const GUESS: f32 = 0.1;
    let outs = Outs::new(graph);
    let guess = estimate(graph, &outs, None);
    let Some(counts) = profile.filter(|counts| counts.iter().any(|&count| count > 0)) else { return guess };
    let Costs { mut flows, mut blocks } = estimate(graph, &outs, Some(known(graph, counts)));
    let highest = guess.blocks.iter().copied().fold(1.0, f32::max);
    flows.iter_mut().zip(&guess.flows).for_each(|(cost, guess)| *cost += GUESS * guess / highest);
    blocks.iter_mut().zip(&guess.blocks).for_each(|(cost, guess)| *cost += GUESS * guess / highest);
    Costs { flows, blocks }
}

/// What it costs by the shape of the graph, or if it is known how often each edge is taken.
fn estimate(graph: &Parts, outs: &Outs, known: Option<Vec<Option<f32>>>) -> Costs {
    let mut blocks = vec![0.0; graph.blocks.len()];
    let mut frequencies = vec![0.0; graph.flows.len()];
    blocks[Cfg::ENTRY as usize] = known.as_ref().and_then(|known| known[0]).unwrap_or(1.0);
    let mut is_head = vec![false; graph.blocks.len()];
    for (index, flow) in graph.flows.iter().enumerate().filter(|(_, flow)| flow.back()) {
        is_head[flow.to as usize] = true;
        blocks[flow.to as usize] += known.as_ref().and_then(|known| known[index]).unwrap_or_default();
    }
    for block in (0..graph.blocks.len() as u32).filter(|&block| block != Cfg::EXIT) {
        let place = block as usize;
        if is_head[place] && known.is_none() {
            blocks[place] = f32::min(blocks[place] * ROUNDS, FREQUENCY_MAX);
        }
        if graph.blocks[place].kind == BlockKind::Catch {
            // It comes before what throws to it.
            blocks[place] = blocks[place - 1] * THROWS;
        }
        let known = |flow: u32| known.as_ref().and_then(|known| known[flow as usize]);
        let weight = |flow: u32| match known(flow) {
            Some(_) => 0.0,
            None => weight(graph, outs, &graph.flows[flow as usize]),
        };
        let given: f32 = outs.of(block).iter().filter_map(|&flow| known(flow)).sum();
        let rest = f32::max(blocks[place] - given, 0.0);
        let sum: f32 = outs.of(block).iter().map(|&flow| weight(flow)).sum();
        for &flow in outs.of(block) {
            let share = if sum > 0.0 { weight(flow) / sum } else { 0.0 };
            let frequency = known(flow).unwrap_or(rest * share);
            frequencies[flow as usize] = frequency;
            let link = graph.flows[flow as usize];
            if !link.back() {
                blocks[link.to as usize] += frequency;
            }
        }
    }
    for (cost, flow) in frequencies.iter_mut().zip(&graph.flows) {
        *cost = work(flow, *cost, blocks[flow.from as usize]);
    }
    Costs { flows: frequencies, blocks }
}

/// Per flow, how often it was taken. What was never seen may be seen once.
fn known(graph: &Parts, counts: &[u64]) -> Vec<Option<f32>> {
    let mut counts = counts.iter();
    let mut known = |flow: &PackedFlow| flow.counted().and_then(|_| counts.next()).map(|&count| count as f32 + 0.5);
    graph.flows.iter().map(&mut known).collect()
}

/// How likely a flow is, relative to the others out of its block.
fn weight(graph: &Parts, outs: &Outs, flow: &PackedFlow) -> f32 {
    let depth = |block: u32| graph.depths[block as usize];
    match flow.kind() {
        FlowKind::Throw | FlowKind::Uncaught => THROWS,
        _ if outs.fails(graph, flow.to) => FAILS,
        _ if !flow.back() && depth(flow.to) < depth(flow.from) => LEAVES_LOOP,
        _ => STAYS,
    }
}

/// What it costs to count a flow.
fn work(flow: &PackedFlow, frequency: f32, block: f32) -> f32 {
    match flow.kind() {
        FlowKind::Counted(EdgeKind::BrIfTaken) => frequency * BRANCH,
        FlowKind::Counted(EdgeKind::BrTable { .. }) => frequency * ARM,
        FlowKind::Counted(kind) if kind.is_conditional_count() => block * CONDITION,
        FlowKind::Return => frequency * RETURN,
        _ => frequency,
    }
}

/// Per block, the flows that leave it.
struct Outs {
    starts: Vec<u32>,
    flows: Vec<u32>,
}

impl Outs {
    fn new(graph: &Parts) -> Outs {
        let mut starts = vec![0; graph.blocks.len() + 1];
        for flow in &graph.flows {
            starts[flow.from as usize + 1] += 1;
        }
        for block in 0..graph.blocks.len() {
            starts[block + 1] += starts[block];
        }
        // Filled from behind, each start moves from its list's end to its beginning.
        let mut flows = vec![0; graph.flows.len()];
        for (index, flow) in graph.flows.iter().enumerate().rev() {
            let place = &mut starts[flow.from as usize + 1];
            *place -= 1;
            flows[*place as usize] = index as u32;
        }
        starts.remove(0);
        starts.push(graph.flows.len() as u32);
        Outs { starts, flows }
    }

    fn of(&self, block: u32) -> &[u32] {
        let block = block as usize;
        &self.flows[self.starts[block] as usize..self.starts[block + 1] as usize]
    }

    /// Whether a block ends with a trap or an exception.
    fn fails(&self, graph: &Parts, block: u32) -> bool {
        let mut kinds = self.of(block).iter().map(|&flow| graph.flows[flow as usize].kind());
        kinds.next().is_some_and(fails) && kinds.all(fails)
    }
}

fn fails(kind: FlowKind) -> bool {
    matches!(kind, FlowKind::Trap | FlowKind::Throw)
}
