//! A stream as the guest's functions read it.

use super::choice::{Item, Short, first_item, items, short_indices};
use super::rule::{Rule, Tail};
use fuzzbox_instrument::layout::stream as layout;

/// A decoded stream, as the parts of the area that the host writes. Used again from one execution to the next.
#[derive(Clone, Debug, Default)]
pub struct StreamArea {
    control: Vec<u8>,
    items: Vec<[u8; layout::ITEM_BYTES as usize]>,
    blobs: Vec<u8>,
}

/// Choices and bytes of blobs that are taken from a stream at most; what is beyond is left out, and a blob without room
/// is cut.
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

impl StreamArea {
    /// A stream that is read by the default rule.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let mut area = Self::default();
        area.set(bytes, &Rule::default());
        area
    }

    /// Decodes a stream that is to be read by a rule.
    pub fn set(&mut self, bytes: &[u8], rule: &Rule) {
        self.decode(bytes);
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

    /// The items that [`limited`] gives.
    fn decode(&mut self, mut bytes: &[u8]) {
        self.items.clear();
        self.blobs.clear();
        loop {
            let room = LIMITS.0 - self.items.len();
            match short_indices(bytes) {
                Some((Short::Eight(indices), rest)) if room >= indices.len() => {
                    self.items.extend_from_slice(&indices.map(|index| item(index, 0)));
                    bytes = rest;
                    continue;
                }
                Some((Short::Four(indices), rest)) if room >= indices.len() => {
                    self.items.extend_from_slice(&indices.map(|index| item(index, 0)));
                    bytes = rest;
                    continue;
                }
                _ => {}
            }
            if room == 0 {
                return;
            }
            let Some((first, rest)) = first_item(bytes) else { return };
            bytes = rest;
            self.items.push(match first {
                Item::Index(index) => item(index, 0),
                Item::Blob(blob) => {
                    let start = self.blobs.len();
                    let blob = &blob[..blob.len().min(LIMITS.1 - start)];
                    self.blobs.extend_from_slice(blob);
                    item(blob.len() as u64, start as u64 + 1)
                }
            });
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

/// An index; or the length of a blob, and one more than where it begins.
fn item(value: u64, blob: u64) -> [u8; layout::ITEM_BYTES as usize] {
    (u128::from(blob) << 64 | u128::from(value)).to_le_bytes()
}

/// As much as the host writes of the control block.
const CONTROL_BYTES: usize = layout::CLOSINGS_END as usize + 4;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::{Choice, encode};
    use rand_core::{Rng as _, SeedableRng as _};
    use rand_xoshiro::Xoshiro256PlusPlus;

    /// What is given, read item by item.
    fn assert_is_limited(bytes: &[u8]) {
        let (mut given, mut expected, mut blobs) = (StreamArea::default(), Vec::new(), Vec::new());
        for one in limited(bytes) {
            expected.push(match one {
                Item::Index(index) => item(index, 0),
                Item::Blob(blob) => item(blob.len() as u64, blobs.len() as u64 + 1),
            });
            blobs.extend_from_slice(if let Item::Blob(blob) = one { blob } else { &[] });
        }
        given.set(bytes, &Rule::default());
        assert!(given.items == expected && given.blobs == blobs, "{bytes:?}");
    }

    #[test]
    fn short_indices_are_what_they_are_one_by_one() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        for _ in 0..5_000 {
            let mut bytes = Vec::new();
            for _ in 0..rng.next_u32() % 6 {
                // Runs of numbers that take as many bytes, and what is between them.
                let (len, bits) = (rng.next_u32() % 12, rng.next_u32() % 20);
                let run: Vec<_> =
                    (0..len).map(|_| Choice::Index(rng.next_u64() & ((1 << bits) - 1) | 1 << bits)).collect();
                bytes.extend(encode(&run));
                if rng.next_u32().is_multiple_of(4) {
                    bytes.extend(encode(&[Choice::Blob(vec![0; (rng.next_u32() % 9) as usize])]));
                }
            }
            assert_is_limited(&bytes);
            if let Some(place) = (rng.next_u32() as usize).checked_rem(bytes.len()) {
                bytes[place] ^= 1 << (rng.next_u32() % 8);
                assert_is_limited(&bytes);
            }
        }
    }

    #[test]
    fn choices_and_blobs_beyond_what_is_taken_are_left_out() {
        let blob = Choice::Blob(vec![7; LIMITS.1 - 1]);
        let bytes = encode(&[blob.clone(), blob, Choice::Index(5)]);
        let lens: Vec<_> =
            limited(&bytes).map(|item| if let Item::Blob(blob) = item { blob.len() } else { 0 }).collect();
        assert_eq!(lens, [LIMITS.1 - 1, 1, 0]);
        assert_is_limited(&bytes);
        let many = encode(&vec![Choice::ZERO; LIMITS.0 + 9]);
        assert_eq!(limited(&many).count(), LIMITS.0);
        assert_is_limited(&many);
        assert_is_limited(&[&[0], &*many].concat());
        let mut given = StreamArea::default();
        given.set(&many, &Rule { tail: Tail::Random { seed: 1, choices: u32::MAX }, wrap: true, close: false });
        given.parts(|place, bytes| assert!(place as usize + bytes.len() <= layout::BLOBS_IN as usize));
    }
}
