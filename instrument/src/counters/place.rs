//! Decides which of a function's flows and blocks have a counter.

use super::recover::{self, NONE, Recovery};
use super::tree::{self, Link, Way};
use super::weights;
use crate::cfg::{BlockKind, Cfg, FlowKind, PackedFlow, Parts};
use crate::edge_map::EdgeKind;
use crate::options::{Counters, Options};
use crate::plan::{ArmsWay, FunctionPlan};

/// The counters of a function.
#[derive(Default)]
pub(crate) struct Placement {
    /// Per flow: its counter, a number within the function; or [`NONE`].
    pub(super) flows: Box<[u32]>,
    /// Blocks that are counted themselves, in order, with their counters.
    pub(super) blocks: Box<[(u32, u32)]>,
    /// How many counters there are.
    pub(crate) len: u32,
    /// How many of them executions of the past would have counted with: the first ones.
    pub(crate) used: u32,
    /// How all counts follow from these; without it only those of the counted edges are known.
    pub(super) recovery: Option<Recovery>,
}

/// The counts of the function's edges in executions of the past, if these are known.
pub(crate) fn profile<'a>(function: &FunctionPlan, options: &'a Options) -> Option<&'a [u64]> {
    let (first, end) = (function.first_edge as usize, (function.first_edge + function.edges) as usize);
    options.profile.as_deref().map(|profile| profile.get(first..end).unwrap_or_default())
}

/// Decides for a function whose edges have their numbers.
pub(crate) fn place(function: &FunctionPlan, options: &Options) -> Placement {
    let flows = &function.graph.flows;
    match &options.counters {
        Counters::Every => {
            let chosen: Vec<bool> = flows.iter().map(|flow| flow.counted().is_some()).collect();
            Placement::direct(&chosen, &Used::new(function, options))
        }
        Counters::Enough => Network::new(function, options).placement(function, options),
        Counters::Only(set) => {
            let mut edges = function.first_edge..;
            let mut wanted = || edges.next().is_some_and(|edge| set.contains(edge));
            let mut chosen: Vec<bool> = flows.iter().map(|flow| flow.counted().is_some() && wanted()).collect();
            if !chosen.contains(&true) {
                return Placement::default();
            }
            complete_tables(function, &mut chosen);
            let network = Network::new(function, options);
            let cost = |chosen: &[bool]| -> f32 {
                let links = network.links.iter().zip(chosen).filter(|(_, chosen)| **chosen);
                links.map(|(link, _)| link.cost).sum()
            };
            if cost(&chosen) <= cost(&network.counted) {
                Placement::direct(&chosen, &Used::new(function, options))
            } else {
                network.placement(function, options)
            }
        }
    }
}

/// A function's graph in the form that counters are placed on.
///
/// Entry and exit are one node. A block to which several flows lead is two nodes with a link between, so that the block
/// can be counted where it starts: in the smallest of loops that takes a jump less than to count the way back.
struct Network {
    nodes: usize,
    /// First the flows, in their order, then the blocks in `split`.
    links: Vec<Link>,
    split: Vec<u32>,
    /// Per link, whether it is counted.
    counted: Vec<bool>,
    /// Where blocks with code start, and the node that is left if something in them fails.
    starts: Vec<(u32, u32)>,
}

impl Network {
    fn new(function: &FunctionPlan, options: &Options) -> Network {
        let graph = &function.graph;
        let costs = weights::costs(graph, profile(function, options));
        let ways = ways(function, options);
        let split = split(graph, &ways);
        let mut out_nodes: Vec<u32> = (0..graph.blocks.len() as u32).collect();
        out_nodes[Cfg::EXIT as usize] = Cfg::ENTRY;
        for (node, &block) in (graph.blocks.len() as u32..).zip(&split) {
            out_nodes[block as usize] = node;
        }
        let in_node = |block: u32| if block == Cfg::EXIT { Cfg::ENTRY } else { block };
        let flows = graph.flows.iter().zip(ways).zip(&costs.flows);
        let mut links: Vec<Link> = flows
            .map(|((flow, way), &cost)| Link { from: out_nodes[flow.from as usize], to: in_node(flow.to), way, cost })
            .collect();
        links.extend(split.iter().map(|&block| Link {
            from: block,
            to: out_nodes[block as usize],
            way: Way::Free,
            cost: costs.blocks[block as usize],
        }));
        let code = graph.blocks.iter().zip(&out_nodes).filter(|(block, _)| block.kind == BlockKind::Code);
        let starts = code.map(|(block, &node)| (block.start, node)).collect();
        let nodes = graph.blocks.len() + split.len();
        let counted = tree::counted(nodes, &links);
        Network { nodes, links, split, counted, starts }
    }

    /// Leaves the links of a maximum spanning tree uncounted.
    fn placement(self, function: &FunctionPlan, options: &Options) -> Placement {
        let used = Used::new(function, options);
        let used = used.flows.iter().copied().chain(self.split.iter().map(|&block| used.blocks[block as usize]));
        let Numbers { counters, len, used } = Numbers::new(&self.counted, used);
        let mut edges = 0..;
        let mut edge = |flow: Option<&PackedFlow>| {
            let kind = flow?.counted()?;
            let edge = edges.next();
            edge.filter(|_| options.selects || !kind.is_select())
        };
        let links = (0..).zip(&self.links).zip(&counters).filter_map(|((index, link), &counter)| {
            let edge = edge(function.graph.flows.get(index as usize)).unwrap_or(NONE);
            let present = link.way != Way::Absent;
            present.then_some(recover::Link { from: link.from, to: link.to, counter, edge })
        });
        let recovery = Recovery::new(links, self.starts, self.nodes as u32);
        let flows = counters.len() - self.split.len();
        let blocks = self.split.iter().zip(&counters[flows..]).filter(|(_, counter)| **counter != NONE);
        let blocks = blocks.map(|(&block, &counter)| (block, counter)).collect();
        Placement { flows: counters[..flows].into(), blocks, len, used, recovery: Some(recovery) }
    }
}

