//! The tree of all draws so far, with estimates of how many leaves are below each node.
//!
//! As `guided-tree-search` (Regehr, MacIver) weighs them, with two differences: a child that nobody saw counts as much
//! as those beside it that somebody did, on average, where its estimate is multiplied by those that were seen alone;
//! and what was seen completely is counted and no longer estimated. The estimate of a node is
//!
//! ```text
//! the sum over the children that were seen + (children - seen) * (that sum / seen, at least 1)
//! ```
//!
//! Leaves that the guest rejects weigh nothing. Payload, blobs and strings are one child, whatever they hold: what must
//! not influence what follows, or has too many values, would hide all the rest. A guest that draws otherwise behind
//! them ends the known tree there.

use crate::engine::mutate::choices::draws::fresh;
use crate::engine::rng::Rng;
use crate::stream::{Choice, Draw};
use std::collections::BTreeMap;

/// Nodes at most, and children of all of them: below what is not kept walks go on at random. Together these take less
/// than 100 MB.
const NODES_MAX: usize = 1 << 17;
const CHILDREN_MAX: usize = 1 << 20;
/// Draws that the tree is deep at most.
const DEPTH_MAX: usize = 4096;
/// The probability to take any child, where not all is known: estimates may be wrong.
const EVEN: f64 = 0.05;
/// From so many leaves on weights are their square roots: the largest subtrees would hide all others, and are the ones
/// whose estimates are wrong by most.
const TEMPER_LEAVES: f64 = 1e6;
/// Where so many times as many children are unknown as known, any is drawn: nearly all of the weight is theirs.
const MANY_UNKNOWN: f64 = 16.0;
/// Estimates are no larger.
const LEAVES_MAX: f64 = 1e300;

/// How children are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine::strategy) enum Mode {
    /// By the leaves below them.
    Sample,
    /// By the leaves below them that nobody saw.
    Explore,
    /// Each alike, of those below which some are left.
    Novelty,
}

/// The tree.
#[derive(Debug, Default)]
pub(in crate::engine::strategy) struct Counted {
    /// The root is the first, if something is drawn.
    nodes: Vec<Node>,
    children: usize,
    /// The guest draws nothing, and was executed.
    is_leaf: bool,
}

/// A draw that all do which drew the same before it.
#[derive(Debug)]
struct Node {
    draw: Draw,
    children: BTreeMap<u64, Child>,
    /// How many leaves its children have, about, that were seen.
    sum: f64,
    /// How many leaves were seen.
    seen: f64,
    /// How many children are done.
    done: u64,
}

/// What is behind one value.
#[derive(Clone, Copy, Debug, Default)]
struct Child {
    /// The next draw's node; none behind the last draw, or where nothing is kept.
    node: Option<u32>,
    /// How many leaves there are, about, or for sure if it is done.
    leaves: f64,
    /// How many were seen.
    seen: f64,
    /// All were seen.
    done: bool,
}

/// Where a walk led.
#[derive(Debug)]
pub(in crate::engine::strategy) struct Walk {
    /// What is drawn on it.
    pub(in crate::engine::strategy) choices: Vec<Choice>,
    /// Its last node, and which child was taken there.
    pub(in crate::engine::strategy) end: (u32, u64),
}

impl Node {
    /// How many children it has.
    fn arity(&self) -> f64 {
        if is_single(&self.draw) { 1.0 } else { self.draw.max as f64 + 1.0 }
    }

    /// How many of them nobody saw.
    fn unknown(&self) -> f64 {
        self.arity() - self.children.len() as f64
    }

    /// What a child counts that nobody saw.
    fn prior(&self) -> f64 {
        if self.children.is_empty() { 1.0 } else { (self.sum / self.children.len() as f64).max(1.0) }
    }

    fn is_done(&self) -> bool {
        self.unknown() <= 0.0 && self.done == self.children.len() as u64
    }

    fn leaves(&self) -> f64 {
        (self.sum + self.unknown() * self.prior()).min(LEAVES_MAX)
    }
}

/// Whether all values of a draw are one child.
fn is_single(draw: &Draw) -> bool {
    draw.payload || draw.kind.is_blob()
}

/// Any index up to the largest.
fn any_of(max: u64, rng: &mut Rng) -> u64 {
    u64::try_from((u128::from(rng.word()) * (u128::from(max) + 1)) >> 64).expect("below 2^64")
}

/// A number from 0 to 1, without that.
fn unit(rng: &mut Rng) -> f64 {
    (rng.word() >> 11) as f64 / (1_u64 << 53) as f64
}

impl Counted {
    /// Whether all leaves were seen.
    pub(in crate::engine::strategy) fn is_done(&self) -> bool {
        self.is_leaf || self.nodes.first().is_some_and(Node::is_done)
    }

    /// How many leaves there are, about, without those that are rejected.
    pub(in crate::engine::strategy) fn leaves(&self) -> f64 {
        self.nodes.first().map_or(1.0, Node::leaves)
    }

    /// Goes from the root to where nobody was, or to a leaf.
    pub(in crate::engine::strategy) fn walk(&self, mode: Mode, rng: &mut Rng) -> Walk {
        let mut walk = Walk { choices: Vec::new(), end: (0, 0) };
        let tempered = self.leaves() > TEMPER_LEAVES;
        let mut at = (!self.nodes.is_empty()).then_some(0);
        while let Some(index) = at {
            let node = &self.nodes[index as usize];
            let key = if is_single(&node.draw) { 0 } else { node.choose(mode, tempered, rng) };
            let choice = if is_single(&node.draw) { fresh(&node.draw, &[], rng) } else { Choice::Index(key) };
            walk.choices.push(choice);
            walk.end = (index, key);
            at = node.children.get(&key).and_then(|child| child.node);
        }
        walk
    }

