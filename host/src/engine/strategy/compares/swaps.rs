//! Swaps numbers and texts of testcases for what they were compared with, where they lie there as they are.
//!
//! Looking for what a comparison depends on takes hundreds of executions where all is recorded, and of what is long or
//! slow few testcases are ever looked at. Here each is executed there once. Where one of two operands lies in it as it
//! is, the other is written, and what that makes is executed as all mutants are, in a fraction of the time. So what a
//! place leads to is guessed, and most of it is wrong, but there is much more of it. (RedQueen's input-to-state
//! replacement without colourising; Aschermann et al., NDSS 2019, section III.A.)
//!
//! What is compared in a switch is swapped for all of its cases, also those that this execution did not come to.

use super::super::allowance::{Allowance, Terms};
use super::super::traced::{self, SLOWNESS};
use super::super::{Cost, Gains, Spent, Strategy, View};
use super::input::encodings::{field, text, turning};
use super::input::windows::{Windows, firsts};
use super::seen::effort::Effort;
use super::seen::facts::{Facts, in_turn};
use super::seen::number::{Number, significant_bytes};
use super::seen::observed::{Matching, Observed, Operands, observe};
use crate::engine::corpus::Corpus;
use crate::engine::dictionary::{Base, Dictionary};
use crate::engine::suspects::Origin;
use crate::engine::workers::report::Report;
use crate::engine::workers::worker::Worker;
use crate::stream::Rule;
use anyhow::Result;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// What is free is some tenths of a second.
const TERMS: Terms = Terms { free: 1 << 29, share_min: 48, share_max: 4, share_stuck: 32 };
/// Testcases of a round, at most.
const TASKS_MAX: usize = 32;
/// Executions of a task: of the testcase, and of what is made of it.
const TASK_EXECS: u64 = 1 + SWAPS_MAX as u64;
const SWAPS_MAX: usize = 255;
/// Swaps of a task for comparisons where something was swapped before. (Of libtiff, libpng and Lua they were two thirds
/// of all swaps and brought a fifth of the edges.)
const AGAIN_MAX: usize = 16;
/// Swaps of a task after which no cases of switches are swapped any more.
const SWITCHED_MAX: usize = 128;
/// How often the cases of a switch are swapped in vain.
const SWITCH_TRIES_MAX: u32 = 3;
/// An execution where all is recorded takes so many times the fuel that others take, as long as it isn't known.
const TRACED_FUEL: u64 = 16;
/// Fuel that each comparison takes beside what recording takes: to see whether it is worth it, where nothing else is
/// done with most of them.
const COMPARISON_FUEL: u64 = 256;
/// Comparisons of a testcase that are looked for in it.
const GOALS_MAX: usize = 512;
/// What lies in more places is looked for in none, by how many of its bytes are not zero: one, or more.
const PLACES_MAX: [usize; 2] = [4, 12];
/// The longest text, in bytes.
const TEXT_BYTES_MAX: usize = 32;

/// What is known, and which testcases nothing was swapped in.
#[derive(Debug, Default)]
pub(in crate::engine) struct Swaps {
    /// Testcases, by index: those that show new edges first, of these the youngest.
    queue: BTreeSet<(bool, Reverse<usize>)>,
    /// What is known of comparisons: megabytes, which tasks borrow.
    facts: Facts,
    /// How often the cases of a switch were swapped in vain.
    switches: BTreeMap<u32, u32>,
    allowance: Allowance,
    /// Tasks that were executed, and fuel that they took.
    tasks: u64,
    spent: u64,
}

/// A testcase.
#[derive(Debug)]
pub(in crate::engine) struct Swapping {
    queued: (bool, Reverse<usize>),
}

/// What a task learned, and the fuel that it took.
#[derive(Debug, Default)]
pub(in crate::engine) struct Swapped {
    facts: Facts,
    /// Whose cases were swapped in vain.
    switches: BTreeSet<u32>,
    spent: u64,
}

impl Swaps {
    /// Fuel that a task takes, about.
    fn task_fuel(&self, view: &View<'_>) -> u64 {
        self.spent.checked_div(self.tasks).unwrap_or_else(|| most_fuel(view.fuel_mean)).max(1)
    }
}

