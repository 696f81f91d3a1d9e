//! Compares: sees what an execution compares, and changes the input where the operands come from.
//!
//! A settled testcase is executed once in the traced variant. Comparisons in it that could turn out otherwise, which
//! nobody has seen with one of their operands ([`facts`](seen::facts)), are goals. For these it is found out on which
//! bytes of the input their operands depend ([`dependence`](probing::dependence)), and candidates for these bytes are
//! executed: the other operand in all encodings ([`encodings`](input::encodings), and in [`solve`] `numbers`,
//! `numerals` and `bytes`), later, if that fails, what enumerates ([`search`](solve::search)). This is RedQueen's
//! input-to-state replacement (Aschermann et al., "REDQUEEN: Fuzzing with Input-to-State Correspondence", NDSS 2019)
//! with places that were observed as Eclipser and GREYONE do, in place of those that look like the operand; those are
//! tried only where looking takes more than may be spent ([`literal`](input::literal)).
//!
//! A task ([`explorer`]) goes from goal to goal: of all it tries first what is most likely, and what reached one stays
//! where the next one is reached, since a header is refused until all of its fields are right. It leaves for later the
//! goals for which nothing may be spent any more, and inputs that it did not come to ([`reached`]). Candidates that no
//! longer get to their goal because of a checksum or a length are repaired ([`repair`](probing::repair)); those that
//! another check keeps from it solve that in its turn ([`detour`]), or let their goal read something else
//! ([`elsewhere`](solve::elsewhere)). Lengths change with what they count ([`resize`](solve::resize)). What nothing was
//! seen to change may be hidden behind a check of the same bytes: it is moved so that the check holds (`secant` in
//! [`solve`]), or written where it seems to lie ([`hidden`](solve::hidden)). What enumerates waits for fuel ([`hard`]).
//! When all was tried, it begins again with other inputs, and in every other pass as if nobody had met anything, since
//! what was met on one way may not have been on another.
//!
//! What no place leads to is come nearer to by mutants of what is near ([`nearing`]).
//!
//! What lies in testcases as it was compared is also swapped without all that, and executed as mutants are ([`swaps`]).
//!
//! Of a guest that draws, what is changed are the values that were drawn ([`form`](input::form)), so all that is said
//! of bytes is said of these. Of one that has a mutator of its own it is what that changes inside of an input
//! ([`inside`]).
//!
//! A checksum needs nothing of its own: both operands depend on the input, and the computed one is written where the
//! other lies. What a candidate shows is judged as any execution, in the traced variant, which decides as `metered`
//! does; if it reaches its goal the task goes on from it: so one round gets through many comparisons, and through loops
//! that no feature leads through.
//!
//! The cost is bounded, by what it brings: see [`budget`]. Goals that were tried in vain retire: see
//! [`effort`](seen::effort). All of it is a function of the corpus, and of what is known when a round begins: tasks
//! give back what they learned, which is merged in their order. From which round on depends on fuel alone: whoever gets
//! there before the variant is compiled waits.
//!
//! # Files
//!
//! This one has what a campaign knows, and which inputs are due. A line takes from those below it alone, and what is in
//! a folder takes nothing from here:
//!
//! ```text
//! task              what tasks execute                    swaps    what is swapped without looking
//! explorer          from goal to goal of an input         budget   how much may be spent
//! detour            back to a goal, through the check that keeps a candidate from it
//! hard  reached     goals and inputs that are left for later
//! inside            what the guest's own mutator opens
//! nearing           mutants of what comes near            nearest  what does
//! solve/            candidates: a file for each way to let a comparison turn out otherwise
//! probing/          executes candidates, repairs them, and finds what operands depend on
//! input/            an input as solvers see it: its bytes, and where in them operands lie
//! seen/             what traces say of comparisons, and what a campaign knows of these
//! ```

mod budget;
mod detour;
mod explorer;
mod hard;
mod input;
mod inside;
mod nearest;
mod nearing;
mod probing;
mod reached;
mod seen;
mod solve;
mod swaps;
mod task;

