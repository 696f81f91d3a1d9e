//! Lowers draws with equal values together, which one by one they resist.

use crate::engine::shrink::edit::index_at;
use crate::engine::shrink::shrinker::{Shrinker, Step};
use crate::engine::shrink::value::lower_index;
use crate::stream::{Choice, DrawKind, Trace};
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn run(s: &mut Shrinker<'_>) -> Step<()> {
    let mut done = BTreeSet::new();
    loop {
        let groups = groups(&s.current().trace);
        let Some((key, group)) = groups.into_iter().find(|(key, _)| !done.contains(key)) else { return Ok(()) };
        done.insert(key);
        if !lower(s, &group)? && group.len() > 2 {
            for pair in group.windows(2) {
                // A success may have changed what the other places mean.
                if groups_pair(&s.current().trace, pair) {
                    lower(s, pair)?;
                }
            }
        }
    }
}

/// Whether the two places still have equal values.
fn groups_pair(trace: &Trace, pair: &[usize]) -> bool {
    pair.iter().all(|at| *at < trace.choices.len()) && trace.choices[pair[0]] == trace.choices[pair[1]]
}

/// Places with equal values, by kind and value; the largest values first.
fn groups(trace: &Trace) -> Vec<((DrawKind, u64), Vec<usize>)> {
    let mut groups: BTreeMap<(DrawKind, u64), Vec<usize>> = BTreeMap::new();
    for (at, draw) in trace.draws.iter().enumerate() {
        let index = index_at(trace, at);
        if index > 0 && !draw.forced && draw.kind != DrawKind::More {
            groups.entry((draw.kind, index)).or_default().push(at);
        }
    }
    groups.into_iter().filter(|(_, group)| group.len() > 1).rev().collect()
}

fn lower(s: &mut Shrinker<'_>, group: &[usize]) -> Step<bool> {
    let base = s.current();
    let before = base.trace.choices.clone();
    let draw = &base.trace.draws[group[0]];
    let index = index_at(&base.trace, group[0]);
    let all = |index: u64| {
        let mut choices = base.trace.choices.clone();
        group.iter().for_each(|at| choices[*at] = Choice::Index(index));
        choices
    };
    lower_index(s, draw, index, |s, index| s.consider(all(index)))?;
    Ok(s.current().trace.choices != before)
}
