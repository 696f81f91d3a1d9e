//! How near an execution came: the least approach level of what it reached, and by how much the branch there went the
//! wrong way. Both are integers, compared one after the other: a normalised distance is all the same in floating-point
//! numbers from 2^26 on.

use crate::engine::aim::Pursuit;
use crate::sandbox::Observation;
use fuzzbox_instrument::trace::{Comparer, Comparison, Event, Trace};
use fuzzbox_instrument::ways::{Decision, Test};
use fuzzbox_instrument::{EdgeKind, FlowKind};
use std::collections::BTreeMap;

/// Blocks at the least level whose branches are looked at.
const BLOCKS_MAX: usize = 16;
/// How far it is to an outcome that nothing is known of.
const UNKNOWN: u128 = 1 << 100;

/// How near an execution came; less is nearer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Score {
    pub(super) level: u32,
    pub(super) distance: u128,
}

impl Score {
    /// It got there.
    pub(super) const HIT: Self = Self { level: 0, distance: 0 };
    /// No goal depends on anything that it reached.
    pub(super) const FAR: Self = Self { level: u32::MAX, distance: UNKNOWN };

    /// That of an execution that was traced. `marks` has a place for each block, unmarked before and after.
    pub(super) fn of(pursuit: &Pursuit, observation: Observation<'_>, marks: &mut [bool]) -> Self {
        let (mut edges, mut executed) = (Vec::new(), Vec::new());
        observation.edges(|edge, _| edges.push(edge));
        if pursuit.is_hit(&edges) {
            return Self::HIT;
        }
        let program = pursuit.aim.program();
        program.executed(edges, marks, |block| executed.push(block));
        executed.iter().for_each(|&block| marks[block as usize] = false);
        let Some(level) = executed.iter().filter_map(|&block| pursuit.levels.of(block)).min() else { return Self::FAR };
        executed.retain(|&block| pursuit.levels.of(block) == Some(level));
        executed.sort_unstable();
        let trace = observation.trace();
        let distances = executed.iter().take(BLOCKS_MAX).map(|&block| branch_distance(pursuit, block, &trace));
        Self { level, distance: distances.min().unwrap_or(UNKNOWN) }
    }
}

/// What is to come of a branch.
enum Wanted {
    /// The condition is to be so.
    Outcome(bool),
    /// One of these arms of a `br_table`.
    Arms(Vec<u32>),
}

/// How far a block's branch was, at the least, from going where that leads closer.
fn branch_distance(pursuit: &Pursuit, block: u32, trace: &Trace) -> u128 {
    let program = pursuit.aim.program();
    let (function, own) = program.place(block);
    let Some((decision, cfg)) = program.decision(block).zip(program.cfg(function)) else { return UNKNOWN };
    let flows = cfg.flows().iter().filter(|flow| flow.from == own);
    let closer: Vec<EdgeKind> = flows
        .filter(|flow| flow.edge.is_some_and(|edge| pursuit.levels.is_closer(edge)))
        .filter_map(|flow| if let FlowKind::Counted(kind) = flow.kind { Some(kind) } else { None })
        .collect();
    let Some(wanted) = wanted(&closer) else { return UNKNOWN };
    let mut values = Values::default();
    let last = decision.last();
    let mut least = UNKNOWN;
    for record in &trace.records {
        if values.take(record.site, &record.event) && record.site == last {
            least = least.min(match (decision, &wanted) {
                (Decision::Test(test), Wanted::Outcome(wanted)) => values.to_outcome(test, *wanted),
                (Decision::Choose(site), Wanted::Arms(arms)) => values.to_arms(*site, arms),
                _ => UNKNOWN,
            });
        }
    }
    least
}

fn wanted(closer: &[EdgeKind]) -> Option<Wanted> {
    let arms: Vec<u32> =
        closer.iter().filter_map(|kind| if let EdgeKind::BrTable { arm } = kind { Some(*arm) } else { None }).collect();
    if !arms.is_empty() {
        return Some(Wanted::Arms(arms));
    }
    closer.iter().find_map(|kind| match kind {
        EdgeKind::IfTaken | EdgeKind::BrIfTaken | EdgeKind::SelectFirst => Some(Wanted::Outcome(true)),
        EdgeKind::IfNotTaken | EdgeKind::BrIfNotTaken | EdgeKind::SelectSecond => Some(Wanted::Outcome(false)),
        _ => None,
    })
}

/// What was recorded last, by place; and what bytes the last function compared that does nothing else.
#[derive(Default)]
struct Values<'t> {
    events: BTreeMap<u32, (&'t Event, Option<u128>)>,
    depth: u32,
    /// The depth of the call, and how far the bytes are from being equal.
    bytes: Option<(u32, u128)>,
}