/// Fuel that a task takes at most where an execution takes so much, and believed to take as long as there was none.
fn most_fuel(execution: u64) -> u64 {
    (TRACED_FUEL * SLOWNESS + TASK_EXECS).saturating_mul(execution)
}

impl Strategy for Swaps {
    type Task = Swapping;
    type Learned = Swapped;

    fn plan(&self, view: &View<'_>, execs: u64) -> Vec<Swapping> {
        // What is made of draws, or by the guest, does not lie in its input.
        let is_made = view.variants.metered.takes_choices() || view.variants.custom.is_some();
        if view.variants.traced.is_none() || is_made {
            return Vec::new();
        }
        let left = self.allowance.total(&TERMS, view.fuel).saturating_sub(self.spent);
        let affordable = (left / self.task_fuel(view)).min(execs / TASK_EXECS);
        let count = usize::try_from(affordable).unwrap_or(usize::MAX).min(TASKS_MAX).min(self.queue.len());
        // What was found now, and what waits for longest.
        let (young, old) = (self.queue.iter().take(count.div_ceil(2)), self.queue.iter().rev().take(count / 2));
        young.chain(old).map(|&queued| Swapping { queued }).collect()
    }

    /// What makes as many as it may takes several times what others do: who begins with it last makes all others wait.
    fn cost(&self, task: &Swapping, view: &View<'_>) -> Cost {
        let (_, Reverse(index)) = task.queued;
        Cost { execs: TASK_EXECS, fuel: most_fuel(view.corpus.testcases()[index].fuel.max(view.fuel_mean)) }
    }

    fn run(&self, task: &Swapping, view: &View<'_>, worker: &mut Worker, report: &mut Report) -> Result<Swapped> {
        let (_, Reverse(index)) = task.queued;
        let input = &view.corpus.testcases()[index].bytes;
        let mut learned = Swapped::default();
        let (_, observation) = worker.execute_traced(view.variants, view.known, (input, &Rule::default()), report)?;
        let trace = observation.trace();
        learned.spent = (traced::EXECUTION_FUEL + traced::fuel(observation.fuel(), &trace)).saturating_mul(SLOWNESS);
        let observed = observe(&trace, false, |_| true);
        learned.spent += COMPARISON_FUEL * observed.len() as u64;
        let mut goals = Vec::new();
        for (at, observed) in observed.iter().enumerate() {
            let (is_known, rank) = self.facts.look(observed, at);
            if !is_known {
                learned.facts.saw(observed);
            }
            goals.extend(rank.map(|rank| (rank, observed)));
        }
        let windows = Windows::new(input);
        let mut making = Making { view, input, made: BTreeSet::new() };
        for (switch, swaps) in of_switches(view.mutator.dictionary(), &windows, &observed, &self.switches) {
            // What finds no room now is not tried in vain.
            let has_room = making.made.len() < SWITCHED_MAX;
            if has_room && !making.execute(swaps, SWITCHED_MAX, worker, report)? {
                learned.switches.insert(switch);
            }
        }
        let (mut again, mut met, firsts) = (0, BTreeSet::new(), firsts(&windows, &observed));
        for (rank, goal) in in_turn(goals).into_iter().take(GOALS_MAX) {
            let site = goal.place.offset();
            let base = view.mutator.dictionary().base(site);
            let seen = || Some(Base { taken: *firsts.get(&site)?, turned: 0 });
            let swaps = swaps(&windows, &goal.operands, base.or_else(seen).unwrap_or_default());
            if swaps.is_empty() {
                continue;
            }
            // The cases of a switch are different things.
            let is_again = rank.was_tried || !met.insert((goal.place.site, goal.place.target));
            if making.made.len() >= SWAPS_MAX || is_again && again >= AGAIN_MAX {
                continue;
            }
            again += if is_again { swaps.len() } else { 0 };
            let is_solved = making.execute(swaps, SWAPS_MAX, worker, report)?;
            learned.facts.tried(goal, Effort::Little, is_solved);
        }
        // What these took really depends on which variant is ready.
        learned.spent = learned.spent.saturating_add(view.fuel_mean.saturating_mul(making.made.len() as u64));
        Ok(learned)
    }

