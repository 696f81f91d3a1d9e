//! Draws of blobs.

use super::{Drawn, Ended, Reference, Source, draw, slice};
use crate::stream::alphabet::{read_pick, write_pick};
use crate::stream::recorded::{blob_max, least_drawn};
use crate::stream::{Choice, Draw, DrawKind};
use fuzzbox_instrument::layout::stream as layout;

/// Scalars of the usual alphabet: ranges of them.
const USUAL: [(u32, u32); 9] = [
    (0x61, 0x7a),
    (0x41, 0x5a),
    (0x30, 0x39),
    (0x20, 0x2f),
    (0x3a, 0x40),
    (0x5b, 0x60),
    (0x7b, 0x7e),
    (0, 0x1f),
    (0x7f, 0x0010_ffff),
];

/// What scalars a string has.
struct Alphabet {
    ranges: Vec<(u32, u32)>,
    /// Surrogates are left out, not replaced.
    usual: bool,
}

impl Alphabet {
    fn read(memory: &[u8], at: u32, ranges: i32) -> Drawn<Self> {
        if at == 0 {
            return Ok(Self { ranges: USUAL.to_vec(), usual: true });
        }
        if !(1..=layout::RANGES_MAX.cast_signed()).contains(&ranges) {
            return Err(Ended::Misused);
        }
        let bytes = slice(memory, at, 8 * ranges.cast_unsigned())?;
        let number = |bytes: [u8; 4]| u32::from_le_bytes(bytes);
        let pairs = bytes.as_chunks().0.as_chunks::<2>().0;
        let ranges: Vec<_> = pairs.iter().map(|&[first, last]| (number(first), number(last))).collect();
        let valid = ranges.iter().all(|&(first, last)| first <= last && last <= 0x0010_ffff);
        if valid { Ok(Self { ranges, usual: false }) } else { Err(Ended::Misused) }
    }

    fn size(&self) -> u32 {
        let all: u32 = self.ranges.iter().map(|(first, last)| last - first + 1).sum();
        if self.usual { all - 0x800 } else { all }
    }

    fn scalar(&self, mut pick: u32) -> char {
        for &(first, last) in &self.ranges {
            let len = last - first + 1;
            if pick < len {
                let scalar = first + pick;
                return match char::from_u32(scalar) {
                    _ if self.usual && scalar >= 0xd800 => {
                        char::from_u32(scalar + 0x800).expect("beyond the surrogates")
                    }
                    Some(scalar) => scalar,
                    None => char::REPLACEMENT_CHARACTER,
                };
            }
            pick -= len;
        }
        unreachable!("picks are below the size")
    }
}

/// What a string is made of: indices in its alphabet.
enum Picks {
    /// These, and then the first.
    Given(Vec<u8>),
    Random,
    /// The first.
    Zero,
}

impl Reference {
    /// Writes `min` to `most` bytes to the guest's memory; gives how many.
    pub fn draw_bytes(&mut self, memory: &mut [u8], to: u32, min: i32, most: i32) -> Drawn<i32> {
        if min < 0 || most < min {
            return Err(Ended::Misused);
        }
        let (least, most) = (min as usize, most as usize);
        // The buffer is to have room for all that may come, whatever comes.
        let to = slice(memory, to, most as u32).map(|_| to as usize)?;
        let room = (layout::BLOBS_BYTES - self.blob_bytes) as usize;
        let blob = match self.source()? {
            Source::Given(choice) => {
                let given = choice.blob().unwrap_or_default();
                let len = given.len().clamp(least, most);
                if choice.blob().is_none() || len != given.len() {
                    self.misaligned();
                }
                if len > room {
                    return self.overrun();
                }
                let mut blob = given[..len.min(given.len())].to_vec();
                blob.resize(len, 0);
                blob
            }
            Source::Random => {
                let len = self.random_len(least as u32, most as u32) as usize;
                if len > room {
                    return self.overrun();
                }
                (0..len).map(|_| (self.random() >> 56) as u8).collect()
            }
            Source::Zero if least > room => return self.overrun(),
            Source::Zero => vec![0; least],
        };
        memory[to..to + blob.len()].copy_from_slice(&blob);
        let len = blob.len() as u32;
        self.blob_bytes += len;
        let bounds = Draw { lo: least as i64, hi: most as i64, ..draw(DrawKind::Bytes, most as u64) };
        self.drew(Choice::Blob(blob), bounds);
        Ok(len.cast_signed())
    }

