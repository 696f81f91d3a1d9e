//! How often flows are taken, guessed from the shape of the graph or known from a profile, and what it costs to count
//! them.
//!
//! The guess: a loop goes round ten times, what leads out of it is taken once in ten, other ways are alike, and what only
//! leads to a trap or an exception is rare. Blocks come in code order and loops have one entry, so one pass is enough.

use crate::cfg::{BlockKind, Cfg, Flow, FlowKind, Parts};
use crate::edges::EdgeKind;

/// How often a loop goes round for each time that it is entered.
const ROUNDS: f64 = 10.0;

/// Weights of a block's ways out, relative to each other.
const STAYS: f64 = 9.0;
const LEAVES_LOOP: f64 = 1.0;
const FAILS: f64 = 0.05;
const THROWS: f64 = 0.001;

/// A loop nest can't be so deep that frequencies overflow.
const FREQUENCY_MAX: f64 = 1e100;

/// What counting costs, an increment in straight code being 1: a branch taken needs a jump more, a condition has to be
/// made a number.
const JUMP: f64 = 1.5;
const CONDITION: f64 = 2.5;

/// What counting would cost: the frequency times the work.
pub(super) struct Costs {
    pub(super) flows: Vec<f64>,
    pub(super) blocks: Vec<f64>,
}

/// What counting each flow and each block would cost. `profile` has the counts of the function's edges
/// in executions of the past.
pub(super) fn costs(graph: &Parts, profile: Option<&[u64]>) -> Costs {
    let outs = Outs::new(graph);
    let mut frequencies = vec![0.0; graph.flows.len()];
    let mut blocks = vec![0.0; graph.blocks.len()];
    blocks[Cfg::ENTRY as usize] = 1.0;
    let mut known: Vec<Option<f64>> = vec![None; graph.flows.len()];
    if let Some(profile) = profile.filter(|profile| profile.iter().any(|&count| count > 0)) {
        let mut counts = profile.iter();
        for (known, flow) in known.iter_mut().zip(&graph.flows) {
            if flow.edge.is_some() {
                // What was never seen may be seen once.
                *known = counts.next().map(|&count| count as f64 + 0.5);
            }
        }
        blocks[Cfg::ENTRY as usize] = known[0].unwrap_or(1.0);
        for (flow, known) in graph.flows.iter().zip(&known) {
            if flow.back {
                blocks[flow.to as usize] += known.unwrap_or_default();
            }
        }
    }
    let profiled = known.iter().any(Option::is_some);
    let fails: Vec<bool> = (0..graph.blocks.len() as u32).map(|block| outs.fails(graph, block)).collect();
    let mut is_head = vec![false; graph.blocks.len()];
    graph.flows.iter().filter(|flow| flow.back).for_each(|flow| is_head[flow.to as usize] = true);
    for block in (0..graph.blocks.len() as u32).filter(|&block| block != Cfg::EXIT) {
        let place = block as usize;
        if is_head[place] && !profiled {
            blocks[place] = f64::min(blocks[place] * ROUNDS, FREQUENCY_MAX);
        }
        if graph.blocks[place].kind == BlockKind::Catch {
            // It comes before what throws to it.
            blocks[place] = blocks[place - 1] * THROWS;
        }
        let outs = outs.of(block);
        let given: f64 = outs.iter().filter_map(|&flow| known[flow as usize]).sum();
        let rest = f64::max(blocks[place] - given, 0.0);
        let weight = |flow: u32| match known[flow as usize] {
            Some(_) => 0.0,
            None => weight(graph, &fails, &graph.flows[flow as usize]),
        };
        let sum: f64 = outs.iter().map(|&flow| weight(flow)).sum();
        for &flow in outs {
            let frequency = known[flow as usize].unwrap_or_else(|| rest * weight(flow) / f64::max(sum, f64::MIN_POSITIVE));
            frequencies[flow as usize] = frequency;
            let Flow { to, back, .. } = graph.flows[flow as usize];
            if !back {
                blocks[to as usize] += frequency;
            }
        }
    }
    let cost = |(flow, frequency): (&Flow, f64)| work(flow, frequency, blocks[flow.from as usize]);
    let flows = graph.flows.iter().zip(frequencies).map(cost).collect();
    Costs { flows, blocks }
}

/// How likely a flow is, relative to the others out of its block.
fn weight(graph: &Parts, fails: &[bool], flow: &Flow) -> f64 {
    let depth = |block: u32| graph.depths[block as usize];
    match flow.kind {
        FlowKind::Never => 0.0,
        FlowKind::Throw | FlowKind::Uncaught => THROWS,
        _ if fails[flow.to as usize] => FAILS,
        _ if !flow.back && depth(flow.to) < depth(flow.from) => LEAVES_LOOP,
        _ => STAYS,
    }
}

/// What it costs to count a flow.
fn work(flow: &Flow, frequency: f64, block: f64) -> f64 {
    match flow.kind {
        FlowKind::Counted(EdgeKind::BrIfTaken | EdgeKind::BrTable { .. }) => frequency * JUMP,
        FlowKind::Counted(EdgeKind::SelectFirst | EdgeKind::SelectSecond | EdgeKind::BrOnTaken) => block * CONDITION,
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
        let mut next = starts.clone();
        let mut flows = vec![0; graph.flows.len()];
        for (index, flow) in (0..).zip(&graph.flows) {
            let place = &mut next[flow.from as usize];
            flows[*place as usize] = index;
            *place += 1;
        }
        Outs { starts, flows }
    }

    /// Whether a block ends with a trap or an exception.
    fn fails(&self, graph: &Parts, block: u32) -> bool {
        let mut kinds = self.of(block).iter().map(|&flow| graph.flows[flow as usize].kind).peekable();
        kinds.peek().is_some() && kinds.all(|kind| matches!(kind, FlowKind::Trap | FlowKind::Throw | FlowKind::Never))
    }

    fn of(&self, block: u32) -> &[u32] {
        let block = block as usize;
        &self.flows[self.starts[block] as usize..self.starts[block + 1] as usize]
    }
}
