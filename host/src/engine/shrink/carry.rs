//! Values of one execution in the draws of another.

use crate::stream::{Choice, Draw, DrawKind, Trace};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// What some draws take to give values that others gave.
pub(super) struct Transfer {
    /// One for each of the draws.
    pub(super) choices: Vec<Choice>,
    /// A value that is kept needs another choice than it had.
    pub(super) has_changed: bool,
}

/// Puts the values of a part of `old` into the draws `new`, in their order. Each takes a value that was drawn at the
/// same place in the guest, else one of its kind; what it can't give, and where there is none, is the nearest or the
/// simplest.
pub(super) fn carry(old: &Trace, part: Range<usize>, new: &[Draw]) -> Transfer {
    let mut values = Values::new(old, part, new);
    let mut carried = Transfer { choices: Vec::with_capacity(new.len()), has_changed: false };
    for draw in new {
        carried.choices.push(match values.next_for(draw) {
            Some(at) => {
                let (value, choice) = (&old.draws[at], &old.choices[at]);
                carried.has_changed |= draw.reencode(value, choice).is_some_and(|same| same != *choice);
                draw.reencode_nearest(value, choice)
            }
            None => draw.simplest(),
        });
    }
    carried
}

/// The draws of a part, in the order in which others take their values.
struct Values {
    /// By where in the guest they were drawn.
    by_site: BTreeMap<Site, VecDeque<usize>>,
    /// By what can stand for one another: those drawn where the new part draws nothing.
    others: BTreeMap<Class, VecDeque<usize>>,
    /// How many draws of the new part are still without a value.
    wanted: BTreeMap<Site, usize>,
}

type Site = (u32, DrawKind);

impl Values {
    fn new(old: &Trace, part: Range<usize>, new: &[Draw]) -> Self {
        let mut values = Self { by_site: BTreeMap::new(), others: BTreeMap::new(), wanted: BTreeMap::new() };
        for draw in new {
            *values.wanted.entry((draw.site, draw.kind)).or_default() += 1;
        }
        for at in part {
            let draw = &old.draws[at];
            let site = (draw.site, draw.kind);
            let list = match values.wanted.contains_key(&site) {
                true => values.by_site.entry(site).or_default(),
                false => values.others.entry(Class::of(draw.kind)).or_default(),
            };
            list.push_back(at);
        }
        values
    }

    /// The place of the next draw at the same place in the guest; or, if there are too few of them, that of the next
    /// one like it, whichever was first.
    fn next_for(&mut self, draw: &Draw) -> Option<usize> {
        let site = (draw.site, draw.kind);
        let (mut none, mut no_other) = (VecDeque::new(), VecDeque::new());
        let same = self.by_site.get_mut(&site).unwrap_or(&mut none);
        let other = self.others.get_mut(&Class::of(draw.kind)).unwrap_or(&mut no_other);
        let wanted = self.wanted.get_mut(&site)?;
        let is_enough = same.len() >= *wanted;
        *wanted = wanted.saturating_sub(1);
        match (same.front(), other.front()) {
            (Some(_), None) => same.pop_front(),
            (Some(first), Some(other_first)) if is_enough || first < other_first => same.pop_front(),
            _ => other.pop_front(),
        }
    }
}

/// Kinds of draws that have values in common.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Number,
    Other(DrawKind),
}

impl Class {
    fn of(kind: DrawKind) -> Self {
        match kind {
            DrawKind::Int | DrawKind::Uint | DrawKind::F64 | DrawKind::Payload => Self::Number,
            other => Self::Other(other),
        }
    }
}
