//! Compares: sees what an execution compares, and changes the input where the operands come from.
//!
//! A settled testcase is executed once in the traced variant. Comparisons in it that could turn out otherwise, which
//! nobody has seen with one of their operands ([`facts`]), are goals. For these it is found out on which bytes of the
//! input their operands depend ([`dependence`]), and candidates for these bytes are executed: the other operand in all
//! encodings ([`encodings`], [`numbers`], [`numerals`], [`bytes`]), later, if that fails, what enumerates ([`search`]).
//! This is RedQueen's input-to-state replacement (Aschermann et al., "REDQUEEN: Fuzzing with Input-to-State
//! Correspondence", NDSS 2019) with places that were observed as Eclipser and GREYONE do, in place of those that look
//! like the operand.
//!
//! Candidates that no longer get to their goal because of a checksum or a length are repaired ([`repair`]); those that
//! another check keeps from it solve that in its turn ([`detour`]). What enumerates waits for fuel ([`hard`]). When all
//! was tried, it begins again with other inputs.
//!
//! Of a guest that draws, what is changed are the values that were drawn ([`form`]), so all that is said of bytes is
//! said of these. Of one that has a mutator of its own it is what that changes inside of an input ([`inside`]).
//!
//! A checksum needs nothing of its own: both operands depend on the input, and the computed one is written where the
//! other lies. What a candidate shows is judged as any execution, in the traced variant, which decides as `metered`
//! does; if it reaches its goal the task goes on from it: so one round gets through many comparisons, and through loops
//! that no feature leads through.
//!
//! The cost is bounded, by what it brings: see [`budget`]. Goals that were tried in vain retire: see [`effort`]. All of
//! it is a function of the corpus, and of what is known when a round begins: tasks give back what they learned, which
//! is merged in their order. From which round on depends on fuel alone: whoever gets there before the variant is
//! compiled waits.

mod budget;
mod bytes;
mod calls;
mod dependence;
mod detour;
mod effort;
mod encodings;
mod facts;
mod float128;
mod form;
mod hard;
mod inside;
mod numbers;
mod numerals;
mod observed;
mod places;
mod probe;
mod quads;
mod repair;
mod search;
mod sums;
mod table;
mod task;
mod values;

use super::Cost;
use crate::engine::aim::Pursuit;
use crate::engine::learned as earlier;
use anyhow::Result;
use budget::{
    Budget, COMPILE_FUEL, EXECUTION_FUEL, TASK_EXECS_ENOUGH, TASK_EXECS_MAX, TASK_EXECS_MIN, TASK_FUEL_MIN, TASKS_MAX,
};
use calls::CALLS_MAX;
use dependence::dependence;
use effort::Effort;
use facts::Facts;
pub(super) use form::Form;
use hard::{Hard, Waiting};
use observed::{Observed, Operands};
use places::Dependence;
use probe::{End, Probe, Problem, Run, Solution, Step, TracedExecution};
use repair::Guard;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Goals of an input of which it is found out together what they depend on: most depend on nothing.
const GOALS_MAX: usize = 256;
/// Of these, so many are tried.
const TRIED_MAX: usize = 24;
/// Where boundaries are goals, each is behind so many others: these are never all done.
const GOALS_PER_BOUNDARY: usize = 2;
/// How often a task goes on from an input that reached a goal.
const CHAIN_MAX: usize = 64;
/// Lengths of tokens, in bytes.
const TOKEN_BYTES: std::ops::RangeInclusive<usize> = 3..=32;

/// Goals that a task did not reach, and leaves for later.
const LEFT_MAX: usize = 16;

/// What a campaign knows of comparisons, and which testcases it has not looked at.
#[derive(Debug, Default)]
pub(in crate::engine) struct Compares {
    /// Shared with tasks until it changes.
    facts: Arc<Facts>,
    /// Testcases, by index: those that show new edges first, then the youngest.
    queue: BTreeSet<(bool, Reverse<usize>)>,
    /// Goals that need much effort.
    hard: Waiting,
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
    /// A testcase that was looked at before, by index.
    Again(usize),
    /// A goal that needs much effort. Most of their inputs are no testcases: what leads to a goal may show nothing new.
    Hard(Arc<Hard>),
}

