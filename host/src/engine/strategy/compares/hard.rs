//! Goals that need much effort: kept, with what was found out about them, until there is fuel to enumerate. So are
//! those before which a task had spent all that it might.
//!
//! What a goal depends on is known when what is cheap has failed. So what takes many executions begins with that, and
//! its cost is known before: how many executions they are, and what one of them takes, which for an input that gets far
//! is many times what mutants take.

use super::Cost;
use super::input::form::Form;
use super::input::places::Dependence;
use super::inside::Outer;
use super::keep_youngest;
use super::probing::probe::Problem;
use super::probing::repair::Guard;
use super::seen::effort::Effort;
use super::seen::facts::Facts;
use super::seen::observed::Observed;
use super::solve::fit::{self, Fitted};
use super::solve::{climb, elsewhere, hidden, search};
use crate::engine::strategy::traced;
use std::sync::Arc;

/// Goals that are kept, and bytes of their inputs.
const WAITING_MAX: usize = 512;
const WAITING_BYTES_MAX: usize = 64 << 20;
/// Executions for what is cheap, about.
const LITTLE_EXECS: u64 = 256;
/// So many candidates that got lost are led back, those that come nearest to the goal.
pub(super) const LOST_TRIED_MAX: usize = 16;
/// Executions for each of them, about.
pub(super) const DETOUR_EXECS: u64 = 192;
/// Executions beside those that enumerate: to go on from an input that reached the goal.
const MORE_EXECS: u64 = 512;

/// Kinds of goals that share what is spent: with less effort, with more, and those that nothing seems to lead to.
const KINDS: usize = 3;
const BLIND: usize = 2;

/// A goal of an input.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Hard {
    /// The testcase that the input is inside of, if it is.
    pub(super) outer: Option<Outer>,
    /// What the bytes of the input are.
    pub(super) form: Arc<Form>,
    pub(super) input: Arc<[u8]>,
    pub(super) goal: Observed,
    pub(super) dependence: Dependence,
    /// What must stay true on the way to the goal.
    pub(super) guards: Arc<[Guard]>,
    /// Candidates that did not get to the goal.
    pub(super) lost: Arc<[Vec<u8>]>,
    /// What comes next.
    pub(super) effort: Effort,
    /// Fuel that an execution takes.
    pub(super) fuel: u64,
}

impl Hard {
    pub(super) fn problem(&self) -> Problem<'_> {
        Problem { input: &self.input, goal: &self.goal, dependence: &self.dependence }
    }

    /// Executions that it may take.
    pub(super) fn execs(&self) -> u64 {
        let own = match self.effort {
            Effort::Little => LITTLE_EXECS,
            Effort::Some => {
                let moved = elsewhere::execs(self.problem());
                let hidden = hidden::execs(self.problem());
                let led_back = self.lost.len() as u64 + self.lost.len().min(LOST_TRIED_MAX) as u64 * DETOUR_EXECS;
                self.enumerated() + moved + led_back + hidden
            }
            Effort::Much => self.enumerated(),
        };
        own + MORE_EXECS
    }

    /// Executions in which is enumerated, also where a text has got another length.
    fn enumerated(&self) -> u64 {
        let fitted = if self.form.is_plain() { fit::execs(self.problem(), self.effort) } else { 0 };
        search::execs(self.problem(), self.effort) + fitted
    }

    /// Fuel that it may take.
    pub(super) fn cost(&self) -> u64 {
        self.execs().saturating_mul(self.fuel)
    }

    /// The same goal, where a text is as long as it must be.
    pub(super) fn fitted(&self, Fitted { input, goal, dependence }: Fitted) -> Self {
        let form = Arc::new(Form::plain(&input));
        let effort = Effort::Some;
        Self { form, input: input.into(), goal, dependence, lost: [].into(), effort, ..self.clone() }
    }

    /// What comes after this.
    pub(super) fn harder(&self) -> Option<Self> {
        Some(Self { effort: self.effort.next()?, ..self.clone() })
    }

    /// Whether no place leads to it, so that mutants are all that is tried.
    fn is_climbed(&self) -> bool {
        self.effort == Effort::Much && self.dependence.is_none()
    }

    /// Whether nothing says that mutants come nearer.
    fn is_blind(&self) -> bool {
        self.is_climbed() && !climb::is_counted(&self.goal)
    }

    /// Which of the [`KINDS`] it is.
    fn kind(&self) -> usize {
        if self.is_blind() { BLIND } else { usize::from(self.effort == Effort::Much) }
    }

    fn climbs_as(&self, other: &Self) -> bool {
        other.is_climbed() && self.goal.place.site == other.goal.place.site
    }

    fn bytes(&self) -> usize {
        self.input.len() + self.lost.iter().map(Vec::len).sum::<usize>()
    }

    /// Whether one of the two is enough: of what was put off one for a site.
    fn is_same(&self, other: &Self) -> bool {
        let is_put_off = self.effort == Effort::Little && self.goal.place.site == other.goal.place.site;
        self.effort == other.effort && (is_put_off || (&self.input, &self.goal) == (&other.input, &other.goal))
    }
}

/// The goals that wait, the youngest last.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    goals: Vec<Arc<Hard>>,
    /// Fuel that was spent on each kind.
    spent: [u64; KINDS],
}

impl Waiting {
    pub(super) fn is_empty(&self) -> bool {
        self.goals.is_empty()
    }

    /// What is to be reached.
    pub(super) fn goals(&self) -> impl Iterator<Item = &Observed> {
        self.goals.iter().map(|hard| &hard.goal)
    }

