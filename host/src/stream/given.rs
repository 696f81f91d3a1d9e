//! A stream as the guest's functions read it.

use super::choice::{Item, items};
use super::rule::{Rule, Tail};
use fuzzbox_instrument::layout::stream as layout;

/// A decoded stream, as the parts of the area that the host writes. Used again from one execution to the next.
#[derive(Clone, Debug, Default)]
pub struct Given {
    control: Vec<u8>,
    items: Vec<[u8; layout::ITEM_BYTES as usize]>,
    blobs: Vec<u8>,
}

/// Choices and bytes of blobs that are taken from a stream at most; what is beyond is left out, and a blob without room is cut.
const LIMITS: (usize, usize) = (layout::CHOICES_MAX as usize, layout::BLOBS_BYTES as usize);

/// The choices of a stream as far as the protocol takes them.
pub fn limited(bytes: &[u8]) -> impl Iterator<Item = Item<'_>> {
    let mut room = LIMITS.1;
    items(bytes).take(LIMITS.0).map(move |item| match item {
        Item::Blob(blob) => {
            let len = blob.len().min(room);
            room -= len;
            Item::Blob(&blob[..len])
        }
        index @ Item::Index(_) => index,
    })
}

impl Given {
    /// Decodes a stream that is to be read by a rule.
    pub fn set(&mut self, bytes: &[u8], rule: &Rule) {
        self.items.clear();
        self.blobs.clear();
        for item in limited(bytes) {
            let (value, blob) = match item {
                Item::Index(index) => (index, 0),
                Item::Blob(blob) => {
                    let start = self.blobs.len() as u64;
                    self.blobs.extend_from_slice(blob);
                    (blob.len() as u64, start + 1)
                }
            };
            self.items.push((u128::from(blob) << 64 | u128::from(value)).to_le_bytes());
        }
        self.control.clear();
        self.control.resize(CONTROL_BYTES, 0);
        self.put(layout::END, self.items.as_flattened().len() as u32);
        self.put(layout::WRAP, u32::from(rule.wrap));
        match rule.tail {
            Tail::Zero => {}
            Tail::Stop => self.put(layout::TAIL, layout::TAIL_STOP),
            Tail::Random { seed, choices } => {
                self.put(layout::RANDOM_END, choices.min(layout::CHOICES_MAX) * layout::ITEM_BYTES);
                for (place, state) in (layout::RNG..).step_by(8).zip(Tail::random_state(seed)) {
                    self.control[place as usize..][..8].copy_from_slice(&state.to_le_bytes());
                }
            }
        }
    }

    /// So many call sites have a closing, until the next stream is set.
    pub fn set_closings(&mut self, sites: usize) {
        self.put(layout::CLOSINGS_END, sites as u32);
    }

    /// The guest is told that what it reports is read, until the next stream is set.
    pub fn set_reporting(&mut self) {
        self.put(layout::REPORT, 1);
    }

    fn put(&mut self, place: u32, value: u32) {
        self.control[place as usize..][..4].copy_from_slice(&value.to_le_bytes());
    }

    /// Calls `write` with what goes where, as offsets in the area.
    pub fn parts(&self, mut write: impl FnMut(u32, &[u8])) {
        write(0, &self.control);
        write(layout::ITEMS, self.items.as_flattened());
        write(layout::BLOBS_IN, &self.blobs);
    }
}

/// As much as the host writes of the control block.
const CONTROL_BYTES: usize = layout::CLOSINGS_END as usize + 4;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::{Choice, encode};

    #[test]
    fn choices_and_blobs_beyond_what_is_taken_are_left_out() {
        let blob = Choice::Blob(vec![7; LIMITS.1 - 1]);
        let bytes = encode(&[blob.clone(), blob, Choice::Index(5)]);
        let lens: Vec<_> =
            limited(&bytes).map(|item| if let Item::Blob(blob) = item { blob.len() } else { 0 }).collect();
        assert_eq!(lens, [LIMITS.1 - 1, 1, 0]);
        let many = encode(&vec![Choice::ZERO; LIMITS.0 + 9]);
        assert_eq!(limited(&many).count(), LIMITS.0);
        let mut given = Given::default();
        given.set(&many, &Rule { tail: Tail::Random { seed: 1, choices: u32::MAX }, wrap: true, close: false });
        given.parts(|place, bytes| assert!(place as usize + bytes.len() <= layout::BLOBS_IN as usize));
    }
}
