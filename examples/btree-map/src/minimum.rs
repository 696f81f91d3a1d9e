//! What the simplest failure is, by enumeration.
//!
//! What an action does to a tree depends on the tree's shape and on where the key is among the others, not on the keys. There
//! are few shapes, so the fewest choices from each of them to a failure are known. Along these, the first actions in
//! order that keep to them are the simplest failure: fewer choices are simpler, then smaller ones from the left.

use super::btree::Map;
use std::collections::{BTreeMap, BTreeSet};

/// Choices that an insertion takes: that there is an action, which, its key and its value.
const INSERT: u32 = 4;
/// Choices that a removal takes.
const REMOVE: u32 = 3;
/// More take more choices than the simplest failure.
const ENTRIES_MAX: usize = 11;

type Shape = Vec<usize>;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Action {
    Remove(u8),
    Insert(u8),
}

impl Action {
    fn cost(self) -> u32 {
        if matches!(self, Self::Insert(_)) { INSERT } else { REMOVE }
    }

    /// The map after it; `None` if that has its entries in the wrong order.
    fn apply(self, map: &Map) -> Option<Map> {
        let mut map = map.clone();
        match self {
            Self::Remove(key) => map.remove(key),
            Self::Insert(key) => map.insert(key, 0),
        };
        map.entries().is_sorted_by(|a, b| a.0 < b.0).then_some(map)
    }
}

/// For each shape what an action costs and the shape that it gives, `None` if it fails.
fn all_steps() -> BTreeMap<Shape, BTreeSet<(u32, Option<Shape>)>> {
    let mut all = BTreeMap::new();
    let mut left = vec![Map::default()];
    while let Some(mut map) = left.pop() {
        if all.contains_key(&map.shape()) || map.len() > ENTRIES_MAX {
            continue;
        }
        // Odd keys, so that there is room for one between any two.
        map.renumber(|place| 2 * place + 1);
        let actions = (0..2 * map.len() as u8 + 1).map(|key| match key % 2 {
            0 => Action::Insert(key),
            _ => Action::Remove(key),
        });
        let after: Vec<_> = actions.map(|action| (action.cost(), action.apply(&map))).collect();
        let steps = after.iter().map(|(cost, map)| (*cost, map.as_ref().map(Map::shape))).collect();
        all.insert(map.shape(), steps);
        left.extend(after.into_iter().filter_map(|(_, map)| map));
    }
    all
}

/// The fewest choices to a failure, from each shape from which there is one.
fn costs() -> BTreeMap<Shape, u32> {
    let steps = all_steps();
    let mut costs: BTreeMap<Shape, u32> = BTreeMap::new();
    loop {
        let before = costs.clone();
        for (shape, steps) in &steps {
            let through = steps.iter().filter_map(|(cost, to)| match to {
                Some(to) => before.get(to).map(|further| cost + further),
                None => Some(*cost),
            });
            if let Some(least) = through.min() {
                costs.insert(shape.clone(), least);
            }
        }
        if costs == before {
            return costs;
        }
    }
}

/// The first actions in order, with so many choices in all, of which the last fails.
fn first(map: &Map, choices: u32, costs: &BTreeMap<Shape, u32>) -> Option<Vec<Action>> {
    let actions = (0..=31).map(Action::Remove).chain((0..=31).map(Action::Insert));
    actions.filter(|action| action.cost() <= choices).find_map(|action| {
        let further = choices - action.cost();
        let rest = match action.apply(map) {
            None => (further == 0).then(Vec::new),
            Some(after) if costs.get(&after.shape()).is_some_and(|cost| *cost <= further) => {
                first(&after, further, costs)
            }
            Some(_) => None,
        };
        rest.map(|rest| [vec![action], rest].concat())
    })
}

#[test]
fn the_simplest_failure_is_ten_insertions_and_a_removal() {
    let costs = costs();
    let choices = costs[&Map::default().shape()];
    assert_eq!(choices, 10 * INSERT + REMOVE);
    let inserted = [0, 1, 8, 9, 6, 7, 4, 5, 2, 3].map(Action::Insert);
    let expected = [&inserted[..], &[Action::Remove(7)]].concat();
    assert_eq!(first(&Map::default(), choices, &costs), Some(expected));
}