impl<'t> Values<'t> {
    /// Takes a record; whether it is of something that may decide.
    fn take(&mut self, site: u32, event: &'t Event) -> bool {
        match event {
            Event::Enter { depth, .. } => self.depth = *depth,
            Event::Leave { depth, .. } => self.depth = depth.saturating_sub(1),
            Event::Caught { depth } => self.depth = *depth,
            Event::Bytes(compared) => {
                self.bytes = apart(compared.comparer, &compared.content).map(|by| (self.depth, by));
            }
            Event::Compare { .. } | Event::Condition { .. } | Event::Choose { .. } => {
                // What the comparing function itself compares says less.
                if self.bytes.is_some_and(|(depth, _)| self.depth >= depth) {
                    return false;
                }
                let bytes = self.bytes.take().map(|(_, by)| by);
                self.events.insert(site, (event, bytes));
                return true;
            }
            _ => {}
        }
        false
    }

    /// How far a condition was from turning out so.
    fn to_outcome(&self, test: &Test, wanted: bool) -> u128 {
        match test {
            Test::Recorded(site) => {
                self.events.get(site).map_or(UNKNOWN, |(event, bytes)| to_outcome(event, *bytes, wanted))
            }
            Test::Not(test) => self.to_outcome(test, !wanted),
            Test::All(left, right) | Test::Any(left, right) => {
                let (left, right) = (self.to_outcome(left, wanted), self.to_outcome(right, wanted));
                if matches!(test, Test::All(..)) == wanted { left.saturating_add(right) } else { left.min(right) }
            }
        }
    }

    /// How far an index was from one of these arms.
    fn to_arms(&self, site: u32, arms: &[u32]) -> u128 {
        let Some((Event::Choose { index, targets }, _)) = self.events.get(&site) else { return UNKNOWN };
        let to_arm = |&arm: &u32| match arm == *targets {
            true => targets.saturating_sub(*index),
            false => arm.abs_diff(*index),
        };
        arms.iter().map(to_arm).min().map_or(UNKNOWN, u128::from)
    }
}

/// How far bytes are from being equal; `None` where that is not what is asked.
fn apart(comparer: Comparer, [left, right]: &[Vec<u8>; 2]) -> Option<u128> {
    if matches!(comparer, Comparer::Memmem | Comparer::Strstr) {
        return None;
    }
    let ignores_case = matches!(comparer, Comparer::Strcasecmp | Comparer::Strncasecmp);
    let byte = |byte: &u8| if ignores_case { byte.to_ascii_lowercase() } else { *byte };
    let by = |(left, right): (&u8, &u8)| u128::from(byte(left).abs_diff(byte(right)));
    Some(left.iter().zip(right).map(by).sum::<u128>() + 256 * left.len().abs_diff(right.len()) as u128)
}

/// How far what was recorded is from turning out so (Korel, "Automated software test data generation", 1990).
fn to_outcome(event: &Event, bytes: Option<u128>, wanted: bool) -> u128 {
    match *event {
        Event::Compare { comparison, float, width, left, right } => {
            let asked = if wanted { comparison } else { negated(comparison) };
            match bytes {
                Some(by) if asked == Comparison::Eq && right == 0 && left != 0 => by.max(1),
                _ => to_order(asked, float, width, [left, right]),
            }
        }
        Event::Condition { value, .. } => match (wanted, bytes) {
            (true, _) => u128::from(value == 0),
            (false, Some(by)) if value != 0 => by.max(1),
            (false, _) => u128::from(value.cast_signed().unsigned_abs()),
        },
        _ => UNKNOWN,
    }
}

/// How far two numbers are from being in an order.
fn to_order(asked: Comparison, float: bool, width: u8, sides: [u64; 2]) -> u128 {
    use Comparison as C;
    let signed = |bits: u64| match (float, width) {
        (true, 4) => ordered((bits as u32).cast_signed().into(), 31),
        (true, _) => ordered(bits.cast_signed().into(), 63),
        (false, 4) => i128::from((bits as u32).cast_signed()),
        (false, _) => i128::from(bits.cast_signed()),
    };
    let unsigned = |bits: u64| i128::from(if width == 4 { u64::from(bits as u32) } else { bits });
    let is_unsigned = !float && matches!(asked, C::LtU | C::GtU | C::LeU | C::GeU);
    let [left, right] = if is_unsigned { sides.map(unsigned) } else { sides.map(signed) };
    let over = |by: i128| by.max(0).unsigned_abs();
    match asked {
        C::Eq if float => left.abs_diff(right),
        C::Eq => left.abs_diff(right).min(unsigned(sides[0]).abs_diff(unsigned(sides[1]))),
        C::Ne => u128::from(left == right),
        C::LtS | C::LtU => over(left - right + 1),
        C::LeS | C::LeU => over(left - right),
        C::GtS | C::GtU => over(right - left + 1),
        C::GeS | C::GeU => over(right - left),
    }
}

