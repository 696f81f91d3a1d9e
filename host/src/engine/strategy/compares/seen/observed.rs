//! What a trace says of comparisons: which numbers or bytes were held against each other, and how that turned out.

use super::context::Calls;
use super::float128;
use super::number::{Number, significant_bytes};
use fuzzbox_instrument::trace::{CompareBytes, Comparer, Comparison, Event, Trace};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Comparisons at one site are told apart up to this many: those of a loop.
pub(super) const OCCURRENCES_MAX: u32 = 32;
/// Targets of a `br_table` that are goals.
const TARGETS_MAX: u32 = 32;
/// Set in the site of a boundary.
const BOUNDARY: u32 = 1 << 31;
/// Bytes of each side that a trace has.
pub(in crate::engine::strategy::compares) const CONTENT_BYTES: usize = 32;

/// Which comparison of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::engine::strategy::compares) struct Place {
    /// The operator's offset in the module; with [`BOUNDARY`] for the boundaries of the comparison there.
    pub(in crate::engine::strategy::compares) site: u32,
    /// How many there were at the site before it.
    pub(in crate::engine::strategy::compares) occurrence: u32,
    /// For a `br_table`, one of its targets, from 1 on; for floats of 128 bits which of them is to be less; for a
    /// boundary which of them it is; else 0.
    pub(in crate::engine::strategy::compares) target: u32,
}

impl Place {
    /// Whether what is compared there is whether numbers are at a boundary of what they are really compared by.
    pub(in crate::engine::strategy::compares) fn is_boundary(self) -> bool {
        self.site & BOUNDARY != 0
    }

    /// The operator's offset in the module.
    pub(in crate::engine::strategy::compares) fn offset(self) -> u32 {
        self.site & !BOUNDARY
    }

    /// Where numbers are really compared.
    pub(in crate::engine::strategy::compares) fn own(self) -> Self {
        if self.is_boundary() { Self { site: self.offset(), target: 0, ..self } } else { self }
    }
}

/// A comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::engine::strategy::compares) struct Observed {
    pub(in crate::engine::strategy::compares) place: Place,
    /// From where it is reached, see [`Calls::context`].
    pub(in crate::engine::strategy::compares) context: u64,
    pub(in crate::engine::strategy::compares) operands: Operands,
}

/// What was compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::engine::strategy::compares) enum Operands {
    /// Numbers of a type, as bits.
    Numbers { comparison: Comparison, ty: Number, sides: [u64; 2] },
    /// Floats of 128 bits, as bits, the first of which is to be less, or equal, or greater.
    Quads { wanted: Ordering, sides: [u128; 2] },
    /// Texts or bytes.
    Bytes { matching: Matching, sides: [Vec<u8>; 2] },
}

/// When bytes match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine::strategy::compares) enum Matching {
    /// They are equal.
    Equal,
    /// They are equal, and both end.
    EqualText,
    /// They are equal but for the case of letters.
    IgnoringCase,
    /// The second is in the first.
    Within,
}

impl Operands {
    /// What numbers or bytes are held against each other, if that is what happens.
    pub(in crate::engine::strategy::compares) fn of(event: &Event) -> Option<Self> {
        match event {
            &Event::Compare { comparison, float, width, left, right } => {
                Some(Self::Numbers { comparison, ty: Number::new(float, width), sides: [left, right] })
            }
            Event::Bytes(compared) => {
                Some(Self::Bytes { matching: matching(compared.comparer), sides: compared.content.clone() })
            }
            _ => None,
        }
    }

    pub(in crate::engine::strategy::compares) fn is_text(&self) -> bool {
        matches!(self, Self::Bytes { .. })
    }

