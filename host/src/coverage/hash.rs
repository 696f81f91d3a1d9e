//! A fast hash over numbers, the same on all machines.

/// Odd, with as many ones as zeros, without pattern: the fraction of the golden ratio.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// A hash of `numbers` in their order, different for each `start`. Numbers that differ give equal hashes about once in 2^64
/// times; it does not resist who looks for such numbers.
///
/// Each number is mixed in by a product of 128 bits whose halves are folded (as in wyhash; Wang Yi et al., "Modern
/// non-cryptographic hash function and pseudorandom number generator").
pub(crate) fn of(start: u64, numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(fold(start ^ FACTOR), |hash, number| fold(hash ^ number).wrapping_add(FACTOR))
}

fn fold(number: u64) -> u64 {
    let product = u128::from(number ^ 0xe703_7ed1_a0b4_28db) * u128::from(FACTOR | 1);
    (product as u64) ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn small_numbers_have_different_hashes() {
        let mut seen = BTreeSet::new();
        for a in 0..100 {
            for b in 0..100 {
                for c in [0, 1, 1 << 32, 77] {
                    for start in 0..3 {
                        assert!(seen.insert(of(start, [a, b, c].into_iter())), "{start} {a} {b} {c}");
                        assert!(seen.insert(of(start, [a, b << 32 | 5, c, 9].into_iter())), "{start} {a} {b} {c}");
                    }
                }
            }
        }
        assert!(seen.insert(of(0, [].into_iter())));
    }

    #[test]
    fn half_of_the_bits_change_with_each_bit() {
        let bits: u32 =
            (0..64).map(|bit| (of(1, [5].into_iter()) ^ of(1, [5 ^ 1 << bit].into_iter())).count_ones()).sum();
        assert!((64 * 28..64 * 36).contains(&bits), "{bits}");
    }
}
