//! The choice that gives a value again where something else is drawn.
//!
//! An index means nothing by itself: 5 is -2 of a draw of any integer and 505 of one from 500 on. But the draw says
//! which value it is, and another draw that can give the same value says which index that has there.

use super::choice::Choice;
use super::float::Floats;
use super::trace::{Draw, DrawKind};

/// What a draw of a number gives.
#[derive(Clone, Copy)]
enum Number {
    Integer(i128),
    /// One that no integer is.
    Float(f64),
}

impl Draw {
    /// The choice with which this draw gives the value that `other` gave with `choice`; `None` if it gives no such
    /// value.
    ///
    /// A number is the same as an integer, signed or not, as a floating-point number and as a payload. A decision, a
    /// string and bytes are the same only where the same kind is drawn; of a string nobody knows here what alphabet it
    /// had.
    pub fn reencode(&self, other: &Self, choice: &Choice) -> Option<Choice> {
        let same = match choice {
            Choice::Blob(blob) => self.has_len(blob.len()),
            Choice::Index(index) => match other.as_number(*index) {
                Some(number) => return self.index_of_number(number).map(Choice::Index),
                None => *index <= self.max,
            },
        };
        (same && self.kind == other.kind).then(|| choice.clone())
    }

    /// The choice with which this draw comes nearest to what [`Draw::reencode`] gives: of integers beyond a bound, the
    /// bound; else the simplest.
    pub fn reencode_nearest(&self, other: &Self, choice: &Choice) -> Choice {
        let bound = || match choice.index().and_then(|index| other.as_number(index)) {
            Some(Number::Integer(value)) if matches!(self.kind, DrawKind::Int | DrawKind::Uint) => {
                let (lo, hi, _) = self.bounds();
                self.index_of(value.clamp(lo, hi.max(lo))).map(Choice::Index)
            }
            _ => None,
        };
        self.reencode(other, choice).or_else(bound).unwrap_or_else(|| self.simplest())
    }

    /// The simplest choice that it can take.
    pub fn simplest(&self) -> Choice {
        if self.kind.is_blob() { Choice::Blob(vec![0; usize::try_from(self.lo).unwrap_or(0)]) } else { Choice::ZERO }
    }

    /// The range of a draw of a floating-point number; `None` for all others.
    pub fn floats(&self) -> Option<Floats> {
        let [lo, hi] = [self.lo, self.hi].map(|bits| f64::from_bits(bits.cast_unsigned()));
        // The flags are where integers have the value of index 0.
        (self.kind == DrawKind::F64).then(|| Floats::new(lo, hi, self.towards as u32)).flatten()
    }

    fn as_number(&self, index: u64) -> Option<Number> {
        match self.kind {
            DrawKind::Int | DrawKind::Uint => Some(Number::Integer(self.number(index))),
            DrawKind::Payload => Some(Number::Integer(index.into())),
            DrawKind::F64 => {
                let value = self.floats()?.value(index)?;
                Some(integer(value).map_or(Number::Float(value), Number::Integer))
            }
            _ => None,
        }
    }

    fn index_of_number(&self, number: Number) -> Option<u64> {
        match (self.kind, number) {
            (DrawKind::Int | DrawKind::Uint, Number::Integer(value)) => self.index_of(value),
            (DrawKind::Payload, Number::Integer(value)) => u64::try_from(value).ok().filter(|index| *index <= self.max),
            (DrawKind::F64, Number::Integer(value)) => self.floats()?.index(float(value)?),
            (DrawKind::F64, Number::Float(value)) => self.floats()?.index(value),
            _ => None,
        }
    }

    /// Whether a blob may be so long. Of strings the bounds count scalars, so only the largest number of bytes is
    /// known.
    fn has_len(&self, len: usize) -> bool {
        let least = if self.kind == DrawKind::Bytes { u64::try_from(self.lo).unwrap_or(0) } else { 0 };
        (least..=self.max).contains(&(len as u64))
    }
}

/// The integer that a floating-point number is; -0 is none.
fn integer(value: f64) -> Option<i128> {
    let integer = value as i128;
    (float(integer)?.to_bits() == value.to_bits()).then_some(integer)
}