use super::{Cost, traced};
use crate::engine::aim::Pursuit;
use crate::engine::checks::Check;
use crate::engine::learned as earlier;
use budget::{
    Budget, COMPILE_FUEL, HARD_PART, ROUND_PART, TASK_EXECS_ENOUGH, TASK_EXECS_MAX, TASK_EXECS_MIN, TASK_FUEL_MIN,
    TASKS_MAX, TASKS_UNDER_WAY_MAX, task_fuel_max,
};
use hard::{Hard, Waiting};
pub(super) use input::form::Form;
use inside::Outer;
pub(in crate::engine) use nearing::Nearing;
use probing::probe::TracedExecution;
pub(super) use probing::repair::repair;
use reached::{Inputs, Reached};
use seen::calls::CALLS_MAX;
use seen::facts::Facts;
use seen::table;
use std::cmp::Reverse;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
pub(in crate::engine) use swaps::Swaps;

/// What a campaign knows of comparisons, and which testcases it has not looked at.
#[derive(Debug, Default)]
pub(in crate::engine) struct Compares {
    /// Shared with tasks until it changes.
    facts: Arc<Facts>,
    /// Testcases, by index: those that show new edges first, of these the youngest.
    queue: BTreeSet<(bool, Reverse<usize>)>,
    /// Inputs that reached goals.
    reached: Inputs,
    /// Goals that need much effort.
    hard: Waiting,
    /// Fuel that was spent on those inputs.
    on_reached: u64,
    /// Testcases that were looked at, and those of them that are looked at again, the last first.
    done: Vec<usize>,
    again: Vec<usize>,
    budget: Budget,
    /// Who was seen to call whom by reference, if there are goals.
    calls: BTreeSet<(u32, u32)>,
    /// Executions that were made.
    pub(in crate::engine) execs: u64,
    enabled: bool,
}

/// An input that is due to be looked at.
#[derive(Clone, Debug)]
struct Due {
    subject: Subject,
    /// What may be spent.
    cost: Cost,
}

/// What is looked at.
#[derive(Clone, Debug)]
enum Subject {
    /// A testcase, by index, and whether it shows new edges.
    Testcase(usize, bool),
    /// A testcase that was looked at before, by index; as if nothing were known, or not.
    Again(usize, bool),
    /// An input that reached a goal, and that the task did not come to.
    Reached(Arc<Reached>),
    /// A goal that needs much effort. Most of their inputs are no testcases: what leads to a goal may show nothing new.
    Hard(Arc<Hard>),
}

/// What a task learned.
#[derive(Debug, Default)]
pub(in crate::engine) struct Learned {
    facts: Facts,
    /// By site.
    tokens: Vec<(u32, Vec<u8>)>,
    checks: Vec<(u32, Check)>,
    /// Who was seen to call whom by reference.
    calls: BTreeSet<(u32, u32)>,
    /// Fuel that was spent.
    pub(in crate::engine) spent: u64,
    /// Goals that were not reached.
    left: Vec<Hard>,
    /// Inputs that reached goals and are to be looked at, the best last; and what they are inside of.
    reached: Vec<Vec<u8>>,
    outer: Option<Outer>,
}

impl Compares {
    pub(in crate::engine) fn new(enabled: bool) -> Self {
        Self { enabled, ..Self::default() }
    }

    /// Who was seen to call whom by reference: caller and callee, by their indices; looked for if there are goals.
    pub(in crate::engine) fn calls(&self) -> &BTreeSet<(u32, u32)> {
        &self.calls
    }

    /// A testcase counts from now on.
    fn offer(&mut self, index: usize, has_edges: bool) {
        if self.enabled {
            self.queue.insert((!has_edges, Reverse(index)));
        }
    }