    /// The bytes of a side, as they lie in memory, where they may be part of a text: so compilers compare what `memcmp`
    /// is asked for at a length that they know.
    pub(in crate::engine::strategy::compares) fn bytes(&self, side: usize) -> Option<Cow<'_, [u8]>> {
        match self {
            Self::Numbers { comparison: Comparison::Eq | Comparison::Ne, ty, sides } if !ty.is_float() => {
                Some(Cow::Owned(sides[side].to_le_bytes()[..ty.bits() as usize / 8].to_vec()))
            }
            Self::Bytes { sides, .. } => Some(Cow::Borrowed(&sides[side])),
            Self::Numbers { .. } | Self::Quads { .. } => None,
        }
    }

    /// Whether a side is a text, or what may be a part of one.
    pub(in crate::engine::strategy::compares) fn is_part_of_text(&self, side: usize) -> bool {
        self.is_text() || self.bytes(side).is_some_and(|bytes| bytes.iter().all(|byte| matches!(byte, b' '..=b'~')))
    }

    /// Whether it turns out otherwise when the number on a side is another one.
    pub(in crate::engine::strategy::compares) fn turns(&self, side: usize, number: u64) -> bool {
        let Self::Numbers { comparison, ty, mut sides } = *self else { return false };
        sides[side] = number;
        Self::Numbers { comparison, ty, sides }.outcome() != self.outcome()
    }

    /// How the comparison turned out.
    pub(in crate::engine::strategy::compares) fn outcome(&self) -> bool {
        match self {
            Self::Numbers { comparison, ty, sides: [left, right] } => {
                let order = if ty.is_float() {
                    ty.float(*left).partial_cmp(&ty.float(*right))
                } else if is_signed(*comparison) {
                    Some(ty.signed(*left).cmp(&ty.signed(*right)))
                } else {
                    Some((left & ty.mask()).cmp(&(right & ty.mask())))
                };
                use Comparison as C;
                match comparison {
                    C::Eq => order.is_some_and(|order| order.is_eq()),
                    C::Ne => order.is_none_or(|order| order.is_ne()),
                    C::LtS | C::LtU => order.is_some_and(|order| order.is_lt()),
                    C::GtS | C::GtU => order.is_some_and(|order| order.is_gt()),
                    C::LeS | C::LeU => order.is_some_and(|order| order.is_le()),
                    C::GeS | C::GeU => order.is_some_and(|order| order.is_ge()),
                }
            }
            Self::Quads { wanted, sides: [left, right] } => float128::order(*left, *right) == Some(*wanted),
            Self::Bytes { matching, sides: [left, right] } => match matching {
                Matching::Equal | Matching::EqualText => left == right,
                Matching::IgnoringCase => left.eq_ignore_ascii_case(right),
                Matching::Within => right.is_empty() || left.windows(right.len()).any(|window| window == right),
            },
        }
    }

    /// The outcome to be wanted: the other one. Of texts only that they match, which any other text does not; and of
    /// floats of 128 bits that they are ordered so, since the other orders are goals by themselves.
    pub(in crate::engine::strategy::compares) fn wanted(&self) -> Option<bool> {
        let wanted = !self.outcome();
        (wanted || matches!(self, Self::Numbers { .. })).then_some(wanted)
    }

    /// Whether they are numbers that were compared for equality, and are the same, but not 0: what is 0 may be a
    /// condition.
    pub(super) fn are_same(&self) -> bool {
        matches!(self, Self::Numbers { comparison: Comparison::Eq | Comparison::Ne, sides: [left, right], .. } if left == right && *left != 0)
    }

    /// Whether they are held against each other for equality, and differ.
    pub(in crate::engine::strategy::compares) fn are_to_be_equal(&self) -> bool {
        match self {
            Self::Numbers { comparison: Comparison::Eq | Comparison::Ne, sides: [left, right], .. } => left != right,
            Self::Numbers { .. } => false,
            Self::Quads { .. } | Self::Bytes { .. } => !self.outcome(),
        }
    }

    /// Whether numbers are held against each other for equality.
    pub(in crate::engine::strategy::compares) fn is_for_equality(&self) -> bool {
        matches!(self, Self::Numbers { comparison: Comparison::Eq | Comparison::Ne, .. })
    }

    /// What one of two integers lacks to be the other.
    pub(in crate::engine::strategy::compares) fn lacks(&self, side: usize) -> Option<i64> {
        let Self::Numbers { ty, sides, .. } = self else { return None };
        (!ty.is_float()).then(|| ty.change(sides[side], sides[1 - side]))
    }

    /// How many bytes of texts are behind what is right from their beginning on; `None` of what isn't right so.
    pub(in crate::engine::strategy::compares) fn wrong_bytes(&self) -> Option<u64> {
        let Self::Bytes { matching, sides: [left, right] } = self else { return None };
        let are_equal = |(left, right): &(&u8, &u8)| match matching {
            Matching::IgnoringCase => left.eq_ignore_ascii_case(right),
            _ => left == right,
        };
        let right_bytes = left.iter().zip(right).take_while(are_equal).count();
        (*matching != Matching::Within).then(|| (left.len().max(right.len()) - right_bytes) as u64)
    }

    /// Two numbers that stand for what the sides are.
    pub(super) fn keys(&self) -> [u64; 2] {
        match self {
            Self::Numbers { sides, .. } => *sides,
            Self::Quads { sides, .. } => sides.map(|bits| hash(&bits.to_le_bytes())),
            Self::Bytes { sides, .. } => sides.each_ref().map(|bytes| hash(bytes)),
        }
    }
}

