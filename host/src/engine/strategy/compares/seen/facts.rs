//! What a campaign knows of comparisons: which outcomes were seen, and what was tried in vain.

use super::effort::{Effort, FAILED_MAX, TRIES_MAX};
use super::observed::{Observed, Operands, Place};
use super::table::{Table, key};
use crate::engine::learned::{Learned, Tried};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Comparisons with different operands at a site that are told apart, and ways to it.
const SITE_CELLS_MAX: u32 = 256;
const SITE_CONTEXTS_MAX: u32 = 256;
/// How often a comparison is tried in vain that one caller has seen to turn out otherwise and another has not, by
/// effort.
const CONTEXT_TRIES_MAX: [u32; Effort::COUNT] = [2, 0, 0];
/// All of them together.
const CELLS_MAX: usize = 1 << 18;
/// Of what was tried before this campaign, no more counts.
const COUNTED_MAX: u32 = 1 << 16;

/// What is known.
#[derive(Clone, Debug, Default)]
pub(in crate::engine) struct Facts {
    /// By place (for a `br_table` whatever the occurrence) and one of the operands: a comparison with a constant is the
    /// same one whatever the other operand is.
    cells: Table<Cell>,
    sites: Table<Site>,
    /// How often all was given up, and begun again: everything may be tried as often once more.
    passes: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    spot: Spot,
    outcomes: Outcomes,
    tries: [u32; Effort::COUNT],
}

/// What a cell is of.
#[derive(Clone, Copy, Debug, Default)]
struct Spot {
    site: u32,
    /// Occurrence and target.
    place: u64,
    operand: u64,
}

impl Spot {
    fn key(self) -> u64 {
        key([self.site.into(), self.place, self.operand])
    }

    /// Whether it is one of [`context_spot`].
    fn is_context(self) -> bool {
        self.place > u64::MAX - u64::from(u32::MAX)
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Site {
    outcomes: Outcomes,
    cells: u32,
    contexts: u32,
    failed: [u32; Effort::COUNT],
    solved: u32,
    skipped: u32,
}

/// A bit for each outcome that was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Outcomes(u8);

impl Outcomes {
    const BOTH: Self = Self(3);

    fn has(self, outcome: bool) -> bool {
        self.0 & (1 << u8::from(outcome)) != 0
    }

    fn add(&mut self, outcome: bool) {
        self.0 |= 1 << u8::from(outcome);
    }
}

/// What is tried first: texts, a site where the outcome was never seen, one that was not tried often, and what comes
/// late in an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::engine::strategy::compares) struct Rank {
    is_number: bool,
    was_seen: bool,
    tried: u32,
    at: Reverse<usize>,
    /// Something was tried at the site before.
    pub(in crate::engine::strategy::compares) was_tried: bool,
}

/// Comparisons in the order in which they are tried: one of each site before the next one, since loops have many.
pub(in crate::engine::strategy::compares) fn in_turn(mut ranked: Vec<(Rank, &Observed)>) -> Vec<(Rank, &Observed)> {
    ranked.sort_unstable_by_key(|&(rank, _)| rank);
    let mut counts = BTreeMap::<u32, u32>::new();
    for (rank, observed) in &mut ranked {
        let count = counts.entry(observed.place.site).or_default();
        rank.tried += *count;
        *count += 1;
    }
    ranked.sort_unstable_by_key(|&(rank, _)| rank);
    ranked
}

/// A comparison's cells.
fn spots(observed: &Observed) -> [Spot; 2] {
    let Place { site, occurrence, target } = observed.place;
    let occurrence = if target == 0 { occurrence } else { 0 };
    let place = u64::from(occurrence) << 32 | u64::from(target);
    observed.operands.keys().map(|operand| Spot { site, place, operand })
}

/// The cell of a comparison whatever its operands are, as it is reached from some place.
fn context_spot(observed: &Observed) -> Spot {
    let Place { site, target, .. } = observed.place;
    Spot { site, place: u64::MAX - u64::from(target), operand: observed.context }
}

/// All cells that note what becomes of a comparison.
fn all_spots(observed: &Observed) -> [Spot; 3] {
    let [one, other] = spots(observed);
    [context_spot(observed), one, other]
}

/// The keys of a comparison's cells by operand.
fn cells(observed: &Observed) -> [u64; 2] {
    spots(observed).map(Spot::key)
}

/// The key of a site.
fn site_key(site: u32) -> u64 {
    key([site.into(), 0, 0])
}

/// What is wanted of a comparison, if anything is.
fn wanted(observed: &Observed) -> Option<bool> {
    // Elsewhere than at a boundary is anywhere.
    observed.operands.wanted().filter(|&wanted| wanted || !observed.place.is_boundary())
}

/// What is known of a comparison: of its site, as it is reached from where it is, and with its operands.
struct Entry<'f> {
    site: Option<&'f Site>,
    context: Option<&'f Cell>,
    own: [Option<&'f Cell>; 2],
}

impl Facts {
    /// Whether it is worth trying to let a comparison turn out the other way: nobody has seen that with one of its
    /// operands, and it was not tried too often. `at` says where in its execution it is.
    pub(in crate::engine::strategy::compares) fn rank(
        &self,
        observed: &Observed,
        at: usize,
        effort: Effort,
    ) -> Option<Rank> {
        let wanted = wanted(observed)?;
        self.rank_of((observed, wanted), &self.entry(observed), at, effort)
    }