/// The bits of a float, of which this one is its sign, as an integer in the same order.
fn ordered(bits: i128, sign: u32) -> i128 {
    if bits < 0 { -(bits & ((1 << sign) - 1)) } else { bits }
}

fn negated(comparison: Comparison) -> Comparison {
    use Comparison as C;
    match comparison {
        C::Eq => C::Ne,
        C::Ne => C::Eq,
        C::LtS => C::GeS,
        C::LtU => C::GeU,
        C::GtS => C::LeS,
        C::GtU => C::LeU,
        C::LeS => C::GtS,
        C::LeU => C::GtU,
        C::GeS => C::LtS,
        C::GeU => C::LtU,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fuzzbox_instrument::trace::CompareBytes;

    fn compare(comparison: Comparison, float: bool, width: u8, left: u64, right: u64) -> [u128; 2] {
        let event = Event::Compare { comparison, float, width, left, right };
        [true, false].map(|wanted| to_outcome(&event, None, wanted))
    }

    #[test]
    fn distances_are_korels_and_whole_numbers() {
        use Comparison as C;
        assert_eq!(compare(C::Eq, false, 4, 5, 9), [4, 0]);
        assert_eq!(compare(C::Eq, false, 4, 7, 7), [0, 1]);
        assert_eq!(compare(C::Ne, false, 8, 7, 7), [1, 0]);
        assert_eq!(compare(C::LtU, false, 4, 9, 5), [5, 0]);
        assert_eq!(compare(C::LtU, false, 4, 5, 9), [0, 4]);
        let minus_one = u64::from(u32::MAX);
        assert_eq!(compare(C::GtS, false, 4, minus_one, 5), [7, 0]);
        assert_eq!(compare(C::GtU, false, 4, minus_one, 5), [0, (minus_one - 5).into()]);
        // Neither way round is further than the other.
        assert_eq!(compare(C::Eq, false, 4, minus_one, 1), [2, 0]);
        assert_eq!(compare(C::Eq, false, 4, 0x7fff_ffff, 0x8000_0000), [1, 0]);
        // What differs by one is one further, however large it is.
        let far = compare(C::Eq, false, 8, 0, 1 << 60)[0];
        assert_eq!(far - compare(C::Eq, false, 8, 1, 1 << 60)[0], 1);
        let [one, next] = [1.0_f64, 1.0_f64.next_up()].map(f64::to_bits);
        assert_eq!(compare(C::Eq, true, 8, one, next), [1, 0]);
        assert_eq!(compare(C::LtS, true, 8, (-1.0_f64).to_bits(), one), [0, 2 * u128::from(one)]);
    }

    #[test]
    fn of_both_all_must_come_and_of_either_the_nearer() {
        let event = |left| Event::Compare { comparison: Comparison::Eq, float: false, width: 4, left, right: 0 };
        let (three, five) = (event(3), event(5));
        let mut values = Values::default();
        assert!(values.take(10, &three) && values.take(20, &five));
        let (left, right) = (Box::new(Test::Recorded(10)), Box::new(Test::Recorded(20)));
        let (all, any) = (Test::All(left.clone(), right.clone()), Test::Any(left, right));
        assert_eq!((values.to_outcome(&all, true), values.to_outcome(&any, true)), (8, 3));
        assert_eq!((values.to_outcome(&all, false), values.to_outcome(&Test::Not(Box::new(any)), true)), (0, 0));
        assert_eq!(values.to_outcome(&Test::Recorded(30), true), UNKNOWN);
    }

    #[test]
    fn what_a_function_found_different_counts_byte_by_byte() {
        let content = [b"abc".to_vec(), b"abf".to_vec()];
        let bytes = CompareBytes { comparer: Comparer::Memcmp, pointers: [0; 2], length: Some(3), content };
        let bytes = Event::Bytes(Box::new(bytes));
        let own = Event::Compare { comparison: Comparison::Ne, float: false, width: 4, left: 1, right: 2 };
        let result =
            Event::Compare { comparison: Comparison::Eq, float: false, width: 4, left: u64::from(u32::MAX), right: 0 };
        let (enter, leave) = (
            Event::Enter { function: 3, depth: 2 },
            Event::Leave { depth: 2, way: fuzzbox_instrument::trace::Way::End },
        );
        let mut values = Values::default();
        for event in [&enter, &bytes, &own, &leave] {
            values.take(10, event);
        }
        assert!(values.take(20, &result));
        assert_eq!(values.to_outcome(&Test::Recorded(20), true), 3);
        let arms = Event::Choose { index: 7, targets: 4 };
        assert!(values.take(30, &arms));
        assert_eq!((values.to_arms(30, &[1, 2]), values.to_arms(30, &[4])), (5, 0));
    }
}