/// FNV-1a (Fowler, Noll, Vo): that two texts share a number costs a goal.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

fn is_signed(comparison: Comparison) -> bool {
    matches!(comparison, Comparison::LtS | Comparison::GtS | Comparison::LeS | Comparison::GeS)
}

/// The comparisons of a trace in its order, as far as `keeps` says so of their sites. What functions like `memcmp` do
/// with bytes that are known is left out, if all of them are.
///
/// With `boundaries` also whether numbers of which one is to be less are at the boundary of that: equal, or the next
/// ones to that, or to either end of unsigned ones. Two builds that differ in a comparison agree elsewhere.
pub(in crate::engine::strategy::compares) fn observe(
    trace: &Trace,
    boundaries: bool,
    keeps: impl Fn(u32) -> bool,
) -> Vec<Observed> {
    let mut observed = Vec::new();
    let mut counts = BTreeMap::new();
    // And the depth of a function of which all is known.
    let (mut calls, mut known) = (Calls::default(), None);
    let mut parts = Parts::default();
    for record in &trace.records {
        let whole = parts.follow(&record.event);
        if let Some(kept) = calls.follow(&record.event) {
            known = known.filter(|&known| kept >= known);
            continue;
        }
        if known.is_some() {
            continue;
        }
        // What looks like `memcmp` may stop earlier or later than it was told.
        if let Event::Bytes(compared) = &record.event
            && let CompareBytes { comparer, length, content, .. } = &**compared
            && !matches!(comparer, Comparer::SomeBytes | Comparer::SomeStrings)
        {
            let whole = length.is_some_and(|length| length <= CONTENT_BYTES as u64);
            if whole || content.iter().all(|content| content.len() < CONTENT_BYTES) {
                known = Some(calls.depth());
            }
        }
        if matches!(record.event, Event::CompareQuads(_)) {
            known = Some(calls.depth());
        }
        let own = keeps(record.site);
        let boundary = boundaries && keeps(record.site | BOUNDARY);
        if !own && !boundary {
            continue;
        }
        let count: &mut u32 = counts.entry(record.site).or_default();
        let place = Place { site: record.site, occurrence: *count, target: 0 };
        *count += 1;
        if place.occurrence >= OCCURRENCES_MAX {
            continue;
        }
        if own {
            match whole {
                Some(operands) => observed.push(Observed { place, context: calls.context(), operands }),
                None => add(&mut observed, (place, calls.context()), &record.event),
            }
        }
        if boundary {
            add_boundaries(&mut observed, (place, calls.context()), &record.event);
        }
    }
    observed
}

/// The parts that were compared last, of what is wider than a number: what `memcmp` is asked for at a length that
/// compilers know.
#[derive(Debug, Default)]
struct Parts {
    sides: [Vec<u8>; 2],
    count: usize,
}

impl Parts {
    /// Follows what happens. Where all parts are held against 0, what is compared there really.
    fn follow(&mut self, event: &Event) -> Option<Operands> {
        match *event {
            Event::Part { left, right, .. } => {
                self.count += 1;
                // As many bytes as are needed, and as loads have: what was extended is 0 on both sides.
                let bytes = significant_bytes(left | right).next_power_of_two();
                for (side, number) in self.sides.iter_mut().zip([left, right]) {
                    side.extend(&number.to_le_bytes()[..bytes]);
                }
                None
            }
            _ if self.count == 0 => None,
            _ => {
                let Self { sides, count } = std::mem::take(self);
                let are_equal = match *event {
                    Event::Compare {
                        comparison: Comparison::Eq | Comparison::Ne, float: false, left, right, ..
                    } if left == 0 || right == 0 => left == right,
                    Event::Condition { value, .. } => value == 0,
                    _ => return None,
                };
                let fits = count > 1 && are_equal == (sides[0] == sides[1]);
                fits.then_some(Operands::Bytes { matching: Matching::Equal, sides })
            }
        }
    }
}