    /// Whether the traced variant is worth being compiled, when the campaign has spent so much fuel: for a module with
    /// so many bytes of code.
    pub(in crate::engine) fn is_due(&self, code_bytes: u32, fuel: u64) -> bool {
        self.enabled && !self.queue.is_empty() && fuel >= COMPILE_FUEL.saturating_mul(code_bytes.into())
    }

    /// What the next round looks at; what is nearest to goals comes first, if there are some.
    fn due(&self, (fuel, fuel_mean): (u64, u64), execs_max: u64, goals: Option<&Pursuit>) -> Vec<Due> {
        let (left, task_max) = (self.budget.left(fuel), task_fuel_max(fuel));
        // What is recorded takes more than what is executed, where that compares much.
        let execution = fuel_mean.saturating_add(traced::EXECUTION_FUEL).max(self.budget.spent() / self.execs.max(1));
        // What comes when there is nothing else leaves half for what comes after.
        let half = Cost { fuel: left / 2, execs: execs_max };
        let mut put_by = 0;
        if goals.is_none() && !self.queue.is_empty() {
            // Where testcases never end goals that need more effort have their part, which is put by for the next.
            let part = (self.budget.spent() / HARD_PART).saturating_sub(self.hard.spent());
            let order = self.hard.in_turn(&self.facts);
            let hard = hard_due(&order, Cost { fuel: part.min(left), execs: execs_max }, task_max);
            if !hard.is_empty() {
                return hard;
            }
            put_by = order.first().map(|hard| hard.cost()).filter(|&cost| cost <= part).unwrap_or(0).min(left);
        }
        if !self.queue.is_empty() {
            let mut queue = self.in_turn();
            if let Some(goals) = goals {
                queue.sort_by_key(|(index, _)| goals.level(*index));
            }
            let testcases = queue.into_iter().map(|(index, has_edges)| Subject::Testcase(index, has_edges));
            let mut subjects: Vec<_> = testcases.take(TASKS_MAX).collect();
            // What leads on is not kept waiting by testcases that never end.
            if let Some(reached) = self.reached.youngest().next() {
                subjects.insert(1, Subject::Reached(reached.clone()));
            }
            let mut due = inputs_due(subjects.into_iter(), execution, Cost { fuel: left - put_by, execs: execs_max });
            // Rounds are short then, and what comes nearer is looked at before the rest.
            if goals.is_some_and(|goals| !goals.is_done()) {
                due.truncate(TASKS_UNDER_WAY_MAX);
            }
            return due;
        }
        // What reached goals may reach more without end, each time as it did before, and what holds it up is a goal.
        if !self.reached.is_empty() && (self.hard.is_empty() || self.on_reached <= self.hard.spent()) {
            let reached = self.reached.youngest().cloned().map(Subject::Reached);
            return inputs_due(reached, execution, Cost { fuel: left, execs: execs_max });
        }
        if self.hard.is_empty() {
            let is_fresh = self.facts.passes() % 2 == 1;
            let again = self.again.iter().rev().map(|&index| Subject::Again(index, is_fresh));
            return inputs_due(again, execution, half);
        }
        hard_due(&self.hard.in_turn(&self.facts), half, task_max)
    }

    /// Testcases that wait, by index, and whether they show new edges, which come first: the youngest and the oldest in
    /// turn. What was found now leads on, but where that never ends what waits may be behind the check that holds
    /// everything up.
    fn in_turn(&self) -> Vec<(usize, bool)> {
        let mut both: [VecDeque<_>; 2] = Default::default();
        self.queue.iter().for_each(|&(rest, Reverse(index))| both[usize::from(rest)].push_back((index, !rest)));
        let mut turn = self.done.len();
        let mut next = |queue: &mut VecDeque<_>| {
            turn += 1;
            if turn.is_multiple_of(2) { queue.pop_back() } else { queue.pop_front() }
        };
        both.iter_mut().flat_map(|queue| (0..queue.len()).filter_map(|_| next(queue)).collect::<Vec<_>>()).collect()
    }

