//! Draws of one index.

use super::{Drawn, Ended, Reference, draw, slice};
use crate::stream::float::{Floats, zigzag};
use crate::stream::{Choice, Draw, DrawKind};
use fuzzbox_instrument::layout::stream as layout;

impl Reference {
    /// A signed integer from `lo` to `hi`; `towards`, or the bound next to it, is the simplest.
    pub fn draw_int(&mut self, lo: i64, hi: i64, towards: i64) -> Drawn<i64> {
        if lo > hi {
            return Err(Ended::Misused);
        }
        self.integer(DrawKind::Int, lo, hi, towards.clamp(lo, hi))
    }

    /// An unsigned integer, likewise.
    pub fn draw_uint(&mut self, lo: u64, hi: u64, towards: u64) -> Drawn<u64> {
        if lo > hi {
            return Err(Ended::Misused);
        }
        let towards = towards.clamp(lo, hi);
        self.integer(DrawKind::Uint, lo.cast_signed(), hi.cast_signed(), towards.cast_signed()).map(i64::cast_unsigned)
    }

    fn integer(&mut self, kind: DrawKind, lo: i64, hi: i64, towards: i64) -> Drawn<i64> {
        let max = hi.wrapping_sub(lo).cast_unsigned();
        let index = self.index_or_closing(max, |this| this.random_index(max))?;
        self.drew(Choice::Index(index), Draw { lo, hi, towards, ..draw(kind, max) });
        Ok(zigzag(index, lo, hi, towards))
    }

    /// True with a probability in units of 2^-32; 0 and 2^32 - 1 are certain.
    pub fn draw_bool(&mut self, p: u32) -> Drawn<bool> {
        let max = u64::from(p != 0 && p != u32::MAX);
        let index = self.index_or_closing(max, |this| u64::from(this.chance(p)) & max)?;
        self.drew(Choice::Index(index), Draw { lo: p.into(), hi: 1, ..draw(DrawKind::Bool, max) });
        Ok(index == 1 || p == u32::MAX)
    }

    /// A number below `n`. `weights` is 0, or where there are `n` weights.
    pub fn draw_choice(&mut self, memory: &[u8], n: i32, weights: u32) -> Drawn<i32> {
        if n <= 0 || weights != 0 && n.cast_unsigned() > layout::WEIGHTS_MAX {
            return Err(Ended::Misused);
        }
        let weights = if weights == 0 { &[] } else { slice(memory, weights, 4 * n.cast_unsigned())? };
        let weights: Vec<u64> = weights.as_chunks().0.iter().map(|&weight| u32::from_le_bytes(weight).into()).collect();
        let max = u64::from(n.cast_unsigned() - 1);
        let index = self.index_or_closing(max, |this| {
            let (r, sum) = (this.random(), weights.iter().sum::<u64>());
            if sum == 0 {
                return r % (max + 1);
            }
            let mut rest = r % sum;
            let chosen = weights.iter().position(|&weight| {
                let found = rest < weight;
                rest = rest.wrapping_sub(weight);
                found
            });
            chosen.expect("the rest is below the sum") as u64
        })?;
        self.drew(Choice::Index(index), draw(DrawKind::Choice, max));
        Ok(index as i32)
    }

    /// A number of 1 to 64 bits that must not influence control flow.
    pub fn draw_payload(&mut self, bits: i32) -> Drawn<u64> {
        if !(1..=64).contains(&bits) {
            return Err(Ended::Misused);
        }
        let max = u64::MAX >> (64 - bits);
        let index = self.index(max, |this| this.random() & max)?;
        self.drew(Choice::Index(index), draw(DrawKind::Payload, max));
        Ok(index)
    }

    /// Whether the collection of the innermost span goes on.
    pub fn draw_more(&mut self, min: i32, most: i32, average: i32) -> Drawn<bool> {
        if min < 0 || most < min {
            return Err(Ended::Misused);
        }
        let count = *self.counts.last().expect("that of no span is there");
        let (least, most) = (min.cast_unsigned(), most.cast_unsigned());
        let max = u64::from((least..most).contains(&count));
        let index =
            self.index_or_closing(max, |this| u64::from(this.chance(probability(least, most, average))) & max)?;
        let bounds = Draw { lo: least.into(), hi: most.into(), ..draw(DrawKind::More, max) };
        self.drew(Choice::Index(index), bounds);
        let more = index == 1 || count < least;
        *self.counts.last_mut().expect("as above") = if more { count + 1 } else { 0 };
        Ok(more)
    }

    /// A floating-point number from `lo` to `hi`; flags are those of [`float`](crate::stream::float).
    pub fn draw_f64(&mut self, lo: f64, hi: f64, flags: u32) -> Drawn<f64> {
        let floats = Floats::new(lo, hi, flags).ok_or(Ended::Misused)?;
        let max = floats.max();
        let index = self.index(max, |this| this.random_index(max))?;
        let [lo, hi] = [lo, hi].map(|bound| bound.to_bits().cast_signed());
        self.drew(Choice::Index(index), Draw { lo, hi, towards: flags.into(), ..draw(DrawKind::F64, max) });
        Ok(floats.value(index).expect("it is not above the largest"))
    }
}

/// The probability that makes collections as long as they are to be on average, in units of 2^-32.
fn probability(min: u32, most: u32, average: i32) -> u32 {
    let (least, span) = (u64::from(min), u64::from(most - min));
    let extra = match u64::try_from(average) {
        Ok(average @ 1..) => average.saturating_sub(least << 8),
        _ => (least.max(5) << 8).min(span << 7),
    };
    let extra = extra.min(1 << 30);
    ((extra << 32) / (extra + 256)) as u32
}