    /// Adds what an execution drew.
    pub(in crate::engine::strategy) fn add(&mut self, draws: &[Draw], choices: &[Choice], is_case: bool) {
        let Some(first) = draws.first() else {
            self.is_leaf = true;
            return;
        };
        if self.nodes.is_empty() {
            self.push(first);
        }
        let (mut path, mut at, mut is_whole) = (Vec::new(), 0, false);
        for (depth, (draw, choice)) in draws.iter().zip(choices).enumerate() {
            let node = &self.nodes[at as usize];
            if !is_alike(&node.draw, draw) {
                break;
            }
            let key = if is_single(draw) { 0 } else { choice.index().unwrap_or(0) };
            let known = node.children.get(&key).copied();
            if known.is_none() && self.children >= CHILDREN_MAX {
                break;
            }
            path.push((at, key));
            let Some(next) = draws.get(depth + 1) else {
                is_whole = true;
                break;
            };
            let has_room = self.nodes.len() < NODES_MAX && depth < DEPTH_MAX;
            match known.map(|child| child.node) {
                Some(Some(node)) => at = node,
                // It was a leaf, or there was no room.
                Some(None) => break,
                None if has_room => at = self.push(next),
                None => break,
            }
        }
        self.update(&path, is_whole, if is_case { 1.0 } else { 0.0 });
    }

    fn push(&mut self, draw: &Draw) -> u32 {
        self.nodes.push(Node { draw: *draw, children: BTreeMap::new(), sum: 0.0, seen: 0.0, done: 0 });
        self.nodes.len() as u32 - 1
    }

    /// Takes what is known of the end of a path to its beginning. If it is not whole nothing is kept of what follows
    /// it.
    fn update(&mut self, path: &[(u32, u64)], is_whole: bool, weight: f64) {
        let mut below: Option<u32> = None;
        for &(at, key) in path.iter().rev() {
            let new = match below {
                Some(node) => {
                    let below = &self.nodes[node as usize];
                    Child { node: Some(node), leaves: below.leaves(), seen: below.seen, done: below.is_done() }
                }
                None => Child { node: None, leaves: if is_whole { weight } else { 1.0 }, seen: 1.0, done: is_whole },
            };
            below = Some(at);
            let node = &mut self.nodes[at as usize];
            let old = node.children.insert(key, new);
            self.children += usize::from(old.is_none());
            let old = old.unwrap_or_default();
            node.done = node.done + u64::from(new.done) - u64::from(old.done);
            node.seen += new.seen - old.seen;
            node.sum = (node.sum + new.leaves - old.leaves).max(0.0);
            if node.is_done() {
                // Without what rounding added up to.
                node.sum = node.children.values().map(|child| child.leaves).sum();
            }
        }
    }
}

/// Whether two draws are of one node.
fn is_alike(a: &Draw, b: &Draw) -> bool {
    a.site == b.site && a.kind == b.kind && (a.max == b.max || a.kind.is_blob())
}

impl Node {
    /// Draws a child.
    fn choose(&self, mode: Mode, tempered: bool, rng: &mut Rng) -> u64 {
        if self.unknown() >= MANY_UNKNOWN * self.children.len() as f64 {
            let any = any_of(self.draw.max, rng);
            // Of those that were seen one is drawn by its weight.
            if !self.children.contains_key(&any) {
                return any;
            }
        }
        if mode == Mode::Novelty || !self.is_done() && unit(rng) < EVEN {
            return self.choose_alike(rng);
        }
        let temper = |weight: f64| if tempered { weight.sqrt() } else { weight };
        let weigh = |child: &Child| match mode {
            Mode::Sample => temper(child.leaves),
            // At least a bit while something is left.
            _ if child.done => 0.0,
            _ => temper((child.leaves - child.seen).max(1.0)),
        };
        let (known, unknown): (f64, _) = (self.children.values().map(weigh).sum(), self.unknown().max(0.0));
        let point = unit(rng) * (known + unknown * temper(self.prior()));
        if point >= known && unknown >= 1.0 {
            return self.choose_unknown(rng);
        }
        let mut left = point;
        let chosen = self.children.iter().find(|(_, child)| {
            left -= weigh(child);
            left < 0.0
        });
        chosen.map_or_else(|| self.choose_alike(rng), |(&key, _)| key)
    }

    /// Any child that is not done, or any at all if all are.
    fn choose_alike(&self, rng: &mut Rng) -> u64 {
        let left: Vec<u64> = self.children.iter().filter(|(_, child)| !child.done).map(|(&key, _)| key).collect();
        let unknown = self.unknown();
        if left.is_empty() && unknown <= 0.0 {
            let place = rng.below(self.children.len());
            return *self.children.keys().nth(place).expect("below their number");
        }
        let point = unit(rng) * (left.len() as f64 + unknown);
        if point < left.len() as f64 { left[point as usize] } else { self.choose_unknown(rng) }
    }

    /// Any child that nobody saw; there is one.
    fn choose_unknown(&self, rng: &mut Rng) -> u64 {
        let unknown = u128::from(self.draw.max) + 1 - self.children.len() as u128;
        let mut place = any_of(u64::try_from(unknown - 1).expect("no more than the largest"), rng);
        // The place-th of those that are not among the keys, which are ascending.
        for &key in self.children.keys() {
            if key > place {
                break;
            }
            place += 1;
        }
        place
    }
}
