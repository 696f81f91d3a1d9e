//! How near an execution comes to letting a comparison turn out otherwise, in levels: as libFuzzer's value profile has
//! them, by the distance of two numbers and by the bits that differ, and small distances one by one.

use super::observed::Operands;

/// How near. Of two that say how far something is away the smaller one is nearer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::engine::strategy::compares) struct Level(u16);

/// Smaller distances are levels each; of others all with as many bits are one.
const FAR: u16 = 32;
/// Behind the levels that are distances.
const BITS: u16 = 128;

impl Level {
    /// Whether it says how far something is away. Levels that do are before all others.
    pub(in crate::engine::strategy::compares) fn is_distance(self) -> bool {
        self.0 < BITS
    }
}

/// The bits that a number has.
fn bits(number: u64) -> u16 {
    (u64::BITS - number.leading_zeros()) as u16
}

/// The level of a distance.
fn distance(distance: u64) -> Level {
    Level(if distance < u64::from(FAR) { distance as u16 } else { FAR + bits(distance) })
}

/// The levels at which a comparison is; none for what has no distance.
pub(in crate::engine::strategy::compares) fn levels(operands: &Operands) -> impl Iterator<Item = Level> + use<> {
    both(operands).into_iter().flatten()
}

/// How far it is, and for numbers that are to be equal how many bits differ.
fn both(operands: &Operands) -> [Option<Level>; 2] {
    match operands {
        Operands::Numbers { ty, sides: [left, right], .. } if ty.is_float() => {
            // Floats lie as their bits do, on either side of 0.
            let order = |bits: u64| {
                let magnitude = bits & (ty.mask() >> 1);
                if bits == magnitude { i128::from(magnitude) } else { -i128::from(magnitude) }
            };
            let ulps = u64::try_from(order(*left).abs_diff(order(*right))).unwrap_or(u64::MAX);
            [Some(Level(FAR + bits(ulps))), None]
        }
        Operands::Numbers { ty, sides: [left, right], .. } => {
            let apart = ty.signed(*left).abs_diff(ty.signed(*right));
            let differing = ((left ^ right) & ty.mask()).count_ones() as u16;
            [Some(distance(apart)), operands.is_for_equality().then_some(Level(BITS + differing))]
        }
        Operands::Quads { .. } => [None; 2],
        Operands::Bytes { .. } => [operands.wrong_bytes().map(distance), None],
    }
}

#[cfg(test)]
mod tests {
    use super::super::number::Number;
    use super::super::observed::Matching;
    use super::*;
    use fuzzbox_instrument::trace::Comparison;

    fn of(comparison: Comparison, ty: Number, sides: [u64; 2]) -> Vec<Level> {
        levels(&Operands::Numbers { comparison, ty, sides }).collect()
    }

    #[test]
    fn what_is_nearer_has_a_smaller_level_and_what_is_near_its_own() {
        let away = |by: u64| of(Comparison::LtU, Number::I32, [1_000_000 + by, 1_000_000])[0];
        let order = [0, 1, 2, 31, 32, 64, 1 << 16, 1 << 30].map(away);
        assert!(order.is_sorted_by(|a, b| a < b), "{order:?}");
        assert_eq!(away(1_000), away(1_001));
        assert!(order.iter().all(|level| level.is_distance()));
        let minus = (-1_i32).cast_unsigned().into();
        assert_eq!(of(Comparison::LtS, Number::I32, [minus, 1])[0], away(2), "numbers have a sign");
    }

    #[test]
    fn numbers_that_are_to_be_equal_are_near_by_their_bits_too() {
        let both = of(Comparison::Eq, Number::I64, [0x8000_0000, 0x8000_0001 | 1 << 40]);
        assert_eq!(both.len(), 2);
        assert!(!both[1].is_distance() && both[1] == of(Comparison::Ne, Number::I64, [3, 0])[1]);
    }

    #[test]
    fn floats_are_near_by_what_lies_between_them() {
        let level = |left: f64, right: f64| of(Comparison::LtS, Number::F64, [left.to_bits(), right.to_bits()])[0];
        let order = [(1.0, 1.0 + f64::EPSILON), (1.0, 1.5), (1.0, 1e9), (-1e9, 1e9)].map(|(a, b)| level(a, b));
        assert!(order.is_sorted_by(|a, b| a < b), "{order:?}");
        assert!(level(-0.0, 0.0) < order[0]);
    }

    #[test]
    fn texts_are_as_near_as_they_are_right_from_the_beginning() {
        let level = |matching, text: &[u8]| {
            let sides = [text.to_vec(), b"keyword".to_vec()];
            levels(&Operands::Bytes { matching, sides }).next()
        };
        let order = [&b"keywords"[..], b"keyw0rd", b"kEyword", b"xeyword"].map(|text| level(Matching::Equal, text));
        assert!(order.is_sorted_by(|a, b| a < b), "{order:?}");
        assert_eq!(level(Matching::IgnoringCase, b"kEyword"), level(Matching::Equal, b"keyword"));
        assert_eq!(level(Matching::Within, b"key"), None);
    }
}