/// Adds what an event compares.
fn add(observed: &mut Vec<Observed>, (place, context): (Place, u64), event: &Event) {
    let operands = match event {
        &Event::Part { width, left, right } => {
            Operands::Numbers { comparison: Comparison::Eq, ty: Number::new(false, width), sides: [left, right] }
        }
        &Event::Condition { value, .. } => {
            Operands::Numbers { comparison: Comparison::Ne, ty: Number::I32, sides: [value.into(), 0] }
        }
        &Event::Choose { index, targets } => {
            // The default is met when there is nothing else.
            observed.extend((0..targets.min(TARGETS_MAX)).map(|target| {
                let sides = [index.into(), target.into()];
                let operands = Operands::Numbers { comparison: Comparison::Eq, ty: Number::I32, sides };
                Observed { place: Place { target: target + 1, ..place }, context, operands }
            }));
            return;
        }
        Event::CompareQuads(sides) => {
            let orders = [Ordering::Less, Ordering::Equal, Ordering::Greater];
            observed.extend((1..).zip(orders).map(|(target, wanted)| {
                let operands = Operands::Quads { wanted, sides: **sides };
                Observed { place: Place { target, ..place }, context, operands }
            }));
            return;
        }
        event => match Operands::of(event) {
            Some(operands) => operands,
            None => return,
        },
    };
    observed.push(Observed { place, context, operands });
}

/// Adds whether what an event compares is at a boundary.
fn add_boundaries(observed: &mut Vec<Observed>, (place, context): (Place, u64), event: &Event) {
    let &Event::Compare { comparison, float, width, left, right } = event else { return };
    use Comparison as C;
    let ty = Number::new(float, width);
    // The last number for which it turns out as for smaller ones, or the first for which it doesn't.
    let next = match comparison {
        C::Eq | C::Ne => return,
        C::LtS | C::LtU | C::GeS | C::GeU => right.wrapping_sub(1),
        C::LeS | C::LeU | C::GtS | C::GtU => right.wrapping_add(1),
    };
    let rights = [right, next & ty.mask(), 0, ty.mask()];
    let count = match comparison {
        _ if float => 1,
        // A range that begins elsewhere is asked for by unsigned ones.
        C::LtU | C::GtU | C::LeU | C::GeU => rights.len(),
        _ => 2,
    };
    observed.extend((1..).zip(&rights[..count]).map(|(target, &right)| Observed {
        place: Place { site: place.site | BOUNDARY, target, ..place },
        context,
        operands: Operands::Numbers { comparison: C::Eq, ty, sides: [left, right] },
    }));
}

fn matching(comparer: Comparer) -> Matching {
    match comparer {
        Comparer::Strcasecmp | Comparer::Strncasecmp => Matching::IgnoringCase,
        Comparer::Memmem | Comparer::Strstr => Matching::Within,
        Comparer::Strcmp | Comparer::SomeStrings => Matching::EqualText,
        Comparer::SomeBytes | Comparer::Memcmp | Comparer::Bcmp | Comparer::Strncmp => Matching::Equal,
    }
}

#[cfg(test)]
pub(in crate::engine::strategy::compares) mod tests {
    use super::*;
    use fuzzbox_instrument::trace::{Record, Way};

    /// The first comparison at a site, of two numbers for equality.
    pub(in crate::engine::strategy::compares) fn compare(site: u32, left: u64, right: u64) -> Observed {
        let operands = numbers(Comparison::Eq, Number::I32, left, right);
        Observed { place: Place { site, occurrence: 0, target: 0 }, context: 0, operands }
    }

    fn numbers(comparison: Comparison, ty: Number, left: u64, right: u64) -> Operands {
        Operands::Numbers { comparison, ty, sides: [left, right] }
    }

    #[test]
    fn outcomes_are_those_of_the_operators() {
        let minus_one = u64::from(u32::MAX);
        assert!(numbers(Comparison::LtS, Number::I32, minus_one, 0).outcome());
        assert!(!numbers(Comparison::LtU, Number::I32, minus_one, 0).outcome());
        assert!(numbers(Comparison::GeU, Number::I64, u64::MAX, 1).outcome());
        let nan = f64::NAN.to_bits();
        assert!(numbers(Comparison::Ne, Number::F64, nan, nan).outcome());
        assert!(!numbers(Comparison::LeS, Number::F64, nan, nan).outcome());
        assert!(numbers(Comparison::Eq, Number::F32, 0, 0x8000_0000).outcome(), "zeros are equal");
    }

    #[test]
    fn what_is_wanted_is_the_other_outcome_and_that_texts_match() {
        assert_eq!(numbers(Comparison::Eq, Number::I32, 1, 2).wanted(), Some(true));
        assert_eq!(numbers(Comparison::Ne, Number::I32, 1, 2).wanted(), Some(false));
        assert_eq!(numbers(Comparison::Ne, Number::I32, 2, 2).wanted(), Some(true));
        let text = |sides: [&[u8]; 2]| Operands::Bytes { matching: Matching::Equal, sides: sides.map(<[u8]>::to_vec) };
        assert_eq!((text([b"a", b"b"]).wanted(), text([b"a", b"a"]).wanted()), (Some(true), None));
        assert_eq!(numbers(Comparison::LtU, Number::I32, 1, 2).wanted(), Some(false));
    }

