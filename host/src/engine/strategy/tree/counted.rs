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
//! A [`Law`] can ask for more: weights to a power from 0 (each child alike) to 1 (by its leaves); what was cut off,
//! since nothing more is kept, counted as nodes of its call site are on average (Chen, "Heterogeneous sampling", 1992);
//! estimates by 1 / the probability of what was drawn, which is right on average whatever the tree is (Knuth,
//! "Estimating the efficiency of backtrack programs", 1975), but rarely near.
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

/// How leaves are estimated, and what estimates weigh.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::engine::strategy) struct Law {
    /// The power of weights, in quarters; by default 1, and a half where there are a million leaves.
    pub(in crate::engine::strategy) alpha: Option<u8>,
    /// What is not kept counts as others of its site.
    pub(in crate::engine::strategy) strata: bool,
    /// Nodes are estimated by the probability of what was drawn.
    pub(in crate::engine::strategy) knuth: bool,
    /// Nodes at most; no limit but the usual one if there is none.
    pub(in crate::engine::strategy) nodes_max: Option<usize>,
}

/// A sum of numbers, and how many these are.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    sum: f64,
    count: f64,
}

impl Mean {
    fn value(self) -> f64 {
        if self.count > 0.0 { self.sum / self.count } else { 1.0 }
    }
}

/// The tree.
#[derive(Debug, Default)]
pub(in crate::engine::strategy) struct Counted {
    law: Law,
    /// Estimates of all nodes of a site.
    strata: BTreeMap<u32, Mean>,
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
    /// 1 / the probability of what was drawn from here on, of each execution that came here, if that is kept.
    knuth: Mean,
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
    /// The probability of each of these.
    pub(in crate::engine::strategy) odds: Vec<f64>,
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
        let leaves = if self.knuth.count > 0.0 && !self.is_done() {
            self.knuth.value().max(self.sum)
        } else {
            self.sum + self.unknown() * self.prior()
        };
        leaves.min(LEAVES_MAX)
    }
}

/// A weight to a power in quarters: by square roots, which all machines have alike.
fn tempered(weight: f64, alpha: u8) -> f64 {
    match alpha {
        0 => f64::from(weight > 0.0),
        1 => weight.sqrt().sqrt(),
        2 => weight.sqrt(),
        3 => weight.sqrt() * weight.sqrt().sqrt(),
        _ => weight,
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
    /// One that knows nothing.
    pub(in crate::engine::strategy) fn by(law: Law) -> Self {
        Self { law, ..Self::default() }
    }

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
        let mut walk = Walk { choices: Vec::new(), odds: Vec::new(), end: (0, 0) };
        let alpha = self.law.alpha.unwrap_or(if self.leaves() > TEMPER_LEAVES { 2 } else { 4 });
        let mut at = (!self.nodes.is_empty()).then_some(0);
        while let Some(index) = at {
            let node = &self.nodes[index as usize];
            let key = if is_single(&node.draw) { 0 } else { node.choose(mode, alpha, rng) };
            let choice = if is_single(&node.draw) { fresh(&node.draw, &[], rng) } else { Choice::Index(key) };
            walk.choices.push(choice);
            if self.law.knuth {
                walk.odds.push(if is_single(&node.draw) { 1.0 } else { node.odds(key, mode, alpha) });
            }
            walk.end = (index, key);
            at = node.children.get(&key).and_then(|child| child.node);
        }
        walk
    }

    /// Adds what an execution drew, of which the first choices had these odds.
    pub(in crate::engine::strategy) fn add(&mut self, draws: &[Draw], choices: &[Choice], is_case: bool, odds: &[f64]) {
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
            let has_room = self.nodes.len() < self.law.nodes_max.unwrap_or(NODES_MAX) && depth < DEPTH_MAX;
            match known.map(|child| child.node) {
                Some(Some(node)) => at = node,
                // It was a leaf, or there was no room.
                Some(None) => break,
                None if has_room => at = self.push(next),
                None => break,
            }
        }
        let weight = if is_case { 1.0 } else { 0.0 };
        if self.law.knuth {
            self.weigh(&path, draws, odds, weight);
        }
        let cut = draws.get(path.len()).filter(|_| !is_whole && self.law.strata);
        let rest = cut.and_then(|draw| self.strata.get(&draw.site)).map_or(1.0, |mean| mean.value().max(1.0));
        self.update(&path, is_whole, if is_whole { weight } else { rest });
    }

    /// Notes for each node of a path by which odds its execution went on.
    fn weigh(&mut self, path: &[(u32, u64)], draws: &[Draw], odds: &[f64], weight: f64) {
        let uniform = |draw: &Draw| if is_single(draw) { 1.0 } else { draw.max as f64 + 1.0 };
        let ways = |depth: usize| odds.get(depth).map_or_else(|| uniform(&draws[depth]), |odds| 1.0 / odds);
        let mut product =
            (path.len()..draws.len()).fold(weight, |product, depth| (product * ways(depth)).min(LEAVES_MAX));
        for (depth, &(at, _)) in path.iter().enumerate().rev() {
            product = (product * ways(depth)).min(LEAVES_MAX);
            let knuth = &mut self.nodes[at as usize].knuth;
            (knuth.sum, knuth.count) = ((knuth.sum + product).min(LEAVES_MAX), knuth.count + 1.0);
        }
    }

    fn push(&mut self, draw: &Draw) -> u32 {
        self.nodes.push(Node {
            draw: *draw,
            children: BTreeMap::new(),
            sum: 0.0,
            seen: 0.0,
            done: 0,
            knuth: Mean::default(),
        });
        self.nodes.len() as u32 - 1
    }

    /// Takes what is known of the end of a path, how many leaves it has, to its beginning. If it is not whole nothing
    /// is kept of what follows it.
    fn update(&mut self, path: &[(u32, u64)], is_whole: bool, weight: f64) {
        let mut below: Option<u32> = None;
        for &(at, key) in path.iter().rev() {
            let new = match below {
                Some(node) => {
                    let below = &self.nodes[node as usize];
                    Child { node: Some(node), leaves: below.leaves(), seen: below.seen, done: below.is_done() }
                }
                None => Child { node: None, leaves: weight, seen: 1.0, done: is_whole },
            };
            below = Some(at);
            let node = &mut self.nodes[at as usize];
            let before = (!node.children.is_empty()).then(|| node.leaves());
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
            if self.law.strata {
                let stratum = self.strata.entry(node.draw.site).or_default();
                stratum.sum = (stratum.sum + node.leaves() - before.unwrap_or(0.0)).clamp(0.0, LEAVES_MAX);
                stratum.count += f64::from(before.is_none());
            }
        }
    }
}