/// What a task learned.
#[derive(Debug, Default)]
pub(in crate::engine) struct Learned {
    facts: Facts,
    /// By site.
    tokens: Vec<(u32, Vec<u8>)>,
    /// Who was seen to call whom by reference.
    calls: BTreeSet<(u32, u32)>,
    /// Fuel that was spent.
    pub(in crate::engine) spent: u64,
    /// Goals that were not reached.
    left: Vec<Hard>,
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
        let left = self.budget.left(fuel);
        let execution = fuel_mean.saturating_add(EXECUTION_FUEL);
        if !self.queue.is_empty() {
            let mut queue: Vec<_> = self.queue.iter().map(|&(rest, Reverse(index))| (index, !rest)).collect();
            if let Some(goals) = goals {
                queue.sort_by_key(|(index, _)| goals.level(*index));
            }
            let testcases = queue.into_iter().map(|(index, has_edges)| Subject::Testcase(index, has_edges));
            return inputs_due(testcases, execution, Cost { fuel: left, execs: execs_max });
        }
        // What comes when there is nothing else leaves half for what comes after.
        let left = Cost { fuel: left / 2, execs: execs_max };
        if self.hard.is_empty() {
            let again = self.again.iter().rev().map(|&index| Subject::Again(index));
            return inputs_due(again, execution, left);
        }
        let due = self.hard.due(left, TASKS_MAX).into_iter();
        due.map(|(hard, cost)| Due { subject: Subject::Hard(hard), cost }).collect()
    }

    /// If there is nothing left to look at, begins with the testcases again, in another order: what failed may succeed
    /// with another input.
    fn begin_again(&mut self) {
        if !(self.queue.is_empty() && self.hard.is_empty() && self.again.is_empty()) {
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

    /// Takes what a task learned, and returns what something from the input was compared with, by site.
    fn take(&mut self, subject: &Subject, learned: Learned) -> Vec<(u32, Vec<u8>)> {
        self.budget.spend(learned.spent);
        match subject {
            Subject::Testcase(index, has_edges) => {
                self.queue.remove(&(!has_edges, Reverse(*index)));
                self.done.push(*index);
            }
            Subject::Again(index) => self.again.retain(|other| other != index),
            Subject::Hard(hard) => self.hard.remove(hard),
        }
        Arc::make_mut(&mut self.facts).merge(learned.facts);
        self.hard.add(learned.left, &self.facts);
        let room = CALLS_MAX.saturating_sub(self.calls.len());
        self.calls.extend(learned.calls.into_iter().take(room));
        learned.tokens
    }
}

/// The first of some inputs, with parts of what is `left`; an execution takes so much fuel.
fn inputs_due(subjects: impl ExactSizeIterator<Item = Subject>, execution: u64, left: Cost) -> Vec<Due> {
    let least =
        TASK_FUEL_MIN.clamp(execution.saturating_mul(TASK_EXECS_MIN), execution.saturating_mul(TASK_EXECS_ENOUGH));
    let count = subjects.len().min(TASKS_MAX).min(usize::try_from(left.fuel / least).unwrap_or(TASKS_MAX));
    // What the next rounds find has its part, if all have enough.
    let fuel = (left.fuel / (count as u64).max(TASKS_MAX as u64 / 2)).max(least);
    let execs = (left.execs / (count as u64).max(1)).min(TASK_EXECS_MAX);
    let cost = Cost { fuel, execs };
    subjects.take(if execs == 0 { 0 } else { count }).map(|subject| Due { subject, cost }).collect()
}

/// Looks at what `input` compares and tries to let that turn out otherwise, and with `boundaries` to come to where it
/// turns.
fn explore(
    run: &mut Run<'_>,
    (input, len_max): (&[u8], usize),
    subject: &Subject,
    (facts, boundaries): (&Facts, bool),
) -> Result<Learned> {
    let probe = Probe {
        run,
        form: Arc::new(Form::plain(input)),
        len_max: len_max.max(input.len()),
        guards: Vec::new(),
        lost: Vec::new(),
        fuel_left: 0,
        boundaries,
    };
    let mut explorer = Explorer { probe, facts, learned: Learned::default() };
    let end = match subject {
        Subject::Testcase(..) | Subject::Again(_) => explorer.chain(input),
        Subject::Hard(hard) => explorer.work(hard),
    };
    match end {
        Ok(()) | Err(End::Spent) => {}
        Err(End::Failed(error)) => return Err(error),
    }
    Ok(explorer.learned)
}

struct Explorer<'e, 'r, 'a> {
    probe: Probe<'r, 'a>,
    facts: &'e Facts,
    learned: Learned,
}

