//! Inputs that come near to what nobody has seen: of each comparison that always turned out the same way, and of each
//! level that it was seen at, the shortest input.
//!
//! One input per comparison, the nearest, would do where each step leads nearer. Where it doesn't (a number has to
//! become larger before it can be divided, brackets have to be opened before they can be closed), what is farther away,
//! but otherwise, leads on.

use super::seen::nearness::{Level, levels};
use super::seen::observed::Operands;
use crate::engine::rng::Rng;
use fuzzbox_instrument::trace::Trace;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Inputs that are kept at most, and their bytes.
const INPUTS_MAX: usize = 1 << 16;
const BYTES_MAX: usize = 64 << 20;
/// A site weighs so much, and half of that after each so many mutants for it by which nothing came nearer.
const WEIGHT: u64 = 1 << 10;
const PATIENCE: u64 = 256;
/// Half of the mutants for a site are of one of so many inputs that come nearest.
const NEAREST: usize = 2;

/// What is known of the comparisons at a site.
#[derive(Clone, Debug, Default)]
struct Site {
    /// A bit for each outcome that was seen, or both if it is given up.
    outcomes: u8,
    levels: BTreeMap<Level, Arc<[u8]>>,
    /// Mutants that were made for it since something came nearer.
    tries: u64,
}

impl Site {
    /// Whether it is to turn out otherwise.
    fn is_open(&self) -> bool {
        self.outcomes.count_ones() < 2
    }

    fn weight(&self) -> u64 {
        if self.levels.is_empty() { 0 } else { (WEIGHT >> (self.tries / PATIENCE).min(63)).max(1) }
    }

    fn bytes(&self) -> usize {
        self.levels.values().map(|input| input.len()).sum()
    }
}

/// All that is kept.
#[derive(Debug, Default)]
pub(super) struct Nearest {
    sites: BTreeMap<u32, Site>,
    inputs: usize,
    bytes: usize,
}

/// What a task found.
#[derive(Debug, Default)]
pub(super) struct Found {
    outcomes: BTreeMap<u32, u8>,
    levels: BTreeMap<(u32, Level), Arc<[u8]>>,
    /// What came nearer, and at which sites.
    nearer: Vec<(u32, Arc<[u8]>)>,
    /// Mutants by site, since something came nearer.
    tries: BTreeMap<u32, u64>,
}

/// Sites whose turn it may be, each with the sum of the weights up to it.
#[derive(Debug, Default)]
pub(super) struct Turns(Vec<(u64, u32)>);

impl Nearest {
    pub(super) fn is_empty(&self) -> bool {
        self.inputs == 0
    }

    pub(super) fn turns(&self) -> Turns {
        let weights = self.sites.iter().map(|(&site, known)| (known.weight(), site)).filter(|&(weight, _)| weight > 0);
        let sums = weights.scan(0, |sum, (weight, site)| {
            *sum += weight;
            Some((*sum, site))
        });
        Turns(sums.collect())
    }

    /// Up to so many of its inputs, from all sites.
    pub(super) fn some(&self, count: usize) -> impl Iterator<Item = &Arc<[u8]>> {
        let all = self.sites.values().flat_map(|site| site.levels.values());
        all.step_by(self.inputs.div_ceil(count).max(1))
    }

    /// An input to be mutated, and the site for which: every second time what a task found itself.
    pub(super) fn pick(&self, turns: &Turns, found: &Found, rng: &mut Rng) -> Option<(u32, Arc<[u8]>)> {
        if !found.nearer.is_empty() && rng.one_in(2) {
            return Some(rng.pick(&found.nearer).clone());
        }
        let &(total, _) = turns.0.last()?;
        let point = rng.below(usize::try_from(total).expect("weights are small")) as u64;
        let (_, site) = turns.0[turns.0.partition_point(|&(sum, _)| sum <= point)];
        let levels = &self.sites[&site].levels;
        let near = levels.keys().take_while(|level| level.is_distance()).take(NEAREST).count();
        let among = if near > 0 && rng.one_in(2) { near } else { levels.len() };
        levels.values().nth(rng.below(among)).map(|input| (site, input.clone()))
    }

    /// Notes what the execution of an input compared that was made for a site, if it was made.
    pub(super) fn note(&self, (made_for, input): (Option<u32>, &[u8]), trace: &Trace, found: &mut Found) {
        let mut own: Option<Arc<[u8]>> = None;
        let nearer = found.nearer.len();
        for record in &trace.records {
            let known = self.sites.get(&record.site);
            if known.is_some_and(|known| !known.is_open()) {
                continue;
            }
            let Some(operands) = Operands::of(&record.event) else { continue };
            let outcomes = found.outcomes.entry(record.site).or_default();
            *outcomes |= 1 << u8::from(operands.outcome());
            if (*outcomes | known.map_or(0, |known| known.outcomes)).count_ones() > 1 {
                continue;
            }
            for level in levels(&operands) {
                let place = (record.site, level);
                let before = found.levels.get(&place).or_else(|| known?.levels.get(&level));
                if before.is_some_and(|before| before.len() <= input.len()) {
                    continue;
                }
                let own = own.get_or_insert_with(|| input.into());
                if before.is_none() {
                    found.nearer.push((record.site, own.clone()));
                }
                found.levels.insert(place, own.clone());
            }
        }
        if let Some(site) = made_for {
            let came_nearer = found.nearer[nearer..].iter().any(|&(other, _)| other == site);
            let tries = found.tries.entry(site).or_default();
            *tries = if came_nearer { 0 } else { *tries + 1 };
        }
    }

