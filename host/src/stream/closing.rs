//! What draws take behind the end of a stream, where zeros would never end.
//!
//! The simplest choice is index 0. A guest whose first alternative is the recursive one goes on for ever with zeros. So
//! where the host has a tail made up, for mutants, each call site can have another index to end with. It is only about
//! what is made up: a stream that was drawn holds these indices, and does the same without them.

use fuzzbox_instrument::layout::stream as layout;

/// The largest index that a site can close with.
pub const CLOSING_INDEX_MAX: u64 = 15;

/// By call site: the index that draws take where the stream and its random choices have ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Closing(Vec<u8>);

impl Closing {
    /// Closes a call site with this index. Returns whether that is possible: sites without a number, with a very large
    /// one, and larger indices than [`CLOSING_INDEX_MAX`] stay as they were.
    pub fn set(&mut self, site: u32, index: u64) -> bool {
        if !(1..layout::CLOSINGS_MAX).contains(&site) || index > CLOSING_INDEX_MAX {
            return false;
        }
        let place = site as usize;
        if place >= self.0.len() {
            if index == 0 {
                return true;
            }
            self.0.resize(place + 1, 0);
        }
        self.0[place] = index as u8;
        true
    }

    /// The index for a draw at a call site that has indices up to `max`.
    pub fn index(&self, site: u32, max: u64) -> u64 {
        self.0.get(site as usize).map(|&index| u64::from(index)).filter(|&index| index <= max).unwrap_or(0)
    }

    /// Whether all sites close with 0.
    pub fn is_zero(&self) -> bool {
        self.0.iter().all(|&index| index == 0)
    }

    /// A byte for each site, up to the last that has another index than 0.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::{Choice, Reference, Rule, encode};

    #[test]
    fn sites_close_with_what_is_possible() {
        let mut closing = Closing::default();
        assert!(closing.set(9, 0) && closing.is_zero() && closing.bytes().is_empty());
        assert!(closing.set(3, 2) && !closing.set(0, 1) && !closing.set(1, 16));
        assert!(!closing.set(layout::CLOSINGS_MAX, 1));
        assert_eq!(closing.bytes(), [0, 0, 0, 2]);
        assert_eq!([closing.index(3, 2), closing.index(3, 1), closing.index(4, 9), closing.index(0, 9)], [2, 0, 0, 0]);
        assert!(closing.set(3, 0) && closing.is_zero());
    }

    #[test]
    fn who_asks_how_much_is_left_gets_the_same_answers_without_a_table() {
        let mut closing = Closing::default();
        closing.set(1, 2);
        // Draws, asks, and draws again; all at one site. Returns what was drawn, what was left, and the canonical
        // stream.
        let run = |stream: &[u8], rule: Rule, draws: [usize; 2]| {
            let mut reference = Reference::new(stream, rule).closing(closing.clone(), vec![0]);
            let draw = |reference: &mut Reference| {
                reference.at(Some(0));
                reference.draw_choice(&[], 3, 0).unwrap()
            };
            let first: Vec<_> = (0..draws[0]).map(|_| draw(&mut reference)).collect();
            let left = reference.remaining();
            let then: Vec<_> = (0..draws[1]).map(|_| draw(&mut reference)).collect();
            ((first, left, then), encode(&reference.trace().0.canonical().choices))
        };
        for (len, draws) in [(0, [2, 2]), (1, [3, 1]), (3, [1, 4]), (3, [3, 2]), (0, [0, 2])] {
            let stream = encode(&vec![Choice::Index(1); len]);
            let (drawn, canonical) = run(&stream, Rule { close: true, ..Rule::default() }, draws);
            assert_eq!(drawn.0.last() == Some(&2), draws[0] > len, "the table is used: {drawn:?}");
            assert!(drawn.2.iter().all(|&index| index < 2), "and not any more: {drawn:?}");
            assert_eq!(run(&canonical, Rule::default(), draws), (drawn, canonical), "{len}, {draws:?}");
        }
    }
}