/// What may be done to count each flow.
fn ways(function: &FunctionPlan, options: &Options) -> Vec<Way> {
    let way = |flow: &PackedFlow| match flow.kind() {
        // The frames that are left tell how often.
        FlowKind::Trap => Way::Absent,
        kind if !kind.has_place() => Way::Uncounted,
        // One stands for both.
        FlowKind::Counted(kind) if kind.is_select() && !options.selects => {
            if kind.is_second() {
                Way::Absent
            } else {
                Way::Uncounted
            }
        }
        _ => Way::Free,
    };
    let mut ways: Vec<Way> = function.graph.flows.iter().map(way).collect();
    for table in &function.tables {
        if let ArmsWay::Address(_) = table.way {
            ways[table.flow as usize..][..table.depths.len()].fill(Way::Counted);
        }
    }
    ways
}

/// The blocks with code to which several flows lead. Those of a `select` count as one: what follows it has no place of
/// its own to be counted.
fn split(graph: &Parts, ways: &[Way]) -> Vec<u32> {
    let mut flows = vec![0; graph.blocks.len()];
    for (flow, way) in graph.flows.iter().zip(ways) {
        let absent = *way == Way::Absent || flow.counted().is_some_and(EdgeKind::is_second);
        flows[flow.to as usize] += u32::from(!absent);
    }
    let blocks = (0..).zip(&graph.blocks).zip(flows);
    let several = blocks.filter(|((_, block), flows)| block.kind == BlockKind::Code && *flows > 1);
    several.map(|((number, _), _)| number).collect()
}

/// A table that counts by address counts all of its arms, or none.
fn complete_tables(function: &FunctionPlan, chosen: &mut [bool]) {
    for table in function.tables.iter().filter(|table| matches!(table.way, ArmsWay::Address(_))) {
        let arms = &mut chosen[table.flow as usize..][..table.depths.len()];
        if arms.contains(&true) {
            arms.fill(true);
        }
    }
}

/// What executions of the past would have counted in a function; nothing if that isn't known.
struct Used {
    /// Per flow, whether one took it, or was where it begins if that is enough for its counter to be written.
    flows: Vec<bool>,
    /// Per block, whether one reached it.
    blocks: Vec<bool>,
}

impl Used {
    fn new(function: &FunctionPlan, options: &Options) -> Used {
        let graph = &function.graph;
        let profile = profile(function, options).unwrap_or_default();
        let mut edges = profile.iter();
        // Of what is no edge a profile says nothing.
        let mut taken = |flow: &PackedFlow| flow.counted().and_then(|_| edges.next()).map(|&count| count > 0);
        let taken: Vec<Option<bool>> = graph.flows.iter().map(&mut taken).collect();
        let mut blocks = vec![false; graph.blocks.len()];
        let is_used = |flow: &PackedFlow, taken: Option<bool>, blocks: &[bool]| {
            taken.unwrap_or(flow.counted().is_none() && blocks[flow.from as usize])
        };
        // Flows come in code order, so this is done twice in most functions.
        let mut news = profile.iter().any(|&count| count > 0);
        while std::mem::take(&mut news) {
            for (flow, &taken) in graph.flows.iter().zip(&taken) {
                let reached = is_used(flow, taken, &blocks) && !blocks[flow.to as usize];
                blocks[flow.to as usize] |= reached;
                news |= reached;
            }
        }
        let flows = graph.flows.iter().zip(&taken);
        let flows = flows.map(|(flow, &taken)| match flow.counted() {
            Some(kind) if kind.is_conditional_count() => blocks[flow.from as usize],
            _ => is_used(flow, taken, &blocks),
        });
        let mut flows: Vec<bool> = flows.collect();
        // Its counters are neighbours.
        complete_tables(function, &mut flows);
        Used { flows, blocks }
    }
}

/// Counters' numbers within a function. Those in use come first, so that they share lines.
struct Numbers {
    /// By flow, then by block: its counter, or [`NONE`].
    counters: Vec<u32>,
    /// How many counters there are.
    len: u32,
    /// How many of them are in use.
    used: u32,
}

impl Numbers {
    /// For what is chosen, of which it is known whether it is in use.
    fn new(chosen: &[bool], used: impl Iterator<Item = bool>) -> Numbers {
        let mut counters = vec![NONE; chosen.len()];
        let used: Vec<bool> = used.collect();
        let mut len = 0;
        let mut number = |wanted: bool| {
            for (index, counter) in counters.iter_mut().enumerate() {
                if chosen[index] && used[index] == wanted {
                    *counter = len;
                    len += 1;
                }
            }
            len
        };
        let (used, len) = (number(true), number(false));
        Numbers { counters, len, used }
    }
}

impl Placement {
    /// Counters on these flows.
    fn direct(chosen: &[bool], used: &Used) -> Placement {
        let Numbers { counters, len, used } = Numbers::new(chosen, used.flows.iter().copied());
        Placement { flows: counters.into(), len, used, ..Placement::default() }
    }

    /// The counter of a flow, a number within the function.
    pub(crate) fn counter(&self, flow: u32) -> Option<u32> {
        self.flows.get(flow as usize).copied().filter(|&counter| counter != NONE)
    }

    /// The counter of a block, a number within the function.
    pub(crate) fn block_counter(&self, block: u32) -> Option<u32> {
        let found = self.blocks.binary_search_by_key(&block, |&(block, _)| block).ok()?;
        Some(self.blocks[found].1)
    }
}