/// Whether two draws are of one node.
fn is_alike(a: &Draw, b: &Draw) -> bool {
    a.site == b.site && a.kind == b.kind && (a.max == b.max || a.kind.is_blob())
}

impl Node {
    /// What a child weighs.
    fn weight(child: &Child, mode: Mode, alpha: u8) -> f64 {
        match mode {
            Mode::Sample => tempered(child.leaves, alpha),
            // At least a bit while something is left.
            _ if child.done => 0.0,
            _ => tempered((child.leaves - child.seen).max(1.0), alpha),
        }
    }

    /// What all children weigh together that were seen, and that nobody saw.
    fn weights(&self, mode: Mode, alpha: u8) -> (f64, f64) {
        let (known, unknown) =
            (self.children.values().map(|child| Self::weight(child, mode, alpha)).sum(), self.unknown().max(0.0));
        // By the odds of what was drawn all are known together.
        let rest = if self.knuth.count > 0.0 { ((self.leaves() - self.sum) / unknown).max(1.0) } else { self.prior() };
        (known, if unknown > 0.0 { unknown * tempered(rest, alpha) } else { 0.0 })
    }

    /// Draws a child.
    fn choose(&self, mode: Mode, alpha: u8, rng: &mut Rng) -> u64 {
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
        let (known, unknown) = self.weights(mode, alpha);
        let point = unit(rng) * (known + unknown);
        if point >= known && self.unknown() >= 1.0 {
            return self.choose_unknown(rng);
        }
        let mut left = point;
        let chosen = self.children.iter().find(|(_, child)| {
            left -= Self::weight(child, mode, alpha);
            left < 0.0
        });
        chosen.map_or_else(|| self.choose_alike(rng), |(&key, _)| key)
    }

    /// The probability with which [`Node::choose`] draws a child.
    fn odds(&self, key: u64, mode: Mode, alpha: u8) -> f64 {
        let (child, unknown) = (self.children.get(&key), self.unknown().max(0.0));
        let left = self.children.values().filter(|child| !child.done).count() as f64 + unknown;
        let alike = match child {
            _ if left == 0.0 => 1.0 / self.children.len() as f64,
            Some(child) if child.done => 0.0,
            _ => 1.0 / left,
        };
        let (known, rest) = self.weights(mode, alpha);
        let weighed = child.map_or(rest / unknown, |child| Self::weight(child, mode, alpha)) / (known + rest);
        let even = match mode {
            Mode::Novelty => 1.0,
            _ if self.is_done() => 0.0,
            _ => EVEN,
        };
        let odds = even * alike + (1.0 - even) * weighed;
        if unknown < MANY_UNKNOWN * self.children.len() as f64 {
            return odds;
        }
        let (at_once, again) = (1.0 / self.arity(), self.children.len() as f64 / self.arity());
        again * odds + if child.is_none() { at_once } else { 0.0 }
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