    /// Takes what a task found.
    pub(super) fn take(&mut self, found: Found) {
        let Found { outcomes, levels, tries, nearer: _ } = found;
        for (site, tries) in tries {
            self.sites.entry(site).or_default().tries += tries;
        }
        for (site, outcomes) in outcomes {
            let known = self.sites.entry(site).or_default();
            known.outcomes |= outcomes;
            if !known.is_open() {
                self.close(site);
            }
        }
        for ((site, level), input) in levels {
            self.keep(site, level, input);
        }
    }

    /// Keeps an input, if there is none that is as short, and forgets others if there is no room.
    fn keep(&mut self, site: u32, level: Level, input: Arc<[u8]>) {
        let known = self.sites.entry(site).or_default();
        if !known.is_open() || known.levels.get(&level).is_some_and(|before| before.len() <= input.len()) {
            return;
        }
        self.bytes += input.len();
        match known.levels.insert(level, input) {
            Some(before) => self.bytes -= before.len(),
            None => {
                known.tries = 0;
                self.inputs += 1;
            }
        }
        while self.inputs > INPUTS_MAX || self.bytes > BYTES_MAX {
            // What was tried most is given up.
            let all = self.sites.iter().filter(|(_, known)| !known.levels.is_empty());
            let Some((&site, _)) = all.max_by_key(|(_, known)| (known.tries, known.bytes())) else { break };
            self.close(site);
        }
    }

    /// Nothing more is wanted of a site.
    fn close(&mut self, site: u32) {
        let known = self.sites.entry(site).or_default();
        self.inputs -= known.levels.len();
        self.bytes -= known.bytes();
        *known = Site { outcomes: 3, ..Site::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fuzzbox_instrument::trace::{Comparison, Event, Record};

    /// An execution that asks at each of some sites whether a number is less than another one.
    fn trace(compared: &[(u32, u64, u64)]) -> Trace {
        let record = |&(site, left, right): &(u32, u64, u64)| {
            let event = Event::Compare { comparison: Comparison::LtU, float: false, width: 4, left, right };
            Record { site, event }
        };
        Trace { records: compared.iter().map(record).collect(), ..Trace::default() }
    }

    /// Takes what an input shows.
    fn take(nearest: &mut Nearest, input: &[u8], compared: &[(u32, u64, u64)]) {
        let mut found = Found::default();
        nearest.note((None, input), &trace(compared), &mut found);
        nearest.take(found);
    }

    /// The inputs for a site.
    fn inputs(nearest: &Nearest, site: u32) -> Vec<&[u8]> {
        nearest.sites.get(&site).map_or_else(Vec::new, |known| known.levels.values().map(|input| &**input).collect())
    }

    #[test]
    fn of_each_level_the_shortest_stays_until_the_comparison_turns_out_otherwise() {
        let mut nearest = Nearest::default();
        take(&mut nearest, b"one", &[(7, 1, 6), (8, 1, 6)]);
        take(&mut nearest, b"two", &[(7, 2, 6)]);
        take(&mut nearest, b"also two", &[(7, 2, 6)]);
        take(&mut nearest, b"1", &[(7, 1, 6)]);
        assert_eq!(inputs(&nearest, 7), [&b"two"[..], b"1"]);
        assert_eq!((nearest.inputs, nearest.bytes), (3, 3 + 1 + 3));
        take(&mut nearest, b"six", &[(7, 6, 6)]);
        take(&mut nearest, b"", &[(7, 3, 6)]);
        assert_eq!((inputs(&nearest, 7).len(), inputs(&nearest, 8).len()), (0, 1));
        assert_eq!((nearest.inputs, nearest.bytes), (1, 3));
    }

    #[test]
    fn sites_by_which_nothing_comes_nearer_have_fewer_turns() {
        let mut nearest = Nearest::default();
        take(&mut nearest, b"both", &[(7, 1, 6), (8, 1, 6)]);
        for _ in 0..4 * PATIENCE {
            let mut found = Found::default();
            nearest.note((Some(7), b"other"), &trace(&[]), &mut found);
            nearest.take(found);
        }
        let (turns, found, mut rng) = (nearest.turns(), Found::default(), Rng::of_task(1, 0, 0));
        let mut count =
            |site| (0..1_000).filter(|_| nearest.pick(&turns, &found, &mut rng).is_some_and(|it| it.0 == site)).count();
        let (tired, fresh) = (count(7), count(8));
        assert!(tired > 0 && tired < fresh / 8, "{tired} {fresh}");
    }

    #[test]
    fn what_was_tried_most_is_given_up_where_there_is_no_room() {
        let mut nearest = Nearest::default();
        take(&mut nearest, b"tired", &[(1 << 20, 1, 6)]);
        nearest.sites.get_mut(&(1 << 20)).unwrap().tries = 1;
        for site in 0..INPUTS_MAX as u32 {
            take(&mut nearest, b"x", &[(site, 1, 6)]);
        }
        assert_eq!((nearest.inputs, nearest.bytes), (INPUTS_MAX, INPUTS_MAX));
        take(&mut nearest, b"tired", &[(1 << 20, 2, 6)]);
        assert_eq!((nearest.inputs, inputs(&nearest, 1 << 20).len()), (INPUTS_MAX, 0));
    }
}