    /// If there is nothing left to look at, begins with the testcases again, in another order: what failed may succeed
    /// with another input.
    fn begin_again(&mut self) {
        let is_done = self.queue.is_empty() && self.reached.is_empty();
        if !(is_done && self.hard.is_empty() && self.again.is_empty()) {
            return;
        }
        let pass = Arc::make_mut(&mut self.facts).begin_again();
        self.again.clone_from(&self.done);
        self.again.sort_by_key(|&index| table::key([pass.into(), index as u64, 0]));
    }

    /// Adds what was tried in vain to what the next campaign begins with; without what waits for its next try, since
    /// that is not kept.
    pub(in crate::engine) fn tell(&self, learned: &mut earlier::Learned) {
        self.facts.tell(self.hard.goals(), learned);
    }

    /// Begins with what was tried in vain before this campaign.
    pub(in crate::engine) fn go_on(&mut self, learned: &earlier::Learned) {
        if self.enabled {
            Arc::make_mut(&mut self.facts).go_on(learned);
        }
    }

    /// Takes what a task learned. Leaves what belongs to the corpus: what something from the input was compared with,
    /// and what is checked.
    fn take(&mut self, subject: &Subject, learned: &mut Learned) {
        self.budget.spend(learned.spent);
        match subject {
            Subject::Testcase(index, has_edges) => {
                self.queue.remove(&(!has_edges, Reverse(*index)));
                self.done.push(*index);
            }
            Subject::Again(index, _) => self.again.retain(|other| other != index),
            Subject::Reached(reached) => {
                self.reached.remove(reached);
                self.on_reached += learned.spent;
            }
            Subject::Hard(hard) => self.hard.remove(hard, learned.spent),
        }
        let reached = std::mem::take(&mut learned.reached).into_iter();
        self.reached.add(reached.map(|input| Reached { outer: learned.outer.clone(), input: input.into() }));
        Arc::make_mut(&mut self.facts).merge(std::mem::take(&mut learned.facts));
        self.hard.add(std::mem::take(&mut learned.left), &self.facts);
        let room = CALLS_MAX.saturating_sub(self.calls.len());
        self.calls.extend(learned.calls.iter().copied().take(room));
    }
}

/// Forgets the oldest of what waits, the youngest last: so many may stay, and so many bytes.
fn keep_youngest<T>(waiting: &mut Vec<T>, (count_max, bytes_max): (usize, usize), bytes: impl Fn(&T) -> usize) {
    let mut sum = 0;
    let room = waiting.iter().rev().take(count_max).take_while(|one| {
        sum += bytes(one);
        sum <= bytes_max
    });
    let kept = room.count();
    waiting.drain(..waiting.len() - kept);
}

/// The first of some goals that need much effort that can be paid.
fn hard_due(order: &[&Arc<Hard>], left: Cost, task_max: u64) -> Vec<Due> {
    let due = hard::due(order, left, (TASKS_MAX, task_max)).into_iter();
    due.map(|(hard, cost)| Due { subject: Subject::Hard(hard), cost }).collect()
}

/// The first of some inputs, with parts of what is `left`; an execution takes so much fuel.
fn inputs_due(subjects: impl ExactSizeIterator<Item = Subject>, execution: u64, left: Cost) -> Vec<Due> {
    let least =
        TASK_FUEL_MIN.clamp(execution.saturating_mul(TASK_EXECS_MIN), execution.saturating_mul(TASK_EXECS_ENOUGH));
    if left.fuel < least {
        return Vec::new();
    }
    // Tasks of one round don't know what the others learn, and find the same: half is left for those that do.
    let fuel = (left.fuel / ROUND_PART).max(least);
    let count = subjects.len().min(TASKS_MAX).min(usize::try_from(fuel / least).unwrap_or(TASKS_MAX));
    let parts = (count as u64).max(1);
    let execs = (left.execs / parts).min(TASK_EXECS_MAX);
    let cost = Cost { fuel: fuel / parts, execs };
    subjects.take(if execs == 0 { 0 } else { count }).map(|subject| Due { subject, cost }).collect()
}
