//! Finds which numbers of a testcase count others of its bytes.
//!
//! A number is made larger: if the program then leaves edges out, and reaches them again with as many bytes more where
//! what the number would count ends, it counts them (FrameShift, Harrison and others, 2025, section 3). Where lengths
//! lie inside each other and have to fit exactly none can be made larger alone: so what would be around one is made
//! larger with it. To be sure, the same bytes must not help as much in front of the number, nor one byte further on:
//! that says where what is counted ends.
//!
//! Mutants of such a testcase keep them true ([`lengths`](crate::engine::lengths)), and what is found among these has
//! them still. What it costs is a small part of a campaign, and hardly anything where nothing was found in many
//! testcases.

mod candidates;
mod search;

use super::{Cost, Spent, Strategy, View};
use crate::engine::corpus::Corpus;
use crate::engine::lengths::Length;
use crate::engine::testcase::Testcase;
use crate::engine::workers::report::Report;
use crate::engine::workers::worker::Worker;
use anyhow::Result;
use search::{Search, Trying, execution_fuel};
use std::collections::BTreeSet;

/// Fuel that may be spent whatever is found, once.
const FREE_FUEL: u64 = 1 << 28;
/// One part in so many of all fuel is for it, if something is found, and if not.
const SHARE: u64 = 40;
const SHARE_IN_VAIN: u64 = 400;
/// Something is found if that is so in one testcase of so many, of those that were looked at since half of them.
const FOUND_PART: u64 = 16;
/// Executions of a task, at most and at least, and the fuel that they are to take if they are no fewer than that.
const TASK_EXECS_MAX: u64 = 4096;
const TASK_EXECS_MIN: u64 = 256;
const TASK_FUEL: u64 = 1 << 27;
/// Tasks in a round, at most.
const TASKS_MAX: usize = 16;
/// Longer testcases take too long, in bytes.
const LEN_MAX: usize = 4096;
/// Finds lengths.
#[derive(Debug, Default)]
pub(in crate::engine) struct Lengths {
    /// Testcases that were not looked at, those first that have new edges.
    queue: BTreeSet<(bool, usize)>,
    /// Fuel that was spent.
    spent: u64,
    /// Testcases that were looked at, and that have lengths; both are halved now and then.
    looked_at: u64,
    found: u64,
}

/// A testcase to be looked at.
#[derive(Debug)]
pub(in crate::engine) struct Looking {
    queued: (bool, usize),
}

/// What was found in a testcase.
#[derive(Debug, Default)]
pub(in crate::engine) struct FoundLengths {
    lengths: Vec<Length>,
    spent: u64,
}

impl Lengths {
    /// Fuel that is left.
    fn left(&self, view: &View<'_>) -> u64 {
        let in_vain = self.looked_at >= 2 * FOUND_PART && self.found * FOUND_PART < self.looked_at;
        let share = view.fuel / if in_vain { SHARE_IN_VAIN } else { SHARE };
        (FREE_FUEL + share).saturating_sub(self.spent)
    }
}

/// What a task may take.
fn task_cost(testcase: &Testcase) -> Cost {
    let execution = execution_fuel(testcase.fuel, testcase.profile.0.len());
    let execs = (TASK_FUEL / execution).clamp(TASK_EXECS_MIN, TASK_EXECS_MAX);
    Cost { execs, fuel: execs.saturating_mul(execution) }
}

impl Strategy for Lengths {
    type Task = Looking;
    type Learned = FoundLengths;

    fn plan(&self, view: &View<'_>, execs: u64) -> Vec<Looking> {
        // Others say themselves what belongs together in what they make.
        let is_made = view.variants.metered.takes_choices() || view.variants.custom.is_some();
        if is_made || view.mutator.grammar().is_some() || view.variants.metered.candidate.entry.takes_numbers() {
            return Vec::new();
        }
        let (mut left, mut execs, mut tasks) = (self.left(view), execs, Vec::new());
        for &queued in self.queue.iter().take(TASKS_MAX) {
            let cost = task_cost(&view.corpus.testcases()[queued.1]);
            let Some(rest) = left.checked_sub(cost.fuel).filter(|_| cost.execs <= execs) else { break };
            (left, execs) = (rest, execs - cost.execs);
            tasks.push(Looking { queued });
        }
        tasks
    }

    fn cost(&self, task: &Looking, view: &View<'_>) -> Cost {
        task_cost(&view.corpus.testcases()[task.queued.1])
    }

    fn run(&self, task: &Looking, view: &View<'_>, worker: &mut Worker, report: &mut Report) -> Result<FoundLengths> {
        let testcase = &view.corpus.testcases()[task.queued.1];
        if testcase.bytes.len() > LEN_MAX {
            return Ok(FoundLengths { lengths: testcase.lengths.clone(), spent: 0 });
        }
        let trying = Trying::new(testcase, view, worker, report);
        let (lengths, spent) = Search::new(trying, testcase, task_cost(testcase).execs).run()?;
        Ok(FoundLengths { lengths, spent })
    }

    fn learn(&mut self, task: Looking, learned: FoundLengths, _: Spent, corpus: &mut Corpus) {
        self.queue.remove(&task.queued);
        self.spent = self.spent.saturating_add(learned.spent);
        self.looked_at += 1;
        self.found += u64::from(!learned.lengths.is_empty());
        if self.looked_at >= 8 * FOUND_PART {
            (self.looked_at, self.found) = (self.looked_at / 2, self.found / 2);
        }
        corpus.set_lengths(task.queued.1, learned.lengths);
    }

    fn settled(&mut self, testcase: usize, has_edges: bool) {
        self.queue.insert((!has_edges, testcase));
    }
}
