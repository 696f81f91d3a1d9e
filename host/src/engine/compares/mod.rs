//! Compares: sees what an execution compares, and changes the input where the operands come from.
//!
//! A settled testcase is executed once in the traced variant. Comparisons in it that could turn out otherwise, which nobody has seen
//! with one of their operands ([`facts`]), are goals. For these it is found out on which bytes of the input their operands depend
//! ([`dependence`]), and candidates for these bytes are executed: the other operand in all encodings ([`encodings`], [`numbers`], [`bytes`]), later, if that
//! fails, what enumerates ([`search`]). This is RedQueen's input-to-state replacement (Aschermann et al., "REDQUEEN: Fuzzing with
//! Input-to-State Correspondence", NDSS 2019) with places that were observed as Eclipser and GREYONE do, in place of those that look like the operand.
//!
//! What a candidate shows is judged as any execution; if it reaches its goal the task goes on from it: so one round gets through many comparisons, and
//! through loops that no feature leads through.
//!
//! The cost is bounded, by what it brings: see [`budget`]. Goals that were tried in vain retire. All of it is a function of the corpus, and of what is known when a round
//! begins: tasks give back what they learned, which is merged in their order.

mod budget;
mod bytes;
mod dependence;
mod encodings;
mod facts;
mod numbers;
mod observed;
mod probe;
mod quads;
mod search;
mod sums;
mod table;

use anyhow::Result;
use budget::Budget;
pub(super) use budget::Spent;
use dependence::{Dependence, dependence};
use facts::Effort;
pub(super) use facts::Facts;
use observed::{Observed, Operands, observe};
pub(super) use probe::Shown;
use probe::{End, Probe, Run, Solution, Step};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Goals of an input of which it is found out together what they depend on: most depend on nothing.
const GOALS_MAX: usize = 256;
/// Of these, so many are tried.
const TRIED_MAX: usize = 24;
/// How often a task goes on from an input that reached a goal.
const CHAIN_MAX: usize = 64;
/// Lengths of tokens, in bytes.
const TOKEN_BYTES: std::ops::RangeInclusive<usize> = 3..=32;

/// Fuel that one execution in the traced variant takes beside its own: to restore, and to judge all of what it did.
pub(super) const EXECUTION_FUEL: u64 = 16_000;
/// Fuel that each thing takes that it recorded: to write it, read it, and look what it is good for.
pub(super) const RECORD_FUEL: u64 = 64;
/// Executions of a task, at most.
const TASK_EXECS_MAX: u64 = 8192;
/// Testcases that a round looks at.
const TASKS_MAX: usize = 16;
/// Less fuel than for so many executions is not worth a task.
const TASK_EXECS_MIN: u64 = 64;
/// The campaign has spent so much fuel for each byte of code when the traced variant is compiled, which takes about as long.
const COMPILE_FUEL: u64 = 2_000;

/// What a campaign knows of comparisons, and which testcases it has not looked at.
#[derive(Debug)]
pub(super) struct Compares {
    facts: Facts,
    /// Those that show new edges first, then the youngest.
    queue: BTreeSet<(Effort, bool, Reverse<usize>)>,
    budget: Budget,
    enabled: bool,
}

/// A testcase that a round looks at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Comparing {
    /// The testcase, by index.
    pub(super) index: usize,
    effort: Effort,
    has_edges: bool,
    /// Fuel that may be spent.
    pub(super) fuel: u64,
    /// Executions that may be made.
    pub(super) execs: u64,
}

/// What a task learned.
#[derive(Debug, Default)]
pub(super) struct Learned {
    facts: Facts,
    tokens: Vec<Vec<u8>>,
    /// Fuel that was spent.
    pub(super) spent: u64,
    /// There are goals that were not reached.
    is_left: bool,
    /// It had to end.
    is_cut: bool,
}

impl Compares {
    pub(super) fn new(enabled: bool) -> Self {
        Self { facts: Facts::default(), queue: BTreeSet::new(), budget: Budget::default(), enabled }
    }

    /// A testcase counts from now on.
    pub(super) fn offer(&mut self, index: usize, has_edges: bool) {
        if self.enabled {
            self.queue.insert((Effort::Little, !has_edges, Reverse(index)));
        }
    }

    /// Whether the traced variant is worth being compiled, when the campaign has spent so much fuel: for a module with so many bytes.
    pub(super) fn is_due(&self, module_bytes: usize, fuel: u64) -> bool {
        self.enabled && !self.queue.is_empty() && fuel >= COMPILE_FUEL.saturating_mul(module_bytes as u64)
    }

    /// What the next round looks at.
    pub(super) fn plan(&self, fuel: u64, fuel_mean: u64, execs_max: u64) -> Vec<Comparing> {
        let left = self.budget.left(fuel);
        let least = (fuel_mean + EXECUTION_FUEL) * TASK_EXECS_MIN;
        let count = self.queue.len().min(TASKS_MAX).min(usize::try_from(left / least).unwrap_or(TASKS_MAX));
        // What the next rounds find has its part.
        let each = left / (count as u64).max(TASKS_MAX as u64 / 2);
        let execs = (execs_max / (count as u64).max(1)).min(TASK_EXECS_MAX);
        let tasks = self.queue.iter().take(if execs == 0 { 0 } else { count });
        tasks
            .map(|&(effort, rest, Reverse(index))| Comparing { index, effort, has_edges: !rest, fuel: each, execs })
            .collect()
    }