    fn learn(&mut self, task: Swapping, learned: Swapped, _: Spent, _: &mut Corpus) {
        self.queue.remove(&task.queued);
        self.tasks += 1;
        self.spent = self.spent.saturating_add(learned.spent);
        self.facts.merge(learned.facts);
        learned.switches.into_iter().for_each(|switch| *self.switches.entry(switch).or_default() += 1);
    }

    fn gained(&mut self, own: Gains, mutants: Gains) {
        self.allowance.brought(mutants, own.edges);
    }

    fn settled(&mut self, testcase: usize, has_edges: bool) {
        self.queue.insert((!has_edges, Reverse(testcase)));
    }
}

/// What is made of an input.
struct Making<'a> {
    view: &'a View<'a>,
    input: &'a [u8],
    made: BTreeSet<Swap>,
}

impl Making<'_> {
    /// Executes what some swaps make, as long as no more than `made_max` were made. Returns whether that showed
    /// anything.
    fn execute(&mut self, swaps: Vec<Swap>, made_max: usize, worker: &mut Worker, report: &mut Report) -> Result<bool> {
        let (view, testcases) = (self.view, report.testcases.len());
        for swap in swaps {
            let swap = shortest(self.input, swap);
            if self.made.len() < made_max && self.made.insert(swap.clone()) {
                worker.input.clear();
                worker.input.extend_from_slice(self.input);
                worker.input.splice(swap.0..swap.1, swap.2);
                worker.input.truncate(view.len_max.max(self.input.len()));
                worker.input.resize(worker.input.len().max(view.len_min), 0);
                worker.execute(view.variants, view.known, report)?;
                report.suspect_is(|| Origin::Given(worker.input.clone()));
            }
        }
        Ok(report.testcases.len() > testcases)
    }
}

/// For each switch that a number is compared in which lies in the input, as it is: all that lets it be another case.
fn of_switches(
    dictionary: &Dictionary,
    windows: &Windows<'_>,
    observed: &[Observed],
    tried: &BTreeMap<u32, u32>,
) -> BTreeMap<u32, Vec<Swap>> {
    let mut made = BTreeMap::new();
    for Observed { place, operands, .. } in observed.iter() {
        let Operands::Numbers { ty, sides: [left, _], .. } = operands else { continue };
        let Some((switch, cases)) = dictionary.switch(place.offset()) else { continue };
        if made.contains_key(&switch) || tried.get(&switch).is_some_and(|&tries| tries >= SWITCH_TRIES_MAX) {
            continue;
        }
        let own = dictionary.base(place.offset()).unwrap_or_default().number(*left, ty.bits());
        // Most lie nowhere, which need not be found out for each case.
        let mut same = Vec::new();
        of_numbers(windows, *ty, (own, own), &mut same);
        if own < Dictionary::CASE_MIN || same.is_empty() {
            continue;
        }
        let mut swaps = Vec::new();
        let others = cases.iter().filter(|&&case| case != own);
        others.for_each(|&case| of_numbers(windows, *ty, (own, case), &mut swaps));
        if !swaps.is_empty() {
            made.insert(switch, swaps);
        }
    }
    made
}

/// Where in an input, from and to, and what is written there.
type Swap = (usize, usize, Vec<u8>);

/// The same swap, of no more bytes than it changes.
fn shortest(input: &[u8], (start, end, bytes): Swap) -> Swap {
    let before = input[start..end].iter().zip(&bytes).take_while(|(one, other)| one == other).count();
    let (left, rest) = (&input[start + before..end], &bytes[before..]);
    let behind = left.iter().rev().zip(rest.iter().rev()).take_while(|(one, other)| one == other).count();
    (start + before, end - behind, rest[..rest.len() - behind].to_vec())
}