    /// As [`Facts::knows`], and [`Facts::rank`] for little effort.
    pub(in crate::engine::strategy::compares) fn look(&self, observed: &Observed, at: usize) -> (bool, Option<Rank>) {
        let entry = self.entry(observed);
        let rank = wanted(observed).and_then(|wanted| self.rank_of((observed, wanted), &entry, at, Effort::Little));
        (self.knows_of(observed, &entry), rank)
    }

    fn rank_of(
        &self,
        (observed, wanted): (&Observed, bool),
        entry: &Entry<'_>,
        at: usize,
        effort: Effort,
    ) -> Option<Rank> {
        let level = effort as usize;
        let site = entry.site.copied().unwrap_or_default();
        let mut known = entry.own.into_iter().flatten();
        // Of what is compared with ever other things, which find no room, only where that is done tells anything.
        let was_met = known.clone().any(|cell| cell.outcomes.has(wanted))
            || known.clone().next().is_none() && self.is_full(&site, false);
        let more = 1 + self.passes;
        let was_tried = known.any(|cell| cell.tries[level] >= TRIES_MAX[level].saturating_mul(more));
        let is_tired = site.failed[level] >= FAILED_MAX[level].saturating_mul(more + site.solved);
        // What many call, as what reads the next bytes, compares for each of them: what one has met the next has not,
        // and what can't be reached for one can for the next.
        let is_new_here = |cell: &Cell| !cell.outcomes.has(wanted) && cell.tries[level] < CONTEXT_TRIES_MAX[level];
        let may_be_new = || CONTEXT_TRIES_MAX[level] > 0 && !self.is_full(&site, true);
        let is_new = entry.context.map_or_else(may_be_new, is_new_here);
        if (was_met || was_tried || is_tired) && !is_new {
            return None;
        }
        // That what is equal can be unequal is seen at once; and what is unequal is no other thing for being compared
        // with something else.
        let was_seen = site.outcomes.has(wanted);
        if observed.operands.are_same() && was_seen {
            return None;
        }
        let is_number = matches!(observed.operands, Operands::Numbers { .. });
        let tried = site.failed[level] + site.skipped + site.solved;
        Some(Rank { is_number, was_seen, tried, at: Reverse(at), was_tried: tried > 0 })
    }

    /// Lets everything be tried again, with other inputs; returns for which time.
    pub(in crate::engine::strategy::compares) fn begin_again(&mut self) -> u32 {
        self.passes = self.passes.saturating_add(1);
        self.passes
    }

    /// Forgets how often was tried in vain what `all` know to turn out either way.
    pub(in crate::engine::strategy::compares) fn forget_tries(&mut self, all: &Self) {
        let is_met = |site: u32| all.sites.get(site_key(site)).is_some_and(|site| site.outcomes == Outcomes::BOTH);
        for cell in self.cells.values_mut().filter(|cell| is_met(cell.spot.site)) {
            self.sites.entry(site_key(cell.spot.site)).failed = [0; Effort::COUNT];
            cell.tries = [0; Effort::COUNT];
        }
    }

    /// How often all was given up.
    pub(in crate::engine::strategy::compares) fn passes(&self) -> u32 {
        self.passes
    }

    /// How often something at a comparison's site was tried in vain.
    pub(in crate::engine::strategy::compares) fn failed(&self, observed: &Observed, effort: Effort) -> u32 {
        self.sites.get(site_key(observed.place.site)).map_or(0, |site| site.failed[effort as usize])
    }

    /// Whether what is wanted of a comparison was met at its site, with whatever operands.
    pub(in crate::engine::strategy::compares) fn met(&self, observed: &Observed) -> bool {
        let site = self.sites.get(site_key(observed.place.site)).copied().unwrap_or_default();
        observed.operands.wanted().is_some_and(|wanted| site.outcomes.has(wanted))
    }

    /// Whether it is known, or can't be kept, that a comparison turned out as it did: most turn out as they did before.
    pub(in crate::engine::strategy::compares) fn knows(&self, observed: &Observed) -> bool {
        self.knows_of(observed, &self.entry(observed))
    }