    /// Writes `min` to `most` scalars of an alphabet to the guest's memory, in at most `room` bytes; gives how many
    /// bytes.
    #[expect(clippy::too_many_arguments, reason = "they are the import's")]
    pub fn draw_str(
        &mut self,
        memory: &mut [u8],
        to: u32,
        room: i32,
        min: i32,
        most: i32,
        alphabet: u32,
        ranges: i32,
    ) -> Drawn<i32> {
        if room < 0 || min < 0 || most < min {
            return Err(Ended::Misused);
        }
        let buffer = slice(memory, to, room.cast_unsigned()).map(|buffer| to as usize..to as usize + buffer.len())?;
        let room = room as usize;
        let alphabet = Alphabet::read(memory, alphabet, ranges)?;
        let size = alphabet.size();
        let (picks, wanted) = self.picks(min, most)?;
        let mut rest = if let Picks::Given(given) = &picks { &given[..] } else { &[] };
        let (mut blob, mut written, mut count) = (Vec::new(), 0, 0);
        while count < most {
            let is_given = !rest.is_empty();
            if !is_given && count >= wanted {
                break;
            }
            let mut pick = match picks {
                Picks::Given(_) if is_given => self.given_pick(&mut rest, size),
                Picks::Random => self.random_pick(size),
                Picks::Given(_) | Picks::Zero => 0,
            };
            let mut scalar = alphabet.scalar(pick);
            if scalar.len_utf8() > room - written {
                if is_given {
                    self.misaligned();
                }
                pick = 0;
                scalar = alphabet.scalar(0);
                if scalar.len_utf8() > room - written {
                    break;
                }
            }
            // What was given is too short, unless nothing has room.
            if !is_given && matches!(picks, Picks::Given(_)) {
                self.misaligned();
            }
            written += scalar.encode_utf8(&mut memory[buffer.clone()][written..]).len();
            if self.blob_bytes as usize + blob.len() + 5 > layout::BLOBS_BYTES as usize {
                return self.overrun();
            }
            write_pick(&mut blob, pick);
            count += 1;
        }
        if !rest.is_empty() {
            self.misaligned();
        }
        self.blob_bytes += blob.len() as u32;
        let (lo, max) = (least_drawn(min.into(), blob.len()), blob_max(most.cast_unsigned(), size));
        self.drew(Choice::Blob(blob), Draw { lo, hi: most.into(), towards: size.into(), ..draw(DrawKind::Str, max) });
        Ok(written as i32)
    }

    /// What a string of `min` to `most` scalars is made of, and how many scalars are wanted.
    fn picks(&mut self, min: i32, most: i32) -> Drawn<(Picks, i32)> {
        Ok(match self.source()? {
            Source::Given(choice) => {
                if choice.blob().is_none() {
                    self.misaligned();
                }
                (Picks::Given(choice.blob().unwrap_or_default().to_vec()), min)
            }
            Source::Random => (Picks::Random, self.random_len(min.cast_unsigned(), most.cast_unsigned()).cast_signed()),
            Source::Zero => (Picks::Zero, min),
        })
    }

    /// The next index of those that are given.
    fn given_pick(&mut self, rest: &mut &[u8], size: u32) -> u32 {
        let pick = read_pick(rest);
        if pick < size {
            return pick;
        }
        self.misaligned();
        if self.rule.wrap { pick % size } else { 0 }
    }

    /// An index in an alphabet; of a large one, half of the time one of its first.
    fn random_pick(&mut self, size: u32) -> u32 {
        let r = self.random();
        let size = if r & 1 == 0 { size.min(95) } else { size };
        ((r >> 8) % u64::from(size)) as u32
    }
}
