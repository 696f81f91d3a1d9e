//! Approach levels through calls (Wegener, Baresel and Sthamer, "Evolutionary test environment for automatic structural
//! testing", 2001): how many branches must still turn out well on the way from a block to the nearest goal.
//!
//! In a goal's function it is [`ControlDependence`]'s. A goal that depends on nothing in its function depends on
//! that being entered: a function's entry is one level above what is certain to be executed then. A block that
//! calls a function has the level of its entry; one that calls by reference has one more, because another may be
//! called. A function that was seen to be called so leads to those callers alone.

use std::collections::{BTreeMap, VecDeque};

use super::program::Caller;
use super::{Goal, NONE, Program, SeenCalls};
use crate::cfg::{Cfg, ControlDependence, DominatorTree, FlowKind};

/// Dependences that are looked at without the seed's condition holding, at most: they may be quadratic in the code.
const REFUSED_MAX: u64 = 1 << 26;

/// When a block depends on a branch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dependence {
    /// After one way of the branch the block is certain to come, after another it is not.
    #[default]
    Standard,
    /// Also the branch dominates the block: so blocks behind joins depend on less.
    Dominating,
}

/// The approach level of each block, and where branches lead closer.
#[derive(Clone, Debug)]
pub struct Levels {
    /// Per block; [`NONE`] where no goal depends on it.
    levels: Vec<u32>,
    /// Per edge of the edge map: whether it leads closer from its block. Edges that no goal depends on don't.
    closer: Vec<bool>,
}

impl Levels {
    /// The level of a block; 0 for a goal.
    pub fn of(&self, block: u32) -> Option<u32> {
        self.levels.get(block as usize).copied().filter(|&level| level != NONE)
    }

    /// Whether an edge leads closer to a goal than the block that it comes from.
    pub fn is_closer(&self, edge: u32) -> bool {
        self.closer.get(edge as usize).is_some_and(|&closer| closer)
    }
}

/// What is known of a function that leads to a goal.
struct Own {
    dependence: ControlDependence,
    dominators: Option<DominatorTree>,
}

struct Search<'p> {
    program: &'p Program,
    seen: &'p SeenCalls,
    kind: Dependence,
    levels: Vec<u32>,
    /// By function index.
    own: BTreeMap<u32, Own>,
    /// Kinds of calls by reference that were followed.
    kinds: Vec<bool>,
    refused: u64,
    /// Blocks in the order of their levels: those of this level in front.
    open: VecDeque<(u32, u32)>,
}

impl Program {
    /// Finds the approach levels to the nearest of some goals, by calls that were seen.
    pub fn levels(&self, goals: &[Goal], kind: Dependence, seen: &SeenCalls) -> Levels {
        let mut search = Search {
            program: self,
            seen,
            kind,
            levels: vec![NONE; self.blocks()],
            own: BTreeMap::new(),
            kinds: vec![false; self.by_reference.len()],
            refused: 0,
            open: VecDeque::new(),
        };
        let mut closer = vec![false; self.edges()];
        for goal in goals {
            match *goal {
                Goal::Block(block) => search.reach(block, 0),
                Goal::Edge(edge) => _ = closer.get_mut(edge as usize).map(|closer| *closer = true),
            }
        }
        // An edge is one branch away from the block that it comes from.
        for goal in goals {
            if let Goal::Edge(edge) = *goal
                && let Some(from) = self.from(edge)
            {
                search.reach(from, 1);
            }
        }
        search.run();
        search.mark_closer(&mut closer);
        Levels { levels: search.levels, closer }
    }
}

impl Search<'_> {
    fn run(&mut self) {
        while let Some((block, level)) = self.open.pop_front() {
            // It may have been found again at a lesser level.
            if self.levels[block as usize] != level {
                continue;
            }
            let (function, own) = self.program.place(block);
            if own == Cfg::ENTRY {
                self.called(function, level);
                continue;
            }
            for on in self.depends_on(function, own) {
                if let Some(on) = self.program.block(function, on) {
                    self.reach(on, level + 1);
                }
            }
        }
    }

    /// Blocks that call a function are as near as its entry.
    fn called(&mut self, function: u32, level: u32) {
        let program = self.program;
        let number = |caller: &Caller| program.block(caller.function, caller.block);
        for caller in program.callers[function as usize].iter().filter_map(number) {
            self.reach(caller, level);
        }
        let Some(kind) = program.kinds[function as usize] else { return };
        let by_reference = &program.by_reference[kind as usize];
        if let Some(callers) = self.seen.callers(function) {
            let seen = by_reference.iter().filter(|caller| callers.contains(&caller.function));
            return seen.filter_map(number).for_each(|caller| self.reach(caller, level + 1));
        }
        if !std::mem::replace(&mut self.kinds[kind as usize], true) {
            for caller in by_reference.iter().filter_map(number) {
                self.reach(caller, level + 1);
            }
        }
    }

    fn reach(&mut self, block: u32, level: u32) {
        let Some(known) = self.levels.get_mut(block as usize).filter(|known| level < **known) else { return };
        *known = level;
        // All that is open has this level or the next one.
        if self.open.front().is_none_or(|&(_, front)| level <= front) {
            self.open.push_front((block, level));
        } else {
            self.open.push_back((block, level));
        }
    }

    fn own(&mut self, function: u32) -> Option<&mut Own> {
        let (program, kind) = (self.program, self.kind);
        let cfg = program.cfg(function)?;
        Some(self.own.entry(function).or_insert_with(|| Own {
            dependence: cfg.control_dependence(),
            dominators: (kind == Dependence::Dominating).then(|| cfg.dominators()),
        }))
    }

    /// The blocks that a block depends on, those left out that are known already; and the entry if it is certain once
    /// the function is entered.
    fn depends_on(&mut self, function: u32, block: u32) -> Vec<u32> {
        let refused_before = self.refused;
        let Some(own) = self.own(function) else { return Vec::new() };
        let dominators = own.dominators.take();
        let mut refused = 0;
        let mut found = own.dependence.take(block, |from| {
            let accepted = dominators.as_ref().is_none_or(|tree| tree.dominates(from, block));
            refused += u64::from(!accepted);
            accepted || refused_before + refused > REFUSED_MAX
        });
        if block != Cfg::EXIT && own.dependence.post_dominators().dominates(block, Cfg::ENTRY) {
            found.push(Cfg::ENTRY);
        }
        own.dominators = dominators;
        self.refused += refused;
        found
    }

    /// Marks the edges after which something nearer is certain to come.
    fn mark_closer(&self, closer: &mut [bool]) {
        for (&function, own) in &self.own {
            let Some((cfg, start)) = self.program.cfg(function).zip(self.program.block(function, 0)) else { continue };
            let tree = own.dependence.post_dominators();
            let mut nearest = vec![NONE; cfg.blocks().len()];
            for block in tree.preorder() {
                let above = tree.parent(block).map_or(NONE, |above| nearest[above as usize]);
                nearest[block as usize] = above.min(self.levels[(start + block) as usize]);
            }
            for flow in cfg.flows() {
                if let (FlowKind::Counted(_), Some(edge)) = (flow.kind, flow.edge) {
                    let level = self.levels[(start + flow.from) as usize];
                    closer[edge as usize] |= level != NONE && nearest[flow.to as usize] < level;
                }
            }
        }
    }
}