    fn knows_of(&self, observed: &Observed, entry: &Entry<'_>) -> bool {
        let outcome = observed.operands.outcome();
        let Some(site) = entry.site else { return false };
        let knows = |cell: Option<&Cell>, is_context| {
            cell.map_or(self.is_full(site, is_context), |cell| cell.outcomes.has(outcome))
        };
        site.outcomes.has(outcome) && knows(entry.context, true) && entry.own.into_iter().all(|cell| knows(cell, false))
    }

    /// What is known of a comparison.
    fn entry(&self, observed: &Observed) -> Entry<'_> {
        let site = self.sites.get(site_key(observed.place.site));
        // Where nothing is known of a site there is nothing of its comparisons.
        let cell = |spot: Spot| site.and_then(|_| self.cells.get(spot.key()));
        Entry { site, context: cell(context_spot(observed)), own: spots(observed).map(cell) }
    }

    /// Notes how a comparison turned out.
    pub(in crate::engine::strategy::compares) fn saw(&mut self, observed: &Observed) {
        let outcome = observed.operands.outcome();
        self.site(observed.place.site).outcomes.add(outcome);
        for spot in all_spots(observed) {
            if let Some(cell) = self.cell(spot) {
                cell.outcomes.add(outcome);
            }
        }
    }

    /// Notes that it was tried to let a comparison turn out the other way, and whether that succeeded.
    pub(in crate::engine::strategy::compares) fn tried(&mut self, observed: &Observed, effort: Effort, solved: bool) {
        let site = self.site(observed.place.site);
        if solved {
            site.solved += 1;
            return;
        }
        site.failed[effort as usize] += 1;
        self.tire(observed, effort);
    }

    /// Notes that nothing in an input changes the operands of a comparison: others at the site come later.
    pub(in crate::engine::strategy::compares) fn skip(&mut self, observed: &Observed, effort: Effort) {
        self.site(observed.place.site).skipped += 1;
        self.tire(observed, effort);
    }

    fn tire(&mut self, observed: &Observed, effort: Effort) {
        for spot in all_spots(observed) {
            if let Some(cell) = self.cell(spot) {
                cell.tries[effort as usize] = cell.tries[effort as usize].saturating_add(1);
            }
        }
    }

    /// Adds what was tried in vain to what the next campaign begins with, but for goals that wait for more effort: what
    /// was found out about them is not kept, so they are tried from the beginning.
    pub(in crate::engine::strategy::compares) fn tell<'a>(
        &self,
        waiting: impl Iterator<Item = &'a Observed>,
        learned: &mut Learned,
    ) {
        let waiting: BTreeSet<_> = waiting.flat_map(cells).collect();
        for (key, cell) in self.cells.iter() {
            if cell.tries != [0; Effort::COUNT] && !waiting.contains(key) {
                let Spot { site, place, operand } = cell.spot;
                learned.comparisons.insert((site, place, operand), cell.tries);
                let Site { failed, solved, skipped, .. } = *self.sites.get(site_key(site)).expect("cells have sites");
                learned.sites.insert(site, Tried { failed, solved, skipped });
            }
        }
    }

    /// Begins with what was tried in vain before this campaign, as if it had been once: when there is nothing else left
    /// all is tried again.
    pub(in crate::engine::strategy::compares) fn go_on(&mut self, learned: &Learned) {
        for (&site, tried) in &learned.sites {
            let own = self.site(site);
            own.solved = tried.solved.min(COUNTED_MAX);
            own.skipped = tried.skipped.min(COUNTED_MAX);
            for (level, failed) in tried.failed.into_iter().enumerate() {
                own.failed[level] = failed.min(FAILED_MAX[level].saturating_mul(1 + own.solved));
            }
        }
        // Changed functions need room, too.
        for (&(site, place, operand), tries) in learned.comparisons.iter().take(CELLS_MAX / 4) {
            if let Some(cell) = self.cell(Spot { site, place, operand }) {
                cell.tries = std::array::from_fn(|level| tries[level].min(TRIES_MAX[level]));
            }
        }
    }

    /// Adds what a task learned.
    pub(in crate::engine::strategy::compares) fn merge(&mut self, other: Facts) {
        for (key, site) in other.sites {
            let own = self.sites.entry(key);
            own.outcomes.0 |= site.outcomes.0;
            own.solved += site.solved;
            own.skipped += site.skipped;
            own.failed.iter_mut().zip(site.failed).for_each(|(own, failed)| *own += failed);
        }
        for (_, cell) in other.cells {
            if let Some(own) = self.cell(cell.spot) {
                own.outcomes.0 |= cell.outcomes.0;
                own.tries.iter_mut().zip(cell.tries).for_each(|(own, tries)| *own = own.saturating_add(tries));
            }
        }
    }

    fn site(&mut self, site: u32) -> &mut Site {
        self.sites.entry(site_key(site))
    }

    /// Whether there is no room for another cell at a site: for one of a context, or of an operand.
    fn is_full(&self, site: &Site, is_context: bool) -> bool {
        let is_crowded = if is_context { site.contexts >= SITE_CONTEXTS_MAX } else { site.cells >= SITE_CELLS_MAX };
        is_crowded || self.cells.len() >= CELLS_MAX
    }

    /// A cell of a site, new if there is room for it.
    fn cell(&mut self, spot: Spot) -> Option<&mut Cell> {
        let key = spot.key();
        if self.cells.get(key).is_none() {
            let site = *self.site(spot.site);
            if self.is_full(&site, spot.is_context()) {
                return None;
            }
            let own = self.site(spot.site);
            *(if spot.is_context() { &mut own.contexts } else { &mut own.cells }) += 1;
        }
        let cell = self.cells.entry(key);
        cell.spot = spot;
        Some(cell)
    }
}

