//! The order of floating-point numbers: which index stands for which number of a range.
//!
//! Each number of the range has one index. First come integers up to 2^53 in zigzag order (0, 1, -1, 2, ...); then odd
//! multiples of 1/2, of 1/4, and so on; then odd multiples of 2, of 4, and so on that are beyond 2^53; then -0,
//! infinity, -infinity, NaN, as far as flags allow them. That simple numbers come first, integers before fractions, is
//! the idea of Hypothesis' lexicographic encoding of floats; there a number and its sign are two draws.
//!
//! An infinite bound means the largest finite number. Unless [`SUBNORMAL`] is set, numbers that need more than 1022
//! binary places are left out: all that are subnormal, and some others below 2^-970.

/// NaN is allowed, whatever the bounds.
pub const NAN: u32 = 1;
/// Infinities are allowed, where they are the bound.
pub const INFINITE: u32 = 2;
/// -0 is allowed, if 0 is in the range.
pub const NEGATIVE_ZERO: u32 = 4;
/// Subnormal numbers are allowed.
pub const SUBNORMAL: u32 = 8;

/// 2^53: all integers up to it are numbers.
const INTEGER_MAX: f64 = (1_u64 << 53) as f64;
/// Bits of 2^-970: from there on no number needs more than 1022 binary places.
const FEW_PLACES: u64 = 0x0350_0000_0000_0000;
/// 2^1022.
const TWO_TO_1022: f64 = f64::from_bits(0x7fd0_0000_0000_0000);

/// A range of numbers that can be drawn.
#[derive(Clone, Copy, Debug)]
pub struct Floats {
    lo: f64,
    hi: f64,
    flags: u32,
    /// How many finite numbers there are.
    finite: u64,
    /// -0, infinity, -infinity, NaN, as far as they are in the range.
    specials: [Option<f64>; 4],
}

impl Floats {
    /// From `lo` to `hi`; `None` if there is no number.
    pub fn new(lo: f64, hi: f64, flags: u32) -> Option<Self> {
        if lo.is_nan() || hi.is_nan() || lo > hi {
            return None;
        }
        let has = |flag| flags & flag != 0;
        let specials = [
            (has(NEGATIVE_ZERO) && lo <= 0.0 && hi >= 0.0).then_some(-0.0),
            (has(INFINITE) && hi == f64::INFINITY).then_some(f64::INFINITY),
            (has(INFINITE) && lo == f64::NEG_INFINITY).then_some(f64::NEG_INFINITY),
            has(NAN).then_some(f64::from_bits(0x7ff8_0000_0000_0000)),
        ];
        // -0 becomes 0.
        let (lo, hi) = (lo.max(f64::MIN) + 0.0, hi.min(f64::MAX) + 0.0);
        let to = |x: f64| Self::count_to(x.to_bits(), flags);
        let below = |x: f64| Self::count_to(x.to_bits() - 1, flags);
        let finite = match () {
            () if lo > hi => 0,
            () if lo > 0.0 => to(hi) - below(lo),
            () if hi < 0.0 => to(-lo) - below(-hi),
            () => to(hi) + to(lo.abs()) - 1,
        };
        let floats = Self { lo, hi, flags, finite, specials };
        (floats.count() > 0).then_some(floats)
    }

    /// How many numbers there are from 0 to that with these bits.
    fn count_to(bits: u64, flags: u32) -> u64 {
        if flags & SUBNORMAL != 0 {
            return bits + 1;
        }
        let tiny = bits.min(FEW_PLACES - 1);
        bits - tiny + (f64::from_bits(tiny) * TWO_TO_1022).floor() as u64 + 1
    }

    fn count(&self) -> u64 {
        self.finite + self.specials.iter().flatten().count() as u64
    }

    /// The largest index.
    pub fn max(&self) -> u64 {
        self.count() - 1
    }

    /// The number at an index; `None` if it is larger than [`Floats::max`].
    pub fn value(&self, index: u64) -> Option<f64> {
        if index >= self.finite {
            return self.specials.iter().flatten().nth(usize::try_from(index - self.finite).ok()?).copied();
        }
        let mut rest = index;
        self.steps(|step| {
            let value = step.value(rest);
            rest = rest.wrapping_sub(step.count());
            value
        })
    }

