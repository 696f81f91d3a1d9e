//! Where a campaign is to get, and how near testcases are.
//!
//! AFLGo's distances say which testcases are near (Böhme, Pham, Nguyen and Roychoudhury, "Directed greybox fuzzing",
//! CCS 2017): the mean of the distances of the blocks that a testcase executes. Approach levels say how many branches
//! it still lacks.

use super::testcase::Testcase;
use crate::coverage::Profile;
use anyhow::{Result, ensure};
use fuzzbox_instrument::ways::{Dependence, Goal, Levels, Program, SeenCalls};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// Testcases on the edge of what is reached that are told apart, at most.
const FRONTIER_MAX: usize = 16;
/// Of so many mutants some are of testcases that are near.
pub(super) const SHARE_OF: usize = 4;

/// Places that are to be reached, one of them, under one name.
#[derive(Clone, Debug)]
pub struct Aimed {
    /// What it is called.
    pub name: String,
    /// The places.
    pub goals: Vec<Goal>,
    /// Edges each of which says that one of them was reached, ascending.
    witnesses: Vec<u32>,
}

/// Where a campaign is to get.
#[derive(Clone)]
pub struct Aim {
    program: Arc<Program>,
    aimed: Vec<Aimed>,
    dependence: Dependence,
    /// Of [`SHARE_OF`] mutants so many are of testcases that are near, where the strategy doesn't say that.
    share: usize,
    /// Per block: its distance to all of them, before any call was seen.
    distances: Arc<[Option<f64>]>,
}

impl fmt::Debug for Aim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Aim").field(&self.aimed).field(&self.share).finish()
    }
}

impl Aim {
    /// At places of a program, each under a name; `share` quarters of the mutants are for that.
    ///
    /// # Errors
    ///
    /// If there are none.
    pub fn new(
        program: Arc<Program>,
        named: Vec<(String, Vec<Goal>)>,
        dependence: Dependence,
        share: usize,
    ) -> Result<Self> {
        ensure!(named.iter().any(|(_, goals)| !goals.is_empty()), "there is nothing to be reached");
        let aim = |(name, goals): (String, Vec<Goal>)| {
            let witnesses = program.witnesses(&goals);
            Aimed { name, goals, witnesses }
        };
        let aimed: Vec<_> = named.into_iter().map(aim).collect();
        let distances = distances(&program, &aimed, &SeenCalls::default());
        Ok(Self { program, aimed, dependence, share: share.min(SHARE_OF), distances })
    }

    /// What is to be reached.
    pub fn aimed(&self) -> &[Aimed] {
        &self.aimed
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Whether some way leads to it from where executions begin: the entry is `function`.
    pub fn is_reachable(&self, function: u32) -> bool {
        let entry = self.program.block(function, fuzzbox_instrument::Cfg::ENTRY);
        entry.is_some_and(|entry| self.distances[entry as usize].is_some())
    }
}

impl Aimed {
    /// Whether an execution that showed this reached one of the places.
    pub fn is_reached_by(&self, profile: &Profile) -> bool {
        profile.0.iter().any(|(edge, _)| self.witnesses.binary_search(edge).is_ok())
    }

    /// Whether it was reached if edges are executed that `has` says.
    fn is_reached(&self, has: impl Fn(u32) -> bool) -> bool {
        self.witnesses.iter().any(|&edge| has(edge))
    }
}

/// How near a testcase is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Near {
    /// The mean distance of what it executes.
    pub(super) distance: Option<f64>,
    /// The least level of that.
    pub(super) level: Option<u32>,
}

/// How far a campaign has come.
#[derive(Debug)]
pub(super) struct Pursuit {
    pub(super) aim: Arc<Aim>,
    /// By what is aimed at: whether it was reached.
    reached: Vec<bool>,
    /// To what was not reached, or to all if all was.
    pub(super) levels: Levels,
    /// How often that changed.
    pub(super) epoch: u64,
    /// Per block: its distance to all that is aimed at.
    distances: Arc<[Option<f64>]>,
    /// Calls by reference by which ways were found, and how many there were.
    seen: SeenCalls,
    calls: usize,
    /// By testcase.
    near: Vec<Near>,
    /// Per block: whether it is marked, for one execution at a time.
    marks: Vec<bool>,
}

impl Pursuit {
    pub(super) fn new(aim: Arc<Aim>) -> Self {
        let reached = vec![false; aim.aimed.len()];
        let seen = SeenCalls::default();
        let levels = levels(&aim, &reached, &seen);
        let (marks, distances) = (vec![false; aim.program.blocks()], aim.distances.clone());
        Self { aim, reached, levels, epoch: 0, distances, seen, calls: 0, near: Vec::new(), marks }
    }