impl Explorer<'_, '_, '_> {
    /// Reaches goals of an input, and goes on with what reached them.
    fn chain(&mut self, input: &[u8]) -> Step<()> {
        let mut open = vec![input.to_vec()];
        for _ in 0..CHAIN_MAX {
            let Some(input) = open.pop() else { break };
            self.step(&input, &mut open)?;
        }
        Ok(())
    }

    /// Enumerates for a goal, and goes on with what reached it; then, as long as there is fuel, for what that left.
    fn work(&mut self, first: &Hard) -> Step<()> {
        let end = self.insist(first);
        if matches!(end, Err(End::Spent)) {
            // If it was not solved, it took more than was thought.
            self.learned.facts.tried(&first.goal, first.effort, false);
            self.learned.left.push(Hard { fuel: first.fuel.saturating_mul(2), ..first.clone() });
        }
        end?;
        while let Some(next) = self.learned.left.pop() {
            let is_affordable = next.execs().saturating_mul(first.fuel) <= self.probe.fuel_left;
            let end = if is_affordable { self.insist(&next) } else { Err(End::Spent) };
            if matches!(end, Err(End::Spent)) {
                self.learned.left.push(next);
            }
            end?;
        }
        Ok(())
    }

    /// Enumerates for a goal, and goes on with what reached it.
    fn insist(&mut self, hard: &Hard) -> Step<()> {
        self.probe.guards = hard.guards.to_vec();
        self.probe.form = hard.form.clone();
        let solution = match search::solve(&mut self.probe, hard.problem(), hard.effort)? {
            None if hard.effort == Effort::Some => detour::detour(&mut self.probe, hard, solve)?,
            solution => solution,
        };
        self.learned.facts.tried(&hard.goal, hard.effort, solution.is_some());
        let Some(Solution { executed, shown, .. }) = solution else {
            self.learned.left.extend(hard.harder());
            return Ok(());
        };
        self.saw(&self.probe.observe(&shown.trace, |site| site == hard.goal.place.site));
        if shown.ended_well { self.chain(&executed) } else { Ok(()) }
    }

    /// Tries to reach the goals of an input, and adds what reached them to `open`.
    fn step(&mut self, input: &[u8], open: &mut Vec<Vec<u8>>) -> Step<()> {
        let shown = self.probe.execute(input)?;
        let form = Arc::new(shown.drawn.as_ref().map_or_else(|| Form::plain(input), Form::of));
        let input = form.bytes();
        self.probe.form = form.clone();
        let observed = self.probe.observe(&shown.trace, |_| true);
        let goals = self.goals(&observed);
        let equal = repair::candidates(&observed);
        self.saw(&observed);
        drop(observed);
        if goals.is_empty() {
            return Ok(());
        }
        let dependences = self.dependences(input, &goals, &equal)?;
        let (mut current, mut is_other, mut tried) = (input.to_vec(), false, 0);
        for (goal, dependence) in goals.into_iter().zip(&dependences) {
            if dependence.is_none() {
                self.learned.facts.skip(&goal, Effort::Little);
                continue;
            }
            tried += 1;
            if tried > TRIED_MAX {
                continue;
            }
            // Another goal may have been reached by now, or gone.
            let goal = if is_other {
                match self.probe.compared(&current, goal.place)?.0.filter(|goal| goal.operands.wanted().is_some()) {
                    Some(goal) => goal,
                    None => continue,
                }
            } else {
                goal
            };
            self.keep_tokens(&goal, dependence);
            self.probe.lost.clear();
            let solution = solve(&mut self.probe, Problem { input: &current, goal: &goal, dependence })?;
            self.learned.facts.tried(&goal, Effort::Little, solution.is_some());
            let Some(Solution { input: solved, executed, shown }) = solution else {
                self.leave(&current, goal, dependence);
                continue;
            };
            let place = self.probe.observe(&shown.trace, |site| site == goal.place.site);
            self.saw(&place);
            if !shown.ended_well {
                continue;
            }
            // What another length has has other places, and what is kept shows something else.
            let stays = |solved: &Vec<u8>| solved.len() == current.len() && form.fits(shown.drawn.as_ref());
            match solved.filter(stays) {
                Some(solved) if !shown.is_news => (current, is_other) = (solved, true),
                _ => open.push(executed),
            }
        }
        if is_other {
            open.push(form.input(&current).into_owned());
        }
        Ok(())
    }

    /// Notes that a goal of an input was not reached.
    fn leave(&mut self, input: &[u8], goal: Observed, dependence: &Dependence) {
        let lost = detour::tried(std::mem::take(&mut self.probe.lost), input);
        if lost.is_empty() && dependence.sides.iter().all(Vec::is_empty) {
            return;
        }
        let left = &mut self.learned.left;
        let (guards, lost) = (self.probe.guards.clone().into(), lost.into());
        let (form, input, dependence) = (self.probe.form.clone(), input.into(), dependence.clone());
        let effort = Effort::Some;
        left.push(Hard { outer: None, form, input, goal, dependence, guards, lost, effort, fuel: 0 });
        if left.len() > LEFT_MAX {
            let least = left.iter().position(|hard| !hard.goal.operands.is_text()).unwrap_or(0);
            left.remove(least);
        }
    }

    /// What goals depend on, and which comparisons among those that are equal must stay so.
    fn dependences(&mut self, input: &[u8], goals: &[Observed], equal: &[Observed]) -> Step<Vec<Dependence>> {
        let is_goal = |place| goals.iter().any(|goal| goal.place == place);
        let others = equal.iter().filter(|observed| !is_goal(observed.place));
        let all: Vec<_> = goals.iter().chain(others).cloned().collect();
        self.probe.guards.clear();
        let mut dependences = dependence(&mut self.probe, input, &all)?;
        let guards = all.iter().zip(&dependences);
        self.probe.guards =
            guards.filter_map(|(observed, dependence)| Guard::new(observed, dependence, input)).collect();
        dependences.truncate(goals.len());
        // What changes nothing may have led elsewhere: now it is repaired.
        let hidden: Vec<_> = (0..goals.len()).filter(|&goal| dependences[goal].is_none()).collect();
        if !self.probe.guards.is_empty() && !hidden.is_empty() {
            let goals: Vec<_> = hidden.iter().map(|&goal| goals[goal].clone()).collect();
            let again = dependence(&mut self.probe, input, &goals)?;
            hidden.into_iter().zip(again).for_each(|(goal, found)| dependences[goal] = found);
        }
        Ok(dependences)
    }

    /// Notes how comparisons turned out, if that is not known.
    fn saw(&mut self, observed: &[Observed]) {
        observed.iter().filter(|observed| !self.facts.knows(observed)).for_each(|new| self.learned.facts.saw(new));
    }

    /// The comparisons that are worth being tried, the best first.
    fn goals(&self, observed: &[Observed]) -> Vec<Observed> {
        let rank = |at: usize, observed: &Observed| {
            // Most are none by what all know.
            let rank = self.facts.rank(observed, at, Effort::Little)?;
            self.learned.facts.rank(observed, at, Effort::Little).map(|_| rank)
        };
        let mut goals: Vec<_> =
            observed.iter().enumerate().filter_map(|(at, observed)| Some((rank(at, observed)?, observed))).collect();
        goals.sort_by_key(|&(rank, _)| rank);
        let (boundaries, others): (Vec<_>, Vec<_>) = goals.into_iter().partition(|(_, goal)| goal.place.is_boundary());
        let (mut others, mut mixed) = (others.into_iter(), Vec::new());
        for boundary in boundaries {
            mixed.extend(others.by_ref().take(GOALS_PER_BOUNDARY));
            mixed.push(boundary);
        }
        mixed.into_iter().chain(others).take(GOALS_MAX).map(|(_, goal)| goal.clone()).collect()
    }

    /// Keeps what something from the input is compared with.
    fn keep_tokens(&mut self, goal: &Observed, dependence: &Dependence) {
        let is_constant = |side: usize| dependence.sides[side].is_empty() && !dependence.sides[1 - side].is_empty();
        for side in (0..2).filter(|&side| is_constant(side)) {
            let tokens = match &goal.operands {
                Operands::Bytes { sides, .. } => vec![sides[side].clone()],
                Operands::Quads { sides, .. } => vec![sides[side].to_le_bytes().to_vec()],
                Operands::Numbers { ty, sides, .. } => encodings::fields(*ty, sides[side], ty.bits() as usize / 8),
            };
            let is_plain = |token: &Vec<u8>| token.iter().filter(|&&byte| !matches!(byte, 0 | u8::MAX)).count() < 2;
            let tokens = tokens.into_iter().filter(|token| TOKEN_BYTES.contains(&token.len()) && !is_plain(token));
            self.learned.tokens.extend(tokens.map(|token| (goal.place.offset(), token)));
        }
    }
}

/// A way to let numbers compare otherwise.
type Solver = fn(&mut Probe<'_, '_>, Problem<'_>) -> Step<Option<Solution>>;

/// Tries what is cheap.
fn solve(probe: &mut Probe<'_, '_>, problem: Problem<'_>) -> Step<Option<Solution>> {
    match &problem.goal.operands {
        Operands::Numbers { .. } => {
            for solver in [numbers::solve as Solver, sums::solve, numerals::solve] {
                if let Some(solution) = solver(probe, problem)? {
                    return Ok(Some(solution));
                }
            }
            Ok(None)
        }
        Operands::Quads { .. } => quads::solve(probe, problem),
        Operands::Bytes { .. } => bytes::solve(probe, problem),
    }
}