    /// The index of a number; `None` if it is not in the range. The bits of NaN don't matter.
    pub fn index(&self, value: f64) -> Option<u64> {
        let same = |other: f64| other.to_bits() == value.to_bits() || other.is_nan() && value.is_nan();
        let mut specials = self.specials.iter().flatten();
        if let Some(place) = specials.position(|&special| same(special)) {
            return Some(self.finite + place as u64);
        }
        if !(self.lo..=self.hi).contains(&value) || value == 0.0 && value.is_sign_negative() {
            return None;
        }
        let mut before = 0;
        self.steps(|step| {
            let index = step.index(value).map(|index| before + index);
            before += step.count();
            index
        })
    }

    /// Calls `visit` with each step of the order until it finds something.
    fn steps<T>(&self, mut visit: impl FnMut(Step) -> Option<T>) -> Option<T> {
        let places_max = if self.flags & SUBNORMAL != 0 { 1074 } else { 1022 };
        let (mut lo, mut hi) = (self.lo, self.hi);
        for places in 0..=places_max {
            let (first, last) = (ceil(lo), floor(hi));
            let step = if places == 0 { Step::Integers(first, last) } else { Step::Fractions { places, first, last } };
            if let Some(found) = visit(step) {
                return Some(found);
            }
            (lo, hi) = (lo + lo, hi + hi);
        }
        let (mut lo, mut hi, mut beyond) = (self.lo, self.hi, INTEGER_MAX);
        for power in 1..=1023 {
            (lo, hi, beyond) = (lo * 0.5, hi * 0.5, beyond * 0.5);
            let least = beyond as i64 + 1;
            for (negative, first, last) in [(false, ceil(lo), floor(hi)), (true, ceil(-hi), floor(-lo))] {
                if let Some(found) = visit(Step::Large { power, negative, first: first.max(least), last }) {
                    return Some(found);
                }
            }
        }
        None
    }
}

/// A part of the order, whose numbers have the same number of binary places.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// From one integer to another.
    Integers(i64, i64),
    /// Odd multiples of 2^-places.
    Fractions { places: i32, first: i64, last: i64 },
    /// Odd multiples of 2^power, from their absolute values.
    Large { power: i32, negative: bool, first: i64, last: i64 },
}

impl Step {
    /// The odd numbers among those from `first` to `last`: the first of them and the last.
    fn odd(first: i64, last: i64) -> (i64, i64) {
        (first | 1, (last - 1) | 1)
    }

    fn count(self) -> u64 {
        match self {
            Self::Integers(first, last) if first > last => 0,
            Self::Integers(first, last) => last.abs_diff(first) + 1,
            Self::Fractions { first, last, .. } | Self::Large { first, last, .. } => {
                let (first, last) = Self::odd(first, last);
                if first > last { 0 } else { last.abs_diff(first) / 2 + 1 }
            }
        }
    }

    fn value(self, index: u64) -> Option<f64> {
        if index >= self.count() {
            return None;
        }
        Some(match self {
            Self::Integers(first, last) => zigzag_near_0(index, first, last) as f64,
            Self::Fractions { places, first, last } => {
                let (first, last) = Self::odd(first, last);
                let number = 1 - 2 * zigzag_near_0(index, (1 - last) >> 1, (1 - first) >> 1);
                number as f64 * power(-places)
            }
            Self::Large { power: n, negative, first, last } => {
                let value = (Self::odd(first, last).0 + 2 * index.cast_signed()) as f64 * power(n);
                if negative { -value } else { value }
            }
        })
    }

    fn index(self, value: f64) -> Option<u64> {
        let whole = |value: f64| {
            let number = value as i64;
            (number as f64 == value && value.abs() <= INTEGER_MAX).then_some(number)
        };
        match self {
            Self::Integers(first, last) => whole(value)
                .filter(|number| (first..=last).contains(number))
                .map(|number| index_near_0(number, first, last)),
            Self::Fractions { places, first, last } => {
                // In two steps, as 2^places may be beyond what is finite.
                let scaled = value * power(places / 2) * power(places - places / 2);
                let (first, last) = Self::odd(first, last);
                let number = whole(scaled).filter(|number| number & 1 == 1 && (first..=last).contains(number))?;
                Some(index_near_0((1 - number) >> 1, (1 - last) >> 1, (1 - first) >> 1))
            }
            Self::Large { power: n, negative, first, last } => {
                let value = if negative { -value } else { value };
                let number = whole(value * power(-n))?;
                let (first, last) = Self::odd(first, last);
                (number & 1 == 1 && (first..=last).contains(&number)).then(|| number.abs_diff(first) / 2)
            }
        }
    }
}

