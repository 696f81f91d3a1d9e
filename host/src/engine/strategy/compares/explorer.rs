//! Reaches goals of an input, one after the other, and goes on from what reached them.

use super::hard::Hard;
use super::input::form::Form;
use super::input::places::Dependence;
use super::input::{encodings, literal};
use super::probing::dependence::{self, behind_checks};
use super::probing::probe::{End, Probe, Problem, Run, Solution, Step, TracedExecution};
use super::probing::repair::{self, Guard};
use super::seen::effort::Effort;
use super::seen::facts::{Facts, in_turn};
use super::seen::observed::{Observed, Operands, Place};
use super::solve::climb::{self, Climbed, Mutate, climb, counted};
use super::solve::little::{glance, solve};
use super::solve::{fit, resize, search};
use super::{Learned, Subject, detour};
use anyhow::Result;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Goals of an input of which it is found out together what they depend on: most depend on nothing.
const GOALS_MAX: usize = 1024;
/// Of these, so many are tried, and for so many what is most likely, which takes some executions each.
const TRIED_MAX: usize = 24;
const GLANCED_MAX: usize = 128;
/// Where boundaries are goals, each is behind so many others: these are never all done.
const GOALS_PER_BOUNDARY: usize = 2;
/// How often a task goes on from an input that reached a goal.
const CHAIN_MAX: usize = 64;
/// Lengths of tokens, in bytes.
const TOKEN_BYTES: std::ops::RangeInclusive<usize> = 3..=32;

/// Goals that a task did not reach, and inputs that reached some and that it did not come to: left for later.
const LEFT_MAX: usize = 16;
const REACHED_MAX: usize = 4;

/// Looks at what `input` compares and tries to let that turn out otherwise, and with `boundaries` to come to where it
/// turns.
pub(super) fn explore(
    run: &mut Run<'_>,
    (input, len_max): (&[u8], usize),
    subject: &Subject,
    (facts, boundaries): (&Facts, bool),
    mutate: &Mutate<'_>,
) -> Result<Learned> {
    let probe = Probe {
        run,
        form: Arc::new(Form::plain(input)),
        len_max: len_max.max(input.len()),
        guards: Vec::new(),
        constants: Vec::new(),
        lost: Vec::new(),
        fuel_left: 0,
        is_spent: false,
        boundaries,
    };
    let is_fresh = matches!(subject, Subject::Again(_, true));
    let mut explorer = Explorer { probe, facts, is_fresh, learned: Learned::default(), mutate };
    let end = match subject {
        Subject::Testcase(..) | Subject::Again(..) | Subject::Reached(_) => explorer.chain(input),
        Subject::Hard(hard) => explorer.work(hard),
    };
    match end {
        Ok(()) | Err(End::Spent) => {}
        Err(End::Failed(error)) => return Err(error),
    }
    if is_fresh {
        explorer.learned.facts.forget_tries(facts);
    }
    Ok(explorer.learned)
}

/// The input that goals are tried with.
struct Current<'i> {
    /// The one that they are of.
    first: &'i [u8],
    /// The one that reached all that were reached, if there were some.
    input: Option<Vec<u8>>,
    /// How those turned out.
    reached: Vec<(Place, bool)>,
    /// Where something was written for them.
    written: BTreeSet<usize>,
}

impl Current<'_> {
    /// Whether what was reached still is where this was shown.
    fn is_kept(&self, probe: &Probe<'_, '_>, shown: &TracedExecution) -> bool {
        let observed = probe.observe(&shown.trace, |site| self.reached.iter().any(|(place, _)| place.site == site));
        let outcome = |place| observed.iter().find(|other| other.place == place).map(|other| other.operands.outcome());
        self.reached.iter().all(|&(place, reached)| outcome(place) == Some(reached))
    }
}

/// How a goal is tried at once.
#[derive(Clone, Copy)]
enum How {
    /// With what is most likely.
    Glance,
    /// With all that takes little.
    Little,
}

/// What a chain goes on with.
struct Next {
    input: Vec<u8>,
    is_testcase: bool,
}