#[cfg(test)]
mod tests {
    use super::super::observed::tests::compare;
    use super::*;

    #[test]
    fn a_constant_that_was_met_is_no_goal_whatever_it_is_compared_with() {
        let mut facts = Facts::default();
        let goal = |facts: &Facts, left| facts.rank(&compare(1, left, 7), 0, Effort::Little).is_some();
        assert!(goal(&facts, 3));
        facts.saw(&compare(1, 3, 7));
        assert!(goal(&facts, 4));
        facts.saw(&compare(1, 7, 7));
        assert!(!goal(&facts, 4));
        assert!(facts.rank(&compare(1, 4, 8), 0, Effort::Little).is_some(), "another constant at the same site");
    }

    #[test]
    fn what_one_caller_has_met_another_has_not() {
        let by = |context, left| Observed { context, ..compare(1, left, 7) };
        let goal = |facts: &Facts, context| facts.rank(&by(context, 3), 0, Effort::Little).is_some();
        let mut facts = Facts::default();
        [by(1, 3), by(1, 7), by(2, 3)].iter().for_each(|observed| facts.saw(observed));
        assert!(!goal(&facts, 1) && goal(&facts, 2) && goal(&facts, 3));
        assert!(facts.knows(&by(2, 3)) && !facts.knows(&by(2, 7)) && !facts.knows(&by(3, 3)));
        for _ in 0..CONTEXT_TRIES_MAX[0] {
            assert!(goal(&facts, 2));
            facts.tried(&by(2, 3), Effort::Little, false);
        }
        assert!(!goal(&facts, 2) && goal(&facts, 3), "it is tried less often than what nobody has met");
        facts.saw(&by(3, 7));
        assert!(!goal(&facts, 3));
        assert_eq!(facts.rank(&by(4, 3), 0, Effort::Some), None, "more effort is not for what was met");
    }

    #[test]
    fn what_was_seen_is_known_and_so_is_what_finds_no_room() {
        let mut facts = Facts::default();
        assert!(!facts.knows(&compare(1, 3, 7)));
        facts.saw(&compare(1, 3, 7));
        assert!(facts.knows(&compare(1, 3, 7)));
        assert!(!facts.knows(&compare(1, 7, 7)), "it turned out otherwise");
        assert!(!facts.knows(&compare(1, 3, 8)) && !facts.knows(&compare(2, 3, 7)));
        for operand in 0..u64::from(SITE_CELLS_MAX) {
            facts.saw(&compare(1, operand << 8, 7));
        }
        assert!(facts.knows(&compare(1, 1 << 40, 7)));
    }

    #[test]
    fn what_fails_retires_and_much_effort_is_counted_by_itself() {
        let mut facts = Facts::default();
        let observed = compare(1, 3, 7);
        for _ in 0..TRIES_MAX[0] {
            assert!(facts.rank(&observed, 0, Effort::Little).is_some());
            facts.tried(&observed, Effort::Little, false);
        }
        assert_eq!(facts.rank(&observed, 0, Effort::Little), None);
        assert!(facts.rank(&observed, 0, Effort::Much).is_some());
        let mut again = facts.clone();
        again.begin_again();
        assert!(again.rank(&observed, 0, Effort::Little).is_some());
        for constant in 0..u64::from(FAILED_MAX[0]) {
            facts.tried(&compare(2, 1 << 20 | constant, 1 << 30 | constant), Effort::Little, false);
        }
        assert_eq!(facts.rank(&compare(2, 1, 2), 0, Effort::Little), None, "the site has retired");
        let elsewhere = Observed { context: 1, ..compare(2, 1, 2) };
        assert!(facts.rank(&elsewhere, 0, Effort::Little).is_some(), "but not for those that were not tried");
        (0..CONTEXT_TRIES_MAX[0]).for_each(|_| facts.tried(&elsewhere, Effort::Little, false));
        assert_eq!(facts.rank(&elsewhere, 0, Effort::Little), None);
    }
}