/// The least integer that is not below x, or -2^53 if that is larger.
fn ceil(x: f64) -> i64 {
    x.max(-INTEGER_MAX).ceil() as i64
}

/// The largest integer that is not above x, or 2^53 if that is smaller; something below -2^53 if it is.
fn floor(x: f64) -> i64 {
    x.clamp(-INTEGER_MAX - 2.0, INTEGER_MAX).floor() as i64
}

/// 2^n, from -1074 to 1023.
fn power(n: i32) -> f64 {
    f64::from_bits(if n >= -1022 { ((n + 1023) as u64) << 52 } else { 1 << (n + 1074) })
}

fn zigzag_near_0(index: u64, lo: i64, hi: i64) -> i64 {
    zigzag(index, lo, hi, 0.clamp(lo, hi))
}

fn index_near_0(value: i64, lo: i64, hi: i64) -> u64 {
    index_of(value, lo, hi, 0.clamp(lo, hi))
}

/// The value at an index of a draw of an integer: `towards`, then by distance from it, the larger first. Unsigned
/// integers are the same modulo 2^64.
pub fn zigzag(index: u64, lo: i64, hi: i64, towards: i64) -> i64 {
    let (below, above) = (towards.wrapping_sub(lo).cast_unsigned(), hi.wrapping_sub(towards).cast_unsigned());
    let both = below.min(above);
    let (up, distance) =
        if index <= 2 * both { (index & 1 == 1, index.div_ceil(2)) } else { (above > below, index - both) };
    let distance = distance.cast_signed();
    if up { towards.wrapping_add(distance) } else { towards.wrapping_sub(distance) }
}