    /// In the order in which they are tried: what nobody has seen, of the kind on which less was spent, texts, and the
    /// youngest first; then what is hidden behind checks; then what was met with other operands; and last what nothing
    /// seems to lead to, or first where least was spent on that. (By turns, one of those that need much would take what
    /// a hundred others need.)
    pub(super) fn in_turn(&self, facts: &Facts) -> Vec<&Arc<Hard>> {
        let is_there = |kind: &usize| self.goals.iter().any(|hard| hard.kind() == *kind);
        let Some(next) = (0..KINDS).filter(is_there).min_by_key(|&kind| self.spent[kind]) else { return Vec::new() };
        let mut order: Vec<_> = self.goals.iter().rev().collect();
        order.sort_by_cached_key(|hard| {
            let (kind, is_hidden) = (hard.kind(), !hard.dependence.held.is_empty());
            let is_last = (kind == BLIND) != (next == BLIND);
            (is_last, facts.met(&hard.goal), is_hidden, kind != next, hard.effort, !hard.goal.operands.is_text())
        });
        order
    }

    /// Fuel that was spent on all kinds.
    pub(super) fn spent(&self) -> u64 {
        self.spent.iter().sum()
    }

    /// One was tried, for so much fuel.
    pub(super) fn remove(&mut self, tried: &Arc<Hard>, fuel: u64) {
        self.goals.retain(|hard| !Arc::ptr_eq(hard, tried));
        self.spent[tried.kind()] += fuel;
    }

    /// Takes more, and forgets what by now is no goal any more.
    pub(super) fn add(&mut self, more: Vec<Hard>, facts: &Facts) {
        for hard in more {
            let known = self.goals.iter_mut().find(|known| hard.is_climbed() && hard.climbs_as(known));
            if let Some(known) = known {
                if climb::is_nearer(&hard.goal, &known.goal) {
                    *known = Arc::new(hard);
                }
            } else if !self.goals.iter().any(|known| known.is_same(&hard)) {
                self.goals.push(Arc::new(hard));
            }
        }
        self.goals.retain(|hard| facts.rank(&hard.goal, 0, hard.effort).is_some());
        keep_youngest(&mut self.goals, (WAITING_MAX, WAITING_BYTES_MAX), |hard| hard.bytes());
    }
}

/// The first of some in `order` that can be paid with what is `left`, and no more than `count`. With each, what it may
/// take: fuel that is left when all have theirs is for what comes after them, as long as that makes no more than
/// `fuel_max`.
pub(super) fn due(order: &[&Arc<Hard>], left: Cost, (count, fuel_max): (usize, u64)) -> Vec<(Arc<Hard>, Cost)> {
    let mut fuel = left.fuel;
    let affordable = order.iter().copied().take(count).map_while(|hard| {
        fuel = fuel.checked_sub(hard.cost())?;
        Some(hard)
    });
    let due: Vec<_> = affordable.collect();
    let part = fuel / due.len().max(1) as u64;
    let mut room = left.execs;
    let costs = due.into_iter().map_while(|hard| {
        let part = part.min(fuel_max.saturating_sub(hard.cost()));
        // Fuel bounds it: it is known better than how many executions they are.
        let execs = ((hard.cost() + part) / traced::EXECUTION_FUEL).max(hard.execs()).min(left.execs);
        room = room.checked_sub(execs)?;
        (execs > 0).then(|| (hard.clone(), Cost { fuel: hard.cost() + part, execs }))
    });
    costs.collect()
}

#[cfg(test)]
mod tests {
    use super::super::seen::observed::tests::compare;
    use super::*;

    /// A goal of the only byte of an input.
    fn hard(site: u32, effort: Effort, fuel: u64) -> Hard {
        Hard {
            outer: None,
            form: Arc::new(Form::plain(b"1")),
            input: (*b"1").into(),
            goal: compare(site, 1, 2),
            dependence: Dependence { sides: [vec![0], Vec::new()], ..Dependence::default() },
            guards: [].into(),
            lost: [].into(),
            effort,
            fuel,
        }
    }

    #[test]
    fn each_has_what_it_needs_and_of_the_rest_no_more_than_makes_a_task_so_long() {
        let hard = |site, fuel| hard(site, Effort::Some, fuel);
        let (cheap, dear) = (hard(1, 1), hard(2, 1_000));
        let (needs, most) = ([cheap.cost(), dear.cost()], 10 * cheap.cost());
        assert!(needs[1] > most);
        let (facts, mut waiting) = (Facts::default(), Waiting::default());
        waiting.add(vec![dear, cheap], &facts);
        let due = |left| {
            let due = due(&waiting.in_turn(&facts), Cost { fuel: left, execs: u64::MAX }, (8, most));
            due.into_iter().map(|(_, cost)| cost.fuel).collect::<Vec<_>>()
        };
        assert_eq!(due(1 << 40), [most, needs[1]], "the youngest first");
        assert_eq!(due(needs.iter().sum::<u64>() + 8), [needs[0] + 4, needs[1]]);
        assert_eq!(due(needs[1]), [most.min(needs[1])]);
    }

    #[test]
    fn kinds_of_goals_share_what_is_spent() {
        let (facts, mut waiting) = (Facts::default(), Waiting::default());
        let much = (0..4).map(|site| hard(site, Effort::Much, 1));
        waiting.add(much.chain((4..8).map(|site| hard(site, Effort::Some, 1))).collect(), &facts);
        // One that needs much takes what three others need.
        let mut efforts = Vec::new();
        while let Some(next) = waiting.in_turn(&facts).first().map(|&hard| hard.clone()) {
            efforts.push(next.effort);
            waiting.remove(&next, if next.effort == Effort::Much { 3 } else { 1 });
        }
        assert_eq!(waiting.spent(), 4 + 4 * 3);
        let (some, much) = (Effort::Some, Effort::Much);
        assert_eq!(efforts, [some, much, some, some, some, much, much, much]);
    }
}