    /// Whether all was reached.
    pub(super) fn is_done(&self) -> bool {
        self.reached.iter().all(|&reached| reached)
    }

    /// By what is aimed at: whether it was reached.
    pub(super) fn reached(&self) -> &[bool] {
        &self.reached
    }

    /// Takes what was executed by now: edges that `has` says, testcases, and who called whom by reference. Ways are
    /// found again when twice as many calls are known as when they were found.
    pub(super) fn look(&mut self, has: impl Fn(u32) -> bool, testcases: &[Testcase], calls: &BTreeSet<(u32, u32)>) {
        let mut is_news = calls.len() > 2 * self.calls;
        if is_news {
            self.calls = calls.len();
            calls.iter().for_each(|&(caller, callee)| self.seen.insert(caller, callee));
            self.distances = distances(&self.aim.program, &self.aim.aimed, &self.seen);
        }
        for (reached, aimed) in self.reached.iter_mut().zip(&self.aim.aimed) {
            if !*reached && aimed.is_reached(&has) {
                (*reached, is_news) = (true, true);
            }
        }
        if is_news {
            self.levels = levels(&self.aim, &self.reached, &self.seen);
            self.epoch += 1;
            self.near.clear();
        }
        for testcase in &testcases[self.near.len().min(testcases.len())..] {
            let near = self.near(&testcase.profile);
            self.near.push(near);
        }
    }

    /// How near an execution is that showed this.
    fn near(&mut self, profile: &Profile) -> Near {
        let Self { aim, levels, distances, .. } = self;
        let edges = profile.0.iter().map(|&(edge, _)| edge).filter(|&edge| (edge as usize) < aim.program.edges());
        let (mut executed, mut level) = (Vec::new(), None::<u32>);
        aim.program.executed(edges, &mut self.marks, |block| executed.push(block));
        let (mut sum, mut count) = (0.0, 0_u32);
        for &block in &executed {
            self.marks[block as usize] = false;
            level = [level, levels.of(block)].into_iter().flatten().min();
            if let Some(distance) = distances[block as usize] {
                sum += distance;
                count += 1;
            }
        }
        Near { distance: (count > 0).then(|| sum / f64::from(count)), level }
    }

    /// Whether an execution of these edges, which ascend, gets where none was, or anywhere if all was reached.
    pub(super) fn is_hit(&self, edges: &[u32]) -> bool {
        let all = self.is_done();
        let open = self.aim.aimed.iter().zip(&self.reached).filter(|(_, reached)| all || !**reached);
        open.into_iter().any(|(aimed, _)| aimed.is_reached(|edge| edges.binary_search(&edge).is_ok()))
    }

    /// How near testcases are, by index.
    pub(super) fn testcases(&self) -> &[Near] {
        &self.near
    }

    /// The least level of a testcase's blocks; more than all of them if no goal depends on what it executes.
    pub(super) fn level(&self, testcase: usize) -> u32 {
        self.near.get(testcase).and_then(|near| near.level).unwrap_or(u32::MAX)
    }

    /// Of so many mutants of [`SHARE_OF`] that are made of testcases which are near.
    pub(super) fn share(&self) -> usize {
        self.aim.share
    }

    /// The testcases that lack the fewest branches, the youngest first.
    pub(super) fn frontier(&self) -> Vec<usize> {
        let Some(least) = self.near.iter().filter_map(|near| near.level).min() else { return Vec::new() };
        let at_it = (0..self.near.len()).rev().filter(|&index| self.near[index].level == Some(least));
        at_it.take(FRONTIER_MAX).collect()
    }
}

/// The distances to all that is aimed at.
fn distances(program: &Program, aimed: &[Aimed], seen: &SeenCalls) -> Arc<[Option<f64>]> {
    let all: Vec<Goal> = aimed.iter().flat_map(|aimed| aimed.goals.iter().copied()).collect();
    program.distances(&all, seen).into()
}

/// The levels to what was not reached.
fn levels(aim: &Aim, reached: &[bool], seen: &SeenCalls) -> Levels {
    let all = reached.iter().all(|&reached| reached);
    let open = aim.aimed.iter().zip(reached).filter(|(_, reached)| all || !**reached);
    let goals: Vec<Goal> = open.flat_map(|(aimed, _)| aimed.goals.iter().copied()).collect();
    aim.program.levels(&goals, aim.dependence, seen)
}