    /// Takes what a round brought.
    pub(super) fn brought(&mut self, mutants: Spent, compared_edges: u64) {
        self.budget.brought(mutants, compared_edges);
    }

    /// What tasks have to know.
    pub(super) fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Takes what a task learned, and returns what something from the input was compared with.
    pub(super) fn learn(&mut self, task: &Comparing, learned: Learned) -> Vec<Vec<u8>> {
        let Comparing { index, effort, has_edges, .. } = *task;
        self.queue.remove(&(effort, !has_edges, Reverse(index)));
        self.budget.spend(learned.spent);
        if effort == Effort::Little && (learned.is_left || learned.is_cut) {
            self.queue.insert((Effort::Much, !has_edges, Reverse(index)));
        }
        self.facts.merge(learned.facts);
        learned.tokens
    }
}

/// Looks at what `input` compares and tries to let that turn out otherwise.
pub(super) fn explore(
    run: &mut Run<'_>,
    (input, len_max): (&[u8], usize),
    task: &Comparing,
    facts: &Facts,
) -> Result<Learned> {
    let probe = Probe { run, len_max: len_max.max(input.len()) };
    let mut explorer = Explorer { probe, facts, effort: task.effort, learned: Learned::default() };
    match explorer.chain(input) {
        Ok(()) => {}
        Err(End::Spent) => explorer.learned.is_cut = true,
        Err(End::Failed(error)) => return Err(error),
    }
    Ok(explorer.learned)
}

struct Explorer<'e, 'r, 'a> {
    probe: Probe<'r, 'a>,
    facts: &'e Facts,
    effort: Effort,
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

    /// Tries to reach the goals of an input, and adds what reached them to `open`.
    fn step(&mut self, input: &[u8], open: &mut Vec<Vec<u8>>) -> Step<()> {
        let shown = self.probe.show(input)?;
        let observed = observe(&shown.trace, |_| true);
        let goals = self.goals(&observed);
        self.saw(&observed);
        drop(observed);
        if goals.is_empty() {
            return Ok(());
        }
        let dependences = dependence(&mut self.probe, input, &goals)?;
        let (mut current, mut is_other, mut tried) = (input.to_vec(), false, 0);
        for (goal, dependence) in goals.into_iter().zip(&dependences) {
            if dependence.is_none() {
                self.learned.facts.skip(&goal, self.effort);
                continue;
            }
            tried += 1;
            if tried > TRIED_MAX {
                self.learned.is_left = true;
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
            let solution = self.solve(&current, &goal, dependence)?;
            self.learned.facts.tried(&goal, self.effort, solution.is_some());
            let Some(Solution { input: solved, shown }) = solution else {
                self.learned.is_left = true;
                continue;
            };
            let place = observe(&shown.trace, |site| site == goal.place.site);
            self.saw(&place);
            if !shown.ended_well {
                continue;
            }
            // What another length has has other places, and what is kept shows something else.
            if shown.is_news || solved.len() != current.len() {
                open.push(solved);
            } else {
                (current, is_other) = (solved, true);
            }
        }
        if is_other {
            open.push(current);
        }
        Ok(())
    }

    /// Notes how comparisons turned out, if that is not known.
    fn saw(&mut self, observed: &[Observed]) {
        observed.iter().filter(|observed| !self.facts.knows(observed)).for_each(|new| self.learned.facts.saw(new));
    }

    /// The comparisons that are worth being tried, the best first.
    fn goals(&self, observed: &[Observed]) -> Vec<Observed> {
        let rank = |at: usize, observed: &Observed| {
            // Most are none by what all know.
            let rank = self.facts.rank(observed, at, self.effort)?;
            self.learned.facts.rank(observed, at, self.effort).map(|_| rank)
        };
        let mut goals: Vec<_> =
            observed.iter().enumerate().filter_map(|(at, observed)| Some((rank(at, observed)?, observed))).collect();
        goals.sort_by_key(|&(rank, _)| rank);
        goals.into_iter().take(GOALS_MAX).map(|(_, goal)| goal.clone()).collect()
    }

    fn solve(&mut self, input: &[u8], goal: &Observed, dependence: &Dependence) -> Step<Option<Solution>> {
        match (self.effort, &goal.operands) {
            (Effort::Much, _) => search::solve(&mut self.probe, input, goal, dependence),
            (Effort::Little, Operands::Numbers { .. }) => {
                match numbers::solve(&mut self.probe, input, goal, dependence)? {
                    None => sums::solve(&mut self.probe, input, goal, dependence),
                    solution => Ok(solution),
                }
            }
            (Effort::Little, Operands::Quads { .. }) => quads::solve(&mut self.probe, input, goal, dependence),
            (Effort::Little, Operands::Bytes { .. }) => bytes::solve(&mut self.probe, input, goal, dependence),
        }
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
            self.learned.tokens.extend(tokens);
        }
    }
}
