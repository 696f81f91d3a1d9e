//! Decides where tests are put.
//!
//! A value that is shown is tested where it is pushed, if all that it can be was made by arithmetic of one shape. Else
//! it may be an exact value, whose bits are to be kept, and the test is put behind the arithmetic instead, of all that
//! it can be.

use super::flow::Flow;
use super::shape::Shape;
use super::values::{EXACT, NUMBER, Origin, Slot, Taken, Value};

/// Among what a value may be, beside the bits of shapes: exact.
const EXACT_BIT: u8 = 1 << 4;

/// And what arithmetic made, with another sign.
const SIGNED_BIT: u8 = 1 << 5;

/// Where tests are put, in order, and the shapes of what is tested.
pub(crate) fn places(mut flow: Flow) -> Vec<(Taken, Shape)> {
    let mut tested: Vec<Option<Shape>> = vec![None; flow.places.len()];
    if flow.is_too_much() || !complete(&mut flow) {
        for origin in &flow.origins {
            if let Origin::Made { shape, place } = *origin {
                tested[place as usize] = Some(shape);
            }
        }
    } else {
        Places::new(&flow, &mut tested).show();
    }
    flow.places.into_iter().zip(tested).filter_map(|(place, shape)| Some((place, shape?))).collect()
}

/// Finds out what locals may be at the start of blocks that ask. Gives whether that was not too much.
fn complete(flow: &mut Flow) -> bool {
    let mut waiting: Vec<((u32, u32), Value)> = flow.asked.iter().map(|(&key, &value)| (key, value)).collect();
    while let Some(((block, local), value)) = waiting.pop() {
        if flow.is_too_much() {
            return false;
        }
        let first = if local < flow.params { EXACT } else { NUMBER };
        if let Some(ever) = &flow.ever {
            flow.joins.push((value, first));
            flow.joins.extend(ever.get(&local).map(|&ever| (value, ever)));
            continue;
        }
        if block == 0 {
            flow.joins.push((value, first));
        }
        for &before in &flow.before[block as usize] {
            let key = (before, local);
            let known = flow.set.get(&key).or_else(|| flow.asked.get(&key)).copied();
            let last = known.unwrap_or_else(|| {
                let value = flow.origins.len() as Value;
                flow.origins.push(Origin::Joined);
                flow.asked.insert(key, value);
                waiting.push((key, value));
                value
            });
            flow.joins.push((value, last));
        }
    }
    true
}

struct Places<'f> {
    flow: &'f Flow,
    /// What a joined value is one of: sorted by the first.
    inputs: Vec<(Value, Value)>,
    /// What each value may be.
    masks: Vec<u8>,
    /// Whether all that a value is one of has been shown.
    shown: Vec<bool>,
    tested: &'f mut [Option<Shape>],
}

impl<'f> Places<'f> {
    fn new(flow: &'f Flow, tested: &'f mut [Option<Shape>]) -> Places<'f> {
        let mut inputs = flow.joins.clone();
        inputs.sort_unstable();
        inputs.dedup();
        let shown = vec![false; flow.origins.len()];
        Places { flow, inputs, masks: masks(flow), shown, tested }
    }

    /// Shows all that operators show.
    fn show(mut self) {
        let mut waiting: Vec<Slot> = Vec::new();
        for &(slot, unless) in &self.flow.shown {
            let others = self.masks[slot.value as usize] & !EXACT_BIT & !unless.map_or(0, Shape::bit);
            if others != 0 {
                waiting.push(slot);
            }
        }
        while let Some(slot) = waiting.pop() {
            let made = Shape::of_bit(self.masks[slot.value as usize]);
            match (made, slot.place) {
                (Some(shape), Some(place)) => self.tested[place as usize] = Some(shape),
                _ => self.show_sources(slot.value, &mut waiting),
            }
        }
    }

    /// Tests a value where it is made.
    fn show_sources(&mut self, value: Value, slots: &mut Vec<Slot>) {
        let mut waiting = vec![value];
        while let Some(value) = waiting.pop() {
            if std::mem::replace(&mut self.shown[value as usize], true) {
                continue;
            }
            match self.flow.origins[value as usize] {
                Origin::Known => {}
                Origin::Made { shape, place } => self.tested[place as usize] = Some(shape),
                Origin::Signed(slot) => slots.push(slot),
                Origin::Joined => {
                    let first = self.inputs.partition_point(|&(joined, _)| joined < value);
                    let inputs = self.inputs[first..].iter().take_while(|&&(joined, _)| joined == value);
                    waiting.extend(inputs.map(|&(_, input)| input));
                }
            }
        }
    }
}

/// What each value may be.
fn masks(flow: &Flow) -> Vec<u8> {
    let mut users: Vec<(Value, Value)> = flow.joins.iter().map(|&(joined, input)| (input, joined)).collect();
    users.extend((0..).zip(&flow.origins).filter_map(|(value, origin)| match origin {
        Origin::Signed(slot) => Some((slot.value, value)),
        _ => None,
    }));
    users.sort_unstable();
    users.dedup();
    let mut masks: Vec<u8> = flow
        .origins
        .iter()
        .map(|origin| match origin {
            Origin::Made { shape, .. } => shape.bit(),
            _ => 0,
        })
        .collect();
    masks[EXACT as usize] = EXACT_BIT;
    let mut waiting: Vec<Value> = (0..).zip(&masks).filter(|(_, mask)| **mask != 0).map(|(value, _)| value).collect();
    while let Some(value) = waiting.pop() {
        let first = users.partition_point(|&(input, _)| input < value);
        for &(_, user) in users[first..].iter().take_while(|&&(input, _)| input == value) {
            let mask = masks[value as usize];
            let given = match flow.origins[user as usize] {
                Origin::Signed(_) if mask & !EXACT_BIT != 0 => mask & EXACT_BIT | SIGNED_BIT,
                _ => mask,
            };
            let known = masks[user as usize];
            if known | given != known {
                masks[user as usize] |= given;
                waiting.push(user);
            }
        }
    }
    masks
}