    #[test]
    fn boundaries_are_where_a_comparison_turns_and_the_ends_of_unsigned_ones() {
        let rights = |comparison, width, right| -> Vec<u64> {
            let event = Event::Compare { comparison, float: false, width, left: 9, right };
            let trace = Trace { records: vec![Record { site: 5, event }], lost: 0 };
            let all = observe(&trace, true, |_| true);
            assert_eq!((all[0].place.site, observe(&trace, false, |_| true)), (5, all[..1].to_vec()));
            let boundaries = &all[1..];
            assert!(boundaries.iter().all(|one| one.place.is_boundary() && one.place.own() == all[0].place));
            let one = |one: &Observed| observe(&trace, true, |site| site == one.place.site);
            assert!(boundaries.iter().all(|boundary| one(boundary) == boundaries));
            let right = |one: &Observed| match one.operands {
                Operands::Numbers { comparison: Comparison::Eq, sides: [9, right], .. } => right,
                _ => panic!("{one:?}"),
            };
            boundaries.iter().map(right).collect()
        };
        let max = u64::from(u32::MAX);
        assert_eq!(rights(Comparison::LtU, 4, 70), [70, 69, 0, max]);
        assert_eq!(rights(Comparison::GtU, 8, 70), [70, 71, 0, u64::MAX]);
        assert_eq!((rights(Comparison::GeS, 4, 0), rights(Comparison::LeS, 8, 7)), (vec![0, max], vec![7, 8]));
        assert!(rights(Comparison::Eq, 4, 7).is_empty());
    }

    #[test]
    fn parts_that_are_held_against_zero_together_are_a_text() {
        let part = |left, right| Event::Part { width: 4, left, right };
        let whole = |left| Event::Compare { comparison: Comparison::Ne, float: false, width: 4, left, right: 0 };
        let observed = |events: &[Event]| {
            let records = (0..).zip(events).map(|(site, event)| Record { site, event: event.clone() }).collect();
            observe(&Trace { records, lost: 0 }, false, |_| true).pop().unwrap().operands
        };
        let text = |sides: [&[u8]; 2]| Operands::Bytes { matching: Matching::Equal, sides: sides.map(<[u8]>::to_vec) };
        assert_eq!(observed(&[part(0x4142, 0x4b4c), part(0, 0x4d), whole(1)]), text([b"BA\0", b"LKM"]));
        assert_eq!(observed(&[part(7, 7), part(9, 9), whole(0)]), text([&[7, 9], &[7, 9]]));
        // One part is what was compared, and a text that is no other one is not what was held against zero.
        assert_eq!(observed(&[part(1, 2), whole(3)]), numbers(Comparison::Ne, Number::I32, 3, 0));
        assert_eq!(observed(&[part(1, 2), part(3, 4), whole(0)]), numbers(Comparison::Ne, Number::I32, 0, 0));
        let other = Event::Enter { function: 1, depth: 1 };
        assert_eq!(observed(&[part(1, 2), part(3, 4), other, whole(3)]), numbers(Comparison::Ne, Number::I32, 3, 0));
    }

    #[test]
    fn what_a_comparer_does_is_left_out_and_occurrences_are_counted() {
        let compare = Event::Compare { comparison: Comparison::Eq, float: false, width: 4, left: 1, right: 2 };
        let content = [b"a".to_vec(), b"b".to_vec()];
        let bytes = CompareBytes { comparer: Comparer::Memcmp, pointers: [0; 2], length: Some(1), content };
        let events = [
            (1, Event::Enter { function: 0, depth: 1 }),
            (5, compare.clone()),
            (9, Event::Enter { function: 1, depth: 2 }),
            (9, Event::Bytes(Box::new(bytes))),
            (12, compare.clone()),
            (14, Event::Leave { depth: 2, way: Way::End }),
            (5, compare),
            (6, Event::Choose { index: 7, targets: 2 }),
        ];
        let records = events.into_iter().map(|(site, event)| Record { site, event }).collect();
        let observed = observe(&Trace { records, lost: 0 }, false, |_| true);
        let places: Vec<_> =
            observed.iter().map(|one| (one.place.site, one.place.occurrence, one.place.target)).collect();
        assert_eq!(places, [(5, 0, 0), (9, 0, 0), (5, 1, 0), (6, 0, 1), (6, 0, 2)]);
    }
}