/// The floating-point number that an integer is.
fn float(value: i128) -> Option<f64> {
    let float = value as f64;
    (float as i128 == value).then_some(float)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::float;

    fn draw(kind: DrawKind, lo: i64, hi: i64, towards: i64) -> Draw {
        let max = match kind {
            DrawKind::Int | DrawKind::Uint => hi.wrapping_sub(lo).cast_unsigned(),
            _ => hi.cast_unsigned(),
        };
        Draw { kind, site: 0, max, forced: max == 0, payload: kind == DrawKind::Payload, lo, hi, towards }
    }

    fn floats(lo: f64, hi: f64, flags: u32) -> Draw {
        let [low, high] = [lo, hi].map(|bound| bound.to_bits().cast_signed());
        let max = Floats::new(lo, hi, flags).unwrap().max();
        Draw { max, ..draw(DrawKind::F64, low, high, flags.into()) }
    }

    #[test]
    fn a_number_that_is_drawn_otherwise_keeps_its_value_and_comes_back() {
        let draws = [
            draw(DrawKind::Int, i64::MIN, i64::MAX, 0),
            draw(DrawKind::Int, -70, 1 << 40, 0),
            draw(DrawKind::Int, -100, 500, 300),
            draw(DrawKind::Uint, 0, -1, 0),
            draw(DrawKind::Uint, 20, 900, 700),
            draw(DrawKind::Payload, 0, i64::from(u32::MAX), 0),
            floats(f64::NEG_INFINITY, f64::INFINITY, float::NAN | float::NEGATIVE_ZERO),
            floats(-64.5, 1e6, 0),
        ];
        for old in &draws {
            for new in &draws {
                let same = (0..=old.max.min(2000))
                    .filter_map(|index| Some((index, new.reencode(old, &Choice::Index(index))?)));
                let mut count = 0;
                for (index, choice) in same {
                    assert_eq!(old.reencode(new, &choice), Some(Choice::Index(index)), "{old:?} {new:?}");
                    count += 1;
                }
                // All have those from 20 to 500 in common, of which some are at indices above 2000.
                assert!(count > 300, "{old:?} {new:?}: {count}");
            }
        }
        let (from_0, from_500) = (draw(DrawKind::Int, 0, 1 << 40, 0), draw(DrawKind::Int, 500, 1 << 41, 500));
        let to = |new: &Draw, old: &Draw, index: u64| new.reencode(old, &Choice::Index(index));
        assert_eq!(to(&from_0, &from_500, 7), Some(Choice::Index(507)));
        assert_eq!((to(&from_500, &from_0, 507), to(&from_500, &from_0, 499)), (Some(Choice::Index(7)), None));
    }

    #[test]
    fn what_no_integer_is_stays_a_floating_point_number() {
        let wide = floats(f64::NEG_INFINITY, f64::INFINITY, float::NAN | float::NEGATIVE_ZERO | float::INFINITE);
        let all = Floats::new(f64::NEG_INFINITY, f64::INFINITY, wide.towards as u32).unwrap();
        let int = draw(DrawKind::Int, i64::MIN, i64::MAX, 0);
        for value in [0.5, -0.0, f64::NAN, f64::INFINITY, 1e300] {
            let choice = Choice::Index(all.index(value).unwrap());
            assert_eq!(int.reencode(&wide, &choice), None, "{value}");
            assert_eq!(wide.reencode(&wide, &choice), Some(choice.clone()), "{value}");
            assert_eq!(int.reencode_nearest(&wide, &choice), Choice::ZERO);
        }
        let odd = Choice::Index(int.index_of((1 << 53) + 1).unwrap());
        assert_eq!(wide.reencode(&int, &odd), None, "2^53 + 1 has no place among them");
    }

    #[test]
    fn what_can_not_be_drawn_is_the_bound_or_the_simplest() {
        let (old, new) = (draw(DrawKind::Int, 0, 1000, 0), draw(DrawKind::Int, -9, 20, 3));
        let nearest = |index: u64| new.number(new.reencode_nearest(&old, &Choice::Index(index)).index().unwrap());
        assert_eq!((nearest(15), nearest(20), nearest(900)), (15, 20, 20));
        let (six, two) = (draw(DrawKind::Choice, 0, 5, 0), draw(DrawKind::Choice, 0, 1, 0));
        assert_eq!(two.reencode_nearest(&six, &Choice::Index(1)), Choice::Index(1));
        assert_eq!(two.reencode_nearest(&six, &Choice::Index(4)), Choice::ZERO);
        assert_eq!(old.reencode_nearest(&six, &Choice::Index(4)), Choice::ZERO, "a decision is no number");
    }

    #[test]
    fn a_blob_stays_where_there_is_room_for_it() {
        let (old, short) = (draw(DrawKind::Bytes, 0, 40, 0), draw(DrawKind::Bytes, 2, 4, 0));
        let blob = |len: usize| Choice::Blob(vec![7; len]);
        let fits = |len: usize| short.reencode(&old, &blob(len)).is_some();
        assert_eq!((1..6).map(fits).collect::<Vec<_>>(), [false, true, true, true, false]);
        assert_eq!(short.reencode_nearest(&old, &blob(5)), Choice::Blob(vec![0; 2]));
        assert_eq!(draw(DrawKind::Str, 0, 40, 0).reencode(&old, &blob(3)), None);
    }
}
