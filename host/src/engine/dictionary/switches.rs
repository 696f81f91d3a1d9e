//! What the number in a local is compared with, in one function: the cases of a switch. Of those that lie far from each
//! other compilers make a tree of comparisons, in which each execution meets a few.

use super::Dictionary;
use std::collections::{BTreeMap, BTreeSet};

/// A number that is compared with fewer is found without help.
const CASES_MIN: usize = 3;
/// No more of a switch are kept, and no more switches.
const CASES_MAX: usize = 256;
const SWITCHES_MAX: usize = 4096;

/// All switches of a module.
#[derive(Clone, Debug, Default)]
pub(super) struct Switches {
    /// Numbers as they were before anything was done with them, ascending.
    cases: Vec<Vec<u64>>,
    /// By the offset of an operator that compares, or chooses, in one of them.
    at: BTreeMap<u32, u32>,
}

/// Those of a function.
#[derive(Debug, Default)]
pub(super) struct Locals(BTreeMap<u32, (BTreeSet<u64>, Vec<u32>)>);

impl Locals {
    /// What is in a local is compared at an offset, with these numbers or by order.
    pub(super) fn compared(&mut self, local: u32, at: u64, with: impl IntoIterator<Item = u64>) {
        let (cases, places) = self.0.entry(local).or_default();
        cases.extend(with.into_iter().filter(|&number| number >= Dictionary::CASE_MIN).take(CASES_MAX - cases.len()));
        places.extend(u32::try_from(at));
    }
}

impl Switches {
    /// Adds those of a function.
    pub(super) fn add(&mut self, Locals(locals): Locals) {
        for (cases, places) in locals.into_values().filter(|(cases, _)| cases.len() >= CASES_MIN) {
            if self.cases.len() < SWITCHES_MAX {
                self.at.extend(places.into_iter().map(|at| (at, self.cases.len() as u32)));
                self.cases.push(cases.into_iter().collect());
            }
        }
    }

    /// Which of them the operator at an offset is part of, and its cases.
    pub(super) fn get(&self, at: u32) -> Option<(u32, &[u64])> {
        let switch = *self.at.get(&at)?;
        Some((switch, &self.cases[switch as usize]))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.cases.is_empty()
    }
}