/// What may let operands compare otherwise, of which numbers are what is left of those that lie in the input.
fn swaps(windows: &Windows<'_>, operands: &Operands, base: Base) -> Vec<Swap> {
    let mut swaps = Vec::new();
    for side in 0..2 {
        match operands {
            Operands::Numbers { ty, sides, .. } => {
                if let Some(wanted) = turning(operands, side) {
                    let moved = |left: u64| if ty.is_float() { left } else { base.number(left, ty.bits()) };
                    of_numbers(windows, *ty, (moved(sides[side]), moved(wanted)), &mut swaps);
                }
            }
            // What is looked for lies anywhere, or nowhere.
            Operands::Bytes { matching: Matching::Within, .. } | Operands::Quads { .. } => {}
            Operands::Bytes { sides, .. } => of_texts(windows, (&sides[side], &sides[1 - side]), &mut swaps),
        }
    }
    swaps
}

/// Numbers in all widths that they have room in, in either byte order, and in digits.
fn of_numbers(windows: &Windows<'_>, ty: Number, (own, wanted): (u64, u64), swaps: &mut Vec<Swap>) {
    let significant = if ty.is_float() { 0 } else { significant_bytes(own) };
    for width in [1, 2, 3, 4, 8] {
        // What is wider than it must be has zeros before it; but fields of three bytes are few.
        let is_odd = width == 3 && significant != 3;
        if is_odd || !ty.is_float() && width > 4 * significant.max(1) {
            continue;
        }
        let Some((mut own, mut wanted)) = field(ty, own, width).zip(field(ty, wanted, width)) else { continue };
        let (own, wanted) = (&mut own[..width], &mut wanted[..width]);
        let nonzero = own.iter().filter(|byte| **byte != 0).count();
        if nonzero == 0 {
            continue;
        }
        let places_max = PLACES_MAX[usize::from(nonzero > 1)];
        at_few(windows, own, places_max, |at| swaps.push((at, at + width, wanted.to_vec())));
        if !own.iter().eq(own.iter().rev()) {
            own.reverse();
            wanted.reverse();
            at_few(windows, own, places_max, |at| swaps.push((at, at + width, wanted.to_vec())));
        }
    }
    if let Some(digits) = text(ty, own).filter(|digits| digits.len() > 1) {
        let mut to = None;
        at_few(windows, &digits, PLACES_MAX[1], |at| {
            let wanted = to.get_or_insert_with(|| text(ty, wanted));
            swaps.extend(wanted.iter().map(|wanted| (at, at + digits.len(), wanted.clone())));
        });
    }
}

/// Texts, over what is there and in its place.
fn of_texts(windows: &Windows<'_>, (own, wanted): (&[u8], &[u8]), swaps: &mut Vec<Swap>) {
    if own.len() < 2 || own.len() > TEXT_BYTES_MAX || wanted.is_empty() {
        return;
    }
    at_few(windows, own, PLACES_MAX[1], |at| {
        let over = (at + wanted.len()).min(windows.input.len());
        swaps.push((at, over, wanted.to_vec()));
        if own.len() != wanted.len() {
            swaps.push((at, at + own.len(), wanted.to_vec()));
        }
    });
}

/// Where some bytes lie, if that is in so many places at most.
fn at_few(windows: &Windows<'_>, bytes: &[u8], places_max: usize, visit: impl FnMut(usize)) {
    let places: Vec<_> = windows.places(bytes).take(places_max + 1).collect();
    if places.len() <= places_max {
        places.into_iter().for_each(visit);
    }
}

#[cfg(test)]
mod tests {
    use super::super::seen::observed::Place;
    use super::*;
    use fuzzbox_instrument::trace::Comparison;

    fn swapped(input: &[u8], operands: &Operands, taken: u64) -> Vec<Vec<u8>> {
        of_base(input, operands, Base { taken, turned: 0 })
    }

    fn of_base(input: &[u8], operands: &Operands, base: Base) -> Vec<Vec<u8>> {
        let made = |(start, end, bytes): Swap| {
            let mut made = input.to_vec();
            made.splice(start..end, bytes);
            made
        };
        swaps(&Windows::new(input), operands, base).into_iter().map(made).collect()
    }