/// The index of a value between `lo` and `hi` in the order of [`zigzag`]; `towards` is between them as well.
pub fn index_of(value: i64, lo: i64, hi: i64, towards: i64) -> u64 {
    let (below, above) = (towards.wrapping_sub(lo).cast_unsigned(), hi.wrapping_sub(towards).cast_unsigned());
    let both = below.min(above);
    let (up, down) = (value.wrapping_sub(towards).cast_unsigned(), towards.wrapping_sub(value).cast_unsigned());
    // One of them is the distance; the other one, 2^64 less that, is beyond the bound on its side.
    match () {
        () if up == 0 => 0,
        () if up <= above && up <= both => 2 * up - 1,
        () if up <= above => up + both,
        () if down <= both => 2 * down,
        () => down + both,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::Rng as _;

    const ALL: u32 = NAN | INFINITE | NEGATIVE_ZERO | SUBNORMAL;

    fn first(floats: Floats, count: u64) -> Vec<f64> {
        (0..count).map_while(|index| floats.value(index)).collect()
    }

    #[test]
    fn simple_numbers_come_first() {
        let all = Floats::new(f64::NEG_INFINITY, f64::INFINITY, ALL).unwrap();
        assert_eq!(first(all, 5), [0.0, 1.0, -1.0, 2.0, -2.0]);
        assert_eq!(first(Floats::new(0.0, 1.0, 0).unwrap(), 5), [0.0, 1.0, 0.5, 0.25, 0.75]);
        assert_eq!(first(Floats::new(-1.0, 1.0, 0).unwrap(), 9), [0.0, 1.0, -1.0, 0.5, -0.5, 0.25, -0.25, 0.75, -0.75]);
        assert_eq!(first(Floats::new(2.5, 4.0, 0).unwrap(), 4), [3.0, 4.0, 2.5, 3.5]);
        let last: Vec<_> = (0..4).map(|place| all.value(all.max() - place).unwrap()).collect();
        assert!(last[0].is_nan() && last[1..3] == [f64::NEG_INFINITY, f64::INFINITY]);
        assert!(last[3] == 0.0 && last[3].is_sign_negative());
        assert_eq!(all.value(all.max() - 4).unwrap().abs(), 2_f64.powi(1023));
    }

    #[test]
    fn every_number_of_a_range_has_one_index() {
        let tiny = f64::from_bits(1);
        let around = |x: f64, n: u64| (f64::from_bits(x.to_bits() - n), f64::from_bits(x.to_bits() + n));
        let ranges = [
            around(1.0, 700),
            around(INTEGER_MAX, 700),
            around(1e300, 300),
            around(1e-300, 300),
            around(f64::MIN_POSITIVE, 300),
            (-50.0 * tiny, 70.0 * tiny),
            (f64::MAX - 1e294, f64::MAX),
            (-f64::from_bits(2.0_f64.to_bits() + 99), -2.0),
            (-f64::from_bits(1e300_f64.to_bits() + 99), -1e300),
        ];
        for (lo, hi) in ranges {
            let floats = Floats::new(lo, hi, SUBNORMAL).unwrap();
            let mut values: Vec<f64> = (0..=floats.max()).map(|index| floats.value(index).unwrap()).collect();
            values.sort_by(f64::total_cmp);
            values.dedup();
            assert_eq!(values.len() as u64, floats.max() + 1, "{lo:e} {hi:e}");
            let order = |x: f64| if x < 0.0 { -i128::from(x.abs().to_bits()) } else { i128::from(x.to_bits()) };
            assert_eq!(i128::from(floats.max()), order(hi) - order(lo));
            assert!(values.iter().all(|value| (lo..=hi).contains(value)));
            assert_eq!(floats.value(floats.max() + 1), None);
        }
    }

    #[test]
    fn numbers_with_many_places_are_left_out() {
        let (lo, hi) = (0.0, f64::from_bits(FEW_PLACES + 3));
        let floats = Floats::new(lo, hi, 0).unwrap();
        // Multiples of 2^-1022 up to 2^-970, and three numbers beyond.
        assert_eq!(floats.max(), (1 << 52) + 3);
        assert_eq!(floats.value(1), Some(2_f64.powi(-970)));
        assert!((0..=1000).all(|index| !floats.value(floats.max() - index).unwrap().is_subnormal()));
        assert!(Floats::new(f64::from_bits(1), f64::from_bits(1), 0).is_none());
        assert!(Floats::new(1.0, 0.0, ALL).is_none() && Floats::new(f64::NAN, 0.0, ALL).is_none());
    }

    #[test]
    fn indices_lead_to_numbers_and_back() {
        let mut rng = crate::stream::Tail::random(3);
        for round in 0..20_000 {
            let mut any = || f64::from_bits(rng.next_u64() >> (rng.next_u64() % 2) << (rng.next_u64() % 64));
            let (a, b, x) = (any(), any(), any());
            let Some(floats) = Floats::new(a.min(b), a.max(b), rng.next_u32() & ALL) else { continue };
            let index = rng.next_u64() >> (rng.next_u32() % 64);
            if let Some(value) = floats.value(index) {
                assert_eq!(floats.index(value), Some(index), "{round}: {value:e} {floats:?}");
            }
            if let Some(index) = floats.index(x) {
                let value = floats.value(index).unwrap();
                let same = value.to_bits() == x.to_bits() || value.is_nan() && x.is_nan();
                assert!(same, "{round}: {x:e} {value:e} {floats:?}");
            }
        }
    }

    #[test]
    fn integers_lead_to_indices_and_back() {
        assert_eq!((0..6).map(|index| zigzag(index, -1, 4, 0)).collect::<Vec<_>>(), [0, 1, -1, 2, 3, 4]);
        assert_eq!((0..6).map(|index| zigzag(index, -4, 1, 0)).collect::<Vec<_>>(), [0, 1, -1, -2, -3, -4]);
        let mut rng = crate::stream::Tail::random(4);
        for _ in 0..20_000 {
            let mut any = || (rng.next_u64() >> (rng.next_u64() % 64)).cast_signed();
            let mut three = [any(), any(), any()];
            three.sort_unstable();
            let [lo, towards, hi] = three;
            let max = hi.wrapping_sub(lo).cast_unsigned();
            let index = if max == u64::MAX { rng.next_u64() } else { rng.next_u64() % (max + 1) };
            let value = zigzag(index, lo, hi, towards);
            assert!((lo..=hi).contains(&value));
            assert_eq!(index_of(value, lo, hi, towards), index, "{lo} {towards} {hi} {value}");
        }
        // Unsigned: the whole range.
        assert_eq!(zigzag(u64::MAX, 0, -1, 0), -1);
        assert_eq!(index_of(-1, 0, -1, 0), u64::MAX);
    }
}