struct Explorer<'e, 'r, 'a> {
    probe: Probe<'r, 'a>,
    facts: &'e Facts,
    /// What somebody met is tried again.
    is_fresh: bool,
    learned: Learned,
    mutate: &'e Mutate<'e>,
}

impl Explorer<'_, '_, '_> {
    /// Reaches goals of an input, and goes on with what reached them.
    fn chain(&mut self, input: &[u8]) -> Step<()> {
        let mut open = vec![Next { input: input.to_vec(), is_testcase: true }];
        let mut end = Ok(());
        for _ in 0..CHAIN_MAX {
            let Some(next) = open.pop() else { break };
            end = self.step(&next.input, &mut open);
            if end.is_err() {
                break;
            }
        }
        // Testcases have their own turn.
        open.retain(|next| !next.is_testcase);
        let left = open.drain(open.len().saturating_sub(REACHED_MAX)..);
        self.learned.reached.extend(left.map(|next| next.input));
        end
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
            let next = Hard { fuel: first.fuel, ..next };
            let end = if next.cost() <= self.probe.fuel_left { self.insist(&next) } else { Err(End::Spent) };
            if matches!(end, Err(End::Spent)) {
                self.learned.left.push(next);
            }
            end?;
        }
        Ok(())
    }

    /// Tries to reach a goal that was kept, and goes on with what reached it.
    fn insist(&mut self, hard: &Hard) -> Step<()> {
        self.probe.guards = hard.guards.to_vec();
        self.probe.form = hard.form.clone();
        let solution = if hard.effort == Effort::Little {
            match self.probe.compared(&hard.input, hard.goal.place)?.0 {
                Some(goal) if goal.operands.outcome() == hard.goal.operands.outcome() => {
                    self.reach(&hard.input, goal, &hard.dependence)?
                }
                _ => None,
            }
        } else {
            self.enumerate(hard)?
        };
        solution.map_or(Ok(()), |solution| self.chain(&solution.executed))
    }

    /// Enumerates for a goal; returns what reached it, if one may go on from that.
    fn enumerate(&mut self, hard: &Hard) -> Step<Option<Solution>> {
        let mut solution = search::solve(&mut self.probe, hard.problem(), hard.effort)?;
        let mut last = Cow::Borrowed(hard);
        if solution.is_none() {
            match fit::fit(&mut self.probe, hard.problem(), hard.effort)? {
                Some(fit::Fit::Fitted(fitted)) => {
                    last = Cow::Owned(hard.fitted(fitted));
                    solution = search::solve(&mut self.probe, last.problem(), last.effort)?;
                }
                Some(fit::Fit::Solved(solved)) => solution = Some(solved),
                None => {}
            }
        }
        let solution = match solution {
            None if hard.effort == Effort::Some => detour::around(&mut self.probe, hard, solve)?,
            None if hard.effort == Effort::Much && self.is_climbed(hard) => {
                let failed = self.known().iter().map(|facts| facts.failed(&hard.goal, Effort::Much)).sum();
                match climb(&mut self.probe, hard.problem(), (self.mutate, failed))? {
                    Climbed::Solved(solution) => Some(solution),
                    Climbed::Nearer(input, goal) => {
                        self.keep((&input, Effort::Much), goal, Dependence::default(), Vec::new());
                        return Ok(None);
                    }
                    Climbed::Nowhere => None,
                }
            }
            solution => solution,
        };
        if solution.is_none() {
            self.learned.left.extend(last.harder());
        }
        Ok(self.tried(&hard.goal, hard.effort, solution))
    }

    /// Whether a goal is come nearer to by mutants: nobody has seen it reached, and its input is executed as it is.
    fn is_climbed(&self, hard: &Hard) -> bool {
        hard.form.is_plain() && !hard.goal.place.is_boundary() && self.is_open(&hard.goal)
    }

    /// Whether somebody has seen a comparison turn out otherwise.
    fn is_met(&self, goal: &Observed) -> bool {
        self.known().iter().any(|facts| facts.met(goal))
    }

    /// Whether nobody has seen a comparison turn out otherwise, and it is not given up.
    fn is_open(&self, goal: &Observed) -> bool {
        !self.is_met(goal) && self.known().iter().all(|facts| facts.rank(goal, 0, Effort::Much).is_some())
    }

    /// Tries to reach the goals of an input, and adds what reached them to `open`.
    fn step(&mut self, input: &[u8], open: &mut Vec<Next>) -> Step<()> {
        let shown = self.probe.execute(input)?;
        let form = Arc::new(shown.drawn.as_ref().map_or_else(|| Form::plain(input), Form::of));
        let input = form.bytes();
        self.probe.form = form.clone();
        let observed = self.probe.observe(&shown.trace, |_| true);
        let mut goals = self.goals(&observed);
        let equal = repair::candidates(&observed);
        let counted: Vec<_> = counted(&observed).into_iter().filter(|goal| self.is_open(goal)).cloned().collect();
        for goal in counted.into_iter().filter(|_| form.is_plain()) {
            self.keep((input, Effort::Much), goal, Dependence::default(), Vec::new());
        }
        self.saw(&observed);
        drop(observed);
        if goals.is_empty() {
            return Ok(());
        }
        let mut current = Current { first: input, input: None, reached: Vec::new(), written: BTreeSet::new() };
        let end = if shown.fuel.saturating_mul(dependence::execs(input.len())) > self.probe.fuel_left {
            self.attempt_literal(&mut goals, &mut current, open)
        } else {
            Ok(())
        };
        let end = end.and_then(|()| self.attempt_dependent(goals, &equal, &mut current, open));
        open.extend(current.input.map(|current| Next { input: form.input(&current).into_owned(), is_testcase: false }));
        end
    }

    /// Tries to reach goals with an operand that lies in the input, and leaves those that are not reached.
    fn attempt_literal(
        &mut self,
        goals: &mut Vec<Observed>,
        current: &mut Current<'_>,
        open: &mut Vec<Next>,
    ) -> Step<()> {
        self.probe.guards.clear();
        let mut reached = BTreeSet::new();
        for (index, dependence) in literal::places(current.first, goals) {
            if self.attempt((&goals[index], &dependence), How::Glance, current, open)? {
                reached.insert(goals[index].place);
            }
        }
        goals.retain(|goal| !reached.contains(&goal.place));
        Ok(())
    }

    /// Finds out what goals depend on, and tries to reach those that depend on something.
    fn attempt_dependent(
        &mut self,
        goals: Vec<Observed>,
        equal: &[Observed],
        current: &mut Current<'_>,
        open: &mut Vec<Next>,
    ) -> Step<()> {
        let input = current.first;
        let dependences = self.dependences(input, &goals, equal)?;
        let mut tried = Vec::new();
        for (goal, dependence) in goals.into_iter().zip(dependences) {
            let is_length =
                || self.is_open(&goal) && resize::is_length(Problem { input, goal: &goal, dependence: &dependence });
            if !dependence.is_none() || is_length() {
                tried.push((goal, dependence));
            } else if !dependence.held.is_empty() {
                self.keep((input, Effort::Some), goal, dependence, Vec::new());
            } else if !self.probe.is_spent {
                self.learned.facts.skip(&goal, Effort::Little);
                if self.probe.form.is_plain() && climb::is_near(&goal) && self.is_open(&goal) {
                    self.keep((input, Effort::Much), goal, Dependence::default(), Vec::new());
                }
            }
        }
        // What is certain takes little.
        tried.sort_by_key(|(goal, dependence)| !repair::is_written(goal, dependence, input));
        self.attempt_all(tried, current, open)
    }

    /// Tries to reach goals: all of them by what is most likely, which reaches most of what can be reached, then those
    /// that are left.
    fn attempt_all(
        &mut self,
        mut left: Vec<(Observed, Dependence)>,
        current: &mut Current<'_>,
        open: &mut Vec<Next>,
    ) -> Step<()> {
        for (how, goals_max) in [(How::Glance, GLANCED_MAX), (How::Little, TRIED_MAX)] {
            left.truncate(goals_max);
            let mut number = 0;
            while let Some((goal, dependence)) = left.get(number) {
                match self.attempt((goal, dependence), how, current, open) {
                    Ok(true) => drop(left.remove(number)),
                    Ok(false) => number += 1,
                    Err(end) => {
                        if matches!(end, End::Spent) {
                            left.truncate(TRIED_MAX);
                            self.postpone(current.input.as_deref().unwrap_or(current.first), left);
                        }
                        return Err(end);
                    }
                }
            }
        }
        Ok(())
    }

    /// Tries to reach a goal, and has what reached it go on: as what is `current`, or in `open`. Returns whether that
    /// was all that is done for it.
    fn attempt(
        &mut self,
        (goal, dependence): (&Observed, &Dependence),
        how: How,
        current: &mut Current<'_>,
        open: &mut Vec<Next>,
    ) -> Step<bool> {
        // What reached another goal may have shown that there is nothing to reach any more.
        if self.learned.facts.rank(goal, 0, Effort::Little).is_none() {
            return Ok(true);
        }
        let mut now = Cow::Borrowed(goal);
        let mut stays = true;
        if let Some(input) = &current.input {
            match self.probe.compared(input, goal.place)?.0 {
                Some(other) if other.operands.outcome() == goal.operands.outcome() => now = Cow::Owned(other),
                Some(_) => return Ok(true),
                // What reached another goal leads elsewhere.
                None => stays = false,
            }
        }
        let from = current.input.as_deref().filter(|_| stays).unwrap_or(current.first);
        let solution = match how {
            How::Glance => match glance(&mut self.probe, Problem { input: from, goal: &now, dependence })? {
                None => return Ok(false),
                solution => {
                    self.keep_tokens(&now, dependence);
                    self.tried(&now, Effort::Little, solution)
                }
            },
            How::Little => self.reach(from, now.into_owned(), dependence)?,
        };
        let Some(Solution { input: solved, executed, shown }) = solution else { return Ok(true) };
        // What another length has has other places, and what is kept shows something else.
        let fits = |solved: &Vec<u8>| stays && solved.len() == from.len() && self.probe.form.fits(shown.drawn.as_ref());
        let next = Next { input: executed, is_testcase: shown.is_news };
        let Some(solved) = solved.filter(fits) else {
            open.push(next);
            return Ok(true);
        };
        let written = repair::written(from, &solved, &self.probe.guards);
        if current.written.is_disjoint(&written) && current.is_kept(&self.probe, &shown) {
            current.written.extend(written);
            current.input = Some(solved);
            current.reached.push((goal.place, !goal.operands.outcome()));
        } else {
            // Of what excludes each other the first goes on at once: a name is one of many, and what is small enough
            // need not be 0, too.
            open.insert(0, next);
        }
        Ok(true)
    }

    /// Tries what is cheap for a goal of an input; returns what reached it, if one may go on from that.
    fn reach(&mut self, input: &[u8], goal: Observed, dependence: &Dependence) -> Step<Option<Solution>> {
        self.keep_tokens(&goal, dependence);
        self.probe.lost.clear();
        let solution = solve(&mut self.probe, Problem { input, goal: &goal, dependence })?;
        let is_left = solution.is_none();
        let solution = self.tried(&goal, Effort::Little, solution);
        if is_left {
            self.leave(input, goal, dependence);
        }
        Ok(solution)
    }

    /// Notes that a goal was tried, and what was seen if it was reached; returns what one may go on from.
    fn tried(&mut self, goal: &Observed, effort: Effort, solution: Option<Solution>) -> Option<Solution> {
        self.learned.facts.tried(goal, effort, solution.is_some());
        let solution = solution?;
        self.saw(&self.probe.observe(&solution.shown.trace, |site| site == goal.place.site));
        solution.shown.ended_well.then_some(solution)
    }

    /// Notes that a goal of an input was not reached.
    fn leave(&mut self, input: &[u8], goal: Observed, dependence: &Dependence) {
        let lost = detour::kept(std::mem::take(&mut self.probe.lost), input);
        if lost.is_empty() && dependence.held.is_empty() && dependence.sides.iter().all(Vec::is_empty) {
            return;
        }
        self.keep((input, Effort::Some), goal, dependence.clone(), lost);
        if self.learned.left.len() > LEFT_MAX {
            // The oldest of what counts least.
            let rank = |hard: &Hard| (self.is_met(&hard.goal), !hard.goal.operands.is_text());
            let ranks: Vec<_> = self.learned.left.iter().map(rank).collect();
            let least = ranks.iter().max().and_then(|least| ranks.iter().position(|rank| rank == least));
            self.learned.left.remove(least.unwrap_or(0));
        }
    }

    /// Keeps for later, of goals for which nothing may be spent any more, those that are worth it, one of each site:
    /// what they depend on is known.
    fn postpone(&mut self, input: &[u8], goals: Vec<(Observed, Dependence)>) {
        let mut sites = BTreeSet::new();
        for (goal, dependence) in goals {
            let is_worth_it =
                !self.is_met(&goal) || goal.operands.is_text() || repair::is_written(&goal, &dependence, input);
            if is_worth_it && sites.insert(goal.place.site) {
                self.keep((input, Effort::Little), goal, dependence, Vec::new());
            }
        }
    }

    /// Keeps a goal of an input for later.
    fn keep(&mut self, (input, effort): (&[u8], Effort), goal: Observed, dependence: Dependence, lost: Vec<Vec<u8>>) {
        let (form, guards) = (self.probe.form.clone(), self.probe.guards.clone().into());
        let (input, lost) = (input.into(), lost.into());
        self.learned.left.push(Hard { outer: None, form, input, goal, dependence, guards, lost, effort, fuel: 0 });
    }

    /// What goals depend on, and which comparisons among those that are equal must stay so.
    fn dependences(&mut self, input: &[u8], goals: &[Observed], equal: &[Observed]) -> Step<Vec<Dependence>> {
        let is_goal = |place| goals.iter().any(|goal| goal.place == place);
        let others = equal.iter().filter(|observed| !is_goal(observed.place));
        let all: Vec<_> = goals.iter().chain(others).cloned().collect();
        let (mut dependences, hidden) = behind_checks(&mut self.probe, input, &all, goals.len())?;
        self.learned.checks.extend(self.probe.guards.iter().filter_map(Guard::check));
        let checks = dependences.split_off(goals.len());
        for goal in hidden.into_iter().filter(|&goal| self.is_open(&goals[goal])) {
            dependences[goal].hold(&checks);
        }
        Ok(dependences)
    }

    /// What all know, and what this task has learned.
    fn known(&self) -> [&Facts; 2] {
        [self.facts, &self.learned.facts]
    }

    /// Notes how comparisons turned out, if that is not known.
    fn saw(&mut self, observed: &[Observed]) {
        observed.iter().filter(|observed| !self.facts.knows(observed)).for_each(|new| self.learned.facts.saw(new));
    }

    /// The comparisons that are worth being tried, the best first.
    fn goals(&self, observed: &[Observed]) -> Vec<Observed> {
        // Most are none by what all know. What somebody met, but not on this way, is tried once more if it is to be
        // equal: that is what lets an execution go on, most often.
        let rank = |at: usize, observed: &Observed| {
            let [all, own] = self.known().map(|facts| move || facts.rank(observed, at, Effort::Little));
            let is_fresh = self.is_fresh && observed.operands.are_to_be_equal() && self.facts.met(observed);
            if is_fresh { own() } else { all().filter(|_| own().is_some()) }
        };
        let goals = observed.iter().enumerate().filter_map(|(at, observed)| Some((rank(at, observed)?, observed)));
        let goals = in_turn(goals.collect()).into_iter().map(|(_, goal)| goal);
        let (boundaries, others): (Vec<_>, Vec<_>) = goals.partition(|goal| goal.place.is_boundary());
        let (mut others, mut mixed) = (others.into_iter(), Vec::new());
        for boundary in boundaries {
            mixed.extend(others.by_ref().take(GOALS_PER_BOUNDARY));
            mixed.push(boundary);
        }
        mixed.into_iter().chain(others).take(GOALS_MAX).cloned().collect()
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