    #[test]
    fn numbers_are_swapped_in_all_widths_and_orders() {
        let numbers =
            |left, right| Operands::Numbers { comparison: Comparison::Eq, ty: Number::I32, sides: [left, right] };
        assert_eq!(swapped(b"..\x01\x12..", &numbers(0x112, 0x213), 0), [b"..\x02\x13.."]);
        assert_eq!(swapped(b"..\x12\x01..", &numbers(0x213, 0x112), 0), [b"..\x13\x02.."]);
        assert_eq!(swapped(b"..\x01\x12..", &numbers(0x12, 0x13), 0x100), [b"..\x01\x13.."], "of a table");
        assert_eq!(swapped(b"..ABC..", &numbers(0x414243, 0x58595a), 0), [b"..XYZ.."], "of three bytes");
        assert!(swapped(b"..ABC..", &numbers(0x414243, 0x5758_595a), 0).is_empty());
        let turned = Base { taken: 0x3143_4c52, turned: 8 };
        assert_eq!(of_base(b"..5CLR..", &numbers(4, 2), turned), [b"..3CLR.."], "of a turned table");
        assert!(swapped(b"\0\0\0\0", &numbers(0, 7), 0).is_empty(), "zeros lie anywhere");
        assert!(swapped(b"7 17 27", &numbers(17, 5), 0).contains(&b"7 5 27".to_vec()));
        assert!(swapped(b"x\x05y\0\0\0\x05", &numbers(5, 1 << 20), 0).contains(&b"x\x05y\0\x10\0\0".to_vec()));
    }

    #[test]
    fn a_name_is_swapped_for_all_that_a_switch_tells_from_it() {
        let module = r#"(module (func (param i32)
            (drop (i32.gt_u (local.get 0) (i32.const 0x41414142)))
            (drop (i32.eq (local.get 0) (i32.const 0x41414141)))
            (drop (i32.eq (local.get 0) (i32.const 0x42424242)))
            (drop (i32.eq (local.get 0) (i32.const 0x43434343)))))"#;
        let module = wat::parse_str(module).unwrap();
        let dictionary = Dictionary::default().with_constants_of(&module);
        let site = (0..).find(|&at| dictionary.switch(at).is_some()).unwrap();
        let met = |left| Observed {
            place: Place { site, occurrence: 0, target: 0 },
            context: 0,
            operands: Operands::Numbers { comparison: Comparison::GtU, ty: Number::I32, sides: [left, 0x4141_4142] },
        };
        let made = |left, tries: u32| {
            let tried = BTreeMap::from([(0, tries)]);
            let of = of_switches(&dictionary, &Windows::new(b"..BBBB.."), &[met(left)], &tried);
            of.into_values().flatten().collect::<Vec<_>>()
        };
        assert_eq!(made(0x4242_4242, 0), [(2, 6, b"AAAA".to_vec()), (2, 6, b"CCCC".to_vec())]);
        assert!(made(0x4141_4141, 0).is_empty(), "it lies nowhere");
        assert!(made(0x4242_4242, SWITCH_TRIES_MAX).is_empty(), "it was tried");
    }

    #[test]
    fn a_swap_has_no_more_bytes_than_it_changes() {
        let of = |start, end, bytes: &[u8]| shortest(b"abcabd", (start, end, bytes.to_vec()));
        assert_eq!(of(1, 5, b"bXab"), (2, 3, b"X".to_vec()));
        assert_eq!(of(0, 3, b"ac"), (1, 2, Vec::new()));
        assert_eq!(of(3, 5, b"abab"), (5, 5, b"ab".to_vec()));
        assert_eq!(of(0, 2, b"ab"), (2, 2, Vec::new()));
    }

    #[test]
    fn texts_are_swapped_over_what_is_there_and_in_its_place() {
        let texts = Operands::Bytes { matching: Matching::Equal, sides: [b"FUJI".to_vec(), b"OLYMP".to_vec()] };
        assert_eq!(swapped(b"<FUJI123>", &texts, 0), [&b"<OLYMP23>"[..], b"<OLYMP123>"]);
    }
}
